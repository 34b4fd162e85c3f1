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

#define NAMES_AT_ONCE 256 /* in one statement, where statements take lists */

struct register_work {
    const struct expert_names *names;
    uint32_t *numbers; /* UINT32_MAX: not known */
    uint32_t found;    /* names that were looked for */
    struct experts_outcome *out;
};

/* Runs ONE for each name, or MANY for lists of them. $1 is the dataset, $2 the client, $3 the name,
 * then the number and the time, of which a statement takes the first COUNT. */
static enum db_status run_for_names(struct db *db, const struct register_work *work,
                                    const char *one, const char *many, unsigned count,
                                    db_row_fn *each, void *context)
{
    const struct expert_names *all = work->names;
    struct db_value names[NAMES_AT_ONCE], numbers[NAMES_AT_ONCE];
    bool lists = db_driver_of(db)->lists;
    enum db_status status = DB_OK;
    for (uint32_t from = 0, next; from < all->count && status == DB_OK; from = next) {
        for (next = from; next < all->count && next - from < (lists ? NAMES_AT_ONCE : 1); next++) {
            names[next - from] = db_text(all->names[next]);
            numbers[next - from] = db_integer(work->numbers[next]);
        }
        const struct db_value values[] = {db_text(all->dataset), db_text(all->client),
                                          lists ? db_list(names, next - from) : *names,
                                          lists ? db_list(numbers, next - from) : *numbers,
                                          db_integer(all->now_ms)};
        status = db_run(db, lists ? many : one, values, count, each, context);
    }
    return status;
}

static enum db_status see_expert_number(void *context, const struct db_row *row)
{
    struct register_work *work = context;
    int64_t number = db_row_integer(row, 0);
    work->numbers[work->found++] = number < 0 ? UINT32_MAX : (uint32_t)number;
    return DB_OK;
}

/* Each name is looked for by itself, whatever the database believes of the table's size. */
#define EXPERT_NUMBER(name)                                                                        \
    "SELECT coalesce((SELECT number FROM experts WHERE dataset = $1 AND owner = $2 AND name "      \
    "= " name "), -1)"

static enum db_status find_numbers(struct db *db, struct register_work *work)
{
    return run_for_names(db, work, EXPERT_NUMBER("$3"),
                         EXPERT_NUMBER("n.name") " FROM unnest($3) WITH ORDINALITY "
                                                 "AS n (name, place) ORDER BY n.place",
                         3, see_expert_number, work);
}

/* Adds the experts, or notes another upload of those that are known. */
#define ADD_EXPERTS "INSERT INTO experts (dataset, owner, name, number, uploaded_ms) "
#define RENEW_EXPERTS                                                                              \
    " ON CONFLICT (dataset, number) DO UPDATE SET uploaded_ms = excluded.uploaded_ms "             \
    "WHERE experts.uploaded_ms < excluded.uploaded_ms"

static enum db_status add_experts(struct db *db, const struct register_work *work)
{
    return run_for_names(db, work, ADD_EXPERTS "VALUES ($1, $2, $3, $4, $5)" RENEW_EXPERTS,
                         ADD_EXPERTS "SELECT $1, $2, n.name, n.number, $5 FROM unnest($3, $4) "
                                     "AS n (name, number)" RENEW_EXPERTS,
                         5, NULL, NULL);
}

/* Gives new experts the next numbers. Others' experts are counted only where the limit may be
 * reached: counting reads every expert. */
static enum db_status number_experts(struct db *db, struct register_work *work, int64_t experts)
{
    const struct expert_names *names = work->names;
    int64_t others = 0;
    enum db_status status = DB_OK;
    if (experts + names->count > names->max_own)
        status = db_one(db, "SELECT count(*) FROM experts WHERE dataset = $1 AND owner <> $2",
                        DB_VALUES(db_text(names->dataset), db_text(names->client)), listing_integer,
                        &others);
    work->out->first_new = experts;
    for (uint32_t i = 0; i < names->count && status == DB_OK; i++) {
        if (work->numbers[i] != UINT32_MAX)
            continue;
        if (experts >= names->max_own + others || experts >= UINT32_MAX) {
            work->out->verdict = DATASET_EXPERTS_LIMIT;
            work->out->expert = i;
            break;
        }
        work->numbers[i] = (uint32_t)experts++;
    }
    work->out->new_experts = experts - work->out->first_new;
    return status;
}

/* Writes nothing before it is known that there is room for all. */
static enum db_status register_experts(struct db *db, void *context)
{
    struct register_work *work = context;
    struct experts_outcome *out = work->out;
    struct dataset_row dataset;
    work->found = 0;
    *out = (struct experts_outcome){.verdict = DATASET_UNKNOWN};
    enum db_status status = datasets_find_open(db, work->names->dataset, &dataset, &out->verdict);
    if (status != DB_OK || out->verdict != DATASET_OK)
        return status;
    if ((status = find_numbers(db, work)) != DB_OK ||
        (status = number_experts(db, work, dataset.experts)) != DB_OK || out->verdict != DATASET_OK)
        return status;
    if (out->new_experts > 0) /* whose numbers nobody has, if the count is right */
        status = db_change(
            db,
            "UPDATE datasets SET experts = experts + $3 WHERE id = $1 AND experts = $2 AND NOT "
            "EXISTS (SELECT 1 FROM experts WHERE dataset = $1 AND number >= $2)",
            DB_VALUES(db_text(dataset.id), db_integer(out->first_new),
                      db_integer(out->new_experts)));
    if (status != DB_OK)
        return db_owed(status);
    return add_experts(db, work);
}

enum db_status datasets_register_experts(struct db *db, const struct expert_names *names,
                                         uint32_t *out_numbers, struct experts_outcome *out)
{
    struct register_work work = {.names = names, .numbers = out_numbers, .out = out};
    for (uint32_t i = 0; i < names->count; i++) {
        assert(strlen(names->names[i]) < DATASET_EXPERT_SIZE);
        out_numbers[i] = UINT32_MAX;
    }
    return db_transact(db, register_experts, &work);
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
        "d.created_ms + (($2 - d.created_ms) / 86400000 - d.retention_days) * 86400000 AND "
        "(e.uploaded_ms < d.created_ms + d.erased_days * 86400000 OR (d.sealed_ms > 0 AND "
        "d.erased_days > (d.sealed_ms - d.created_ms) / 86400000))) "
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
