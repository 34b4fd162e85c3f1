/* Stable prefixes of a thousand steps in LunarLander: experts who all hover. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "algos/offline/stable_prefix.h"
#include "algos/privacy/noise/noise_source.h"
#include "envs/lunar_lander.h"

enum { SLOTS = 200, RUNS = 4, LENGTH = 1000, DIM = 8, ACTIONS = 4 };

/* Gymnasium's heuristic pilot, but it keeps its height instead of landing. */
static uint32_t hover(const float *s)
{
    double wanted_angle = fmin(0.4, fmax(-0.4, 0.5 * (double)s[0] + (double)s[2]));
    double turn = 0.5 * (wanted_angle - (double)s[4]) - (double)s[5];
    double rise = 0.5 * (1.0 - (double)s[1]) - 0.5 * (double)s[3];
    if (rise > fabs(turn) && rise > 0.05)
        return 2;
    return turn < -0.05 ? 3 : turn > 0.05 ? 1 : 0;
}

static bool present(const void *context, uint32_t expert)
{
    (void)context, (void)expert;
    return true;
}

static void probabilities(const void *context, uint32_t first, uint32_t count, const float *states,
                          uint32_t state_count, double *out)
{
    (void)context, (void)first;
    for (uint32_t e = 0; e < count; e++)
        for (uint32_t s = 0; s < state_count; s++)
            for (uint32_t a = 0; a < ACTIONS; a++)
                *out++ = a == hover(states + (size_t)DIM * s) ? 1.0 - 3e-5 : 1e-5;
}

/* A surprise in a thousand steps has probability 3 in 100, a prefix without one the votes of 194
 * of 200 experts at its end; the threshold is 60 with a deviation of 4. */
Test(stable_prefix_lander, a_thousand_steps_are_released_as_they_were_flown, .timeout = 600)
{
    const double unit = (double)SPARSE_VECTOR_UNIT;
    const struct sparse_vector_plan plan = {.request = {.trajectories = RUNS, .max_length = LENGTH},
                                            .lattice = {.threshold = (int64_t)(60 * unit),
                                                        .threshold_scale = (uint64_t)(2 * unit),
                                                        .query_scale = (uint64_t)(2 * unit)}};
    const struct expert_voices voices = {.slots = SLOTS,
                                         .state_dim = DIM,
                                         .action_count = ACTIONS,
                                         .present = present,
                                         .probabilities = probabilities};
    const uint8_t key[32] = {5};
    struct noise_source *noise = noise_source_new_injected(key);
    const struct stable_prefix_run run = {.plan = &plan,
                                          .voices = &voices,
                                          .source = STABLE_ROLLOUTS,
                                          .env = &lunar_lander_env,
                                          .noise = noise};
    struct dataset *released = NULL;
    const char *message = NULL;
    cr_assert_not_null(noise);
    cr_assert_eq(stable_prefix_release(&run, &released, &message), ALGORITHM_OK);
    unsigned whole = 0;
    for (uint32_t i = 0; i < RUNS; i++) {
        uint64_t first = released->expert_transitions[i];
        uint64_t length = released->expert_transitions[i + 1] - first;
        whole += length == LENGTH;
        uint64_t hovered = 0;
        for (uint64_t t = first; t < first + length; t++) {
            const float *state = released->states + DIM * released->state_row[t];
            cr_assert(isfinite(released->rewards[t]) && isfinite(state[1]));
            hovered += released->actions[t] == hover(state);
        }
        cr_expect_geq(hovered + 3, length);
    }
    cr_expect_geq(whole, 2, "%u flights of a thousand steps", whole);
    dataset_free(released);
    noise_source_free(noise);
}
