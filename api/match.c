/* Finds the row of a path by walking the table from its head. Most rows differ from the path within
 * a letter or two after "/v1/". */
#include "api/match.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/call/uri.h"
#include "api/json/near_name.h"

struct span {
    const char *text;
    size_t size;
};

/* Compares PATH with ROW's pattern; VALUES receives the values of the {names}, still encoded. A
 * value ends at '/' and at ':', which begins a verb: a colon inside of a value is sent as %3A. */
static bool path_fits(const struct route *row, const char *path, struct span *values,
                      unsigned *out_count)
{
    const char *pattern = row->pattern;
    unsigned count = 0;
    while (*pattern != '\0') {
        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        const char *value =
            path; /* a loop by hand: for a few bytes it is faster than the library's search */
        while (*path != '\0' && *path != '/' && *path != ':')
            path++;
        if (path == value || count == ROUTE_PARAMETERS_MAX)
            return false;
        while (*pattern++ != '}') {
        }
        if (*pattern == '\0' && (row->flags & ROUTE_REST) != 0)
            path += strlen(path);
        if (path[-1] == '/')
            return false;
        values[count++] = (struct span){value, (size_t)(path - value)};
    }
    *out_count = count;
    return *path == '\0';
}

static void take_values(const struct span *values, struct arena *arena, struct route_match *out)
{
    for (unsigned v = 0; arena && v < out->value_count; v++) {
        out->values[v] = uri_decode(values[v].text, values[v].size, false, arena);
        out->malformed = out->malformed || !out->values[v];
    }
}

void route_match(const char *method, const char *path, struct arena *arena, struct route_match *out)
{
    struct span values[ROUTE_PARAMETERS_MAX];
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    unsigned count;
    const struct route *routes = route_all(&count);
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < count && !out->route; i++)
        if (path_fits(&routes[i], path, values, &out->value_count) &&
            strcmp(routes[i].method, wanted) == 0)
            out->route = &routes[i];
    if (out->route)
        take_values(values, arena, out);
}

void route_match_row(const struct route *row, const char *path, struct arena *arena,
                     struct route_match *out)
{
    struct span values[ROUTE_PARAMETERS_MAX];
    memset(out, 0, sizeof *out);
    bool fit = path_fits(row, path, values, &out->value_count);
    assert(fit);
    (void)fit;
    out->route = row;
    take_values(values, arena, out);
}

void route_allowed(const char *path, char *out, size_t size)
{
    unsigned count, ignored;
    const struct route *routes = route_all(&count);
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        struct span values[ROUTE_PARAMETERS_MAX];
        if (!path_fits(&routes[i], path, values, &ignored))
            continue;
        const char *method = routes[i].method;
        const char *head = strcmp(method, "GET") == 0 ? "HEAD, " : "";
        int more = snprintf(out + used, size - used, "%s, %s", method, head);
        if (more > 0 && (size_t)more < size - used)
            used += (size_t)more;
    }
    if (used > 0)
        snprintf(out + used, size - used, "OPTIONS");
}

/* Copies the second part of PATH, which ends at '/' or ':'. False: it has none that fits. */
static bool second_part(const char *path, char *out, size_t size)
{
    const char *part = strchr(path + 1, '/');
    size_t length = part ? strcspn(part + 1, "/:") : 0;
    if (length == 0 || length >= size)
        return false;
    memcpy(out, part + 1, length);
    out[length] = '\0';
    return true;
}

const char *route_near(const char *path, char out[ROUTE_NEAR_SIZE])
{
    char asked[ROUTE_NEAR_SIZE], part[ROUTE_NEAR_SIZE];
    unsigned count;
    const struct route *routes = route_all(&count);
    out[0] = '\0';
    if (path[0] != '/' || !second_part(path, asked, sizeof asked))
        return out;
    size_t first = strcspn(path + 1, "/") + 2; /* "/v1/" */
    for (unsigned i = 0; i < count && out[0] == '\0'; i++) {
        if (strncmp(routes[i].pattern, path, first) != 0 ||
            !second_part(routes[i].pattern, part, sizeof part))
            continue;
        if (strcmp(part, asked) == 0)
            return out;
        size_t size = first + strlen(part);
        if (size < ROUTE_NEAR_SIZE && near_name(asked, (const char *const[]){part}, 1)) {
            memcpy(out, routes[i].pattern, size);
            out[size] = '\0';
        }
    }
    return out;
}
