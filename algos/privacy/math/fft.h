/* The discrete Fourier transform in double precision; a C face over KissFFT's template. */
#ifndef TACET_ALGOS_PRIVACY_MATH_FFT_H
#define TACET_ALGOS_PRIVACY_MATH_FFT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Twiddle factors of one length; may be used again and again, by one thread at a time. */
struct fft;

/* A transform of N complex numbers, N a power of two from 4 on. Free it with fft_free. */
struct fft *fft_new(size_t n);

/* Takes NULL. */
void fft_free(struct fft *fft);

/* out_k = sum_j in_j exp(-2 pi i j k / n), unscaled. Both are arrays of n (real, imaginary) pairs
 * and must not overlap. */
void fft_forward(const struct fft *fft, const double *in, double *out);

/* A bound of |computed out_k - out_k| / sum_j |in_j|, each k. Every output is a sum of inputs, each
 * passed through at most log2(n) butterflies; a butterfly multiplies by a twiddle factor (whose
 * angle, up to 2 pi, is rounded: 16 units) and adds (4 units). */
double fft_relative_error(size_t n);

#ifdef __cplusplus
}
#endif

#endif
