/* DESIGN. Rows are shown as they arrive. Before another statement runs on the connection, the rows
 * that are still to come are kept in memory. Statements are prepared once for each address, text
 * and list of types. */
#include "storage/db/postgres_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/postgres_values.h"

#define STATEMENT_PROBES 8
#define NAME_SIZE        24

/* Of a connection in a hurry. In a view it may look at whole tables. */
#define ANSWER_MS         2000
#define ANSWER_IN_VIEW_MS 8000

/* ---- what went wrong */

/* Class 22 is about values, which belong in no log. */
static enum db_status postgres_outcome(const char *state)
{
    static const struct {
        const char *prefix;
        enum db_status status;
    } outcomes[] = {
        {"40", DB_RETRY}, {"55P03", DB_RETRY}, {"53200", DB_MEMORY},
        {"53", DB_FULL},  {"58", DB_FULL},     {"25006", DB_FULL},
        {"57P", DB_FULL}, {"57014", DB_RETRY}, {"08", DB_FULL},
    };
    for (unsigned i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        if (strncmp(state, outcomes[i].prefix, strlen(outcomes[i].prefix)) == 0)
            return outcomes[i].status;
    return DB_FAILED;
}

static void postgres_forget(struct postgres_connection *connection)
{
    for (unsigned i = 0; i < POSTGRES_STATEMENTS; i++)
        free(connection->statements[i].text);
    memset(connection->statements, 0, sizeof connection->statements);
}

void postgres_drop(struct postgres_connection *connection)
{
    PQfinish(connection->handle);
    connection->handle = NULL;
    connection->open = false;
    connection->savepoints = 0;
    postgres_forget(connection);
}

void postgres_roll_back(struct postgres_connection *connection)
{
    PQclear(postgres_exec(connection, "ROLLBACK"));
    connection->open = false;
    connection->savepoints = 0;
    if (PQtransactionStatus(connection->handle) != PQTRANS_IDLE)
        postgres_drop(connection); /* the next BEGIN would go on with what was rolled back */
}

enum db_status postgres_explain(struct postgres_connection *connection, const char *doing,
                                const PGresult *result, struct db_fault *fault)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *says = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (!connection->handle || PQstatus(connection->handle) != CONNECTION_OK) {
        postgres_drop(connection);
        snprintf(fault->text, sizeof fault->text, "%s: the connection to PostgreSQL was lost",
                 doing);
        return DB_FULL;
    }
    if (!state || !says || strncmp(state, "22", 2) == 0)
        says = "";
    snprintf(fault->text, sizeof fault->text, "%s: %.180s (postgresql %s)", doing, says,
             state ? state : "without a code");
    enum db_status status = state ? postgres_outcome(state) : DB_FULL;
    if (connection->open && connection->savepoints == 0)
        postgres_roll_back(connection);
    return status;
}

/* ---- rows as they arrive */

static void count_changes(struct postgres_connection *connection, PGresult *result)
{
    if (strncmp(PQcmdStatus(result), "SELECT", 6) != 0)
        connection->changes += atoll(PQcmdTuples(result));
}

static PGresult *read_result(struct postgres_connection *connection)
{
    if (connection->hurry)
        postgres_await(connection->handle, connection->open ? ANSWER_IN_VIEW_MS : ANSWER_MS);
    return PQgetResult(connection->handle);
}

static PGresult *last_result(struct postgres_connection *connection)
{
    PGresult *result = NULL, *next;
    while ((next = read_result(connection))) {
        PQclear(result);
        result = next;
    }
    return result;
}

PGresult *postgres_exec(struct postgres_connection *connection, const char *sql)
{
    if (!connection->hurry)
        return PQexec(connection->handle, sql);
    return PQsendQuery(connection->handle, sql) ? last_result(connection) : NULL;
}

void postgres_keep_rest(struct postgres_connection *connection)
{
    struct postgres_stream *stream = connection->live;
    PGresult *result;
    connection->live = NULL;
    if (!stream)
        return;
    while ((result = read_result(connection))) {
        if (stream->count == stream->room) {
            stream->room = stream->room == 0 ? 16 : 2 * stream->room;
            stream->kept = memory_must(realloc(stream->kept, stream->room * sizeof *stream->kept));
        }
        stream->kept[stream->count++] = result;
    }
    stream->ended = true;
}

static PGresult *next_result(struct postgres_connection *connection, struct postgres_stream *stream)
{
    if (stream->shown < stream->count)
        return stream->kept[stream->shown++];
    PGresult *result = stream->ended ? NULL : read_result(connection);
    if (!result)
        stream->ended = true;
    return result;
}

/* Shows rows until EACH ends it. Reads the statement to its end in any case: it may fail behind the
 * last row that was wanted, and what it changed is counted there. */
static enum db_status postgres_show(struct postgres_connection *connection, db_row_fn *each,
                                    void *context, struct db_fault *fault)
{
    struct postgres_stream stream = {0};
    enum db_status status = DB_OK;
    PGresult *result, *failure = NULL;
    bool complete = false;
    connection->live = &stream;
    while ((result = next_result(connection, &stream))) {
        ExecStatusType kind = PQresultStatus(result);
        bool rows = kind == PGRES_SINGLE_TUPLE || kind == PGRES_TUPLES_OK;
        if (!failure && !rows && kind != PGRES_COMMAND_OK) {
            failure = result;
            continue;
        }
        for (int i = 0; rows && i < PQntuples(result) && status == DB_OK; i++) {
            connection->rows++;
            status = postgres_show_row(result, i, each, context, fault);
        }
        if (kind != PGRES_SINGLE_TUPLE) {
            count_changes(connection, result);
            complete = true;
        }
        PQclear(result);
    }
    if (connection->live == &stream)
        connection->live = NULL;
    free(stream.kept);
    if (failure || !complete)
        status = postgres_explain(connection, "run", failure, fault);
    PQclear(failure);
    return status;
}

/* ---- statements */

static bool statement_fits(const struct postgres_statement *statement, const char *sql,
                           const Oid *types, unsigned count)
{
    return statement->sql == sql && statement->count == count &&
           memcmp(statement->types, types, count * sizeof *types) == 0 &&
           strcmp(statement->text, sql) == 0;
}

static PGresult *prepare_now(struct postgres_connection *connection, const char *name,
                             const char *sql, const Oid *types, unsigned count)
{
    if (!connection->hurry)
        return PQprepare(connection->handle, name, sql, (int)count, types);
    bool sent = PQsendPrepare(connection->handle, name, sql, (int)count, types);
    return sent ? last_result(connection) : NULL;
}

/* The prepared statement's slot for SQL; NULL: preparing failed, and *OUT_STATUS says why. */
static struct postgres_statement *postgres_statement(struct postgres_connection *connection,
                                                     const char *sql, const Oid *types,
                                                     unsigned count, enum db_status *out_status,
                                                     struct db_fault *fault)
{
    size_t hash = ((size_t)(uintptr_t)sql >> 3) * 0x9E3779B97F4A7C15u >> 40;
    struct postgres_statement *slot = NULL;
    char text[NAME_SIZE + 16];
    for (unsigned probe = 0; probe < STATEMENT_PROBES; probe++) {
        struct postgres_statement *candidate =
            &connection->statements[(hash + probe) & (POSTGRES_STATEMENTS - 1)];
        if (statement_fits(candidate, sql, types, count))
            return candidate;
        if (!slot || (slot->sql && !candidate->sql))
            slot = candidate;
    }
    if (slot->sql) {
        snprintf(text, sizeof text, "DEALLOCATE s%llu", slot->number);
        PQclear(postgres_exec(connection, text));
        free(slot->text);
        *slot = (struct postgres_statement){0};
    }
    snprintf(text, sizeof text, "s%llu", ++connection->numbers);
    PGresult *result = prepare_now(connection, text, sql, types, count);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        *out_status = postgres_explain(connection, "prepare", result, fault);
        PQclear(result);
        return NULL;
    }
    PQclear(result);
    slot->sql = sql;
    slot->text = memory_copy_text(sql);
    slot->number = connection->numbers;
    slot->count = count;
    memcpy(slot->types, types, count * sizeof *types);
    return slot;
}

/* The innermost savepoint bears the only name; their number says whether a failure can be undone.
 */
static void count_savepoints(struct postgres_connection *connection, const char *sql)
{
    if (strncmp(sql, "SAVEPOINT ", 10) == 0)
        connection->savepoints++;
    else if (strncmp(sql, "RELEASE SAVEPOINT ", 18) == 0)
        connection->savepoints--;
}

enum db_status postgres_take(struct postgres_connection *connection, PGresult *result,
                             struct db_fault *fault)
{
    enum db_status status = DB_OK;
    ExecStatusType kind = PQresultStatus(result);
    if (kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK)
        count_changes(connection, result);
    else
        status = postgres_explain(connection, "run", result, fault);
    PQclear(result);
    return status;
}

static enum db_status run_bound(struct postgres_connection *connection, const char *sql,
                                const struct postgres_parameters *bound, unsigned count,
                                db_row_fn *each, void *context, struct db_fault *fault)
{
    enum db_status status = DB_OK;
    const struct postgres_statement *statement =
        postgres_statement(connection, sql, bound->types, count, &status, fault);
    if (!statement)
        return status;
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "s%llu", statement->number);
    if (!each)
        return postgres_take(connection,
                             PQexecPrepared(connection->handle, name, (int)count, bound->data,
                                            bound->sizes, bound->formats, 1),
                             fault);
    if (!PQsendQueryPrepared(connection->handle, name, (int)count, bound->data, bound->sizes,
                             bound->formats, 1))
        return postgres_explain(connection, "run", NULL, fault);
    PQsetSingleRowMode(connection->handle);
    return postgres_show(connection, each, context, fault);
}

enum db_status postgres_run(struct postgres_connection *connection, const char *sql,
                            const struct db_value *values, unsigned count, db_row_fn *each,
                            void *context, struct db_fault *fault)
{
    postgres_keep_rest(connection);
    enum db_status status = postgres_ready(connection, fault);
    if (status != DB_OK)
        return status;
    if (count == 0 && !each) {
        status = postgres_take(connection, postgres_exec(connection, sql), fault);
        if (status == DB_OK)
            count_savepoints(connection, sql);
        return status;
    }
    struct postgres_parameters bound;
    status = DB_MEMORY;
    if (postgres_bind(values, count, &bound))
        status = run_bound(connection, sql, &bound, count, each, context, fault);
    postgres_bound(&bound, count);
    return status;
}
