/* The header of an array in NumPy's format .npy (versions 1 to 3; NEP 1). Strict: plain numbers and
 * texts in C order; pickled objects, structures and other byte orders are refused. */
#ifndef TACET_CLI_IMPORT_NPY_HEADER_H
#define TACET_CLI_IMPORT_NPY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_PREFIX_SIZE 12    /* bytes that npy_prefix_read looks at */
#define NPY_TEXT_MAX    65536 /* bytes of the description that follows */
#define NPY_DIMENSIONS  8

struct npy_header {
    char kind;     /* f, i, u, b: a number; S, U: a text */
    uint32_t size; /* bytes of an element */
    unsigned dimensions;
    uint64_t shape[NPY_DIMENSIONS];
    uint64_t rows, width; /* shape[0], and the elements of a row */
    uint64_t bytes;       /* of all elements */
};

/* Reads the first NPY_PREFIX_SIZE bytes of a file: *out_start is where the description begins (10
 * or 12), *out_size how long it is. NULL, or a sentence. */
const char *npy_prefix_read(const unsigned char bytes[NPY_PREFIX_SIZE], size_t *out_start,
                            size_t *out_size);

/* Reads the description in TEXT[size]. NULL, or a sentence. */
const char *npy_header_read(const char *text, size_t size, struct npy_header *out);

/* The number of an element of kind f, i, u or b. */
double npy_number(const struct npy_header *header, const unsigned char *element);

/* Writes the text of an element of kind S or U to OUT with a NUL, characters beyond ASCII as '?',
 * at most SIZE - 1 of them. */
void npy_text(const struct npy_header *header, const unsigned char *element, char *out,
              size_t size);

#endif
