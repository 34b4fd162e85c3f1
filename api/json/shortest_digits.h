/* The fewest digits that read back as the same double, by C++'s std::to_chars. */
#ifndef TACET_API_JSON_SHORTEST_DIGITS_H
#define TACET_API_JSON_SHORTEST_DIGITS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Writes VALUE (finite, positive) as "d.ddde+xx" and a NUL; of the shortest forms the nearest. */
void shortest_digits(double value, char out[32]);

#ifdef __cplusplus
}
#endif

#endif
