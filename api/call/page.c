/* Paging. A token is the base64url of "NUMBER NAME". */
#include "api/call/page.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/project.h"
#include "api/json/utf8.h"

#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

static enum problem read_size(struct call *call, unsigned *out)
{
    const char *size = call_query(call, "page_size");
    if (!size) {
        *out = PAGE_SIZE_DEFAULT;
        return PROBLEM_NONE;
    }
    char *end;
    long value = strtol(size, &end, 10);
    if (*size < '0' || *size > '9' || *end != '\0' || value < 1 || value > PAGE_SIZE_MAX) {
        return call_invalid_query(call, "page_size", "must be an integer from 1 to %d",
                                  PAGE_SIZE_MAX);
    }
    *out = (unsigned)value;
    return PROBLEM_NONE;
}

static enum problem read_token(struct call *call, struct listing_page *out)
{
    const char *token = call_query(call, "page_token");
    if (!token)
        return PROBLEM_NONE;
    char cursor[PAGE_CURSOR_SIZE] = "";
    char *end = cursor;
    size_t length = 0;
    bool good = sodium_base642bin((unsigned char *)cursor, sizeof cursor - 1, token, strlen(token),
                                  NULL, &length, NULL, VARIANT) == 0 &&
                !memchr(cursor, '\0', length) && utf8_is_valid(cursor, length);
    errno = 0;
    if (good && *cursor >= '0' && *cursor <= '9')
        out->number = strtoll(cursor, &end, 10);
    if (end == cursor || *end != ' ' || errno != 0)
        return call_invalid_query(call, "page_token", "is not a token of an earlier page");
    out->after = arena_copy(&call->arena, end + 1, strlen(end + 1));
    return PROBLEM_NONE;
}

void page_whole(struct call *call, struct page *out)
{
    *out = (struct page){.call = call,
                         .items = call_own(call, json_array()),
                         .more = call_own(call, json_object()),
                         .size = UINT_MAX};
}

enum problem page_read(struct call *call, struct page *out)
{
    page_whole(call, out);
    enum problem problem = read_size(call, &out->size);
    enum problem token = read_token(call, &out->rows);
    if (problem == PROBLEM_NONE)
        problem = token;
    if (problem != PROBLEM_NONE)
        return problem;
    out->rows.limit = out->size + 1;
    return PROBLEM_NONE;
}

/* Why an item could not be made. */
static enum db_status page_fault(const struct call *call)
{
    return call->db_failure == DB_OK ? DB_FAILED : (enum db_status)call->db_failure;
}

bool page_add(struct page *page, json_t *item, int64_t number, const char *name)
{
    page->count++;
    if (page->count > page->size) {
        json_decref(item);
        return false;
    }
    snprintf(page->last, sizeof page->last, "%" PRId64 " %s", number, name);
    if (json_array_append_new(page->items, item) != 0) /* there is no ITEM */
        page->fault = page_fault(page->call);
    return page->fault == DB_OK;
}

void page_counts(struct page *page, json_t *json)
{
    if (json_object_set_new(page->more, "counts", json) != 0)
        page->fault = DB_FAILED;
}

enum problem page_end(struct page *page, enum db_status status)
{
    if (status == DB_OK)
        status = page->fault;
    if (status != DB_OK)
        return call_db(page->call, status);
    json_t *next = json_null();
    if (page->count > page->size) {
        char token[sodium_base64_ENCODED_LEN(PAGE_CURSOR_SIZE, VARIANT)];
        sodium_bin2base64(token, sizeof token, (const unsigned char *)page->last,
                          strlen(page->last), VARIANT);
        next = json_string(token);
    }
    json_t *whole = json_pack("{s:O, s:o}", "items", page->items, "next_page_token", next);
    json_object_update(whole, page->more);
    return call_reply_json(page->call, 200, whole);
}

const char *page_owner(const struct page *page)
{
    const char *wanted = call_query(page->call, "project");
    if (!call_is(page->call, ROLE_STEWARD))
        return wanted;
    return project_list(page->call, wanted);
}
