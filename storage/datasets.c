/* Datasets as declared, and their life: open, sealed, deleted. */
#include "storage/datasets.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/digests.h"
#include "storage/projects.h"
#include "storage/teachers.h"

static const char *const state_names[] = {
    [DATASET_OPEN] = "open",
    [DATASET_SEALED] = "sealed",
    [DATASET_DELETED] = "deleted",
    NULL,
};

static const struct column dataset_columns[] = {
    COLUMN(dataset_row, id, TEXT),
    COLUMN(dataset_row, owner, TEXT),
    COLUMN(dataset_row, name, TEXT),
    COLUMN(dataset_row, environment, TEXT),
    COLUMN(dataset_row, state_dim, COUNT),
    COLUMN(dataset_row, action_count, COUNT),
    COLUMN(dataset_row, max_episode_steps, COUNT),
    COLUMN(dataset_row, discount, REAL),
    COLUMN(dataset_row, min_action_probability, REAL),
    COLUMN(dataset_row, is_public, FLAG),
    COLUMN(dataset_row, nominal_experts, INTEGER),
    COLUMN(dataset_row, account, TEXT),
    COLUMN(dataset_row, created_ms, INTEGER),
    COLUMN(dataset_row, expert_means, TEXT),
    {"state", COLUMN_WORD, offsetof(struct dataset_row, state), 0, state_names},
    COLUMN(dataset_row, experts, INTEGER),
    COLUMN(dataset_row, trajectories, INTEGER),
    COLUMN(dataset_row, transitions, INTEGER),
    COLUMN(dataset_row, uncovered, FLAG),
    COLUMN(dataset_row, retention_days, INTEGER),
    COLUMN(dataset_row, erased_days, INTEGER),
    COLUMN(dataset_row, sealed_ms, INTEGER),
};

#define DATASET_FIXED 14 /* what was declared, and who pays */

const struct table datasets_table =
    TABLE_DIGESTED("datasets", dataset_row, dataset_columns, TABLE_ALL(dataset_columns), "digest",
                   1, TABLE_ALL(dataset_columns) - DATASET_FIXED);

const char *dataset_state_name(enum dataset_state state)
{
    assert((unsigned)state <= DATASET_DELETED);
    return state_names[state];
}

struct insert_work {
    const struct dataset_row *dataset;
    const char *description;
};

static enum db_status insert_dataset(struct db *db, void *context)
{
    const struct insert_work *work = context;
    struct dataset_row fresh = *work->dataset;
    fresh.state = DATASET_OPEN;
    fresh.experts = fresh.trajectories = fresh.transitions = 0;
    fresh.uncovered = false;
    fresh.erased_days = fresh.sealed_ms = 0;
    enum db_status status = table_insert(db, &datasets_table, &fresh, NULL, 0);
    if (status != DB_OK || !work->description)
        return status;
    return db_run(db, "INSERT INTO dataset_descriptions (dataset, text) VALUES ($1, $2)",
                  DB_VALUES(db_text(fresh.id), db_text(work->description)), NULL, NULL);
}

enum db_status datasets_insert(struct db *db, const struct dataset_row *dataset,
                               const char *description)
{
    return db_transact(db, insert_dataset, &(struct insert_work){dataset, description});
}

struct description_row {
    char *text;
};

enum db_status datasets_description(struct db *db, const char *id, char **out)
{
    static const struct column columns[] = {COLUMN(description_row, text, POINTER)};
    static const struct table table =
        TABLE("dataset_descriptions", description_row, columns, TABLE_ALL(columns));
    struct description_row row = {NULL};
    enum db_status status =
        table_find(db, &table, "WHERE dataset = $1", DB_VALUES(db_text(id)), &row);
    *out = row.text;
    return status;
}

enum db_status datasets_find(struct db *db, const char *id, struct dataset_row *out)
{
    return table_find_id(db, &datasets_table, id, out);
}

enum db_status datasets_find_open(struct db *db, const char *id, struct dataset_row *out,
                                  enum dataset_verdict *out_verdict)
{
    enum db_status status = datasets_find(db, id, out);
    *out_verdict = DATASET_OK;
    if (status != DB_OK || out->state == DATASET_DELETED)
        *out_verdict = DATASET_UNKNOWN;
    else if (out->state == DATASET_SEALED)
        *out_verdict = DATASET_NOT_OPEN;
    return db_optional(status);
}

TABLE_SHOW(show_dataset, dataset_row);

enum db_status datasets_list(struct db *db, const char *owner, const char *client,
                             const struct listing_page *page, dataset_fn *each, void *context)
{
    struct show_dataset list = {each, context};
    return table_list(
        db, &datasets_table,
        "WHERE state <> 'deleted' AND ($1 = '' OR" OWNER_AMONG(
            "$1") ") "
                  "AND" PROJECTS_ADMIT("$2") "AND" LISTING_PAGE("$3", "$4", "$5"),
        DB_VALUES(db_text_or_empty(owner), db_text_or_empty(client), LISTING_VALUES(page)),
        show_dataset, &list);
}

enum db_status datasets_set_retention(struct db *db, const char *id, int64_t days)
{
    return db_change(db, "UPDATE datasets SET retention_days = $2 WHERE id = $1",
                     DB_VALUES(db_text(id), db_integer(days)));
}

enum db_status datasets_next_day(struct db *db, int64_t now_ms, const char *after,
                                 struct dataset_row *out)
{
    char id[ID_SIZE] = "";
    enum db_status status =
        db_one(db,
               "SELECT id FROM datasets WHERE id > $2 AND retention_days > 0 AND "
               "state <> 'deleted' AND "
               "erased_days < ($1 - created_ms) / 86400000 - retention_days AND "
               "(sealed_ms = 0 OR erased_days <= (sealed_ms - created_ms) / 86400000) "
               "ORDER BY id LIMIT 1",
               DB_VALUES(db_integer(now_ms), db_text(after)), listing_id, id);
    if (status == DB_OK)
        status = db_owed(datasets_find(db, id, out));
    memcpy(out->id, id, sizeof id);
    if (status != DB_OK)
        return status;
    int64_t last = (out->sealed_ms - out->created_ms) / 86400000 + 1;
    out->erased_days = (now_ms - out->created_ms) / 86400000 - out->retention_days;
    if (out->sealed_ms > 0 && out->erased_days > last)
        out->erased_days = last;
    return DB_OK;
}

enum db_status datasets_note_days(struct db *db, const struct dataset_row *dataset)
{
    return db_change(db, "UPDATE datasets SET erased_days = $2 WHERE id = $1 AND erased_days < $2",
                     DB_VALUES(db_text(dataset->id), db_integer(dataset->erased_days)));
}

enum db_status datasets_set_account(struct db *db, const char *id, const char *account)
{
    assert(db_in_transaction(db));
    struct dataset_row row;
    unsigned char digest[DIGEST_SIZE];
    enum db_status status = datasets_find(db, id, &row);
    if (status != DB_OK)
        return status;
    snprintf(row.account, sizeof row.account, "%s", account);
    table_digest(db, &datasets_table, &row, digest);
    status =
        db_change(db, "UPDATE datasets SET account = $2, digest = $3 WHERE id = $1",
                  DB_VALUES(db_text(id), db_text(row.account), db_bytes(digest, sizeof digest)));
    if (status != DB_OK)
        return status;
    return teachers_set_payer(db, id, account);
}

/* ---- changes of state */

struct state_work {
    const char *id;
    int64_t now_ms;
    enum dataset_verdict *verdict;
};

static enum db_status seal_dataset(struct db *db, void *context)
{
    const struct state_work *work = context;
    struct dataset_row dataset;
    enum db_status status = db_change(db,
                                      "UPDATE datasets SET state = 'sealed', sealed_ms = $2 "
                                      "WHERE id = $1 AND state = 'open'",
                                      DB_VALUES(db_text(work->id), db_integer(work->now_ms)));
    *work->verdict = DATASET_OK;
    if (status != DB_NONE)
        return status;
    return datasets_find_open(db, work->id, &dataset, work->verdict);
}

enum db_status datasets_seal(struct db *db, const char *id, int64_t now_ms,
                             enum dataset_verdict *out_verdict)
{
    return db_transact(db, seal_dataset, &(struct state_work){id, now_ms, out_verdict});
}

struct mark datasets_mark(const char *id)
{
    struct mark mark = {.entries = 0};
    marks_name("uncovered", id, "", mark.name);
    return mark;
}

enum db_status datasets_uncover(struct db *db, const char *id)
{
    marks_note(db, datasets_mark(id).name, &(struct marks_change){.entries = 0});
    return db_change(db, "UPDATE datasets SET uncovered = 1 WHERE id = $1", DB_VALUES(db_text(id)));
}

enum db_status datasets_is_deleted(struct db *db, const char *id, bool *out)
{
    enum db_status status =
        db_one(db, "SELECT 1 FROM datasets WHERE id = $1 AND state <> 'deleted'",
               DB_VALUES(db_text(id)), listing_ignore, NULL);
    *out = status == DB_NONE;
    return db_optional(status);
}

enum db_status datasets_next_private(struct db *db, bool uncovered, const char *after,
                                     char out[ID_SIZE])
{
    return db_one(db,
                  "SELECT id FROM datasets WHERE is_public = 0 AND uncovered = $1 AND id > $2 "
                  "ORDER BY id LIMIT 1",
                  DB_VALUES(db_integer(uncovered), db_text(after)), listing_id, out);
}

enum db_status datasets_find_name(struct db *db, const char *owner, const char *name,
                                  char out[ID_SIZE])
{
    return db_one(db,
                  "SELECT d.id FROM datasets AS d WHERE d.owner = $1 AND d.name = $2 AND "
                  "(d.state <> 'deleted' OR EXISTS (SELECT 1 FROM ledger_accounts AS a WHERE "
                  "a.kind = 'dataset' AND a.resource = d.id AND (a.spent_units > 0 OR "
                  "a.spent_delta > 0 OR a.held_units > 0 OR a.held_delta > 0))) "
                  "ORDER BY d.state = 'deleted', d.id LIMIT 1",
                  DB_VALUES(db_text(owner), db_text(name)), listing_id, out);
}

enum db_status datasets_next_deleted(struct db *db, const char *after, char out[ID_SIZE])
{
    return db_one(db,
                  "SELECT id FROM datasets WHERE state = 'deleted' AND id > $1 ORDER BY id LIMIT 1",
                  DB_VALUES(db_text(after)), listing_id, out);
}

static enum db_status mark_deleted(struct db *db, void *context)
{
    const struct state_work *work = context;
    struct db_value values[] = {db_text(work->id)};
    enum db_status status =
        db_change(db, "UPDATE datasets SET state = 'deleted' WHERE id = $1 AND state <> 'deleted'",
                  values, 1);
    *work->verdict = status == DB_NONE ? DATASET_UNKNOWN : DATASET_OK;
    if (status != DB_OK)
        return db_optional(status);
    static const char *const removals[] = {"DELETE FROM expert_policies WHERE dataset = $1",
                                           "DELETE FROM experts WHERE dataset = $1",
                                           "DELETE FROM dataset_descriptions WHERE dataset = $1"};
    for (size_t i = 0; status == DB_OK && i < sizeof removals / sizeof *removals; i++)
        status = db_run(db, removals[i], values, 1, NULL, NULL);
    return status;
}

enum db_status datasets_delete(struct db *db, const char *id, enum dataset_verdict *out_verdict)
{
    return db_transact(db, mark_deleted, &(struct state_work){id, 0, out_verdict});
}
