/* Damaged rows: one value of one column of one table of a whole service (scene.h) is changed, and
 * a part of what can be asked for is asked for. The first two bytes choose the column and the part;
 * the rest is the new value of a text or of bytes, or a number.
 *
 * Whatever a row holds, there is an answer: that of an unchanged row, or a problem. The ledger's
 * own rows are left out: hashes hold them together, which the server verifies when it starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/match.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scene.h"

#define COLUMNS_MOST 400
#define STRIDE       8 /* an input makes each eighth of the requests */

static struct {
    struct scene *scene;
    struct stored_column {
        char table[40], name[40];
        char kind; /* of its type's name */
    } columns[COLUMNS_MOST];
    unsigned count;
} service;

static enum db_status keep_column(void *unused, const struct db_row *row)
{
    struct stored_column *column = &service.columns[service.count];
    (void)unused;
    if (service.count == COLUMNS_MOST)
        return DB_FAILED;
    snprintf(column->table, sizeof column->table, "%s", db_row_text(row, 0));
    snprintf(column->name, sizeof column->name, "%s", db_row_text(row, 1));
    column->kind = db_row_text(row, 2)[0];
    service.count++;
    return DB_OK;
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
    return 0;
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

/* Everything that can be asked of the ids in the scene, by parts. */
static void ask_everything(uint8_t which)
{
    static const char *const targets[] = {"/v1/datasets/$B",
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
                                          "/v1/q-releases"};
    static const char *const posts[][2] = {
        {"/v1/teachers/$F/queries", "{\"states\":[[0,0,0,0]]}"},
        {"/v1/q-releases/$M/queries", "{\"states\":[[0.5]]}"},
        {"/v1/policies/$E/actions", "{\"states\":[[0,0,0,0]]}"},
        {"/v1/ledger:verify", ""},
        {"/v1/jobs/$J:cancel", ""},
    };
    static const char *const names[] = {"Content-Type", "Idempotency-Key"};
    static const char *const json[] = {"application/json", "rows"};
    size_t gets = sizeof targets / sizeof targets[0], all = gets + sizeof posts / sizeof posts[0];
    for (size_t i = which % STRIDE; i < all; i += STRIDE) {
        const char *target = i < gets ? targets[i] : posts[i - gets][0];
        char *path = scene_text(service.scene, target, strlen(target), NULL);
        struct scene_request request = {.role = strstr(target, "queries") ? 3 : 1,
                                        .method = i < gets ? "GET" : "POST",
                                        .target = path,
                                        .names = names,
                                        .values = json,
                                        .header_count = 2,
                                        .body = i < gets ? "" : posts[i - gets][1],
                                        .may_break = true};
        struct api_reply reply;
        request.body_size = strlen(request.body);
        scene_serve(service.scene, &request, &reply);
        api_reply_clear(&reply);
        free(path);
    }
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
            ask_everything(which);
        db_rollback_batch(db);
    }
    free(text);
    return 0;
}
