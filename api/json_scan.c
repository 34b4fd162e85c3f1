/* The tokenizer of uploads.
 *
 * DESIGN. A token that must be looked at as a whole (a number, a literal) is at most
 * JSON_SCAN_TOKEN_MAX bytes: when fewer are left in the buffer, they are moved to its front and
 * more are read behind them, so that the hot loops run over contiguous bytes and stop at the NUL
 * behind the last one without a test for the end.
 *
 * Numbers: up to 19 significant digits are gathered into an integer and multiplied by a power
 * of ten; three roundings leave a relative error below 2^-51. When both ends of that interval round
 * to one float, it is the nearest float to the text; else (about once in 10^7 numbers), and for odd
 * numbers, strtof decides. */
#include "api/json_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool json_scan_open(struct json_scan *scan, struct api_reader reader)
{
    scan->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (scan->c_locale == (locale_t)0) {
        return false;
    }
    scan->reader = reader;
    scan->at = scan->end = scan->buffer;
    *scan->end = 0;
    scan->line = 1;
    scan->line_is_token = scan->finished = scan->gone = false;
    scan->fault = NULL;
    return true;
}

void json_scan_close(struct json_scan *scan)
{
    freelocale(scan->c_locale);
}

bool json_scan_fault(struct json_scan *scan, const char *fault)
{
    if (scan->fault == NULL) {
        scan->fault = fault;
    }
    return false;
}

/* Reads until WANTED bytes are in the buffer or there are no more; gives how many are there. */
static size_t fill(struct json_scan *scan, size_t wanted)
{
    size_t left = (size_t)(scan->end - scan->at);
    if (left >= wanted || scan->finished) {
        return left;
    }
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
        if (c > ' ') {
            return c;
        }
        if (c == '\n' && !scan->line_is_token) {
            scan->line++;
            scan->at++;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            scan->at++;
        } else if (scan->at < scan->end || fill(scan, 1) == 0) {
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
    return fill(scan, size) >= size && memcmp(scan->at, bytes, size) == 0;
}

static const char *unexpected(struct json_scan *scan, const char *what)
{
    if (scan->at == scan->end && scan->finished) {
        return "The text ends before the value is complete.";
    }
    return *scan->at == '\n' ? "The line ends before the value is complete." : what;
}

bool json_scan_expect(struct json_scan *scan, char byte, const char *what)
{
    if (json_scan_peek(scan) != (unsigned char)byte) {
        return json_scan_fault(scan, unexpected(scan, what));
    }
    scan->at++;
    return true;
}

/* ---- numbers */

/* 10^-22 to 10^22: exact from 10^0 on, correctly rounded below. */
#define POWER_MAX 22
static const double powers_of_ten[2 * POWER_MAX + 1] = {
    1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11,
    1e-10, 1e-9,  1e-8,  1e-7,  1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,  1e0,   1e1,
    1e2,   1e3,   1e4,   1e5,   1e6,   1e7,   1e8,   1e9,   1e10,  1e11,  1e12,  1e13,
    1e14,  1e15,  1e16,  1e17,  1e18,  1e19,  1e20,  1e21,  1e22};

/* The parts of a number's text. */
struct decimal {
    const unsigned char *start, *end;
    uint64_t digits; /* the first 19 significant ones */
    int kept;        /* of them */
    bool cut;        /* there were more */
    bool negative, plain;
    long exponent; /* of ten, of DIGITS */
};

static inline const unsigned char *take_digits(const unsigned char *p, struct decimal *d,
                                               int fraction)
{
    for (unsigned digit; (digit = *p - (unsigned)'0') <= 9; p++) {
        if (d->kept >= 19) {
            d->cut = true;
            d->exponent += 1 - fraction;
            continue;
        }
        d->digits = d->digits * 10 + digit;
        d->kept += d->digits != 0;
        d->exponent -= fraction;
    }
    return p;
}

static const unsigned char *take_exponent(const unsigned char *p, struct decimal *d)
{
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') {
        p++;
    }
    if (*p < '0' || *p > '9') {
        return NULL;
    }
    long exponent = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        exponent = exponent < 100000 ? exponent * 10 + (*p - '0') : exponent;
    }
    d->exponent += negative ? -exponent : exponent;
    return p;
}

/* Splits the number at P by RFC 8259's grammar; NULL when it is none. */
static const unsigned char *split(const unsigned char *p, struct decimal *d)
{
    *d = (struct decimal){.start = p, .plain = true};
    if (*p == '-') {
        d->negative = true;
        p++;
    }
    if (*p == '0') {
        p++;
    } else if (*p >= '1' && *p <= '9') {
        p = take_digits(p, d, 0);
    } else {
        return NULL;
    }
    if (*p == '.') {
        const unsigned char *first = p + 1;
        p = take_digits(first, d, 1);
        d->plain = false;
        if (p == first) {
            return NULL;
        }
    }
    if (*p == 'e' || *p == 'E') {
        d->plain = false;
        p = take_exponent(p + 1, d);
    }
    return d->end = p;
}

/* The nearest float, when the quick way can be sure of it. */
static inline bool quick_float(const struct decimal *d, float *out)
{
    if (d->cut || d->exponent < -POWER_MAX || d->exponent > POWER_MAX) {
        return false;
    }
    double value = (double)d->digits * powers_of_ten[POWER_MAX + d->exponent];
    const double slack = 0x1p-51;
    float low = (float)(value - value * slack), high = (float)(value + value * slack);
    *out = d->negative ? -low : low;
    return low == high;
}

bool json_scan_number(struct json_scan *scan, struct json_number_token *out)
{
    unsigned char first = json_scan_peek(scan);
    if (first != '-' && (first < '0' || first > '9')) {
        return json_scan_fault(scan, unexpected(scan, "A number was expected."));
    }
    fill(scan, JSON_SCAN_TOKEN_MAX);
    struct decimal d;
    const unsigned char *end = split(scan->at, &d);
    if (end == NULL) {
        return json_scan_fault(scan, "This is not a number as JSON writes it.");
    }
    if (end - d.start >= JSON_SCAN_TOKEN_MAX) {
        return json_scan_fault(scan, "The number has too many digits.");
    }
    if (!quick_float(&d, &out->value)) {
        /* The byte after the number ends it for strtof as well: it cannot go on into it. */
        out->value = strtof_l((const char *)d.start, NULL, scan->c_locale);
    }
    out->digits = d.digits;
    out->integer = d.plain && !d.negative && d.kept <= 18;
    scan->at += end - d.start;
    return true;
}

/* ---- strings */

/* Bytes of the UTF-8 sequence at P of LEFT bytes, 0 when it is none (RFC 3629). */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    size_t n = p[0] < 0x80   ? 1
               : p[0] < 0xC2 ? 0
               : p[0] < 0xE0 ? 2
               : p[0] < 0xF0 ? 3
               : p[0] < 0xF5 ? 4
                             : 0;
    if (n > left) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool bad = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) ||
               (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F);
    return bad ? 0 : n;
}

static size_t utf8_write(uint32_t c, unsigned char *out)
{
    if (c < 0x80) {
        out[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (unsigned char)(0xC0 | c >> 6);
        out[1] = (unsigned char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (unsigned char)(0xE0 | c >> 12);
        out[1] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (unsigned char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (unsigned char)(0xF0 | c >> 18);
    out[1] = (unsigned char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (unsigned char)(0x80 | (c & 0x3F));
    return 4;
}

/* The four hexadecimal digits at P, or -1. */
static int32_t hex4(const unsigned char *p)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* Decodes the escape at the buffer's AT (a backslash; up to 12 bytes are there if the text has
 * them) into OUT[4]; gives the bytes written, 0 for a fault. */
static size_t take_escape(struct json_scan *scan, unsigned char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const unsigned char *p = scan->at + 1;
    const char *found = *p == 0 ? NULL : strchr(names, *p);
    if (found != NULL) {
        scan->at += 2;
        out[0] = (unsigned char)values[found - names];
        return 1;
    }
    int32_t code = *p == 'u' ? hex4(p + 1) : -1;
    size_t size = 6;
    if (code >= 0xD800 && code <= 0xDBFF && p[5] == '\\' && p[6] == 'u') {
        int32_t low = hex4(p + 7);
        bool pair = low >= 0xDC00 && low <= 0xDFFF;
        code = pair ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : -1;
        size = 12;
    }
    if (code <= 0 || (code >= 0xD800 && code <= 0xDFFF)) {
        return 0;
    }
    scan->at += size;
    return utf8_write((uint32_t)code, out);
}

/* Decodes one character of a string into OUT[4]; gives its bytes, 0 at a fault. */
static size_t take_character(struct json_scan *scan, unsigned char *out)
{
    size_t left = fill(scan, 12);
    unsigned char c = *scan->at;
    if (c == '\\') {
        size_t n = take_escape(scan, out);
        if (n == 0) {
            json_scan_fault(scan, "A string has an escape that stands for no character.");
        }
        return n;
    }
    if (left == 0 || c < ' ') {
        json_scan_fault(scan, unexpected(scan, "A string has a control character in it."));
        return 0;
    }
    size_t n = utf8_length(scan->at, left);
    if (n == 0) {
        json_scan_fault(scan, "A string is not UTF-8.");
        return 0;
    }
    memcpy(out, scan->at, n);
    scan->at += n;
    return n;
}

bool json_scan_string(struct json_scan *scan, char *out, size_t size, size_t *out_size,
                      bool *out_cut)
{
    if (!json_scan_expect(scan, '"', "A string was expected.")) {
        return false;
    }
    size_t length = 0;
    bool cut = false;
    while (*scan->at != '"') {
        unsigned char bytes[4];
        if (scan->at == scan->end && fill(scan, 1) > 0) {
            continue;
        }
        size_t n = take_character(scan, bytes);
        if (n == 0) {
            return false;
        }
        cut = cut || length + n >= size;
        if (!cut) {
            memcpy(out + length, bytes, n);
            length += n;
        }
    }
    scan->at++;
    if (size > 0) {
        out[length] = '\0';
    }
    *out_size = length;
    *out_cut = cut;
    return true;
}

/* ---- the rest */

static bool take_word(struct json_scan *scan, const char *word)
{
    size_t length = strlen(word);
    if (fill(scan, length + 1) < length || memcmp(scan->at, word, length) != 0) {
        return json_scan_fault(scan, "This is no JSON value.");
    }
    scan->at += length;
    return true;
}

bool json_scan_bool(struct json_scan *scan, bool *out)
{
    unsigned char c = json_scan_peek(scan);
    if (c != 't' && c != 'f') {
        return json_scan_fault(scan, unexpected(scan, "true or false was expected."));
    }
    *out = c == 't';
    return take_word(scan, c == 't' ? "true" : "false");
}

/* What stands where a value should: the words of other languages get a sentence of their own. */
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
        if (object && !(skip_string(scan) &&
                        json_scan_expect(scan, ':', "A ':' was expected after a name."))) {
            return false;
        }
        if (!json_scan_skip(scan, depth + 1)) {
            return false;
        }
        if (json_scan_peek(scan) != ',') {
            return json_scan_expect(scan, close, "A ',' or the closing bracket was expected.");
        }
        scan->at++;
    }
}

bool json_scan_skip(struct json_scan *scan, unsigned depth)
{
    if (depth > JSON_SCAN_DEPTH_MAX) {
        return json_scan_fault(scan, "The value is nested too deeply.");
    }
    struct json_number_token number;
    switch (json_scan_peek(scan)) {
    case '{':
        return skip_members(scan, depth, true);
    case '[':
        return skip_members(scan, depth, false);
    case '"':
        return skip_string(scan);
    case 't':
        return take_word(scan, "true");
    case 'f':
        return take_word(scan, "false");
    case 'n':
        return take_word(scan, "null");
    case '-':
    case '0' ... '9':
        return json_scan_number(scan, &number);
    default:
        return json_scan_fault(scan, unexpected(scan, no_value(scan)));
    }
}

bool json_scan_next_line(struct json_scan *scan)
{
    for (;;) {
        unsigned char *feed = memchr(scan->at, '\n', (size_t)(scan->end - scan->at));
        if (feed != NULL) {
            scan->at = feed + 1;
            scan->line++;
            scan->fault = NULL;
            return true;
        }
        scan->at = scan->end;
        if (fill(scan, 1) == 0) {
            return false;
        }
    }
}
