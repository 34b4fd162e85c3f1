/* PostgreSQL as a driver, by libpq. Connecting is in postgres_open.c, values in postgres_values.c.
 *
 * DESIGN. Writers take one advisory lock for the length of their transaction, as SQLite's writers
 * take their file. So every change sees all changes before it, and what storage/ says about SQLite
 * holds here as well. Readers get one unchanging view (repeatable read).
 *
 * Rows are shown as they arrive, so that reading a whole table takes no memory. When the function
 * that sees them runs another statement, the rest of the rows is kept first.
 *
 * A writer that does not go on (its machine is gone, or its process is paused) keeps all others
 * from writing. So PostgreSQL ends its transaction after WRITER_IDLE_MS.
 *
 * A statement that fails ends a transaction that has no savepoint. A connection that is lost is
 * opened again by the next transaction; until then callers get DB_FULL.
 *
 * When the reply to COMMIT is lost, the batch may or may not be stored. Each transaction that
 * writes leaves its number in this connection's row of `commits`, so a new connection can look
 * whether it is there, if it is the same server or one that follows it without a change of history
 * (timeline). PostgreSQL's own number of a transaction would not do: a number that reached no disk
 * before a crash is given again. A number that is there counts only after a further commit was made
 * durable: the lost one may have stood before a standby that was not yet in step, and history is
 * written in order. For the same reason a new connection makes a commit before anything is read on
 * it: after a restart the database shows what no standby may have yet. If the row is gone, or no
 * answer comes for RESOLVE_SECONDS, nobody knows, and the connection is db_broken: the process
 * stops without a reply, and whoever asks again with the same key gets the stored answer or a new
 * one.
 *
 * An operator can also end the wait of another's commit, which is then shown. So what was read
 * leaves the process only after a commit of its own (settle). A connection in a hurry makes none
 * when it is new: of what it reads, only counts and refusals at the door leave the process. */
#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory/memory.h"
#include "storage/db/migrate.h"
#include "storage/db/postgres_open.h"
#include "storage/db/postgres_run.h"
#include "storage/db/schema_postgres.h"

#define RESOLVE_SECONDS 30
#define WRITER_IDLE_MS  "20000"
#define ALONE_TRIES     6

static void note_warning(void *context, const PGresult *result)
{
    (void)result;
    ((struct postgres_connection *)context)->warned = true;
}

/* ---- opening */

#define MARK_LOG "pg_logical_emit_message(true, 'tacet', '')"
#define SETTLE                                                                                     \
    "SELECT CASE WHEN current_setting('synchronous_standby_names') <> '' THEN " MARK_LOG " END"

#define HISTORY                                                                                    \
    "SELECT system_identifier::text || ' ' || left(pg_walfile_name(pg_current_wal_insert_lsn()),"  \
    " 8) FROM pg_control_system()"

/* Makes durable what was committed before: history is written in order. */
static bool commit_durably(struct postgres_connection *connection, const char *sql)
{
    char ignored[POSTGRES_MARK_SIZE];
    connection->warned = false;
    return postgres_ask(connection->handle, sql, ignored, sizeof ignored) && !connection->warned;
}

/* A newer program may have changed the schema while there was no connection. */
static bool schema_is_known(struct postgres_connection *connection)
{
    char version[POSTGRES_MARK_SIZE];
    return connection->history[0] == '\0' ||
           !postgres_first(postgres_exec(connection, "SELECT max(version) FROM schema_versions"),
                           version, sizeof version) ||
           atoll(version) <= migrate_newest(&schema_postgres);
}

static enum db_status postgres_connect(struct postgres_connection *connection,
                                       struct db_fault *fault)
{
    if (connection->hurry)
        return postgres_hurry_open(connection->hurry, &connection->handle, fault);
    return postgres_open(&connection->settings, connection->password, &connection->handle, fault);
}

enum db_status postgres_ready(struct postgres_connection *connection, struct db_fault *fault)
{
    char history[POSTGRES_MARK_SIZE] = "";
    if (connection->handle && PQstatus(connection->handle) == CONNECTION_OK)
        return DB_OK;
    if (connection->open)
        return postgres_explain(connection, "run", NULL, fault);
    postgres_drop(connection);
    enum db_status status = postgres_connect(connection, fault);
    if (status == DB_FAILED && connection->history[0] != '\0')
        return DB_FULL; /* it was there before, and may be there again */
    if (status != DB_OK)
        return status;
    PQsetNoticeReceiver(connection->handle, note_warning, connection);
    if (!schema_is_known(connection)) {
        postgres_drop(connection);
        snprintf(fault->text, sizeof fault->text,
                 "a newer version of this program has changed the database: this one must end");
        return DB_FULL;
    }
    if (postgres_first(postgres_exec(connection, HISTORY), history, sizeof history) &&
        (connection->settings.not_durable || connection->hurry ||
         commit_durably(connection, "SELECT " MARK_LOG))) {
        connection->torn |=
            connection->history[0] != '\0' && strcmp(connection->history, history) != 0;
        memcpy(connection->history, history, sizeof history);
        return DB_OK;
    }
    postgres_drop(connection);
    snprintf(fault->text, sizeof fault->text,
             "PostgreSQL did not say which server it is, or what it has stored for good");
    return DB_FULL;
}

static void postgres_driver_close(void *pointer)
{
    struct postgres_connection *connection = pointer;
    postgres_drop(connection);
    postgres_hurry_free(connection->hurry);
    if (connection->password)
        sodium_memzero(connection->password, strlen(connection->password));
    sodium_memzero(connection->location, strlen(connection->location));
    free(connection->password);
    free(connection->location);
    free(connection);
}

static enum db_status postgres_driver_open(const struct db_settings *settings,
                                           void **out_connection, struct db_fault *fault)
{
    struct postgres_connection *connection = memory_new(1, sizeof *connection);
    unsigned char random[POSTGRES_NAME_SIZE / 2];
    connection->settings = *settings;
    connection->location = memory_copy_text(settings->location);
    connection->settings.location = connection->location;
    connection->settings.digest_key = NULL;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(connection->name, sizeof connection->name, random, sizeof random);
    enum db_status status = postgres_ready(connection, fault);
    if (status != DB_OK) {
        postgres_driver_close(connection);
        return status;
    }
    /* It may come from a file that is out of reach later. */
    if (PQpass(connection->handle) && PQpass(connection->handle)[0] != '\0')
        connection->password = memory_copy_text(PQpass(connection->handle));
    *out_connection = connection;
    return DB_OK;
}

/* Reading outside of a transaction may be done again on a new connection: an idle one may have been
 * closed long ago. */
static enum db_status postgres_driver_run(void *pointer, const char *sql,
                                          const struct db_value *values, unsigned count,
                                          db_row_fn *each, void *context, struct db_fault *fault)
{
    struct postgres_connection *connection = pointer;
    bool alone = !connection->open;
    bool had = connection->handle != NULL;
    unsigned long long rows = connection->rows;
    enum db_status status = postgres_run(connection, sql, values, count, each, context, fault);
    if (alone && had && !connection->handle && connection->rows == rows)
        status = postgres_run(connection, sql, values, count, each, context, fault);
    return status;
}

static void postgres_driver_hurry(void *pointer)
{
    struct postgres_connection *connection = pointer;
    if (!connection->hurry)
        connection->hurry = postgres_hurry_new(&connection->settings, connection->password);
}

static int64_t postgres_driver_changes(void *pointer)
{
    return ((struct postgres_connection *)pointer)->changes;
}

/* ---- transactions */

static bool postgres_driver_in_transaction(void *pointer)
{
    return ((struct postgres_connection *)pointer)->open;
}

/* A paused process does not keep the lock. */
#define TAKE_WRITERS_LOCK                                                                          \
    "SET LOCAL idle_in_transaction_session_timeout = " WRITER_IDLE_MS ";"                          \
    "SELECT pg_advisory_xact_lock(" POSTGRES_LOCKS ", " POSTGRES_WRITE_LOCK ");"

#define COMMITS                                                                                    \
    "CREATE TABLE IF NOT EXISTS commits (connection TEXT PRIMARY KEY, number BIGINT NOT NULL,"     \
    " begun TIMESTAMPTZ NOT NULL);"                                                                \
    "DELETE FROM commits WHERE begun < now() - interval '30 days';"

/* Takes the writers' lock and notes the transaction's number. The connection's first one makes the
 * table, and removes rows of connections that are long gone. */
static PGresult *begin_writing(struct postgres_connection *connection)
{
    char sql[768];
    connection->number++;
    snprintf(sql, sizeof sql,
             "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;" TAKE_WRITERS_LOCK "%s"
             "INSERT INTO commits VALUES ('%s', %llu, now()) ON CONFLICT (connection)"
             " DO UPDATE SET number = excluded.number, begun = excluded.begun",
             connection->noted ? "" : COMMITS, connection->name, connection->number);
    return postgres_exec(connection, sql);
}

static enum db_status begin_once(struct postgres_connection *connection, bool will_write,
                                 struct db_fault *fault)
{
    enum db_status status = postgres_ready(connection, fault);
    if (status != DB_OK)
        return status;
    PGresult *result =
        will_write ? begin_writing(connection)
                   : postgres_exec(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    connection->open = true;
    connection->savepoints = 0;
    connection->writes = will_write;
    return postgres_take(connection, result, fault);
}

static enum db_status postgres_driver_begin(void *pointer, bool will_write, struct db_fault *fault)
{
    struct postgres_connection *connection = pointer;
    bool had = connection->handle != NULL;
    postgres_keep_rest(connection);
    enum db_status status = begin_once(connection, will_write, fault);
    if (had && !connection->handle)
        status = begin_once(connection, will_write, fault);
    return status;
}

static bool postgres_driver_alone(void *pointer)
{
    struct postgres_connection *connection = pointer;
    char answer[POSTGRES_MARK_SIZE];
    bool alone = false;
    postgres_keep_rest(connection);
    /* The server may need a moment to see that a process which has just ended is gone. */
    for (int tries = 0; tries < ALONE_TRIES && !alone; tries++) {
        if (tries > 0)
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        alone = postgres_ask(connection->handle,
                             "SELECT pg_try_advisory_xact_lock(" POSTGRES_LOCKS
                             ", " POSTGRES_PRESENCE_LOCK ")",
                             answer, sizeof answer) &&
                strcmp(answer, "t") == 0;
    }
    return alone;
}

static void postgres_driver_rollback(void *pointer)
{
    struct postgres_connection *connection = pointer;
    if (!connection->open)
        return;
    postgres_keep_rest(connection);
    postgres_roll_back(connection);
}

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* What became of the transaction whose reply to COMMIT was lost: see the top. It holds the writers'
 * lock until it is over. A connection that never had a row cannot have lost one. */
static enum db_status resolve_commit(struct postgres_connection *connection, struct db_fault *fault)
{
    char sql[384], answer[POSTGRES_MARK_SIZE], history[POSTGRES_MARK_SIZE];
    struct db_fault ignored = {0};
    const int64_t end = seconds_now() + RESOLVE_SECONDS;
    memcpy(history, connection->history, sizeof history);
    snprintf(sql, sizeof sql,
             "BEGIN ISOLATION LEVEL READ COMMITTED; " TAKE_WRITERS_LOCK
             "SELECT coalesce(max(number), 0) FROM commits WHERE connection = '%s'",
             connection->name);
    while (seconds_now() < end) {
        if (postgres_ready(connection, &ignored) == DB_OK) {
            if (strcmp(connection->history, history) != 0)
                break;
            bool known = postgres_ask(connection->handle, sql, answer, sizeof answer);
            if (commit_durably(connection, "COMMIT; SELECT " MARK_LOG) && known) {
                unsigned long long stored = strtoull(answer, NULL, 10);
                bool kept = stored == connection->number;
                if (stored == 0 && connection->noted)
                    break;
                snprintf(fault->text, sizeof fault->text,
                         "the reply to a commit was lost: the transaction was %s",
                         kept ? "stored" : "not stored");
                return kept ? DB_OK : DB_RETRY;
            }
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    snprintf(fault->text, sizeof fault->text,
             "the reply to a commit was lost, and PostgreSQL does not say what became of it");
    fault->broken = true;
    return DB_FAILED;
}

/* PostgreSQL waits for no standby when a transaction has written nothing. But it may have read, and
 * be about to repeat to a client, what another connection committed without one: an operator, or a
 * shutdown, can end such a wait. A message in the log makes it wait for all before it. Where no
 * standby is named nothing is written: what can be read is on that server's disk. */
static const char *commit_statement(const struct postgres_connection *connection)
{
    return connection->writes || connection->settings.not_durable ? "COMMIT" : SETTLE "; COMMIT";
}

static enum db_status refuse_unsettled(struct db_fault *fault)
{
    snprintf(fault->text, sizeof fault->text,
             "it is not known whether a standby has what was read");
    return DB_FULL;
}

static enum db_status postgres_driver_commit(void *pointer, struct db_fault *fault)
{
    struct postgres_connection *connection = pointer;
    postgres_keep_rest(connection);
    connection->warned = false;
    PGresult *result = PQexec(connection->handle, commit_statement(connection));
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    bool kept = done && strcmp(PQcmdStatus(result), "COMMIT") == 0;
    bool lost = !done && (!state || strncmp(state, "57P", 3) == 0 ||
                          PQstatus(connection->handle) != CONNECTION_OK);
    enum db_status status = DB_OK;
    connection->savepoints = 0;
    if (done && !kept) {
        snprintf(fault->text, sizeof fault->text, "commit: the transaction had failed before");
        status = DB_FAILED;
    } else if (!done && !lost) {
        status = postgres_explain(connection, "commit", result, fault);
    }
    PQclear(result);
    connection->open = false;
    connection->noted |= kept && connection->writes;
    if (lost)
        postgres_drop(connection);
    if ((lost || connection->warned) && status == DB_OK)
        return connection->writes ? resolve_commit(connection, fault) : refuse_unsettled(fault);
    return lost ? DB_FULL : status;
}

static enum db_status postgres_driver_settle(void *pointer, struct db_fault *fault)
{
    struct postgres_connection *connection = pointer;
    if (connection->settings.not_durable)
        return DB_OK;
    enum db_status status = postgres_ready(connection, fault);
    if (status != DB_OK)
        return status;
    bool whole = !connection->torn;
    connection->torn = false;
    return whole && commit_durably(connection, SETTLE) ? DB_OK : refuse_unsettled(fault);
}

const struct db_driver db_driver_postgres = {
    .name = "postgresql",
    .schema = &schema_postgres,
    .open = postgres_driver_open,
    .close = postgres_driver_close,
    .begin = postgres_driver_begin,
    .commit = postgres_driver_commit,
    .settle = postgres_driver_settle,
    .rollback = postgres_driver_rollback,
    .hurry = postgres_driver_hurry,
    .run = postgres_driver_run,
    .changes = postgres_driver_changes,
    .in_transaction = postgres_driver_in_transaction,
    .alone = postgres_driver_alone,
    .clock = "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)",
    .unchecked = "SELECT CAST(CASE current_setting('data_checksums') WHEN 'off' THEN 1 ELSE 0 END "
                 "AS BIGINT)",
    .shared = true,
    .lists = true,
    .fails_whole = true,
};
