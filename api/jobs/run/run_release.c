/* Released Q-functions between a job and the database.
 *
 * DESIGN. Key and noise are drawn once, at the end of the training. Normally the transaction that
 * ends the job stores them, and nobody has seen a value before. Where the release first plays in a
 * world, whose program sees its actions, it is stored before that, encrypted, and a later worker
 * uses the stored one. A release that is lost before either was seen by nobody, so it may be drawn
 * again. */
#include "api/jobs/run/run_release.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/call/sealed.h"
#include "api/data/datasets.h"
#include "api/data/exposure.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/ask/job_parts.h"
#include "api/jobs/run/job_certificate.h"
#include "api/releases/q_releases.h"
#include "storage/datasets.h"
#include "storage/ledger/ledger_reduce.h"
#include "storage/teachers.h"

static const char magic[4] = {'T', 'C', 'Q', 'R'};

/* ---- keeping */

bool job_release_keep(struct job_run *run)
{
    unsigned char *sealed = NULL, *bytes = NULL;
    size_t size = 0, sealed_size = 0;
    bool kept = false;
    unsigned char *secret = q_release_to_bytes(run->release, &size);
    bool closed =
        sealed_close(run->app, run->job.dataset, run->job.id, secret, size, &sealed, &sealed_size);
    sodium_memzero(secret, size);
    free(secret);
    if (closed)
        bytes = malloc(sizeof magic + sealed_size);
    run->waiting = !bytes;
    if (bytes) {
        memcpy(bytes, magic, sizeof magic);
        memcpy(bytes + sizeof magic, sealed, sealed_size);
        kept = job_run_keep(run, run->plan.plan.total_steps, bytes, sizeof magic + sealed_size);
    }
    free(bytes);
    free(sealed);
    return kept;
}

bool job_release_kept(struct job_run *run)
{
    unsigned char *bytes = NULL;
    size_t size = 0, length = 0;
    int64_t step = 0;
    if (!run->resumed)
        return false;
    enum db_status status = job_checkpoint_load(run, &step, &bytes, &size);
    run->storage_failed = status != DB_OK && status != DB_NONE;

    bool ours = bytes && size > sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
    if (ours) {
        unsigned char *secret = sealed_open(run->app, run->job.dataset, run->job.id,
                                            bytes + sizeof magic, size - sizeof magic, &length);
        if (secret) {
            run->release = q_release_from_bytes(&run->plan.plan.release, secret, length);
            sodium_free(secret);
        }
        run->waiting = !run->release; /* most likely; it is not drawn a second time */
        run->trained = true;
        struct dataset_row row; /* loading it would have told its environment */
        if (job_run_dataset(run, run->job.dataset, &row))
            snprintf(run->environment, sizeof run->environment, "%s", row.environment);
    }
    sodium_free(bytes);
    return run->release && !run->storage_failed;
}

/* ---- the end */

struct policy_row job_policy_row(const struct job_run *run, int64_t now_ms)
{
    const struct job_row *job = &run->job;
    struct policy_row row = {.released = job_plan_releases(&run->plan),
                             .state_dim = run->plan.request.state_dim,
                             .action_count = run->plan.request.action_count,
                             .created_ms = now_ms};
    id_new("pol_", row.id);
    memcpy(row.owner, job->owner, ID_SIZE);
    memcpy(row.dataset, job->dataset, ID_SIZE);
    memcpy(row.job, job->id, ID_SIZE);
    snprintf(row.name, sizeof row.name, "%s of %s", job->algorithm, job->id);
    snprintf(row.environment, sizeof row.environment, "%s", run->environment);
    snprintf(row.mechanism, sizeof row.mechanism, "%s", job->mechanism);
    return row;
}

/* What a certificate says of the ledger and of the dataset, at one moment. */
struct standing {
    struct job_run *run;
    struct ledger_account account; /* of a job that has one, with its exposure */
    struct exposure exposure;
    json_t *proof;
    uint64_t log_size;
    struct dataset_row dataset; /* that the result comes from; its id stays empty without one */
};

/* Finds the dataset that the result comes from: its own or, where it learns from a teacher's
 * answers, that of the teacher's policy. "": none. */
static enum db_status find_source(struct db *db, const struct job_run *run, char out[ID_SIZE])
{
    struct teacher_row teacher;
    struct policy_row policy;
    memcpy(out, run->job.dataset, ID_SIZE);
    if (run->plan.teacher[0] == '\0')
        return DB_OK;
    enum db_status status = db_owed(teachers_find(db, run->plan.teacher, &teacher));
    if (status == DB_OK)
        status = db_owed(policies_find(db, teacher.policy, &policy));
    if (status == DB_OK)
        memcpy(out, policy.dataset, ID_SIZE);
    return status;
}

/* It is one view, so that a certificate says no less of the dataset than the log that it proves. */
static enum db_status read_standing(struct db *db, void *context)
{
    struct standing *now = context;
    struct job_run *run = now->run;
    const char *id = run->job.account;
    char source[ID_SIZE];
    const struct ledger_account *account = id[0] != '\0' ? &now->account : NULL;
    enum db_status status = account ? ledger_find(db, id, &now->account) : DB_OK;
    if (status == DB_OK && account)
        status = exposure_of(db, account, &now->exposure);
    if (status == DB_OK)
        status = certificate_proof_read(run->app, db, account, &now->proof, &now->log_size);
    if (status == DB_OK)
        status = find_source(db, run, source);
    if (status == DB_OK && source[0] != '\0')
        (void)job_run_dataset(run, source, &now->dataset);
    return run->storage_failed ? DB_FAILED : status;
}

char *job_run_certificate(struct job_run *run, const struct job_subject *subject, int64_t now_ms,
                          char certificate[ID_SIZE])
{
    struct standing now = {.run = run};
    struct job_certificate what = {.id = certificate,
                                   .subject = subject->kind,
                                   .subject_id = subject->id,
                                   .injected_noise = subject->injected_noise,
                                   .now_ms = now_ms};
    id_new("crt_", certificate);
    if (!job_audit_find(run->db, &run->plan, &what.audited))
        return NULL;
    char *text = NULL;
    if (db_view(run->db, read_standing, &now) == DB_OK &&
        ledger_head_keep(run->db, now.log_size) == DB_OK &&
        dataset_certified_description(run->db, now.dataset.id, &what.described) == DB_OK)
        what.binds = job_binds(run, certificate, subject->network, subject->release);
    what.proof = now.proof;
    if (run->job.account[0] != '\0') {
        what.account = &now.account;
        what.exposure = &now.exposure;
    }
    if (now.dataset.id[0] != '\0')
        what.dataset = &now.dataset;
    if (what.binds)
        text = job_certificate(run->app, run->db, &run->job, &run->plan, &what);
    json_decref(what.proof);
    json_decref(what.binds);
    json_decref(what.described);
    json_decref(what.audited);
    return text;
}

bool job_release_prepare(struct job_run *run, int64_t now_ms, struct job_release *out)
{
    const struct job_row *job = &run->job;
    const struct policy *network = q_release_network(run->release);
    struct q_release_row *row = &out->row;
    *out = (struct job_release){.row = {.created_ms = now_ms}, .has_policy = network != NULL};
    id_new("qre_", row->id);
    memcpy(row->owner, job->owner, ID_SIZE);
    memcpy(row->dataset, job->dataset, ID_SIZE);
    memcpy(row->job, job->id, ID_SIZE);
    snprintf(row->name, sizeof row->name, "%s of %s", job->algorithm, job->id);
    snprintf(row->environment, sizeof row->environment, "%s", run->environment);
    struct job_subject subject = {"q_release", row->id, network, run->release, run->injected_noise};
    out->certificate = job_run_certificate(run, &subject, now_ms, row->certificate);
    if (!out->certificate)
        return false;
    if (!network)
        return true;
    out->policy = job_policy_row(run, now_ms);
    subject = (struct job_subject){"policy", out->policy.id, network, NULL, run->injected_noise};
    out->policy_certificate = job_run_certificate(run, &subject, now_ms, out->policy.certificate);
    return out->policy_certificate && policy_to_bytes(network, &out->bytes, &out->size);
}

void job_release_clear(struct job_release *release)
{
    free(release->certificate);
    free(release->policy_certificate);
    free(release->bytes);
}

enum db_status job_release_store(struct db *db, const struct job_run *run,
                                 struct job_release *release)
{
    enum db_status status =
        q_release_store(run->app, db, &release->row, run->release, release->certificate);
    if (status == DB_OK && release->has_policy) {
        status = policies_insert(db, &release->policy, release->bytes, release->size,
                                 release->policy_certificate);
    }
    return status;
}
