/* Roles, and properties of a route's row. */
#include "api/call/route.h"

#include <string.h>

static const struct {
    const char *name;
    enum role role;
} ROLES[] = {
    {"admin", ROLE_ADMIN},     {"steward", ROLE_STEWARD}, {"contributor", ROLE_CONTRIBUTOR},
    {"student", ROLE_STUDENT}, {"agent", ROLE_AGENT},     {"auditor", ROLE_AUDITOR}};

#define ROLE_COUNT (sizeof ROLES / sizeof ROLES[0])

bool route_writes(const struct route *route)
{
    return strcmp(route->method, "GET") != 0 && !(route->flags & ROUTE_READS);
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
