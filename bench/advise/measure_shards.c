/* Teachers of shards and released Q-functions: what is learned on shards without noise is asked, or
 * released, with it. */
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/noise/noise_source.h"
#include "algos/release/ensemble.h"
#include "algos/release/q_play.h"
#include "algos/release/teacher.h"
#include "bench/advise/measure.h"

#define TEACHER_EPISODES 30

/* ---- a teacher */

/* Which shard an expert is in is a hash of its key. */
static bool give_keys(struct dataset *data)
{
    if (data->expert_keys)
        return true;
    data->expert_keys = calloc(data->expert_count, sizeof *data->expert_keys);
    for (uint32_t e = 0; data->expert_keys && e < data->expert_count; e++)
        data->expert_keys[e] = UINT64_C(0x9e3779b97f4a7c15) * (e + 1);
    return data->expert_keys;
}

struct pupil {
    const struct ensemble *ensemble;
    const struct teacher *teacher;
    struct noise_source *noise;
};

/* The best action of a noisy answer; -1: there is none. */
static int pupil_decide(const struct pupil *pupil, const float *state)
{
    double p[ENSEMBLE_ACTIONS_MAX], z[ENSEMBLE_ACTIONS_MAX];
    ensemble_probabilities(pupil->ensemble, state, 1, 1.0, p);
    if (!pupil->teacher->mechanism->answer(pupil->teacher, pupil->noise, p, z))
        return -1;
    int best = 0;
    for (uint32_t a = 1; a < pupil->ensemble->actions; a++)
        best = z[a] > z[best] ? (int)a : best;
    return best;
}

/* NAN: the world broke, or no answer. */
static double pupil_episode(const struct pupil *pupil, const struct env *env, void *world,
                            uint32_t steps, uint64_t seed)
{
    double physics[ENV_MAX_PARAMETERS], seen[ENV_MAX_STATE_DIM], sum = 0.0;
    float state[ENV_MAX_STATE_DIM];
    struct rng rng;
    env_defaults(env, physics);
    rng_seed(&rng, seed, 77);
    if (!env->reset(world, physics, &rng, seen))
        return NAN;
    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t i = 0; i < env->state_dim; i++)
            state[i] = (float)seen[i];
        int action = pupil_decide(pupil, state);
        if (action < 0)
            return NAN;
        struct env_outcome outcome = env->step(world, physics, (unsigned)action, &rng, seen);
        sum += outcome.reward;
        if (outcome.terminated)
            break;
    }
    return sum;
}

static double pupil_return(const struct pupil *pupil, const struct population *p, uint64_t seed)
{
    void *world = env_open(p->env);
    double sum = 0.0;
    for (uint64_t e = 0; world && e < TEACHER_EPISODES; e++)
        sum += pupil_episode(pupil, p->env, world, p->evaluation_steps, 1000 * seed + e);
    if (world)
        env_close(p->env, world);
    return world ? sum / TEACHER_EPISODES : NAN;
}

double measure_teacher(struct school *school, const struct advice_facts *facts,
                       const struct advice_candidate *candidate,
                       const struct algorithm_request *request, double *out_signal)
{
    struct population *p = school->population;
    struct ensemble *ensemble = NULL;
    const char *message = "";
    double mean = NAN;
    *out_signal = advice_teaching_signal(facts, candidate->size);
    if (*out_signal == 0 || !give_keys(p->data))
        return NAN;
    struct teacher teacher = {.mechanism = &teacher_gaussian_simplex,
                              .actions = p->env->action_count,
                              .temperature = 1.0,
                              .shards = candidate->size};
    teacher.gaussian.sigma = 1 / *out_signal;
    const struct algorithm_run run = {.request = request, .data = p->data};
    if (!teacher_prepare_ensemble(&teacher) &&
        ensemble_train(candidate->algorithm, candidate->size, &run, &ensemble, &message) ==
            ALGORITHM_OK) {
        const struct pupil pupil = {
            .ensemble = ensemble, .teacher = &teacher, .noise = noise_source_new("advise")};
        if (pupil.noise)
            mean = pupil_return(&pupil, p, request->seed);
        noise_source_free(pupil.noise);
    }
    ensemble_free(ensemble);
    return mean;
}

/* ---- a Q-release */

static void shards_take_release(void *context, struct q_release *release, bool injected)
{
    struct q_release **out = context;
    (void)injected;
    *out = release;
}

double measure_release(struct school *school, const struct algorithm *algorithm,
                       const struct algorithm_request *request, const struct algorithm_plan *plan)
{
    const struct population *p = school->population;
    struct q_release *release = NULL;
    struct policy *policy = NULL;
    struct policy_evaluation played = {.mean_return = NAN};
    const char *message = "";
    double physics[ENV_MAX_PARAMETERS];
    if (!give_keys(p->data))
        return NAN;
    const struct algorithm_run run = {
        .request = request,
        .plan = plan,
        .data = p->data,
        .hooks = {.context = &release, .give_release = shards_take_release}};
    env_defaults(p->env, physics);
    if (algorithm->train(&run, &policy, &message) == ALGORITHM_OK && release)
        (void)q_release_evaluate(release, p->env, physics, MEASURE_EPISODES, p->evaluation_steps,
                                 UINT64_C(1000) + request->seed, &played);
    policy_free(policy);
    q_release_free(release);
    return played.mean_return;
}
