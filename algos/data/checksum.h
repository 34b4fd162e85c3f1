/* A checksum of bytes at rest. It finds damage, not forgery. */
#ifndef TACET_ALGOS_DATA_CHECKSUM_H
#define TACET_ALGOS_DATA_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a over 32-bit little-endian words (SIZE is a multiple of 4), from CHECKSUM_START or an
 * earlier result. A changed word always changes the result: each round is a bijection. */
uint64_t checksum_words(uint64_t start, const void *bytes, size_t size);

#endif
