/* Ensembles between requests, workers and the database.
 *
 * DESIGN. What is trained here is trained without noise, so nothing of it may be seen before a
 * teacher puts noise on it: no evaluation, no sweep (whose winner is a choice made by looking), no
 * judge. What is stored is ciphertext, the checkpoints too. How many experts a shard has, and
 * whether it has any, changes neither the steps nor what is shown; of the time see docs/privacy.md,
 * "What can be seen besides the released values". */
#include "api/jobs/run/run_shards.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

#include "algos/release/ensemble.h"
#include "api/call/app.h"
#include "api/call/sealed.h"

/* ---- training */

struct sealing {
    struct job_run *run;
    const struct algorithm_hooks *inner;
};

static enum algorithm_pulse pulse(void *context, uint64_t steps_done)
{
    const struct sealing *sealing = context;
    return sealing->inner->pulse(sealing->inner->context, steps_done);
}

static void parallel(void *context, void (*work)(void *what, uint32_t i), void *what,
                     uint32_t count)
{
    const struct sealing *sealing = context;
    sealing->inner->parallel(sealing->inner->context, work, what, count);
}

static bool save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    const struct sealing *sealing = context;
    unsigned char *sealed = NULL;
    size_t sealed_size = 0;
    if (!sealed_close(sealing->run->app, sealing->run->job.id, bytes, size, &sealed, &sealed_size))
        return false;
    bool saved = sealing->inner->save(sealing->inner->context, steps_done, sealed, sealed_size);
    free(sealed);
    return saved;
}

enum algorithm_status job_shards_train(struct job_run *run, const struct algorithm_run *training,
                                       const char **message)
{
    struct sealing sealing = {run, &training->hooks};
    struct algorithm_run opened = *training;
    unsigned char *secret = NULL;
    if (training->checkpoint) {
        secret = sealed_open(run->app, run->job.id, training->checkpoint, training->checkpoint_size,
                             &opened.checkpoint_size);
        if (!secret)
            return errno == ENOMEM ? ALGORITHM_NO_MEMORY : ALGORITHM_BAD_CHECKPOINT;
        opened.checkpoint = secret;
    }
    opened.hooks =
        (struct algorithm_hooks){.context = &sealing,
                                 .pulse = pulse,
                                 .save = save,
                                 .parallel = !training->hooks.parallel ? NULL : parallel};
    enum algorithm_status status =
        ensemble_train(run->plan.algorithm, run->plan.shards, &opened, &run->ensemble, message);
    if (secret)
        sodium_free(secret);
    return status;
}

/* ---- keeping */

bool job_shards_seal(const struct job_run *run, const char *policy, unsigned char **out,
                     size_t *out_size)
{
    size_t size = 0;
    unsigned char *secret = ensemble_to_bytes(run->ensemble, &size);
    bool closed = sealed_close(run->app, policy, secret, size, out, out_size);
    sodium_memzero(secret, size);
    free(secret);
    return closed;
}
