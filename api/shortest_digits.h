/* The fewest digits that read back as the same double: C++'s std::to_chars behind a C face. */
#ifndef TACET_API_SHORTEST_DIGITS_H
#define TACET_API_SHORTEST_DIGITS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes VALUE (finite, positive) as "d.ddde+xx" and a NUL; of the shortest forms the nearest. */
void shortest_digits(double value, char out[32]);

/* The same without an exponent, for VALUE in [1e-6, 1e15); gives its length. */
size_t shortest_digits_plain(double value, char out[32]);

#ifdef __cplusplus
}
#endif

#endif
