/* Rejection on the lattice.
 *
 * DESIGN. A proposal is x = centre + D, D rounded normals of deviation s' = s sqrt(1 - edge^2); so
 * the quotient of the reference and the proposal is exp(g - constant) with
 *
 *     g = |x - centre|^2 / (2 s'^2) - |x|^2 / (2 s^2),
 *
 * which two integer sums give. On the edge of the cap g is a parabola in |x|, with its least value,
 * 0, at s sqrt(n): the shell lies around it, so that its ends have the greatest one. One proposal
 * of about 5 edge sqrt(n) is taken, however small the cap's share is. */
#include "algos/privacy/local/local_cap_lattice.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/math/sphere.h"
#include "algos/privacy/noise/noise_discrete.h"
#include "algos/privacy/noise/noise_rounded_gaussian.h"
#include "memory/memory.h"

#define BOX        10.0  /* deviations: what lies beyond is thrown away */
#define BEYOND_BOX 2e-23 /* at least the probability of that, for one number */
#define FINE       0x1p40
#define AIM_ERROR  0x1p-29 /* of |v|^2, many times */

typedef __int128 wide;

void local_cap_lattice_make(struct local_cap_lattice *out, uint32_t n, double edge, double spread)
{
    assert(n >= 2 && edge >= 0.0 && edge <= LOCAL_CAP_MOST_EDGE);
    double sine = sqrt((1.0 - edge) * (1.0 + edge)), root = sqrt(n);
    *out = (struct local_cap_lattice){
        .n = n,
        .edge = edge,
        .spread = spread,
        .across = spread * sine,
        .middle = spread * root,
        .width = 2.0 * spread * (sine < edge ? sine / edge : 1.0),
    };
    double half = 0.5 * out->width / spread, slope = edge / sine, centre = edge * out->middle;
    double off = 0.55 * root, top = out->middle + 0.5 * out->width;
    double moved = (off + edge * centre * AIM_ERROR) * (top + centre) + off * off;
    out->slack = moved / (out->across * out->across) + 0x1p-20;
    out->most = 0.5 * slope * slope * half * half + out->slack;
}

double local_cap_lattice_share(const struct local_cap_lattice *lattice)
{
    double n = lattice->n, root = sqrt(n), s = lattice->spread, half = 0.5 * root;
    double low = lattice->middle - 0.5 * lattice->width;
    /* How much the density of |x| changes over the shell. */
    double z = (0.5 * lattice->width + half) / s,
           bend = 1.0 + (n - 1.0) / ((root - z) * (root - z));
    double drop = z / root + 0.5 * z * z * bend, inner = lattice->width - 2.0 * half;
    double shell = 0.519 * exp(-drop) * inner / s;
    double shell_rounding = 4.0 * half * exp(drop + 1.0 / n) / inner;
    double cap = sphere_tail_least(lattice->n, lattice->edge + 2.0 * half / low + 0x1p-50);
    double sine = lattice->across / s, rare = (n + 1.0) * BEYOND_BOX;
    double taken = cap * shell * exp(-lattice->most - n * log(sine));
    double rest = n * (0x1p-53 + 5.0 / (s * s) + 5.0 / (lattice->across * lattice->across));
    double kept = (1.0 - rare / (cap * shell)) * (1.0 - rare / taken);
    return cap * kept / (1.0 + shell_rounding) * exp(-6.0 * rest) * (1.0 - 0x1p-40);
}

/* N numbers and, when that is odd, one more that no one reads: pairs of draws are whole. False when
 * one is out of the box. */
static bool draw_inside(struct noise_source *noise, uint32_t n, double deviation, int64_t *out)
{
    size_t count = n + n % 2;
    int64_t most = (int64_t)(BOX * deviation), beyond = 0;
    memset(out, 0, count * sizeof *out);
    rounded_gaussian_add(noise, deviation, out, count);
    for (size_t i = 0; i < count; i++)
        beyond |= (most - llabs(out[i])) >> 63;
    return !beyond;
}

static wide sum_of_squares(const int64_t *x, uint32_t n)
{
    wide sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (wide)x[i] * x[i];
    return sum;
}

static bool is_in_shell(const struct local_cap_lattice *lattice, wide square)
{
    long double low = lattice->middle - 0.5 * lattice->width;
    long double high = lattice->middle + 0.5 * lattice->width;
    return (long double)square >= low * low && (long double)square <= high * high;
}

void local_cap_lattice_reference(const struct local_cap_lattice *lattice,
                                 struct noise_source *noise, int64_t *point)
{
    bool taken = false;
    while (!taken)
        taken = draw_inside(noise, lattice->n, lattice->spread, point) &&
                is_in_shell(lattice, sum_of_squares(point, lattice->n));
}

void local_cap_lattice_aim(const struct local_cap_lattice *lattice, const double *v,
                           struct local_cap_aim *aim)
{
    for (uint32_t i = 0; i < lattice->n; i++) {
        aim->direction[i] = llrint(v[i] * FINE);
        aim->centre[i] = llrint(v[i] * (lattice->edge * lattice->middle));
    }
    aim->norm = (double)sqrtl((long double)sum_of_squares(aim->direction, lattice->n));
}

double local_cap_lattice_exponent(const struct local_cap_lattice *lattice,
                                  const struct local_cap_aim *aim, const int64_t *point)
{
    wide along = 0, square = 0, away = 0;
    int64_t most = (int64_t)(BOX * lattice->spread), beyond = 0;
    for (uint32_t i = 0; i < lattice->n; i++) {
        int64_t x = point[i], d = x - aim->centre[i];
        along += (wide)x * aim->direction[i];
        square += (wide)x * x;
        away += (wide)d * d;
        beyond |= (most - llabs(x)) >> 63;
    }
    long double edge = (long double)lattice->edge * aim->norm * sqrtl((long double)square);
    if (beyond || !is_in_shell(lattice, square) || (long double)along < edge)
        return (double)INFINITY;
    long double s = lattice->spread, across = lattice->across;
    long double g =
        (long double)away / (2.0L * across * across) - (long double)square / (2.0L * s * s);
    return (double)fmaxl(0.0L, (long double)lattice->most - g);
}

void local_cap_lattice_cap(const struct local_cap_lattice *lattice, const double *v,
                           struct noise_source *noise, int64_t *point)
{
    uint32_t n = lattice->n;
    int64_t *room = memory_new(2 * (size_t)n, sizeof *room);
    struct local_cap_aim aim = {.direction = room, .centre = room + n};
    local_cap_lattice_aim(lattice, v, &aim);
    bool taken = false;
    while (!taken) {
        if (!draw_inside(noise, n, lattice->across, point))
            continue;
        for (uint32_t i = 0; i < n; i++)
            point[i] += aim.centre[i];
        double x = local_cap_lattice_exponent(lattice, &aim, point);
        taken = isfinite(x) && noise_exp_coin(noise, x);
    }
    explicit_bzero(room, 2 * (size_t)n * sizeof *room);
    free(room);
}
