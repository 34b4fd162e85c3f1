/* One row for each teacher and policy that ended. */
#include "storage/endings.h"

#include "storage/digests.h"

static const struct column ending_columns[] = {
    COLUMN(ending, resource, TEXT),
    COLUMN(ending, client, TEXT),
    COLUMN(ending, closed_ms, INTEGER),
    COLUMN(ending, deleted_ms, INTEGER),
};

const struct table endings_table =
    TABLE_DIGESTED("endings", ending, ending_columns, TABLE_ALL(ending_columns), "digest", 1, 0);

enum db_status endings_find(struct db *db, const char *resource, struct ending *out)
{
    return table_find_known(db, &endings_table, "WHERE resource = $1", DB_VALUES(db_text(resource)),
                            out);
}

enum db_status endings_deleted(struct db *db, const char *resource, bool *out)
{
    struct ending ending = {.deleted_ms = 0};
    enum db_status status = endings_find(db, resource, &ending);
    *out = status == DB_OK && ending.deleted_ms > 0;
    return db_optional(status);
}

enum db_status endings_close(struct db *db, const struct ending *ending)
{
    return table_insert(db, &endings_table, ending, NULL, 0);
}

static enum db_status delete_ended(struct db *db, void *context)
{
    const struct ending *ending = context;
    struct ending now;
    unsigned char digest[DIGEST_SIZE];
    enum db_status status = endings_find(db, ending->resource, &now);
    if (status == DB_NONE) {
        now = *ending;
        now.closed_ms = now.deleted_ms;
        return table_insert(db, &endings_table, &now, NULL, 0);
    }
    if (status != DB_OK)
        return status;
    if (now.deleted_ms > 0)
        return DB_NONE;
    now.deleted_ms = ending->deleted_ms;
    table_digest(db, &endings_table, &now, digest);
    return db_change(db, "UPDATE endings SET deleted_ms = $2, digest = $3 WHERE resource = $1",
                     DB_VALUES(db_text(now.resource), db_integer(now.deleted_ms),
                               db_bytes(digest, sizeof digest)));
}

enum db_status endings_delete(struct db *db, const struct ending *ending)
{
    struct ending copy = *ending;
    return db_transact(db, delete_ended, &copy);
}
