/* Roles, and properties of a route's row. */
#include "api/call/route.h"

#include <string.h>

static const struct {
    const char *name;
    enum role role;
} ROLES[] = {
    {"admin", ROLE_ADMIN},     {"steward", ROLE_STEWARD}, {"contributor", ROLE_CONTRIBUTOR},
    {"student", ROLE_STUDENT}, {"agent", ROLE_AGENT},     {"auditor", ROLE_AUDITOR},
    {"monitor", ROLE_MONITOR}};

#define ROLE_COUNT (sizeof ROLES / sizeof ROLES[0])

bool route_writes(const struct route *route)
{
    return strcmp(route->method, "GET") != 0 && !(route->flags & ROUTE_READS);
}

bool route_in_trail(const struct route *route)
{
    return route_writes(route) && !(route->flags & ROUTE_NO_TRAIL);
}

enum scope route_scope(const struct route *route)
{
    if (route->flags & (ROUTE_KEY_REQUIRED | ROUTE_KEY_OR_ID))
        return SCOPE_SPEND;
    if (route_writes(route))
        return SCOPE_WRITE;
    return SCOPE_READ;
}

static const char *const SCOPES[] = {"read", "write", "spend"};

#define SCOPE_COUNT (sizeof SCOPES / sizeof SCOPES[0])

unsigned scope_find(const char *name)
{
    for (size_t i = 0; i < SCOPE_COUNT; i++)
        if (strcmp(SCOPES[i], name) == 0)
            return 1U << i;
    return 0;
}

const char *scope_name(unsigned scope)
{
    for (size_t i = 0; i < SCOPE_COUNT; i++)
        if (scope == 1U << i)
            return SCOPES[i];
    return "";
}

enum role role_find(const char *name)
{
    for (size_t i = 0; i < ROLE_COUNT; i++)
        if (strcmp(ROLES[i].name, name) == 0)
            return ROLES[i].role;
    return ROLE_NONE;
}

const char *role_name(enum role role)
{
    for (size_t i = 0; i < ROLE_COUNT; i++)
        if (ROLES[i].role == role)
            return ROLES[i].name;
    return "";
}
