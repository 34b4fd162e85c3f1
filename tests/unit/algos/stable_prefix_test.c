/* Stable prefixes: the release against a direct transcription of Algorithms 1 and 2, its exact law
 * on a tiny world, and what one expert can change of that law. */
#include "algos/offline/stable_prefix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/noise/noise.h"

#define SLOTS 40

/* ---- a tiny world: the observation is the step and the last action; it ends after LENGTH steps */

struct play {
    int steps, last;
    int length;
};

static bool tiny_reset(void *state, const double *parameters, struct rng *rng, double *observation)
{
    struct play *play = state;
    play->steps = play->last = 0;
    play->length = (int)parameters[0];
    observation[0] = 0.0;
    observation[1] = (double)rng_below(rng, 2); /* the start is the world's own coin */
    return true;
}

static struct env_outcome tiny_step(void *state, const double *parameters, unsigned action,
                                    struct rng *rng, double *observation)
{
    struct play *play = state;
    (void)parameters, (void)rng;
    play->steps++;
    observation[0] = play->steps;
    observation[1] = action;
    return (struct env_outcome){.reward = action, .terminated = play->steps == play->length};
}

#define TINY(steps)                                                                                \
    {                                                                                              \
        .name = "tiny", .state_dim = 2, .action_count = 2, .max_episode_steps = (steps),           \
        .parameters = (const struct env_parameter[]){{.name = "length", .value = (steps)}},        \
        .parameter_count = 1, .state_size = sizeof(struct play), .reset = tiny_reset,              \
        .step = tiny_step                                                                          \
    }
static const struct env two_steps = TINY(2), ten_steps = TINY(10), long_steps = TINY(1000);

/* ---- experts whose probability of action 1 is a table of (step mod 4, last) */

struct crowd {
    uint32_t slots;
    double one[SLOTS][4][2];
    bool absent[SLOTS];
    uint32_t asked; /* answers that were given */
};

static bool crowd_present(const void *context, uint32_t expert)
{
    return !((const struct crowd *)context)->absent[expert];
}

static void crowd_probabilities(const void *context, uint32_t first, uint32_t count,
                                const float *states, uint32_t state_count, double *probabilities)
{
    const struct crowd *crowd = context;
    ((struct crowd *)context)->asked += count * state_count;
    for (uint32_t e = 0; e < count; e++) {
        for (uint32_t s = 0; s < state_count; s++) {
            double p = crowd->one[first + e][(int)states[2 * s] % 4][(int)states[2 * s + 1]];
            *probabilities++ = 1.0 - p;
            *probabilities++ = p;
        }
    }
}

static struct expert_voices voices_of(const struct crowd *crowd, double floor_probability)
{
    return (struct expert_voices){.context = crowd,
                                  .slots = crowd->slots,
                                  .state_dim = 2,
                                  .action_count = 2,
                                  .min_probability = floor_probability,
                                  .present = crowd_present,
                                  .probabilities = crowd_probabilities};
}

static void mixed_crowd(struct crowd *crowd, uint32_t slots, double floor_probability,
                        double spread, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed, 0);
    *crowd = (struct crowd){.slots = slots};
    for (uint32_t e = 0; e < slots; e++)
        for (int s = 0; s < 4; s++)
            for (int a = 0; a < 2; a++)
                crowd->one[e][s][a] = 1.0 - floor_probability - spread * rng_uniform(&rng);
}

static struct noise_source *noise_of(uint8_t number)
{
    const uint8_t key[32] = {number, 77};
    struct noise_source *noise = noise_source_new_injected(key);
    cr_assert_not_null(noise);
    return noise;
}

/* A plan by hand: thresholds and scales in experts. */
static struct sparse_vector_plan plan_of(uint32_t runs, uint32_t length, double threshold,
                                         double scale)
{
    double unit = (double)SPARSE_VECTOR_UNIT;
    return (struct sparse_vector_plan){.request = {.trajectories = runs, .max_length = length},
                                       .lattice = {.threshold = (int64_t)(threshold * unit),
                                                   .threshold_scale = (uint64_t)(scale * unit),
                                                   .query_scale = (uint64_t)(scale * unit)}};
}

static struct dataset *release(const struct crowd *crowd, const struct env *env,
                               const struct sparse_vector_plan *plan, struct noise_source *noise)
{
    const struct expert_voices voices = voices_of(crowd, 0.0);
    const struct stable_prefix_run run = {
        .plan = plan, .voices = &voices, .source = STABLE_ROLLOUTS, .env = env, .noise = noise};
    struct dataset *released = NULL;
    const char *message = NULL;
    cr_assert_eq(stable_prefix_release(&run, &released, &message), ALGORITHM_OK);
    return released;
}

/* ---- Algorithms 1 and 2 as they are printed (with replacement, monotone noise), no blocks */

/* One run; the number of steps in ACTIONS, released from START. The draws come in the order in
 * which the release makes them while a trajectory fits one of its blocks. */
static int printed_run(const struct crowd *crowd, const struct sparse_vector_plan *plan,
                       struct noise_source *noise, int length, int *start, int *actions)
{
    uint32_t members[SLOTS], count = 0;
    for (uint32_t e = 0; e < crowd->slots; e++)
        if (!crowd->absent[e])
            members[count++] = e;
    uint32_t drawn = members[noise_below(noise, count)];
    struct rng rng;
    rng_seed(&rng, noise_u64(noise), 0);
    *start = (int)rng_below(&rng, 2);
    int64_t threshold =
        plan->lattice.threshold + noise_discrete_laplace(noise, plan->lattice.threshold_scale, 1);
    for (int t = 0, last = *start; t < length; last = actions[t++]) {
        uint64_t one = (uint64_t)(crowd->one[drawn][t % 4][last] * 0x1p30 + 0.5);
        uint64_t weights[2] = {0x40000000U - one, one};
        actions[t] = (int)noise_categorical(noise, weights, 2);
    }
    for (int k = 1; k <= length; k++) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < count; i++) {
            long double product = 1.0L;
            for (int t = 0, last = *start; t < k; last = actions[t++]) {
                double p = crowd->one[members[i]][t % 4][last];
                product *= actions[t] ? p : 1.0 - p;
            }
            sum += (int64_t)(product * (long double)SPARSE_VECTOR_UNIT);
        }
        if (sum + noise_discrete_laplace(noise, plan->lattice.query_scale, 1) < threshold)
            return k - 1;
    }
    return length;
}

Test(stable_prefix, is_the_printed_algorithm)
{
    enum { RUNS = 400, LENGTH = 10 };
    struct crowd crowd;
    mixed_crowd(&crowd, SLOTS, 0.02, 0.2, 5);
    for (uint32_t e = 0; e < SLOTS; e++) /* multiples of 2^-10: both sides hold them exactly */
        for (int s = 0; s < 4; s++)
            for (int a = 0; a < 2; a++)
                crowd.one[e][s][a] = floor(crowd.one[e][s][a] * 1024.0) / 1024.0;
    crowd.absent[3] = crowd.absent[17] = true;
    struct sparse_vector_plan plan = plan_of(RUNS, LENGTH, 12.0, 3.0);
    struct noise_source *noise = noise_of(1);
    struct dataset *released = release(&crowd, &ten_steps, &plan, noise);
    noise_source_free(noise);
    noise = noise_of(1);
    int lengths[LENGTH + 1] = {0};
    for (int i = 0; i < RUNS; i++) {
        int start, actions[LENGTH];
        int stable = printed_run(&crowd, &plan, noise, LENGTH, &start, actions);
        uint64_t first = released->expert_transitions[i];
        cr_assert_eq(released->expert_transitions[i + 1] - first, (uint64_t)stable, "run %d", i);
        lengths[stable]++;
        for (int t = 0; t < stable; t++) {
            const float *state = released->states + 2 * released->state_row[first + (uint64_t)t];
            cr_assert_eq(released->actions[first + (uint64_t)t], actions[t]);
            cr_assert_float_eq(released->rewards[first + (uint64_t)t], actions[t], 0);
            cr_assert_float_eq(state[0], t, 0);
            cr_assert_float_eq(state[1], t > 0 ? actions[t - 1] : start, 0);
            cr_assert_float_eq(state[3], actions[t], 0, "the next state");
            cr_assert_eq(released->terminated[first + (uint64_t)t], t + 1 == LENGTH);
        }
    }
    cr_assert(lengths[0] > 5 && lengths[LENGTH] > 5 && lengths[5] > 5, "all cases were met");
    dataset_free(released);
    noise_source_free(noise);
}

/* ---- the exact law of a run of two steps */

#define OUTPUTS 13 /* start x (nothing is one output for both), one action, two actions */

static double laplace_at_least(double scale, double x)
{
    return x > 0.0 ? 0.5 * exp(-x / scale) : 1.0 - 0.5 * exp(x / scale);
}

/* P(first below is query 1), (2), (none), by integrating over the threshold's noise. */
static void stop_law(double threshold, double scale, const double counts[2], double out[3])
{
    enum { CELLS = 6000 };
    memset(out, 0, 3 * sizeof *out);
    double width = 80.0 * scale / CELLS;
    for (int i = 0; i < CELLS; i++) {
        double low = -40.0 * scale + i * width, z = low + 0.5 * width;
        double mass = laplace_at_least(scale, low) - laplace_at_least(scale, low + width);
        double one = laplace_at_least(scale, threshold + z - counts[0]);
        double two = laplace_at_least(scale, threshold + z - counts[1]);
        out[0] += mass * (1.0 - one);
        out[1] += mass * one * (1.0 - two);
        out[2] += mass * one * two;
    }
}

static int output_of(int start, int length, int a, int b)
{
    if (length == 0)
        return 0;
    return 1 + 6 * start + (length == 1 ? a : 2 + 2 * a + b);
}

static void run_law(const struct crowd *crowd, double threshold, double scale, double *law)
{
    memset(law, 0, OUTPUTS * sizeof *law);
    double members = 0.0;
    for (uint32_t e = 0; e < crowd->slots; e++)
        members += !crowd->absent[e];
    for (int i = 0; i < 8; i++) {
        int start = i & 1, a = i >> 1 & 1, b = i >> 2;
        double counts[2] = {0.0, 0.0}, stop[3];
        for (uint32_t e = 0; e < crowd->slots; e++) {
            if (crowd->absent[e])
                continue;
            double p = crowd->one[e][0][start], q = crowd->one[e][1][a];
            double one = a ? p : 1.0 - p;
            counts[0] += one;
            counts[1] += one * (b ? q : 1.0 - q);
        }
        stop_law(threshold, scale, counts, stop);
        double drawn = 0.5 * counts[1] / members;
        for (int k = 0; k <= 2; k++)
            law[output_of(start, k, a, b)] += drawn * stop[k];
    }
}

/* 40,000 runs; chi-square of 12 degrees of freedom, beyond 50 with probability 1.4e-6. */
Test(stable_prefix, draws_follow_the_exact_law)
{
    enum { RUNS = 10000, ROUNDS = 4 };
    struct crowd crowd;
    mixed_crowd(&crowd, 12, 0.1, 0.5, 6);
    crowd.absent[4] = true;
    struct sparse_vector_plan plan = plan_of(RUNS, 2, 4.0, 1.5);
    double law[OUTPUTS], seen[OUTPUTS] = {0}, swapped[OUTPUTS];
    run_law(&crowd, 4.0, 1.5, law);
    struct noise_source *noise = noise_of(2);
    for (int round = 0; round < ROUNDS; round++) {
        struct dataset *released = release(&crowd, &two_steps, &plan, noise);
        for (int i = 0; i < RUNS; i++) {
            uint64_t first = released->expert_transitions[i];
            uint64_t length = released->expert_transitions[i + 1] - first;
            int start = length > 0 ? (int)released->states[2 * released->state_row[first] + 1] : 0;
            int a = length > 0 ? released->actions[first] : 0;
            int b = length > 1 ? released->actions[first + 1] : 0;
            seen[output_of(start, (int)length, a, b)] += 1.0;
        }
        dataset_free(released);
    }
    noise_source_free(noise);
    double distance = 0.0, total = 0.0, far = 0.0;
    crowd.absent[4] = false; /* the law of another set of experts is seen to be another */
    run_law(&crowd, 4.0, 1.5, swapped);
    for (int i = 0; i < OUTPUTS; i++) {
        double expected = law[i] * RUNS * ROUNDS, other = swapped[i] * RUNS * ROUNDS;
        total += law[i];
        distance += (seen[i] - expected) * (seen[i] - expected) / expected;
        far += (seen[i] - other) * (seen[i] - other) / other;
    }
    cr_assert_float_eq(total, 1.0, 1e-9);
    cr_assert_lt(distance, 50.0, "%g", distance);
    cr_assert_gt(far, 100.0, "%g", far);
}

static double hockey_stick(const double *p, const double *q, double epsilon)
{
    double sum = 0.0;
    for (int i = 0; i < OUTPUTS; i++)
        sum += fmax(0.0, p[i] - exp(epsilon) * q[i]);
    return sum;
}

/* A plan of the planner, the exact laws of neighbours, both directions, the empty output included.
 * Without the floor under probabilities and without the offset the same instances break it. */
Test(stable_prefix, one_expert_changes_the_law_by_no_more_than_claimed)
{
    struct sparse_vector_request request = {.experts = SLOTS,
                                            .epsilon = 2.0,
                                            .delta = 0.2,
                                            .trajectories = 1,
                                            .max_length = 2,
                                            .min_probability = 0.2};
    struct sparse_vector_plan plan;
    request.min_probability = expert_voices_floor(request.min_probability);
    cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
    double worst = 0.0, broken = 0.0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct crowd crowd;
        double with[OUTPUTS], without[OUTPUTS];
        for (int wrong = 0; wrong < 2; wrong++) {
            uint32_t slots = 2 + (uint32_t)(seed * 7 % (SLOTS - 2));
            mixed_crowd(&crowd, slots, wrong ? 0.0 : 0.2, wrong ? 0.05 : 0.6, seed);
            if (seed % 2)
                crowd.one[0][0][0] = crowd.one[0][0][1] = wrong ? 0.0 : 0.2;
            double threshold = wrong ? 0.25 : plan.threshold;
            double scale = wrong ? plan.query_scale / 16.0 : plan.query_scale;
            run_law(&crowd, threshold, scale, with);
            crowd.absent[0] = true;
            run_law(&crowd, threshold, scale, without);
            double delta = fmax(hockey_stick(with, without, plan.run_epsilon),
                                hockey_stick(without, with, plan.run_epsilon));
            double *to = wrong ? &broken : &worst;
            *to = fmax(*to, delta);
        }
    }
    cr_assert_leq(worst, plan.run_delta);
    cr_assert_gt(broken, plan.run_delta, "%g", broken);
}

Test(stable_prefix, long_trajectories_of_experts_who_agree)
{
    struct crowd crowd;
    mixed_crowd(&crowd, SLOTS, 0.0005, 0.0, 8);
    struct sparse_vector_plan plan = plan_of(20, 1000, 10.0, 0.1);
    struct noise_source *noise = noise_of(4);
    struct dataset *released = release(&crowd, &long_steps, &plan, noise);
    noise_source_free(noise);
    uint64_t whole = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t length = released->expert_transitions[i + 1] - released->expert_transitions[i];
        whole += length == 1000;
    }
    /* 40 (1 - 0.0005)^1000 = 24 experts at the end of a trajectory without a surprise, which has
     * probability 0.6; each surprise takes nearly all away. */
    cr_assert(whole > 4 && whole < 19, "%llu", (unsigned long long)whole);
    dataset_free(released);
}

/* A world that breaks after an action which only some experts take, and one whose state or reward
 * is then no number: the release is no error, and what came before the break is released. */
static struct env_outcome fragile_step(void *state, const double *parameters, unsigned action,
                                       struct rng *rng, double *observation)
{
    struct play *play = state;
    struct env_outcome outcome = tiny_step(state, parameters, action, rng, observation);
    if (play->steps < 3 || action == 0)
        return outcome;
    if (play->length == 10)
        outcome.failed = true;
    else if (play->length == 11)
        outcome.reward = 1e300;
    else
        observation[0] = (double)NAN;
    return outcome;
}

Test(stable_prefix, a_world_that_breaks_ends_the_walk_and_not_the_job)
{
    const struct sparse_vector_plan plan = plan_of(60, 8, -1000.0, 0.01); /* all is stable */
    struct crowd crowd;
    mixed_crowd(&crowd, 9, 0.5, 0.0, 3);
    for (int length = 10; length <= 12; length++) {
        struct env fragile = TINY(length);
        fragile.step = fragile_step;
        struct noise_source *noise = noise_of((uint8_t)length);
        struct dataset *released = release(&crowd, &fragile, &plan, noise);
        cr_assert_eq(released->expert_count, 60);
        unsigned cut = 0;
        for (uint32_t e = 0; e < 60; e++) {
            uint64_t first = released->expert_transitions[e];
            uint64_t end = released->expert_transitions[e + 1];
            cr_assert(end - first >= 2 && end - first <= 8, "%d", (int)(end - first));
            for (uint64_t t = first; t < end; t++) {
                cr_assert_eq(released->terminated[t], 0);
                cr_assert(t - first < 2 || released->actions[t] == 0);
            }
            cut += end - first == 2;
        }
        cr_assert(cut > 10 && cut < 50, "%u", cut); /* half of them; false alarm below 1e-6 */
        dataset_free(released);
        noise_source_free(noise);
    }
}

Test(stable_prefix, no_voice_is_no_error_and_gives_nothing)
{
    struct crowd crowd;
    mixed_crowd(&crowd, 3, 0.1, 0.1, 9);
    memset(crowd.absent, true, sizeof crowd.absent);
    struct sparse_vector_plan plan = plan_of(5, 10, 1.0, 1.0);
    struct noise_source *noise = noise_of(5);
    struct dataset *released = release(&crowd, &ten_steps, &plan, noise);
    cr_assert_eq(released->transition_count, 0);
    dataset_free(released);
    noise_source_free(noise);
}

/* ---- uploaded trajectories */

/* Expert e has e trajectories, of 2 + number steps, whose rewards are 100 e + number. */
static struct dataset *logged_data(uint32_t experts)
{
    struct dataset_builder *builder = dataset_builder_new(2, 2, experts);
    for (uint32_t number = 0; number < experts; number++) {
        for (uint32_t e = experts; e-- > number + 1;) {
            float states[64] = {0}, rewards[32];
            uint16_t actions[32];
            uint32_t length = 2 + number;
            for (uint32_t t = 0; t < length; t++) {
                rewards[t] = (float)(100 * e + number);
                actions[t] = 1;
            }
            const struct trajectory one = {.expert = e,
                                           .length = length,
                                           .terminated = number % 4 < 2,
                                           .states = states,
                                           .actions = actions,
                                           .rewards = rewards};
            cr_assert(dataset_builder_add(builder, &one));
        }
    }
    return dataset_builder_finish(builder);
}

/* RUNS of logged trajectories under a threshold in experts. */
static struct dataset *release_logged(const struct crowd *crowd, const struct dataset *data,
                                      uint32_t runs, double threshold, struct noise_source *noise)
{
    struct sparse_vector_plan plan = plan_of(runs, 32, threshold, 0.001);
    const struct expert_voices voices = voices_of(crowd, 0.0);
    const struct stable_prefix_run run = {
        .plan = &plan, .voices = &voices, .source = STABLE_LOGGED, .logged = data, .noise = noise};
    struct dataset *released = NULL;
    const char *message = NULL;
    cr_assert_eq(stable_prefix_release(&run, &released, &message), ALGORITHM_OK);
    return released;
}

/* A run has one even-numbered trajectory of each expert, so that no run depends on whom earlier
 * ones drew. */
Test(stable_prefix, logged_trajectories_are_used_once_and_never_in_both_stages)
{
    enum { EXPERTS = 9, RUNS = 6, TIMES = 40 };
    struct crowd crowd;
    mixed_crowd(&crowd, EXPERTS, 0.01, 0.0, 10);
    struct dataset *data = logged_data(EXPERTS);
    struct noise_source *noise = noise_of(6);
    int whole[RUNS] = {0};
    for (int i = 0; i < RUNS * TIMES; i++) {
        struct dataset *released = release_logged(&crowd, data, RUNS, 1.0, noise);
        int slot = i % RUNS;
        uint64_t first = released->expert_transitions[slot];
        uint64_t length = released->expert_transitions[slot + 1] - first;
        if (length > 0) {
            int reward = (int)released->rewards[first], number = reward % 100;
            cr_assert_eq(number, 2 * slot);
            cr_assert(stable_prefix_uses((uint64_t)number));
            cr_assert_eq(length, (uint64_t)number + 2);
            cr_assert_eq(released->terminated[first + length - 1], number % 4 < 2);
            whole[slot]++;
        }
        dataset_free(released);
    }
    for (int slot = 0; slot < RUNS; slot++)
        cr_expect_eq(whole[slot], slot < 4 ? TIMES : 0, "run %d: %d", slot, whole[slot]);
    struct dataset *rest = stable_prefix_rest(data);
    uint64_t odd = 0;
    for (uint64_t i = 0; i < rest->transition_count; i++) {
        int reward = (int)rest->rewards[i], expert = reward / 100, number = reward % 100;
        cr_assert_eq(number % 2, 1);
        cr_assert(i >= rest->expert_transitions[expert] &&
                  i < rest->expert_transitions[expert + 1]);
    }
    for (uint64_t i = 0; i < data->transition_count; i++)
        odd += (uint64_t)((int)data->rewards[i] % 2);
    cr_assert_eq(rest->transition_count, odd);
    dataset_free(rest);
    dataset_free(data);
    noise_source_free(noise);
}

/* Experts 1 to 8 have a trajectory for run 0, 3 to 8 for run 1, 5 to 8 for run 2, 7 and 8 for run
 * 3. Of a threshold of 3.5 experts, who has none for a run must not count: the drawn one would
 * stand behind voices who could not have been drawn, and be shown as one of few. */
Test(stable_prefix, who_has_no_logged_trajectory_left_counts_for_nothing)
{
    enum { EXPERTS = 9, RUNS = 4 };
    struct crowd crowd;
    mixed_crowd(&crowd, EXPERTS, 0.0, 0.0, 11);
    struct dataset *data = logged_data(EXPERTS);
    struct noise_source *noise = noise_of(7);
    for (int i = 0; i < 20; i++) {
        struct dataset *released = release_logged(&crowd, data, RUNS, 3.5, noise);
        for (int slot = 0; slot < RUNS; slot++) {
            uint64_t length =
                released->expert_transitions[slot + 1] - released->expert_transitions[slot];
            cr_expect_eq(length, slot < 3 ? 2 + 2 * (uint64_t)slot : 0, "run %d", slot);
        }
        dataset_free(released);
    }
    dataset_free(data);
    noise_source_free(noise);
}

/* ---- weights */

Test(stable_prefix, weights_are_whole_sum_to_one_and_keep_the_floor)
{
    static const double cases[][3] = {
        {0.2, 0.3, 0.5}, {0.02, 0.02, 0.96},      {1.0, 0.0, 0.0},   {0.5, NAN, 0.5},
        {0.5, 0.9, 0.9}, {-0.1, 0.6, 0.5},        {1e-9, 1e-9, 1.0}, {INFINITY, 0.1, 0.1},
        {0.0, 0.0, 0.0}, {1 / 3., 1 / 3., 1 / 3.}};
    static const double floors[] = {0.0, 0.02, 1 / 3.};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t j = 0; j < 3; j++) {
            uint32_t weights[3];
            expert_voices_weights(cases[i], 3, floors[j], VOICE_UNIT, weights);
            cr_expect_eq(weights[0] + weights[1] + weights[2], VOICE_UNIT, "case %zu", i);
            for (int a = 0; a < 3; a++)
                cr_expect_geq(weights[a] / (double)VOICE_UNIT, expert_voices_floor(floors[j]),
                              "case %zu", i);
        }
    }
    uint32_t weights[3];
    expert_voices_weights(cases[0], 3, 0.02, VOICE_UNIT, weights);
    cr_expect_float_eq(weights[1] / (double)VOICE_UNIT, 0.3, 1e-8);
}

/* ---- work, whenever walks end */

static uint32_t steps_made;

static struct env_outcome counted_step(void *state, const double *parameters, unsigned action,
                                       struct rng *rng, double *observation)
{
    steps_made++;
    return tiny_step(state, parameters, action, rng, observation);
}

/* The steps of the world and the answers that 50 runs take, whose prefixes have STABLE steps. */
static void work_of(struct env world, double threshold, uint32_t stable, uint32_t *steps,
                    uint32_t *asked)
{
    enum { RUNS = 50, MOST = 100 };
    struct crowd crowd;
    mixed_crowd(&crowd, SLOTS, 0.0, 0.0, 5); /* all are certain */
    const struct sparse_vector_plan plan = plan_of(RUNS, MOST, threshold, 0.01);
    struct noise_source *noise = noise_of(8);
    world.step = counted_step;
    steps_made = 0;
    struct dataset *released = release(&crowd, &world, &plan, noise);
    cr_expect_eq(released->transition_count, RUNS * stable);
    *steps = steps_made;
    *asked = crowd.asked;
    dataset_free(released);
    noise_source_free(noise);
}

/* Where nothing is released, a walk of 2 steps costs what one of 100 costs; where 10 steps are, the
 * whole of their block. */
Test(stable_prefix, costs_follow_from_what_is_released)
{
    uint32_t steps[3], asked[3];
    work_of(long_steps, 2.0 * SLOTS, 0, &steps[0], &asked[0]);
    work_of(two_steps, 2.0 * SLOTS, 0, &steps[1], &asked[1]);
    work_of(ten_steps, 0.5 * SLOTS, 10, &steps[2], &asked[2]);
    cr_expect_eq(steps[0], 50 * 16);
    for (int i = 1; i < 3; i++) {
        cr_expect_eq(steps[i], steps[0], "%u steps, and %u", steps[i], steps[0]);
        cr_expect_eq(asked[i], asked[0], "%u answers, and %u", asked[i], asked[0]);
    }
}
