/* Policies and their certificates. */
#include "storage/policies.h"

#include <assert.h>
#include <string.h>

#include "storage/blobs.h"
#include "storage/db/listing.h"
#include "storage/digests.h"
#include "storage/policy_names.h"

static const struct column policy_columns[] = {
    COLUMN(policy_row, id, TEXT),          COLUMN(policy_row, owner, TEXT),
    COLUMN(policy_row, name, TEXT),        COLUMN(policy_row, environment, TEXT),
    COLUMN(policy_row, dataset, TEXT),     COLUMN(policy_row, job, TEXT),
    COLUMN(policy_row, mechanism, TEXT),   COLUMN(policy_row, released, FLAG),
    COLUMN(policy_row, state_dim, COUNT),  COLUMN(policy_row, action_count, COUNT),
    COLUMN(policy_row, certificate, TEXT), COLUMN(policy_row, created_ms, INTEGER),
    COLUMN(policy_row, shards, COUNT),
};

const struct table policies_table = TABLE_DIGESTED("policies", policy_row, policy_columns,
                                                   TABLE_ALL(policy_columns), "digest", 1, 0);

static const struct column bytes_columns[] = BLOB_COLUMNS("id", "bytes");

const struct table policy_bytes_table =
    TABLE_DIGESTED("policies", blob, bytes_columns, 0, "bytes_digest", 1, 0);

static const struct column certificate_columns[] = {
    COLUMN(certificate_row, id, TEXT),      COLUMN(certificate_row, policy, TEXT),
    COLUMN(certificate_row, owner, TEXT),   COLUMN(certificate_row, created_ms, INTEGER),
    COLUMN(certificate_row, text, POINTER),
};

static const struct table certificates_table =
    TABLE("certificates", certificate_row, certificate_columns, TABLE_ALL(certificate_columns));

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
    unsigned char digest[DIGEST_SIZE];
    struct table_extra bytes[] = {{"bytes", db_bytes(work->bytes, work->size)},
                                  {"bytes_digest", db_bytes(digest, sizeof digest)}};
    struct certificate_row certificate = {.created_ms = p->created_ms,
                                          .text = (char *)(uintptr_t)work->certificate_text};
    blob_digest(db, &policy_bytes_table, p->id, work->bytes, work->size, digest);
    enum db_status status = table_insert(db, &policies_table, p, bytes, 2);
    if (status != DB_OK || p->certificate[0] == '\0')
        return status;
    memcpy(certificate.id, p->certificate, ID_SIZE);
    memcpy(certificate.policy, p->id, ID_SIZE);
    memcpy(certificate.owner, p->owner, ID_SIZE);
    return table_insert(db, &certificates_table, &certificate, NULL, 0);
}

enum db_status policies_insert(struct db *db, const struct policy_row *policy, const void *bytes,
                               size_t size, const char *certificate_text)
{
    assert(policy->certificate[0] == '\0' || certificate_text);
    struct insert_work work = {policy, bytes, size, certificate_text};
    return db_transact(db, insert_policy, &work);
}

enum db_status policies_find(struct db *db, const char *id, struct policy_row *out)
{
    return table_find_id(db, &policies_table, id, out);
}

enum db_status policies_bytes(struct db *db, const char *id, void **out_bytes, size_t *out_size)
{
    return blob_find(db, &policy_bytes_table, "WHERE id = $1", id, out_bytes, out_size);
}

enum db_status policies_have_bytes(struct db *db, const char *id, bool *out)
{
    int64_t found = 0;
    enum db_status status =
        db_run_known(db, "SELECT 1 FROM policies WHERE id = $1 AND length(bytes) > 0",
                     DB_VALUES(db_text(id)), listing_integer, &found);
    *out = found != 0;
    return status;
}

enum db_status policies_erase(struct db *db, const char *id)
{
    unsigned char digest[DIGEST_SIZE];
    blob_digest(db, &policy_bytes_table, id, "", 0, digest);
    return db_change(db, "UPDATE policies SET bytes = $3, bytes_digest = $2 WHERE id = $1",
                     DB_VALUES(db_text(id), db_bytes(digest, sizeof digest), db_bytes("", 0)));
}

static enum db_status erase_bytes(struct db *db, void *context)
{
    const char *dataset = context;
    char id[ID_SIZE] = "";
    enum db_status status = DB_OK;
    while (status == DB_OK) {
        status = db_one(db,
                        "SELECT id FROM policies WHERE dataset = $1 AND released = 0 "
                        "AND dataset <> '' AND id > $2 ORDER BY id LIMIT 1",
                        DB_VALUES(db_text(dataset), db_text(id)), listing_id, id);
        if (status == DB_OK)
            status = policies_erase(db, id);
    }
    return db_optional(status);
}

enum db_status policies_erase_secrets(struct db *db, const char *dataset)
{
    return db_transact(db, erase_bytes, (void *)(uintptr_t)dataset);
}

TABLE_SHOW(show_policy, policy_row);

enum db_status policies_list(struct db *db, const char *owner, const char *reader,
                             const char *project, const struct listing_page *page, policy_fn *each,
                             void *context)
{
    struct show_policy list = {each, context};
    return table_list(
        db, &policies_table,
        "WHERE (" OWNER_AMONG("$1") "OR id IN (SELECT policy FROM policy_grants "
                                    "WHERE client IN ($2, '" POLICY_PUBLIC
                                    "'))) AND ($3 = '' OR owner = $3) "
                                    "AND NOT EXISTS (SELECT 1 FROM endings e "
                                    "WHERE e.resource = policies.id AND e.deleted_ms > 0) "
                                    "AND" LISTING_PAGE("$4", "$5", "$6"),
        DB_VALUES(db_text(owner), db_text(reader), db_text_or_empty(project), LISTING_VALUES(page)),
        show_policy, &list);
}

enum db_status certificates_find(struct db *db, const char *certificate_or_policy,
                                 struct certificate_row *out)
{
    return table_find(db, &certificates_table, "WHERE id = $1 OR policy = $1",
                      DB_VALUES(db_text(certificate_or_policy)), out);
}
