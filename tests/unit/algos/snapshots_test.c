/* Which moments of a run are kept. A snapshot is known by the number that its network holds. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/online/snapshots.h"

static const struct mlp_shape shape = {.input = 1, .layer_count = 1, .width = {1}};

/* Shows MEASURED[count] to an empty one, as snapshots 0, 1, ...; who is kept to NUMBER. */
static bool kept_of(enum experts_select select, const double *measured, unsigned count,
                    int number[EXPERTS_PER_SETTING])
{
    const double aspiration[EXPERTS_PER_SETTING] = {10, 50, 100};
    struct snapshots snapshots;
    struct policy *out[EXPERTS_PER_SETTING];
    snapshots_init(&snapshots, select, false, aspiration, &shape);
    for (unsigned i = 0; i < count; i++) {
        snapshots.present->parameters[0] = (float)i;
        snapshots_show(&snapshots, measured[i]);
    }
    bool given = snapshots_take(&snapshots, out);
    for (int k = 0; given && k < EXPERTS_PER_SETTING; k++) {
        number[k] = (int)out[k]->parameters[0];
        policy_free(out[k]);
    }
    snapshots_clear(&snapshots);
    return given;
}

static void check_kept(enum experts_select select, const double *measured, unsigned count,
                       const int expected[EXPERTS_PER_SETTING])
{
    int number[EXPERTS_PER_SETTING];
    cr_assert(kept_of(select, measured, count, number));
    for (int k = 0; k < EXPERTS_PER_SETTING; k++)
        cr_expect_eq(number[k], expected[k], "place %d: snapshot %d, not %d", k, number[k],
                     expected[k]);
}

Test(snapshots, the_top_three_are_the_best_of_all_worst_first)
{
    check_kept(EXPERTS_TOP, (double[]){5, 90, -3, 40, 70, 1, 60}, 7, (int[]){6, 4, 1});
    check_kept(EXPERTS_TOP, (double[]){3, 2, 1}, 3, (int[]){2, 1, 0});
    check_kept(EXPERTS_TOP, (double[]){-5, -1, -9, -2}, 4, (int[]){0, 3, 1});
}

Test(snapshots, of_equal_ones_the_later_are_the_top_three)
{
    check_kept(EXPERTS_TOP, (double[]){200, 200, 200, 7, 200, 200}, 6, (int[]){2, 4, 5});
    check_kept(EXPERTS_TOP, (double[]){1, 2, 2, 1}, 4, (int[]){3, 1, 2});
}

/* Every order of six different returns. */
Test(snapshots, the_order_in_which_they_come_does_not_matter)
{
    double measured[6];
    for (unsigned order = 0; order < 46656; order++) { /* 6^6, of which 6! are orders */
        unsigned code = order, used = 0;
        int place[6] = {0};
        for (unsigned i = 0; i < 6; i++, code /= 6) {
            used |= 1U << (code % 6);
            measured[i] = code % 6;
            place[code % 6] = (int)i;
        }
        if (used == 63)
            check_kept(EXPERTS_TOP, measured, 6, place + 3);
    }
}

Test(snapshots, the_best_return_is_known_throughout)
{
    const double none[EXPERTS_PER_SETTING] = {0}, measured[] = {4, 9, 2, 9.5, 0};
    const double best[] = {4, 9, 9, 9.5, 9.5};
    struct snapshots snapshots;
    snapshots_init(&snapshots, EXPERTS_TOP, false, none, &shape);
    cr_expect_eq(snapshots_best(&snapshots), -INFINITY);
    for (int i = 0; i < 5; i++) {
        snapshots_show(&snapshots, measured[i]);
        cr_expect_eq(snapshots_best(&snapshots), best[i]);
    }
    snapshots_clear(&snapshots);
}

Test(snapshots, moments_are_those_nearest_to_the_aspirations)
{
    check_kept(EXPERTS_MOMENTS, (double[]){0, 12, 30, 55, 80, 10}, 6, (int[]){5, 3, 4});
    check_kept(EXPERTS_MOMENTS, (double[]){8, 12, 300}, 3, (int[]){1, 1, 1});
}

Test(snapshots, fewer_than_three_are_not_given)
{
    int number[EXPERTS_PER_SETTING];
    cr_expect_not(kept_of(EXPERTS_TOP, (double[]){1, 2}, 2, number));
    cr_expect_not(kept_of(EXPERTS_MOMENTS, (double[]){1, 2}, 2, number));
}
