/* Releases of Q-functions: values that stay, in all three forms, through bytes and across threads;
 * what is outside of the bounds. */
#include "algos/release/q_release.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/release/knots.h"
#include "algos/release/relu_features.h"
#include "envs/rng.h"

static const struct q_terms path_terms = {.form = Q_FORM_PATH,
                                          .state_dim = 1,
                                          .action_count = 2,
                                          .low = {-3.0},
                                          .high = {5.0},
                                          .shards = 100,
                                          .value_limit = 1.0,
                                          .lipschitz = 4.0,
                                          .bits = 20,
                                          .knot_bits = 3,
                                          .beta = 4.0,
                                          .sensitivity = 0.05,
                                          .sigma = 0.1,
                                          .mu = 0.5};
static const uint8_t key[GAUSSIAN_PATH_KEY_BYTES] = {4, 2};
static const double mean[18] = {0, 1, .1, .9, .2, .8, .3, .7, .4, .6, .5, .5, .6, .4, .7, .3, .8};

static struct q_release *make(enum q_form form)
{
    struct q_terms terms = path_terms;
    if (form == Q_FORM_PATH)
        return q_release_path(&terms, mean, key);
    terms.form = form;
    terms.state_dim = 2;
    terms.low[1] = 0.0;
    terms.high[1] = 1.0;
    if (form == Q_FORM_GRID) {
        terms.knot_bits = 3;
        return q_release_grid(&terms, mean);
    }
    struct relu_features features;
    double coefficients[2 * 10];
    terms.features = 10;
    for (int i = 0; i < 20; i++)
        coefficients[i] = sin(i);
    relu_features_init(&features, 2, 10, 1, false);
    struct policy *network =
        relu_features_policy(&features, terms.low, terms.high, coefficients, 2);
    relu_features_clear(&features);
    return q_release_features(&terms, network);
}

static void ask(const struct q_release *release, double x, double y, double values[2])
{
    const double state[] = {x, y};
    uint32_t at = 77;
    cr_assert_eq(q_release_values(release, state, values, &at), Q_ANSWERED);
}

Test(q_release, the_same_state_has_the_same_value)
{
    for (int form = 0; form < Q_FORMS; form++) {
        struct q_release *release = make((enum q_form)form);
        cr_assert_not_null(release);
        unsigned char *bytes = NULL;
        size_t size = 0;
        bytes = q_release_to_bytes(release, &size);
        struct q_release *again = q_release_from_bytes(q_release_terms(release), bytes, size);
        cr_assert_not_null(again);
        struct rng rng;
        rng_seed(&rng, 91, 0);
        for (int i = 0; i < 500; i++) {
            double x = rng_between(&rng, -3, 5), y = rng_uniform(&rng), a[2], b[2];
            ask(release, x, y, a);
            ask(again, x, y, b);
            cr_expect_eq(memcmp(a, b, sizeof a), 0);
            ask(release, x, y, b);
            cr_expect_eq(memcmp(a, b, sizeof a), 0);
        }
        /* No damage goes unseen. */
        for (size_t i = 0; i < size; i += size / 13 + 1) {
            bytes[i] ^= 64;
            struct q_release *broken = q_release_from_bytes(q_release_terms(release), bytes, size);
            cr_expect_null(broken, "%s, byte %zu", q_form_name((enum q_form)form), i);
            bytes[i] ^= 64;
        }
        cr_expect_null(q_release_from_bytes(q_release_terms(release), bytes, size - 1));
        cr_expect_null(q_release_from_bytes(q_release_terms(release), bytes, 0));
        cr_expect_eq(q_release_network(release) != NULL, form == Q_FORM_FEATURES);
        free(bytes);
        q_release_free(again);
        q_release_free(release);
    }
}

/* What was released before there was a lattice: key, values and checksum alone. It tells the same
 * numbers as ever. */
Test(q_release, a_path_of_before_keeps_its_numbers)
{
    const struct gaussian_path_law law = {.beta = path_terms.beta,
                                          .sigma = path_terms.sigma,
                                          .bits = path_terms.bits,
                                          .dimensions = 1};
    size_t size = 0, body = sizeof key + sizeof mean;
    unsigned char *bytes = checksum_room(body, &size), *again = NULL;
    memcpy(bytes, key, sizeof key);
    memcpy(bytes + sizeof key, mean, sizeof mean);
    checksum_seal(bytes, body);
    struct q_release *old = q_release_from_bytes(&path_terms, bytes, size);
    struct q_release *new = make(Q_FORM_PATH);
    struct gaussian_path *path = gaussian_path_new(&law, key);
    cr_assert(old && path);
    int different = 0;
    for (uint32_t i = 0; i <= 64; i++) {
        uint32_t index = i << (path_terms.bits - 6);
        double told[2], wanted[2], other[2];
        knots_at(mean, path_terms.knot_bits, 2, path_terms.bits, index, wanted);
        gaussian_path_release_all(path, 2, &index, wanted, path_terms.value_limit, wanted);
        ask(old, -3.0 + 8.0 * i / 64.0, 0.0, told);
        ask(new, -3.0 + 8.0 * i / 64.0, 0.0, other);
        cr_expect_eq(memcmp(told, wanted, sizeof told), 0, "point %u", i);
        different += memcmp(told, other, sizeof told) != 0;
    }
    cr_expect_gt(different, 60, "a new one is drawn on the lattice");
    size_t same = 0;
    again = q_release_to_bytes(old, &same);
    cr_expect(same == size && memcmp(again, bytes, size) == 0, "and its bytes");
    free(again);
    free(bytes);
    gaussian_path_free(path);
    q_release_free(old);
    q_release_free(new);
}

/* Numbers that no release can have, with a checksum that holds: a path would compute beyond its
 * lattice, and a grid would answer what is no number. */
Test(q_release, values_that_no_release_has_are_refused)
{
    static const double wrong[] = {INFINITY, NAN, 1e300};
    for (int form = 0; form < Q_FORMS; form += 2) /* path, grid */
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0] - (form == Q_FORM_GRID); i++) {
            struct q_release *release = make((enum q_form)form);
            size_t size = 0;
            unsigned char *bytes = q_release_to_bytes(release, &size);
            memcpy(bytes + sizeof key, &wrong[i], sizeof wrong[i]);
            checksum_seal(bytes, size - sizeof(uint64_t));
            cr_expect_null(q_release_from_bytes(q_release_terms(release), bytes, size), "%d %g",
                           form, wrong[i]);
            free(bytes);
            q_release_free(release);
        }
}

Test(q_release, states_outside_are_refused_or_clamped)
{
    for (int form = 0; form < Q_FORMS; form++) {
        struct q_release *release = make((enum q_form)form);
        struct q_terms terms = *q_release_terms(release);
        double values[2], edge[2];
        uint32_t at = 77;
        static const double far[] = {5.1, 0.5}, odd[] = {NAN, 0.5}, endless[] = {INFINITY, 0.5};
        cr_expect_eq(q_release_values(release, far, values, &at), Q_OUTSIDE);
        cr_expect_eq(at, 0);
        cr_expect_eq(q_release_values(release, odd, values, NULL), Q_NOT_A_NUMBER);
        cr_expect_eq(q_release_values(release, endless, values, NULL), Q_NOT_A_NUMBER);
        ask(release, 5.0, 0.5, edge);
        unsigned char *bytes = NULL;
        size_t size = 0;
        bytes = q_release_to_bytes(release, &size);
        terms.clamps = true;
        struct q_release *clamping = q_release_from_bytes(&terms, bytes, size);
        cr_assert_not_null(clamping);
        cr_expect_eq(q_release_values(clamping, far, values, NULL), Q_ANSWERED);
        cr_expect_eq(memcmp(values, edge, sizeof edge), 0);
        cr_expect_eq(q_release_values(clamping, odd, values, NULL), Q_NOT_A_NUMBER);
        free(bytes);
        q_release_free(clamping);
        q_release_free(release);
    }
}

/* Points of one cell of the public grid are one point, mean and noise alike; both zeros are. */
Test(q_release, a_cell_has_one_value)
{
    struct q_release *release = make(Q_FORM_PATH);
    double cell = 8.0 / (1 << 20), a[2], b[2];
    ask(release, 1.0, 0, a);
    ask(release, 1.0 + 0.4 * cell, 0, b);
    cr_expect_eq(memcmp(a, b, sizeof a), 0);
    ask(release, 1.0 + cell, 0, b);
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
    ask(release, 0.0, 0, a);
    ask(release, -0.0, 0, b);
    cr_expect_eq(memcmp(a, b, sizeof a), 0);
    q_release_free(release);
}

/* Over 300 keys the values at a knot have the mean and the deviation that the terms say; errors of
 * mean and variance are within five standard errors (false alarms: 3 in a million). */
Test(q_release, noise_has_the_declared_size)
{
    enum { KEYS = 300 };
    double sum = 0.0, squares = 0.0;
    for (int k = 0; k < KEYS; k++) {
        uint8_t other[GAUSSIAN_PATH_KEY_BYTES] = {(uint8_t)k, (uint8_t)(k >> 8), 9};
        struct q_release *release = q_release_path(&path_terms, mean, other);
        double values[2];
        ask(release, -2.0, 0, values); /* the second knot: 0.1 */
        sum += values[0] - 0.1;
        squares += (values[0] - 0.1) * (values[0] - 0.1);
        q_release_free(release);
    }
    double deviation = path_terms.sigma;
    cr_expect(fabs(sum / KEYS) < 5.0 * deviation / sqrt(KEYS), "%g", sum / KEYS);
    cr_expect(fabs(squares / KEYS / (deviation * deviation) - 1.0) < 5.0 * sqrt(2.0 / KEYS), "%g",
              squares / KEYS);
}

Test(q_release, a_grid_is_linear_between_its_nodes)
{
    struct q_release *release = make(Q_FORM_GRID);
    double values[2];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            ask(release, -3.0 + 4.0 * i, 0.5 * j, values);
            cr_expect_float_eq(values[0], mean[(i * 3 + j) * 2], 1e-12);
            cr_expect_float_eq(values[1], mean[(i * 3 + j) * 2 + 1], 1e-12);
        }
    ask(release, -1.0, 0.25, values); /* the middle of the first cell */
    cr_expect_float_eq(values[0], (mean[0] + mean[2] + mean[6] + mean[8]) / 4.0, 1e-12);
    q_release_free(release);
}

Test(q_release, terms_out_of_range_make_nothing)
{
    struct q_terms terms = path_terms;
    terms.high[0] = -3.0;
    cr_expect_null(q_release_path(&terms, mean, key));
    terms = path_terms;
    terms.high[0] = INFINITY;
    cr_expect_null(q_release_path(&terms, mean, key));
    terms = path_terms;
    terms.bits = 2;
    cr_expect_null(q_release_path(&terms, mean, key));
    terms = path_terms;
    terms.sigma = NAN;
    cr_expect_null(q_release_path(&terms, mean, key));
    terms = path_terms;
    terms.state_dim = 2;
    cr_expect_null(q_release_path(&terms, mean, key));
    terms = path_terms;
    terms.form = Q_FORM_GRID;
    terms.knot_bits = 5000;
    terms.state_dim = 4;
    terms.low[1] = terms.low[2] = terms.low[3] = 0;
    terms.high[1] = terms.high[2] = terms.high[3] = 1;
    cr_expect_null(q_release_grid(&terms, mean));
    cr_expect_eq(q_form_find("grid"), Q_FORM_GRID);
    cr_expect_eq(q_form_find("path "), -1);
}
