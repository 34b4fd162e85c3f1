/* Lists come in pages: ?page_size= (default 50, at most 1000) and an opaque ?page_token=.
 *
 *     struct page page;
 *     enum problem problem = page_read(call, &page);
 *     if (problem != PROBLEM_NONE)
 *         return problem;
 *     return page_end(&page, things_list(call->db, &page.rows, add_thing, &page));
 *
 * where add_thing(void *page, const struct thing *thing) is
 *     return page_add(page, thing_json(thing), thing->created_ms, thing->id);
 *
 * A token names the last item of its page by a number, which in a list by sequence is all, and a
 * text. It is opaque to callers and worth nothing to a forger, because it is compared with what the
 * caller may see, and nothing is looked up by it. */
#ifndef TACET_API_CALL_PAGE_H
#define TACET_API_CALL_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/call/call.h"
#include "storage/db/db.h"

#define PAGE_SIZE_DEFAULT 50
#define PAGE_SIZE_MAX     1000
#define PAGE_CURSOR_SIZE  160 /* bytes of a cursor, its NUL included */

struct page {
    struct call *call;
    struct listing_page rows; /* to ask storage for: one more than the page shows */

    /* private */
    json_t *items, *more;
    unsigned size, count;
    enum db_status fault; /* of an item; page_end answers with it */
    char last[PAGE_CURSOR_SIZE];
};

/* Reads both parameters (the route's query list must name them: "page_size page_token"). */
enum problem page_read(struct call *call, struct page *out);

/* The page of a list that comes whole: no parameter is read, and number and name are of no use. */
void page_whole(struct call *call, struct page *out);

/* Adds ITEM (a new reference, taken; NULL: it could not be made), which NUMBER and NAME name in
 * this list. False: the page is full, or failed. */
bool page_add(struct page *page, json_t *item, int64_t number, const char *name);

/* Puts "counts" beside the items, with JSON (a new reference, taken). */
void page_counts(struct page *page, json_t *json);

/* Answers a listing that gave STATUS: {"items":[...],"next_page_token":...}, or the problem that
 * STATUS stands for. */
enum problem page_end(struct page *page, enum db_status status);

/* Whose things the list shows: ids of projects, separated by spaces, or NULL, those of all. A
 * steward sees what belongs to its projects. Where ?project= is given it is that one alone, if the
 * caller may see it. */
const char *page_owner(const struct page *page);

#endif
