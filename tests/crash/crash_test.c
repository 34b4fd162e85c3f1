/* kill -9 at random moments under concurrent queries, again and again, on one data directory.
 *
 * After each restart: every query that was acknowledged replays the stored bytes under its key and
 * costs nothing; every account's spent amount is at least what was acknowledged and at most its
 * limit; the ledger's own audit is clean. At the end the entries of every account add up to its
 * balance. The moments follow from a fixed seed; CRASH_ROUNDS (50) may be set. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/http/scene.h"

#define ASKERS      12
#define ROUNDS      50
#define REPLAYS_MAX 400 /* of a round; the newest ones are the ones at risk */
#define OLD_REPLAYS 20  /* and some of any round before */

struct acknowledged {
    unsigned student;
    char key[48];
    char *body;
    size_t size;
};

struct asker {
    pthread_t thread;
    unsigned number;
    unsigned round;
    struct http_client *client;
    const struct scene *scene;
    atomic_bool *stop;
    struct acknowledged *list; /* of this round */
    size_t count, capacity;
    unsigned refused;
    char unknown[48]; /* the key whose answer never came; "" for none */
};

static const char *question(unsigned student)
{
    static const char *const states[SCENE_STUDENTS] = {
        "{\"state\":[0.01,-0.02,0.03,0.04]}", "{\"state\":[0,0.5,-0.03,0.1]}",
        "{\"states\":[[0,0,0.02,0],[0.1,0,0,0]]}", "{\"state\":[-0.3,0.2,0.01,-0.4]}"};
    return states[student];
}

static struct http_answer ask(struct http_client *client, const struct scene *scene,
                              unsigned student, const char *key)
{
    struct http_call call = {.method = "POST",
                             .path = scene->queries,
                             .token = scene->students[student].token,
                             .body = question(student),
                             .key = key};
    return http_do(client, &call);
}

static void remember(struct asker *asker, const char *key, struct http_answer *answer)
{
    if (asker->count == asker->capacity) {
        asker->capacity = asker->capacity == 0 ? 256 : asker->capacity * 2;
        asker->list = realloc(asker->list, asker->capacity * sizeof asker->list[0]);
        cr_assert_not_null(asker->list);
    }
    struct acknowledged *one = &asker->list[asker->count++];
    one->student = asker->number % SCENE_STUDENTS;
    snprintf(one->key, sizeof one->key, "%s", key);
    one->body = answer->body;
    one->size = answer->size;
    answer->body = NULL;
}

static void *ask_on(void *context)
{
    struct asker *asker = context;
    unsigned student = asker->number % SCENE_STUDENTS;
    asker->unknown[0] = '\0';
    for (unsigned n = 0; !atomic_load(asker->stop); n++) {
        char key[48];
        snprintf(key, sizeof key, "r%u-a%u-n%u", asker->round, asker->number, n);
        struct http_answer answer = ask(asker->client, asker->scene, student, key);
        long status = answer.status;
        if (status == 200)
            remember(asker, key, &answer);
        asker->refused += status == 403;
        if (status == 0)
            snprintf(asker->unknown, sizeof asker->unknown, "%s", key);
        http_answer_clear(&answer);
        if (status == 0)
            break;
        cr_assert(status == 200 || status == 403, "a query gave %ld", status);
    }
    return NULL;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void sleep_us(uint64_t us)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)(us / 1000000),
                                 .tv_nsec = (long)(us % 1000000) * 1000},
              NULL);
}

/* ---- what must hold after a restart */

static void expect_replay(const struct scene *scene, const struct acknowledged *one)
{
    struct http_answer answer = ask(scene->client, scene, one->student, one->key);
    cr_assert_eq(answer.status, 200, "%s was acknowledged and is now %ld: %s", one->key,
                 answer.status, answer.body);
    cr_assert(answer.size == one->size && memcmp(answer.body, one->body, one->size) == 0,
              "%s: other bytes\n%s\n%s", one->key, one->body, answer.body);
    const char *replayed = http_header(&answer, "Idempotency-Replayed");
    cr_assert(replayed != NULL && strcmp(replayed, "true") == 0, "%s", one->key);
    http_answer_clear(&answer);
}

struct totals { /* of the ledger, in its integers */
    int64_t entries;
    int64_t teacher_spent;
    int64_t student_spent[SCENE_STUDENTS];
    int64_t student_entries[SCENE_STUDENTS];
};

static int64_t number(const json_t *object, const char *member)
{
    json_t *value = json_object_get(object, member);
    cr_assert(json_is_integer(value), "%s is missing", member);
    return json_integer_value(value);
}

static void read_account(const struct scene *scene, const json_t *account, struct totals *totals)
{
    const json_t *units = json_object_get(account, "units");
    int64_t spent = number(units, "spent"), held = number(units, "held");
    int64_t limit = number(units, "limit");
    cr_assert(spent >= 0 && held == 0 && spent <= limit, "spent %lld, held %lld, limit %lld",
              (long long)spent, (long long)held, (long long)limit);
    totals->entries += number(account, "entries");
    const char *kind = json_string_value(json_object_get(account, "kind"));
    if (kind != NULL && strcmp(kind, "teacher") == 0)
        totals->teacher_spent = spent;
    const char *client = json_string_value(json_object_get(account, "client"));
    for (int i = 0; i < SCENE_STUDENTS; i++)
        if (client != NULL && strcmp(client, scene->students[i].id) == 0) {
            totals->student_spent[i] = spent;
            totals->student_entries[i] = number(account, "entries");
        }
}

static struct totals read_ledger(const struct scene *scene)
{
    struct totals totals = {0};
    struct http_call list = {
        .method = "GET", .path = "/v1/ledger/accounts?page_size=1000", .token = scene->auditor};
    struct http_answer answer = http_expect(scene->client, 200, &list);
    size_t index;
    json_t *account;
    json_array_foreach(json_object_get(answer.json, "items"), index, account)
        read_account(scene, account, &totals);
    http_answer_clear(&answer);
    return totals;
}

static void expect_clean_audit(const struct scene *scene)
{
    struct http_call verify = {
        .method = "POST", .path = "/v1/ledger:verify", .token = scene->auditor};
    struct http_answer answer = http_expect(scene->client, 200, &verify);
    cr_assert(json_is_true(json_object_get(answer.json, "ok")), "%s", answer.body);
    http_answer_clear(&answer);
}

/* Sums the entries of one account, page by page. */
static int64_t sum_entries(const struct scene *scene, const char *account, int64_t *out_count)
{
    int64_t sum = 0, count = 0;
    char path[512];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=1000", account);
    for (bool more = true; more;) {
        struct http_call list = {.method = "GET", .path = path, .token = scene->auditor};
        struct http_answer answer = http_expect(scene->client, 200, &list);
        size_t index;
        json_t *entry;
        json_array_foreach(json_object_get(answer.json, "items"), index, entry)
        {
            sum += number(json_object_get(entry, "units"), "spent");
            count++;
        }
        const char *next = http_text(&answer, "next_page_token");
        more = next[0] != '\0';
        snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=1000&page_token=%s",
                 account, next);
        http_answer_clear(&answer);
    }
    *out_count = count;
    return sum;
}

static void expect_entries_add_up(const struct scene *scene)
{
    struct http_call list = {
        .method = "GET", .path = "/v1/ledger/accounts?page_size=1000", .token = scene->auditor};
    struct http_answer answer = http_expect(scene->client, 200, &list);
    size_t index;
    json_t *account;
    json_array_foreach(json_object_get(answer.json, "items"), index, account)
    {
        int64_t count = 0;
        const char *id = json_string_value(json_object_get(account, "account"));
        int64_t sum = sum_entries(scene, id, &count);
        cr_expect_eq(sum, number(json_object_get(account, "units"), "spent"), "%s", id);
        cr_expect_eq(count, number(account, "entries"), "%s", id);
    }
    http_answer_clear(&answer);
}

/* What one question of each student costs its own account and the teacher's, in ledger units. */
static void learn_prices(const struct scene *scene, int64_t own[SCENE_STUDENTS],
                         int64_t common[SCENE_STUDENTS])
{
    for (unsigned s = 0; s < SCENE_STUDENTS; s++) {
        struct totals before = read_ledger(scene);
        char key[48];
        snprintf(key, sizeof key, "price-%u", s);
        struct http_answer answer = ask(scene->client, scene, s, key);
        cr_assert_eq(answer.status, 200, "%s", answer.body);
        http_answer_clear(&answer);
        struct totals after = read_ledger(scene);
        own[s] = after.student_spent[s] - before.student_spent[s];
        common[s] = after.teacher_spent - before.teacher_spent;
        cr_assert(own[s] > 0 && common[s] > 0, "a question is not free");
    }
}

/* All but the last student get a budget that lasts; the last one's is spent on the way. */
static void grant_budgets(const struct scene *scene)
{
    for (unsigned s = 0; s + 1 < SCENE_STUDENTS; s++) {
        char path[192];
        snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", scene->teacher,
                 scene->students[s].id);
        struct http_call put = {.method = "PUT",
                                .path = path,
                                .token = scene->steward,
                                .body = "{\"epsilon\":300,\"delta\":1e-5}"};
        struct http_answer answer = http_do(scene->client, &put);
        cr_assert(answer.status == 200 || answer.status == 201 || answer.status == 204, "%ld %s",
                  answer.status, answer.body);
        http_answer_clear(&answer);
    }
}

/* ---- the rounds */

struct history {
    struct acknowledged *list;
    size_t count, capacity;
    uint64_t per_student[SCENE_STUDENTS];
    unsigned refused;
    unsigned unknown, unknown_charged;
};

static void collect(struct history *history, struct asker *asker)
{
    size_t wanted = history->count + asker->count;
    if (wanted > history->capacity) {
        history->capacity = wanted * 2;
        history->list = realloc(history->list, history->capacity * sizeof history->list[0]);
        cr_assert_not_null(history->list);
    }
    if (asker->count > 0)
        memcpy(history->list + history->count, asker->list, asker->count * sizeof asker->list[0]);
    history->count = wanted;
    history->per_student[asker->number % SCENE_STUDENTS] += asker->count;
    history->refused += asker->refused;
    asker->count = 0;
    asker->refused = 0;
}

static void expect_everything_holds(const struct scene *scene, const struct history *history,
                                    size_t fresh, uint64_t *random, const int64_t *own,
                                    const int64_t *common)
{
    struct totals totals = read_ledger(scene);
    int64_t teacher = 0;
    for (unsigned s = 0; s < SCENE_STUDENTS; s++) {
        /* One more for the question that told the price. */
        int64_t answers = (int64_t)history->per_student[s] + 1;
        cr_assert_geq(totals.student_spent[s], answers * own[s], "student %u", s);
        teacher += answers * common[s];
    }
    cr_assert_geq(totals.teacher_spent, teacher);
    size_t first = history->count - (fresh < REPLAYS_MAX ? fresh : REPLAYS_MAX);
    for (size_t i = first; i < history->count; i++)
        expect_replay(scene, &history->list[i]);
    for (int i = 0; i < OLD_REPLAYS && history->count > 0; i++)
        expect_replay(scene, &history->list[next_random(random) % history->count]);
    struct totals again = read_ledger(scene);
    cr_assert_eq(again.teacher_spent, totals.teacher_spent, "a replay was charged");
    cr_assert_eq(again.entries, totals.entries, "a replay left an entry");
    expect_clean_audit(scene);
}

/* Asks again under the keys whose answers never came: each is answered, and charged once at most:
 * asked a third time it gives the same bytes. */
static void settle_unknown(const struct scene *scene, struct history *history, struct asker *askers)
{
    for (unsigned a = 0; a < ASKERS; a++) {
        if (askers[a].unknown[0] == '\0')
            continue;
        unsigned student = a % SCENE_STUDENTS;
        struct http_answer answer = ask(scene->client, scene, student, askers[a].unknown);
        cr_assert(answer.status == 200 || answer.status == 403, "%ld", answer.status);
        history->unknown++;
        if (http_header(&answer, "Idempotency-Replayed") != NULL)
            history->unknown_charged++;
        if (answer.status == 200) {
            struct acknowledged one = {
                .student = student, .body = answer.body, .size = answer.size};
            snprintf(one.key, sizeof one.key, "%s", askers[a].unknown);
            expect_replay(scene, &one);
            history->per_student[student]++;
        }
        http_answer_clear(&answer);
    }
}

static void run_until_killed(struct server_process *server, struct asker *askers, unsigned round,
                             atomic_bool *stop, uint64_t us)
{
    atomic_store(stop, false);
    for (unsigned a = 0; a < ASKERS; a++) {
        askers[a].round = round;
        http_client_move(askers[a].client, server);
        cr_assert_eq(pthread_create(&askers[a].thread, NULL, ask_on, &askers[a]), 0);
    }
    sleep_us(us);
    int code = server_end(server, SIGKILL);
    cr_assert_eq(code, 1000 + SIGKILL, "it ended by itself: %d", code);
    atomic_store(stop, true);
    for (unsigned a = 0; a < ASKERS; a++)
        pthread_join(askers[a].thread, NULL);
}

Test(crash, killed_again_and_again_it_loses_and_overspends_nothing)
{
    struct server_process server;
    struct scene scene;
    struct history history = {0};
    struct asker askers[ASKERS] = {0};
    int64_t own[SCENE_STUDENTS], common[SCENE_STUDENTS];
    uint64_t random = 20261121;
    atomic_bool stop;
    const char *wanted = getenv("CRASH_ROUNDS");
    unsigned rounds = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : ROUNDS;

    server_open(&server, NULL);
    scene_make(&scene, &server, 1000, 1.5);
    grant_budgets(&scene);
    learn_prices(&scene, own, common);
    for (unsigned a = 0; a < ASKERS; a++)
        askers[a] = (struct asker){
            .number = a, .client = http_client_new(&server), .scene = &scene, .stop = &stop};
    for (unsigned round = 0; round < rounds; round++) {
        size_t before = history.count;
        run_until_killed(&server, askers, round, &stop, 5000 + next_random(&random) % 300000);
        server_start(&server);
        http_client_move(scene.client, &server);
        for (unsigned a = 0; a < ASKERS; a++)
            collect(&history, &askers[a]);
        expect_everything_holds(&scene, &history, history.count - before, &random, own, common);
        settle_unknown(&scene, &history, askers);
    }
    expect_entries_add_up(&scene);
    fprintf(stderr,
            "[----] %u kills, %zu acknowledged, %u refused, %u without an answer of which %u had "
            "been stored\n",
            rounds, history.count, history.refused, history.unknown, history.unknown_charged);
    cr_expect_gt(history.count, rounds, "too few questions to say anything");
    cr_expect(rounds < ROUNDS || history.refused > 0, "no budget was ever exhausted");

    for (size_t i = 0; i < history.count; i++)
        free(history.list[i].body);
    free(history.list);
    for (unsigned a = 0; a < ASKERS; a++) {
        http_client_free(askers[a].client);
        free(askers[a].list);
    }
    scene_clear(&scene);
    server_close(&server);
}
