/* One pass over brackets, texts and the runs of characters between them. Numbers, true, false and
 * null are such runs; what else is one is no JSON. */
#include "api/json/json_look.h"

/* The place behind the digits that begin at AT; AT itself where there are none. */
static size_t past_digits(const char *bytes, size_t at, size_t end)
{
    while (at < end && bytes[at] >= '0' && bytes[at] <= '9')
        at++;
    return at;
}

/* RFC 8259, section 6. */
static bool is_number(const char *bytes, size_t at, size_t end)
{
    at += bytes[at] == '-';
    size_t whole = past_digits(bytes, at, end), from = whole;
    if (whole == at || (bytes[at] == '0' && whole > at + 1))
        return false;
    if (whole < end && bytes[whole] == '.') {
        from = past_digits(bytes, whole + 1, end);
        if (from == whole + 1)
            return false;
    }
    if (from < end && (bytes[from] == 'e' || bytes[from] == 'E')) {
        size_t digits = from + 1;
        digits += digits < end && (bytes[digits] == '+' || bytes[digits] == '-');
        from = past_digits(bytes, digits, end);
        return from > digits && from == end;
    }
    return from == end;
}

static bool in_run(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

/* LENGTH characters that begin at FROM have to fit into jansson's buffer. */
static void note(struct json_look *look, size_t from, size_t length, size_t size)
{
    look->longest = length > look->longest ? length : look->longest;
    if (length > JSON_NUMBER_MAX && look->odd_at == size)
        look->odd_at = from;
}

static size_t past_run(struct json_look *look, const char *bytes, size_t from, size_t size)
{
    size_t at = from + 1;
    while (at < size && in_run(bytes[at]))
        at++;
    note(look, from, at - from, size);
    look->odd_number = look->odd_at == from && is_number(bytes, from, at);
    return at;
}

/* A text grows the buffer, too, but is lost as a whole when it may not: unless a control character
 * ends it, which jansson takes back. */
static size_t past_text(struct json_look *look, const char *bytes, size_t from, size_t size)
{
    size_t at = from + 1;
    for (; at < size && bytes[at] != '"'; at++) {
        if ((unsigned char)bytes[at] < 0x20) {
            note(look, from, at - from, size);
            return size; /* jansson reads no further */
        }
        at += bytes[at] == '\\' && at + 1 < size && (unsigned char)bytes[at + 1] >= 0x20;
    }
    return at + 1;
}

struct json_look json_look(const char *bytes, size_t size)
{
    struct json_look look = {.odd_at = size};
    unsigned depth = 0;
    for (size_t at = 0; at < size && look.odd_at == size;) {
        char c = bytes[at];
        if (c == '"') {
            at = past_text(&look, bytes, at, size);
            continue;
        }
        if (in_run(c)) {
            at = past_run(&look, bytes, at, size);
            continue;
        }
        if (c == '[' || c == '{') {
            depth++;
            look.depth = depth > look.depth ? depth : look.depth;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
        at++;
    }
    return look;
}
