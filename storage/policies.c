/* Policies and their certificates. */
#include "storage/policies.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"

#define COLUMNS                                                                                    \
    "id, owner, name, environment, dataset, job, mechanism, released, state_dim, action_count, "   \
    "certificate, created_ms, shards"

static bool read_policy(const struct db_row *row, struct policy_row *out)
{
    out->released = db_row_integer(row, 7) != 0;
    out->state_dim = (uint32_t)db_row_integer(row, 8);
    out->action_count = (uint32_t)db_row_integer(row, 9);
    out->created_ms = db_row_integer(row, 11);
    out->shards = (uint32_t)db_row_integer(row, 12);
    return db_row_copy(row, 0, out->id, sizeof out->id) &&
           db_row_copy(row, 1, out->owner, sizeof out->owner) &&
           db_row_copy(row, 2, out->name, sizeof out->name) &&
           db_row_copy(row, 3, out->environment, sizeof out->environment) &&
           db_row_copy(row, 4, out->dataset, sizeof out->dataset) &&
           db_row_copy(row, 5, out->job, sizeof out->job) &&
           db_row_copy(row, 6, out->mechanism, sizeof out->mechanism) &&
           db_row_copy(row, 10, out->certificate, sizeof out->certificate);
}

struct insert_work {
    const struct policy_row *policy;
    const void *bytes;
    size_t size;
    const char *certificate_text;
};

static enum db_status insert_policy(struct db *db, void *context)
{
    const struct insert_work *work = context;
    const struct policy_row *p = work->policy;
    struct db_value values[] = {
        db_text(p->id),           db_text(p->owner),
        db_text(p->name),         db_text(p->environment),
        db_text(p->dataset),      db_text(p->job),
        db_text(p->mechanism),    db_integer(p->released),
        db_integer(p->state_dim), db_integer(p->action_count),
        db_text(p->certificate),  db_integer(p->created_ms),
        db_integer(p->shards),    db_bytes(work->bytes, work->size),
    };
    enum db_status status = db_one(db,
                                   "INSERT INTO policies (" COLUMNS ", bytes) VALUES ($1, $2, $3, "
                                   "$4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) "
                                   "ON CONFLICT DO NOTHING RETURNING 1",
                                   values, sizeof values / sizeof *values, listing_ignore, NULL);
    if (status != DB_OK || p->certificate[0] == '\0')
        return status;
    struct db_value certificate[] = {db_text(p->certificate), db_text(p->id), db_text(p->owner),
                                     db_integer(p->created_ms), db_text(work->certificate_text)};
    return db_one(db,
                  "INSERT INTO certificates (id, policy, owner, created_ms, text) "
                  "VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING 1",
                  certificate, 5, listing_ignore, NULL);
}

enum db_status policies_insert(struct db *db, const struct policy_row *policy, const void *bytes,
                               size_t size, const char *certificate_text)
{
    assert(policy->certificate[0] == '\0' || certificate_text);
    struct insert_work work = {policy, bytes, size, certificate_text};
    return db_transact(db, insert_policy, &work);
}

static enum db_status see_policy(void *context, const struct db_row *row)
{
    return read_policy(row, context) ? DB_OK : DB_FAILED;
}

enum db_status policies_find(struct db *db, const char *id, struct policy_row *out)
{
    struct db_value values[] = {db_text(id)};
    return db_one(db, "SELECT " COLUMNS " FROM policies WHERE id = $1", values, 1, see_policy, out);
}

enum db_status policies_bytes(struct db *db, const char *id, void **out_bytes, size_t *out_size)
{
    struct listing_bytes copy = {0};
    struct db_value values[] = {db_text(id)};
    enum db_status status = db_one(db, "SELECT bytes FROM policies WHERE id = $1", values, 1,
                                   listing_copy_bytes, &copy);
    if (status != DB_OK) {
        free(copy.bytes);
        return status;
    }
    *out_bytes = copy.bytes;
    *out_size = copy.size;
    return DB_OK;
}

enum db_status policies_erase_ensembles(struct db *db, const char *dataset)
{
    struct db_value values[] = {db_text(dataset)};
    return listing_end(db_run(db,
                              "UPDATE policies SET bytes = x'' WHERE dataset = $1 AND shards > 0",
                              values, 1, NULL, NULL));
}

struct policy_list {
    policy_fn *each;
    void *context;
};

static enum db_status show_policy(void *context, const struct db_row *row)
{
    const struct policy_list *list = context;
    struct policy_row policy;
    if (!read_policy(row, &policy))
        return DB_FAILED;
    return list->each(list->context, &policy) ? DB_OK : DB_NONE;
}

enum db_status policies_list(struct db *db, const char *owner, const char *after, unsigned limit,
                             policy_fn *each, void *context)
{
    struct policy_list list = {each, context};
    struct db_value values[] = {db_text(!owner ? "" : owner), db_text(!after ? "" : after),
                                db_integer(limit)};
    return listing_end(db_run(db,
                              "SELECT " COLUMNS " FROM policies WHERE ($1 = '' OR owner = $1) "
                              "AND" LISTING_PAGE("policies", "$2", "$3"),
                              values, 3, show_policy, &list));
}

static enum db_status see_certificate(void *context, const struct db_row *row)
{
    struct certificate_row *out = context;
    const char *text = db_row_text(row, 4);
    out->created_ms = db_row_integer(row, 3);
    if (!db_row_copy(row, 0, out->id, sizeof out->id) ||
        !db_row_copy(row, 1, out->policy, sizeof out->policy) ||
        !db_row_copy(row, 2, out->owner, sizeof out->owner))
        return DB_FAILED;
    out->text = strdup(text);
    return !out->text ? DB_FAILED : DB_OK;
}

enum db_status certificates_find(struct db *db, const char *certificate_or_policy,
                                 struct certificate_row *out)
{
    struct db_value values[] = {db_text(certificate_or_policy)};
    return db_one(db,
                  "SELECT id, policy, owner, created_ms, text FROM certificates "
                  "WHERE id = $1 OR policy = $1",
                  values, 1, see_certificate, out);
}
