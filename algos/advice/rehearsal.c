/* Running a rehearsal. */
#include "algos/advice/rehearsal.h"

#include <math.h>
#include <stdlib.h>

#include "algos/advice/made_up_world.h"
#include "algos/offline/expert_policies.h"
#include "algos/offline/hooks.h"
#include "algos/offline/offline.h"
#include "algos/offline/stage.h"

#define VALUES 5.0      /* to which reward_scale brings those of the best play */
#define LEARNT 0.05     /* of the way from random to best play, above which plain training counts */
#define PLAYED 1000003u /* beyond the seeds of the trainings */

/* One training of a rehearsal. */
struct rehearsing {
    const struct rehearsal *rehearsal;
    struct made_up_world world;
    struct made_up_size size;
    struct dataset *data;
    uint32_t part, parts; /* this training, out of so many */
};

bool rehearsal_fits(const struct algorithm *algorithm, const struct algorithm_request *request,
                    const struct rehearsal_terms *terms)
{
    const double floors = terms->min_action_probability * request->action_count;
    return algorithm->kind == ALGORITHM_LEARNS_FROM_DATA && request->mechanism != MECHANISM_NONE &&
           request->state_dim >= 1 && request->state_dim <= ENV_MAX_STATE_DIM &&
           request->action_count >= 2 && request->action_count <= ENV_MAX_ACTIONS &&
           request->nominal_experts >= 1 && request->nominal_experts <= REHEARSAL_MAX_EXPERTS &&
           terms->runs >= 1 && terms->runs <= REHEARSAL_RUNS && terms->max_episode_steps >= 1 &&
           floors >= 0 && floors <= 1; /* no NaN */
}

/* ---- what a training asks */

static enum algorithm_pulse rehearsal_pulse(void *context, uint64_t steps_done)
{
    const struct rehearsing *r = context;
    const struct algorithm_hooks *hooks = r->rehearsal->hooks;
    uint64_t whole = r->rehearsal->plan->total_steps;
    if (!hooks->pulse)
        return PULSE_CONTINUE;
    uint64_t done = (whole / r->parts) * r->part + steps_done / r->parts;
    enum algorithm_pulse pulse = hooks->pulse(hooks->context, done);
    return pulse == PULSE_SAVE ? PULSE_CONTINUE : pulse;
}

static bool rehearsal_save(void *context, uint64_t done, const unsigned char *bytes, size_t size)
{
    (void)context, (void)done, (void)bytes, (void)size;
    return true;
}

static void rehearsal_parallel(void *context, void (*work)(void *what, uint32_t i), void *what,
                               uint32_t count)
{
    const struct rehearsing *r = context;
    r->rehearsal->hooks->parallel(r->rehearsal->hooks->context, work, what, count);
}

/* No expert has a network: each is cloned from what was made up of it. */
static enum algorithm_status rehearsal_experts(void *context, struct expert_policies **out)
{
    const struct rehearsing *r = context;
    *out = expert_policies_new(r->size.experts, r->world.env.state_dim, r->world.env.action_count,
                               r->rehearsal->terms.min_action_probability);
    return ALGORITHM_OK;
}

/* ---- the request of a training on made-up experts */

static struct made_up_size rehearsal_size(const struct rehearsal *rehearsal)
{
    const struct rehearsal_terms *terms = &rehearsal->terms;
    struct made_up_size size = {.experts = rehearsal->request->nominal_experts};
    uint32_t each = REHEARSAL_TRANSITIONS / size.experts; /* at least 20 */
    size.steps =
        terms->max_episode_steps < REHEARSAL_STEPS ? terms->max_episode_steps : REHEARSAL_STEPS;
    if (size.steps > each)
        size.steps = each;
    size.trajectories = each / size.steps;
    if (size.trajectories > REHEARSAL_TRAJECTORIES)
        size.trajectories = REHEARSAL_TRAJECTORIES;
    return size;
}

/* The request for run number RUN. Nothing that is set here enters a plan's noise. */
static struct algorithm_request rehearsal_request(const struct rehearsal *rehearsal,
                                                  const struct rehearsal_figures *figures,
                                                  uint32_t run)
{
    struct algorithm_request request = *rehearsal->request;
    struct parameter_value *values = request.parameters.value;
    const double length = request.stage.max_length; /* of an episode in which skill is measured */
    request.seed += run;
    values[OFFLINE_FULL_WEIGHT].number[0] = 1;
    values[OFFLINE_RETURN_LOW].number[0] = figures->random_return;
    values[OFFLINE_RETURN_HIGH].number[0] = figures->best_return;
    if (rehearsal->algorithm->target == TARGET_VALUES) {
        double most = fmin(figures->steps, 1 / (1 - fmin(request.discount, 1 - 1e-9)));
        values[OFFLINE_REWARD_SCALE].number[0] = VALUES / most;
    }
    request.stage.skill.low = length / request.action_count;
    request.stage.skill.high = length;
    request.choice.max_steps = figures->steps;
    return request;
}

/* The same training without a mechanism, in batches of the same size. Its gradients are multiplied
 * by the full weight over what an expert has, which is made 1 here: noisy ones have no such factor.
 */
static struct algorithm_request rehearsal_plain(const struct rehearsing *r,
                                                const struct algorithm_request *request)
{
    struct algorithm_request plain = *request;
    plain.parameters.value[OFFLINE_FULL_WEIGHT].number[0] =
        (double)r->size.trajectories * r->size.steps;
    plain.parameters.value[OFFLINE_BATCH_SIZE].number[0] = r->rehearsal->plan->privacy.batch_size;
    plain.mechanism = MECHANISM_NONE;
    plain.epsilon = plain.delta = plain.plain_share = 0;
    plain.stage = (struct stage_request){.kind = STAGE_NONE};
    return plain;
}

/* ---- running */

/* Plays block by block, since steps of a large network may take long. */
static enum algorithm_status rehearsal_play(struct rehearsing *r, const struct policy *policy,
                                            double *out_return)
{
    const struct env *env = &r->world.env;
    const struct algorithm_hooks hooks = {.context = r, .pulse = rehearsal_pulse};
    const uint64_t seed = r->rehearsal->request->seed + PLAYED;
    double sum = 0;
    for (uint32_t done = 0; done < REHEARSAL_EPISODES; done += REHEARSAL_BLOCK) {
        struct policy_evaluation played;
        enum algorithm_status status =
            hooks_pulse(&hooks, r->rehearsal->plan->total_steps, NULL, NULL);
        if (status != ALGORITHM_OK)
            return status;
        bool good = policy_evaluate(policy, env, NULL, REHEARSAL_BLOCK, r->size.steps, seed + done,
                                    &played);
        if (!good && played.broken)
            return ALGORITHM_NO_MEMORY;
        sum += good ? played.mean_return : (double)r->size.steps / env->action_count;
    }
    *out_return = sum * REHEARSAL_BLOCK / REHEARSAL_EPISODES;
    return ALGORITHM_OK;
}

/* Trains REQUEST by PLAN and plays what comes of it. */
static enum algorithm_status rehearsal_part(struct rehearsing *r,
                                            const struct algorithm_request *request,
                                            const struct algorithm_plan *plan, double *out_return,
                                            const char **message)
{
    const struct algorithm_run run = {
        .request = request,
        .plan = plan,
        .data = r->data,
        .hooks = {.context = r,
                  .pulse = rehearsal_pulse,
                  .save = rehearsal_save,
                  .parallel = r->rehearsal->hooks->parallel ? rehearsal_parallel : NULL,
                  .experts = rehearsal_experts},
        .choice = {.world = &r->world.env},
        .hides_divergence = true,
        .noise = r->rehearsal->noise};
    const struct stage_run stage = {.algorithm = r->rehearsal->algorithm,
                                    .run = &run,
                                    .env = &r->world.env,
                                    .keep = rehearsal_save,
                                    .context = r};
    struct policy *policy = NULL;
    enum algorithm_status status = stage_train(&stage, &policy, message);
    if (status == ALGORITHM_OK)
        status = rehearsal_play(r, policy, out_return);
    policy_free(policy);
    r->part++;
    return status;
}

static double rehearsal_quality(const struct rehearsal_figures *figures,
                                const struct rehearsal_run *run)
{
    double learnt = run->plain_return - figures->random_return;
    if (!(learnt > LEARNT * (figures->best_return - figures->random_return)))
        return NAN;
    return (run->private_return - figures->random_return) / learnt;
}

static enum algorithm_status rehearsal_run(struct rehearsing *r, struct rehearsal_figures *figures,
                                           uint32_t number, const char **message)
{
    const struct rehearsal *rehearsal = r->rehearsal;
    const struct algorithm_request request = rehearsal_request(rehearsal, figures, number);
    const struct algorithm_request plain = rehearsal_plain(r, &request);
    struct algorithm_plan plain_plan;
    struct rehearsal_run *run = &figures->run[number];
    made_up_world_init(&r->world, &request, request.seed);
    r->data = made_up_experts(&r->world, &r->size, rehearsal->terms.min_action_probability,
                              request.seed, &run->behaviour);
    enum algorithm_status status = rehearsal->algorithm->plan(&plain, &plain_plan, message);
    plain_plan.total_steps = rehearsal->plan->total_steps; /* which the budget may have cut */
    if (status == ALGORITHM_OK)
        status = rehearsal_part(r, &request, rehearsal->plan, &run->private_return, message);
    if (status == ALGORITHM_OK)
        status = rehearsal_part(r, &plain, &plain_plan, &run->plain_return, message);
    run->quality = rehearsal_quality(figures, run);
    dataset_free(r->data);
    r->data = NULL;
    return status;
}

enum algorithm_status rehearsal_train(const struct rehearsal *rehearsal,
                                      struct rehearsal_figures *out, const char **message)
{
    struct rehearsing r = {.rehearsal = rehearsal,
                           .size = rehearsal_size(rehearsal),
                           .parts = 2 * rehearsal->terms.runs};
    enum algorithm_status status = ALGORITHM_OK;
    *out = (struct rehearsal_figures){.runs = rehearsal->terms.runs,
                                      .steps = r.size.steps,
                                      .random_return =
                                          (double)r.size.steps / rehearsal->request->action_count,
                                      .best_return = r.size.steps};
    for (uint32_t run = 0; status == ALGORITHM_OK && run < out->runs; run++)
        status = rehearsal_run(&r, out, run, message);
    return status;
}
