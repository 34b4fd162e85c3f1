/* xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2019)
 * seeded through splitmix64's finaliser (Steele, Lea and Flood 2014). */
#include "envs/rng.h"

#include <assert.h>
#include <math.h>

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

/* Mixes 64 bits by a bijection in which every input bit changes half of the output bits. */
static uint64_t rng_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed, uint64_t stream)
{
    /* The first two words are bijections of seed and of stream: no two pairs share a state. */
    uint64_t a = rng_mix(seed + GOLDEN_GAMMA);
    uint64_t b = rng_mix(stream + 2 * GOLDEN_GAMMA);
    uint64_t both = a + rotate_left(b, 32);
    rng->state[0] = a;
    rng->state[1] = b;
    rng->state[2] = rng_mix(both + 3 * GOLDEN_GAMMA);
    rng->state[3] = rng_mix(both + 4 * GOLDEN_GAMMA);
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double rng_uniform(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

double rng_between(struct rng *rng, double low, double high)
{
    assert(low < high);
    double x = low + (high - low) * rng_uniform(rng);
    /* Rounding can reach HIGH, which the interval excludes. */
    return x < high ? x : low;
}

uint32_t rng_below(struct rng *rng, uint32_t n)
{
    assert(n > 0);
    /* Lemire 2019, "Fast random integer generation in an interval". */
    uint64_t product = (rng_next(rng) >> 32) * n;
    uint32_t low = (uint32_t)product;
    if (low < n) {
        uint32_t threshold = -n % n;
        while (low < threshold) {
            product = (rng_next(rng) >> 32) * n;
            low = (uint32_t)product;
        }
    }
    return (uint32_t)(product >> 32);
}

double rng_normal(struct rng *rng)
{
    /* Box and Muller 1958. The second normal is discarded, so that the generator's words are its
     * whole state. */
    double u = 1.0 - rng_uniform(rng); /* (0, 1] */
    double v = rng_uniform(rng);
    return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}
