/* kill -9 at random moments under 64 clients who ask a thousand networks: their sums are done ahead
 * of the transaction that pays, and dying between the two must cost nothing and lose nothing.
 *
 * After each restart what crash_test.c demands, and that the dataset's account has paid for as
 * many answers as the teacher's, and its opening. CRASH_ROUNDS (10) may be set. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/crash/askers.h"
#include "tests/http/shards_scene.h"

#define ROUNDS            10
#define ROUNDS_TO_THE_END 200

Test(expert_crash, three_accounts_agree_whenever_it_is_killed)
{
    struct server_process server;
    struct scene scene;
    struct crowd crowd;
    struct shards_teacher teacher;
    uint64_t random = 20261122;
    const char *wanted = getenv("CRASH_ROUNDS");
    unsigned rounds = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : ROUNDS;

    server_open(&server, "--workers", "1", NULL);
    scene_make(&scene, &server, 1000, 1.5);
    const struct shards_wish wish = {1000, 32, 0.05,
                                     "\"budget\":{\"epsilon\":6,\"delta\":1e-6},"
                                     "\"client_budget\":{\"epsilon\":6,\"delta\":1e-6}"};
    shards_teach(&scene, &wish, &teacher);
    snprintf(scene.teacher, sizeof scene.teacher, "%s", teacher.id);
    snprintf(scene.queries, sizeof scene.queries, "/v1/teachers/%s/queries", teacher.id);
    crowd_make_of(&crowd, &scene, &server, 3);
    for (unsigned round = 0; round < rounds; round++) {
        crowd_start(&crowd, &server, round);
        nanosleep(
            &(struct timespec){.tv_nsec = (long)(5000 + next_random(&random) % 200000) * 1000},
            NULL);
        int code = server_end(&server, SIGKILL);
        cr_assert_eq(code, 1000 + SIGKILL, "it ended by itself: %d", code);
        size_t fresh = crowd_stop(&crowd);
        server_start(&server);
        http_client_move(scene.client, &server);
        crowd_expect_kept(&crowd, fresh, &random);
        crowd_settle_unknown(&crowd);
        int64_t cap = shards_spent(&scene, teacher.account);
        cr_assert_eq(cap % teacher.cap_price, 0);
        cr_assert_eq(shards_spent(&scene, teacher.dataset_account),
                     cap / teacher.cap_price * teacher.price + teacher.opening);
    }
    /* A slow machine's crowd may not have come to the end of any budget between the kills. */
    for (unsigned more = 0; crowd.refused == 0 && more < ROUNDS_TO_THE_END; more++) {
        crowd_start(&crowd, &server, rounds + more);
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
        crowd_expect_kept(&crowd, crowd_stop(&crowd), &random);
    }
    expect_entries_add_up(&scene);
    fprintf(stderr, "[----] %u kills, %zu acknowledged, %u refused, %u without an answer\n", rounds,
            crowd.count, crowd.refused, crowd.unknown);
    cr_expect_gt(crowd.count, rounds, "too few questions to say anything");
    cr_expect_gt(crowd.refused, 0, "no budget was ever exhausted");
    crowd_clear(&crowd);
    scene_clear(&scene);
    server_close(&server);
}
