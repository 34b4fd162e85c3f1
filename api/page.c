/* Paging. A token is the base64url of the last item's cursor: opaque to callers, and worth nothing
 * to a forger, because what is listed is filtered by the caller's rights on every page. */
#include "api/page.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/uri.h"

#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

enum problem page_read(struct call *call, struct page *out)
{
    *out = (struct page){.size = PAGE_SIZE_DEFAULT};
    const char *size = call_query(call, "page_size");
    if (size != NULL) {
        char *end;
        long value = strtol(size, &end, 10);
        if (*size < '0' || *size > '9' || *end != '\0' || value < 1 || value > PAGE_SIZE_MAX) {
            return call_invalid_query(call, "page_size", "must be an integer from 1 to %d",
                                      PAGE_SIZE_MAX);
        }
        out->size = (unsigned)value;
    }
    const char *token = call_query(call, "page_token");
    if (token == NULL) {
        return PROBLEM_NONE;
    }
    char cursor[PAGE_CURSOR_MAX + 1];
    size_t length = 0;
    bool good = *token != '\0' &&
                sodium_base642bin((unsigned char *)cursor, PAGE_CURSOR_MAX, token, strlen(token),
                                  NULL, &length, NULL, VARIANT) == 0 &&
                length > 0 && memchr(cursor, '\0', length) == NULL && uri_is_utf8(cursor, length);
    if (!good) {
        return call_invalid_query(call, "page_token", "is not a token of an earlier page");
    }
    out->after = arena_copy(&call->arena, cursor, length);
    return out->after == NULL ? PROBLEM_INTERNAL_ERROR : PROBLEM_NONE;
}

enum problem page_reply(struct call *call, json_t *items, const char *next)
{
    char token[sodium_base64_ENCODED_LEN(PAGE_CURSOR_MAX, VARIANT)];
    if (next != NULL) {
        sodium_bin2base64(token, sizeof token, (const unsigned char *)next,
                          strnlen(next, PAGE_CURSOR_MAX), VARIANT);
    }
    json_t *after = next == NULL ? json_null() : json_string(token);
    return call_reply_json(call, 200,
                           json_pack("{s:o, s:o}", "items", items, "next_page_token", after));
}
