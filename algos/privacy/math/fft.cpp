// KissFFT in double precision behind a C face: Debian's compiled library is float only, its header
// template is not. No exception leaves this file.
#if defined(__GNUC__) && !defined(__clang__)
// Products of finite numbers need no NaN repair: three times faster.
#pragma GCC optimize("cx-limited-range")
#endif

#include "algos/privacy/math/fft.h"

#include <cassert>
#include <cmath>
#include <complex>
#include <kissfft/kissfft.hh>
#include <new>

extern "C" {
#include "memory/memory.h"
}

struct fft {
    explicit fft(size_t n) : transform(n, false)
    {
    }
    kissfft<double> transform;
};

extern "C" struct fft *fft_new(size_t n)
{
    assert(n >= 4 && !(n & (n - 1)));
    try {
        return new fft(n);
    } catch (...) {
        return static_cast<struct fft *>(memory_must(nullptr));
    }
}

extern "C" void fft_free(struct fft *fft)
{
    delete fft;
}

extern "C" void fft_forward(const struct fft *fft, const double *in, double *out)
{
    try {
        // [complex.numbers] 4 makes an array of complex and one of real pairs the same bytes.
        fft->transform.transform(reinterpret_cast<const std::complex<double> *>(in),
                                 reinterpret_cast<std::complex<double> *>(out));
    } catch (...) {
        memory_must(nullptr);
    }
}

extern "C" double fft_relative_error(size_t n)
{
    return 20.0 * 0x1p-53 * std::log2(static_cast<double>(n));
}
