/* The byte form of a loop's memory, as those who watch a run read it. */
#include "algos/online/online_run.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(online_run, a_checkpoint_is_read_back_or_refused)
{
    float parameters[3] = {1, -2, 3}, out[3] = {0};
    uint64_t updates = 7, done = 0;
    const struct online_memory memory = {.updates = &updates, .count = 3, .vector = {parameters}};
    const struct online_memory read = {.updates = &done, .count = 3, .vector = {out}};
    size_t size = 0;
    unsigned char *bytes = online_to_bytes(&memory, 99, &size);
    cr_expect_not(online_from_bytes(&read, 98, 10, bytes, size), "another run");
    cr_expect_not(online_from_bytes(&read, 99, 6, bytes, size), "too many updates");
    cr_expect_not(online_from_bytes(&read, 99, 10, bytes, size - 8));
    cr_expect(online_from_bytes(&read, 99, 10, bytes, size));
    cr_expect_arr_eq(out, parameters, sizeof out);
    cr_expect_eq(done, 7);
    bytes[50] ^= 1;
    cr_expect_not(online_from_bytes(&read, 99, 10, bytes, size), "damaged");
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
