/* Runs a sweep, and writes its findings as JSON.
 *
 * DESIGN. The checkpoint of the job is a head (the number of the try, the scores, the best policy
 * so far and the policy that waits to be judged) followed by the present try's own checkpoint. A
 * finished policy is on disk before it is played, so that its judge, which may be a program, never
 * sees a policy that could be drawn again. */
#include "api/jobs/run/job_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "api/json/json_text.h"

#define MAGIC UINT32_C(0x50575354) /* "TSWP" */

struct head {
    uint32_t magic, at, best, has_best;
    uint64_t best_size, waiting_size;
    uint64_t best_episodes, best_known;
    double best_mean, best_deviation;
    double scores[JOB_SWEEP_MAX]; /* NAN: none */
    uint64_t checksum;            /* of all before and of both policies */
};

struct sweep {
    struct job_run *run;
    const struct algorithm_run *training;
    struct head head;
    unsigned char *best, *waiting; /* policies' bytes */
    uint64_t steps_before;         /* of tries that are over */
    const char *reason;            /* why the last try gave no policy */
};

/* ---- the checkpoint */

static size_t word_padded(uint64_t size)
{
    return (size_t)(size + 3) & ~(size_t)3;
}

static uint64_t head_checksum(const struct head *head, const unsigned char *policies, size_t size)
{
    uint64_t sum = checksum_words(CHECKSUM_START, head, offsetof(struct head, checksum));
    return checksum_words(sum, policies, size);
}

/* Writes head, policies, then the trainer's BYTES[SIZE]. The caller frees the result; NULL: no
 * memory. */
static unsigned char *write_sweep_state(struct sweep *s, const unsigned char *bytes, size_t size,
                                        size_t *out_size)
{
    size_t best = word_padded(s->head.best_size), waiting = word_padded(s->head.waiting_size);
    *out_size = sizeof s->head + best + waiting + size;
    unsigned char *all = calloc(1, *out_size);
    if (!all)
        return NULL;
    unsigned char *policies = all + sizeof s->head;
    if (s->best)
        memcpy(policies, s->best, s->head.best_size);
    if (s->waiting)
        memcpy(policies + best, s->waiting, s->head.waiting_size);
    if (size > 0)
        memcpy(policies + best + waiting, bytes, size);
    s->head.checksum = head_checksum(&s->head, policies, best + waiting);
    memcpy(all, &s->head, sizeof s->head);
    return all;
}

static bool copy_policy(const unsigned char *from, uint64_t size, unsigned char **out)
{
    if (size == 0)
        return true;
    *out = malloc(size);
    if (*out)
        memcpy(*out, from, size);
    return *out;
}

/* Reads head and policies of the checkpoint, *OUT_USED bytes; the rest is the trainer's. */
static enum algorithm_status read_sweep_state(struct sweep *s, size_t *out_used)
{
    const struct algorithm_run *training = s->training;
    struct head head;
    *out_used = 0;
    if (!training->checkpoint)
        return ALGORITHM_OK;
    if (training->checkpoint_size < sizeof head)
        return ALGORITHM_BAD_CHECKPOINT;
    memcpy(&head, training->checkpoint, sizeof head);
    size_t room = training->checkpoint_size - sizeof head;
    if (head.magic != MAGIC || head.at >= s->run->plan.try_count || head.best_size > room ||
        head.waiting_size > room ||
        word_padded(head.best_size) + word_padded(head.waiting_size) > room)
        return ALGORITHM_BAD_CHECKPOINT;
    const unsigned char *policies = training->checkpoint + sizeof head;
    size_t best = word_padded(head.best_size), both = best + word_padded(head.waiting_size);
    if (head_checksum(&head, policies, both) != head.checksum)
        return ALGORITHM_BAD_CHECKPOINT;
    if (!copy_policy(policies, head.best_size, &s->best) ||
        !copy_policy(policies + best, head.waiting_size, &s->waiting))
        return ALGORITHM_NO_MEMORY;
    s->head = head;
    *out_used = sizeof head + both;
    return ALGORITHM_OK;
}

/* ---- one try */

static enum algorithm_pulse try_pulse(void *context, uint64_t steps_done)
{
    struct sweep *s = context;
    const struct algorithm_hooks *hooks = &s->training->hooks;
    return hooks->pulse(hooks->context, s->steps_before + steps_done);
}

static bool try_save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    struct sweep *s = context;
    const struct algorithm_hooks *hooks = &s->training->hooks;
    size_t all_size;
    unsigned char *all = write_sweep_state(s, bytes, size, &all_size);
    bool saved = all && hooks->save(hooks->context, s->steps_before + steps_done, all, all_size);
    free(all);
    return saved;
}

static void try_parallel(void *context, void (*work)(void *what, uint32_t i), void *what,
                         uint32_t count)
{
    const struct sweep *s = context;
    const struct algorithm_hooks *hooks = &s->training->hooks;
    hooks->parallel(hooks->context, work, what, count);
}

/* Makes POLICY the one that waits to be judged, and stores that. */
static enum algorithm_status keep_waiting(struct sweep *s, struct policy *policy)
{
    size_t size, all_size;
    job_complete_round(policy);
    if (!policy_to_bytes(policy, &s->waiting, &size))
        return ALGORITHM_NO_MEMORY;
    s->head.waiting_size = size;
    unsigned char *all = write_sweep_state(s, NULL, 0, &all_size);
    if (!all)
        return ALGORITHM_NO_MEMORY;
    uint64_t steps = s->steps_before + s->run->plan.tries[s->head.at].plan.total_steps;
    bool kept = job_run_keep(s->run, steps, all, all_size);
    free(all);
    if (!kept)
        return ALGORITHM_PAUSED;
    return ALGORITHM_OK;
}

/* Trains the present try. Its own checkpoint begins after USED bytes. A try that cannot be trained,
 * perhaps because of its settings, gets no score. */
static enum algorithm_status train_try(struct sweep *s, size_t used)
{
    const struct job_plan *plan = &s->run->plan.tries[s->head.at];
    const struct algorithm_hooks *hooks = &s->training->hooks;
    struct algorithm_run run = *s->training;
    bool continued = used > 0 && run.checkpoint_size > used;
    run.request = &plan->request;
    run.plan = &plan->plan;
    run.checkpoint = NULL;
    run.checkpoint_size = 0;
    if (continued) {
        run.checkpoint = s->training->checkpoint + used;
        run.checkpoint_size = s->training->checkpoint_size - used;
    }
    run.hooks = (struct algorithm_hooks){.context = s, .pulse = try_pulse, .save = try_save};
    if (hooks->parallel)
        run.hooks.parallel = try_parallel;
    struct policy *policy = NULL;
    enum algorithm_status status = plan->algorithm->train(&run, &policy, &s->reason);
    if (status == ALGORITHM_OK)
        status = keep_waiting(s, policy);
    else if (status == ALGORITHM_BAD_INPUT)
        status = ALGORITHM_OK;
    policy_free(policy);
    return status;
}

/* Plays the waiting policy and keeps the better of it and the best policy so far. */
static enum algorithm_status judge_waiting(struct sweep *s)
{
    struct policy_evaluation played = {0};
    char why[JOB_DETAIL_SIZE];
    struct policy *policy = policy_from_bytes(s->waiting, s->head.waiting_size);
    if (!policy)
        return ALGORITHM_NO_MEMORY;
    const struct job_player player = {.policy = policy};
    enum job_score score =
        job_complete_score(s->run, &s->run->plan.tries[s->head.at], &player, &played, why);
    policy_free(policy);
    if (score == JOB_SCORE_STOPPED) {
        if (s->run->cancelled)
            return ALGORITHM_CANCELLED;
        return ALGORITHM_PAUSED;
    }
    bool scored = score == JOB_SCORE_FOUND && isfinite(played.mean_return);
    double *scores = s->head.scores;
    bool better = scored && !(s->head.best_known && s->head.best_mean >= played.mean_return);
    scores[s->head.at] = (double)NAN;
    if (scored)
        scores[s->head.at] = played.mean_return;
    if (better || !s->head.has_best) {
        free(s->best);
        s->best = s->waiting;
        s->head.best_size = s->head.waiting_size;
        s->head.best = s->head.at;
        s->head.has_best = 1;
        s->head.best_known = scored;
        s->head.best_mean = played.mean_return;
        s->head.best_deviation = played.std_return;
        s->head.best_episodes = played.episodes;
    } else {
        free(s->waiting);
    }
    s->waiting = NULL;
    s->head.waiting_size = 0;
    return ALGORITHM_OK;
}

/* ---- all tries */

static enum algorithm_status go_through(struct sweep *s, size_t used)
{
    const struct job_plan *plan = &s->run->plan;
    enum algorithm_status status = ALGORITHM_OK;
    for (uint32_t t = 0; t < s->head.at; t++)
        s->steps_before += plan->tries[t].plan.total_steps;
    while (status == ALGORITHM_OK && s->head.at < plan->try_count) {
        s->head.scores[s->head.at] = NAN;
        if (!s->waiting)
            status = train_try(s, used);
        if (status == ALGORITHM_OK && s->waiting)
            status = judge_waiting(s);
        if (status == ALGORITHM_OK)
            s->steps_before += plan->tries[s->head.at++].plan.total_steps;
        used = 0;
    }
    return status;
}

static enum algorithm_status finish_sweep(struct sweep *s, struct policy **out_policy)
{
    struct job_run *run = s->run;
    if (!s->head.has_best)
        return ALGORITHM_BAD_INPUT;
    *out_policy = policy_from_bytes(s->best, s->head.best_size);
    run->best_try = s->head.best;
    run->best_known = s->head.best_known != 0;
    run->best_played = (struct policy_evaluation){.mean_return = s->head.best_mean,
                                                  .std_return = s->head.best_deviation,
                                                  .episodes = (uint32_t)s->head.best_episodes};
    run->plan.request.parameters = run->plan.tries[s->head.best].request.parameters;
    memcpy(run->try_scores, s->head.scores, sizeof run->try_scores);
    if (!*out_policy)
        return ALGORITHM_NO_MEMORY;
    return ALGORITHM_OK;
}

enum algorithm_status job_sweep_train(struct job_run *run, const struct algorithm_run *training,
                                      struct policy **out_policy, const char **message)
{
    struct sweep s = {.run = run, .training = training, .head = {.magic = MAGIC}, .reason = ""};
    size_t used;
    enum algorithm_status status = read_sweep_state(&s, &used);
    if (status == ALGORITHM_OK)
        status = go_through(&s, used);
    if (status == ALGORITHM_OK)
        status = finish_sweep(&s, out_policy);
    *message = s.reason;
    free(s.best);
    free(s.waiting);
    return status;
}

json_t *job_sweep_findings(const struct job_run *run)
{
    json_t *scores = json_array();
    for (uint32_t t = 0; t < run->plan.try_count; t++)
        json_array_append_new(scores, json_number(run->try_scores[t]));
    return json_pack("{s:I, s:o}", "best", (json_int_t)run->best_try, "mean_returns", scores);
}
