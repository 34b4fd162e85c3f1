/* The tokenizer of uploads.
 *
 * DESIGN. A token that must be looked at as a whole (a number, a literal) is at most
 * JSON_SCAN_TOKEN_MAX bytes: when fewer are left in the buffer, they are moved to its front and
 * more are read behind them, so that the hot loops run over contiguous bytes and stop at the NUL
 * behind the last one without a test for the end. */
#include "api/json/json_scan.h"

#include <string.h>

#include "api/json/json_scan_buffer.h"
#include "memory/memory.h"

void json_scan_open(struct json_scan *scan, struct byte_reader reader)
{
    scan->c_locale = memory_must(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    scan->reader = reader;
    scan->at = scan->end = scan->buffer;
    *scan->end = 0;
    scan->line = 1;
    scan->line_is_token = scan->finished = scan->gone = false;
    scan->fault = NULL;
}

void json_scan_close(struct json_scan *scan)
{
    freelocale(scan->c_locale);
}

bool json_scan_fault(struct json_scan *scan, const char *fault)
{
    if (!scan->fault)
        scan->fault = fault;
    return false;
}

size_t json_scan_fill(struct json_scan *scan, size_t wanted)
{
    size_t left = (size_t)(scan->end - scan->at);
    if (left >= wanted || scan->finished)
        return left;
    memmove(scan->buffer, scan->at, left);
    scan->at = scan->buffer;
    while (left < wanted && !scan->finished) {
        long got =
            scan->reader.read(scan->reader.context, scan->buffer + left, JSON_SCAN_BUFFER - left);
        if (got <= 0) {
            scan->finished = true;
            scan->gone = got < 0;
            break;
        }
        left += (size_t)got;
    }
    scan->end = scan->buffer + left;
    *scan->end = 0;
    return left;
}

unsigned char json_scan_peek(struct json_scan *scan)
{
    for (;;) {
        unsigned char c = *scan->at;
        if (c > ' ')
            return c;
        if (c == '\n' && !scan->line_is_token) {
            scan->line++;
            scan->at++;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            scan->at++;
        } else if (scan->at < scan->end || json_scan_fill(scan, 1) == 0) {
            return c; /* a line feed, a control character or the end */
        }
    }
}

bool json_scan_at_end(struct json_scan *scan)
{
    return json_scan_peek(scan) == 0 && scan->at == scan->end;
}

bool json_scan_begins(struct json_scan *scan, const char *bytes, size_t size)
{
    return json_scan_fill(scan, size) >= size && memcmp(scan->at, bytes, size) == 0;
}

bool json_scan_line_has(struct json_scan *scan, char byte, size_t most)
{
    size_t size = json_scan_fill(scan, most);
    const char *at = (const char *)scan->at, *line = memchr(at, '\n', size);
    return memchr(at, byte, line ? (size_t)(line - at) : size) != NULL;
}

const char *json_scan_unexpected(struct json_scan *scan, const char *what)
{
    if (scan->at == scan->end && scan->finished)
        return "The text ends before the value is complete.";
    return *scan->at == '\n' ? "The line ends before the value is complete." : what;
}

bool json_scan_expect(struct json_scan *scan, char byte, const char *what)
{
    if (json_scan_peek(scan) != (unsigned char)byte)
        return json_scan_fault(scan, json_scan_unexpected(scan, what));
    scan->at++;
    return true;
}

/* ---- words, values, lines */

static bool take_word(struct json_scan *scan, const char *word)
{
    size_t length = strlen(word);
    if (json_scan_fill(scan, length + 1) < length || memcmp(scan->at, word, length) != 0)
        return json_scan_fault(scan, "This is no JSON value.");
    scan->at += length;
    return true;
}

bool json_scan_bool(struct json_scan *scan, bool *out)
{
    unsigned char c = json_scan_peek(scan);
    if (c != 't' && c != 'f')
        return json_scan_fault(scan, json_scan_unexpected(scan, "true or false was expected."));
    *out = c == 't';
    return take_word(scan, c == 't' ? "true" : "false");
}

/* The fault when a value is expected and none begins. Literals of other languages get a sentence of
 * their own. */
static const char *no_value(const struct json_scan *scan)
{
    unsigned char c = *scan->at;
    return c == 'N' || c == 'I' || c == 'i'
               ? "A value was expected; NaN and Infinity are not JSON (RFC 8259)."
               : "A value was expected.";
}

static bool skip_string(struct json_scan *scan)
{
    char none[1];
    size_t size;
    bool cut;
    return json_scan_string(scan, none, sizeof none, &size, &cut);
}

static bool skip_members(struct json_scan *scan, unsigned depth, bool object)
{
    char close = object ? '}' : ']';
    scan->at++;
    if (json_scan_peek(scan) == (unsigned char)close) {
        scan->at++;
        return true;
    }
    for (;;) {
        if (object &&
            !(skip_string(scan) && json_scan_expect(scan, ':', "A ':' was expected after a name.")))
            return false;
        if (!json_scan_skip(scan, depth + 1))
            return false;
        if (json_scan_peek(scan) != ',')
            return json_scan_expect(scan, close, "A ',' or the closing bracket was expected.");
        scan->at++;
    }
}

bool json_scan_skip(struct json_scan *scan, unsigned depth)
{
    if (depth > JSON_SCAN_DEPTH_MAX)
        return json_scan_fault(scan, "The value is nested too deeply.");
    struct json_number_token number;
    switch (json_scan_peek(scan)) {
    case '{': return skip_members(scan, depth, true);
    case '[': return skip_members(scan, depth, false);
    case '"': return skip_string(scan);
    case 't': return take_word(scan, "true");
    case 'f': return take_word(scan, "false");
    case 'n': return take_word(scan, "null");
    case '-':
    case '0' ... '9': return json_scan_number(scan, &number);
    default: return json_scan_fault(scan, json_scan_unexpected(scan, no_value(scan)));
    }
}

bool json_scan_next_line(struct json_scan *scan)
{
    for (;;) {
        unsigned char *feed = memchr(scan->at, '\n', (size_t)(scan->end - scan->at));
        if (feed) {
            scan->at = feed + 1;
            scan->line++;
            scan->fault = NULL;
            return true;
        }
        scan->at = scan->end;
        if (json_scan_fill(scan, 1) == 0)
            return false;
    }
}
