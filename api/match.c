/* How a path finds its row of the table.
 *
 * The table is walked from its head: some sixty rows that mostly differ within their first ten
 * characters, a few hundred comparisons of bytes. */
#include <stdio.h>
#include <string.h>

#include "api/route.h"
#include "api/uri.h"

struct span {
    const char *text;
    size_t size;
};

/* Compares PATH with PATTERN; VALUES receives what stood for the {names}, still encoded. A value
 * ends at '/' and at ':', which begins a verb: a colon inside of a value is sent as %3A. */
static bool fits(const char *pattern, const char *path, struct span *values, unsigned *out_count)
{
    unsigned count = 0;
    while (*pattern != '\0') {
        if (*pattern != '{') {
            if (*pattern++ != *path++) {
                return false;
            }
            continue;
        }
        const char *value = path; /* a few bytes: the library's search takes longer to begin */
        while (*path != '\0' && *path != '/' && *path != ':') {
            path++;
        }
        if (path == value || count == ROUTE_PARAMETERS_MAX) {
            return false;
        }
        values[count++] = (struct span){value, (size_t)(path - value)};
        while (*pattern++ != '}') {
        }
    }
    *out_count = count;
    return *path == '\0';
}

#define START 4 /* bytes of "/v1/", with which most rows begin; a letter follows */

static bool shares_start(const char *path)
{
    return path[0] == '/' && path[1] == 'v' && path[2] == '1' && path[3] == '/';
}

void route_match(const char *method, const char *path, struct arena *arena, struct route_match *out)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    bool shared = shares_start(path);
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < count; i++) {
        struct span values[ROUTE_PARAMETERS_MAX];
        if (shared && shares_start(routes[i].pattern) && routes[i].pattern[START] != path[START]) {
            continue;
        }
        if (!fits(routes[i].pattern, path, values, &out->value_count)) {
            continue;
        }
        if (strcmp(routes[i].method, wanted) != 0) {
            out->wrong_verb = true;
            continue;
        }
        out->route = &routes[i];
        for (unsigned v = 0; arena != NULL && v < out->value_count; v++) {
            out->values[v] = uri_decode(values[v].text, values[v].size, false, arena);
            out->malformed = out->malformed || out->values[v] == NULL;
        }
        return;
    }
}

void route_allowed(const char *path, char *out, size_t size)
{
    unsigned count, ignored;
    const struct route *routes = route_all(&count);
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        struct span values[ROUTE_PARAMETERS_MAX];
        if (!fits(routes[i].pattern, path, values, &ignored)) {
            continue;
        }
        const char *method = routes[i].method;
        int more = snprintf(out + used, size - used, "%s, %s", method,
                            strcmp(method, "GET") == 0 ? "HEAD, " : "");
        used += more > 0 && (size_t)more < size - used ? (size_t)more : 0;
    }
    if (used > 0) {
        snprintf(out + used, size - used, "OPTIONS");
    }
}

bool route_writes(const struct route *route)
{
    return strcmp(route->method, "GET") != 0 && (route->flags & ROUTE_READS) == 0;
}

static const struct {
    const char *name;
    enum role role;
} roles[] = {
    {"admin", ROLE_ADMIN},     {"steward", ROLE_STEWARD}, {"contributor", ROLE_CONTRIBUTOR},
    {"student", ROLE_STUDENT}, {"agent", ROLE_AGENT},     {"auditor", ROLE_AUDITOR}};

#define ROLE_COUNT (sizeof roles / sizeof roles[0])

enum role role_find(const char *name)
{
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        if (strcmp(roles[i].name, name) == 0) {
            return roles[i].role;
        }
    }
    return ROLE_NONE;
}

const char *role_name(enum role role)
{
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        if (roles[i].role == role) {
            return roles[i].name;
        }
    }
    return "";
}
