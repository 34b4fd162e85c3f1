/* Voices by skill: who holds the pole counts, who drops it does not, nobody's weight is another's
 * business. */
#include "algos/offline/skill_voices.h"

#include <criterion/criterion.h>
#include <math.h>

#include "envs/cartpole.h"
#include "envs/env.h"

enum { SLOTS = 5, STEPS = 100 };

/* Balances, drops the pole as fast as it can, balances, is absent, has no finite answer. */
struct cast {
    bool absent[SLOTS];
    uint32_t asked; /* answers that were given */
};

static bool present(const void *context, uint32_t expert)
{
    return !((const struct cast *)context)->absent[expert];
}

static void probabilities(const void *context, uint32_t first, uint32_t count, const float *states,
                          uint32_t state_count, double *out)
{
    ((struct cast *)context)->asked += count * state_count;
    for (uint32_t e = first; e < first + count; e++) {
        for (uint32_t s = 0; s < state_count; s++) {
            const float *x = states + 4 * s;
            bool right = x[2] + 0.5F * x[3] + 0.1F * x[1] + 0.02F * x[0] > 0.0F;
            double yes = e == 4 ? (double)NAN : (right != (e == 1)) ? 0.9 : 0.1;
            *out++ = 1.0 - yes;
            *out++ = yes;
        }
    }
}

static struct expert_voices voices_of(struct cast *cast)
{
    return (struct expert_voices){.context = cast,
                                  .slots = SLOTS,
                                  .state_dim = 4,
                                  .action_count = 2,
                                  .min_probability = 0.1,
                                  .present = present,
                                  .probabilities = probabilities};
}

static struct skill_voices *skilled_of(const struct expert_voices *voices, double high,
                                       double power)
{
    const struct skill_scale scale = {.low = 0, .high = high, .power = power, .episodes = 3};
    const struct skill_run run = {
        .voices = voices, .scale = &scale, .env = &cartpole_env, .max_length = STEPS, .seed = 9};
    struct skill_voices *skilled = skill_voices_new(&run);
    cr_assert(skilled);
    return skilled;
}

/* How sure a voice is of pushing right at a state where the pole falls to the right. */
static void sure(const struct skill_voices *skilled, double out[SLOTS])
{
    const float falling[4] = {0, 0, 0.1F, 0.5F};
    const struct expert_voices voices = skill_voices_of(skilled);
    double rows[SLOTS][2];
    voices.probabilities(voices.context, 0, SLOTS, falling, 1, rows[0]);
    for (int e = 0; e < SLOTS; e++) {
        out[e] = rows[e][1];
        if (e != 4)
            cr_expect_float_eq(rows[e][0] + rows[e][1], 1.0, 1e-12);
    }
}

Test(skill_voices, mix_with_the_uniform_by_what_they_earn)
{
    struct cast cast = {.absent = {[3] = true}};
    const struct expert_voices voices = voices_of(&cast);
    struct skill_voices *skilled = skilled_of(&voices, STEPS, 2);
    double right[SLOTS];
    sure(skilled, right);
    cr_expect_eq(right[0], 0.9, "holds for all steps: its policy as it is");
    cr_expect_eq(right[2], right[0]);
    /* The worst falls after 8 to 10 steps of 100: a weight of about 0.01. */
    double weight = (0.5 - right[1]) / 0.4;
    cr_expect(weight >= 0.08 * 0.08 - 1e-9 && weight <= 0.11 * 0.11, "%g", weight);
    cr_expect_eq(right[3], 0.5, "an absent one is asked nothing and says nothing");
    const struct expert_voices weighed = skill_voices_of(skilled);
    cr_expect_not(weighed.present(weighed.context, 3));
    cr_expect(weighed.present(weighed.context, 4));
    skill_voices_free(skilled);
}

/* Returns beyond HIGH count as HIGH, and half of it with its power. */
Test(skill_voices, scale_is_between_low_and_high)
{
    struct cast cast = {.asked = 0};
    const struct expert_voices voices = voices_of(&cast);
    double right[SLOTS];
    struct skill_voices *skilled = skilled_of(&voices, STEPS / 2.0, 3);
    sure(skilled, right);
    cr_expect_eq(right[0], 0.9);
    skill_voices_free(skilled);
    skilled = skilled_of(&voices, STEPS * 2.0, 3);
    sure(skilled, right);
    cr_expect_float_eq(right[0], 0.5 + 0.4 / 8.0, 1e-12);
    skill_voices_free(skilled);
}

/* One expert's absence changes no other voice, to the bit: what sensitivity rests on. */
Test(skill_voices, are_each_of_one_expert)
{
    struct cast all = {.asked = 0}, fewer = {.absent = {[0] = true}};
    const struct expert_voices with = voices_of(&all), without = voices_of(&fewer);
    struct skill_voices *one = skilled_of(&with, STEPS, 1.5);
    struct skill_voices *other = skilled_of(&without, STEPS, 1.5);
    double right[2][SLOTS];
    sure(one, right[0]);
    sure(other, right[1]);
    for (int e = 1; e < 4; e++)
        cr_expect_eq(right[0][e], right[1][e]);
    cr_expect_lt(fewer.asked, all.asked);
    skill_voices_free(one);
    skill_voices_free(other);
}

static bool thrice(void *context)
{
    return (*(int *)context)++ < 3;
}

Test(skill_voices, can_be_stopped)
{
    struct cast cast = {.asked = 0};
    const struct expert_voices voices = voices_of(&cast);
    const struct skill_scale scale = {.low = 0, .high = 1, .power = 1, .episodes = 1};
    int pulses = 0;
    const struct skill_run run = {.voices = &voices,
                                  .scale = &scale,
                                  .env = &cartpole_env,
                                  .max_length = STEPS,
                                  .goes_on = thrice,
                                  .context = &pulses};
    cr_expect_null(skill_voices_new(&run));
    cr_expect_eq(pulses, 4);
    skill_voices_free(NULL);
}

static bool counted(void *context)
{
    ++*(int *)context;
    return true;
}

static bool until_played(void *context)
{
    return ((const struct cast *)context)->asked < 30;
}

/* One expert's play may take longer than a lease: somebody is asked in it, too. */
Test(skill_voices, ask_while_an_expert_plays)
{
    struct cast cast = {.absent = {[1] = true, [2] = true, [3] = true, [4] = true}};
    const struct expert_voices voices = voices_of(&cast);
    const struct skill_scale scale = {.low = 0, .high = 1, .power = 1, .episodes = 1};
    int pulses = 0;
    struct skill_run run = {.voices = &voices,
                            .scale = &scale,
                            .env = &cartpole_env,
                            .max_length = STEPS,
                            .goes_on = counted,
                            .context = &pulses};
    struct skill_voices *skilled = skill_voices_new(&run);
    cr_assert(skilled);
    cr_expect_geq(pulses, SLOTS + STEPS / 25);
    skill_voices_free(skilled);
    cast.asked = 0;
    run.goes_on = until_played;
    run.context = &cast;
    cr_expect_null(skill_voices_new(&run));
    cr_expect_lt(cast.asked, STEPS);
}

/* ---- work and outcome, whenever episodes end */

static struct {
    const struct env *env; /* the world whose calls are counted */
    uint32_t steps, resets, ends;
} work;

static bool counted_reset(void *state, const double *parameters, struct rng *rng,
                          double *observation)
{
    work.resets++;
    return work.env->reset(state, parameters, rng, observation);
}

static struct env_outcome counted_step(void *state, const double *parameters, unsigned action,
                                       struct rng *rng, double *observation)
{
    work.steps++;
    struct env_outcome outcome = work.env->step(state, parameters, action, rng, observation);
    work.ends += outcome.terminated;
    return outcome;
}

static struct env counted_world(const struct env *env)
{
    struct env world = *env;
    work.env = env;
    work.steps = work.resets = work.ends = 0;
    world.reset = counted_reset;
    world.step = counted_step;
    return world;
}

/* The weight of EXPERT by its definition: every episode alone, to its end and no further. */
static double weight_of(const struct cast *cast, uint32_t expert, const struct skill_run *run)
{
    double parameters[ENV_MAX_PARAMETERS], sum = 0.0;
    env_defaults(run->env, parameters);
    void *state = env_open(run->env);
    for (uint32_t k = 0; k < run->scale->episodes; k++) {
        struct env_outcome outcome = {0};
        double seen[4], both[2];
        struct rng rng;
        rng_seed(&rng, run->seed, k);
        cr_assert(run->env->reset(state, parameters, &rng, seen));
        for (uint32_t t = 0; t < run->max_length && !outcome.terminated; t++) {
            float x[4];
            for (int i = 0; i < 4; i++)
                x[i] = (float)seen[i];
            probabilities(cast, expert, 1, x, 1, both);
            outcome = run->env->step(state, parameters, both[1] > both[0], &rng, seen);
            sum += outcome.reward;
        }
    }
    env_close(run->env, state);
    return pow(fmin(sum / run->scale->episodes / run->scale->high, 1.0), run->scale->power);
}

Test(skill_voices, are_worth_what_single_episodes_give)
{
    struct cast cast = {.asked = 0};
    const struct expert_voices voices = voices_of(&cast);
    const struct skill_scale scale = {.high = 120, .power = 2, .episodes = 5};
    const struct skill_run run = {
        .voices = &voices, .scale = &scale, .env = &cartpole_env, .max_length = STEPS, .seed = 41};
    struct skill_voices *skilled = skill_voices_new(&run);
    cr_assert(skilled);
    double right[SLOTS];
    sure(skilled, right);
    for (uint32_t e = 0; e < 3; e++) {
        double plain = e == 1 ? 0.1 : 0.9;
        cr_expect_eq(right[e], 0.5 + weight_of(&cast, e, &run) * (plain - 0.5), "expert %u", e);
    }
    skill_voices_free(skilled);
}

/* An episode of 10 steps costs what one of 100 costs: steps of the world, resets, answers. */
Test(skill_voices, cost_the_same_however_they_play)
{
    uint32_t steps[2], resets[2], asked[2];
    for (int bad = 0; bad < 2; bad++) {
        struct env world = counted_world(&cartpole_env);
        struct cast cast = {.absent = {!!bad, !bad, true, true, true}};
        const struct expert_voices voices = voices_of(&cast);
        const struct skill_scale scale = {.high = STEPS, .power = 1, .episodes = 16};
        const struct skill_run run = {
            .voices = &voices, .scale = &scale, .env = &world, .max_length = STEPS, .seed = 9};
        struct skill_voices *skilled = skill_voices_new(&run);
        cr_assert(skilled);
        steps[bad] = work.steps;
        resets[bad] = work.resets;
        asked[bad] = cast.asked;
        skill_voices_free(skilled);
    }
    cr_expect_eq(steps[0], 16 * STEPS);
    cr_expect_eq(steps[1], steps[0], "%u steps of the world, and %u", steps[1], steps[0]);
    cr_expect_eq(asked[1], asked[0], "%u answers, and %u", asked[1], asked[0]);
    cr_expect_eq(resets[1], resets[0], "%u resets, and %u", resets[1], resets[0]);
}

/* ---- in every world of the table */

/* Three experts: one action always, the next one in turn, one by the bits of the state. */
struct troupe {
    const struct env *env;
    uint32_t alone; /* the expert that is there */
    uint32_t asked;
};

static bool troupe_present(const void *context, uint32_t expert)
{
    return expert == ((const struct troupe *)context)->alone;
}

static void troupe_probabilities(const void *context, uint32_t first, uint32_t count,
                                 const float *states, uint32_t state_count, double *out)
{
    struct troupe *troupe = (struct troupe *)(uintptr_t)context;
    uint32_t actions = troupe->env->action_count, dim = troupe->env->state_dim;
    for (uint32_t e = first; e < first + count; e++) {
        for (uint32_t s = 0; s < state_count; s++) {
            const float *x = states + (size_t)s * dim;
            uint32_t bits = 0, likely = 0;
            for (uint32_t i = 0; i < dim; i++)
                bits = 3 * bits + (x[i] > 0.0F);
            if (e > 0)
                likely = (e == 1 ? troupe->asked : bits) % actions;
            for (uint32_t a = 0; a < actions; a++)
                out[a] = a == likely ? 1.0 - 0.01 * (actions - 1) : 0.01;
            out += actions;
            troupe->asked++;
        }
    }
}

/* An episode starts with two resets, and has one more at every step, or at every eighth where the
 * world holds a resource. */
#define TROUPE_EPISODES    4
#define TROUPE_STEPS       (TROUPE_EPISODES * STEPS)
#define TROUPE_RESETS(env) (TROUPE_EPISODES * (2 + STEPS / ((env)->open ? 8 : 1)))

/* Steps of the world, resets and answers follow from the lengths alone, in each world. */
Test(skill_voices, cost_the_same_in_every_world, .timeout = 600)
{
    unsigned count, ends = 0;
    const struct env *const *all = env_all(&count);
    for (unsigned w = 0; w < count; w++) {
        for (uint32_t expert = 0; expert < 3; expert++) {
            struct env world = counted_world(all[w]);
            struct troupe troupe = {.env = all[w], .alone = expert};
            const struct expert_voices voices = {.context = &troupe,
                                                 .slots = 3,
                                                 .state_dim = world.state_dim,
                                                 .action_count = world.action_count,
                                                 .min_probability = 0.01,
                                                 .present = troupe_present,
                                                 .probabilities = troupe_probabilities};
            const struct skill_scale scale = {
                .high = STEPS, .power = 1, .episodes = TROUPE_EPISODES};
            const struct skill_run run = {
                .voices = &voices, .scale = &scale, .env = &world, .max_length = STEPS, .seed = 9};
            struct skill_voices *skilled = skill_voices_new(&run);
            cr_assert(skilled);
            cr_expect_eq(work.steps, TROUPE_STEPS, "%s, expert %u: %u", world.name, expert,
                         work.steps);
            cr_expect_eq(troupe.asked, TROUPE_STEPS, "%s, expert %u: %u", world.name, expert,
                         troupe.asked);
            cr_expect_eq(work.resets, TROUPE_RESETS(all[w]), "%s, expert %u: %u", world.name,
                         expert, work.resets);
            ends += work.ends;
            skill_voices_free(skilled);
        }
    }
    cr_expect_gt(ends, 0, "no episode ended before its limit");
}
