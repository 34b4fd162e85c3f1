/* Cursors inside of page tokens. They come back from the caller, so they are read with suspicion.
 */
#include "api/cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Reads digits; *end is behind them. False when there are none or too many. */
static bool read_digits(const char *text, int64_t *out, const char **end)
{
    if (*text < '0' || *text > '9') {
        return false;
    }
    char *stop;
    errno = 0;
    long long value = strtoll(text, &stop, 10);
    *out = value;
    *end = stop;
    return errno == 0;
}

static bool refuse(struct call *call)
{
    call_invalid_query(call, "page_token", "is not a token of an earlier page");
    return false;
}

bool cursor_read(struct call *call, const struct page *page, struct cursor *out)
{
    *out = (struct cursor){.ms = 0, .id = ""};
    if (page->after == NULL) {
        return true;
    }
    const char *end;
    if (!read_digits(page->after, &out->ms, &end) || *end != ',' || strlen(end + 1) > 31) {
        return refuse(call);
    }
    out->id = end + 1;
    return true;
}

const char *cursor_write(struct call *call, int64_t ms, const char *id)
{
    return arena_format(&call->arena, "%" PRId64 ",%s", ms, id);
}

bool cursor_read_number(struct call *call, const struct page *page, int64_t *out)
{
    *out = 0;
    const char *end;
    if (page->after != NULL && (!read_digits(page->after, out, &end) || *end != '\0')) {
        return refuse(call);
    }
    return true;
}

const char *cursor_write_number(struct call *call, int64_t number)
{
    return arena_format(&call->arena, "%" PRId64, number);
}
