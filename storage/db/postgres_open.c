/* DESIGN. Libpq's own error texts repeat parts of the URL, which may be parts of a password that
 * was not written as URLs want it. What is shown is the server's own text, or one of a few known
 * phrases.
 *
 * Every connection shares an advisory lock. Who gets that lock for itself alone (the driver's
 * alone) knows that no other process works on the database. */
#include "storage/db/postgres_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

#define LOCK_TIMEOUT_MS 10000
#define ANSWER_SIZE     128

static enum db_status refuse_database(struct db_fault *fault, const char *format, const char *what)
{
    snprintf(fault->text, sizeof fault->text, format, what);
    return DB_FAILED;
}

static bool run_plainly(PGconn *handle, const char *sql)
{
    PGresult *result = PQexec(handle, sql);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

bool postgres_first(PGresult *result, char *out, size_t size)
{
    bool found = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
    snprintf(out, size, "%s", found ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return found;
}

bool postgres_ask(PGconn *handle, const char *sql, char *out, size_t size)
{
    return postgres_first(PQexec(handle, sql), out, size);
}

/* ---- connecting */

/* Whether libpq would find user, password, host and name where their writer meant them. */
static bool url_is_clear(const char *url)
{
    const char *rest = strstr(url, "://");
    if (!rest || (strncmp(url, "postgresql://", 13) != 0 && strncmp(url, "postgres://", 11) != 0))
        return false;
    const char *at = strchr(rest, '@');
    if (at && (strchr(at + 1, '@') || (size_t)(at - rest - 3) > strcspn(rest + 3, "/?#")))
        return false;
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    PQconninfoFree(options);
    return options != NULL;
}

static const char *known_phrase(const char *text)
{
    static const char *const phrases[] = {
        "no password supplied",      "could not translate host name",
        "Connection refused",        "No such file or directory",
        "Permission denied",         "timeout expired",
        "certificate verify failed", "does not support SSL",
        "root certificate file",     "server closed the connection"};
    for (unsigned i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (strstr(text, phrases[i]))
            return phrases[i];
    return "look at its host, port and folder of sockets";
}

/* A server that is starting or stopping, or has no place left, may be there later. */
static enum db_status explain_connecting(const PGconn *handle, struct db_fault *fault)
{
    const char *text = PQerrorMessage(handle), *said = strstr(text, "FATAL:  ");
    const char *last = said ? strstr(said + 1, "FATAL:  ") : NULL;
    said = last ? last : said;
    if (!said) {
        snprintf(fault->text, sizeof fault->text, "PostgreSQL cannot be reached: %s",
                 known_phrase(text));
        return DB_FULL;
    }
    said += strlen("FATAL:  ");
    snprintf(fault->text, sizeof fault->text, "PostgreSQL refused the connection: %.*s",
             (int)strcspn(said, "\n"), said);
    return strstr(said, "starting up") || strstr(said, "shutting down") ||
                   strstr(said, "too many") || strstr(said, "recovery mode") ||
                   strstr(said, "reserved for")
               ? DB_FULL
               : DB_FAILED;
}

static enum db_status connect_to(const char *url, const char *password, PGconn **out,
                                 struct db_fault *fault)
{
    /* Behind the URL stands what it cannot change; a password of NULL is none. */
    const char *const names[] = {
        "connect_timeout", "keepalives_idle", "tcp_user_timeout", "application_name",
        "dbname",          "client_encoding", "password",         NULL};
    const char *const values[] = {"5", "5", "10000", "tacet", url, "UTF8", password, NULL};
    *out = memory_must(PQconnectdbParams(names, values, 1));
    if (PQstatus(*out) == CONNECTION_OK)
        return DB_OK;
    enum db_status status = explain_connecting(*out, fault);
    PQfinish(*out);
    *out = NULL;
    return status;
}

/* ---- what the database must be */

struct demand {
    const char *sql; /* gives '' when all is well, else what is shown */
    const char *format;
};

static const struct demand always[] = {
    {"SELECT CASE WHEN current_setting('server_version_num')::int >= 140000 THEN '' ELSE"
     " current_setting('server_version') END",
     "PostgreSQL %s is too old: version 14 or newer is needed"},
    {"SELECT CASE WHEN pg_is_in_recovery() THEN 'a standby' ELSE '' END",
     "the PostgreSQL server is %s: only the primary can be written to"},
    {"SELECT CASE WHEN current_setting('transaction_read_only') = 'on' THEN 'only be read' ELSE ''"
     " END",
     "the PostgreSQL database can %s (default_transaction_read_only)"},
    {"SELECT CASE current_setting('server_encoding') WHEN 'UTF8' THEN '' ELSE"
     " current_setting('server_encoding') END",
     "the PostgreSQL database has the encoding %s: make one with UTF8"},
    {"SELECT coalesce((SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c JOIN"
     " pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm',"
     " 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND"
     " to_regclass('" POSTGRES_SCHEMA ".schema_versions') IS NULL ORDER BY 1 LIMIT 1), '')",
     "the PostgreSQL database belongs to another program (it has %.80s): make one for tacet alone"},
    {"SELECT CASE WHEN to_regnamespace('" POSTGRES_SCHEMA "') IS NULL AND NOT"
     " has_database_privilege(current_database(), 'CREATE') THEN current_user ELSE '' END",
     "the user %.80s may not make a schema in the PostgreSQL database: make it the owner"},
};

/* How many standbys a commit has to wait for: a superuser says so of the database.
 */
#define STANDBYS_ASKED "coalesce(current_setting('tacet.standbys', true), '')"

static const struct demand durable[] = {
    {"SELECT CASE WHEN current_setting('fsync') = 'on' AND current_setting('full_page_writes') ="
     " 'on' THEN '' ELSE 'fsync or full_page_writes is off' END",
     "the PostgreSQL server would lose what it has confirmed: %s"},
    {"SELECT CASE WHEN current_setting('synchronous_commit') IN ('on', 'remote_apply') THEN ''"
     " ELSE current_setting('synchronous_commit') END",
     "the PostgreSQL server would lose what it has confirmed: synchronous_commit is %s, and must "
     "be on"},
    {"SELECT CASE WHEN " STANDBYS_ASKED " ~ '^[0-9]{0,3}$' THEN '' ELSE " STANDBYS_ASKED " END",
     "tacet.standbys of the PostgreSQL database is \"%.40s\": it must be a number"},
    {"SELECT CASE WHEN waits >= asked THEN '' ELSE 'tacet.standbys of the database asks for ' || "
     "asked || ' standbys in each commit, and synchronous_standby_names waits for ' || waits END"
     " FROM (SELECT coalesce(nullif(" STANDBYS_ASKED ", '')::int, 0) AS asked,"
     " CASE WHEN btrim(names) = '' THEN 0 ELSE coalesce(substring(names FROM"
     " '(?i)^ *(?:(?:first|any) +)?([0-9]+) *[(]')::int, 1) END AS waits"
     " FROM current_setting('synchronous_standby_names') AS names) AS standbys",
     "the PostgreSQL server would lose what it has confirmed: %s"},
};

static enum db_status check_demands(PGconn *handle, const struct demand *demands, size_t count,
                                    struct db_fault *fault)
{
    char answer[ANSWER_SIZE];
    for (size_t i = 0; i < count; i++) {
        if (!postgres_ask(handle, demands[i].sql, answer, sizeof answer)) {
            snprintf(fault->text, sizeof fault->text, "PostgreSQL did not say what it is");
            return PQstatus(handle) == CONNECTION_OK ? DB_FAILED : DB_FULL;
        }
        if (answer[0] != '\0')
            return refuse_database(fault, demands[i].format, answer);
    }
    return DB_OK;
}

/* Waits for one who has the database for itself: it changes the schema, or has just started. */
static enum db_status join_database(PGconn *handle, struct db_fault *fault)
{
    char answer[ANSWER_SIZE];
    if (postgres_ask(handle,
                     "SET lock_timeout = 10000; SELECT pg_advisory_lock_shared(" POSTGRES_LOCKS
                     ", " POSTGRES_PRESENCE_LOCK ")",
                     answer, sizeof answer))
        return DB_OK;
    snprintf(fault->text, sizeof fault->text,
             "another tacet process has the PostgreSQL database for itself, as long as it changes "
             "the schema");
    return DB_FULL;
}

/* Sets what holds for the connection, now that the database has what was asked for. */
static enum db_status set_up_session(PGconn *handle, const struct db_settings *settings,
                                     struct db_fault *fault)
{
    char sql[768];
    unsigned wait = settings->busy_timeout_ms == 0 ? LOCK_TIMEOUT_MS : settings->busy_timeout_ms;
    snprintf(
        sql, sizeof sql,
        "CREATE SCHEMA IF NOT EXISTS " POSTGRES_SCHEMA "; SET search_path = " POSTGRES_SCHEMA
        "; SET client_min_messages = warning; SET lock_timeout = %u; SET statement_timeout = 0;"
        " SET idle_in_transaction_session_timeout = 0; SET jit = off;"
        " SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = "
        "3;"
        " SET tcp_user_timeout = 10000;" /* the claim of a dead server must end */
        " SET plan_cache_mode = force_generic_plan; SET synchronous_commit = %s",
        wait, settings->not_durable ? "off" : "on");
    PGresult *result = PQexec(handle, "SHOW synchronous_commit");
    bool applied = PQntuples(result) == 1 && strcmp(PQgetvalue(result, 0, 0), "remote_apply") == 0;
    PQclear(result);
    /* Two who make the schema at once: the second one finds it at its second try. */
    if (!run_plainly(handle, "SET client_min_messages = warning") ||
        (!run_plainly(handle, sql) && !run_plainly(handle, sql)) ||
        (applied && !settings->not_durable &&
         !run_plainly(handle, "SET synchronous_commit = remote_apply")))
        return refuse_database(fault, "the PostgreSQL database cannot be set up%s", "");
    return DB_OK;
}

enum db_status postgres_open(const struct db_settings *settings, const char *password, PGconn **out,
                             struct db_fault *fault)
{
    *out = NULL;
    if (!url_is_clear(settings->location))
        return refuse_database(fault,
                               "the URL of the database cannot be read: it is "
                               "postgresql://USER:PASSWORD@HOST:PORT/NAME, with %s",
                               "%40 for @ and %2F for / in a password");
    enum db_status status = connect_to(settings->location, password, out, fault);
    if (status == DB_OK)
        status = check_demands(*out, always, sizeof always / sizeof *always, fault);
    if (status == DB_OK && !settings->not_durable)
        status = check_demands(*out, durable, sizeof durable / sizeof *durable, fault);
    if (status == DB_OK)
        status = join_database(*out, fault);
    if (status == DB_OK)
        status = set_up_session(*out, settings, fault);
    if (status != DB_OK) {
        PQfinish(*out);
        *out = NULL;
    }
    return status;
}
