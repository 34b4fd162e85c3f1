/* The description is a Python dictionary with three members, which this reads and nothing else. */
#include "cli/import/npy_header.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char not_npy[] = "is no array of NumPy";
static const char damaged[] = "has a damaged description";

const char *npy_prefix_read(const unsigned char bytes[NPY_PREFIX_SIZE], size_t *out_start,
                            size_t *out_size)
{
    if (memcmp(bytes, "\x93NUMPY", 6) != 0)
        return not_npy;
    if (bytes[6] < 1 || bytes[6] > 3)
        return "is of a version of NumPy's format that is not known";
    *out_start = bytes[6] == 1 ? 10 : 12;
    uint32_t size = (uint32_t)bytes[8] | (uint32_t)bytes[9] << 8;
    if (bytes[6] > 1)
        size |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
    *out_size = size;
    return size > NPY_TEXT_MAX ? damaged : NULL;
}

/* ---- the dictionary */

/* What is left of the text. */
struct npy_scan {
    const char *at, *end;
};

static void skip_blanks(struct npy_scan *scan)
{
    while (scan->at < scan->end && strchr(" \t\n", *scan->at) && *scan->at != '\0')
        scan->at++;
}

/* Takes CHARACTER after blanks. */
static bool take_mark(struct npy_scan *scan, char character)
{
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at != character)
        return false;
    scan->at++;
    return true;
}

/* Takes a text in quotes of at most SIZE - 1 bytes. */
static bool take_text(struct npy_scan *scan, char *out, size_t size)
{
    skip_blanks(scan);
    if (scan->at == scan->end || (*scan->at != '\'' && *scan->at != '"'))
        return false;
    char quote = *scan->at++;
    size_t used = 0;
    while (scan->at < scan->end && *scan->at != quote && used + 1 < size)
        out[used++] = *scan->at++;
    out[used] = '\0';
    return take_mark(scan, quote);
}

static bool npy_word(struct npy_scan *scan, const char *word)
{
    size_t size = strlen(word);
    skip_blanks(scan);
    if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size) != 0)
        return false;
    scan->at += size;
    return true;
}

static bool take_count(struct npy_scan *scan, uint64_t *out)
{
    skip_blanks(scan);
    const char *begin = scan->at;
    *out = 0;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9' && scan->at - begin < 18)
        *out = *out * 10 + (uint64_t)(*scan->at++ - '0');
    return scan->at > begin;
}

/* ---- the members */

/* The type: byte order, kind, size. */
static const char *npy_type(struct npy_scan *scan, struct npy_header *out)
{
    char text[32];
    skip_blanks(scan);
    if (scan->at < scan->end && *scan->at == '[')
        return "holds structures: save each member as an array of its own";
    if (!take_text(scan, text, sizeof text))
        return damaged;
    if (text[0] == '>')
        return "has the bytes of its numbers in the other order: save it with dtype \"<...\"";
    if (text[0] != '<' && text[0] != '|' && text[0] != '=')
        return damaged;
    out->kind = text[1];
    if (out->kind == 'O')
        return "holds pickled objects, which are not read: save numbers";
    char *end = text;
    unsigned long size = strtoul(text + 1 + (text[1] != '\0'), &end, 10);
    if (*end != '\0' || size == 0 || size > 4096)
        return "is of a type that is not read: save numbers";
    out->size = (uint32_t)size;
    bool number = (out->kind == 'f' && (size == 2 || size == 4 || size == 8)) ||
                  ((out->kind == 'i' || out->kind == 'u') &&
                   (size == 1 || size == 2 || size == 4 || size == 8)) ||
                  (out->kind == 'b' && size == 1);
    if (out->kind == 'U')
        out->size *= 4; /* UCS-4 */
    return number || out->kind == 'S' || out->kind == 'U'
               ? NULL
               : "is of a type that is not read: save numbers";
}

static const char *npy_shape(struct npy_scan *scan, struct npy_header *out)
{
    if (!take_mark(scan, '('))
        return damaged;
    while (!take_mark(scan, ')')) {
        if (out->dimensions == NPY_DIMENSIONS)
            return "has more than 8 dimensions";
        if (!take_count(scan, &out->shape[out->dimensions++]))
            return damaged;
        if (!take_mark(scan, ',')) {
            if (!take_mark(scan, ')'))
                return damaged;
            break;
        }
    }
    return out->dimensions > 0 ? NULL : "is one number, not an array";
}

/* Finds rows, width and bytes, which must not overflow. */
static const char *measure_rows(struct npy_header *out)
{
    out->rows = out->shape[0];
    out->width = 1;
    for (unsigned d = 1; d < out->dimensions; d++)
        if (__builtin_mul_overflow(out->width, out->shape[d], &out->width))
            return damaged;
    uint64_t row;
    if (__builtin_mul_overflow(out->width, (uint64_t)out->size, &row) ||
        __builtin_mul_overflow(row, out->rows, &out->bytes) || out->bytes > INT64_MAX)
        return damaged;
    return NULL;
}

static const char *npy_member(struct npy_scan *scan, struct npy_header *out, bool *fortran,
                              unsigned *seen)
{
    static const char *const names[] = {"descr", "fortran_order", "shape"};
    char name[32];
    unsigned which = 0;
    if (!take_text(scan, name, sizeof name) || !take_mark(scan, ':'))
        return damaged;
    while (which < 3 && strcmp(name, names[which]) != 0)
        which++;
    if (which == 3 || (*seen & 1U << which))
        return damaged;
    *seen |= 1U << which;
    if (which == 0)
        return npy_type(scan, out);
    if (which == 2)
        return npy_shape(scan, out);
    *fortran = npy_word(scan, "True");
    return *fortran || npy_word(scan, "False") ? NULL : damaged;
}

const char *npy_header_read(const char *text, size_t size, struct npy_header *out)
{
    struct npy_scan scan = {text, text + size};
    bool fortran = false;
    unsigned seen = 0;
    *out = (struct npy_header){0};
    if (!take_mark(&scan, '{'))
        return damaged;
    while (!take_mark(&scan, '}')) {
        const char *problem = npy_member(&scan, out, &fortran, &seen);
        if (problem)
            return problem;
        if (take_mark(&scan, ','))
            continue;
        if (!take_mark(&scan, '}'))
            return damaged;
        break;
    }
    skip_blanks(&scan);
    if (seen != 7 || scan.at != scan.end)
        return damaged;
    if (fortran && out->dimensions > 1)
        return "is in Fortran's order: save numpy.ascontiguousarray of it";
    return measure_rows(out);
}

/* ---- elements */

/* A half-precision number (IEEE 754 binary16). */
static double half_number(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double size = ldexp(fraction + (exponent > 0 ? 1024 : 0), (exponent > 0 ? exponent : 1) - 25);
    if (exponent == 31)
        size = fraction > 0 ? NAN : INFINITY;
    return bits & 0x8000 ? -size : size;
}

double npy_number(const struct npy_header *header, const unsigned char *element)
{
    uint64_t bits = 0;
    float single;
    double number;
    memcpy(&bits, element, header->size); /* both little-endian */
    unsigned unused = 64 - 8 * header->size;
    if (header->kind == 'i')
        return (double)((int64_t)(bits << unused) >> unused);
    if (header->kind != 'f')
        return (double)bits;
    if (header->size == 2)
        return half_number((uint16_t)bits);
    if (header->size == 8) {
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    memcpy(&single, &bits, sizeof single);
    return (double)single;
}

void npy_text(const struct npy_header *header, const unsigned char *element, char *out, size_t size)
{
    size_t step = header->kind == 'U' ? 4 : 1, used = 0;
    for (size_t at = 0; at < header->size && used + 1 < size; at += step) {
        uint32_t character = element[at];
        for (size_t b = 1; b < step; b++)
            character |= (uint32_t)element[at + b] << 8 * b;
        if (character == 0)
            break;
        out[used++] = character < 128 ? (char)character : '?';
    }
    out[used] = '\0';
}
