/* Strings of uploads: escapes, and UTF-8 as RFC 3629 has it. */
#include <ctype.h>
#include <string.h>

#include "api/json/json_scan_buffer.h"
#include "api/json/utf8.h"

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
static int32_t read_hex4(const unsigned char *p)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char c = p[i];
        if (!isxdigit(c))
            return -1;
        value = value * 16 + (isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
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
    if (found) {
        scan->at += 2;
        out[0] = (unsigned char)values[found - names];
        return 1;
    }
    int32_t code = *p == 'u' ? read_hex4(p + 1) : -1;
    size_t size = 6;
    if (code >= 0xD800 && code <= 0xDBFF && p[5] == '\\' && p[6] == 'u') {
        int32_t low = read_hex4(p + 7);
        bool pair = low >= 0xDC00 && low <= 0xDFFF;
        code = pair ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : -1;
        size = 12;
    }
    if (code <= 0 || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    scan->at += size;
    return utf8_write((uint32_t)code, out);
}

/* Decodes one character of a string into OUT[4]; gives its bytes, 0 at a fault. */
static size_t take_character(struct json_scan *scan, unsigned char *out)
{
    size_t left = json_scan_fill(scan, 12);
    unsigned char c = *scan->at;
    if (c == '\\') {
        size_t n = take_escape(scan, out);
        if (n == 0)
            json_scan_fault(scan, "A string has an escape that stands for no character.");
        return n;
    }
    if (left == 0 || c < ' ') {
        json_scan_fault(scan,
                        json_scan_unexpected(scan, "A string has a control character in it."));
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
    if (!json_scan_expect(scan, '"', "A string was expected."))
        return false;
    size_t length = 0;
    bool cut = false;
    while (*scan->at != '"') {
        unsigned char bytes[4];
        if (scan->at == scan->end && json_scan_fill(scan, 1) > 0)
            continue;
        size_t n = take_character(scan, bytes);
        if (n == 0)
            return false;
        cut = cut || length + n >= size;
        if (!cut) {
            memcpy(out + length, bytes, n);
            length += n;
        }
    }
    scan->at++;
    if (size > 0)
        out[length] = '\0';
    *out_size = length;
    *out_cut = cut;
    return true;
}
