/* Clips of the local mechanisms. Every one takes a vector with a NaN or an infinity for zero, and
 * none overflows, whatever finite numbers come. */
#ifndef TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CLIP_H
#define TACET_ALGOS_PRIVACY_LOCAL_LOCAL_CLIP_H

#include <stddef.h>
#include <stdint.h>

#define LOCAL_CLIP_UNITS ((int64_t)1 << 32)

/* UNITS[count]: VECTOR, scaled down to 1-norm at most CLIP, in multiples of CLIP / 2^32, truncated
 * toward zero. The sum of |units| is at most 2^32, exactly. */
void local_clip_l1_units(const double *vector, size_t count, double clip, int64_t *units);

/* OUT[count]: VECTOR scaled down to 1-norm at most CLIP, to rounding. May be VECTOR itself. */
void local_clip_l1(const double *vector, size_t count, double clip, double *out);

/* OUT[count + 1], of 2-norm 1 to rounding: VECTOR / CLIP, scaled down to 2-norm at most 1, and the
 * last coordinate that fills up to 1. */
void local_clip_lift(const double *vector, size_t count, double clip, double *out);

#endif
