/* The byte form of a loop's memory, as those who watch a run read it. */
#include "algos/online/online_run.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(online_run, parameters_are_read_from_a_checkpoint)
{
    float parameters[3] = {1, -2, 3}, moments[3] = {4, 5, 6}, out[3] = {0};
    uint64_t updates = 7;
    const struct online_memory memory = {
        .updates = &updates, .count = 3, .vector = {parameters, moments}};
    size_t size = 0;
    unsigned char *bytes = online_to_bytes(&memory, 99, &size);
    cr_expect(online_first_vector(bytes, size, 3, out));
    cr_expect_arr_eq(out, parameters, sizeof out);
    cr_expect_not(online_first_vector(bytes, size, 2, out));
    cr_expect_not(online_first_vector(bytes, size, 4, out));
    cr_expect_not(online_first_vector(bytes, size - 1, 3, out));
    cr_expect_not(online_first_vector(bytes, size - 8, 3, out));
    cr_expect_not(online_first_vector(bytes, 8, 3, out));
    bytes[60] ^= 1;
    cr_expect_not(online_first_vector(bytes, size, 3, out));
    free(bytes);
}

Test(online_run, no_episode_is_longer_than_the_limit)
{
    const struct env *world = env_find("cartpole");
    cr_expect_eq(online_step_limit(0, world), world->max_episode_steps);
    cr_expect_eq(online_step_limit(30, world), 30);
    cr_expect_eq(online_step_limit(1e9, world), ONLINE_MAX_STEPS);
    cr_expect_eq(online_step_limit(0, NULL), ONLINE_MAX_STEPS);
}
