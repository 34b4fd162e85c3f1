/* Datasets as declared, and their life: open, sealed, deleted. */
#include "storage/datasets.h"

#include <assert.h>
#include <string.h>

#include "storage/db/listing.h"

#define COLUMNS                                                                                    \
    "id, owner, name, environment, state_dim, action_count, max_episode_steps, discount, "         \
    "min_action_probability, is_public, nominal_experts, state, experts, trajectories, "           \
    "transitions, account, created_ms"

static const char *const state_names[] = {
    [DATASET_OPEN] = "open",
    [DATASET_SEALED] = "sealed",
    [DATASET_DELETED] = "deleted",
};

const char *dataset_state_name(enum dataset_state state)
{
    assert((unsigned)state < sizeof state_names / sizeof *state_names);
    return state_names[state];
}

static bool read_dataset(const struct db_row *row, struct dataset_row *out)
{
    const char *state = db_row_text(row, 11);
    unsigned s = 0;
    while (s <= DATASET_DELETED && strcmp(state, state_names[s]) != 0)
        s++;
    out->state_dim = (uint32_t)db_row_integer(row, 4);
    out->action_count = (uint32_t)db_row_integer(row, 5);
    out->max_episode_steps = (uint32_t)db_row_integer(row, 6);
    out->discount = db_row_real(row, 7);
    out->min_action_probability = db_row_real(row, 8);
    out->is_public = db_row_integer(row, 9) != 0;
    out->nominal_experts = db_row_integer(row, 10);
    out->state = (enum dataset_state)s;
    out->experts = db_row_integer(row, 12);
    out->trajectories = db_row_integer(row, 13);
    out->transitions = db_row_integer(row, 14);
    out->created_ms = db_row_integer(row, 16);
    return s <= DATASET_DELETED && db_row_copy(row, 0, out->id, sizeof out->id) &&
           db_row_copy(row, 1, out->owner, sizeof out->owner) &&
           db_row_copy(row, 2, out->name, sizeof out->name) &&
           db_row_copy(row, 3, out->environment, sizeof out->environment) &&
           db_row_copy(row, 15, out->account, sizeof out->account);
}

enum db_status datasets_insert(struct db *db, const struct dataset_row *d)
{
    struct db_value values[] = {
        db_text(d->id),
        db_text(d->owner),
        db_text(d->name),
        db_text(d->environment),
        db_integer(d->state_dim),
        db_integer(d->action_count),
        db_integer(d->max_episode_steps),
        db_real(d->discount),
        db_real(d->min_action_probability),
        db_integer(d->is_public),
        db_integer(d->nominal_experts),
        db_text(d->account),
        db_integer(d->created_ms),
    };
    return db_change(db,
                     "INSERT INTO datasets (" COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
                     "$9, $10, $11, 'open', 0, 0, 0, $12, $13) ON CONFLICT DO NOTHING RETURNING 1",
                     values, sizeof values / sizeof *values, listing_ignore, NULL);
}

static enum db_status see_dataset(void *context, const struct db_row *row)
{
    return read_dataset(row, context) ? DB_OK : DB_FAILED;
}

enum db_status datasets_find(struct db *db, const char *id, struct dataset_row *out)
{
    struct db_value values[] = {db_text(id)};
    return db_one(db, "SELECT " COLUMNS " FROM datasets WHERE id = $1", values, 1, see_dataset,
                  out);
}

struct dataset_list {
    dataset_fn *each;
    void *context;
};

static enum db_status show_dataset(void *context, const struct db_row *row)
{
    const struct dataset_list *list = context;
    struct dataset_row dataset;
    if (!read_dataset(row, &dataset))
        return DB_FAILED;
    return list->each(list->context, &dataset) ? DB_OK : DB_NONE;
}

enum db_status datasets_list(struct db *db, const char *owner, const char *after, unsigned limit,
                             dataset_fn *each, void *context)
{
    struct dataset_list list = {each, context};
    struct db_value values[] = {db_text(!owner ? "" : owner), db_text(!after ? "" : after),
                                db_integer(limit)};
    return listing_end(
        db_run(db,
               "SELECT " COLUMNS " FROM datasets WHERE state <> 'deleted' "
               "AND ($1 = '' OR owner = $1) AND" LISTING_PAGE("datasets", "$2", "$3"),
               values, 3, show_dataset, &list));
}

/* ---- changes of state */

struct state_work {
    const char *id;
    enum dataset_verdict verdict;
};

static enum db_status seal(struct db *db, void *context)
{
    struct state_work *work = context;
    struct dataset_row dataset;
    struct db_value values[] = {db_text(work->id)};
    enum db_status status = db_one(db,
                                   "UPDATE datasets SET state = 'sealed' "
                                   "WHERE id = $1 AND state = 'open' RETURNING 1",
                                   values, 1, listing_ignore, NULL);
    work->verdict = DATASET_OK;
    if (status != DB_NONE)
        return status;
    status = datasets_find(db, work->id, &dataset);
    bool known = status == DB_OK && dataset.state != DATASET_DELETED;
    work->verdict = known ? DATASET_NOT_OPEN : DATASET_UNKNOWN;
    return status == DB_NONE ? DB_OK : status;
}

enum db_status datasets_seal(struct db *db, const char *id, enum dataset_verdict *out_verdict)
{
    struct state_work work = {.id = id};
    enum db_status status = db_transact(db, seal, &work);
    if (status == DB_OK)
        *out_verdict = work.verdict;
    return status;
}

static enum db_status mark_deleted(struct db *db, void *context)
{
    struct state_work *work = context;
    struct db_value values[] = {db_text(work->id)};
    enum db_status status = db_one(db,
                                   "UPDATE datasets SET state = 'deleted' "
                                   "WHERE id = $1 AND state <> 'deleted' RETURNING 1",
                                   values, 1, listing_ignore, NULL);
    work->verdict = status == DB_NONE ? DATASET_UNKNOWN : DATASET_OK;
    if (status != DB_OK)
        return status == DB_NONE ? DB_OK : status;
    status = db_run(db, "DELETE FROM expert_policies WHERE dataset = $1", values, 1, NULL, NULL);
    if (status != DB_OK)
        return status;
    return db_run(db, "DELETE FROM experts WHERE dataset = $1", values, 1, NULL, NULL);
}

enum db_status datasets_delete(struct db *db, const char *id, enum dataset_verdict *out_verdict)
{
    struct state_work work = {.id = id};
    enum db_status status = db_transact(db, mark_deleted, &work);
    if (status == DB_OK)
        *out_verdict = work.verdict;
    return status;
}
