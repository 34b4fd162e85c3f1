/* The law of the rounded Gaussian at a billion draws: chi-square of cells of a sixteenth of a
 * deviation, of single integers near zero and of residues, and counts beyond 3 to 7 deviations. Too
 * long for make test. Usage: rounded_gaussian_law [draws]; ends with 1 when a figure is beyond six
 * deviations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/noise/noise.h"

#define BLOCK    (1 << 16)
#define SIGMA    262144 /* 2^18 steps, as DP-SGD has */
#define CELL     (SIGMA / 16)
#define HALF     (5 * 16) /* cells on either side; the outermost have no end */
#define CELLS    (2 * HALF)
#define MIDDLE   512 /* integers from -256 on */
#define RESIDUES 1024
#define LIMIT    6.0

struct law {
    double cell[CELLS], middle[MIDDLE], residue[RESIDUES], beyond[8];
};

static void count_block(struct law *seen, const int64_t *x)
{
    for (int i = 0; i < BLOCK; i++) {
        int64_t place = (x[i] + (int64_t)HALF * CELL) / CELL, size = llabs(x[i]);
        place = x[i] < -(int64_t)HALF * CELL ? 0 : place;
        seen->cell[place < CELLS ? place : CELLS - 1] += 1.0;
        seen->residue[(uint64_t)x[i] % RESIDUES] += 1.0;
        if (size < MIDDLE / 2)
            seen->middle[x[i] + MIDDLE / 2] += 1.0;
        for (int64_t k = 3; k < 8 && size > k * SIGMA; k++)
            seen->beyond[k] += 1.0;
    }
}

/* P(R < X) for whole X, in units of a step. */
static double below(double x)
{
    return 0.5 * erfc(-(x - 0.5) / SIGMA * M_SQRT1_2);
}

/* P(FROM <= R < TO), without cancellation above zero. */
static double between(double from, double to)
{
    return from >= 0.0 ? below(1.0 - from) - below(1.0 - to) : below(to) - below(from);
}

static double deviations(double chi_square, double degrees)
{
    double t = 2.0 / (9.0 * degrees);
    return (cbrt(chi_square / degrees) - 1.0 + t) / sqrt(t);
}

static bool tell(const char *what, double z)
{
    printf("%-44s %6.2f deviations\n", what, z);
    return fabs(z) <= LIMIT;
}

static bool judge(const struct law *seen, double n)
{
    double chi[3] = {0};
    bool good = true;
    for (int i = 0; i < CELLS; i++) {
        double from = (double)(i - HALF) * CELL, to = from + CELL;
        double p = between(i == 0 ? -1e9 : from, i == CELLS - 1 ? 1e9 : to);
        chi[0] += pow(seen->cell[i] - n * p, 2) / (n * p);
    }
    for (int i = 0; i < MIDDLE; i++) {
        double p = between(i - MIDDLE / 2, i - MIDDLE / 2 + 1.0);
        /* cell 0 holds nothing: -256 is not below 256 in size */
        chi[1] += i == 0 ? 0.0 : pow(seen->middle[i] - n * p, 2) / (n * p);
    }
    for (int i = 0; i < RESIDUES; i++)
        chi[2] += pow(seen->residue[i] - n / RESIDUES, 2) / (n / RESIDUES);
    good &= tell("cells of a sixteenth of a deviation", deviations(chi[0], CELLS - 1.0));
    good &= tell("511 integers around zero", deviations(chi[1], MIDDLE - 1.0));
    good &= tell("residues modulo 1024", deviations(chi[2], RESIDUES - 1.0));
    for (int k = 3; k < 8; k++) {
        double expected = 2.0 * n * below(-(double)k * SIGMA), got = seen->beyond[k];
        /* signed root of the log-likelihood ratio of a Poisson count */
        double gap = got > 0.0 ? got * log(got / expected) - (got - expected) : expected;
        char what[64];
        (void)snprintf(what, sizeof what, "%.0f beyond %d deviations, for %.4g", got, k, expected);
        good &= tell(what, copysign(sqrt(2.0 * fmax(gap, 0.0)), got - expected));
    }
    return good;
}

int main(int argc, char **argv)
{
    static const uint8_t key[32] = {77};
    double wanted = argc > 1 ? atof(argv[1]) : 1e9, n = 0;
    struct noise_source *noise = noise_source_new_injected_cipher(key, NOISE_AES256_CTR);
    struct law *seen = calloc(1, sizeof *seen);
    int64_t *x = malloc(BLOCK * sizeof *x);
    if (!noise || !seen || !x)
        return 1;
    for (; n < wanted; n += BLOCK) {
        memset(x, 0, BLOCK * sizeof *x);
        rounded_gaussian_add(noise, SIGMA, x, BLOCK);
        count_block(seen, x);
    }
    printf("%.0f draws\n", n);
    bool good = judge(seen, n);
    noise_source_free(noise);
    free(seen);
    free(x);
    return good ? 0 : 1;
}
