/* Migrations: one table holds the versions that were applied. */
#include "storage/db/migrate.h"

#include <stdio.h>
#include <string.h>

struct migration {
    int version; /* that the database has */
    int target;
};

static enum db_status see_version(void *context, const struct db_row *row)
{
    ((struct migration *)context)->version = (int)db_row_integer(row, 0);
    return DB_OK;
}

int migrate_version(const struct db_driver *driver)
{
    int version = 0;
    while (driver->migrations[version])
        version++;
    return version;
}

static enum db_status read_version(struct db *db, struct migration *m)
{
    static const char create[] =
        "CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT NOT NULL PRIMARY KEY)";
    enum db_status status = db_run(db, create, NULL, 0, NULL, NULL);
    if (status != DB_OK)
        return status;
    return db_one(db, "SELECT coalesce(max(version), 0) FROM schema_versions", NULL, 0, see_version,
                  m);
}

/* Reads the version again under the writer's lock: another process may have been here. Gives
 * DB_NONE (nothing kept) when there is nothing to do. */
static enum db_status apply_next(struct db *db, void *context)
{
    struct migration *m = context;
    enum db_status status = read_version(db, m);
    if (status != DB_OK)
        return status;
    if (m->version >= m->target)
        return DB_NONE;
    const char *const *statements = db_driver_of(db)->migrations[m->version];
    for (; *statements; statements++)
        if ((status = db_run(db, *statements, NULL, 0, NULL, NULL)) != DB_OK)
            return status;
    struct db_value next[] = {db_integer(m->version + 1)};
    return db_run(db, "INSERT INTO schema_versions (version) VALUES ($1)", next, 1, NULL, NULL);
}

enum db_status migrate(struct db *db, char error[DB_ERROR_SIZE])
{
    struct migration m = {.target = migrate_version(db_driver_of(db))};
    enum db_status status = DB_OK;
    error[0] = '\0';
    while (status == DB_OK)
        status = db_transact(db, apply_next, &m);
    if (status != DB_NONE) {
        snprintf(error, DB_ERROR_SIZE, "the schema could not be set up: %.200s", db_last_error(db));
        return status;
    }
    if (m.version > m.target) {
        snprintf(error, DB_ERROR_SIZE,
                 "the database has schema version %d, newer than this program's %d; "
                 "it was left as it is",
                 m.version, m.target);
        return DB_FAILED;
    }
    return DB_OK;
}
