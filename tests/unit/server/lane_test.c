/* A lane's places: what can be done elsewhere takes no more than half of them. */
#include "server/lane.h"

#include <criterion/criterion.h>

enum { LIMIT = 6 };

Test(lane, what_can_go_elsewhere_leaves_half_of_the_places)
{
    struct lane lane;
    lane_init(&lane, LIMIT);
    for (int i = 0; i < LIMIT / 2; i++)
        cr_assert(lane_reserve(&lane, true));
    cr_expect_not(lane_reserve(&lane, true));
    for (int i = 0; i < LIMIT / 2; i++)
        cr_assert(lane_reserve(&lane, false), "a flood of the others refuses nobody here");
    cr_expect_not(lane_reserve(&lane, false));
    lane_release(&lane, LIMIT / 2 + 1);
    cr_expect(lane_reserve(&lane, true));
    lane_release(&lane, LIMIT / 2);
    lane_destroy(&lane);
}

/* Of one place there is no half: what can be done elsewhere is done there. */
Test(lane, a_single_place_is_left_to_what_can_go_nowhere_else)
{
    struct lane lane;
    lane_init(&lane, 1);
    cr_expect_not(lane_reserve(&lane, true));
    cr_expect(lane_reserve(&lane, false));
    cr_expect_not(lane_reserve(&lane, true));
    cr_expect_not(lane_reserve(&lane, false));
    lane_release(&lane, 1);
    lane_destroy(&lane);
}

Test(lane, the_oldest_are_taken_first_and_no_more_than_asked_for)
{
    static struct exchange crowd[LIMIT];
    struct lane lane;
    unsigned count = 0;
    lane_init(&lane, LIMIT);
    for (int i = 0; i < LIMIT; i++) {
        cr_assert(lane_reserve(&lane, false));
        lane_push(&lane, &crowd[i]);
    }
    struct exchange *list = lane_take(&lane, 2, &count);
    cr_expect_eq(count, 2);
    cr_expect(list == &crowd[0] && list->next == &crowd[1] && list->next->next == NULL);
    cr_expect_eq(lane_take(&lane, 100, &count), &crowd[2]);
    cr_expect_eq(count, LIMIT - 2);
    lane_stop(&lane);
    cr_expect_null(lane_take(&lane, 1, &count));
    lane_release(&lane, LIMIT);
    lane_destroy(&lane);
}
