/* The judge in a world whose values are known: two states, of which the second pays. */
#include "algos/offline/judge/verdict.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "envs/rng.h"

/* State 0 and 1, shown as (1, 0) and (0, 1). Action 0 stays, action 1 changes; a step that ends in
 * state 1 pays 1. ENDS: to stay in state 1 is the end. Experts change with probability CHANGE. */
enum { TRAJECTORIES = 300, LENGTH = 12 };
static const double discount = 0.8;
static const struct judge_pulse nobody = {NULL, NULL};

static void show(unsigned state, float *out)
{
    out[0] = state == 0;
    out[1] = state == 1;
}

struct play {
    bool ends;
    double change;
    uint32_t experts, trajectories;
    uint64_t seed;
};

static struct dataset *play(const struct play *p)
{
    struct dataset_builder *builder = dataset_builder_new(2, 2, p->experts);
    struct rng rng;
    rng_seed(&rng, p->seed, 0);
    for (uint32_t i = 0; i < p->trajectories; i++) {
        float states[(LENGTH + 1) * 2], rewards[LENGTH];
        uint16_t actions[LENGTH];
        unsigned state = 0;
        struct trajectory one = {
            .expert = i % p->experts, .states = states, .actions = actions, .rewards = rewards};
        show(state, states);
        while (one.length < LENGTH && !one.terminated) {
            uint32_t t = one.length++;
            actions[t] = rng_uniform(&rng) < p->change;
            one.terminated = p->ends && state == 1 && actions[t] == 0;
            state ^= actions[t];
            rewards[t] = (float)state;
            show(state, states + 2 * one.length);
        }
        one.truncated = !one.terminated;
        cr_assert(dataset_builder_add(builder, &one));
    }
    return dataset_builder_finish(builder);
}

static struct dataset *usual(bool ends, uint64_t seed)
{
    const struct play p = {ends, 0.5, 30, TRAJECTORIES, seed};
    return play(&p);
}

/* Changes with probability P in state 0, and Q in state 1. */
static struct policy *changing(double p, double q)
{
    const struct mlp_shape shape = {.input = 2, .layer_count = 1, .width = {2}};
    struct policy *policy = policy_new(&shape, POLICY_SOFTMAX);
    cr_assert_not_null(policy);
    policy->parameters[2] = (float)log(p / (1 - p)); /* of action 1 */
    policy->parameters[3] = (float)log(q / (1 - q));
    return policy;
}

/* The value of LENGTH steps: v0 = p (1 + g v1) + (1 - p) g v0 and
 * v1 = q g v0 + (1 - q)(1 + g v1 [not the end]), where the right sides have a step less. */
static double exact(double p, double q, bool ends)
{
    double v0 = 0, v1 = 0, g = discount;
    for (int k = 0; k < LENGTH; k++) {
        double next0 = p * (1 + g * v1) + (1 - p) * g * v0;
        v1 = q * g * v0 + (1 - q) * (1 + (ends ? 0 : g * v1));
        v0 = next0;
    }
    return v0;
}

static struct judge_figures judge(const struct policy *policy, const struct dataset *data)
{
    const struct fitted_q_settings settings = fitted_q_defaults();
    struct judge_figures figures = {0};
    const char *message = NULL;
    cr_assert_eq(judge_measure(&settings, policy, data, discount, 7, &nobody, &figures, &message),
                 ALGORITHM_OK, "%s", message);
    return figures;
}

/* An interval of 90 % is 1.64 deviations to each side; four deviations hold the truth. */
static void expect_near(const char *what, const struct judge_interval *found, double known)
{
    double half = fmax(found->high - found->value, found->value - found->low);
    cr_assert_leq(found->low, found->value, "%s", what);
    cr_assert_leq(found->value, found->high, "%s", what);
    cr_assert_float_eq(found->value, known, 4 / 1.64 * half + 1e-3, "%s: %g, [%g, %g], not %g",
                       what, found->value, found->low, found->high, known);
}

Test(judge, every_estimator_finds_the_value_that_is_known)
{
    for (int ends = 0; ends < 2; ends++) {
        struct dataset *data = usual(ends, 5);
        for (int i = 1; i <= 3; i++) {
            double p = 0.25 * i, known = exact(p, 1 - p, ends);
            struct policy *policy = changing(p, 1 - p);
            struct judge_figures f = judge(policy, data);
            expect_near("behaviour", &f.behaviour, exact(0.5, 0.5, ends));
            expect_near("fitted q", &f.fitted, known);
            expect_near("importance", &f.sampling, known);
            expect_near("robust", &f.robust, known);
            cr_assert_float_eq(f.fitted.value, known, 0.1 * known, "%g, not %g", f.fitted.value,
                               known);
            cr_assert_float_eq(f.tried, 1, 1e-6);
            cr_assert_float_eq(f.bound_low, f.fitted.value, 1e-3, "nothing is untried");
            cr_assert_float_eq(f.bound_high, f.fitted.value, 1e-3);
            cr_assert(f.by_expert && f.units == 30 && f.horizon == LENGTH);
            cr_assert_eq(f.trajectories, TRAJECTORIES);
            policy_free(policy);
        }
        dataset_free(data);
    }
}

/* All weights are 1 where the policy is who made the data, and fewer count where it is another. */
Test(judge, the_effective_sample_size_tells_how_much_was_seen)
{
    struct dataset *data = usual(false, 6);
    double before = TRAJECTORIES + 1;
    for (int i = 0; i < 3; i++) {
        struct policy *policy = changing(0.5 + 0.2 * i, 0.5 + 0.2 * i);
        struct judge_figures f = judge(policy, data);
        cr_assert_lt(f.effective, before);
        cr_assert(i > 0 || f.effective > 0.9 * TRAJECTORIES, "%g", f.effective);
        before = f.effective;
        policy_free(policy);
    }
    dataset_free(data);
}

/* Rewards of another size scale what is found, and the same call gives the same bits. */
Test(judge, scales_and_repeats)
{
    struct dataset *data = usual(false, 6);
    struct policy *policy = changing(0.7, 0.4);
    struct judge_figures one = judge(policy, data), again = judge(policy, data);
    cr_assert_eq(memcmp(&one, &again, sizeof one), 0);
    for (uint64_t t = 0; t < data->transition_count; t++)
        data->rewards[t] *= 1e6F;
    struct judge_figures large = judge(policy, data);
    cr_assert_float_eq(large.fitted.value, 1e6 * one.fitted.value, 1e3, "%g", large.fitted.value);
    cr_assert_float_eq(large.robust.high, 1e6 * one.robust.high, 1e3, "%g", large.robust.high);
    policy_free(policy);
    dataset_free(data);
}

/* ---- when the models are wrong */

/* Estimates for POLICY with a model of who made the data that says MU of every action, and values
 * that are FACTOR times the true ones of POLICY, which changes with 0.75 and 0.25. */
static struct importance_result estimate(const struct dataset *data, const struct policy *policy,
                                         double mu, double factor)
{
    struct logged logged;
    struct importance_result found;
    const char *message;
    cr_assert_eq(logged_read(data, discount, policy, &nobody, &logged, &message), ALGORITHM_OK);
    uint64_t count = data->transition_count;
    float *behaviour = calloc(count, sizeof *behaviour);
    double *value = calloc(count, sizeof *value), *taken = calloc(count, sizeof *taken);
    double v[LENGTH + 1][2] = {{0}};
    for (int k = 1; k <= LENGTH; k++) {
        v[k][0] = 0.75 * (1 + discount * v[k - 1][1]) + 0.25 * discount * v[k - 1][0];
        v[k][1] = 0.25 * discount * v[k - 1][0] + 0.75 * (1 + discount * v[k - 1][1]);
    }
    for (uint64_t t = 0; t < count; t++) {
        uint64_t left = LENGTH - t % LENGTH;
        unsigned state = data->states[2 * data->state_row[t]] > 0.5F ? 0 : 1;
        unsigned next = state ^ data->actions[t];
        behaviour[t] = (float)(data->actions[t] == 1 ? mu : 1 - mu);
        value[t] = factor * v[left][state];
        taken[t] = factor * (next + discount * v[left - 1][next]);
    }
    const struct importance_input input = {.logged = &logged,
                                           .behaviour = behaviour,
                                           .value = value,
                                           .taken = taken,
                                           .tail = 0.05,
                                           .seed = 3};
    importance_estimate(&input, &found);
    logged_clear(&logged);
    free(behaviour);
    free(value);
    free(taken);
    return found;
}

/* The experts change with 0.5. A wrong model of them misleads importance sampling and is seen; the
 * doubly robust estimate is right while either model is. */
Test(judge, a_wrong_model_of_who_made_the_data)
{
    struct dataset *data = usual(false, 8);
    struct policy *policy = changing(0.75, 0.25);
    double known = exact(0.75, 0.25, false);
    struct importance_result right = estimate(data, policy, 0.5, 1);
    struct importance_result wrong_mu = estimate(data, policy, 0.8, 1);
    struct importance_result wrong_q = estimate(data, policy, 0.5, 0.5);
    struct importance_result no_q = estimate(data, policy, 0.5, 0);
    expect_near("right", &right.sampling, known);
    expect_near("right", &right.robust, known);
    expect_near("wrong mu", &wrong_mu.robust, known);
    expect_near("wrong q", &wrong_q.robust, known);
    cr_assert_float_eq(no_q.robust.value, no_q.sampling.value, 1e-9, "WDR without Q is WIS");
    cr_assert(wrong_mu.sampling.high < known || wrong_mu.sampling.low > known, "[%g, %g] has %g",
              wrong_mu.sampling.low, wrong_mu.sampling.high, known);
    cr_assert_lt(right.robust.high - right.robust.low, right.sampling.high - right.sampling.low,
                 "true values take most of the variance away");
    policy_free(policy);
    dataset_free(data);
}

/* ---- verdicts */

static bool has_reason(const struct judge_verdict *verdict, const char *word)
{
    for (unsigned i = 0; i < verdict->reason_count; i++)
        if (strstr(verdict->reason[i], word))
            return true;
    return false;
}

static void expect_verdict(const struct judge_figures *f, enum verdict wanted, const char *word)
{
    struct judge_verdict verdict = judge_decide(f);
    cr_assert_eq(verdict.verdict, wanted, "%s: %s: %s", word, judge_verdict_name(verdict.verdict),
                 verdict.reason[0]);
    cr_assert(has_reason(&verdict, word), "%s: %s", word, verdict.reason[0]);
    cr_assert(verdict.low <= verdict.high);
    cr_assert(verdict.low >= f->lowest && verdict.high <= f->highest);
}

/* The experts never change. Of a policy that does nothing is known, and that is said. */
Test(judge, no_overlap_is_not_supported)
{
    const struct play p = {false, 0, 30, 60, 4};
    struct dataset *data = play(&p);
    for (uint64_t t = 0; t < data->transition_count; t++)
        data->rewards[t] = (float)(t / LENGTH % 3); /* returns are not alike */
    struct policy *policy = changing(0.999, 0.999);
    struct judge_figures f = judge(policy, data);
    cr_assert_lt(f.tried, 0.01);
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "hardly hold");
    struct judge_verdict verdict = judge_decide(&f);
    double width = f.highest - f.lowest;
    cr_assert_float_eq(verdict.low, f.lowest, 0.01 * width, "anything is possible");
    cr_assert_float_eq(verdict.high, f.highest, 0.01 * width);
    policy_free(policy);
    dataset_free(data);
}

Test(judge, good_and_bad_policies)
{
    const struct play few = {false, 0.5, 30, 60, 9};
    struct dataset *data = usual(false, 9), *small = play(&few);
    struct policy *good = changing(0.8, 0.4), *bad = changing(0.2, 0.8);
    struct policy *best = changing(0.9, 0.001);
    best->output = POLICY_ARGMAX; /* is always in the state that pays: nobody was so good */
    struct judge_figures f = judge(good, data);
    cr_assert_gt(exact(0.8, 0.4, false), f.behaviour.high);
    expect_verdict(&f, VERDICT_SUPPORTED, "agree");
    f = judge(bad, data);
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "does worse");
    f = judge(best, small);
    cr_assert_lt(f.highest, exact(1, 0, false));
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "outside");
    cr_assert(judge_decide(&f).outside);
    policy_free(good);
    policy_free(bad);
    policy_free(best);
    dataset_free(small);
    dataset_free(data);
}

/* The declared rule, one reason at a time. */
Test(judge, the_rule)
{
    const struct judge_figures good = {.units = 100,
                                       .lowest = -10,
                                       .highest = 10,
                                       .behaviour = {1, 0, 2},
                                       .fitted = {3, 2, 4},
                                       .sampling = {3, -1, 6},
                                       .robust = {4, 3, 5},
                                       .bound_low = -2,
                                       .bound_high = 6,
                                       .effective = 10,
                                       .tried = 1};
    struct judge_figures f = good;
    struct judge_verdict verdict = judge_decide(&f);
    expect_verdict(&f, VERDICT_SUPPORTED, "agree");
    cr_assert(verdict.low == 2 && verdict.high == 5 && !verdict.outside);
    f.effective = VERDICT_SAMPLES; /* then importance sampling counts */
    expect_verdict(&f, VERDICT_WEAK, "reaches below");
    f = good;
    f.tried = VERDICT_TRIED - 0.001; /* then the bounds count */
    verdict = judge_decide(&f);
    cr_assert(verdict.low == -2 && verdict.high == 6);
    expect_verdict(&f, VERDICT_WEAK, "sometimes");
    f.tried = VERDICT_LEAST_TRIED - 0.001;
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "often");
    f = good;
    f.robust.high = 12; /* cut to 10 */
    f.fitted.low = -0.01;
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "next to nothing");
    f = good;
    f.units = VERDICT_UNITS - 1;
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "ten units");
    f = good;
    f.fitted = (struct judge_interval){10.5, 4, 11};
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "outside");
    f = good;
    f.robust = (struct judge_interval){NAN, 3, 5};
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "outside");
    f = good;
    f.fitted = (struct judge_interval){8, 6.1, 9}; /* 1.1 apart, and the range is 20 */
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "contradict");
    f.fitted.low = 5.9;
    expect_verdict(&f, VERDICT_SUPPORTED, "agree");
    f = good;
    f.behaviour = (struct judge_interval){6, 5.5, 6.5};
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "does worse");
}

/* ---- data that cannot judge */

Test(judge, few_units_and_rewards_that_are_all_alike)
{
    struct policy *policy = changing(0.6, 0.4);
    const struct play few = {false, 0.5, 1, 9, 1}, one = {false, 0.5, 1, 100, 1};
    struct dataset *data = play(&few);
    struct judge_figures f = judge(policy, data);
    cr_assert(!f.by_expert && f.units == 9);
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "ten units");
    dataset_free(data);
    data = play(&one);
    f = judge(policy, data);
    cr_assert(!f.by_expert && f.units == 100, "of one expert each trajectory is a unit");
    for (uint64_t t = 0; t < data->transition_count; t++)
        data->rewards[t] = 0;
    f = judge(policy, data);
    expect_verdict(&f, VERDICT_NOT_SUPPORTED, "alike");
    cr_assert_float_eq(f.fitted.value, 0, 1e-6);
    dataset_free(data);
    policy_free(policy);
}

static bool stop_at_second(void *context)
{
    return ++*(int *)context < 2;
}

Test(judge, refuses_and_stops)
{
    const struct fitted_q_settings settings = fitted_q_defaults();
    struct dataset *data = usual(false, 6);
    struct policy *policy = changing(0.5, 0.5);
    struct judge_figures figures;
    const char *message = NULL;
    int asked = 0;
    const struct judge_pulse pulse = {stop_at_second, &asked};
    cr_assert_eq(judge_measure(&settings, policy, data, discount, 1, &pulse, &figures, &message),
                 ALGORITHM_CANCELLED);
    cr_assert_eq(asked, 2);
    policy->parameters[0] = NAN;
    cr_assert_eq(judge_measure(&settings, policy, data, discount, 1, &nobody, &figures, &message),
                 ALGORITHM_BAD_INPUT);
    cr_assert_neq(strstr(message, "finite"), NULL);
    policy_free(policy);
    const struct mlp_shape wide = {.input = 3, .layer_count = 1, .width = {2}};
    policy = policy_new(&wide, POLICY_Q);
    cr_assert_eq(judge_measure(&settings, policy, data, discount, 1, &nobody, &figures, &message),
                 ALGORITHM_BAD_INPUT);
    policy_free(policy);
    dataset_free(data);
    const struct play few = {false, 0.5, 4, 4, 1};
    data = play(&few);
    policy = changing(0.5, 0.5);
    cr_assert_eq(judge_measure(&settings, policy, data, discount, 1, &nobody, &figures, &message),
                 ALGORITHM_BAD_INPUT);
    cr_assert_neq(strstr(message, "too few"), NULL);
    policy_free(policy);
    dataset_free(data);
}
