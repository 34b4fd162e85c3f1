/* A disk that fails under a running server (tests/failing_disk.c plays it).
 *
 * Where a sync or a commit fails half way nobody knows what is on disk. The server then ends at
 * once, says so in its log, answers nobody, and the next start finds out: all that had been
 * acknowledged is there, in the case that the disk kept what it failed to sync as well as in the
 * case that it lost it. A disk that is merely full is no such case: it gives 503 `storage-full`,
 * charges nothing, and the server goes on when there is room. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "tests/crash/askers.h"
#include "tests/crash/disk.h"

static void wait_until_more(atomic_uint *counter, unsigned more)
{
    unsigned wanted = atomic_load(counter) + more;
    while (atomic_load(counter) < wanted)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The disk breaks by WORD under concurrent questions. */
static void break_under_questions(const char *word, bool lose)
{
    struct server_process server;
    struct scene scene;
    struct crowd crowd;
    struct disk disk;
    uint64_t random = 20261122;
    server_prepare(&server);
    disk_put(&disk, &server);
    server_start(&server);
    scene_make(&scene, &server, 1000, 1.5);
    crowd_make(&crowd, &scene, &server);
    crowd_start(&crowd, &server, 0);
    wait_until_more(&crowd.answered, 100);
    disk_order(&disk, word);
    disk_expect_end_in_doubt(&server);
    size_t fresh = crowd_stop(&crowd);
    cr_expect_eq(crowd.full, 0u, "a broken disk is not a full one");
    if (lose)
        disk_lose_unsynced(&disk, &server);

    disk_take_away(&server);
    server_start(&server);
    http_client_move(scene.client, &server);
    crowd_expect_kept(&crowd, fresh, &random);
    crowd_settle_unknown(&crowd);
    expect_entries_add_up(&scene);
    cr_expect_gt(crowd.unknown, 0u, "it ended after everything was said");
    crowd_clear(&crowd);
    scene_clear(&scene);
    server_close(&server);
}

Test(disk, a_sync_that_fails_ends_the_server_without_an_answer)
{
    break_under_questions("sync", false);
}

Test(disk, what_a_failed_sync_has_lost_was_never_acknowledged)
{
    break_under_questions("sync", true);
}

Test(disk, a_commit_that_fails_half_way_ends_the_server_without_an_answer)
{
    break_under_questions("write", false);
}

Test(disk, a_full_disk_charges_nothing_and_is_forgotten_when_there_is_room)
{
    struct server_process server;
    struct scene scene;
    struct crowd crowd;
    struct disk disk;
    uint64_t random = 20261123;
    server_prepare(&server);
    disk_put(&disk, &server);
    server_start(&server);
    scene_make(&scene, &server, 1000, 1.5);
    crowd_make(&crowd, &scene, &server);
    crowd_start(&crowd, &server, 0);
    wait_until_more(&crowd.answered, 100);
    disk_order(&disk, "full");
    wait_until_more(&crowd.full, 1);
    crowd_wait_refused(&crowd);
    unsigned answered = atomic_load(&crowd.answered);
    wait_until_more(&crowd.full, 100);
    cr_expect_eq(atomic_load(&crowd.answered), answered, "answered on a full disk");
    struct totals when_full = read_ledger(&scene);
    wait_until_more(&crowd.full, 100);
    struct totals still_full = read_ledger(&scene);
    cr_expect_eq(still_full.teacher_spent, when_full.teacher_spent);
    cr_expect_eq(still_full.entries, when_full.entries);
    disk_order(&disk, NULL);
    wait_until_more(&crowd.answered, 100);
    size_t fresh = crowd_stop(&crowd);

    /* Everybody was answered, so what was spent is known to the unit. */
    struct totals totals = read_ledger(&scene);
    int64_t teacher = 0;
    for (unsigned s = 0; s < ASKERS; s++)
        teacher += ((int64_t)crowd.per_student[s] + 1) * crowd.common[s];
    cr_expect_eq(totals.teacher_spent, teacher, "a refusal was charged");
    crowd_expect_kept(&crowd, fresh, &random);
    /* The key of a refusal is free. */
    const char *key = crowd.askers[0].full;
    cr_assert_neq(key[0], '\0');
    struct http_answer answer = crowd_ask(scene.client, &scene, 0, key);
    cr_expect_eq(answer.status, 200, "%s", answer.body);
    cr_expect_null(http_header(&answer, "Idempotency-Replayed"));
    http_answer_clear(&answer);
    expect_entries_add_up(&scene);
    expect_clean_audit(&scene);
    crowd_clear(&crowd);
    scene_clear(&scene);
    server_close(&server);
}

/* One call on a connection and a thread of its own. */
struct caller {
    pthread_t thread;
    struct http_client *client;
    struct http_call call;
    struct http_answer answer;
    atomic_bool answered;
};

static void *call_once(void *context)
{
    struct caller *caller = context;
    caller->answer = http_do(caller->client, &caller->call);
    atomic_store(&caller->answered, true);
    return NULL;
}

static void begin_call(struct caller *caller, const struct server_process *server,
                       struct http_call call)
{
    caller->call = call;
    caller->client = http_client_new(server);
    cr_assert_eq(pthread_create(&caller->thread, NULL, call_once, caller), 0);
}

static void end_call(struct caller *caller)
{
    pthread_join(caller->thread, NULL);
    cr_expect_eq(caller->answer.status, 200, "%s", caller->answer.body);
    http_client_free(caller->client);
}

/* What is not on disk is shown to nobody: neither as an answer nor in a balance of the ledger or
 * its audit, which say the same as before the question while the disk holds it up. */
Test(disk, what_is_not_on_disk_is_shown_to_nobody)
{
    struct server_process server;
    struct scene scene;
    struct disk disk;
    struct caller asker = {.answered = false};
    server_prepare(&server);
    disk_put(&disk, &server);
    server_start(&server);
    scene_make(&scene, &server, 1000, 1.5);
    const struct http_call looks[] = {
        {.method = "GET", .path = "/v1/ledger/accounts", .token = scene.auditor},
        {.method = "POST", .path = "/v1/ledger:verify", .token = scene.auditor}};
    enum { LOOKS = sizeof looks / sizeof looks[0] };
    struct http_answer before[LOOKS];
    for (int i = 0; i < LOOKS; i++)
        before[i] = http_do(scene.client, &looks[i]);
    disk_order(&disk, "hold");
    begin_call(&asker, &server,
               (struct http_call){.method = "POST",
                                  .path = scene.queries,
                                  .token = scene.students[0].token,
                                  .body = "{\"state\":[0,0,0,0]}",
                                  .key = "held"});
    /* Longer than all but the disk's part takes. */
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    struct caller readers[LOOKS] = {{.answered = false}};
    for (int i = 0; i < LOOKS; i++)
        begin_call(&readers[i], &server, looks[i]);
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    cr_expect_not(atomic_load(&asker.answered));
    for (int i = 0; i < LOOKS; i++)
        if (atomic_load(&readers[i].answered))
            cr_expect_str_eq(readers[i].answer.body, before[i].body);
    disk_order(&disk, NULL);
    end_call(&asker);
    http_answer_clear(&asker.answer);
    for (int i = 0; i < LOOKS; i++) {
        end_call(&readers[i]);
        struct http_answer after = http_do(scene.client, &looks[i]);
        cr_expect_str_neq(after.body, before[i].body, "what is on disk is shown");
        http_answer_clear(&after);
        http_answer_clear(&readers[i].answer);
        http_answer_clear(&before[i]);
    }
    scene_clear(&scene);
    server_close(&server);
}

Test(disk, a_server_that_cannot_make_its_database_says_why)
{
    static const char *const orders[][2] = {{"sync", "disk I/O error"},
                                            {"write", "disk I/O error"},
                                            {"full", "database or disk is full"},
                                            {"sync-database", "disk I/O error"}};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct server_process server;
        struct disk disk;
        server_prepare(&server);
        disk_put(&disk, &server);
        disk_order(&disk, orders[i][0]);
        cr_expect_eq(server_start_in_vain(&server), 1, "%s", orders[i][0]);
        cr_expect(server_log_has(&server, orders[i][1]), "%s", orders[i][0]);
        disk_order(&disk, NULL);
        server_start(&server);
        server_close(&server);
    }
}
