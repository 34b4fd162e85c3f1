/* The inverse of the standard normal law, to the last digits of long double and into the tails. */
#ifndef TACET_ALGOS_PRIVACY_MATH_NORMAL_QUANTILE_H
#define TACET_ALGOS_PRIVACY_MATH_NORMAL_QUANTILE_H

#include <stdint.h>

/* x <= 0 with P(N(0,1) <= x) = P, for 0 < P <= 1/2 (P >= 1e-300); error below 2^-61 max(1, |x|)
 * with the 64-bit mantissas of x86's long double. AS 241 (Wichura 1988) with its 16 digits, then
 * one step of Newton with erfc in long double. */
long double normal_quantile(long double p);

/* The standard normal variate of 64 uniform bits: the top one is the sign, the rest the tail's
 * probability (2 m + 1) 2^-65, exact in long double: never infinite, |x| at most 9.16, and no two
 * words give the same probability. */
long double normal_from_word(uint64_t word);

/* The 63 low bits of a word make the tail's probability. From this value on a word is enough by
 * itself. Below it the normals of neighbouring words lie visibly apart, and no normal is
 * beyond 9.16. */
#define NORMAL_WORD_TAIL (UINT64_C(1) << 24)

/* The same, whole in the tails: a word below NORMAL_WORD_TAIL gets as many further words as its
 * probability needs, MORE(CONTEXT, depth) for depth 1, 2 ..., at most 13. |x| goes to 36. */
long double normal_from_words(uint64_t word, uint64_t (*more)(const void *context, unsigned depth),
                              const void *context);

/* normal_from_word without the last step, five times as fast: at most this far from
 * normal_from_word. (AS 241 claims 1e-16 relative; what is allowed here is twenty times what was
 * ever seen.) */
#define NORMAL_ROUGH_ERROR 0x1p-43

/* normal_from_word within NORMAL_ROUGH_ERROR, several times as fast. */
double normal_from_word_roughly(uint64_t word);

#endif
