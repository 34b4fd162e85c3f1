/* Stores, their connections, and what these run. */
#include "storage/db/db_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- stores and connections */

struct db_store *db_store_new(const struct db_driver *driver, const struct db_settings *settings)
{
    struct db_store *store = calloc(1, sizeof *store);
    if (!store)
        return NULL;
    store->driver = driver;
    store->settings = *settings;
    store->location = strdup(settings->location);
    store->settings.location = store->location;
    if (!store->location || !gate_init(&store->gate)) {
        free(store->location);
        free(store);
        return NULL;
    }
    pthread_mutex_init(&store->lock, NULL);
    return store;
}

void db_store_free(struct db_store *store)
{
    if (!store)
        return;
    for (unsigned i = 0; i < DB_SHARES; i++)
        if (store->shared[i].what)
            store->shared[i].sharer->free(store->shared[i].what);
    pthread_mutex_destroy(&store->lock);
    gate_destroy(&store->gate);
    free(store->location);
    free(store);
}

void *db_shared(struct db *db, const struct db_sharer *sharer)
{
    struct db_store *store = db->store;
    assert(sharer->place < DB_SHARES);
    pthread_mutex_lock(&store->lock);
    if (!store->shared[sharer->place].what) {
        store->shared[sharer->place].sharer = sharer;
        store->shared[sharer->place].what = sharer->make();
    }
    void *what = store->shared[sharer->place].what;
    pthread_mutex_unlock(&store->lock);
    return what;
}

enum db_status db_open(struct db_store *store, struct db **out, char error[DB_ERROR_SIZE])
{
    error[0] = '\0';
    struct db *db = calloc(1, sizeof *db);
    if (!db) {
        snprintf(error, DB_ERROR_SIZE, "out of memory");
        return DB_FAILED;
    }
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
    for (unsigned i = 0; i < DB_KEEPS; i++)
        free(db->kept[i].rows);
    free(db);
}

const struct db_driver *db_driver_of(const struct db *db)
{
    return db->driver;
}

const char *db_last_error(const struct db *db)
{
    return db->fault.text;
}

bool db_broken(const struct db *db)
{
    return db->fault.broken;
}

/* ---- statements */

enum db_status db_run(struct db *db, const char *sql, const struct db_value *values, unsigned count,
                      db_row_fn *each, void *context)
{
    assert(count <= DB_VALUES_MAX);
    if (db->lost != DB_OK)
        return db->lost;
    enum db_status status =
        db->driver->run(db->connection, sql, values, count, each, context, &db->fault);
    if (status != DB_OK && db->mode != IDLE && !db->driver->in_transaction(db->connection)) {
        db->lost = status == DB_NONE ? DB_FAILED : status;
        return db->lost;
    }
    return status;
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

enum db_status db_hit(struct db *db, const char *sql, const struct db_value *values, unsigned count)
{
    assert(db->mode != IDLE);
    int64_t before = db->driver->changes(db->connection);
    enum db_status status = db_run(db, sql, values, count, NULL, NULL);
    return status == DB_OK && db->driver->changes(db->connection) == before ? DB_NONE : status;
}

struct change {
    const char *sql;
    const struct db_value *values;
    unsigned count;
    db_row_fn *each;
    void *context;
};

static enum db_status do_change(struct db *db, void *context)
{
    const struct change *c = context;
    return !c->each ? db_run(db, c->sql, c->values, c->count, NULL, NULL)
                    : db_one(db, c->sql, c->values, c->count, c->each, c->context);
}

enum db_status db_change(struct db *db, const char *sql, const struct db_value *values,
                         unsigned count, db_row_fn *each, void *context)
{
    struct change change = {sql, values, count, each, context};
    if (db->mode == WRITING)
        return do_change(db, &change);
    return db_transact(db, do_change, &change);
}
