/* Cursors of lists in order of time: "<milliseconds>,<id>" of the last item. */
#ifndef TACET_API_CURSOR_H
#define TACET_API_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "api/page.h"

struct cursor {
    int64_t ms;     /* 0 on the first page */
    const char *id; /* "" on the first page */
};

/* Reads the cursor of PAGE; false after saying that page_token is none. */
bool cursor_read(struct call *call, const struct page *page, struct cursor *out);

/* The cursor behind an item, for page_reply; in the arena. */
const char *cursor_write(struct call *call, int64_t ms, const char *id);

/* The same for lists in order of a number alone, such as an account's entries: 0 on the first page.
 */
bool cursor_read_number(struct call *call, const struct page *page, int64_t *out);
const char *cursor_write_number(struct call *call, int64_t number);

#endif
