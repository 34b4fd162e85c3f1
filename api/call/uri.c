/* Percent-escapes and query parameters. */
#include "api/call/uri.h"

#include <sodium.h>
#include <string.h>

#include "api/call/arena.h"
#include "api/json/utf8.h"

/* The byte of the escape whose two digits begin at TEXT; false: there are none, or it is NUL. */
static bool read_escape(const char *text, size_t left, char *out)
{
    size_t bytes = 0;
    return left >= 2 && sodium_hex2bin((unsigned char *)out, 1, text, 2, NULL, &bytes, NULL) == 0 &&
           bytes == 1 && *out != '\0';
}

char *uri_decode(const char *text, size_t size, bool plus, struct arena *arena)
{
    char *out = arena_alloc(arena, size + 1);
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '%') {
            if (!read_escape(text + i + 1, size - i - 1, &c))
                return NULL;
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        out[length++] = c;
    }
    out[length] = '\0';
    return utf8_is_valid(out, length) ? out : NULL;
}

/* One name=value of a query; the next begins at .next. */
struct uri_pair {
    const char *name, *value;
    size_t name_size, value_size;
    const char *next;
};

static struct uri_pair next_pair(const char *query)
{
    size_t size = strcspn(query, "&");
    const char *equals = memchr(query, '=', size);
    struct uri_pair pair = {.name = query, .name_size = size, .value = "", .next = query + size};
    if (equals) {
        pair.name_size = (size_t)(equals - query);
        pair.value = equals + 1;
        pair.value_size = size - pair.name_size - 1;
    }
    if (*pair.next == '&')
        pair.next++;
    return pair;
}

const char *uri_query_value(const char *query, const char *name, struct arena *arena)
{
    while (*query != '\0') {
        struct uri_pair pair = next_pair(query);
        query = pair.next;
        const char *decoded = uri_decode(pair.name, pair.name_size, true, arena);
        if (decoded && strcmp(decoded, name) == 0)
            return uri_decode(pair.value, pair.value_size, true, arena);
    }
    return NULL;
}

/* Index of NAME in the words of KNOWN, or -1. */
static int known_index(const char *known, const char *name)
{
    size_t length = strlen(name);
    int index = 0;
    while (*known != '\0') {
        size_t word = strcspn(known, " ");
        if (word == length && memcmp(known, name, length) == 0)
            return index;
        known += word + (known[word] == ' ');
        index++;
    }
    return -1;
}

enum uri_query_fault uri_query_check(const char *query, const char *known, struct arena *arena,
                                     const char **out_name)
{
    unsigned long seen = 0;
    *out_name = NULL;
    while (*query != '\0') {
        struct uri_pair pair = next_pair(query);
        query = pair.next;
        if (pair.name_size == 0 && pair.value_size == 0)
            continue; /* "a=1&&b=2" */
        const char *name = uri_decode(pair.name, pair.name_size, true, arena);
        if (!name || !uri_decode(pair.value, pair.value_size, true, arena))
            return URI_QUERY_MALFORMED;
        *out_name = name;
        int index = known_index(known, name);
        if (index < 0)
            return URI_QUERY_UNKNOWN;
        if (seen & (1ul << index))
            return URI_QUERY_TWICE;
        seen |= 1ul << index;
    }
    return URI_QUERY_GOOD;
}
