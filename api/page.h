/* Lists come in pages: ?page_size= (default 50, at most 1000) and an opaque ?page_token=. */
#ifndef TACET_API_PAGE_H
#define TACET_API_PAGE_H

#include <jansson.h>

#include "api/call.h"

#define PAGE_SIZE_DEFAULT 50
#define PAGE_SIZE_MAX     1000
#define PAGE_CURSOR_MAX   120 /* bytes of a cursor */

struct page {
    unsigned size;
    const char *after; /* cursor of the last element of the page before; NULL on the first page */
};

/* Reads both parameters (the route's query list must name them: "page_size page_token").
 * PROBLEM_NONE or PROBLEM_VALIDATION. */
enum problem page_read(struct call *call, struct page *out);

/* Answers {"items":[...],"next_page_token":...}. ITEMS is a new reference that is taken. NEXT is
 * the cursor of the last item when there are more (plain text, e.g. an id or "time,id"; it is
 * encoded here), or NULL. */
enum problem page_reply(struct call *call, json_t *items, const char *next);

#endif
