/* kill -9 at random moments under the queries of 64 clients at once, again and again, on one data
 * directory.
 *
 * After each restart: every query that was acknowledged replays the stored bytes under its key and
 * costs nothing; every account's spent amount is at least what was acknowledged and at most its
 * limit; the ledger's own audit is clean. At the end the entries of every account add up to its
 * balance. The moments follow from a fixed seed; CRASH_ROUNDS (50) and CRASH_SEED may be set. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/crash/askers.h"

#define ROUNDS 50

static void sleep_us(uint64_t us)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)(us / 1000000),
                                 .tv_nsec = (long)(us % 1000000) * 1000},
              NULL);
}

Test(crash, killed_again_and_again_it_loses_and_overspends_nothing)
{
    struct server_process server;
    struct scene scene;
    struct crowd crowd;
    const char *wanted = getenv("CRASH_ROUNDS"), *seed = getenv("CRASH_SEED");
    uint64_t random = seed != NULL ? strtoull(seed, NULL, 10) : 20261121;
    unsigned rounds = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : ROUNDS;

    server_open(&server, NULL);
    scene_make(&scene, &server, 1000, 1.5);
    crowd_make(&crowd, &scene, &server);
    for (unsigned round = 0; round < rounds; round++) {
        crowd_start(&crowd, &server, round);
        sleep_us(5000 + next_random(&random) % 300000);
        int code = server_end(&server, SIGKILL);
        cr_assert_eq(code, 1000 + SIGKILL, "it ended by itself: %d", code);
        size_t fresh = crowd_stop(&crowd);
        server_start(&server);
        http_client_move(scene.client, &server);
        crowd_expect_kept(&crowd, fresh, &random);
        crowd_settle_unknown(&crowd);
    }
    expect_entries_add_up(&scene);
    fprintf(stderr,
            "[----] %u kills, %zu acknowledged, %u refused, %u without an answer of which %u had "
            "been stored\n",
            rounds, crowd.count, crowd.refused, crowd.unknown, crowd.unknown_stored);
    cr_expect_gt(crowd.count, rounds, "too few questions to say anything");
    cr_expect(rounds < ROUNDS || crowd.refused > 0, "no budget was ever exhausted");
    cr_expect_eq(crowd.full, 0u, "this disk is not full");
    crowd_clear(&crowd);
    scene_clear(&scene);
    server_close(&server);
}
