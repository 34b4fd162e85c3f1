/* The fewest digits that read back as the same double: of any by C++'s std::to_chars, of those that
 * replies are full of by a shorter way (shortest_near.c). */
#ifndef TACET_API_JSON_SHORTEST_DIGITS_H
#define TACET_API_JSON_SHORTEST_DIGITS_H

#define SHORTEST_NEAR_FROM   1e-11
#define SHORTEST_NEAR_BELOW  1e15
#define SHORTEST_NEAR_DIGITS 17

#ifdef __cplusplus
extern "C" {
#endif

/* Writes VALUE (finite, positive) as "d.ddde+xx" and a NUL; of the shortest forms the nearest. */
void shortest_digits(double value, char out[32]);

/* The same digits alone, without point and exponent, of a VALUE from SHORTEST_NEAR_FROM to below
 * SHORTEST_NEAR_BELOW that is not whole: VALUE is 0.DIGITS x 10^point. Gives their number; what is
 * behind them in OUT is anything. */
unsigned shortest_digits_near(double value, char out[SHORTEST_NEAR_DIGITS], int *out_point);

#ifdef __cplusplus
}
#endif

#endif
