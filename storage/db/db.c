/* The waist: one connection's transactions, savepoints and batches, over a driver. Stores,
 * connections and statements are in db_connection.c.
 *
 * DESIGN. A connection is idle, reading or writing. Writers wait for their turn before
 * BEGIN and keep it until after COMMIT. A transaction inside a transaction is a savepoint; they may
 * all bear one name, because SQL takes the innermost. In a hopeful batch there are none: a failure
 * that changed nothing needs no undoing, any other loses the batch. Some failures (a full disk, an
 * I/O error) make SQLite end the whole transaction: what follows would run outside of any, so the
 * connection remembers the failure in `lost` and answers it to everything until the outermost end.
 */
#include "storage/db/db_state.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRANSACT_TRIES 4

/* ---- transactions */

static enum db_status db_refuse(struct db *db, const char *text)
{
    snprintf(db->fault.text, sizeof db->fault.text, "%s", text);
    return DB_FAILED;
}

enum db_status db_undecoded(void)
{
    return errno == ENOMEM ? DB_MEMORY : DB_FAILED;
}

enum db_status db_owed(enum db_status status)
{
    return status == DB_NONE ? DB_FAILED : status;
}

bool db_may_pass(enum db_status status)
{
    return status == DB_RETRY || status == DB_FULL || status == DB_MEMORY;
}

enum db_status db_optional(enum db_status status)
{
    return status == DB_NONE ? DB_OK : status;
}

bool db_in_transaction(const struct db *db)
{
    return db->mode != IDLE;
}

void db_go_first(struct db *db)
{
    db->goes_first = true;
}

static void wait_for_turn(struct db *db)
{
    struct db_store *store = db->store;
    pthread_mutex_lock(&store->lock);
    if (db->goes_first) {
        store->first_waits = true;
        while (store->taken || (store->owed && store->serving != store->next))
            pthread_cond_wait(&store->turn, &store->lock);
        store->first_waits = false;
        store->owed = true;
    } else {
        uint64_t number = store->next++;
        while (store->taken || store->serving != number || (store->first_waits && !store->owed))
            pthread_cond_wait(&store->turn, &store->lock);
        store->serving++;
        store->owed = false;
    }
    store->taken = true;
    pthread_mutex_unlock(&store->lock);
}

static void give_turn(struct db_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->taken = false;
    pthread_cond_broadcast(&store->turn);
    pthread_mutex_unlock(&store->lock);
}

static enum db_status transaction_begin(struct db *db, bool will_write)
{
    assert(db->mode == IDLE);
    if (will_write)
        wait_for_turn(db);
    enum db_status status = db->driver->begin(db->connection, will_write, &db->fault);
    if (status != DB_OK) {
        if (will_write)
            give_turn(db->store);
        return db_owed(status);
    }
    db->mode = will_write ? WRITING : READING;
    db->lost = DB_OK;
    return DB_OK;
}

static enum db_status transaction_end(struct db *db, bool commit)
{
    assert(db->mode != IDLE);
    struct db_guard *guard = db->mode == WRITING ? db->store->guard : NULL;
    enum db_status status = commit ? db_batch_write(db) : db->lost;
    if (guard && commit && status == DB_OK)
        status = guard->before(guard, db->fault.text);
    if (status == DB_OK && commit) {
        status = db->driver->commit(db->connection, &db->fault);
        assert(status != DB_NONE);
    } else {
        db->driver->rollback(db->connection);
    }
    enum mode mode = db->mode;
    db->mode = IDLE;
    db->lost = DB_OK;
    db->hopeful = false;
    db_batch_forget(db);
    if (guard)
        guard->after(guard, commit && status == DB_OK);
    if (mode == WRITING)
        give_turn(db->store);
    return status;
}

static enum db_status transact_outer(struct db *db, db_work_fn *work, void *context)
{
    enum db_status status = DB_RETRY;
    for (int attempt = 0; attempt < TRANSACT_TRIES && status == DB_RETRY; attempt++) {
        status = transaction_begin(db, true);
        if (status != DB_OK)
            continue;
        status = work(db, context);
        enum db_status end = transaction_end(db, status == DB_OK);
        /* A transaction that was lost on the way kept nothing, whatever WORK returned. */
        if (end != DB_OK)
            status = end;
    }
    return status;
}

/* Leaves the innermost savepoint. If that fails, nothing of the transaction may stay. */
static void undo_step(struct db *db)
{
    if (db->lost != DB_OK)
        return;
    enum db_status status = db_run(db, "ROLLBACK TO SAVEPOINT step", NULL, 0, NULL, NULL);
    if (status == DB_OK)
        status = db_run(db, "RELEASE SAVEPOINT step", NULL, 0, NULL, NULL);
    if (status != DB_OK && db->lost == DB_OK)
        (void)db_lose(db, status);
}

static enum db_status transact_hopeful(struct db *db, db_work_fn *work, void *context)
{
    int64_t before = db_changes(db);
    if (db->lost != DB_OK)
        return db->lost;
    enum db_status status = work(db, context);
    if (db->lost == DB_OK && status != DB_OK && db_changes(db) != before) {
        (void)db_refuse(db, "a request failed half way; its batch is run again with savepoints");
        (void)db_lose(db, DB_RETRY);
    }
    return db->lost != DB_OK ? db->lost : status;
}

static enum db_status transact_inner(struct db *db, db_work_fn *work, void *context)
{
    if (db->hopeful)
        return transact_hopeful(db, work, context);
    enum db_status status = db_run(db, "SAVEPOINT step", NULL, 0, NULL, NULL);
    if (status != DB_OK)
        return status;
    status = work(db, context);
    if (db->lost != DB_OK)
        return db->lost;
    if (status == DB_OK)
        status = db_run(db, "RELEASE SAVEPOINT step", NULL, 0, NULL, NULL);
    if (status != DB_OK)
        undo_step(db);
    return db->lost != DB_OK ? db->lost : status;
}

enum db_status db_transact(struct db *db, db_work_fn *work, void *context)
{
    switch (db->mode) {
    case IDLE: return transact_outer(db, work, context);
    case WRITING: return transact_inner(db, work, context);
    default: return db_refuse(db, "a change was asked for inside a reading transaction");
    }
}

enum db_status db_view(struct db *db, db_work_fn *work, void *context)
{
    if (db->mode != IDLE)
        return work(db, context);
    enum db_status status = transaction_begin(db, false);
    if (status != DB_OK)
        return status;
    status = work(db, context);
    enum db_status end = transaction_end(db, false);
    return end != DB_OK ? end : status;
}

enum db_status db_settle(struct db *db)
{
    assert(db->mode == IDLE);
    return db->driver->settle ? db->driver->settle(db->connection, &db->fault) : DB_OK;
}

enum db_status db_begin_batch(struct db *db, bool will_write)
{
    enum db_status status = transaction_begin(db, will_write);
    if (status == DB_OK && will_write) {
        db->hopeful = db->careful == 0;
        db->careful -= db->careful > 0;
    }
    return status;
}

enum db_status db_commit_batch(struct db *db)
{
    return transaction_end(db, true);
}

void db_rollback_batch(struct db *db)
{
    if (db->mode != IDLE)
        (void)transaction_end(db, false);
}
