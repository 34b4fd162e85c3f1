/* Reports and their bytes. */
#include "algos/privacy/local/local_report.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/privacy/golden.h"

#define D    11
#define ROOM (10 * (D + 1))

static struct local_scheme scheme_of(const struct local_mechanism *mechanism, double epsilon)
{
    struct local_parameters parameters = {.dimension = D, .epsilon = epsilon, .clip = 1.0};
    struct local_scheme scheme;
    cr_assert_null(local_scheme_make(mechanism, &parameters, &scheme));
    cr_assert_leq(local_report_room(&scheme), ROOM);
    return scheme;
}

Test(local_report, reads_back_what_was_written)
{
    static const double vector[D] = {0.4, -0.1, 0.0, 0.9};
    static const unsigned char seed[LOCAL_SEED_SIZE] = {3, 1, 4};
    const struct local_mechanism *mechanism;
    struct noise_source *noise = golden_noise(490);
    for (size_t i = 0; (mechanism = local_mechanism_at(i)); i++)
        for (int k = 0; k < 300; k++) {
            struct local_scheme scheme = scheme_of(mechanism, 0.5 + 0.1 * k);
            int64_t report[D + 1], again[D + 1];
            unsigned char bytes[ROOM];
            cr_assert_eq(mechanism->randomise(&scheme, seed, vector, noise, report), LOCAL_OK);
            size_t size = local_report_pack(&scheme, report, bytes);
            cr_assert(size > 0 && size <= local_report_room(&scheme));
            cr_assert_eq(local_report_unpack(&scheme, bytes, size, again), LOCAL_OK);
            cr_assert_eq(memcmp(report, again, scheme.report_length * sizeof *report), 0);
            /* Neither a byte less nor one more. */
            cr_expect_eq(local_report_unpack(&scheme, bytes, size - 1, again), LOCAL_BAD_REPORT);
            bytes[size] = 0;
            if (size < ROOM)
                cr_expect_eq(local_report_unpack(&scheme, bytes, size + 1, again),
                             LOCAL_BAD_REPORT);
        }
    noise_source_free(noise);
}

Test(local_report, signs_are_bits)
{
    struct local_scheme scheme = scheme_of(&local_projected_sign, 25.0);
    cr_assert_eq(scheme.report_length, 10);
    static const int64_t report[10] = {1, 0, 1, 1, 0, 0, 0, 0, 0, 1};
    unsigned char bytes[2];
    cr_assert_eq(local_report_pack(&scheme, report, bytes), 2);
    cr_expect_eq(bytes[0], 0x0d);
    cr_expect_eq(bytes[1], 0x02);
    int64_t again[10];
    bytes[1] = 0x06; /* a bit where there is no sign */
    cr_expect_eq(local_report_unpack(&scheme, bytes, 2, again), LOCAL_BAD_REPORT);
}

Test(local_report, integers_have_one_form)
{
    struct local_scheme scheme = scheme_of(&local_laplace, 1.0);
    int64_t report[D] = {0, 1, -1, 63, -64, 64, INT64_MAX, INT64_MIN, 300, -300, 7}, again[D];
    unsigned char bytes[ROOM];
    size_t size = local_report_pack(&scheme, report, bytes);
    cr_assert_eq(local_report_unpack(&scheme, bytes, size, again), LOCAL_OK);
    cr_expect_eq(memcmp(report, again, sizeof report), 0);
    static const unsigned char expected[] = {0, 2, 1, 126, 127, 128, 1};
    cr_expect_eq(memcmp(bytes, expected, sizeof expected), 0);
    /* A number with an empty digit in front, one of eleven digits, one of 65 bits. */
    static const unsigned char bad[][ROOM] = {
        {0x80, 0x00},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}};
    for (size_t i = 0; i < 3; i++)
        for (size_t length = 0; length <= ROOM; length++)
            cr_expect_eq(local_report_unpack(&scheme, bad[i], length, again), LOCAL_BAD_REPORT);
}
