/* RFC 9110, section 13.1.1. */
#include "api/call/revision.h"

#include <stdio.h>
#include <string.h>

void revision_show(struct call *call, int64_t revision)
{
    call_header(call, "ETag", "\"%lld\"", (long long)revision);
}

/* True when If-Match is "*", or a list of entity tags with that of REVISION. A weak tag matches
 * nothing. */
static bool revision_matches(const char *header, int64_t revision)
{
    char tag[32];
    size_t size = (size_t)snprintf(tag, sizeof tag, "\"%lld\"", (long long)revision);
    bool found = strcmp(header, "*") == 0;
    for (const char *at = header; !found && *at;) {
        at += strspn(at, " \t,");
        size_t length = strncmp(at, "W/", 2) == 0 ? 2 : 0;
        const char *end = at[length] == '"' ? strchr(at + length + 1, '"') : NULL;
        if (!end)
            return false;
        length = (size_t)(end + 1 - at);
        found = length == size && memcmp(at, tag, size) == 0;
        at += length;
        if (*at && !strchr(" \t,", *at))
            return false;
    }
    return found;
}

enum problem revision_check(struct call *call, const char *what, int64_t revision)
{
    const char *match = call_request_header(call, "If-Match");
    if (!match) {
        return call_problem(call, PROBLEM_PRECONDITION_REQUIRED,
                            "The %s exists: send its ETag as If-Match to change it.", what);
    }
    if (revision_matches(match, revision))
        return PROBLEM_NONE;
    return call_problem(call, PROBLEM_PRECONDITION_FAILED,
                        "The %s has changed since: its ETag is \"%lld\".", what,
                        (long long)revision);
}
