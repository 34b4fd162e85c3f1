/* Two notes in `meta`. "sealing-key" is written first, so that all servers have one root key;
 * "root-key" last: while it is missing, the work is done again from where it ended. */
#include "storage/sealing.h"

#include <string.h>

#include "storage/db/listing.h"
#include "storage/db/table.h"
#include "storage/digests.h"

static enum db_status copy_name(void *context, const struct db_row *row)
{
    return db_row_copy(row, 0, context, SEALING_NAME_SIZE) ? DB_OK : DB_FAILED;
}

enum db_status sealing_key_name(struct db *db, char out[SEALING_NAME_SIZE])
{
    return db_one(db, "SELECT value FROM meta WHERE name = 'root-key'", NULL, 0, copy_name, out);
}

struct beginning {
    const char *name;
    char *noted;
    bool *sealed;
};

static enum db_status begin_sealing(struct db *db, void *context)
{
    const struct beginning *beginning = context;
    enum db_status status = sealing_key_name(db, beginning->noted);
    *beginning->sealed = status == DB_OK;
    if (status != DB_NONE)
        return status;
    status = db_optional(db_change(
        db, "INSERT INTO meta (name, value) VALUES ('sealing-key', $1) ON CONFLICT DO NOTHING",
        DB_VALUES(db_text(beginning->name))));
    if (status != DB_OK)
        return status;
    return db_owed(db_one(db, "SELECT value FROM meta WHERE name = 'sealing-key'", NULL, 0,
                          copy_name, beginning->noted));
}

enum db_status sealing_begin(struct db *db, const char *name, char out[SEALING_NAME_SIZE],
                             bool *out_sealed)
{
    struct beginning beginning = {name, out, out_sealed};
    return db_transact(db, begin_sealing, &beginning);
}

enum db_status sealing_note_key(struct db *db, const char *name)
{
    return db_optional(db_change(
        db, "INSERT INTO meta (name, value) VALUES ('root-key', $1) ON CONFLICT DO NOTHING",
        DB_VALUES(db_text(name))));
}

/* ---- uploads */

static const struct column upload_columns[] = {
    COLUMN(sealing_upload, id, TEXT),
    COLUMN(sealing_upload, dataset, TEXT),
};

static const struct table upload_table = TABLE("uploads", sealing_upload, upload_columns, 0);

enum db_status sealing_next_upload(struct db *db, struct sealing_upload *out)
{
    return table_find(db, &upload_table,
                      "WHERE place > 0 AND length(keys) = 0 AND EXISTS (SELECT 1 FROM datasets d "
                      "WHERE d.id = uploads.dataset AND d.state <> 'deleted') ORDER BY id LIMIT 1",
                      NULL, 0, out);
}

enum db_status sealing_put_chunk(struct db *db, const char *upload, uint32_t sequence,
                                 const void *bytes, size_t size)
{
    return db_change(db, "UPDATE upload_chunks SET bytes = $3 WHERE upload = $1 AND sequence = $2",
                     DB_VALUES(db_text(upload), db_integer(sequence), db_bytes(bytes, size)));
}

/* ---- experts' networks */

static const struct column policy_columns[] = {
    COLUMN(sealing_policy, dataset, TEXT),
    COLUMN(sealing_policy, number, COUNT),
    COLUMN_BYTES_OF(sealing_policy, bytes, size),
};

static const struct table policy_table =
    TABLE_DIGESTED("expert_policies", sealing_policy, policy_columns, 0, "digest", 2, 0);

enum db_status sealing_next_policy(struct db *db, struct sealing_policy *out)
{
    struct sealing_policy after = *out;
    return table_find(db, &policy_table,
                      "WHERE (dataset, number) > ($1, $2) ORDER BY dataset, number LIMIT 1",
                      DB_VALUES(db_text(after.dataset), db_integer(after.number)), out);
}

enum db_status sealing_put_policy(struct db *db, const struct sealing_policy *policy,
                                  const void *bytes, size_t size)
{
    unsigned char digest[DIGEST_SIZE];
    struct sealing_policy row = *policy;
    row.bytes = (char *)(uintptr_t)bytes;
    row.size = size;
    table_digest(db, &expert_policies_table, &row, digest);
    return db_change(
        db, "UPDATE expert_policies SET bytes = $3, digest = $4 WHERE dataset = $1 AND number = $2",
        DB_VALUES(db_text(policy->dataset), db_integer(policy->number), db_bytes(bytes, size),
                  db_bytes(digest, sizeof digest)));
}

/* ---- experts that were erased */

static const struct column erased_columns[] = {
    COLUMN(sealing_expert, dataset, TEXT),
    COLUMN(sealing_expert, number, COUNT),
};

static const struct table erased_table = TABLE("experts", sealing_expert, erased_columns, 0);

enum db_status sealing_next_erased(struct db *db, struct sealing_expert *out)
{
    struct sealing_expert after = *out;
    return table_find(db, &erased_table,
                      "WHERE substr(name, 1, 1) = '~' AND (dataset, number) > ($1, $2) "
                      "ORDER BY dataset, number LIMIT 1",
                      DB_VALUES(db_text(after.dataset), db_integer(after.number)), out);
}
