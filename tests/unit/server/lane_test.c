/* A lane's places: what can be done elsewhere takes no more than half of them. And its lots: half
 * of those who take turns. */
#include "server/lane.h"

#include <criterion/criterion.h>

enum { LIMIT = 6 };

Test(lane, what_can_go_elsewhere_leaves_half_of_the_places)
{
    struct lane lane;
    lane_init(&lane, LIMIT);
    for (int i = 0; i < LIMIT / 2; i++)
        cr_assert(lane_reserve_spare(&lane));
    cr_expect_not(lane_reserve_spare(&lane));
    for (int i = 0; i < LIMIT / 2; i++)
        cr_assert(lane_reserve(&lane), "a flood of the others refuses nobody here");
    cr_expect_not(lane_reserve(&lane));
    lane_release(&lane, LIMIT / 2 + 1);
    cr_expect(lane_reserve_spare(&lane));
    lane_release(&lane, LIMIT / 2);
    lane_destroy(&lane);
}

/* Of one place there is no half: what can be done elsewhere is done there. */
Test(lane, a_single_place_is_left_to_what_can_go_nowhere_else)
{
    struct lane lane;
    lane_init(&lane, 1);
    cr_expect_not(lane_reserve_spare(&lane));
    cr_expect(lane_reserve(&lane));
    cr_expect_not(lane_reserve_spare(&lane));
    cr_expect_not(lane_reserve(&lane));
    lane_release(&lane, 1);
    lane_destroy(&lane);
}

/* ---- lots */

enum { CROWD = 40, MANY = 100 };

/* COUNT more of them, from FIRST on. */
static void arrive(struct lane *lane, struct exchange *first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        cr_assert(lane_reserve(lane));
        lane_push(lane, &first[i]);
    }
}

static unsigned length(const struct exchange *list)
{
    unsigned count = 0;
    for (; list != NULL; list = list->next)
        count++;
    return count;
}

/* What is taken at once, and given back. */
static unsigned lot(struct lane *lane, unsigned most)
{
    unsigned count = 0;
    struct exchange *list = lane_take(lane, most, &count);
    cr_expect_eq(count, length(list));
    lane_release(lane, count);
    return count;
}

Test(lane, half_of_those_in_hand_lately_is_taken_at_once)
{
    static struct exchange crowd[CROWD];
    struct lane lane;
    lane_init(&lane, CROWD);
    arrive(&lane, crowd, CROWD);
    cr_expect_eq(lot(&lane, MANY), 8, "nothing is known of them yet");
    cr_expect_eq(lot(&lane, 3), 3);
    cr_expect_eq(lot(&lane, MANY), CROWD / 2 - 1);
    cr_expect_eq(lot(&lane, MANY), CROWD - 8 - 3 - (CROWD / 2 - 1), "what is there");
    lane_destroy(&lane);
}

/* A crowd that has gone is forgotten in some hundred turns of the few who stayed. */
Test(lane, lots_follow_the_crowd)
{
    static struct exchange crowd[CROWD];
    unsigned count = 0;
    struct lane lane;
    lane_init(&lane, CROWD);
    arrive(&lane, crowd, CROWD);
    while (count < CROWD)
        count += lot(&lane, MANY);
    for (unsigned turn = 0; turn < 500; turn++) {
        arrive(&lane, crowd, 1);
        cr_expect_eq(lot(&lane, MANY), 1);
    }
    arrive(&lane, crowd, 20);
    cr_expect_eq(lot(&lane, MANY), 8);
    while (lane.in_hand > 0)
        lot(&lane, MANY);
    lane_destroy(&lane);
}

Test(lane, more_is_what_came_since_as_far_as_the_lot_goes)
{
    static struct exchange crowd[CROWD];
    struct lane lane;
    unsigned count = 0, more = 0;
    lane_init(&lane, CROWD);
    arrive(&lane, crowd, 2);
    cr_expect_eq(length(lane_take(&lane, MANY, &count)), 2);
    cr_expect_eq(count, 2);
    cr_expect_null(lane_take_more(&lane, count, MANY, &more), "it does not wait");
    cr_expect_eq(more, 0);
    arrive(&lane, crowd + 2, 9);
    struct exchange *list = lane_take_more(&lane, count, MANY, &more);
    cr_expect_eq(list, &crowd[2], "the oldest first");
    cr_expect_eq(length(list), 6, "8 with those who were held");
    cr_expect_eq(more, 6);
    cr_expect_null(lane_take_more(&lane, count + more, MANY, &more), "the lot is whole");
    cr_expect_null(lane_take_more(&lane, 2, 2, &more), "the taker wants no more than it has");
    lane_release(&lane, 8);
    cr_expect_eq(lot(&lane, MANY), 3);
    lane_destroy(&lane);
}
