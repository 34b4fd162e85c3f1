/* Laws on the real line, and the public grids on which their values may be shown.
 *
 * Floating-point noise has holes in its last bits that depend on what it was added to (Mironov
 * 2012), so a sum of a private value and one of these is rounded to a public grid before anyone
 * sees it: noise_round_to_grid. Where a proof is wanted there are noise_discrete.h and
 * noise_rounded_gaussian.h, which are exact. Laws are meant for the standard scale: multiply. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_CONTINUOUS_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_CONTINUOUS_H

#include <stddef.h>

struct noise_source;

/* N(0, 1) by Box and Muller in double. The tails are whole: they end at 36, beyond which less than
 * 1e-280 of the law lies. */
double noise_normal(struct noise_source *source);

/* Adds stddev * N(0, 1) to each of V[count], in float: the fast path of DP-SGD. None is zero
 * and the tails are whole, as of noise_normal. STDDEV is not negative and at most 8e36, so that no
 * normal of it overflows. */
void noise_gaussian_add(struct noise_source *source, float *v, size_t count, float stddev);

/* The multiple of STEP nearest to VALUE, ties to the even one. VALUE is finite and STEP a positive
 * power of two that depends on nothing private. Post-processing; it hides the noise's last bits
 * when |VALUE| is below 2^40 steps: then at least 2^12 floats round to each multiple, and near
 * zero far more. */
double noise_round_to_grid(double value, double step);

/* The grid for a value that carries noise of that SCALE (a public, positive, normal number): the
 * greatest power of two that is at most SCALE / 4096. The rounding adds 1e-8 of the noise's
 * variance at most. */
double noise_grid_step(double scale);

/* The grid of released probabilities and of released weights. Weights are float32: in [1/2, 1) one
 * multiple stands for 16 of those, more below, and from 8 on for just one. */
#define NOISE_UNIT_GRID 0x1p-20

#endif
