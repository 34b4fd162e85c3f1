/* The scale on which runs of different worlds are compared. */
#include <criterion/criterion.h>
#include <math.h>

#include "bench/advise/results.h"
#include "envs/env.h"

#define RUN(world_name, method_name, of_seed, mean)                                                \
    {                                                                                              \
        .world = world_name, .method = method_name, .algorithm = "bcq", .experts = 60,             \
        .seed = of_seed, .mean_return = mean, .random_return = 13.8                                \
    }

Test(quality, is_0_for_random_play_and_1_for_the_best_of_both_files)
{
    double random = env_find("factory")->random_return;
    struct outcome table[] = {RUN("factory", "none", 1, 50), RUN("fund", "none", 1, 90)};
    struct outcome judged[] = {RUN("factory", "none", 11, 70), RUN("factory", "dpsgd", 11, 60)};
    struct outcomes first = {.all = table, .count = 2}, second = {.all = judged, .count = 2};
    first.beside = &second;
    second.beside = &first;
    cr_expect_float_eq(outcomes_best(&first, "factory"), 60, 1e-9, "the mean over all seeds");
    cr_expect_float_eq(outcomes_best(&second, "factory"), 60, 1e-9);
    cr_expect_float_eq(outcomes_best(&second, "fund"), 90, 1e-9);
    cr_expect(isnan(outcomes_best(&second, "ward")));
    cr_expect_float_eq(outcomes_quality(&second, &judged[1]), 1, 1e-9);
    judged[1].mean_return = random;
    cr_expect_float_eq(outcomes_quality(&second, &judged[1]), 0, 1e-9, "what its world says");
}
