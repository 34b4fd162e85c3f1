/* Answers that are kept for a time: what a year of them takes, and repeats while their time runs
 * out. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "tests/checked_test.h"
#include "tests/unit/api/export_lines.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/keep_scene.h"

TestSuite(retention_year, .init = keep_open, .fini = service_close);

/* The key of question N of the day, asked when the clock shows the present. */
static void write_year_key(int day, unsigned n, char out[KEEP_KEY_BYTES])
{
    keep_uuid(KEEP_BEGIN_MS + day * KEEP_DAY_MS + n, n, out);
}

/* PER_DAY questions a day that cost nothing, so that the whole file is bounded, and every tenth day
 * one that is paid for. */
CHECKED_TEST(retention_year, a_year_takes_the_room_of_its_days, .timeout = 600)
{
    enum { YEAR = 365, PER_DAY = 8, SETTLED = 2 * KEEP_DAYS + 2 };
    char key[KEEP_KEY_BYTES], spent_out[96], paid[96];
    strcpy(spent_out, keep_teacher(0.5, ",\"when_spent\":\"random\""));
    strcpy(paid, keep_teacher(200, ",\"accounting\":\"basic\""));
    bool is_spent = false;
    for (unsigned n = 0; !is_spent; n++) {
        cr_assert_lt(n, 50);
        write_year_key(0, 1000 + n, key);
        is_spent = json_is_true(response_at(keep_ask(spent_out, key, KEEP_STATE), "/random"));
    }
    int64_t pages = 0, undated = keep_number(KEEP_ANSWERS " WHERE key GLOB 'key-*'");
    int64_t paid_answers = 0, entries = keep_number(KEEP_ENTRIES);
    for (int day = 0; day < YEAR; day++) {
        char *first = NULL;
        atomic_store(&keep_clock_ms, KEEP_BEGIN_MS + day * KEEP_DAY_MS);
        if (day == YEAR / 2)
            fixture_restart(f, keep_days);
        for (unsigned n = 0; n < PER_DAY; n++) {
            write_year_key(day, n, key);
            struct response *told = keep_ask(spent_out, key, KEEP_STATE);
            expect_status(told, 200);
            cr_assert(json_is_true(response_at(told, "/random")));
            first = first ? first : strdup(told->body);
        }
        write_year_key(day, PER_DAY, key);
        if (day % 10 == 0) {
            expect_status(keep_ask(paid, key, KEEP_STATE), 200);
            paid_answers++;
        }
        write_year_key(day, 0, key);
        keep_expect_replayed(keep_ask(spent_out, key, KEEP_STATE), first);
        free(first);
        keep_prune();
        if (day > KEEP_DAYS) {
            write_year_key(day - KEEP_DAYS - 1, PER_DAY, key);
            expect_problem(keep_ask(paid, key, KEEP_STATE), "idempotency-key-expired");
        }
        if (day > KEEP_DAYS + 2)
            cr_assert_leq(keep_number(KEEP_ANSWERS) - undated, (KEEP_DAYS + 2) * (PER_DAY + 1),
                          "day %d", day);
        if (day == SETTLED)
            pages = keep_number("SELECT page_count FROM pragma_page_count");
        fixture_forget(f);
    }
    cr_expect_eq(keep_number(KEEP_ENTRIES), entries + 2 * paid_answers + (paid_answers > 0));
    /* The first answer of the paid teacher also opened the student's account. Entries grow. */
    int64_t grown =
        2 * paid_answers * 1024 / keep_number("SELECT page_size FROM pragma_page_size") + 4;
    cr_expect_leq(keep_number("SELECT page_count FROM pragma_page_count"), pages + grown);
}

static void keep_both(struct api_settings *settings)
{
    keep_days(settings);
    settings->keep_entries_days = KEEP_DAYS;
}

/* Of the log of a year: parts that were reduced, and tiles that may not be. */
#define YEAR_PAGES 12

/* The export of now goes on from EARLIER, in both programs, though most of its leaves are gone. */
static void expect_goes_on_from(const char *earlier)
{
    struct verify_report report;
    char folder[] = EXPORT_FOLDER;
    size_t size;
    bool faulty = true;
    char *text = export_scene_take(f, &size);
    export_scene_verify(text, size, earlier, &report);
    cr_expect_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_expect_not_null(strstr(text, "{\"subtree\":"));
    cr_assert_not_null(mkdtemp(folder));
    export_lines_save(folder, 0, text, earlier);
    export_lines_ask_python(folder, 1, &faulty);
    cr_expect_not(faulty);
    free(text);
}

/* Every question is paid: the ledger keeps the entries of its days, and one fold for each account,
 * while balances, heads and the count of entries are those of all of them. */
CHECKED_TEST(retention_year, a_year_of_paid_questions_takes_the_room_of_its_days, .timeout = 600)
{
    enum { YEAR = 365, PER_DAY = 8, SETTLED = 2 * KEEP_DAYS + 2 };
    char key[KEEP_KEY_BYTES], path[96];
    fixture_restart(f, keep_both);
    strcpy(path, keep_teacher(1000, ""));
    char *halfway = NULL;
    size_t halfway_size;
    int64_t pages = 0,
            others = keep_number(KEEP_ENTRIES) + 1; /* the student's account is to be opened */
    for (int day = 0; day < YEAR; day++) {
        atomic_store(&keep_clock_ms, KEEP_BEGIN_MS + day * KEEP_DAY_MS);
        for (unsigned n = 0; n < PER_DAY; n++) {
            write_year_key(day, n, key);
            expect_status(keep_ask(path, key, KEEP_STATE), 200);
        }
        int64_t spent = keep_number(KEEP_SPENT);
        keep_prune();
        cr_assert_eq(keep_number(KEEP_SPENT), spent);
        int64_t kept = day < KEEP_DAYS ? day + 1 : KEEP_DAYS + 1;
        int64_t folds = day > KEEP_DAYS ? 2 : 0;
        cr_assert_eq(keep_number(KEEP_ENTRIES), others + 2 * PER_DAY * kept + folds, "day %d", day);
        if (day % 73 == 0)
            fixture_restart(f, keep_both);
        if (day == YEAR / 2)
            halfway = export_scene_take(f, &halfway_size);
        if (day == SETTLED)
            pages = keep_number("SELECT page_count FROM pragma_page_count");
        fixture_forget(f);
    }
    cr_expect_eq(keep_number("SELECT max(entries) FROM ledger_accounts"), 1 + YEAR * PER_DAY);
    /* The first tile has what opened the accounts, and one has the end of an export. */
    cr_expect_leq(keep_number("SELECT count(*) FROM ledger_tiles"), 4);
    cr_expect_geq(keep_number("SELECT count(*) FROM ledger_subtrees"),
                  2 * PER_DAY * (YEAR - KEEP_DAYS) / 256 - 4);
    cr_expect_leq(keep_number("SELECT page_count FROM pragma_page_count"), pages + YEAR_PAGES);
    cr_expect_lt(keep_number("SELECT count(*) FROM ledger_leaves"), 2 * PER_DAY * KEEP_DAYS + 600);
    export_scene_expect_good(f);
    expect_goes_on_from(halfway);
    free(halfway);
    struct response *verdict = fixture_post(f, "steward", "/v1/ledger:verify", NULL);
    expect_status(verdict, 200);
    cr_expect_eq(response_number(verdict, "/folded"), 2 * PER_DAY * (YEAR - KEEP_DAYS - 1));
}

/* ---- at the same time */

#define ASKERS 2
#define KEYS   60

struct asker {
    struct db *db;
    const char *path;
    char authorization[200], key[KEEP_KEY_BYTES];
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
                                  .body = (const unsigned char *)KEEP_STATE,
                                  .body_size = sizeof KEEP_STATE - 1,
                                  .request_id = "again"};
    keep_uuid(KEEP_BEGIN_MS + n * KEEP_HOUR_MS, n, asker->key);
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

CHECKED_TEST(retention_year, two_repeat_while_the_time_runs_out, .timeout = 600)
{
    static char texts[KEYS][1024];
    struct asker askers[ASKERS];
    pthread_t threads[ASKERS];
    atomic_bool over = false;
    char key[KEEP_KEY_BYTES], error[DB_ERROR_SIZE];
    char path[96];
    strcpy(path, keep_teacher(50, ""));
    for (unsigned n = 0; n < KEYS; n++) {
        atomic_store(&keep_clock_ms, KEEP_BEGIN_MS + n * KEEP_HOUR_MS);
        keep_uuid(KEEP_BEGIN_MS + n * KEEP_HOUR_MS, n, key);
        struct response *told = keep_ask(path, key, KEEP_STATE);
        expect_status(told, 200);
        cr_assert_lt(told->size, sizeof texts[n]);
        strcpy(texts[n], told->body);
    }
    int64_t entries = keep_number(KEEP_ENTRIES), spent = keep_number(KEEP_SPENT),
            undated = keep_number(KEEP_ANSWERS) - KEYS;
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
            atomic_store(&keep_clock_ms,
                         KEEP_BEGIN_MS + KEEP_DAYS * KEEP_DAY_MS + hour * KEEP_HOUR_MS + step - 1);
            keep_prune();
        }
    atomic_store(&over, true);
    for (unsigned i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(askers[i].wrong, 0u, "%d", askers[i].last_status);
        cr_expect_geq(askers[i].refused, KEYS);
        db_close(askers[i].db);
    }
    cr_expect_eq(keep_number(KEEP_ANSWERS), undated);
    cr_expect_eq(keep_number(KEEP_ENTRIES), entries);
    cr_expect_eq(keep_number(KEEP_SPENT), spent);
}
