/* DESIGN. Millions of rows are read, each in the one form in which it was written, so that the
 * reader compares names instead of looking them up. */
#include "api/proof/row_text.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_text.h"

#define HASH_MAX 64 /* bytes of a column of kind COLUMN_BYTES */

static const void *member_of(const void *row, const struct column *column)
{
    return (const char *)row + column->offset;
}

/* ---- writing */

static void write_string(struct buffer *out, const char *text)
{
    size_t most = 6 * strlen(text) + 2;
    char *at = buffer_reserve(out, most);
    if (at)
        out->size += json_text_string(text, at, most);
}

static void write_integer(struct buffer *out, int64_t value)
{
    (void)buffer_add_format(out, "%" PRId64, value);
}

static void write_real(struct buffer *out, double value)
{
    char number[32];
    (void)buffer_add(out, number, json_text_number(value + 0.0, number));
}

static void write_hex_bytes(struct buffer *out, const unsigned char *bytes, size_t size)
{
    char hex[2 * HASH_MAX + 1];
    (void)buffer_add_format(out, "\"%s\"", sodium_bin2hex(hex, sizeof hex, bytes, size));
}

static void write_row_member(struct buffer *out, const struct column *column, const void *row)
{
    const void *from = member_of(row, column);
    int word;
    switch (column->kind) {
    case COLUMN_TEXT: write_string(out, from); break;
    case COLUMN_POINTER: write_string(out, *(const char *const *)from); break;
    case COLUMN_BYTES: write_hex_bytes(out, from, column->size); break;
    case COLUMN_INTEGER: write_integer(out, *(const int64_t *)from); break;
    case COLUMN_REAL: write_real(out, *(const double *)from); break;
    case COLUMN_WORD:
        memcpy(&word, from, sizeof word);
        write_string(out, column->words[word]);
        break;
    case COLUMN_BLOB:
    case COLUMN_COUNT:
    case COLUMN_FLAG: out->failed = true; /* no exported row has one */
    }
}

void row_text_write(struct buffer *out, const struct table *table, const void *row)
{
    for (unsigned i = 0; i < table->count; i++) {
        (void)buffer_add_format(out, "%c\"%s\":", i == 0 ? '{' : ',', table->columns[i].name);
        write_row_member(out, &table->columns[i], row);
    }
    (void)buffer_add_text(out, "}");
}

/* ---- reading */

bool row_text_skip(char **at, const char *text)
{
    size_t size = strlen(text);
    if (strncmp(*at, text, size) != 0)
        return false;
    *at += size;
    return true;
}

bool row_text_integer(char **at, int64_t *out)
{
    const char *from = *at + (**at == '-');
    uint64_t value = 0;
    unsigned digits = 0;
    for (; from[digits] >= '0' && from[digits] <= '9'; digits++) {
        if (digits == 18 && value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(from[digits] - '0');
        if (digits == 19)
            return false;
    }
    bool negative = **at == '-';
    if (digits == 0 || (*from == '0' && (digits > 1 || negative)))
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    *at = (char *)(uintptr_t)(from + digits);
    return true;
}

/* The unit of UTF-16 in four hex digits: only control characters are written so. */
static bool read_row_unit(const char *at, char *out)
{
    unsigned char bytes[2];
    size_t got;
    if (sodium_hex2bin(bytes, 2, at, 4, NULL, &got, NULL) != 0 || got != 2 || bytes[0] != 0 ||
        bytes[1] == 0 || bytes[1] >= 0x80)
        return false;
    *out = (char)bytes[1];
    return true;
}

/* Reads one escape at *FROM, behind its backslash. */
static bool read_row_escape(char **from, char *out)
{
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    char name = *(*from)++;
    if (name == 'u') {
        if (strnlen(*from, 4) < 4 || !read_row_unit(*from, out))
            return false;
        *from += 4;
        return true;
    }
    const char *found = name == '\0' ? NULL : strchr(names, name);
    if (!found)
        return false;
    *out = means[found - names];
    return true;
}

char *row_text_string(char **at)
{
    if (**at != '"')
        return NULL;
    char *begin = *at + 1, *to = begin, *from = begin;
    for (;;) {
        size_t plain = strcspn(from, "\"\\");
        if (to != from)
            memmove(to, from, plain);
        to += plain;
        from += plain;
        if (*from == '"')
            break;
        from++;
        if (from[-1] == '\0' || !read_row_escape(&from, to++))
            return NULL;
    }
    *at = from + 1;
    *to = '\0';
    return begin;
}

static bool read_row_real(char **at, double *out)
{
    char *end;
    if (**at != '-' && (**at < '0' || **at > '9'))
        return false;
    *out = strtod(*at, &end);
    bool good = end == *at + strspn(*at, "+-.0123456789Ee") && isfinite(*out);
    *at = end;
    return good;
}

static bool read_hex_bytes(char **at, unsigned char *out, size_t size)
{
    size_t got = 0;
    const char *text = row_text_string(at);
    return text && strlen(text) == 2 * size &&
           sodium_hex2bin(out, size, text, 2 * size, NULL, &got, NULL) == 0 && got == size;
}

static bool read_row_word(char **at, const char *const *words, int *out)
{
    const char *text = row_text_string(at);
    for (int i = 0; text && words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool read_row_text(char **at, char *out, size_t size)
{
    const char *text = row_text_string(at);
    size_t length = text ? strlen(text) : size;
    if (length >= size)
        return false;
    memcpy(out, text, length + 1);
    return true;
}

static bool read_row_member(const struct column *column, char **at, void *to)
{
    switch (column->kind) {
    case COLUMN_TEXT: return read_row_text(at, to, column->size);
    case COLUMN_POINTER: return (*(const char **)to = row_text_string(at)) != NULL;
    case COLUMN_BYTES: return read_hex_bytes(at, to, column->size);
    case COLUMN_INTEGER: return row_text_integer(at, to);
    case COLUMN_REAL: return read_row_real(at, to);
    case COLUMN_WORD: return read_row_word(at, column->words, to);
    case COLUMN_BLOB:
    case COLUMN_COUNT:
    case COLUMN_FLAG: break;
    }
    return false;
}

bool row_text_read(const struct table *table, char **at, void *row)
{
    for (unsigned i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!row_text_skip(at, i == 0 ? "{\"" : ",\"") || !row_text_skip(at, column->name) ||
            !row_text_skip(at, "\":") || !read_row_member(column, at, (char *)row + column->offset))
            return false;
    }
    return row_text_skip(at, "}");
}
