#include "tests/simulator/lists.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS 64

/* SQL for one row: a SELECT of its values, and of its number, stands for the unnest. */
static char *lists_one_row(const char *sql, unsigned count)
{
    static const char ordinality[] = " WITH ORDINALITY AS n (";
    const char *from = strstr(sql, "unnest(");
    const char *rest = from ? strchr(from, ')') + 1 : NULL;
    size_t size = strlen(sql) + 64u * (count + 1);
    char *text = malloc(size);
    assert(from && text);
    bool numbered = strncmp(rest, ordinality, strlen(ordinality)) == 0;
    size_t at = (size_t)snprintf(text, size, "%.*s(SELECT ", (int)(from - sql), sql);
    rest += numbered ? strlen(ordinality) : 0;
    for (unsigned i = 1; i <= count + numbered; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s$%u", i > 1 ? ", " : "", i);
        if (!numbered)
            continue;
        size_t name = strcspn(rest, ",)");
        at += (size_t)snprintf(text + at, size - at, " AS %.*s", (int)name, rest);
        rest += name + 1 + (rest[name] == ',');
    }
    snprintf(text + at, size - at, ")%s%s", numbered ? " AS n" : "", rest);
    return text;
}

/* The same text at each call, by which the driver knows the statement. */
static const char *lists_text(const char *sql, unsigned count)
{
    static struct {
        char *of, *text;
    } known[TEXTS];
    unsigned i = 0;
    while (i < TEXTS && known[i].of && strcmp(known[i].of, sql) != 0)
        i++;
    assert(i < TEXTS);
    if (!known[i].of) {
        known[i].of = strdup(sql);
        known[i].text = lists_one_row(sql, count);
    }
    return known[i].text;
}

enum db_status lists_run(const struct db_driver *driver, void *connection, const char *sql,
                         const struct db_value *values, unsigned count, db_row_fn *each,
                         void *context, struct db_fault *fault)
{
    struct db_value row[DB_VALUES_MAX + 1];
    enum db_status status = DB_OK;
    if (count == 0 || values[0].type != DB_LIST)
        return driver->run(connection, sql, values, count, each, context, fault);
    const char *text = lists_text(sql, count);
    for (size_t i = 0; i < values[0].size && status == DB_OK; i++) {
        for (unsigned j = 0; j < count; j++) {
            assert(values[j].type == DB_LIST && values[j].size == values[0].size);
            row[j] = ((const struct db_value *)values[j].data)[i];
        }
        row[count] = db_integer((int64_t)i + 1);
        status = driver->run(connection, text, row, count + 1, each, context, fault);
    }
    return status;
}
