/* Percent-escapes and query parameters. */
#include "api/call/uri.h"

#include <string.h>

#include "api/call/arena.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Bytes of the UTF-8 character that begins at TEXT, or 0 when it is malformed. */
static size_t utf8_length(const unsigned char *text, size_t size)
{
    unsigned char c = text[0];
    if (c < 0x80)
        return 1;
    size_t length = c >= 0xC2 && c <= 0xDF   ? 2
                    : c >= 0xE0 && c <= 0xEF ? 3
                    : c >= 0xF0 && c <= 0xF4 ? 4
                                             : 0;
    if (length == 0 || length > size)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (c == 0xE0 && text[1] < 0xA0) || (c == 0xF0 && text[1] < 0x90);
    bool surrogate = c == 0xED && text[1] > 0x9F;
    bool beyond = c == 0xF4 && text[1] > 0x8F;
    return overlong || surrogate || beyond ? 0 : length;
}

bool uri_is_utf8(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length((const unsigned char *)text + i, size - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

/* Whether TEXT stands for itself: ASCII without escapes. */
static bool stands_for_itself(const char *text, size_t size, bool plus)
{
    unsigned special = 0;
    for (size_t i = 0; i < size; i++)
        special |= text[i] == '%' || (plus && text[i] == '+') || (unsigned char)text[i] >= 0x80;
    return special == 0;
}

char *uri_decode(const char *text, size_t size, bool plus, struct arena *arena)
{
    if (stands_for_itself(text, size, plus))
        return arena_copy(arena, text, size);
    char *out = arena_alloc(arena, size + 1);
    if (!out)
        return NULL;
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 2 < size ? hex_value(text[i + 1]) : -1;
            int low = i + 2 < size ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0 || (high == 0 && low == 0))
                return NULL;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        out[length++] = c;
    }
    out[length] = '\0';
    return uri_is_utf8(out, length) ? out : NULL;
}

/* One name=value of a query; the next begins at .next. */
struct pair {
    const char *name, *value;
    size_t name_size, value_size;
    const char *next;
};

static struct pair next_pair(const char *query)
{
    size_t size = strcspn(query, "&");
    const char *equals = memchr(query, '=', size);
    struct pair pair = {.name = query, .name_size = size, .value = "", .next = query + size};
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
        struct pair pair = next_pair(query);
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
        struct pair pair = next_pair(query);
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
