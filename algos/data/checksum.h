/* A checksum of bytes at rest. It finds damage, not forgery. */
#ifndef TACET_ALGOS_DATA_CHECKSUM_H
#define TACET_ALGOS_DATA_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a over 32-bit little-endian words (SIZE is a multiple of 4), from CHECKSUM_START or an
 * earlier result. A changed word always changes the result: each round is a bijection. */
uint64_t checksum_words(uint64_t start, const void *bytes, size_t size);

/* Extends a checksum by the eight bytes of NUMBER: for fingerprints. */
uint64_t checksum_number(uint64_t start, double number);

/* SIZE rounded up to whole words of eight bytes. */
size_t checksum_padded(size_t size);

/* Allocates a byte form that ends with a checksum: END zero bytes for the body, then room for the
 * checksum. *OUT_SIZE is the size of both. The caller frees it. */
unsigned char *checksum_room(size_t end, size_t *out_size);

/* Writes the checksum of the first END of BYTES, a multiple of 4, into the eight bytes after them.
 */
void checksum_seal(unsigned char *bytes, size_t end);

/* True when the eight bytes after the first END of BYTES are the checksum of those END bytes. */
bool checksum_holds(const unsigned char *bytes, size_t end);

#endif
