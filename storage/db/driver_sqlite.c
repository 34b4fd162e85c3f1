/* SQLite as a driver. Its files are in sqlite_file.c, its values in sqlite_values.c.
 *
 * DESIGN. Write-ahead log with synchronous=FULL: a commit that returns is on disk. The program's
 * own number stands in the file's header (application_id), set before the log exists, so that a
 * file can be judged by its first hundred bytes before anything is locked or written. Checkpoints
 * are run by our own hook, because SQLite's forgets an I/O error in one, after which the next fsync
 * may say that all is well. secure_delete overwrites what is deleted. */
#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/memory.h"
#include "storage/db/db.h"
#include "storage/db/listing.h"
#include "storage/db/schema_sqlite.h"
#include "storage/db/sqlite_file.h"
#include "storage/db/sqlite_head.h"
#include "storage/db/sqlite_pages.h"
#include "storage/db/sqlite_values.h"

#define BUSY_TIMEOUT_MS  10000
#define CACHE_KIB        (64 << 10)
#define CHECKPOINT_PAGES 8000 /* 64 MB of log: the writer stops to empty it */
#define LOG_KEPT_BYTES   (64 << 20)
#define STATEMENTS       512 /* a power of two */
#define STATEMENT_PROBES 8

struct statement {
    const char *sql; /* the caller's pointer: key of the slot */
    sqlite3_stmt *stmt;
    unsigned count;                      /* parameters */
    unsigned char number[DB_VALUES_MAX]; /* parameter i is value number[i] */
};

struct connection {
    sqlite3 *handle;
    bool broken;
    struct sqlite_log_place log;
    bool durable;
    int64_t head;  /* what ledger.head says at least */
    int head_file; /* its descriptor; -1: not open yet */
    struct statement statements[STATEMENTS];
};

/* ---- what went wrong */

static enum db_status outcome_of(int code)
{
    if (code == SQLITE_IOERR_SHMSIZE)
        return DB_FULL; /* the log's index could not grow */
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW: return DB_OK;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return DB_RETRY;
    case SQLITE_FULL:
    case SQLITE_READONLY: return DB_FULL;
    case SQLITE_NOMEM: return DB_MEMORY;
    default: return DB_FAILED;
    }
}

static enum db_status connection_explain(struct connection *connection, const char *doing,
                                         struct db_fault *fault)
{
    int code = sqlite3_extended_errcode(connection->handle);
    char why[SQLITE_FILE_TEXT_SIZE];
    sqlite_pages_explain(connection->handle, code, why, sizeof why);
    snprintf(fault->text, sizeof fault->text, "%s: %s (sqlite %d)", doing, why, code);
    if (code == SQLITE_IOERR_DATA)
        memcpy(fault->damage, why, sizeof why);
    enum db_status status = outcome_of(code);
    if ((code & 0xff) == SQLITE_IOERR && status == DB_FAILED) {
        /* After an fsync failed, the result of a later fsync about the same pages cannot be
         * trusted. */
        connection->broken = connection->broken || code == SQLITE_IOERR_FSYNC ||
                             code == SQLITE_IOERR_DIR_FSYNC || strcmp(doing, "commit") == 0;
    }
    fault->broken = fault->broken || connection->broken;
    return status == DB_OK ? DB_FAILED : status;
}

/* ---- opening */

static int after_commit(void *context, sqlite3 *handle, const char *name, int pages)
{
    struct connection *connection = context;
    if (pages < CHECKPOINT_PAGES)
        return SQLITE_OK;
    int code = sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if ((code & 0xff) == SQLITE_IOERR)
        connection->broken = true;
    return SQLITE_OK;
}

/* The number stands in the header before there is a log. */
static bool begin_file(sqlite3 *handle)
{
    sqlite_pages_begin(handle);
    return sqlite_pragma(handle, "PRAGMA page_size=%lld", SQLITE_PAGES_BYTES) &&
           sqlite_pragma(handle, "PRAGMA application_id=%lld", SQLITE_FILE_APPLICATION_ID);
}

static bool connection_configure(struct connection *connection, const struct db_settings *settings)
{
    sqlite3 *handle = connection->handle;
    long long application = 0;
    unsigned busy = settings->busy_timeout_ms == 0 ? BUSY_TIMEOUT_MS : settings->busy_timeout_ms;
    unsigned cache = settings->cache_kib == 0 ? CACHE_KIB : settings->cache_kib;
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, (int)busy);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, (int *)NULL);
    if (!settings->unchanged &&
        (sqlite_ask(handle, "PRAGMA application_id", &application) != SQLITE_OK ||
         (application == 0 && !begin_file(handle)) || !sqlite_use_log(handle)))
        return false;
    bool ok = sqlite_pragma(handle, "PRAGMA synchronous=%lld", settings->not_durable ? 0 : 2) &&
              sqlite_pragma(handle, "PRAGMA foreign_keys=%lld", 1) &&
              sqlite_pragma(handle, "PRAGMA secure_delete=%lld", 1) &&
              sqlite_pragma(handle, "PRAGMA trusted_schema=%lld", 0) &&
              sqlite_pragma(handle, "PRAGMA temp_store=%lld", 2) &&
              sqlite_pragma(handle, "PRAGMA cache_size=-%lld", cache) &&
              sqlite_pragma(handle, "PRAGMA journal_size_limit=%lld", LOG_KEPT_BYTES);
    sqlite_pages_look(handle); /* another process may have made the file since it was opened */
    if (ok && settings->max_pages > 0)
        ok = sqlite_pragma(handle, "PRAGMA max_page_count=%lld", settings->max_pages);
    sqlite3_wal_hook(handle, after_commit, connection);
    return ok;
}

static void driver_close(void *pointer)
{
    struct connection *connection = pointer;
    for (unsigned i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(connection->statements[i].stmt);
    int code = sqlite3_close(connection->handle);
    assert(code == SQLITE_OK);
    (void)code;
    if (connection->head_file >= 0)
        close(connection->head_file);
    free(connection);
}

/* The first read makes the log, whose name must be on disk before the log is used. */
static enum db_status keep_log_name(struct connection *connection, const char *path,
                                    struct db_fault *fault)
{
    long long version;
    if (sqlite_ask(connection->handle, "PRAGMA schema_version", &version) != SQLITE_OK)
        return connection_explain(connection, "cannot open the database", fault);
    if (!sqlite_file_sync_folder(connection->handle))
        return sqlite_file_refuse(fault, path, "its folder cannot be synced");
    return DB_OK;
}

static enum db_status driver_open(const struct db_settings *settings, void **out_connection,
                                  struct db_fault *fault)
{
    bool empty = false;
    enum db_status status =
        settings->unchanged ? DB_OK : sqlite_file_find(settings->location, &empty, fault);
    if (status != DB_OK)
        return status;
    struct connection *connection = memory_new(1, sizeof *connection);
    connection->head_file = -1;
    /* By default SQLite counts every allocation under one lock, which takes a twentieth of a
     * query's time. Once the process has opened a database SQLite refuses to change this; that does
     * no harm. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    int code = sqlite_file_open(settings, &connection->handle);
    if (code == SQLITE_OK && !empty)
        status = sqlite_file_inspect(connection->handle, settings->location, fault);
    if (status == DB_OK && (code != SQLITE_OK || !connection_configure(connection, settings)))
        status = connection_explain(connection, "cannot open the database", fault);
    connection->durable = !settings->not_durable && !settings->unchanged;
    if (status == DB_OK && connection->durable)
        status = keep_log_name(connection, settings->location, fault);
    if (status != DB_OK) {
        driver_close(connection);
        return status;
    }
    /* A copy that is older than the file says must not lower it. */
    connection->head = sqlite_head_read(connection->handle);
    *out_connection = connection;
    return DB_OK;
}

/* ---- statements */

static void number_parameters(struct statement *statement)
{
    statement->count = (unsigned)sqlite3_bind_parameter_count(statement->stmt);
    assert(statement->count <= DB_VALUES_MAX);
    for (unsigned i = 0; i < statement->count; i++) {
        /* SQLite reads "$2" as a name, and numbers names by their first position. */
        const char *name = sqlite3_bind_parameter_name(statement->stmt, (int)i + 1);
        assert(name && name[0] == '$');
        long number = strtol(name + 1, NULL, 10);
        assert(number >= 1 && number <= DB_VALUES_MAX);
        statement->number[i] = (unsigned char)(number - 1);
    }
}

/* The prepared statement's slot for SQL; NULL: preparing failed. An equal address with another text
 * (a buffer that was used again) is noticed. */
static struct statement *statement_of(struct connection *connection, const char *sql)
{
    size_t hash = ((size_t)(uintptr_t)sql >> 3) * 0x9E3779B97F4A7C15u >> 40;
    struct statement *slot = NULL;
    for (unsigned probe = 0; probe < STATEMENT_PROBES; probe++) {
        struct statement *candidate = &connection->statements[(hash + probe) & (STATEMENTS - 1)];
        if (candidate->sql == sql && strcmp(sqlite3_sql(candidate->stmt), sql) == 0)
            return candidate;
        bool idle = !candidate->stmt || !sqlite3_stmt_busy(candidate->stmt);
        if (idle && (!slot || !candidate->stmt || candidate->sql == sql) && (!slot || slot->stmt))
            slot = candidate;
    }
    assert(slot);
    sqlite3_finalize(slot->stmt);
    *slot = (struct statement){0};
    if (sqlite3_prepare_v3(connection->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &slot->stmt,
                           NULL) != SQLITE_OK)
        return NULL;
    slot->sql = sql;
    number_parameters(slot);
    return slot;
}

static enum db_status driver_run(void *pointer, const char *sql, const struct db_value *values,
                                 unsigned count, db_row_fn *each, void *context,
                                 struct db_fault *fault)
{
    struct connection *connection = pointer;
    struct statement *statement = statement_of(connection, sql);
    if (!statement)
        return connection_explain(connection, "prepare", fault);
    sqlite3_stmt *stmt = statement->stmt;
    assert(!sqlite3_stmt_busy(stmt));
    int code = SQLITE_OK;
    for (unsigned i = 0; i < statement->count && code == SQLITE_OK; i++) {
        assert(statement->number[i] < count);
        code = sqlite_bind(stmt, (int)i + 1, &values[statement->number[i]]);
    }
    enum db_status status = DB_OK;
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(stmt);
        if (code == SQLITE_ROW && each &&
            (status = sqlite_show_row(stmt, each, context)) != DB_OK) {
            sqlite3_reset(stmt);
            return status;
        }
    }
    if (code != SQLITE_DONE)
        status = connection_explain(connection, "run", fault);
    sqlite3_reset(stmt);
    fault->broken = fault->broken || connection->broken;
    return status;
}

static int64_t driver_changes(void *pointer)
{
    return sqlite3_total_changes64(((struct connection *)pointer)->handle);
}

/* ---- transactions */

/* DB_FAILED when the file or its log is gone: the commit would be lost with the process. */
static enum db_status check_place(struct connection *connection, struct db_fault *fault)
{
    if (sqlite_file_stands(connection->handle, &connection->log))
        return DB_OK;
    snprintf(fault->text, sizeof fault->text,
             "the database file or its log was removed, moved or replaced while it was open");
    return DB_FAILED;
}

/* A reader is told here that the file is gone, a writer before its commit. */
static enum db_status driver_begin(void *pointer, bool will_write, struct db_fault *fault)
{
    enum db_status status = will_write ? DB_OK : check_place(pointer, fault);
    if (status != DB_OK)
        return status;
    return driver_run(pointer, will_write ? "BEGIN IMMEDIATE" : "BEGIN", NULL, 0, NULL, NULL,
                      fault);
}

static bool driver_in_transaction(void *pointer)
{
    return !sqlite3_get_autocommit(((struct connection *)pointer)->handle);
}

static void driver_rollback(void *pointer)
{
    struct db_fault ignored = {0};
    if (driver_in_transaction(pointer))
        driver_run(pointer, "ROLLBACK", NULL, 0, NULL, NULL, &ignored);
}

/* Entries of the ledger as the open transaction sees them; 0: there is no ledger yet. */
static int64_t count_entries(struct connection *connection)
{
    int64_t count = 0;
    struct db_fault ignored = {0};
    (void)driver_run(connection, SQLITE_HEAD_COUNT, NULL, 0, listing_integer, &count, &ignored);
    return count;
}

static int64_t driver_noted_entries(void *pointer)
{
    return sqlite_head_read(((struct connection *)pointer)->handle);
}

static enum db_status driver_check(void *pointer, const char *const *but, struct db_fault *fault)
{
    return sqlite_file_check(((struct connection *)pointer)->handle, but, fault);
}

static enum db_status driver_copy(void *pointer, const char *path, struct db_fault *fault)
{
    return sqlite_file_copy(((struct connection *)pointer)->handle, path, fault);
}

static enum db_status driver_commit(void *pointer, struct db_fault *fault)
{
    struct connection *connection = pointer;
    if (check_place(connection, fault) != DB_OK) {
        driver_rollback(connection);
        return DB_FAILED;
    }
    int64_t entries = connection->durable ? count_entries(connection) : 0;
    struct statement *statement = statement_of(connection, "COMMIT");
    if (!statement || sqlite3_step(statement->stmt) != SQLITE_DONE) {
        enum db_status status = connection_explain(connection, "commit", fault);
        if (statement)
            sqlite3_reset(statement->stmt);
        driver_rollback(connection);
        return status;
    }
    sqlite3_reset(statement->stmt);
    fault->broken = fault->broken || connection->broken;
    if (entries > connection->head && !connection->broken) {
        sqlite_head_write(connection->handle, &connection->head_file, entries);
        connection->head = entries;
    }
    return DB_OK;
}

const struct db_driver db_driver_sqlite = {
    .name = "sqlite",
    .schema = &schema_sqlite,
    .open = driver_open,
    .close = driver_close,
    .begin = driver_begin,
    .commit = driver_commit,
    .rollback = driver_rollback,
    .run = driver_run,
    .changes = driver_changes,
    .in_transaction = driver_in_transaction,
    .noted_entries = driver_noted_entries,
    .check = driver_check,
    .copy = driver_copy,
};
