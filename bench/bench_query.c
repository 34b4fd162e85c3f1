/* What one teacher query costs without sockets and disk: the whole of api_serve, some queries to a
 * transaction that is committed without waiting for the disk. One thread; the figure bounds what
 * the committer can answer in a second.
 *
 *   bench_query [queries [to a transaction [days that answers are kept [and entries]]]]
 *
 * With days, keys name a time, a second passes with each query, and as many answers are removed, or
 * entries folded.
 *
 * Counted instead of timed (valgrind --tool=callgrind), the difference of two runs is the same on
 * any machine: instructions of 8,000 queries less those of 4,000, divided by 4,000. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "api/books/client_create.h"
#include "bench/cpu_clock.h"
#include "storage/db/db.h"
#include "storage/upgrade.h"

#define BATCH 20

/* A clock of our own, one second later with each query; 0: the system's. */
static int64_t own_clock_ms;

static int64_t now_ms(void)
{
    struct timespec t;
    if (own_clock_ms > 0)
        return own_clock_ms;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct headers {
    char authorization[200], key[48];
    const struct route *route; /* the server's other thread finds it, before it reads a body */
};

static const char *header(void *context, const char *name)
{
    const struct headers *headers = context;
    if (strcmp(name, "Authorization") == 0)
        return headers->authorization;
    if (strcmp(name, "Idempotency-Key") == 0)
        return headers->key;
    return strcmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench_query: %s failed\n", what);
    exit(1);
}

/* Serves one POST; true for a 2xx. OUT_ID (or NULL) receives the member "id". */
static bool post(struct app *app, struct db *db, struct headers *headers, const char *path,
                 const char *body, char *out_id, size_t size)
{
    struct api_request request = {.method = "POST",
                                  .path = path,
                                  .query = "",
                                  .header_context = headers,
                                  .header = header,
                                  .body = (const unsigned char *)body,
                                  .body_size = strlen(body),
                                  .request_id = "req_bench",
                                  .route = headers->route};
    struct api_reply reply;
    api_serve(app, db, &request, &reply);
    bool good = reply.status / 100 == 2;
    if (good && out_id) {
        json_t *json = json_loadb(reply.body, reply.body_size, 0, NULL);
        snprintf(out_id, size, "%s", json_string_value(json_object_get(json, "id")));
        json_decref(json);
    }
    if (!good)
        fprintf(stderr, "%.*s\n", (int)reply.body_size, reply.body ? reply.body : "");
    api_reply_clear(&reply);
    return good;
}

/* A 4-64-64-2 network with small fixed weights, as an import. */
static char *network(void)
{
    const int sizes[] = {4, 64, 64, 2};
    json_t *layers = json_array();
    for (int l = 0; l < 3; l++) {
        json_t *weight = json_array(), *bias = json_array();
        for (int r = 0; r < sizes[l + 1]; r++) {
            json_t *row = json_array();
            for (int c = 0; c < sizes[l]; c++)
                json_array_append_new(row, json_real(((r * 31 + c * 17) % 23 - 11) / 200.0));
            json_array_append_new(weight, row);
            json_array_append_new(bias, json_real(0));
        }
        json_array_append_new(layers, json_pack("{s:o, s:o}", "weight", weight, "bias", bias));
    }
    json_t *policy =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:o}}", "name", "bench", "environment", "cartpole",
                  "network", "activation", "relu", "output", "softmax", "layers", layers);
    char *text = json_dumps(policy, JSON_COMPACT);
    json_decref(policy);
    return text;
}

static void make_teacher(struct app *app, struct db *db, struct headers *steward, char path[96])
{
    char policy[40], teacher[40], body[600];
    char *text = network();
    need(text && post(app, db, steward, "/v1/policies", text, policy, sizeof policy), "the policy");
    free(text);
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,\"min_"
             "probability\":0.1},"
             "\"adjacency\":{\"unit\":\"observation\",\"radius\":1e-6},\"accounting\":\"renyi\","
             "\"budget\":{\"epsilon\":1e6,\"delta\":1e-5},\"client_budget\":{\"epsilon\":1e6,"
             "\"delta\":1e-5}}",
             policy);
    strcpy(steward->key, "teacher");
    need(post(app, db, steward, "/v1/teachers", body, teacher, sizeof teacher), "the teacher");
    snprintf(path, 96, "/v1/teachers/%s/queries", teacher);
}

/* A UUID of version 7. */
static void next_dated_key(char *key, size_t size)
{
    own_clock_ms += 1000;
    snprintf(key, size, "%08llx-%04llx-7000-8000-%012x", (unsigned long long)own_clock_ms >> 16,
             (unsigned long long)own_clock_ms & 0xffff, (unsigned)own_clock_ms);
}

static void query(struct app *app, struct db *db, struct headers *student, const char *path,
                  unsigned long count, unsigned long batch)
{
    static const char body[] = "{\"state\":[0.0123456789012345,-0.4567890123456789,0."
                               "0314159265358979,0.2718281828459045]}";
    student->route = api_route(app, "POST", path).route;
    for (unsigned long done = 0; done < count; done += batch) {
        need(db_begin_batch(db, true) == DB_OK, "begin");
        for (unsigned long i = done; i < done + batch; i++) {
            snprintf(student->key, sizeof student->key, "q-%lx-%lu", i * 2654435761UL, i);
            if (own_clock_ms > 0)
                next_dated_key(student->key, sizeof student->key);
            need(post(app, db, student, path, body, NULL, 0), "a query");
        }
        need(db_commit_batch(db) == DB_OK, "commit");
        bool more = own_clock_ms > 0;
        while (more)
            need(api_prune(app, db, &more), "the removal");
    }
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    unsigned long batch = argc > 2 ? strtoul(argv[2], NULL, 10) : BATCH;
    unsigned days = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    need(batch > 0, "a number of queries to a transaction");
    unsigned entries_days = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    if (argc > 3)
        own_clock_ms = 1800000000000;
    char directory[] = "/tmp/tacet-bench-XXXXXX", location[64], error[DB_ERROR_SIZE], path[96];
    need(mkdtemp(directory) != NULL, "the directory");
    snprintf(location, sizeof location, "%s/tacet.db", directory);
    struct db_settings settings = {.location = location, .not_durable = true};
    struct db_store *store = db_store_new(&db_driver_sqlite, &settings);
    struct db *db = NULL;
    need(store && db_open(store, &db, error) == DB_OK && storage_upgrade(db, error) == DB_OK,
         "the database");
    struct api_settings api = {.now_ms = now_ms,
                               .max_body_bytes = 1 << 20,
                               .max_upload_bytes = 1 << 20,
                               .max_policy_bytes = 1 << 24,
                               .max_states_per_query = 1024,
                               .max_experts_per_dataset = 1000,
                               .keep_answers_days = days,
                               .keep_entries_days = entries_days,
                               .cors_origins = "",
                               .version = "bench"};
    struct app *app = api_open(&api);
    need(app != NULL, "the app");
    struct headers steward = {.key = "policy"}, student = {0};
    static const struct token_terms terms = {.scopes = SCOPE_ALL};
    char token[160];
    need(!api_client_create(app, db, "steward", "steward", &terms, token), "the steward");
    snprintf(steward.authorization, sizeof steward.authorization, "Bearer %s", token);
    need(!api_client_create(app, db, "student", "student", &terms, token), "the student");
    snprintf(student.authorization, sizeof student.authorization, "Bearer %s", token);
    make_teacher(app, db, &steward, path);
    query(app, db, &student, path, days > 0 ? days * 100000 : batch, batch); /* then as many go */
    double start = cpu_seconds();
    query(app, db, &student, path, count, batch);
    printf("teacher query in process, %lu to a transaction: %.1f us of CPU\n", batch,
           1e6 * (cpu_seconds() - start) / (double)count);
    api_close(app);
    db_close(db);
    db_store_free(store);
    snprintf(location, sizeof location, "rm -rf %s", directory);
    return system(location) == 0 ? 0 : 1;
}
