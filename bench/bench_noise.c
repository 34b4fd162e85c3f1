/* The time of private noise beside plain noise of the same law, one thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "algos/privacy/noise/noise.h"

#define NORMALS 67586 /* parameters of a 4-256-256-2 network */
#define DRAWS   100000
#define LANES   8

/* ---- plain: xoshiro128+ (Blackman and Vigna 2021) in eight lanes; fast, and no secret is safe */

typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));
struct plain_source {
    lanes s[4];
};

static void plain_bytes(struct plain_source *source, void *bytes, size_t size)
{
    lanes a = source->s[0], b = source->s[1], c = source->s[2], d = source->s[3];
    for (size_t at = 0; at < size; at += sizeof a) { /* SIZE is a multiple of it */
        lanes sum = a + d, t = b << 9;
        memcpy((char *)bytes + at, &sum, sizeof sum);
        c ^= a;
        d ^= b;
        b ^= c;
        a ^= d;
        c ^= t;
        d = d << 11 | d >> 21;
    }
    source->s[0] = a;
    source->s[1] = b;
    source->s[2] = c;
    source->s[3] = d;
}

static double plain_uniform(struct plain_source *source)
{
    uint32_t words[LANES];
    plain_bytes(source, words, sizeof words);
    return ((double)words[0] + 0.5) * 0x1p-32;
}

/* Our own Box-Muller once more, over plain words. */
void plain_gaussian_add(struct plain_source *source, float *v, size_t count, float stddev);
#define noise_source       plain_source
#define noise_bytes        plain_bytes
#define noise_uniform_fine plain_uniform
#define noise_gaussian_add plain_gaussian_add
// NOLINTNEXTLINE(bugprone-suspicious-include): the same code under other names is the point
#include "algos/privacy/noise/noise_gaussian.c"
#undef noise_source
#undef noise_bytes
#undef noise_uniform_fine
#undef noise_gaussian_add

/* As one would write it with the mathematical library. */
static void libm_gaussian_add(struct plain_source *source, float *v, size_t count)
{
    uint32_t words[LANES];
    for (size_t i = 0; i + LANES <= count; i += LANES) {
        plain_bytes(source, words, sizeof words);
        for (size_t l = 0; l < LANES; l += 2) {
            float radius = sqrtf(-2.0f * logf(((float)words[l] + 0.5f) * 0x1p-32f));
            float angle = (float)words[l + 1] * (2.0f * (float)M_PI * 0x1p-32f);
            v[i + l] += radius * cosf(angle);
            v[i + l + 1] += radius * sinf(angle);
        }
    }
}

/* ---- measuring */

struct bench {
    struct noise_source *source, *chacha;
    struct plain_source plain;
    float *v;
    int64_t *integers;
    double sum; /* of what was drawn, so that nothing is left out */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The best of TIMES, in seconds. */
static double best(struct bench *b, void (*work)(struct bench *), int times)
{
    double least = INFINITY;
    for (int i = 0; i < times; i++) {
        double start = now();
        work(b);
        least = fmin(least, now() - start);
    }
    return least;
}

static void secure_normals(struct bench *b)
{
    noise_gaussian_add(b->source, b->v, NORMALS, 1.0f);
}

static void chacha_normals(struct bench *b)
{
    noise_gaussian_add(b->chacha, b->v, NORMALS, 1.0f);
}

static void plain_normals(struct bench *b)
{
    plain_gaussian_add(&b->plain, b->v, NORMALS, 1.0f);
}

static void libm_normals(struct bench *b)
{
    libm_gaussian_add(&b->plain, b->v, NORMALS);
}

static void secure_words(struct bench *b)
{
    noise_bytes(b->source, b->v, NORMALS * sizeof *b->v);
}

static void chacha_words(struct bench *b)
{
    noise_bytes(b->chacha, b->v, NORMALS * sizeof *b->v);
}

static void plain_words(struct bench *b)
{
    plain_bytes(&b->plain, b->v, NORMALS / LANES * sizeof(lanes));
}

static void rounded(struct bench *b)
{
    rounded_gaussian_add(b->source, 0x1p18, b->integers, DRAWS);
}

#define DRAW(name, call)                                                                           \
    static void name(struct bench *b)                                                              \
    {                                                                                              \
        for (int i = 0; i < DRAWS; i++)                                                            \
            b->sum += (double)(call);                                                              \
    }
DRAW(words, noise_u64(b->source))
DRAW(discrete_laplace, noise_discrete_laplace(b->source, UINT64_C(40) << 32, 1))
DRAW(normal, noise_normal(b->source))
DRAW(beta_binomial, (double)noise_beta_binomial(b->source, UINT64_C(1) << 40, 2.0, 18.0))

static void print_array(struct bench *b, const char *what, void (*work)(struct bench *))
{
    double took = best(b, work, 200);
    printf("  %-52s %7.1f us %6.0f million a second\n", what, 1e6 * took, 1e-6 * NORMALS / took);
}

static void print_draw(struct bench *b, const char *what, void (*work)(struct bench *))
{
    printf("  %-52s %7.1f ns\n", what, 1e9 * best(b, work, 20) / DRAWS);
}

static void run(struct bench *b)
{
    printf("%d normals added to a vector of floats:\n", NORMALS);
    print_array(b, "secure, AES-256-CTR", secure_normals);
    print_array(b, "secure, ChaCha20", chacha_normals);
    print_array(b, "plain, the same Box-Muller on xoshiro128+", plain_normals);
    print_array(b, "plain, Box-Muller by libm on xoshiro128+", libm_normals);
    print_array(b, "  words alone, AES-256-CTR", secure_words);
    print_array(b, "  words alone, ChaCha20", chacha_words);
    print_array(b, "  words alone, xoshiro128+", plain_words);
    printf("one draw:\n");
    print_draw(b, "rounded Gaussian (arrays)", rounded);
    print_draw(b, "discrete Laplace, scale 40 * 2^32", discrete_laplace);
    print_draw(b, "word", words);
    print_draw(b, "normal, double", normal);
    print_draw(b, "beta-binomial of 2^40 trials", beta_binomial);
}

int main(void)
{
    const uint8_t key[32] = {1};
    struct bench b = {.source = noise_source_new("bench"),
                      .chacha = noise_source_new_injected(key),
                      .v = calloc(NORMALS, sizeof(float)),
                      .integers = calloc(DRAWS, sizeof(int64_t))};
    bool good = b.source && b.chacha && b.v && b.integers;
    if (good) {
        noise_bytes(b.source, &b.plain, sizeof b.plain);
        run(&b);
    }
    noise_source_free(b.source);
    noise_source_free(b.chacha);
    free(b.v);
    free(b.integers);
    if (!good)
        fprintf(stderr, "bench_noise: no memory or no randomness\n");
    return good ? 0 : 1;
}
