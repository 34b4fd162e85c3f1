/* Jobs that end in a released Q-function instead of a policy: keeping it before it plays, and its
 * rows at the end. */
#ifndef TACET_API_JOBS_RUN_RUN_RELEASE_H
#define TACET_API_JOBS_RUN_RUN_RELEASE_H

#include "api/jobs/run/job_run.h"
#include "storage/policies.h"
#include "storage/q_releases.h"

/* Stores run->release, encrypted, as the job's checkpoint. Its noise is drawn once, so nothing may
 * see the release before it is on disk. False: a flag of RUN says why. */
bool job_release_keep(struct job_run *run);

/* Loads the release that an earlier worker kept into run->release. False: there is none, unless a
 * flag of RUN says that the search failed. */
bool job_release_kept(struct job_run *run);

/* The row of a policy that RUN gives at NOW_MS, under a new id and without a certificate. */
struct policy_row job_policy_row(const struct job_run *run, int64_t now_ms);

/* What CERTIFICATE (its id) is bound to: digests of NETWORK (NULL: none), commitments to the
 * dataset's contents and to the function of RELEASE (NULL: none). Reads the dataset once more. New
 * reference; NULL: the database failed, or a file of the network does not fit into memory. */
json_t *job_binds(struct job_run *run, const char *certificate, const struct policy *network,
                  const struct q_release *release);

/* What a certificate is to be of. */
struct job_subject {
    const char *kind, *id;           /* "policy" or "q_release" */
    const struct policy *network;    /* NULL: none */
    const struct q_release *release; /* NULL for "policy" */
    bool injected_noise;
};

/* The signed certificate of SUBJECT; puts its own new id into CERTIFICATE. The caller frees it.
 * NULL: as job_binds. */
char *job_run_certificate(struct job_run *run, const struct job_subject *subject, int64_t now_ms,
                          char certificate[ID_SIZE]);

/* The rows of a release: its own and, where it is a network, that of the policy which serves
 * actions, weights and teachers. */
struct job_release {
    struct q_release_row row;
    char *certificate;
    bool has_policy;
    struct policy_row policy;
    char *policy_certificate;
    unsigned char *bytes;
    size_t size;
};

/* Makes the rows of run->release, for job_release_clear. False: the network's bytes do not fit into
 * memory, or the database failed; OUT is to be cleared also then. */
bool job_release_prepare(struct job_run *run, int64_t now_ms, struct job_release *out);

/* Frees what the rows own. */
void job_release_clear(struct job_release *release);

/* Stores the rows in the transaction that settles the price. */
enum db_status job_release_store(struct db *db, const struct job_run *run,
                                 struct job_release *release);

#endif
