/* A result chosen by play: which candidates there are, that the best is given, that an interrupted
 * run chooses the same, and what cannot be chosen in. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/offline/choice.h"
#include "algos/privacy/noise/noise_source.h"

enum { STEPS = 3000, CANDIDATES = 6, EPISODES = 3, MAX_STEPS = 400 };

Test(choice, candidates_are_evenly_spaced_and_the_last_is_the_end)
{
    const struct choice choice = {.candidates = 4};
    uint32_t before = 0;
    for (uint64_t total = 1; total < 40; total++) {
        cr_assert_eq(choice_due(&choice, 0, total), 0);
        cr_assert_eq(choice_due(&choice, total, total), 4);
        before = 0;
        for (uint64_t done = 0; done <= total; done++) {
            uint32_t due = choice_due(&choice, done, total);
            cr_assert_eq(due, 4 * done / total);
            cr_assert_geq(due, before);
            before = due;
        }
    }
    cr_assert_eq(choice_due(&choice, 10000000, 10000000), 4);
}

/* What an algorithm is shown of a CartPole without meaning: states and actions of its sizes. */
struct scene {
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct dataset *data;
    struct noise_source *noise;
    double physics[ENV_MAX_PARAMETERS];
    struct algorithm_run run;
    /* hooks */
    unsigned pulses, pause_at;
    unsigned char *checkpoint;
    size_t checkpoint_size;
};

static const struct algorithm *cql(void)
{
    return algorithm_find("cql");
}

static void set(struct scene *s, const char *name, double value)
{
    int index = parameters_index(cql()->parameters, cql()->parameter_count, name);
    cr_assert_geq(index, 0);
    s->request.parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
}

static struct dataset *lean_data(uint32_t experts)
{
    struct dataset_builder *builder = dataset_builder_new(4, 2, experts);
    struct rng rng;
    rng_seed(&rng, 5, 0);
    for (uint32_t e = 0; e < experts; e++) {
        float states[11 * 4], rewards[10];
        uint16_t actions[10];
        for (int i = 0; i < 44; i++)
            states[i] = 0.1F * (float)rng_normal(&rng);
        for (int i = 0; i < 10; i++) {
            rewards[i] = 1.0F;
            actions[i] = states[4 * i + 2] + states[4 * i + 3] > 0; /* against the fall */
        }
        const struct trajectory one = {.expert = e,
                                       .length = 10,
                                       .truncated = true,
                                       .states = states,
                                       .actions = actions,
                                       .rewards = rewards};
        cr_assert(dataset_builder_add(builder, &one));
    }
    return dataset_builder_finish(builder);
}

static void quiet(struct scene *s)
{
    const uint8_t key[32] = {4};
    noise_source_free(s->noise);
    s->noise = noise_source_new_injected(key);
    cr_assert_not_null(s->noise);
    s->run.noise = s->noise;
}

static void setup(struct scene *s, uint32_t candidates)
{
    const struct env *env = env_find("cartpole");
    memset(s, 0, sizeof *s);
    s->request = (struct algorithm_request){
        .mechanism = MECHANISM_DPSGD,
        .epsilon = 8,
        .delta = 1e-3,
        .discount = 0.99,
        .state_dim = 4,
        .action_count = 2,
        .nominal_experts = 40,
        .choice = {.candidates = candidates, .episodes = EPISODES, .max_steps = MAX_STEPS},
        .seed = 11};
    parameters_defaults(cql()->parameters, cql()->parameter_count, &s->request.parameters);
    set(s, "hidden", 8);
    set(s, "batch_size", 4);
    set(s, "steps", STEPS);
    s->data = lean_data(40);
    env_defaults(env, s->physics);
    s->run = (struct algorithm_run){.request = &s->request,
                                    .plan = &s->plan,
                                    .data = s->data,
                                    .choice = {.world = env, .physics = s->physics},
                                    .hooks = {.context = s}};
    quiet(s);
    const char *message = NULL;
    cr_assert_eq(cql()->plan(&s->request, &s->plan, &message), ALGORITHM_OK);
}

static void teardown(struct scene *s)
{
    dataset_free(s->data);
    noise_source_free(s->noise);
    free(s->checkpoint);
}

static struct policy *train(struct scene *s)
{
    struct policy *policy = NULL;
    const char *message = NULL;
    cr_assert_eq(cql()->train(&s->run, &policy, &message), ALGORITHM_OK, "%s", message);
    return policy;
}

static double score_of(const struct scene *s, const struct policy *policy)
{
    struct choice_score score = {0};
    while (score.episodes < EPISODES)
        cr_assert_eq(choice_play(&s->request.choice, policy, &s->run.choice, &score),
                     CHOICE_PLAYED);
    cr_assert_eq(score.episodes, EPISODES);
    return score.sum / EPISODES;
}

static struct policy *train_with(struct scene *s, uint32_t candidates, uint64_t seed)
{
    setup(s, candidates);
    s->request.seed = seed;
    const char *message = NULL;
    cr_assert_eq(cql()->plan(&s->request, &s->plan, &message), ALGORITHM_OK);
    return train(s);
}

/* With one candidate the result is the end of the run, as without a choice; with more of them it
 * plays at least as well as that, and, where noise rules, mostly better. */
Test(choice, the_result_plays_at_least_as_well_as_the_end)
{
    enum { SEEDS = 5 };
    unsigned better = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene none, one, many;
        struct policy *last = train_with(&none, 0, seed), *alone = train_with(&one, 1, seed);
        struct policy *best = train_with(&many, CANDIDATES, seed);
        size_t size = none.plan.parameter_count * sizeof(float);
        cr_assert_eq(memcmp(last->parameters, alone->parameters, size), 0);
        double end = score_of(&one, alone), chosen = score_of(&many, best);
        cr_assert_geq(chosen, end);
        better += chosen > end;
        policy_free(last);
        policy_free(alone);
        policy_free(best);
        teardown(&none);
        teardown(&one);
        teardown(&many);
    }
    cr_assert_gt(better, 0, "the seeds are fixed, and noise makes some end worse than it was");
}

static enum algorithm_pulse pulse(void *context, uint64_t steps_done)
{
    struct scene *s = context;
    (void)steps_done;
    return ++s->pulses == s->pause_at ? PULSE_SAVE_AND_PAUSE : PULSE_CONTINUE;
}

static bool save(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    struct scene *s = context;
    (void)steps_done;
    free(s->checkpoint);
    s->checkpoint = malloc(size);
    cr_assert_not_null(s->checkpoint);
    memcpy(s->checkpoint, bytes, size);
    s->checkpoint_size = size;
    return true;
}

/* Trains until PULSE number AT pauses it; the next run goes on from there. */
static void train_until(struct scene *s,
                        enum algorithm_pulse (*pulse_of)(void *context, uint64_t steps_done),
                        unsigned at)
{
    struct policy *policy = NULL;
    const char *message = NULL;
    quiet(s);
    s->run.hooks.pulse = pulse_of;
    s->run.hooks.save = save;
    s->pause_at = at;
    cr_assert_eq(cql()->train(&s->run, &policy, &message), ALGORITHM_PAUSED);
    cr_assert_not_null(s->checkpoint);
    s->run.checkpoint = s->checkpoint;
    s->run.checkpoint_size = s->checkpoint_size;
    s->pulses = s->pause_at = 0;
}

Test(choice, an_interrupted_run_chooses_the_same)
{
    struct scene s;
    setup(&s, CANDIDATES);
    struct policy *whole = train(&s);
    train_until(&s, pulse, 2);
    s.run.hooks = (struct algorithm_hooks){0};
    struct policy *parts = train(&s);
    cr_assert_eq(
        memcmp(whole->parameters, parts->parameters, s.plan.parameter_count * sizeof(float)), 0);
    policy_free(whole);
    policy_free(parts);
    /* A checkpoint of a choice among more of them is another run's. */
    const char *message = NULL;
    s.request.choice.candidates++;
    parts = NULL;
    cr_assert_eq(cql()->train(&s.run, &parts, &message), ALGORITHM_BAD_CHECKPOINT);
    teardown(&s);
}

/* A play may take as long as a thousand steps: nobody waits for several of them. */
Test(choice, every_play_is_followed_by_a_pulse)
{
    struct scene s;
    setup(&s, CANDIDATES);
    set(&s, "steps", 4 * CANDIDATES);
    const char *message = NULL;
    cr_assert_eq(cql()->plan(&s.request, &s.plan, &message), ALGORITHM_OK);
    s.run.hooks.pulse = pulse;
    policy_free(train(&s));
    cr_assert_geq(s.pulses, CANDIDATES);
    teardown(&s);
}

static enum algorithm_pulse pause_at_play(void *context, uint64_t steps_done)
{
    struct scene *s = context;
    cr_assert_leq(steps_done, STEPS);
    s->pulses += steps_done == STEPS; /* no step follows: it plays */
    return s->pulses > 0 && s->pulses == s->pause_at ? PULSE_SAVE_AND_PAUSE : PULSE_CONTINUE;
}

/* Long episodes are played in blocks, with a pulse between them: one that is interrupted there,
 * even after the last step, begins its episodes anew. */
Test(choice, an_interrupted_play_ends_the_same)
{
    struct scene s;
    setup(&s, CANDIDATES);
    s.request.choice.episodes = 100;
    s.request.choice.max_steps = 10000;
    struct policy *whole = train(&s);
    train_until(&s, pause_at_play, 1);
    struct policy *parts = train(&s);
    cr_assert_geq(s.pulses, 2, "it plays from the first episode on");
    cr_assert_eq(
        memcmp(whole->parameters, parts->parameters, s.plan.parameter_count * sizeof(float)), 0);
    policy_free(whole);
    policy_free(parts);
    teardown(&s);
}

/* One that is not finite is not chosen; where all are so, there is no result. */
Test(choice, what_cannot_be_played_is_not_chosen)
{
    struct scene s;
    struct policy *policy = NULL;
    const char *message = NULL;
    setup(&s, CANDIDATES);
    s.request.mechanism = MECHANISM_NONE;
    set(&s, "learning_rate", 10);
    set(&s, "rate_schedule", 0);
    set(&s, "optimizer", 0);
    set(&s, "reward_scale", 1e6);
    set(&s, "huber_threshold", 1e6);
    cr_assert_eq(cql()->plan(&s.request, &s.plan, &message), ALGORITHM_OK);
    cr_assert_eq(cql()->train(&s.run, &policy, &message), ALGORITHM_BAD_INPUT);
    cr_assert_null(policy);
    teardown(&s);
}

/* ---- a world that runs short of memory */

static unsigned resets_left; /* to the one that fails */

static bool scarce_reset(void *state, const double *parameters, struct rng *rng,
                         double *observation)
{
    return resets_left-- > 0 && env_find("cartpole")->reset(state, parameters, rng, observation);
}

/* What is short for a moment is no verdict on the weights of that moment: the run ends with what it
 * lacked, and another may choose. */
Test(choice, a_candidate_that_met_short_memory_is_not_passed_over)
{
    struct scene s;
    struct policy *policy = NULL;
    const char *message = NULL;
    setup(&s, CANDIDATES);
    struct env scarce = *env_find("cartpole");
    scarce.reset = scarce_reset;
    s.run.choice.world = &scarce;
    resets_left = 3 * EPISODES + 1; /* of the fourth candidate */
    cr_assert_eq(cql()->train(&s.run, &policy, &message), ALGORITHM_NO_MEMORY);
    cr_assert_null(policy);
    teardown(&s);
}

Test(choice, it_needs_a_world_of_the_datas_sizes)
{
    static const char *const others[] = {NULL, "acrobot"};
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        struct policy *policy = NULL;
        const char *message = NULL;
        setup(&s, CANDIDATES);
        s.run.choice.world = others[i] ? env_find(others[i]) : NULL;
        cr_assert_eq(cql()->train(&s.run, &policy, &message), ALGORITHM_BAD_INPUT);
        cr_assert(strstr(message, "world"));
        teardown(&s);
    }
}

Test(choice, numbers_out_of_bounds_are_no_plan)
{
    static const struct choice cases[] = {
        {.candidates = CHOICE_MAX_CANDIDATES + 1, .episodes = 1, .max_steps = 1},
        {.candidates = 1, .episodes = 0, .max_steps = 1},
        {.candidates = 1, .episodes = 1, .max_steps = 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene s;
        const char *message = NULL;
        setup(&s, CANDIDATES);
        s.request.choice = cases[i];
        cr_assert_eq(cql()->plan(&s.request, &s.plan, &message), ALGORITHM_BAD_INPUT);
        teardown(&s);
    }
}
