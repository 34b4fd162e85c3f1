/* Migrations: one table holds the versions that were applied. */
#include "storage/db/migrate.h"

#include <stdio.h>
#include <stdlib.h>

#include "storage/db/listing.h"

struct migration {
    int64_t version; /* migrations that the database has */
    int64_t target;
    const struct migrate_step *steps;
    unsigned count;
    bool begun; /* the first version is at hand */
    char *error;
};

static enum db_status read_version(struct db *db, struct migration *m)
{
    static const char create[] =
        "CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT NOT NULL PRIMARY KEY)";
    enum db_status status = db_run(db, create, NULL, 0, NULL, NULL);
    if (status != DB_OK)
        return status;
    return db_one(db, "SELECT coalesce(max(version), 0) FROM schema_versions", NULL, 0,
                  listing_integer, &m->version);
}

static enum db_status run_steps(struct db *db, const struct migration *m, int64_t version)
{
    enum db_status status = DB_OK;
    for (unsigned i = 0; i < m->count && status == DB_OK; i++)
        if (m->steps[i].version == version)
            status = m->steps[i].work(db, m->error);
    return db_owed(status);
}

static enum db_status run_statements(struct db *db, const char *const *statements)
{
    const struct db_schema *schema = db_driver_of(db)->schema;
    enum db_status status = DB_OK;
    for (; *statements && status == DB_OK; statements++) {
        char *own = schema->translate ? schema->translate(*statements) : NULL;
        status = db_run(db, own ? own : *statements, NULL, 0, NULL, NULL);
        free(own);
    }
    return db_owed(status);
}

/* Makes the tables of an empty database, or takes the next step of another one. Reads the version
 * again under the writer's lock, because another process may have migrated. DB_NONE: there is
 * nothing to do, and nothing was kept. */
static enum db_status apply_next(struct db *db, void *context)
{
    struct migration *m = context;
    const struct db_schema *schema = db_driver_of(db)->schema;
    enum db_status status = read_version(db, m);
    if (status != DB_OK)
        return status;
    bool is_empty = m->version == 0;
    if (m->version >= m->target || (!is_empty && m->version < schema->oldest))
        return DB_NONE;
    if (!is_empty && db_alone(db) != DB_OK) {
        snprintf(m->error, DB_ERROR_SIZE,
                 "the database has schema version %d and would be brought to %d, but other tacet "
                 "processes work on it: stop them first",
                 (int)m->version, (int)m->target);
        return DB_FAILED;
    }
    int64_t next = is_empty ? m->target : m->version + 1;
    if (!is_empty && !m->begun)
        status = run_steps(db, m, 0);
    if (status != DB_OK)
        return status;
    m->begun = true;
    if (is_empty && schema->before)
        status = run_statements(db, schema->before);
    if (status != DB_OK)
        return status;
    status =
        run_statements(db, is_empty ? schema->tables : schema->steps[m->version - schema->oldest]);
    if (status == DB_OK && !is_empty)
        status = run_steps(db, m, next);
    if (status != DB_OK)
        return status;
    return db_run(db, "INSERT INTO schema_versions (version) VALUES ($1)",
                  DB_VALUES(db_integer(next)), NULL, NULL);
}

int64_t migrate_newest(const struct db_schema *schema)
{
    int64_t version = schema->oldest;
    while (schema->steps[version - schema->oldest])
        version++;
    return version;
}

enum db_status migrate_look(struct db *db, int64_t *out_version, int64_t *out_target)
{
    *out_target = migrate_newest(db_driver_of(db)->schema);
    return db_one(db, "SELECT coalesce(max(version), 0) FROM schema_versions", NULL, 0,
                  listing_integer, out_version);
}

enum db_status migrate(struct db *db, const struct migrate_step *steps, unsigned count,
                       char error[DB_ERROR_SIZE])
{
    const struct db_schema *schema = db_driver_of(db)->schema;
    struct migration m = {
        .target = migrate_newest(schema), .steps = steps, .count = count, .error = error};
    enum db_status status = DB_OK;
    error[0] = '\0';
    while (status == DB_OK)
        status = db_transact(db, apply_next, &m);
    if (status != DB_NONE) {
        if (error[0] == '\0')
            snprintf(error, DB_ERROR_SIZE, "the schema could not be set up: %.200s",
                     db_last_error(db));
        return status;
    }
    if (m.version == m.target)
        return DB_OK;
    snprintf(error, DB_ERROR_SIZE,
             "the database has schema version %d, and this program reads versions %d to %d; "
             "it was left as it is",
             (int)m.version, (int)schema->oldest, (int)m.target);
    return DB_FAILED;
}
