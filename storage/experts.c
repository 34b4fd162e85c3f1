/* Experts of a dataset, who owns them, and their policies.
 *
 * DESIGN. An expert is a name of one client: another client's expert of the same name is another
 * expert. Were names shared, a client could learn from a refusal whom the dataset holds. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "storage/datasets.h"
#include "storage/db/listing.h"
#include "storage/digests.h"

/* ---- registering */

struct register_work {
    const char *dataset, *name, *client;
    int64_t max_experts, now_ms;
    uint32_t *number;
    enum dataset_verdict *verdict;
};

/* Adds an expert. Its number is the dataset's count of experts so far. */
static enum db_status add_expert(struct db *db, const struct register_work *work,
                                 const struct dataset_row *dataset)
{
    if (dataset->experts >= work->max_experts || dataset->experts >= UINT32_MAX) {
        *work->verdict = DATASET_EXPERTS_LIMIT;
        return DB_OK;
    }
    struct db_value values[] = {db_text(work->dataset), db_integer(dataset->experts),
                                db_text(work->name), db_text(work->client),
                                db_integer(work->now_ms)};
    enum db_status status = db_run(db,
                                   "INSERT INTO experts (dataset, number, name, owner, uploaded_ms)"
                                   " VALUES ($1, $2, $3, $4, $5)",
                                   values, 5, NULL, NULL);
    if (status != DB_OK)
        return status;
    status = db_change(
        db, "UPDATE datasets SET experts = experts + 1 WHERE id = $1 AND experts = $2", values, 2);
    *work->number = (uint32_t)dataset->experts;
    return status == DB_NONE ? DB_RETRY : status;
}

/* Notes another upload of an expert. */
static enum db_status renew_expert(struct db *db, const struct register_work *work)
{
    return db_run(
        db,
        "UPDATE experts SET uploaded_ms = $3 WHERE dataset = $1 AND number = $2 AND "
        "uploaded_ms < $3",
        DB_VALUES(db_text(work->dataset), db_integer(*work->number), db_integer(work->now_ms)),
        NULL, NULL);
}

static enum db_status register_expert(struct db *db, void *context)
{
    const struct register_work *work = context;
    struct dataset_row dataset;
    int64_t number = 0;
    enum db_status status = datasets_find_open(db, work->dataset, &dataset, work->verdict);
    if (status != DB_OK || *work->verdict != DATASET_OK)
        return status;
    status =
        db_one(db, "SELECT number FROM experts WHERE dataset = $1 AND owner = $2 AND name = $3",
               DB_VALUES(db_text(work->dataset), db_text(work->client), db_text(work->name)),
               listing_integer, &number);
    *work->number = (uint32_t)number;
    if (status == DB_OK)
        return renew_expert(db, work);
    return status == DB_NONE ? add_expert(db, work, &dataset) : status;
}

enum db_status datasets_register_expert(struct db *db, const char *dataset, const char *name,
                                        const char *client, int64_t max_experts, int64_t now_ms,
                                        uint32_t *out_number, enum dataset_verdict *out_verdict)
{
    assert(strlen(name) < DATASET_EXPERT_SIZE && strlen(client) < ID_SIZE);
    struct register_work work = {dataset, name,       client,     max_experts,
                                 now_ms,  out_number, out_verdict};
    return db_transact(db, register_expert, &work);
}

/* Counts only where the limit may be reached: counting reads every expert. */
enum db_status datasets_experts_most(struct db *db, const char *dataset, const char *client,
                                     int64_t max_own, int64_t more, int64_t *out_most)
{
    *out_most = max_own;
    enum db_status status =
        db_one(db,
               "SELECT CASE WHEN experts + $4 <= $3 THEN $3 ELSE $3 + (SELECT count(*) "
               "FROM experts WHERE dataset = $1 AND owner <> $2) END FROM datasets WHERE id = $1",
               DB_VALUES(db_text(dataset), db_text(client), db_integer(max_own), db_integer(more)),
               listing_integer, out_most);
    return db_optional(status);
}

/* ---- lists */

static const struct column expert_columns[] = {
    COLUMN(expert_row, dataset, TEXT),
    COLUMN(expert_row, number, COUNT),
    COLUMN(expert_row, name, TEXT),
    COLUMN(expert_row, owner, TEXT),
    {"EXISTS (SELECT 1 FROM expert_policies p "
     "WHERE p.dataset = experts.dataset AND p.number = experts.number)",
     COLUMN_FLAG, offsetof(struct expert_row, has_policy), 0, NULL},
};

static const struct table experts_table = TABLE("experts", expert_row, expert_columns, 0);

TABLE_SHOW(show_expert, expert_row);

/* Names alone, of many. */
static const struct column expert_name_columns[] = {COLUMN(expert_row, name, TEXT)};
static const struct table expert_names_table = TABLE("experts", expert_row, expert_name_columns, 0);

enum db_status datasets_experts(struct db *db, const char *dataset, uint32_t from, unsigned limit,
                                expert_fn *each, void *context)
{
    struct show_expert list = {each, context};
    return table_list(
        db, &experts_table, "WHERE dataset = $1 AND number >= $2 ORDER BY number LIMIT $3",
        DB_VALUES(db_text(dataset), db_integer(from), db_integer(limit)), show_expert, &list);
}

enum db_status datasets_experts_named(struct db *db, const char *dataset, const char *client,
                                      const char *name, expert_fn *each, void *context)
{
    struct show_expert list = {each, context};
    return table_list(
        db, &experts_table,
        "WHERE dataset = $1 AND ($2 = '' OR owner = $2) AND name = $3 ORDER BY number",
        DB_VALUES(db_text(dataset), db_text_or_empty(client), db_text(name)), show_expert, &list);
}

/* ---- erasing */

struct erase_work {
    const char *dataset;
    uint32_t number;
    const char *name;
};

static enum db_status erase_expert(struct db *db, void *context)
{
    const struct erase_work *work = context;
    struct db_value values[] = {db_text(work->dataset), db_integer(work->number),
                                db_text(work->name)};
    enum db_status status =
        db_change(db,
                  "UPDATE experts SET name = $3, stored_bytes = 0, uploaded_ms = 0 "
                  "WHERE dataset = $1 AND number = $2",
                  values, 3);
    if (status != DB_OK)
        return status;
    return db_run(db, "DELETE FROM expert_policies WHERE dataset = $1 AND number = $2", values, 2,
                  NULL, NULL);
}

enum db_status datasets_erase_expert(struct db *db, const char *dataset, uint32_t number,
                                     const char *name)
{
    assert(strlen(name) < DATASET_EXPERT_SIZE);
    return db_transact(db, erase_expert, &(struct erase_work){dataset, number, name});
}

enum db_status datasets_next_due(struct db *db, const char *after, int64_t now_ms,
                                 struct expert_row *out)
{
    return table_find(
        db, &experts_table,
        "WHERE uploaded_ms > 0 AND dataset = (SELECT d.id FROM datasets AS d "
        "WHERE d.retention_days > 0 AND d.state <> 'deleted' AND d.id > $1 AND EXISTS (SELECT 1 "
        "FROM experts AS e WHERE e.dataset = d.id AND e.uploaded_ms > 0 AND e.uploaded_ms < "
        "d.created_ms + (($2 - d.created_ms) / 86400000 - d.retention_days) * 86400000) "
        "ORDER BY d.id LIMIT 1) ORDER BY uploaded_ms LIMIT 1",
        DB_VALUES(db_text(after), db_integer(now_ms)), out);
}

enum db_status datasets_find_erased(struct db *db, const char *dataset, const char *client,
                                    const char *prefix, struct expert_row *out)
{
    return table_find(db, &experts_table,
                      "WHERE dataset = $1 AND ($2 = '' OR owner = $2) AND substr(name, 1, $4) = $3 "
                      "ORDER BY number DESC LIMIT 1",
                      DB_VALUES(db_text(dataset), db_text_or_empty(client), db_text(prefix),
                                db_integer((int64_t)strlen(prefix))),
                      out);
}

enum db_status datasets_experts_erased(struct db *db, const char *dataset, const char *client,
                                       expert_fn *each, void *context)
{
    struct show_expert list = {each, context};
    return table_list(db, &expert_names_table,
                      "WHERE dataset = $1 AND ($2 = '' OR owner = $2) AND substr(name, 1, 1) = '~'",
                      DB_VALUES(db_text(dataset), db_text_or_empty(client)), show_expert, &list);
}

/* ---- policies */

/* A policy and a copy of its bytes: a row's own bytes may be unaligned, and end with the
 * statement. */
struct expert_bytes {
    char dataset[ID_SIZE];
    uint32_t number;
    char *bytes;
    size_t size;
};

static const struct column expert_bytes_columns[] = {
    COLUMN(expert_bytes, dataset, TEXT),
    COLUMN(expert_bytes, number, COUNT),
    COLUMN_BYTES_OF(expert_bytes, bytes, size),
};

const struct table expert_policies_table =
    TABLE_DIGESTED("expert_policies", expert_bytes, expert_bytes_columns, 0, "digest", 2, 0);

static enum db_status put_policy(struct db *db, void *context)
{
    const struct expert_policy *p = context;
    struct expert_bytes row = {
        .number = p->number, .bytes = (char *)(uintptr_t)p->bytes, .size = p->size};
    unsigned char digest[DIGEST_SIZE];
    memcpy(row.dataset, p->dataset, strlen(p->dataset));
    table_digest(db, &expert_policies_table, &row, digest);
    enum db_status status = db_owed(db_change(
        db, "UPDATE experts SET stored_bytes = $3 WHERE dataset = $1 AND number = $2",
        DB_VALUES(db_text(p->dataset), db_integer(row.number), db_integer((int64_t)p->size))));
    if (status != DB_OK)
        return status;
    return db_run(db,
                  "INSERT INTO expert_policies (dataset, number, bytes, stored_ms, digest) "
                  "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (dataset, number) "
                  "DO UPDATE SET bytes = excluded.bytes, stored_ms = excluded.stored_ms, "
                  "digest = excluded.digest",
                  DB_VALUES(db_text(p->dataset), db_integer(row.number),
                            db_bytes(p->bytes, p->size), db_integer(p->now_ms),
                            db_bytes(digest, sizeof digest)),
                  NULL, NULL);
}

enum db_status datasets_put_policy(struct db *db, const struct expert_policy *policy)
{
    return db_transact(db, put_policy, (void *)(uintptr_t)policy);
}

enum db_status datasets_policies_size(struct db *db, const char *dataset, int64_t *out_count,
                                      int64_t *out_bytes)
{
    int64_t sizes[2] = {0};
    enum db_status status = db_one(db,
                                   "SELECT count(*), coalesce(sum(length(bytes)), 0) "
                                   "FROM expert_policies WHERE dataset = $1",
                                   DB_VALUES(db_text(dataset)), listing_integers, sizes);
    *out_count = sizes[0];
    *out_bytes = sizes[1];
    return status;
}

/* Runs one statement for each policy, so that EACH may write (a heartbeat) while no snapshot is
 * open. */
enum db_status datasets_policies(struct db *db, const char *dataset, expert_policy_fn *each,
                                 void *context)
{
    bool more = true;
    int64_t from = 0;
    enum db_status status = DB_OK;
    while (more && status == DB_OK) {
        struct expert_bytes policy = {0};
        status = table_find(db, &expert_policies_table,
                            "WHERE dataset = $1 AND number >= $2 ORDER BY number LIMIT 1",
                            DB_VALUES(db_text(dataset), db_integer(from)), &policy);
        if (status == DB_OK) {
            more = each(context, policy.number, policy.bytes, policy.size);
            from = (int64_t)policy.number + 1;
        }
        free(policy.bytes);
    }
    return db_optional(status);
}
