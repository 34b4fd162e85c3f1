/* Voices by skill: who holds the pole counts, who drops it does not, nobody's weight is another's
 * business. */
#include "algos/offline/skill_voices.h"

#include <criterion/criterion.h>
#include <math.h>

#include "envs/cartpole.h"

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
