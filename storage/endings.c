/* One row for each teacher and policy that ended. */
#include "storage/endings.h"

#include "storage/db/table.h"

static const struct column ending_columns[] = {
    COLUMN(ending, resource, TEXT),
    COLUMN(ending, client, TEXT),
    COLUMN(ending, closed_ms, INTEGER),
    COLUMN(ending, deleted_ms, INTEGER),
};

static const struct table endings_table =
    TABLE("endings", ending, ending_columns, TABLE_ALL(ending_columns));

enum db_status endings_find(struct db *db, const char *resource, struct ending *out)
{
    return table_find(db, &endings_table, "WHERE resource = $1", DB_VALUES(db_text(resource)), out);
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

enum db_status endings_delete(struct db *db, const struct ending *ending)
{
    return db_change(db,
                     "INSERT INTO endings (resource, client, closed_ms, deleted_ms) "
                     "VALUES ($1, $2, $3, $3) ON CONFLICT (resource) "
                     "DO UPDATE SET deleted_ms = excluded.deleted_ms WHERE deleted_ms = 0",
                     DB_VALUES(db_text(ending->resource), db_text(ending->client),
                               db_integer(ending->deleted_ms)));
}
