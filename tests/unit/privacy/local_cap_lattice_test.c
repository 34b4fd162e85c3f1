/* The law of the points of a cap, on lattices that are coarse enough to go through every point:
 * the bound that privacy rests on, for every point and many vectors. */
#include "algos/privacy/local/local_cap_lattice.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/math/sphere.h"
#include "tests/unit/privacy/golden.h"

/* All points of a cube of Z^N, and what one vector's draws make of them. */
struct world {
    struct local_cap_lattice lattice;
    int64_t side; /* coordinates are from -side to side */
    size_t points;
    long double *reference, *cap, *least, *most;
};

static void world_make(struct world *w, uint32_t n, double edge, double spread)
{
    *w = (struct world){.points = 1};
    local_cap_lattice_make(&w->lattice, n, edge, spread);
    w->side = (int64_t)(w->lattice.middle + 0.5 * w->lattice.width) + 2;
    for (uint32_t i = 0; i < n; i++)
        w->points *= (size_t)(2 * w->side + 1);
    w->reference = calloc(4 * w->points, sizeof *w->reference);
    w->cap = w->reference + w->points;
    w->least = w->cap + w->points;
    w->most = w->least + w->points;
}

static void world_point(const struct world *w, size_t number, int64_t *point)
{
    for (uint32_t i = 0; i < w->lattice.n; i++) {
        point[i] = (int64_t)(number % (size_t)(2 * w->side + 1)) - w->side;
        number /= (size_t)(2 * w->side + 1);
    }
}

/* P(round(deviation Z) = x) */
static long double normal_cell(int64_t x, double deviation)
{
    long double far = ((long double)llabs(x) - 0.5L) / deviation * sqrtl(0.5L);
    return 0.5L * (erfcl(far) - erfcl(far + sqrtl(0.5L) / deviation));
}

/* cells[k]: of the number k - side - offset */
static long double *cells_around(const struct world *w, int64_t offset, double deviation)
{
    long double *cells = malloc((size_t)(2 * w->side + 1) * sizeof *cells);
    for (int64_t x = -w->side; x <= w->side; x++)
        cells[x + w->side] = normal_cell(x - offset, deviation);
    return cells;
}

static long double chance_of(const struct world *w, long double *const *cells, const int64_t *point)
{
    long double chance = 1.0L;
    for (uint32_t i = 0; i < w->lattice.n; i++)
        chance *= cells[i][point[i] + w->side];
    return chance;
}

static void make_sum_one(long double *law, size_t points)
{
    long double sum = 0.0L;
    for (size_t k = 0; k < points; k++)
        sum += law[k];
    for (size_t k = 0; k < points; k++)
        law[k] /= sum;
}

static void fill_reference(struct world *w)
{
    long double *one = cells_around(w, 0, w->lattice.spread), *cells[3] = {one, one, one};
    double low = w->lattice.middle - 0.5 * w->lattice.width, high = low + w->lattice.width;
    for (size_t k = 0; k < w->points; k++) {
        int64_t point[3] = {0};
        world_point(w, k, point);
        double norm =
            sqrt((double)(point[0] * point[0] + point[1] * point[1] + point[2] * point[2]));
        w->reference[k] = norm >= low && norm <= high ? chance_of(w, cells, point) : 0.0L;
    }
    make_sum_one(w->reference, w->points);
    free(one);
}

static void fill_cap(struct world *w, const double *v)
{
    int64_t direction[3], centre[3], point[3] = {0};
    struct local_cap_aim aim = {.direction = direction, .centre = centre};
    long double *cells[3];
    local_cap_lattice_aim(&w->lattice, v, &aim);
    for (uint32_t i = 0; i < w->lattice.n; i++)
        cells[i] = cells_around(w, centre[i], w->lattice.across);
    for (size_t k = 0; k < w->points; k++) {
        world_point(w, k, point);
        double x = local_cap_lattice_exponent(&w->lattice, &aim, point);
        cr_assert(x > 0.0, "an acceptance is cut off");
        w->cap[k] = isfinite(x) ? chance_of(w, cells, point) * expl(-(long double)x) : 0.0L;
    }
    make_sum_one(w->cap, w->points);
    for (uint32_t i = 0; i < w->lattice.n; i++)
        free(cells[i]);
}

/* The I-th of some directions, with coordinates that round to all sides. */
static void direction_at(uint32_t n, int i, double *v)
{
    double turn = 0.1237 * i, lift = n == 3 ? cos(0.31 * i) : 0.0;
    if (i < 2) { /* axes: the lattice's own directions */
        v[0] = i == 0;
        v[1] = i == 1;
        v[2] = 0.0;
        return;
    }
    v[0] = cos(turn) * sqrt(1.0 - lift * lift);
    v[1] = sin(turn) * sqrt(1.0 - lift * lift);
    v[2] = lift;
}

/* P(x | v) between the least and the most over all vectors: their ratio is at most e^epsilon, with
 * the q that epsilon and the proven share give. */
static void check_world(uint32_t n, double edge, double spread)
{
    const int directions = n == 2 ? 26 : 10;
    const double epsilon = 2.0;
    struct world w;
    world_make(&w, n, edge, spread);
    fill_reference(&w);
    double share = local_cap_lattice_share(&w.lattice), true_share = sphere_tail(n, edge);
    double q = 1.0 / (1.0 + expm1(epsilon) * share);
    cr_assert(share > 0.0 && share < true_share);
    long double worst = 0.0L, cost = 0.0L;
    for (int i = 0; i < directions; i++) {
        double v[3];
        direction_at(n, i, v);
        fill_cap(&w, v);
        for (size_t k = 0; k < w.points; k++) {
            long double chance = q * w.reference[k] + (1.0 - q) * w.cap[k];
            if (w.cap[k] > 0.0L) {
                cr_assert(w.reference[k] > 0.0L, "where the reference is not");
                worst = fmaxl(worst, w.cap[k] / w.reference[k]);
            }
            w.least[k] = i == 0 ? chance : fminl(w.least[k], chance);
            w.most[k] = fmaxl(w.most[k], chance);
        }
    }
    for (size_t k = 0; k < w.points; k++)
        if (w.most[k] > 0.0L)
            cost = fmaxl(cost, logl(w.most[k] / w.least[k]));
    cr_expect(worst <= 1.0 / share, "edge %g: %Lg above %g", edge, worst, 1.0 / share);
    /* The law is that of a cap of the sphere; what the bound gives away is for its proof. */
    cr_expect(worst * true_share < 1.1L && worst * true_share > 0.99L, "edge %g: %Lg of the share",
              edge, worst * true_share);
    cr_expect(cost <= epsilon && cost > 0.9 * log1p((1.0 - q) / (q * true_share)), "edge %g: %Lg",
              edge, cost);
    free(w.reference);
}

Test(local_cap_lattice, no_point_tells_more_than_epsilon)
{
    check_world(2, 0.0, 128.0);
    check_world(2, 0.4, 128.0);
    check_world(2, 0.9, 128.0);
    check_world(3, 0.3, 16.0);
    check_world(3, 0.7, 16.0);
}

/* Draws against the law that was enumerated. */
Test(local_cap_lattice, draws_follow_the_law)
{
    enum { ROUNDS = 200000, BANDS = 8, CELLS = BANDS * BANDS };
    struct noise_source *noise = golden_noise(490);
    double v[3];
    for (int which = 0; which < 4; which++) {
        struct world w;
        double seen[CELLS] = {0}, expected[CELLS] = {0};
        world_make(&w, 2, which < 2 ? 0.25 : 0.85, 96.0);
        direction_at(2, 7 + 5 * which, v);
        fill_reference(&w);
        fill_cap(&w, v);
        for (size_t k = 0; k < w.points; k++) {
            int64_t point[2];
            world_point(&w, k, point);
            int64_t cell = (point[0] + w.side) * BANDS / (2 * w.side + 1) * BANDS +
                           (point[1] + w.side) * BANDS / (2 * w.side + 1);
            expected[cell] += ROUNDS * (double)(which % 2 ? w.reference[k] : w.cap[k]);
        }
        for (int i = 0; i < ROUNDS; i++) {
            int64_t point[3];
            if (which % 2)
                local_cap_lattice_reference(&w.lattice, noise, point);
            else
                local_cap_lattice_cap(&w.lattice, v, noise, point);
            seen[(point[0] + w.side) * BANDS / (2 * w.side + 1) * BANDS +
                 (point[1] + w.side) * BANDS / (2 * w.side + 1)] += 1.0;
        }
        double kept_seen[CELLS], kept_expected[CELLS];
        size_t kept = 0;
        for (int c = 0; c < CELLS; c++)
            if (expected[c] > 100.0) {
                kept_seen[kept] = seen[c];
                kept_expected[kept++] = expected[c];
            } else {
                cr_expect(seen[c] < 3.0 * expected[c] + 30.0, "cell %d: %g of %g", c, seen[c],
                          expected[c]);
            }
        double distance = golden_chi_square(kept_seen, kept_expected, kept);
        cr_expect(distance < CHI_LIMIT, "law %d: %g", which, distance);
        free(w.reference);
    }
    noise_source_free(noise);
}

/* At the spread of reports: what the lattice takes from the share is what the proof says. */
Test(local_cap_lattice, proof_takes_little_of_the_share)
{
    static const struct {
        uint32_t n;
        double edge, lost;
    } cases[] = {
        {2, 0.0, 1e-5},
        {2, 0.9, 1e-5},
        {3, 0.5, 1e-5},
        {17, 0.4, 1e-5},
        {113, 0.0, 1e-5},
        {113, 0.2, 1e-5},
        {(1u << 20) + 1, 0.002, 1e-3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct local_cap_lattice lattice;
        local_cap_lattice_make(&lattice, cases[i].n, cases[i].edge, LOCAL_CAP_SPREAD);
        double share = local_cap_lattice_share(&lattice);
        double part = share / sphere_tail(cases[i].n, cases[i].edge);
        cr_expect(part < 1.0 && part > 1.0 - cases[i].lost, "case %zu: %.9g", i, part);
    }
}
