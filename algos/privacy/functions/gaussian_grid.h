/* The public grid on which Gaussian answers are released: multiples of sigma 2^-12, clipped.
 * Rounding and clipping are post-processing. They remove the low bits, in which floating-point
 * noise can reveal the value it was added to. docs/proofs/gaussian_process.md, "Numbers", says what
 * is proved of this.
 */
#ifndef TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_GRID_H
#define TACET_ALGOS_PRIVACY_FUNCTIONS_GAUSSIAN_GRID_H

#define GAUSSIAN_GRID_STEP 0x1p-12 /* in standard deviations */
#define GAUSSIAN_GRID_TAIL 10.0    /* clipped this many standard deviations beyond the limit */

/* MEAN, clamped into [-value_limit, value_limit] (what is no number counts as 0), plus NOISE of
 * standard deviation SIGMA, to the nearest multiple of sigma 2^-12 within value_limit + 10 sigma. 0
 * has one sign. sigma > 0, value_limit > 0, their ratio below 2^40. */
double gaussian_grid_round(double mean, long double noise, double sigma, double value_limit);

#endif
