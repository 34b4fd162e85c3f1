/* Ensembles between requests, workers and the database.
 *
 * DESIGN. What is trained here is trained without noise, so nothing of it may be seen before a
 * teacher puts noise on it: no evaluation, no sweep (whose winner is a choice made by looking), no
 * judge. What is stored is ciphertext, the checkpoints too. How many experts a shard has, and
 * whether it has any, changes neither the steps nor what is shown; of the time see docs/privacy.md,
 * "What can be seen besides the released values". */
#include "api/jobs/run/job_shards.h"

#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>

#include "algos/offline/shards.h"
#include "algos/release/ensemble.h"
#include "api/call/app.h"
#include "api/call/call.h"
#include "api/call/sealed.h"
#include "api/json/json_text.h"
#include "api/teachers/answer_estimate.h"

const char job_shards_note[] =
    "Policies of shards, trained without noise: they stay inside the service, sealed, and answer "
    "as a teacher of adjacency \"expert\" alone, where each answer is paid for.";

/* ---- asking */

static void refuse_beside(struct call *call, const json_t *body, const char *name,
                          const char *pointer, const char *why)
{
    if (json_object_get(body, name))
        call_invalid(call, pointer, "%s", why);
}

void job_shards_read(struct call *call, const json_t *body, int64_t shards, struct job_plan *out)
{
    const struct algorithm *algorithm = out->algorithm;
    if (shards == 0)
        return;
    if (!algorithm->needs_dataset || !algorithm->mechanisms[MECHANISM_NONE] ||
        algorithm->gives_q_release || algorithm->gives_findings) {
        call_invalid(call, "/shards",
                     "has no meaning with this algorithm, which does not learn a policy from a "
                     "dataset without noise");
        return;
    }
    if (out->request.mechanism != MECHANISM_NONE) {
        call_invalid(call, "/mechanism",
                     "must be \"none\" beside shards: the noise comes with a teacher's answers");
    }
    refuse_beside(call, body, "evaluate", "/evaluate",
                  "has no meaning beside shards: the return of policies that were trained without "
                  "noise would tell of the data; ask a teacher, whose answers are paid for");
    refuse_beside(call, body, "judge", "/judge",
                  "has no meaning beside shards: what policies that were trained without noise are "
                  "worth would tell of the data");
    refuse_beside(call, body, "choose", "/choose",
                  "has no meaning beside shards: a choice among policies that were trained without "
                  "noise would tell of the data");
    refuse_beside(call, body, "sweep", "/sweep",
                  "has no meaning beside shards: a choice among policies that were trained without "
                  "noise would tell of the data");
    out->shards = (uint32_t)shards;
}

enum problem job_shards_fit(struct call *call, struct job_plan *plan)
{
    if (plan->shards == 0)
        return PROBLEM_NONE;
    if (plan->request.action_count > ENSEMBLE_ACTIONS_MAX) {
        return call_invalid(call, "/shards", "needs a dataset of at most %d actions, to teach",
                            ENSEMBLE_ACTIONS_MAX);
    }
    if (!ensemble_fits(&plan->plan.shape, plan->shards)) {
        return call_invalid(call, "/shards",
                            "times the %llu parameters of a network must be at most %d, which each "
                            "answer multiplies with",
                            (unsigned long long)plan->plan.parameter_count,
                            ENSEMBLE_PARAMETERS_MAX);
    }
    plan->plan.total_steps *= plan->shards;
    return PROBLEM_NONE;
}

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
    unsigned char *secret = NULL;
    size_t size = 0;
    if (!ensemble_to_bytes(run->ensemble, &secret, &size))
        return false;
    bool closed = sealed_close(run->app, policy, secret, size, out, out_size);
    sodium_memzero(secret, size);
    free(secret);
    return closed;
}

/* ---- estimating */

json_t *job_shards_estimate(const struct job_plan *plan, double epsilon, double delta)
{
    uint32_t actions = plan->request.action_count;
    json_t *teaching = json_array();
    struct answer_purpose purpose = {.actions = actions,
                                     .change = ensemble_change(plan->shards),
                                     .min_probability = fmin(0.1, 0.5 / actions),
                                     .epsilon = epsilon,
                                     .delta = delta};
    for (purpose.answers = 100; epsilon > 0 && delta > 0 && purpose.answers <= 10000;
         purpose.answers *= 10)
        json_list_add(&teaching, answer_estimate_json(&purpose));
    return json_pack("{s:I, s:o, s:o}", "shards", (json_int_t)plan->shards, "change",
                     json_number(purpose.change), "teaching", teaching);
}
