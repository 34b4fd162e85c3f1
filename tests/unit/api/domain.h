/* Datasets, jobs and teachers of a small size, for the tests of these families. */
#ifndef TACET_TESTS_UNIT_API_DOMAIN_H
#define TACET_TESTS_UNIT_API_DOMAIN_H

#include "tests/unit/api/fixture.h"

/* NDJSON of EXPERTS experts e0, e1, ... of STEPS steps each on cartpole. The caller frees it. */
char *domain_lines(unsigned experts, unsigned steps);

/* Uploads BODY as ROLE (NULL: steward) with that Content-Type (NULL: application/x-ndjson). */
struct response *domain_upload(struct fixture *fixture, const char *role, const char *dataset,
                               const char *body, size_t size, const char *type);

/* An open cartpole dataset, and a sealed one with EXPERTS experts of 12 steps. The id. */
const char *domain_dataset(struct fixture *fixture, const char *sensitivity);
const char *domain_sealed(struct fixture *fixture, const char *sensitivity, unsigned experts);

/* Uploads EXPERTS experts of 12 steps to DATASET, and nothing else. */
void domain_fill(struct fixture *fixture, const char *dataset, unsigned experts);

/* The sealed dataset that BODY asks for, with those experts, or with LINES. The id. */
const char *domain_sealed_of(struct fixture *fixture, const char *body, unsigned experts);
const char *domain_sealed_lines(struct fixture *fixture, const char *body, const char *lines);

/* A sealed private dataset of cartpole, budget (300, 1e-2), whose experts play every action with
 * 0.4 at least: then few of them are enough for a prefix. With POLICIES each uploads a network,
 * too. */
const char *domain_crowd(struct fixture *fixture, unsigned experts, bool policies);

/* The job's checkpoint, decrypted: sodium_free. NULL: there is none. */
unsigned char *domain_checkpoint(struct fixture *fixture, const char *job, int64_t *out_step,
                                 size_t *out_size);

/* printf into a text that lives until 256 others were made. */
const char *domain_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The body of a small private job on DATASET, with EPSILON and the evaluation; of one without
 * privacy on public data; and of one without privacy on private data. */
const char *domain_private_job(const char *dataset, double epsilon, unsigned steps);
const char *domain_plain_job(const char *dataset, unsigned steps);
const char *domain_unprotected_job(const char *dataset, unsigned steps);

struct table;

/* Changes rows of TABLE (storage/digests.h) by SQL, with their digests, as an older version would
 * have stored them. */
void domain_rewrite(struct fixture *fixture, const struct table *table, const char *sql);

/* Runs one turn of a worker to its end. STOP may be NULL. */
enum api_job_turn domain_turn(struct fixture *fixture, const char *worker,
                              bool (*stop)(void *context), void *context);

/* Submits BODY, runs it, expects success, and gives the job as it then is. */
struct response *domain_run(struct fixture *fixture, const char *body);

/* The job as it now is; MADE is the reply to its post. */
struct response *domain_job(struct fixture *fixture, const struct response *made);

/* Bytes of trajectories that can be decrypted of DATASET. */
size_t domain_readable(struct fixture *fixture, const char *dataset);

/* The budget of DATASET as it now is. */
struct response *domain_budget(struct fixture *fixture, const char *dataset);

/* For domain_turn: lets ADVANCE_MS pass at every pulse, and at number ACT_AT posts CANCEL (NULL:
 * does not) and gives STOP. */
struct domain_meddler {
    struct fixture *f;
    const char *cancel;
    int64_t advance_ms;
    unsigned pulses, act_at;
    bool stop;
};
bool domain_meddle(void *meddler);

/* The ledger adds up, and an export of it is found good. */
void domain_expect_whole_ledger(struct fixture *fixture);

/* Epsilon that is spent on DATASET; nothing may be reserved, and the ledger adds up. */
double domain_spent(struct fixture *fixture, const char *dataset);

/* The id of an imported linear policy on cartpole whose output is softmax. */
const char *domain_policy(struct fixture *fixture);

/* The id of a registered world of OWNER, whose program is never started. */
const char *domain_environment(struct fixture *fixture, const char *owner);

/* The body of a teacher of POLICY that the client budget EPSILON lets answer. */
const char *domain_teacher(const char *policy, double epsilon, double client_epsilon);

#endif
