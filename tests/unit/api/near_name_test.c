/* Which name is meant. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/json/near_name.h"

static const char *const NAMES[] = {"cartpole", "mountain_car",    "lunar_lander", "acrobot",
                                    "hiv",      "learning_rate",   "batch_size",   "hidden",
                                    "epsilon",  "noise_multiplier"};

Test(near_name, is_the_one_that_was_meant)
{
    static const char *const meant[][2] = {
        {"CartPole-v1", "cartpole"},
        {"MountainCar-v0", "mountain_car"},
        {"LunarLander-v2", "lunar_lander"},
        {"lr", "learning_rate"},
        {"bs", "batch_size"},
        {"batch", "batch_size"},
        {"hiden", "hidden"},
        {"epsilom", "epsilon"},
        {"noise", "noise_multiplier"},
        {"learningRate", "learning_rate"},
        {"noise_mults", "noise_multiplier"},
    };
    static const char *const strangers[] = {
        "",   "-",  "x",          "colour",
        "zz", "v1", "qwertyuiop", "a name that is much longer than any of those there are"};
    unsigned count = sizeof NAMES / sizeof *NAMES;
    for (unsigned i = 0; i < sizeof meant / sizeof *meant; i++) {
        const char *near = near_name(meant[i][0], NAMES, count);
        cr_expect(near && strcmp(near, meant[i][1]) == 0, "%s: %s", meant[i][0], near);
    }
    for (unsigned i = 0; i < sizeof strangers / sizeof *strangers; i++)
        cr_expect_null(near_name(strangers[i], NAMES, count), "%s", strangers[i]);
    cr_expect_null(near_name("cartpole", NAMES, 0));
}
