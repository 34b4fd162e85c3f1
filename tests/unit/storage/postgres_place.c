#include "tests/unit/storage/postgres_place.h"

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *server_of_tests(void)
{
    return getenv("POSTGRES_TEST_DATABASE");
}

bool postgres_place_wanted(void)
{
    return server_of_tests() != NULL;
}

void postgres_place_run(const char *url, const char *sql)
{
    char own[256];
    snprintf(own, sizeof own, "postgresql:///postgres?%s", server_of_tests());
    PGconn *handle = PQconnectdb(url ? url : own);
    cr_assert_eq(PQstatus(handle), CONNECTION_OK, "%s", PQerrorMessage(handle));
    PQclear(PQexec(handle, "SET client_min_messages = warning"));
    PGresult *result = PQexec(handle, sql);
    cr_assert(PQresultStatus(result) == PGRES_COMMAND_OK ||
                  PQresultStatus(result) == PGRES_TUPLES_OK,
              "%s", PQerrorMessage(handle));
    PQclear(result);
    PQfinish(handle);
}

void postgres_place_make(char *url, size_t size)
{
    static unsigned places;
    char sql[96], name[48];
    snprintf(name, sizeof name, "tacet_%d_%u", (int)getpid(), ++places);
    snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE template0", name);
    postgres_place_run(NULL, sql);
    int n = snprintf(url, size, "postgresql:///%s?%s", name, server_of_tests());
    cr_assert(n > 0 && (size_t)n < size);
}

void postgres_place_drop(const char *url)
{
    char sql[96];
    const char *name = url + strlen("postgresql:///");
    snprintf(sql, sizeof sql, "DROP DATABASE %.*s WITH (FORCE)", (int)strcspn(name, "?"), name);
    postgres_place_run(NULL, sql);
}
