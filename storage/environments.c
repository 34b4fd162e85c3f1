/* Worlds that clients registered. */
#include "storage/environments.h"

#include "storage/db/listing.h"
#include "storage/digests.h"

/* The source is last, so that a list leaves it out, which then has no digest. */
static const struct column columns[] = {
    COLUMN(environment_row, id, TEXT),
    COLUMN(environment_row, owner, TEXT),
    COLUMN(environment_row, name, TEXT),
    COLUMN(environment_row, client, TEXT),
    COLUMN(environment_row, runner, TEXT),
    COLUMN(environment_row, source_sha256, TEXT),
    COLUMN(environment_row, created_ms, INTEGER),
    COLUMN(environment_row, description, POINTER),
    COLUMN(environment_row, source, POINTER),
};
#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

const struct table environments_table =
    TABLE_DIGESTED("environments", environment_row, columns, TABLE_ALL(columns), "digest", 1, 0);

static const struct table listed = {
    .name = "environments",
    .columns = columns,
    .count = COLUMN_COUNT - 1,
    .row_size = sizeof(struct environment_row),
};

enum db_status environments_insert(struct db *db, const struct environment_row *row)
{
    return table_insert(db, &environments_table, row, NULL, 0);
}

enum db_status environments_find(struct db *db, const char *id, struct environment_row *out)
{
    return table_find_id(db, &environments_table, id, out);
}

void environments_done(struct environment_row *row)
{
    table_done(&environments_table, row);
}

TABLE_SHOW(show_environment, environment_row);

enum db_status environments_list(struct db *db, const char *owners, environment_fn *each,
                                 void *context)
{
    struct show_environment list = {each, context};
    return table_list(db, &listed, "WHERE" OWNER_AMONG("$1") "ORDER BY created_ms, id",
                      DB_VALUES(db_text(owners)), show_environment, &list);
}

enum db_status environments_count(struct db *db, const char *client, int64_t *out)
{
    return db_owed(db_one(db, "SELECT count(*) FROM environments WHERE client = $1",
                          DB_VALUES(db_text(client)), listing_integer, out));
}

enum db_status environments_delete(struct db *db, const char *id)
{
    return db_change(db, "DELETE FROM environments WHERE id = $1", DB_VALUES(db_text(id)));
}
