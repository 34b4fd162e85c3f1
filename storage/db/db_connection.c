/* Stores, their connections, and the statements that connections run. */
#include "storage/db/db_state.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/listing.h"

/* ---- stores and connections */

struct db_store *db_store_new(const struct db_driver *driver, const struct db_settings *settings)
{
    struct db_store *store = memory_new(1, sizeof *store);
    store->driver = driver;
    store->settings = *settings;
    store->location = memory_copy_text(settings->location);
    store->settings.location = store->location;
    store->settings.digest_key = NULL;
    if (settings->digest_key)
        memcpy(store->digest_key, settings->digest_key, sizeof store->digest_key);
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->turn, NULL);
    return store;
}

void db_store_free(struct db_store *store)
{
    if (!store)
        return;
    pthread_cond_destroy(&store->turn);
    pthread_mutex_destroy(&store->lock);
    free(store->location);
    sodium_memzero(store->digest_key, sizeof store->digest_key);
    free(store);
}

enum db_status db_open(struct db_store *store, struct db **out, char error[DB_ERROR_SIZE])
{
    error[0] = '\0';
    struct db *db = memory_new(1, sizeof *db);
    db->store = store;
    db->driver = store->driver;
    enum db_status status = db->driver->open(&store->settings, &db->connection, &db->fault);
    if (status != DB_OK) {
        memcpy(error, db->fault.text, DB_ERROR_SIZE);
        free(db);
        return status;
    }
    *out = db;
    return DB_OK;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    db_rollback_batch(db);
    db->driver->close(db->connection);
    for (unsigned i = 0; i < DB_SQL_TEXTS; i++)
        free(db->texts[i].text);
    free(db);
}

void db_set_guard(struct db *db, struct db_guard *guard)
{
    db->store->guard = guard;
}

struct db_guard *db_guard_of(const struct db *db)
{
    return db->store->guard;
}

void db_derive_key(const struct db *db, const char *purpose, unsigned char out[DB_KEY_SIZE])
{
    crypto_generichash(out, DB_KEY_SIZE, (const unsigned char *)purpose, strlen(purpose),
                       db->store->digest_key, DB_KEY_SIZE);
}

void db_hurry(struct db *db)
{
    if (db->driver->hurry)
        db->driver->hurry(db->connection);
}

const struct db_driver *db_driver_of(const struct db *db)
{
    return db->driver;
}

int64_t db_noted_entries(const struct db *db)
{
    return db->driver->noted_entries ? db->driver->noted_entries(db->connection) : 0;
}

enum db_status db_copy(struct db *db, const char *path)
{
    if (!db->driver->copy)
        return db_fail(db, db->driver->name, "has backups of its own");
    return db->driver->copy(db->connection, path, &db->fault);
}

enum db_status db_check(struct db *db, const char *const *but)
{
    return db->driver->check ? db->driver->check(db->connection, but, &db->fault) : DB_OK;
}

bool db_is_shared(const struct db *db)
{
    return db->driver->shared;
}

enum db_status db_alone(struct db *db)
{
    assert(db->mode == WRITING);
    if (db->lost != DB_OK)
        return db->lost;
    return !db->driver->alone || db->driver->alone(db->connection) ? DB_OK : DB_NONE;
}

static enum db_status see_clock(void *context, const struct db_row *row)
{
    *(int64_t *)context = db_row_integer(row, 0);
    return DB_OK;
}

enum db_status db_clock(struct db *db, int64_t *ms)
{
    if (!db->driver->clock)
        return DB_OK;
    return db_owed(db_one(db, db->driver->clock, NULL, 0, see_clock, ms));
}

bool db_is_unchecked(struct db *db)
{
    int64_t off = 0;
    const char *sql = db->driver->unchecked;
    return sql && db_one(db, sql, NULL, 0, listing_integer, &off) == DB_OK && off != 0;
}

const char *db_last_error(const struct db *db)
{
    return db->fault.text;
}

enum db_status db_fail(struct db *db, const char *where, const char *what)
{
    snprintf(db->fault.text, sizeof db->fault.text, "%.80s: %.160s", where, what);
    return DB_FAILED;
}

const char *db_damage(struct db *db)
{
    memcpy(db->told, db->fault.damage, sizeof db->told);
    db->fault.damage[0] = '\0';
    return db->told;
}

bool db_broken(const struct db *db)
{
    return db->fault.broken;
}

/* ---- statements */

int64_t db_changes(const struct db *db)
{
    return db->driver->changes(db->connection) + db->later_count;
}

enum db_status db_lose(struct db *db, enum db_status status)
{
    db->driver->rollback(db->connection);
    db->lost = db_owed(status);
    if (db->hopeful)
        db->careful = CAREFUL_BATCHES;
    return db->lost;
}

enum db_status db_run_now(struct db *db, const char *sql, const struct db_value *values,
                          unsigned count, db_row_fn *each, void *context)
{
    assert(count <= DB_VALUES_MAX);
    if (db->lost != DB_OK)
        return db->lost;
    enum db_status status =
        db->driver->run(db->connection, sql, values, count, each, context, &db->fault);
    if (db->lost != DB_OK) /* by a statement within EACH */
        return db->lost;
    if (status != DB_OK && db->mode != IDLE && !db->driver->in_transaction(db->connection)) {
        db->lost = db_owed(status);
        if (db->hopeful && db->driver->fails_whole && status == DB_FAILED) {
            db->lost = DB_RETRY; /* with savepoints, only the request that failed is undone */
            db->careful = CAREFUL_BATCHES;
        }
        return db->lost;
    }
    return status;
}

enum db_status db_run(struct db *db, const char *sql, const struct db_value *values, unsigned count,
                      db_row_fn *each, void *context)
{
    enum db_status status = db_send_rows(db);
    return status == DB_OK ? db_run_now(db, sql, values, count, each, context) : status;
}

struct one {
    db_row_fn *each;
    void *context;
    unsigned rows;
};

static enum db_status see_one(void *context, const struct db_row *row)
{
    struct one *one = context;
    one->rows++;
    assert(one->rows == 1);
    return !one->each ? DB_OK : one->each(one->context, row);
}

enum db_status db_one(struct db *db, const char *sql, const struct db_value *values, unsigned count,
                      db_row_fn *each, void *context)
{
    struct one one = {.each = each, .context = context};
    enum db_status status = db_run(db, sql, values, count, see_one, &one);
    return status == DB_OK && one.rows == 0 ? DB_NONE : status;
}

struct change {
    const char *sql;
    const struct db_value *values;
    unsigned count;
    db_row_fn *each; /* NULL: the statement has no RETURNING, and its rows are counted */
    void *context;
};

static enum db_status change_rows(struct db *db, void *context)
{
    const struct change *c = context;
    if (c->each)
        return db_one(db, c->sql, c->values, c->count, c->each, c->context);
    int64_t before = db_changes(db);
    enum db_status status = db_run(db, c->sql, c->values, c->count, NULL, NULL);
    return status == DB_OK && db_changes(db) == before ? DB_NONE : status;
}

enum db_status db_change_one(struct db *db, const char *sql, const struct db_value *values,
                             unsigned count, db_row_fn *each, void *context)
{
    struct change change = {sql, values, count, each, context};
    return db->mode == WRITING ? change_rows(db, &change) : db_transact(db, change_rows, &change);
}

enum db_status db_change(struct db *db, const char *sql, const struct db_value *values,
                         unsigned count)
{
    return db_change_one(db, sql, values, count, NULL, NULL);
}

struct db_sql *db_sql_of(struct db *db, const void *owner, const char *tail)
{
    size_t at = ((size_t)(uintptr_t)owner >> 4) + ((size_t)(uintptr_t)tail >> 2);
    for (unsigned probe = 0; probe < DB_SQL_TEXTS; probe++) {
        struct db_sql *place = &db->texts[(at + probe) & (DB_SQL_TEXTS - 1)];
        if (!place->text || (place->owner == owner && place->tail == tail)) {
            place->owner = owner;
            place->tail = tail;
            return place;
        }
    }
    assert(!"more table statements than places");
    abort();
}
