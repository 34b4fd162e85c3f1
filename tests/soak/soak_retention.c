/* A service whose answers and entries are kept for some days, through many such times under a
 * sped-up clock: whether its disk stops growing, and how fast it removes.
 *
 *   soak_retention DIRECTORY [QUESTIONS [A-DAY [DAYS-KEPT [STUDENTS]]]]
 *
 * DIRECTORY becomes a server's data directory. Each question is paid for and is a commit of its
 * own, as at a hundred in a second. Every hour what is over is removed. With 0 DAYS-KEPT nothing
 * is, and a server that is started on DIRECTORY has it to do.
 *
 * Fails if the file is larger at the end, by 2 %, than on the day after the second such time. Says
 * how much a tenth of the time suffices for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "api/books/client_create.h"
#include "api/json/json_text.h"
#include "server/database.h"
#include "server/os/data_dir.h"
#include "storage/db/db.h"
#include "storage/db/listing.h"

#define SHARE   10 /* of the time: one part (server/pruner.c) */
#define HOUR_MS INT64_C(3600000)
#define DAY_MS  (24 * HOUR_MS)
#define PAGE_MB (8192 / 1e6)

#define POLICY                                                                                     \
    "{\"name\":\"p\",\"environment\":\"cartpole\",\"network\":{\"activation\":\"relu\","           \
    "\"layers\":[{\"weight\":[[0.1,0,0,0],[0,0.1,0,0]],\"bias\":[0,0]}],\"output\":\"softmax\"}}"
#define TEACHER                                                                                    \
    "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,"               \
    "\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":1e-6},"           \
    "\"accounting\":\"renyi\",\"budget\":{\"epsilon\":1e6,\"delta\":1e-5},"                        \
    "\"client_budget\":{\"epsilon\":1e6,\"delta\":1e-5}}"
#define QUESTION "{\"state\":[0.0123,-0.0345,0.0211,0.1042]}"

static int64_t clock_ms; /* the service's */

struct soak {
    struct app *app;
    struct db *db;
    char steward[TOKEN_SIZE], (*students)[TOKEN_SIZE], path[96];
    unsigned long questions, a_day, days_kept, count_students;
    double work_s; /* of removals */
    int64_t removed, folded, settled;
};

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "soak_retention: %s\n", what);
    exit(1);
}

static int64_t read_clock(void)
{
    return clock_ms;
}

/* ---- requests */

struct headers {
    char authorization[TOKEN_SIZE + 8], key[48];
};

static const char *find_header(void *context, const char *name)
{
    const struct headers *headers = context;
    if (strcmp(name, "Authorization") == 0)
        return headers->authorization;
    if (strcmp(name, "Idempotency-Key") == 0)
        return headers->key;
    return strcmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

/* POSTs as the client of TOKEN, in a batch of its own, under a UUID of version 7. OUT_ID: the
 * member "id", or NULL. */
static void post(struct soak *soak, const char *token, const char *path, const char *body,
                 char out_id[40])
{
    static unsigned long keys;
    struct headers headers;
    struct api_request request = {.method = "POST",
                                  .path = path,
                                  .query = "",
                                  .header_context = &headers,
                                  .header = find_header,
                                  .body = (const unsigned char *)body,
                                  .body_size = strlen(body),
                                  .request_id = "soak"};
    struct api_reply reply;
    snprintf(headers.authorization, sizeof headers.authorization, "Bearer %s", token);
    snprintf(headers.key, sizeof headers.key, "%08llx-%04llx-7000-8000-%012lx",
             (unsigned long long)clock_ms >> 16, (unsigned long long)clock_ms & 0xffff, keys++);
    need(db_begin_batch(soak->db, true) == DB_OK, "begin");
    api_expect(soak->db, &request);
    api_serve(soak->app, soak->db, &request, &reply);
    need(db_commit_batch(soak->db) == DB_OK, db_last_error(soak->db));
    api_settled(soak->app, true);
    if (reply.status / 100 != 2)
        fprintf(stderr, "%.*s\n", (int)reply.body_size, reply.body ? reply.body : "");
    need(reply.status / 100 == 2, "a request is refused");
    struct json_fault fault;
    json_t *json = NULL;
    if (out_id && json_text_parse(reply.body, reply.body_size, &json, &fault) == JSON_TEXT_GOOD)
        snprintf(out_id, 40, "%s", json_string_value(json_object_get(json, "id")));
    json_decref(json);
    api_reply_clear(&reply);
}

/* ---- the service */

static void make_people(struct soak *soak)
{
    const struct token_terms terms = {.scopes = SCOPE_ALL};
    char name[32], policy[40], teacher[40], body[600];
    need(!api_client_create(soak->app, soak->db, "steward", "steward", &terms, soak->steward),
         "the steward");
    soak->students = calloc(soak->count_students, sizeof *soak->students);
    need(soak->students, "memory");
    for (unsigned long i = 0; i < soak->count_students; i++) {
        snprintf(name, sizeof name, "student %lu", i);
        need(!api_client_create(soak->app, soak->db, name, "student", &terms, soak->students[i]),
             "a student");
    }
    post(soak, soak->steward, "/v1/policies", POLICY, policy);
    snprintf(body, sizeof body, TEACHER, policy);
    post(soak, soak->steward, "/v1/teachers", body, teacher);
    snprintf(soak->path, sizeof soak->path, "/v1/teachers/%s/queries", teacher);
}

static void open_service(struct soak *soak, const char *directory)
{
    char error[512] = "";
    struct api_settings settings = {.now_ms = read_clock,
                                    .cors_origins = "",
                                    .version = "soak",
                                    .max_body_bytes = 1 << 20,
                                    .max_policy_bytes = 1 << 20,
                                    .max_states_per_query = 64,
                                    .keep_answers_days = (uint32_t)soak->days_kept,
                                    .keep_entries_days = (uint32_t)soak->days_kept};
    const struct database_place place = {.directory = directory};
    struct database *database = NULL;
    need(data_dir_make(directory, error, sizeof error) &&
             database_make(&place, error, sizeof error) &&
             data_dir_signing_seed(directory, settings.signing_seed, error, sizeof error) &&
             (database = database_open(&place, error, sizeof error)) &&
             (soak->db = database_connect(database, error, sizeof error)) &&
             (soak->app = api_open(&settings)),
         error);
}

static int64_t number(const struct soak *soak, const char *sql)
{
    int64_t value = -1;
    need(db_one(soak->db, sql, NULL, 0, listing_integer, &value) == DB_OK, db_last_error(soak->db));
    return value;
}

/* ---- days */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void remove_old(struct soak *soak)
{
    bool more = soak->days_kept > 0;
    double begun = seconds();
    while (more)
        need(api_prune(soak->app, soak->db, &more), db_last_error(soak->db));
    soak->work_s += seconds() - begun;
}

static int64_t file_pages(const struct soak *soak)
{
    return number(soak, "SELECT page_count FROM pragma_page_count");
}

static void show_day(struct soak *soak, unsigned long day, unsigned long asked)
{
    int64_t answers = number(soak, "SELECT count(*) FROM answers"),
            entries = number(soak, "SELECT count(*) FROM ledger_entries"),
            tiles = number(soak, "SELECT count(*) FROM ledger_tiles"),
            subtrees = number(soak, "SELECT count(*) FROM ledger_subtrees"),
            file = file_pages(soak);
    soak->removed = (int64_t)asked - answers;
    soak->folded = 2 * (int64_t)asked - entries;
    if (day == 2 * soak->days_kept + 1)
        soak->settled = file;
    printf("%4lu %9lu %9lld %9lld %9lld %9lld %9.1f\n", day, asked, (long long)answers,
           (long long)entries, (long long)tiles, (long long)subtrees, (double)file * PAGE_MB);
    fflush(stdout);
}

static void live(struct soak *soak)
{
    int64_t begin_ms = clock_ms, removed_ms = clock_ms;
    printf("%4s %9s %9s %9s %9s %9s %9s\n", "day", "asked", "answers", "entries", "tiles",
           "subtrees", "file MB");
    for (unsigned long n = 0; n < soak->questions; n++) {
        clock_ms = begin_ms + (int64_t)((double)n / (double)soak->a_day * DAY_MS);
        post(soak, soak->students[n * 40503 % soak->count_students], soak->path, QUESTION, NULL);
        if (clock_ms >= removed_ms + HOUR_MS) {
            remove_old(soak);
            removed_ms = clock_ms;
        }
        if ((n + 1) % soak->a_day == 0)
            show_day(soak, (n + 1) / soak->a_day, n + 1);
    }
}

static void judge(const struct soak *soak)
{
    double answers = (double)soak->removed / soak->work_s,
           entries = (double)soak->folded / soak->work_s;
    int64_t file = file_pages(soak);
    printf("%.1f s of removals: %.0f answers and %.0f entries a second, at a tenth of the time "
           "%.0f and %.0f\n",
           soak->work_s, answers, entries, answers / SHARE, entries / SHARE);
    need(soak->settled > 0 && file <= soak->settled + soak->settled / 50, "the file grows");
}

static unsigned long argument(int argc, char **argv, int at, unsigned long fallback)
{
    return at < argc ? strtoul(argv[at], NULL, 10) : fallback;
}

int main(int argc, char **argv)
{
    struct soak soak = {.questions = argument(argc, argv, 2, 2400000),
                        .a_day = argument(argc, argv, 3, 150000),
                        .days_kept = argument(argc, argv, 4, 2),
                        .count_students = argument(argc, argv, 5, 1000)};
    need(argc > 1 && soak.a_day > 0 && soak.count_students > 0,
         "DIRECTORY [QUESTIONS [A-DAY [DAYS-KEPT [STUDENTS]]]]");
    clock_ms = (int64_t)time(NULL) * 1000 - (int64_t)(soak.questions / soak.a_day) * DAY_MS;
    open_service(&soak, argv[1]);
    make_people(&soak);
    live(&soak);
    if (soak.days_kept == 0)
        return 0;
    judge(&soak);
    return 0;
}
