/* The set of finished episodes. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>

#include "api/data/episode_keys.h"

Test(episode_keys, knows_what_it_has_and_nothing_else)
{
    cr_assert(sodium_init() >= 0);
    struct episode_keys keys = episode_keys_new();
    char name[32];
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 100000; i++) {
            snprintf(name, sizeof name, "stay-%u", i);
            cr_assert_eq(episode_keys_add(&keys, "ann", name),
                         round == 0 ? EPISODE_NEW : EPISODE_KNOWN);
        }
    cr_expect_eq(keys.count, 100000);
    cr_expect(keys.room <= 4 * keys.count, "memory grows with the number");
    /* The border between the two texts counts, and so does their order. */
    cr_expect_eq(episode_keys_add(&keys, "annstay", "-1"), EPISODE_NEW);
    cr_expect_eq(episode_keys_add(&keys, "stay-1", "ann"), EPISODE_NEW);
    cr_expect_eq(episode_keys_add(&keys, "ann", ""), EPISODE_NEW);
    episode_keys_free(&keys);
}
