/* Answers that are kept for a time: given again within it byte for byte; refused for ever behind
 * it, neither drawn nor charged anew, whatever was removed when, and by whom it is asked. The clock
 * is the test's own, and a year passes. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/teachers/teacher_ask.h"
#include "storage/answers/answers.h"
#include "storage/db/listing.h"
#include "tests/unit/api/domain.h"

#define DAYS      30
#define HOUR_MS   INT64_C(3600000)
#define DAY_MS    (24 * HOUR_MS)
#define BEGIN_MS  INT64_C(1800000000000) /* 2027-01-15 08:00 */
#define STATE     "{\"state\":[0.01,-0.02,0.03,0.04]}"
#define KEY_BYTES 48

static struct fixture *f;
static _Atomic int64_t clock_ms;

static int64_t read_clock(void)
{
    return atomic_load(&clock_ms);
}

static void keep_days(struct api_settings *settings)
{
    settings->now_ms = read_clock;
    settings->keep_answers_days = DAYS;
}

static void keep_for_ever(struct api_settings *settings)
{
    settings->now_ms = read_clock;
}

static void open_service(void)
{
    atomic_store(&clock_ms, BEGIN_MS);
    f = fixture_open_with(keep_days);
}

static void close_service(void)
{
    domain_expect_whole_ledger(f);
    fixture_close(f);
}

TestSuite(retention, .init = open_service, .fini = close_service);

/* Writes the UUID of version 7 number N of the time MS. */
static void write_uuid(int64_t ms, unsigned n, char out[KEY_BYTES])
{
    snprintf(out, KEY_BYTES, "%08x-%04x-7000-8000-%012x", (unsigned)(ms >> 16),
             (unsigned)ms & 0xffff, n);
}

/* The path of a new teacher's questions, whose students have this much. */
static const char *teacher_of(double client_epsilon, const char *more)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,"
                    "\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":"
                    "0.01},\"budget\":{\"epsilon\":1000,\"delta\":1e-5},\"client_budget\":{"
                    "\"epsilon\":%g,\"delta\":1e-5}%s}",
                    domain_policy(f), client_epsilon, more));
    expect_status(made, 201);
    return domain_path("/v1/teachers/%s/queries", response_text(made, "/id"));
}

static struct response *ask(const char *path, const char *key, const char *body)
{
    return fixture_ask(
        f, &(struct ask){
               .path = path, .token = fixture_token(f, "student"), .key = key, .body = body});
}

static int64_t number(const char *sql)
{
    int64_t value = -1;
    cr_assert_eq(db_one(fixture_db(f), sql, NULL, 0, listing_integer, &value), DB_OK);
    return value;
}

#define ANSWERS "SELECT count(*) FROM answers"
#define ENTRIES "SELECT count(*) FROM ledger_entries"
#define SPENT   "SELECT sum(spent_units) FROM ledger_accounts"

static void prune(void)
{
    bool more = true;
    while (more)
        cr_assert(api_prune(fixture_app(f), fixture_db(f), &more), "%s",
                  db_last_error(fixture_db(f)));
}

static void expect_replayed(const struct response *again, const char *body)
{
    expect_status(again, 200);
    cr_expect_str_eq(again->body, body);
    cr_expect_str_eq(response_header(again, "Idempotency-Replayed"), "true");
}

/* ---- what a key must be */

Test(retention, a_question_names_its_time)
{
    static const char *const undated[] = {"new-1", "c38f3a5e-5c1e-4a5e-9b1a-0b8c0e7b9a10",
                                          "2027-02-29-a", "2027-01-15"};
    const char *queries = teacher_of(50, ""),
               *rollouts =
                   domain_path("%.*s/rollouts", (int)(strrchr(queries, '/') - queries), queries);
    const char *infer = domain_path("/v2/models/%.*s/infer",
                                    (int)(strrchr(queries, '/') - queries) - 13, queries + 13);
    int64_t entries = number(ENTRIES), answers = number(ANSWERS);
    for (size_t i = 0; i < sizeof undated / sizeof undated[0]; i++) {
        expect_problem(ask(queries, undated[i], STATE), "idempotency-key-invalid");
        expect_problem(ask(rollouts, undated[i], "{}"), "idempotency-key-invalid");
        struct response *told = ask(infer, NULL,
                                    domain_path("{\"id\":\"%s\",\"inputs\":[{\"name\":\"state\","
                                                "\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":"
                                                "[0,0,0,0]}]}",
                                                undated[i]));
        cr_expect_eq(told->status, 400, "%s", told->body);
    }
    cr_expect_eq(number(ENTRIES), entries);
    cr_expect_eq(number(ANSWERS), answers);
    expect_status(ask(queries, "2027-01-15-a", STATE), 200);
    expect_status(ask(rollouts, "2027-01-15-b", "{}"), 200);
    expect_status(ask(rollouts, NULL, "{}"), 200);
    expect_status(ask(infer, NULL,
                      "{\"id\":\"2027-01-15-c\",\"inputs\":[{\"name\":\"state\",\"datatype\":"
                      "\"FP32\",\"shape\":[1,4],\"data\":[0,0,0,0]}]}"),
                  200);
}

Test(retention, the_bounds_are_the_clock_plus_an_hour_and_minus_the_days)
{
    char key[KEY_BYTES];
    const char *queries = teacher_of(50, "");
    int64_t entries = number(ENTRIES);
    write_uuid(BEGIN_MS + HOUR_MS + 1, 0, key);
    expect_problem(ask(queries, key, STATE), "idempotency-key-invalid");
    write_uuid(BEGIN_MS - DAYS * DAY_MS - 1, 1, key);
    struct response *late = ask(queries, key, STATE);
    expect_problem(late, "idempotency-key-expired");
    cr_expect_eq(late->status, 410);
    cr_expect_eq(number(ENTRIES), entries);
    write_uuid(BEGIN_MS + HOUR_MS, 2, key);
    expect_status(ask(queries, key, STATE), 200);
    write_uuid(BEGIN_MS - DAYS * DAY_MS, 3, key);
    expect_status(ask(queries, key, STATE), 200);
}

/* Other calls take any key. Those with a date are refused when it is over. */
/* The clock was two hours ahead when the answer was paid. */
Test(retention, a_clock_that_goes_back_keeps_what_was_stored)
{
    char key[KEY_BYTES], body[2048];
    const char *queries = teacher_of(50, "");
    write_uuid(BEGIN_MS + 2 * HOUR_MS, 1, key);
    expect_problem(ask(queries, key, STATE), "idempotency-key-invalid");
    atomic_store(&clock_ms, BEGIN_MS + 2 * HOUR_MS);
    struct response *paid = ask(queries, key, STATE);
    expect_status(paid, 200);
    snprintf(body, sizeof body, "%s", paid->body);
    int64_t spent = number(SPENT);
    atomic_store(&clock_ms, BEGIN_MS);
    expect_replayed(ask(queries, key, STATE), body);
    cr_expect_eq(number(SPENT), spent);
}

Test(retention, other_calls_may_have_any_key)
{
    char key[KEY_BYTES];
    static const char body[] = "{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":{"
                               "\"epsilon\":1,\"delta\":1e-6}}";
    struct ask dataset = {.path = "/v1/datasets",
                          .token = fixture_token(f, "steward"),
                          .key = "import-4f9c2b",
                          .body = body};
    struct response *made = fixture_ask(f, &dataset);
    expect_status(made, 201);
    const char *text = made->body;
    write_uuid(BEGIN_MS, 0, key);
    dataset.key = key;
    expect_status(fixture_ask(f, &dataset), 201);
    atomic_fetch_add(&clock_ms, 400 * DAY_MS);
    prune();
    expect_problem(fixture_ask(f, &dataset), "idempotency-key-expired");
    dataset.key = "import-4f9c2b";
    struct response *again = fixture_ask(f, &dataset);
    expect_status(again, 201);
    cr_expect_str_eq(again->body, text, "a key without a time is kept");
}

/* Keys of before, and keys of our own jobs. */
Test(retention, what_was_stored_without_a_time_is_given_again)
{
    const char *queries = teacher_of(50, "");
    fixture_restart(f, keep_for_ever);
    const char *text = ask(queries, "new-1", STATE)->body;
    fixture_restart(f, keep_days);
    atomic_fetch_add(&clock_ms, 400 * DAY_MS);
    prune();
    expect_replayed(ask(queries, "new-1", STATE), text);
    expect_problem(ask(queries, "new-2", STATE), "idempotency-key-invalid");

    char teacher[64];
    struct api_reply reply;
    snprintf(teacher, sizeof teacher, "%.*s", (int)(strrchr(queries, '/') - queries) - 13,
             queries + 13);
    struct teacher_ask asked = {fixture_client(f, "student"), teacher, "job_x.1.queries", "req"};
    teacher_query(fixture_app(f), fixture_db(f), &asked, STATE, &reply);
    cr_expect_eq(reply.status, 200, "%s", reply.body);
    api_reply_clear(&reply);
}

/* ---- within the time, at its edge and behind it */

Test(retention, a_repeat_is_given_again_and_then_refused_for_ever)
{
    char key[KEY_BYTES];
    const char *queries = teacher_of(50, "");
    write_uuid(BEGIN_MS, 1, key);
    const char *text = ask(queries, key, STATE)->body;
    int64_t entries = number(ENTRIES), spent = number(SPENT);
    expect_replayed(ask(queries, key, STATE), text);
    expect_problem(ask(queries, key, "{\"state\":[1,0,0,0]}"), "idempotency-key-reused");
    atomic_store(&clock_ms, BEGIN_MS + DAYS * DAY_MS);
    prune();
    expect_replayed(ask(queries, key, STATE), text); /* the last moment */
    atomic_fetch_add(&clock_ms, 1);
    int64_t answers = number(ANSWERS);
    expect_problem(ask(queries, key, STATE),
                   "idempotency-key-expired"); /* nothing is removed yet */
    prune();
    cr_expect_eq(number(ANSWERS), answers);
    atomic_fetch_add(&clock_ms, HOUR_MS);
    prune();
    cr_expect_eq(number(ANSWERS), answers - 1);
    expect_problem(ask(queries, key, STATE), "idempotency-key-expired");
    /* Neither the clock nor the flag brings it back, nor does a restart. */
    atomic_store(&clock_ms, BEGIN_MS);
    expect_problem(ask(queries, key, STATE), "idempotency-key-expired");
    fixture_restart(f, keep_days);
    expect_problem(ask(queries, key, STATE), "idempotency-key-expired");
    fixture_restart(f, keep_for_ever);
    expect_problem(ask(queries, key, STATE), "idempotency-key-expired");
    expect_problem(fixture_ask(f, &(struct ask){.path = queries,
                                                .token = fixture_token(f, "student"),
                                                .key = key,
                                                .body = STATE,
                                                .unbatched = true}),
                   "idempotency-key-expired");
    cr_expect_eq(number(ENTRIES), entries);
    cr_expect_eq(number(SPENT), spent);
}

/* The bytes of a question, asked again with "reuse" under other keys. */
Test(retention, reuse_gives_an_answer_again_for_the_days)
{
    static const char again[] = "{\"state\":[0,0,1,0],\"reuse\":\"exact\"}",
                      before[] = "{\"state\":[0,0,2,0],\"reuse\":\"exact\"}";
    char key[6][KEY_BYTES], path[96];
    struct response *job = domain_run(
        f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":50,\"parameters\":"
                       "{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                       domain_sealed(f, "private", 12)));
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":"
                    "0.1},\"adjacency\":{\"unit\":\"expert\"},\"budget\":{\"epsilon\":6,\"delta\":"
                    "1e-6},\"client_budget\":{\"epsilon\":6,\"delta\":1e-6}}",
                    response_text(job, "/policy")));
    expect_status(made, 201);
    strcpy(path, domain_path("/v1/teachers/%s/queries", response_text(made, "/id")));
    fixture_restart(f, keep_for_ever);
    const char *kept = ask(path, "undated", before)->body;
    fixture_restart(f, keep_days);
    for (unsigned i = 0; i < 6; i++)
        write_uuid(BEGIN_MS + (i < 2 ? 0 : i < 3 ? DAYS * DAY_MS : (DAYS + 1) * DAY_MS), i, key[i]);
    struct response *first = ask(path, key[0], again);
    expect_status(first, 200);
    int64_t spent = number(SPENT);
    cr_expect_str_eq(ask(path, key[1], again)->body, first->body);
    atomic_store(&clock_ms, BEGIN_MS + DAYS * DAY_MS);
    prune();
    cr_expect_str_eq(ask(path, key[2], again)->body, first->body, "the last moment");
    cr_expect_eq(number(SPENT), spent);
    atomic_store(&clock_ms, BEGIN_MS + (DAYS + 1) * DAY_MS);
    struct response *later = ask(path, key[3], again); /* before the removal, as behind it */
    expect_status(later, 200);
    cr_expect_str_neq(later->body, first->body);
    cr_expect_gt(number(SPENT), spent, "it is a new one, and paid for");
    prune();
    spent = number(SPENT);
    cr_expect_str_eq(ask(path, key[4], again)->body, later->body);
    cr_expect_str_eq(ask(path, key[5], before)->body, kept, "of before, and kept for ever");
    cr_expect_eq(number(SPENT), spent);
    cr_expect_eq(number(ANSWERS " WHERE key GLOB 'reuse *'"), 2);
}

/* ---- a year */

/* The key of question N of the day, asked when the clock shows the present. */
static void write_year_key(int day, unsigned n, char out[KEY_BYTES])
{
    write_uuid(BEGIN_MS + day * DAY_MS + n, n, out);
}

/* PER_DAY questions a day that cost nothing, so that the whole file is bounded, and every tenth day
 * one that is paid for. */
Test(retention, a_year_takes_the_room_of_its_days, .timeout = 120)
{
    enum { YEAR = 365, PER_DAY = 8, SETTLED = 2 * DAYS + 2 };
    char key[KEY_BYTES], spent_out[96], paid[96];
    strcpy(spent_out, teacher_of(0.5, ",\"when_spent\":\"random\""));
    strcpy(paid, teacher_of(200, ",\"accounting\":\"basic\""));
    bool is_spent = false;
    for (unsigned n = 0; !is_spent; n++) {
        cr_assert_lt(n, 50);
        write_year_key(0, 1000 + n, key);
        is_spent = json_is_true(response_at(ask(spent_out, key, STATE), "/random"));
    }
    int64_t pages = 0, undated = number(ANSWERS " WHERE key GLOB 'key-*'");
    int64_t paid_answers = 0, entries = number(ENTRIES);
    for (int day = 0; day < YEAR; day++) {
        char *first = NULL;
        atomic_store(&clock_ms, BEGIN_MS + day * DAY_MS);
        if (day == YEAR / 2)
            fixture_restart(f, keep_days);
        for (unsigned n = 0; n < PER_DAY; n++) {
            write_year_key(day, n, key);
            struct response *told = ask(spent_out, key, STATE);
            expect_status(told, 200);
            cr_assert(json_is_true(response_at(told, "/random")));
            first = first ? first : strdup(told->body);
        }
        write_year_key(day, PER_DAY, key);
        if (day % 10 == 0) {
            expect_status(ask(paid, key, STATE), 200);
            paid_answers++;
        }
        write_year_key(day, 0, key);
        expect_replayed(ask(spent_out, key, STATE), first);
        free(first);
        prune();
        if (day > DAYS) {
            write_year_key(day - DAYS - 1, PER_DAY, key);
            expect_problem(ask(paid, key, STATE), "idempotency-key-expired");
        }
        if (day > DAYS + 2)
            cr_assert_leq(number(ANSWERS) - undated, (DAYS + 2) * (PER_DAY + 1), "day %d", day);
        if (day == SETTLED)
            pages = number("SELECT page_count FROM pragma_page_count");
        fixture_forget(f);
    }
    cr_expect_eq(number(ENTRIES), entries + 2 * paid_answers + (paid_answers > 0));
    /* The first answer of the paid teacher also opened the student's account. Entries grow. */
    int64_t grown = 2 * paid_answers * 1024 / number("SELECT page_size FROM pragma_page_size") + 4;
    cr_expect_leq(number("SELECT page_count FROM pragma_page_count"), pages + grown);
}

static void keep_both(struct api_settings *settings)
{
    keep_days(settings);
    settings->keep_entries_days = DAYS;
}

/* Every question is paid: the ledger keeps the entries of its days, and one fold for each account,
 * while balances, heads and the count of entries are those of all of them. */
Test(retention, a_year_of_paid_questions_takes_the_room_of_its_days, .timeout = 120)
{
    enum { YEAR = 365, PER_DAY = 8, SETTLED = 2 * DAYS + 2 };
    char key[KEY_BYTES], path[96];
    fixture_restart(f, keep_both);
    strcpy(path, teacher_of(1000, ""));
    int64_t pages = 0, others = number(ENTRIES) + 1; /* the student's account is to be opened */
    for (int day = 0; day < YEAR; day++) {
        atomic_store(&clock_ms, BEGIN_MS + day * DAY_MS);
        for (unsigned n = 0; n < PER_DAY; n++) {
            write_year_key(day, n, key);
            expect_status(ask(path, key, STATE), 200);
        }
        int64_t spent = number(SPENT);
        prune();
        cr_assert_eq(number(SPENT), spent);
        int64_t kept = day < DAYS ? day + 1 : DAYS + 1;
        int64_t folds = day > DAYS ? 2 : 0;
        cr_assert_eq(number(ENTRIES), others + 2 * PER_DAY * kept + folds, "day %d", day);
        if (day % 73 == 0)
            fixture_restart(f, keep_both);
        if (day == SETTLED)
            pages = number("SELECT page_count FROM pragma_page_count");
        fixture_forget(f);
    }
    cr_expect_eq(number("SELECT max(entries) FROM ledger_accounts"), 1 + YEAR * PER_DAY);
    cr_expect_leq(number("SELECT page_count FROM pragma_page_count"), pages + 4);
    struct response *verdict = fixture_post(f, "steward", "/v1/ledger:verify", NULL);
    expect_status(verdict, 200);
    cr_expect_eq(response_number(verdict, "/folded"), 2 * PER_DAY * (YEAR - DAYS - 1));
}

/* ---- at the same time */

#define ASKERS 2
#define KEYS   60

struct asker {
    struct db *db;
    const char *path;
    char authorization[200], key[KEY_BYTES];
    char (*texts)[1024];
    atomic_bool *over;
    atomic_uint replayed;
    unsigned refused, wrong;
    int last_status;
};

static const char *asker_header(void *context, const char *name)
{
    const struct asker *asker = context;
    if (strcasecmp(name, "Authorization") == 0)
        return asker->authorization;
    if (strcasecmp(name, "Idempotency-Key") == 0)
        return asker->key;
    return strcasecmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

/* Each is KEY's first answer, or says that its time is over. */
static void ask_again(struct asker *asker, unsigned n)
{
    struct api_reply reply = {0};
    struct api_request request = {.method = "POST",
                                  .path = asker->path,
                                  .query = "",
                                  .header_context = asker,
                                  .header = asker_header,
                                  .body = (const unsigned char *)STATE,
                                  .body_size = sizeof STATE - 1,
                                  .request_id = "again"};
    write_uuid(BEGIN_MS + n * HOUR_MS, n, asker->key);
    api_serve(fixture_app(f), asker->db, &request, &reply);
    bool same = reply.status == 200 && reply.body_size == strlen(asker->texts[n]) &&
                memcmp(reply.body, asker->texts[n], reply.body_size) == 0;
    asker->replayed += same;
    asker->refused += reply.status == 410;
    asker->wrong += !same && reply.status != 410 && reply.status != 503;
    asker->last_status = reply.status;
    api_reply_clear(&reply);
}

static void *asker_run(void *context)
{
    struct asker *asker = context;
    bool last;
    do {
        last = atomic_load(asker->over);
        for (unsigned n = 0; n < KEYS; n++)
            ask_again(asker, n);
    } while (!last);
    return NULL;
}

Test(retention, two_repeat_while_the_time_runs_out, .timeout = 120)
{
    static char texts[KEYS][1024];
    struct asker askers[ASKERS];
    pthread_t threads[ASKERS];
    atomic_bool over = false;
    char key[KEY_BYTES], error[DB_ERROR_SIZE];
    char path[96];
    strcpy(path, teacher_of(50, ""));
    for (unsigned n = 0; n < KEYS; n++) {
        atomic_store(&clock_ms, BEGIN_MS + n * HOUR_MS);
        write_uuid(BEGIN_MS + n * HOUR_MS, n, key);
        struct response *told = ask(path, key, STATE);
        expect_status(told, 200);
        cr_assert_lt(told->size, sizeof texts[n]);
        strcpy(texts[n], told->body);
    }
    int64_t entries = number(ENTRIES), spent = number(SPENT), undated = number(ANSWERS) - KEYS;
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.path = path, .texts = texts, .over = &over};
        snprintf(askers[i].authorization, sizeof askers[i].authorization, "Bearer %s",
                 fixture_token(f, "student"));
        cr_assert_eq(db_open(fixture_store(f), &askers[i].db, error), DB_OK, "%s", error);
        cr_assert_eq(pthread_create(&threads[i], NULL, asker_run, &askers[i]), 0);
    }
    for (unsigned i = 0; i < ASKERS; i++)
        while (atomic_load(&askers[i].replayed) < KEYS) /* all are given again at first */
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (int64_t hour = 0; hour < KEYS + 2; hour++)
        for (int step = 0; step < 4; step++) { /* before, at and behind each key's last moment */
            atomic_store(&clock_ms, BEGIN_MS + DAYS * DAY_MS + hour * HOUR_MS + step - 1);
            prune();
        }
    atomic_store(&over, true);
    for (unsigned i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(askers[i].wrong, 0u, "%d", askers[i].last_status);
        cr_expect_geq(askers[i].refused, KEYS);
        db_close(askers[i].db);
    }
    cr_expect_eq(number(ANSWERS), undated);
    cr_expect_eq(number(ENTRIES), entries);
    cr_expect_eq(number(SPENT), spent);
}
