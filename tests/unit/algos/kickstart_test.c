/* Kickstarting: the gradient by finite differences, whom and how often a student asks, that advice
 * helps and that noise harms only those who take it for advice. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/online/ppo.h"
#include "algos/policy.h"

static double phi(const float *logits, const double *answer, double allowed)
{
    float unused[4] = {0};
    return kickstart_penalty(logits, 4, answer, allowed, 1.0, unused);
}

Test(kickstart, gradient_is_that_of_finite_differences)
{
    const float logits[] = {0.3F, -1.2F, 0.7F, 0.1F};
    const double answer[] = {0.1, 0.5, 0.15, 0.25};
    float gradient[] = {1, 2, 3, 4}; /* it is added to what is there */
    double here = kickstart_penalty(logits, 4, answer, 0.1, 2.5, gradient);
    cr_assert_gt(here, 0.1);
    for (int a = 0; a < 4; a++) {
        float up[4], down[4];
        memcpy(up, logits, sizeof up);
        memcpy(down, logits, sizeof down);
        up[a] += 1e-2F;
        down[a] -= 1e-2F;
        double slope = (phi(up, answer, 0.1) - phi(down, answer, 0.1)) / (up[a] - down[a]);
        cr_expect_float_eq(gradient[a] - (a + 1), 2.5 * slope, 1e-4, "%d: %g, %g", a,
                           gradient[a] - (a + 1), 2.5 * slope);
    }
}

Test(kickstart, within_the_radius_nothing_pulls)
{
    const float logits[] = {0, 0, 0, 0};
    const double answer[] = {0.35, 0.15, 0.25, 0.25}; /* 0.1 sqrt 2 away */
    float gradient[4] = {0};
    cr_expect_eq(kickstart_penalty(logits, 4, answer, 0.1415, 1, gradient), 0);
    for (int a = 0; a < 4; a++)
        cr_expect_eq(gradient[a], 0);
    cr_expect_float_eq(kickstart_penalty(logits, 4, answer, 0.1414, 1, gradient), 0.1 * sqrt(2),
                       1e-12);
    cr_expect(gradient[0] < 0 && gradient[1] > 0);
    /* An unaware student, and an answer that is its own policy: no division by nothing. */
    const double own[] = {0.25, 0.25, 0.25, 0.25};
    memset(gradient, 0, sizeof gradient);
    cr_expect_eq(kickstart_penalty(logits, 4, own, 0, 1, gradient), 0);
    cr_expect_eq(gradient[0], 0);
}

/* A guide that balances well: it pushes where the pole falls. */
struct guide {
    uint32_t calls, states, budget;
    bool inside; /* all the states that it saw were a CartPole's own */
};

static enum kickstart_reply advise(void *context, float *states, uint32_t count, double *out,
                                   double *out_radius)
{
    struct guide *guide = context;
    guide->calls++;
    if (guide->states + count > guide->budget)
        return KICKSTART_SILENT;
    guide->states += count;
    for (uint32_t i = 0; i < count; i++) {
        const float *s = states + (size_t)i * 4;
        guide->inside = guide->inside && fabsf(s[0]) <= 2.4F && fabsf(s[2]) <= 0.2095F;
        out[2 * i + 1] = s[2] + 0.5F * s[3] + 0.05F * s[0] > 0 ? 0.95 : 0.05;
        out[2 * i] = 1 - out[2 * i + 1];
    }
    *out_radius = 0.1;
    return KICKSTART_ANSWERED;
}

static enum kickstart_reply broken(void *context, float *states, uint32_t count, double *out,
                                   double *out_radius)
{
    (void)context, (void)states, (void)count, (void)out, (void)out_radius;
    return KICKSTART_BROKEN;
}

static struct ppo *student(uint64_t seed, bool normalize, const struct kickstart_guide *guide)
{
    const struct env *env = env_find("cartpole");
    struct ppo_settings settings = ppo_defaults();
    settings.hidden[0] = settings.hidden[1] = 32;
    settings.normalize_observations = normalize;
    double physics[ENV_MAX_PARAMETERS];
    env_defaults(env, physics);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    struct ppo *ppo = ppo_new(&settings, env, physics, &rng);
    cr_assert_not_null(ppo);
    if (guide)
        ppo_set_guide(ppo, guide);
    return ppo;
}

static double learn(struct ppo *ppo, int updates)
{
    struct ppo_report report = {0};
    for (int i = 0; i < updates; i++)
        cr_assert(ppo_update(ppo, 1e-3, &report));
    ppo_free(ppo);
    return report.mean_return;
}

enum { PAIRS = 10, UPDATES = 8 };

/* How well it plays after so many roll-outs: mean return of 20 episodes of its policy. */
static double skill(struct ppo *ppo, int updates)
{
    struct ppo_report report = {0};
    struct policy_evaluation played;
    const struct env *env = env_find("cartpole");
    struct policy *policy = policy_new(ppo_policy_shape(ppo), POLICY_SOFTMAX);
    double physics[ENV_MAX_PARAMETERS];
    env_defaults(env, physics);
    for (int i = 0; i < updates; i++)
        cr_assert(ppo_update(ppo, 1e-3, &report));
    cr_assert(policy && ppo_write_policy(ppo, policy->parameters));
    cr_assert(policy_evaluate(policy, env, physics, 20, 500, 1, &played));
    policy_free(policy);
    ppo_free(ppo);
    return played.mean_return;
}

/* Students in pairs of the same seed, with advice and without, after eight roll-outs. Were advice
 * of no use, either of a pair would be as likely to be ahead: nine or more of ten would be with
 * probability 11/1024, about 0.011. Seeds are fixed; only a build that rounds otherwise sees other
 * pairs. */
Test(kickstart, advice_puts_students_ahead)
{
    int ahead = 0;
    for (uint64_t seed = 0; seed < PAIRS; seed++) {
        struct guide teacher = {.budget = UINT32_MAX, .inside = true};
        const struct kickstart_guide guide = {
            .context = &teacher, .questions = 64, .lambda = 0.5, .ask = advise};
        double alone = skill(student(seed, true, NULL), UPDATES);
        ahead += skill(student(seed, true, &guide), UPDATES) > alone;
        cr_expect_eq(teacher.calls, UPDATES);
        cr_expect_eq(teacher.states, UPDATES * 64);
        cr_expect(teacher.inside);
    }
    cr_expect_geq(ahead, PAIRS - 1, "%d", ahead);
}

/* Advice that is nothing but noise, said to be so: uniform on the simplex, radius sqrt 2. */
static enum kickstart_reply babble(void *context, float *states, uint32_t count, double *out,
                                   double *out_radius)
{
    struct rng *rng = context;
    (void)states;
    for (uint32_t i = 0; i < count; i++) {
        out[2 * i] = rng_uniform(rng);
        out[2 * i + 1] = 1 - out[2 * i];
    }
    *out_radius = sqrt(2);
    return KICKSTART_ANSWERED;
}

/* Aware students (lambda 1) never follow it: they learn to the bit what they would have learned
 * alone, but for the numbers that drawing questions takes from their generator; unaware ones
 * (lambda 0) are held back by it. All ten by chance: probability 2^-10, about 0.001. */
Test(kickstart, noise_holds_back_only_those_who_are_not_aware_of_it)
{
    for (uint64_t seed = 0; seed < PAIRS; seed++) {
        double reached[2];
        for (int aware = 0; aware < 2; aware++) {
            struct rng rng;
            rng_seed(&rng, 99, seed);
            const struct kickstart_guide guide = {
                .context = &rng, .questions = 512, .lambda = aware, .ask = babble};
            reached[aware] = skill(student(seed, true, &guide), 2 * UPDATES);
        }
        cr_expect_gt(reached[1], reached[0], "seed %u: %g, %g", (unsigned)seed, reached[1],
                     reached[0]);
    }
}

Test(kickstart, a_silent_teacher_is_not_asked_again)
{
    struct guide teacher = {.budget = 130};
    const struct kickstart_guide guide = {
        .context = &teacher, .questions = 64, .lambda = 0.5, .ask = advise};
    learn(student(1, false, &guide), 5);
    cr_expect_eq(teacher.calls, 3);
    cr_expect_eq(teacher.states, 128);
}

Test(kickstart, a_broken_teacher_ends_the_run)
{
    const struct kickstart_guide guide = {.questions = 8, .ask = broken};
    struct ppo *ppo = student(1, false, &guide);
    struct ppo_report report;
    cr_expect_not(ppo_update(ppo, 1e-3, &report));
    ppo_free(ppo);
}
