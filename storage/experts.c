/* Experts of a dataset, who owns them, and their policies.
 *
 * DESIGN. An expert is a name of one client: another client's expert of the same name is another
 * expert. Were names shared, a client could learn from a refusal whom the dataset holds. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "storage/datasets.h"
#include "storage/db/listing.h"

/* ---- registering */

struct register_work {
    const char *dataset, *name, *client;
    int64_t max_experts;
    uint32_t number;
    enum dataset_verdict verdict;
};

static enum db_status see_number(void *context, const struct db_row *row)
{
    *(uint32_t *)context = (uint32_t)db_row_integer(row, 0);
    return DB_OK;
}

/* Takes the next number of the dataset: its count of experts. */
static enum db_status add_expert(struct db *db, struct register_work *work,
                                 const struct dataset_row *dataset)
{
    if (dataset->experts >= work->max_experts || dataset->experts >= UINT32_MAX) {
        work->verdict = DATASET_EXPERTS_LIMIT;
        return DB_OK;
    }
    struct db_value values[] = {db_text(work->dataset), db_integer(dataset->experts),
                                db_text(work->name), db_text(work->client)};
    enum db_status status = db_run(db,
                                   "INSERT INTO experts (dataset, number, name, owner) "
                                   "VALUES ($1, $2, $3, $4)",
                                   values, 4, NULL, NULL);
    if (status != DB_OK)
        return status;
    status = db_one(db,
                    "UPDATE datasets SET experts = experts + 1 WHERE id = $1 AND experts = $2 "
                    "RETURNING 1",
                    values, 2, listing_ignore, NULL);
    work->number = (uint32_t)dataset->experts;
    work->verdict = DATASET_OK;
    return status == DB_NONE ? DB_RETRY : status;
}

static enum db_status register_expert(struct db *db, void *context)
{
    struct register_work *work = context;
    struct dataset_row dataset;
    enum db_status status = datasets_find(db, work->dataset, &dataset);
    if (status != DB_OK || dataset.state != DATASET_OPEN) {
        bool sealed = status == DB_OK && dataset.state == DATASET_SEALED;
        work->verdict = sealed ? DATASET_NOT_OPEN : DATASET_UNKNOWN;
        return status == DB_NONE ? DB_OK : status;
    }
    struct db_value values[] = {db_text(work->dataset), db_text(work->client), db_text(work->name)};
    status =
        db_one(db, "SELECT number FROM experts WHERE dataset = $1 AND owner = $2 AND name = $3",
               values, 3, see_number, &work->number);
    work->verdict = DATASET_OK;
    return status == DB_NONE ? add_expert(db, work, &dataset) : status;
}

enum db_status datasets_register_expert(struct db *db, const char *dataset, const char *name,
                                        const char *client, int64_t max_experts,
                                        uint32_t *out_number, enum dataset_verdict *out_verdict)
{
    assert(strlen(name) < DATASET_EXPERT_SIZE && strlen(client) < ID_SIZE);
    struct register_work work = {dataset, name, client, max_experts, 0, DATASET_OK};
    enum db_status status = db_transact(db, register_expert, &work);
    if (status == DB_OK) {
        *out_number = work.number;
        *out_verdict = work.verdict;
    }
    return status;
}

/* ---- lists */

struct expert_list {
    expert_fn *each;
    void *context;
};

static enum db_status show_expert(void *context, const struct db_row *row)
{
    const struct expert_list *list = context;
    struct expert_row expert = {.number = (uint32_t)db_row_integer(row, 0),
                                .has_policy = db_row_integer(row, 3) != 0};
    if (!db_row_copy(row, 1, expert.name, sizeof expert.name) ||
        !db_row_copy(row, 2, expert.owner, sizeof expert.owner))
        return DB_FAILED;
    return list->each(list->context, &expert) ? DB_OK : DB_NONE;
}

enum db_status datasets_experts(struct db *db, const char *dataset, uint32_t from, unsigned limit,
                                expert_fn *each, void *context)
{
    struct expert_list list = {each, context};
    struct db_value values[] = {db_text(dataset), db_integer(from), db_integer(limit)};
    return listing_end(
        db_run(db,
               "SELECT number, name, owner, CASE WHEN EXISTS (SELECT 1 FROM expert_policies p "
               "WHERE p.dataset = e.dataset AND p.number = e.number) THEN 1 ELSE 0 END "
               "FROM experts e WHERE dataset = $1 AND number >= $2 ORDER BY number LIMIT $3",
               values, 3, show_expert, &list));
}

/* ---- policies */

struct put_work {
    const struct expert_policy *policy;
    enum dataset_verdict verdict;
};

static enum db_status put_policy(struct db *db, void *context)
{
    struct put_work *work = context;
    const struct expert_policy *p = work->policy;
    uint32_t number = 0;
    enum db_status status = datasets_register_expert(db, p->dataset, p->expert, p->client,
                                                     p->max_experts, &number, &work->verdict);
    if (status != DB_OK || work->verdict != DATASET_OK)
        return status;
    struct db_value values[] = {db_text(p->dataset), db_integer(number),
                                db_bytes(p->bytes, p->size), db_integer(p->now_ms)};
    return db_run(db,
                  "INSERT INTO expert_policies (dataset, number, bytes, stored_ms) "
                  "VALUES ($1, $2, $3, $4) ON CONFLICT (dataset, number) "
                  "DO UPDATE SET bytes = excluded.bytes, stored_ms = excluded.stored_ms",
                  values, 4, NULL, NULL);
}

enum db_status datasets_put_policy(struct db *db, const struct expert_policy *policy,
                                   enum dataset_verdict *out_verdict)
{
    struct put_work work = {.policy = policy};
    enum db_status status = db_transact(db, put_policy, &work);
    if (status == DB_OK)
        *out_verdict = work.verdict;
    return status;
}

enum db_status datasets_get_policy(struct db *db, const char *dataset, uint32_t number,
                                   void **out_bytes, size_t *out_size)
{
    struct listing_bytes copy = {0};
    struct db_value values[] = {db_text(dataset), db_integer(number)};
    enum db_status status =
        db_one(db, "SELECT bytes FROM expert_policies WHERE dataset = $1 AND number = $2", values,
               2, listing_copy_bytes, &copy);
    if (status != DB_OK) {
        free(copy.bytes);
        return status;
    }
    *out_bytes = copy.bytes;
    *out_size = copy.size;
    return DB_OK;
}

/* One row, copied: a row's own bytes may start anywhere, and end with the statement. */
struct policy_row {
    uint32_t number;
    char *bytes;
    size_t size;
};

static enum db_status keep_policy(void *context, const struct db_row *row)
{
    struct policy_row *kept = context;
    const void *bytes = db_row_bytes(row, 1, &kept->size);
    kept->number = (uint32_t)db_row_integer(row, 0);
    kept->bytes = listing_duplicate(bytes, kept->size);
    return kept->bytes ? DB_OK : DB_FAILED;
}

/* A statement for each, so that EACH may write (a heartbeat) without a snapshot being open. */
struct policies_size {
    int64_t *count, *bytes;
};

static enum db_status see_size(void *context, const struct db_row *row)
{
    const struct policies_size *size = context;
    *size->count = db_row_integer(row, 0);
    *size->bytes = db_row_integer(row, 1);
    return DB_OK;
}

enum db_status datasets_policies_size(struct db *db, const char *dataset, int64_t *out_count,
                                      int64_t *out_bytes)
{
    struct policies_size size = {out_count, out_bytes};
    struct db_value values[] = {db_text(dataset)};
    return db_one(db,
                  "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM expert_policies "
                  "WHERE dataset = $1",
                  values, 1, see_size, &size);
}

enum db_status datasets_policies(struct db *db, const char *dataset, expert_policy_fn *each,
                                 void *context)
{
    bool more = true;
    int64_t from = 0;
    enum db_status status = DB_OK;
    while (more && status == DB_OK) {
        struct policy_row row = {0};
        struct db_value values[] = {db_text(dataset), db_integer(from)};
        status = db_one(db,
                        "SELECT number, bytes FROM expert_policies WHERE dataset = $1 "
                        "AND number >= $2 ORDER BY number LIMIT 1",
                        values, 2, keep_policy, &row);
        if (status == DB_OK) {
            more = each(context, row.number, row.bytes, row.size);
            from = (int64_t)row.number + 1;
        }
        free(row.bytes);
    }
    return listing_end(status);
}
