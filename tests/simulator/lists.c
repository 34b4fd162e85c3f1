#include "tests/simulator/lists.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS 64

/* Skips PREFIX of *TEXT, if it begins so. */
static bool skip_text(const char **text, const char *prefix)
{
    bool found = strncmp(*text, prefix, strlen(prefix)) == 0;
    *text += found ? strlen(prefix) : 0;
    return found;
}

/* Writes the first of VALUES, and the first of NAMES, if there are any. Both go on. */
static size_t write_value(char *out, const char **values, const char **names)
{
    size_t value = strcspn(*values, ",)"), name = *names ? strcspn(*names, ",)") : 0;
    size_t size = (size_t)sprintf(out, "%.*s%s%.*s", (int)value, *values, *names ? " AS " : "",
                                  (int)name, *names ? *names : "");
    *values += value + 1;
    if (*names)
        *names += name + 1;
    return size;
}

/* SQL for one row: a SELECT of its values, and of its number, which is the value after COUNT
 * others, stands for the unnest. */
static char *lists_one_row(const char *sql, unsigned count)
{
    char number[16];
    const char *from = strstr(sql, "unnest("), *values = from, *value = number;
    const char *rest = from ? strchr(from, ')') + 1 : NULL;
    char *text = malloc(strlen(sql) + 64u * (count + 1));
    assert(from && text);
    values += strlen("unnest(");
    snprintf(number, sizeof number, "$%u", count + 1);
    bool numbered = skip_text(&rest, " WITH ORDINALITY");
    const char *names = skip_text(&rest, " AS n (") ? rest : NULL;
    size_t at = (size_t)sprintf(text, "%.*s(SELECT ", (int)(from - sql), sql);
    at += write_value(text + at, &values, &names);
    while (values[-1] == ',' || (numbered && value == number)) {
        bool last = values[-1] == ')';
        at += (size_t)sprintf(text + at, ", ");
        at += write_value(text + at, last ? &value : &values, &names);
    }
    rest = names ? names : rest;
    bool conflicts = strncmp(rest, " ON CONFLICT", 12) == 0; /* else SQLite takes it for a join's */
    sprintf(text + at, ")%s%s%s", names ? " AS n" : "", conflicts ? " WHERE true" : "", rest);
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
    unsigned first = 0;
    while (first < count && values[first].type != DB_LIST)
        first++;
    if (first == count)
        return driver->run(connection, sql, values, count, each, context, fault);
    const char *text = lists_text(sql, count);
    for (size_t i = 0; i < values[first].size && status == DB_OK; i++) {
        for (unsigned j = 0; j < count; j++) {
            bool list = values[j].type == DB_LIST;
            assert(!list || values[j].size == values[first].size);
            row[j] = list ? ((const struct db_value *)values[j].data)[i] : values[j];
        }
        row[count] = db_integer((int64_t)i + 1);
        status = driver->run(connection, text, row, count + 1, each, context, fault);
    }
    return status;
}
