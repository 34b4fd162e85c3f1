/* The crowd: threads, keys and memories. */
#include "tests/crash/askers.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPLAYS_MAX 400 /* of a round; the newest ones are the ones at risk */
#define OLD_REPLAYS 20  /* and some of any round before */
#define SHORT       8   /* students who soon have nothing left */

uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- asking */

static const char *question(unsigned student)
{
    static const char *const states[4] = {
        "{\"state\":[0.01,-0.02,0.03,0.04]}", "{\"state\":[0,0.5,-0.03,0.1]}",
        "{\"states\":[[0,0,0.02,0],[0.1,0,0,0]]}", "{\"state\":[-0.3,0.2,0.01,-0.4]}"};
    return states[student % 4];
}

struct http_answer crowd_ask(struct http_client *client, const struct scene *scene,
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
    one->student = asker->number;
    snprintf(one->key, sizeof one->key, "%s", key);
    one->body = answer->body;
    one->size = answer->size;
    answer->body = NULL;
}

/* A UUID of version 7: a service that was restored takes no other. */
static void write_key(const struct asker *asker, unsigned n, char key[48])
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned long long ms =
        (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
    snprintf(key, 48, "%08llx-%04llx-7%03x-8%03x-%012x", ms >> 16 & 0xffffffff, ms & 0xffff,
             asker->number & 0xfff, asker->round & 0xfff, n);
}

static void *ask_on(void *context)
{
    struct asker *asker = context;
    struct crowd *crowd = asker->crowd;
    unsigned student = asker->number;
    bool gone = false;
    asker->unknown[0] = asker->full[0] = '\0';
    for (unsigned n = 0; !gone && !atomic_load(&crowd->stop); n++) {
        char key[48];
        write_key(asker, n, key);
        struct http_answer answer = crowd_ask(asker->client, crowd->scene, student, key);
        bool full = answer.status == 503 &&
                    strcmp(http_text(&answer, "type"), "/problems/storage-full") == 0;
        gone = answer.status == 0;
        cr_assert(gone || full || answer.status == 200 || answer.status == 403,
                  "a query gave %ld: %s", answer.status, answer.body);
        if (gone)
            snprintf(asker->unknown, sizeof asker->unknown, "%s", key);
        if (full)
            snprintf(asker->full, sizeof asker->full, "%s", key);
        atomic_fetch_add(&crowd->full, full);
        atomic_fetch_add(&crowd->refused, answer.status == 403);
        atomic_fetch_add(&crowd->answered, answer.status == 200);
        /* Last of the counts: who sees it sees all that came before. */
        atomic_fetch_add(&asker->refused, full || answer.status == 403);
        if (answer.status == 200)
            remember(asker, key, &answer);
        http_answer_clear(&answer);
    }
    return NULL;
}

void crowd_start(struct crowd *crowd, const struct server_process *server, unsigned round)
{
    atomic_store(&crowd->stop, false);
    for (unsigned a = 0; a < ASKERS; a++) {
        struct asker *asker = &crowd->askers[a];
        asker->round = round;
        http_client_move(asker->client, server);
        cr_assert_eq(pthread_create(&asker->thread, NULL, ask_on, asker), 0);
    }
}

void crowd_wait_refused(struct crowd *crowd)
{
    unsigned before[ASKERS];
    for (unsigned a = 0; a < ASKERS; a++)
        before[a] = atomic_load(&crowd->askers[a].refused);
    for (unsigned a = 0; a < ASKERS; a++)
        while (atomic_load(&crowd->askers[a].refused) == before[a])
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void collect(struct crowd *crowd, struct asker *asker)
{
    size_t wanted = crowd->count + asker->count;
    if (wanted > crowd->capacity) {
        crowd->capacity = wanted * 2;
        crowd->list = realloc(crowd->list, crowd->capacity * sizeof crowd->list[0]);
        cr_assert_not_null(crowd->list);
    }
    if (asker->count > 0)
        memcpy(crowd->list + crowd->count, asker->list, asker->count * sizeof asker->list[0]);
    crowd->count = wanted;
    crowd->per_student[asker->number] += asker->count;
    asker->count = 0;
}

size_t crowd_stop(struct crowd *crowd)
{
    size_t before = crowd->count;
    atomic_store(&crowd->stop, true);
    for (unsigned a = 0; a < ASKERS; a++)
        pthread_join(crowd->askers[a].thread, NULL);
    for (unsigned a = 0; a < ASKERS; a++)
        collect(crowd, &crowd->askers[a]);
    return crowd->count - before;
}

/* ---- what must hold after a restart */

static void expect_replay(const struct scene *scene, const struct acknowledged *one)
{
    struct http_answer answer = crowd_ask(scene->client, scene, one->student, one->key);
    cr_assert_eq(answer.status, 200, "%s was acknowledged and is now %ld: %s", one->key,
                 answer.status, answer.body);
    cr_assert(answer.size == one->size && memcmp(answer.body, one->body, one->size) == 0,
              "%s: other bytes\n%s\n%s", one->key, one->body, answer.body);
    const char *replayed = http_header(&answer, "Idempotency-Replayed");
    cr_assert(replayed != NULL && strcmp(replayed, "true") == 0, "%s", one->key);
    http_answer_clear(&answer);
}

void crowd_expect_kept(const struct crowd *crowd, size_t fresh, uint64_t *random)
{
    struct totals totals = read_ledger(crowd->scene);
    int64_t teacher = 0;
    for (unsigned s = 0; s < ASKERS; s++) {
        /* One more for the question that told the price. */
        int64_t answers = (int64_t)crowd->per_student[s] + 1;
        cr_assert_geq(totals.student_spent[s], answers * crowd->own[s], "student %u", s);
        teacher += answers * crowd->common[s];
    }
    cr_assert_geq(totals.teacher_spent, teacher);
    size_t first = crowd->count - (fresh < REPLAYS_MAX ? fresh : REPLAYS_MAX);
    for (size_t i = first; i < crowd->count; i++)
        expect_replay(crowd->scene, &crowd->list[i]);
    for (int i = 0; i < OLD_REPLAYS && crowd->count > 0; i++)
        expect_replay(crowd->scene, &crowd->list[next_random(random) % crowd->count]);
    struct totals again = read_ledger(crowd->scene);
    cr_assert_eq(again.teacher_spent, totals.teacher_spent, "a replay was charged");
    cr_assert_eq(again.entries, totals.entries, "a replay left an entry");
    expect_clean_audit(crowd->scene);
}

void crowd_settle_unknown(struct crowd *crowd)
{
    for (unsigned a = 0; a < ASKERS; a++) {
        const char *key = crowd->askers[a].unknown;
        if (key[0] == '\0')
            continue;
        unsigned student = a;
        struct http_answer answer = crowd_ask(crowd->scene->client, crowd->scene, student, key);
        cr_assert(answer.status == 200 || answer.status == 403, "%ld", answer.status);
        crowd->unknown++;
        if (http_header(&answer, "Idempotency-Replayed") != NULL)
            crowd->unknown_stored++;
        if (answer.status == 200) {
            struct acknowledged one = {
                .student = student, .body = answer.body, .size = answer.size};
            snprintf(one.key, sizeof one.key, "%s", key);
            expect_replay(crowd->scene, &one);
            crowd->per_student[student]++;
        }
        http_answer_clear(&answer);
    }
}

/* ---- setting up */

/* All but the last few get a budget that lasts; those spend theirs on the way. */
static void grant_budgets(const struct scene *scene, double short_epsilon)
{
    for (unsigned s = 0; s < ASKERS; s++) {
        char path[192], body[80];
        snprintf(body, sizeof body, "{\"epsilon\":%g,\"delta\":1e-5}",
                 s + SHORT < ASKERS ? 300 : short_epsilon);
        snprintf(path, sizeof path, "/v1/teachers/%s/budgets/%s", scene->teacher,
                 scene->students[s].id);
        struct http_call put = {
            .method = "PUT", .path = path, .token = scene->steward, .body = body};
        struct http_answer answer = http_do(scene->client, &put);
        cr_assert(answer.status == 200 || answer.status == 201 || answer.status == 204, "%ld %s",
                  answer.status, answer.body);
        http_answer_clear(&answer);
    }
}

static void learn_prices(struct crowd *crowd)
{
    for (unsigned s = 0; s < ASKERS; s++) {
        struct totals before = read_ledger(crowd->scene);
        char key[48];
        snprintf(key, sizeof key, "price-%u", s);
        struct http_answer answer = crowd_ask(crowd->scene->client, crowd->scene, s, key);
        cr_assert_eq(answer.status, 200, "%s", answer.body);
        http_answer_clear(&answer);
        struct totals after = read_ledger(crowd->scene);
        crowd->own[s] = after.student_spent[s] - before.student_spent[s];
        crowd->common[s] = after.teacher_spent - before.teacher_spent;
        cr_assert(crowd->own[s] > 0 && crowd->common[s] > 0, "a question is not free");
    }
}

void crowd_make_of(struct crowd *crowd, struct scene *scene, const struct server_process *server,
                   double short_epsilon)
{
    *crowd = (struct crowd){.scene = scene};
    scene_more_students(scene, ASKERS);
    grant_budgets(scene, short_epsilon);
    learn_prices(crowd);
    for (unsigned a = 0; a < ASKERS; a++) {
        crowd->askers[a] = (struct asker){.number = a, .crowd = crowd};
        crowd->askers[a].client = http_client_new(server);
    }
}

void crowd_make(struct crowd *crowd, struct scene *scene, const struct server_process *server)
{
    crowd_make_of(crowd, scene, server, 0.9);
}

void crowd_clear(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++)
        free(crowd->list[i].body);
    free(crowd->list);
    for (unsigned a = 0; a < ASKERS; a++) {
        http_client_free(crowd->askers[a].client);
        free(crowd->askers[a].list);
    }
}
