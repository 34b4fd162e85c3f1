#include "api/books/trail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/call/accept.h"
#include "api/call/page.h"
#include "api/json/json_text.h"
#include "api/json/text.h"
#include "memory/buffer.h"
#include "storage/ledger/trail.h"

/* Reads the query parameter NAME, a date or a time in UTC; 0 without it. */
static enum problem read_moment(struct call *call, const char *name, int64_t *out_ms)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"};
    const char *text = call_query(call, name), *end = NULL;
    struct tm utc;
    *out_ms = 0;
    for (unsigned i = 0; text && i < 2; i++) {
        utc = (struct tm){.tm_mday = 1};
        end = strptime(text, forms[i], &utc);
        if (end && *end == '\0') {
            *out_ms = (int64_t)timegm(&utc) * 1000;
            return PROBLEM_NONE;
        }
    }
    if (!text)
        return PROBLEM_NONE;
    return call_invalid_query(call, name,
                              "must be a time in UTC, such as 2026-11-27T12:00:00Z or 2026-11-27");
}

/* Reads the query parameter NAME, an id that begins with PREFIX; "" without it. */
static enum problem read_id(struct call *call, const char *name, const char *prefix,
                            const char **out)
{
    const char *text = call_query(call, name);
    *out = text_or_empty(text);
    bool good = strncmp(*out, prefix, strlen(prefix)) == 0 || **out == '\0';
    if (good && (*out)[strspn(*out, TRAIL_LETTERS)] == '\0')
        return PROBLEM_NONE;
    return call_invalid_query(call, name, "must be an id, %s...: the audit trail has no names",
                              prefix);
}

/* Reads the number behind which the list goes on. */
static enum problem read_after(struct call *call, const struct page *page, int64_t *out)
{
    const char *text = call_query(call, "after");
    char *end = NULL;
    *out = page->rows.number;
    if (!text || page->rows.after)
        return PROBLEM_NONE;
    *out = strtoll(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0' && *out < INT64_MAX)
        return PROBLEM_NONE;
    return call_invalid_query(call, "after", "must be the number of a row");
}

static bool add_trail_row(void *context, const struct trail_row *row)
{
    char text[TRAIL_TEXT_SIZE];
    (void)trail_text(row, text);
    return page_add(context, json_text_stored(text), row->number, "");
}

struct lines {
    struct buffer text;
    unsigned left;
};

static bool add_trail_line(void *context, const struct trail_row *row)
{
    struct lines *lines = context;
    char text[TRAIL_TEXT_SIZE];
    (void)buffer_add(&lines->text, text, trail_text(row, text));
    (void)buffer_add_text(&lines->text, "\n");
    return --lines->left > 0;
}

static enum problem reply_lines(struct call *call, const struct trail_filter *filter)
{
    struct lines lines = {.text = {.lid = (size_t)PAGE_SIZE_MAX * TRAIL_TEXT_SIZE},
                          .left = filter->limit - 1};
    size_t size = 0;
    enum db_status status = trail_list(call->db, filter, add_trail_line, &lines);
    if (status == DB_OK) {
        char *bytes = buffer_take(&lines.text, &size);
        return call_reply_bytes(call, 200, "application/x-ndjson", bytes, size);
    }
    buffer_clear(&lines.text);
    return call_db(call, status);
}

enum problem api_trail_list(struct call *call)
{
    struct page page;
    const char *accept = call_request_header(call, "Accept");
    struct trail_filter filter = {.client = ""};
    int lines = accept ? accept_quality(accept, "application", "x-ndjson") : 0;
    int json = accept_quality(accept, "application", "json");
    enum problem problem = page_read(call, &page);
    if (problem == PROBLEM_NONE)
        problem = read_id(call, "client", "cli_", &filter.client);
    if (problem == PROBLEM_NONE)
        problem = read_id(call, "resource", "", &filter.resource);
    if (problem == PROBLEM_NONE)
        problem = read_moment(call, "since", &filter.since_ms);
    if (problem == PROBLEM_NONE)
        problem = read_moment(call, "until", &filter.until_ms);
    if (problem == PROBLEM_NONE)
        problem = read_after(call, &page, &filter.after);
    if (problem != PROBLEM_NONE)
        return problem;
    if (lines == 0 && json == 0)
        return call_problem(call, PROBLEM_NOT_ACCEPTABLE,
                            "This endpoint answers application/json and application/x-ndjson.");
    filter.limit = page.rows.limit;
    if (lines > json)
        return reply_lines(call, &filter);
    return page_end(&page, trail_list(call->db, &filter, add_trail_row, &page));
}
