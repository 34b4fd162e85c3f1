/* Damaged rows: one value of one column of one table of a whole service (scene.h) is changed, and
 * a part of what can be asked for is asked for. The first two bytes choose the column and the part;
 * the rest is the new value of a text or of bytes, or a number.
 *
 * Whatever a row holds, there is an answer. Where the column is under a digest, and one thing was
 * asked for, it is that of an unchanged row, or a problem. The ledger's own rows are left out:
 * hashes hold them together, which the server verifies when it starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/match.h"
#include "storage/digests.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scene.h"

#define COLUMNS_MOST 400
#define TARGETS      24
#define STRIDE       8 /* an input makes each eighth of the requests */

static const char *const targets[TARGETS] = {"/v1/datasets/$B",
                                             "/v1/datasets/$C/budget",
                                             "/v1/jobs/$H",
                                             "/v1/jobs/$I",
                                             "/v1/policies/$K",
                                             "/v1/policies/$K/weights",
                                             "/v1/policies/$E/weights?format=onnx",
                                             "/v1/teachers/$F",
                                             "/v1/teachers/$F/certificate",
                                             "/v1/teachers/$F/budgets/$N",
                                             "/v1/aggregations/$G",
                                             "/v1/aggregations/$G/parameters",
                                             "/v1/q-releases/$M",
                                             "/v1/certificates/$L",
                                             "/v1/ledger/accounts/$O",
                                             "/v1/ledger/accounts/$O/entries",
                                             "/v1/ledger/accounts",
                                             "/v1/datasets",
                                             "/v1/jobs",
                                             "/v1/policies",
                                             "/v1/teachers",
                                             "/v1/q-releases",
                                             "/v1/limit-changes/$S",
                                             "/v1/limit-changes"};

static struct {
    struct scene *scene;
    struct stored_column {
        char table[40], name[40];
        char kind; /* of its type's name */
        bool digested;
    } columns[COLUMNS_MOST];
    unsigned count;
    struct api_reply unchanged[TARGETS]; /* of each of the targets */
} service;

/* True when COLUMN is a digest, or under one. */
static bool is_digested(const struct stored_column *column)
{
    for (const struct table *const *t = digests_tables; *t; t++) {
        if (strcmp((*t)->name, column->table) != 0)
            continue;
        for (unsigned i = 0; i < (*t)->count - (*t)->loose; i++)
            if (strcmp((*t)->columns[i].name, column->name) == 0)
                return true;
        if (strcmp((*t)->digest, column->name) == 0)
            return true;
    }
    return false;
}

static enum db_status keep_column(void *unused, const struct db_row *row)
{
    struct stored_column *column = &service.columns[service.count];
    (void)unused;
    if (service.count == COLUMNS_MOST)
        return DB_FAILED;
    snprintf(column->table, sizeof column->table, "%s", db_row_text(row, 0));
    snprintf(column->name, sizeof column->name, "%s", db_row_text(row, 1));
    column->kind = db_row_text(row, 2)[0];
    column->digested = is_digested(column);
    service.count++;
    return DB_OK;
}

static struct db_value new_value(char kind, const char *text, size_t size)
{
    int64_t integer = 0;
    double real = 0;
    memcpy(&integer, text, size < sizeof integer ? size : sizeof integer);
    memcpy(&real, text, size < sizeof real ? size : sizeof real);
    switch (kind) {
    case 'I': return db_integer(integer);
    case 'R': return db_real(real - real == 0 ? real : 0);
    case 'B': return db_bytes(text, size);
    default: return db_text(text);
    }
}

/* GETs, or POSTs BODY, as the student where there are queries, and otherwise as the steward. */
static void ask(const char *target, const char *body, struct api_reply *reply)
{
    static const char *const names[] = {"Content-Type", "Idempotency-Key"};
    static const char *const json[] = {"application/json", "rows"};
    char *path = scene_text(service.scene, target, strlen(target), NULL);
    struct scene_request request = {.role = strstr(target, "queries") ? 3 : 1,
                                    .method = body ? "POST" : "GET",
                                    .target = path,
                                    .names = names,
                                    .values = json,
                                    .header_count = 2,
                                    .body = body ? body : "",
                                    .may_break = true};
    request.body_size = strlen(request.body);
    scene_serve(service.scene, &request, reply);
    free(path);
}

static void expect_unchanged(const struct api_reply *reply, const struct api_reply *unchanged)
{
    if (reply->body_size == unchanged->body_size &&
        memcmp(reply->body, unchanged->body, reply->body_size) == 0)
        return;
    fprintf(stderr, "%.*s\nis not\n%.*s\n", (int)reply->body_size, reply->body,
            (int)unchanged->body_size, unchanged->body);
    abort();
}

/* Whether TARGET's answer has to be the unchanged one if it is given while COLUMN is changed. What
 * an account's jobs cost is summed up in SQL, and the newest is looked for there. */
static bool is_checked(const struct stored_column *column, const char *target)
{
    static const char job[] = "/v1/jobs/";
    bool of_jobs = strcmp(column->table, "jobs") == 0;
    return column->digested && strchr(target, '$') &&
           (!of_jobs || strncmp(target, job, sizeof job - 1) == 0);
}

/* Everything that can be asked of the ids in the scene, by parts, while COLUMN is changed. */
static void ask_everything(const struct stored_column *column, uint8_t which)
{
    static const char *const posts[][2] = {
        {"/v1/teachers/$F/queries", "{\"states\":[[0,0,0,0]]}"},
        {"/v1/q-releases/$M/queries", "{\"states\":[[0.5]]}"},
        {"/v1/policies/$E/actions", "{\"states\":[[0,0,0,0]]}"},
        {"/v1/ledger:verify", ""},
        {"/v1/jobs/$J:cancel", ""},
    };
    size_t all = TARGETS + sizeof posts / sizeof posts[0];
    for (size_t i = which % STRIDE; i < all; i += STRIDE) {
        struct api_reply reply;
        if (i < TARGETS)
            ask(targets[i], NULL, &reply);
        else
            ask(posts[i - TARGETS][0], posts[i - TARGETS][1], &reply);
        if (i < TARGETS && reply.status == 200 && is_checked(column, targets[i]))
            expect_unchanged(&reply, &service.unchanged[i]);
        api_reply_clear(&reply);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    service.scene = scene_open();
    if (db_run(service.scene->db,
               "SELECT t.name, c.name, c.type FROM sqlite_schema t, pragma_table_info(t.name) c "
               "WHERE t.type = 'table' AND c.pk = 0 AND t.name NOT IN ('meta', 'clients') AND "
               "t.name NOT LIKE 'ledger%'",
               NULL, 0, keep_column, NULL) != DB_OK)
        abort();
    for (size_t i = 0; i < TARGETS; i++)
        ask(targets[i], NULL, &service.unchanged[i]);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char sql[COLUMNS_MOST][160]; /* statements are kept by their address */
    unsigned at = fuzz_byte(&data, &size);
    uint8_t which = fuzz_byte(&data, &size);
    at = (at + which / STRIDE * 256U) % service.count;
    const struct stored_column *column = &service.columns[at];
    struct db *db = service.scene->db;
    char *text = fuzz_copy(data, size, true);
    snprintf(sql[at], sizeof sql[at], "UPDATE %s SET %s = $1", column->table, column->name);
    struct db_value value = new_value(column->kind, text, size);
    if (db_begin_batch(db, true) == DB_OK) {
        if (db_run(db, sql[at], &value, 1, NULL, NULL) == DB_OK)
            ask_everything(column, which);
        db_rollback_batch(db);
    }
    free(text);
    return 0;
}
