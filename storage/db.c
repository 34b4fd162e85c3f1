/* The waist: one connection's transactions, savepoints and batches, over a driver.
 *
 * DESIGN. A connection is idle, reading or writing. Writers hold the store's gate from before their
 * BEGIN until after their COMMIT. A transaction inside a transaction is a savepoint; they may all
 * bear one name, because SQL takes the innermost. In a hopeful batch there are none: a failure that
 * changed nothing needs no undoing, any other loses the batch. Some failures (a full disk, an I/O
 * error) make SQLite end the whole transaction: what follows would run outside of any, so the
 * connection remembers the failure in `lost` and answers it to everything until the outermost end.
 */
#include "storage/db.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db_keep.h"
#include "storage/db_log.h"
#include "storage/gate.h"

#define TRANSACT_TRIES  4
#define CAREFUL_BATCHES 64 /* with savepoints, after a hopeful one was lost */

struct db_store {
    const struct db_driver *driver;
    struct db_settings settings;
    char *location;
    struct gate gate;
    pthread_mutex_t lock; /* of what is shared */
    struct {
        const struct db_sharer *sharer;
        void *what; /* made at the first use */
    } shared[DB_SHARES];
};

enum mode { IDLE, READING, WRITING };

struct db {
    struct db_store *store;
    const struct db_driver *driver;
    void *connection;
    struct db_fault fault;
    enum mode mode;
    enum db_status lost;   /* not DB_OK: the transaction ended early, by this */
    bool hopeful;          /* in a batch without savepoints */
    uint64_t kept_changes; /* made in memory so far */
    uint64_t begun;        /* changes before the open transaction */
    unsigned careful;      /* batches to come that take savepoints */
    struct {
        const struct db_keeper *keeper;
        void *rows; /* made at the first use */
    } kept[DB_KEEPS];
};

/* ---- stores and connections */

struct db_store *db_store_new(const struct db_driver *driver, const struct db_settings *settings)
{
    struct db_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return NULL;
    }
    store->driver = driver;
    store->settings = *settings;
    store->location = strdup(settings->location);
    store->settings.location = store->location;
    if (store->location == NULL || !gate_init(&store->gate)) {
        free(store->location);
        free(store);
        return NULL;
    }
    pthread_mutex_init(&store->lock, NULL);
    return store;
}

void db_store_free(struct db_store *store)
{
    if (store == NULL) {
        return;
    }
    for (unsigned i = 0; i < DB_SHARES; i++) {
        if (store->shared[i].what != NULL) {
            store->shared[i].sharer->free(store->shared[i].what);
        }
    }
    pthread_mutex_destroy(&store->lock);
    gate_destroy(&store->gate);
    free(store->location);
    free(store);
}

enum db_status db_open(struct db_store *store, struct db **out, char error[DB_ERROR_SIZE])
{
    error[0] = '\0';
    struct db *db = calloc(1, sizeof *db);
    if (db == NULL) {
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
    if (db == NULL) {
        return;
    }
    db_rollback_batch(db);
    db->driver->close(db->connection);
    for (unsigned i = 0; i < DB_KEEPS; i++) {
        free(db->kept[i].rows);
    }
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

static enum db_status fail(struct db *db, const char *text)
{
    snprintf(db->fault.text, sizeof db->fault.text, "%s", text);
    return DB_FAILED;
}

enum db_status db_run(struct db *db, const char *sql, const struct db_value *values, unsigned count,
                      db_row_fn *each, void *context)
{
    assert(count <= DB_VALUES_MAX);
    if (db->lost != DB_OK) {
        return db->lost;
    }
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
    return one->each == NULL ? DB_OK : one->each(one->context, row);
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
    return c->each == NULL ? db_run(db, c->sql, c->values, c->count, NULL, NULL)
                           : db_one(db, c->sql, c->values, c->count, c->each, c->context);
}

enum db_status db_change(struct db *db, const char *sql, const struct db_value *values,
                         unsigned count, db_row_fn *each, void *context)
{
    struct change change = {sql, values, count, each, context};
    if (db->mode == WRITING) {
        return do_change(db, &change);
    }
    return db_transact(db, do_change, &change);
}

/* ---- transactions */

bool db_in_transaction(const struct db *db)
{
    return db->mode != IDLE;
}

/* Changes of this connection so far, on rows and in memory. */
static uint64_t changes(const struct db *db)
{
    return (uint64_t)db->driver->changes(db->connection) + db->kept_changes;
}

static enum db_status begin(struct db *db, bool will_write)
{
    assert(db->mode == IDLE);
    if (will_write) {
        gate_enter(&db->store->gate);
    }
    enum db_status status = db->driver->begin(db->connection, will_write, &db->fault);
    if (status != DB_OK) {
        if (will_write) {
            gate_leave(&db->store->gate);
        }
        return status == DB_NONE ? DB_FAILED : status;
    }
    db->mode = will_write ? WRITING : READING;
    db->lost = DB_OK;
    db->begun = changes(db);
    return DB_OK;
}

void *db_kept(struct db *db, const struct db_keeper *keeper)
{
    if (!db->hopeful || db->lost != DB_OK) {
        return NULL;
    }
    assert(keeper->place < DB_KEEPS);
    if (db->kept[keeper->place].rows == NULL) {
        db->kept[keeper->place].rows = calloc(1, keeper->size);
        db->kept[keeper->place].keeper = keeper;
    }
    assert(db->kept[keeper->place].keeper == keeper);
    return db->kept[keeper->place].rows;
}

void db_keep_changed(struct db *db)
{
    db->kept_changes++;
}

bool db_unchanged(const struct db *db)
{
    return db->mode != WRITING || changes(db) == db->begun;
}

void *db_shared(struct db *db, const struct db_sharer *sharer)
{
    struct db_store *store = db->store;
    assert(sharer->place < DB_SHARES);
    pthread_mutex_lock(&store->lock);
    if (store->shared[sharer->place].what == NULL) {
        store->shared[sharer->place].sharer = sharer;
        store->shared[sharer->place].what = sharer->make();
    }
    void *what = store->shared[sharer->place].what;
    pthread_mutex_unlock(&store->lock);
    return what;
}

/* Writes what the batch kept; anything but DB_OK: the batch is lost. */
static enum db_status write_kept(struct db *db)
{
    enum db_status status = db->lost;
    for (unsigned i = 0; db->hopeful && status == DB_OK && i < DB_KEEPS; i++) {
        const struct db_keeper *keeper = db->kept[i].keeper;
        if (keeper != NULL && keeper->write != NULL) {
            status = keeper->write(db, db->kept[i].rows);
            status = db->lost != DB_OK ? db->lost : status;
        }
    }
    return status == DB_NONE ? DB_FAILED : status;
}

static void forget_kept(struct db *db, bool committed)
{
    for (unsigned i = 0; i < DB_KEEPS; i++) {
        if (db->kept[i].rows != NULL) {
            db->kept[i].keeper->forget(db, db->kept[i].rows, committed);
        }
    }
}

static enum db_status finish(struct db *db, bool commit)
{
    assert(db->mode != IDLE);
    enum db_status status = commit ? write_kept(db) : db->lost;
    if (status == DB_OK && commit) {
        status = db->driver->commit(db->connection, &db->fault);
        assert(status != DB_NONE);
    } else {
        db->driver->rollback(db->connection);
    }
    forget_kept(db, commit && status == DB_OK);
    enum mode mode = db->mode;
    db->mode = IDLE;
    db->lost = DB_OK;
    db->hopeful = false;
    if (mode == WRITING) {
        gate_leave(&db->store->gate);
    }
    return status;
}

static enum db_status transact_outer(struct db *db, db_work_fn *work, void *context)
{
    enum db_status status = DB_RETRY;
    for (int attempt = 0; attempt < TRANSACT_TRIES && status == DB_RETRY; attempt++) {
        status = begin(db, true);
        if (status != DB_OK) {
            continue;
        }
        status = work(db, context);
        enum db_status end = finish(db, status == DB_OK);
        /* A transaction that was lost on the way kept nothing, whatever WORK made of it. */
        if (end != DB_OK) {
            status = end;
        }
    }
    return status;
}

/* Leaves the innermost savepoint; when even that fails, nothing of the transaction may stay. */
static void undo_step(struct db *db)
{
    if (db->lost != DB_OK) {
        return;
    }
    enum db_status status = db_run(db, "ROLLBACK TO SAVEPOINT step", NULL, 0, NULL, NULL);
    if (status == DB_OK) {
        status = db_run(db, "RELEASE SAVEPOINT step", NULL, 0, NULL, NULL);
    }
    if (status != DB_OK && db->lost == DB_OK) {
        db->driver->rollback(db->connection);
        db->lost = status;
    }
}

static enum db_status transact_hopeful(struct db *db, db_work_fn *work, void *context)
{
    uint64_t before = changes(db);
    if (db->lost != DB_OK) {
        return db->lost;
    }
    enum db_status status = work(db, context);
    if (db->lost == DB_OK && status != DB_OK && changes(db) != before) {
        (void)fail(db, "a request failed half way; its batch is run again with savepoints");
        db->driver->rollback(db->connection);
        db->lost = DB_RETRY;
        db->careful = CAREFUL_BATCHES;
    }
    return db->lost != DB_OK ? db->lost : status;
}

static enum db_status transact_inner(struct db *db, db_work_fn *work, void *context)
{
    if (db->hopeful) {
        return transact_hopeful(db, work, context);
    }
    enum db_status status = db_run(db, "SAVEPOINT step", NULL, 0, NULL, NULL);
    if (status != DB_OK) {
        return status;
    }
    status = work(db, context);
    if (db->lost != DB_OK) {
        return db->lost;
    }
    if (status == DB_OK) {
        status = db_run(db, "RELEASE SAVEPOINT step", NULL, 0, NULL, NULL);
    }
    if (status != DB_OK) {
        undo_step(db);
    }
    return db->lost != DB_OK ? db->lost : status;
}

enum db_status db_transact(struct db *db, db_work_fn *work, void *context)
{
    switch (db->mode) {
    case IDLE:
        return transact_outer(db, work, context);
    case WRITING:
        return transact_inner(db, work, context);
    default:
        return fail(db, "a change was asked for inside a reading transaction");
    }
}

enum db_status db_view(struct db *db, db_work_fn *work, void *context)
{
    if (db->mode != IDLE) {
        return work(db, context);
    }
    enum db_status status = begin(db, false);
    if (status != DB_OK) {
        return status;
    }
    status = work(db, context);
    enum db_status end = finish(db, false);
    return end != DB_OK ? end : status;
}

enum db_status db_begin_batch(struct db *db, bool will_write)
{
    enum db_status status = begin(db, will_write);
    if (status == DB_OK && will_write) {
        db->hopeful = db->careful == 0;
        db->careful -= db->careful > 0;
    }
    return status;
}

enum db_status db_commit_batch(struct db *db)
{
    return finish(db, true);
}

void db_rollback_batch(struct db *db)
{
    if (db->mode != IDLE) {
        (void)finish(db, false);
    }
}

/* ---- the log */

bool db_leave_log(struct db *db)
{
    assert(db->mode == IDLE);
    if (db->driver->leave_log == NULL) {
        return false;
    }
    db->driver->leave_log(db->connection);
    return true;
}

size_t db_log_blocks(const struct db *db)
{
    return db->driver->log_blocks == NULL ? 0 : db->driver->log_blocks(db->connection);
}

enum db_status db_checkpoint(struct db *db, size_t *out_left)
{
    size_t left = 0;
    assert(db->mode == IDLE && db->driver->checkpoint != NULL);
    enum db_status status = db->driver->checkpoint(db->connection, &left, &db->fault);
    if (out_left != NULL) {
        *out_left = left;
    }
    return status;
}
