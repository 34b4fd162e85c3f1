/* What this processor can do beyond what the program was compiled for. Whoever has a faster way
 * asks here and nowhere else: tests/older answers in its place as an older processor would, so that
 * the slower ways are tested on new machines, too. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_PROCESSOR_H
#define TACET_ALGOS_PRIVACY_NOISE_PROCESSOR_H

#include <stdbool.h>

bool processor_has_aes(void);    /* AES-NI, with SSE4.1 */
bool processor_has_vaes(void);   /* the same on two blocks at once, with AVX2 */
bool processor_has_avx512(void); /* F, BW, DQ and VL */

#endif
