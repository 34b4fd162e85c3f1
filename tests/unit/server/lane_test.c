/* A lane's places, and whose turn it is. */
#include "server/lane.h"

#include <criterion/criterion.h>

enum { LIMIT = 6, GREEDY = 7, POLITE = 7 + LANE_BUCKETS /* of the same bucket */ };

static const struct lane_limits WIDE = {.places = LIMIT, .each = LIMIT};

/* COUNT requests of CLIENT, each in its place of LANE. */
static void queue_up(struct lane *lane, struct exchange *crowd, int count, uint64_t client)
{
    for (int i = 0; i < count; i++) {
        crowd[i].client = client;
        cr_assert_eq(lane_reserve(lane, &crowd[i], false), LANE_RESERVED);
        lane_push(lane, &crowd[i]);
    }
}

/* Takes everything and gives it back. */
static void empty_lane(struct lane *lane)
{
    unsigned count;
    lane_stop(lane);
    for (struct exchange *list; (list = lane_take(lane, 100, &count));)
        lane_release(lane, list);
    lane_destroy(lane);
}

Test(lane, what_can_go_elsewhere_leaves_half_of_the_places)
{
    static struct exchange crowd[LIMIT + 2];
    struct lane lane;
    lane_init(&lane, WIDE);
    for (int i = 0; i < LIMIT / 2; i++)
        cr_assert_eq(lane_reserve(&lane, &crowd[i], true), LANE_RESERVED);
    cr_expect_eq(lane_reserve(&lane, &crowd[LIMIT], true), LANE_FULL);
    for (int i = LIMIT / 2; i < LIMIT; i++)
        cr_assert_eq(lane_reserve(&lane, &crowd[i], false), LANE_RESERVED,
                     "a flood of the others refuses nobody here");
    cr_expect_eq(lane_reserve(&lane, &crowd[LIMIT], false), LANE_FULL);
    for (int i = 0; i < LIMIT; i++)
        lane_push(&lane, &crowd[i]);
    unsigned count;
    lane_release(&lane, lane_take(&lane, LIMIT / 2 + 1, &count));
    cr_expect_eq(lane_reserve(&lane, &crowd[LIMIT], true), LANE_RESERVED);
    lane_push(&lane, &crowd[LIMIT]);
    empty_lane(&lane);
}

/* Of one place there is no half: what can be done elsewhere is done there. */
Test(lane, a_single_place_is_left_to_what_can_go_nowhere_else)
{
    static struct exchange one, other;
    struct lane lane;
    lane_init(&lane, (struct lane_limits){.places = 1, .each = 1});
    cr_expect_eq(lane_reserve(&lane, &one, true), LANE_FULL);
    queue_up(&lane, &one, 1, GREEDY);
    cr_expect_eq(lane_reserve(&lane, &other, true), LANE_FULL);
    cr_expect_eq(lane_reserve(&lane, &other, false), LANE_FULL);
    empty_lane(&lane);
}

Test(lane, the_oldest_are_taken_first_and_no_more_than_asked_for)
{
    static struct exchange crowd[LIMIT];
    struct lane lane;
    unsigned count = 0;
    lane_init(&lane, WIDE);
    queue_up(&lane, crowd, LIMIT, GREEDY);
    struct exchange *list = lane_take(&lane, 2, &count);
    cr_expect_eq(count, 2);
    cr_expect(list == &crowd[0] && list->next == &crowd[1] && list->next->next == NULL);
    struct exchange *rest = lane_take(&lane, 100, &count);
    cr_expect_eq(rest, &crowd[2]);
    cr_expect_eq(count, LIMIT - 2);
    lane_stop(&lane);
    cr_expect_null(lane_take(&lane, 1, &count));
    lane_release(&lane, list);
    lane_release(&lane, rest);
    lane_destroy(&lane);
}

/* The greedy came first with all that they have; the polite one's only request is second. */
Test(lane, a_list_is_filled_up_with_what_has_arrived)
{
    static struct exchange crowd[LIMIT];
    struct lane lane;
    unsigned count = 0;
    lane_init(&lane, WIDE);
    queue_up(&lane, crowd, 2, GREEDY);
    struct exchange *list = lane_take(&lane, 4, &count);
    cr_expect_eq(count, 2);
    lane_add(&lane, list, 4);
    cr_expect_null(crowd[1].next);
    queue_up(&lane, crowd + 2, LIMIT - 2, POLITE);
    lane_add(&lane, list, 4);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(crowd[i].next, &crowd[i + 1]);
    cr_expect_null(crowd[3].next);
    lane_release(&lane, list);
    empty_lane(&lane);
}

Test(lane, callers_take_turns)
{
    static struct exchange greedy[3], polite[2];
    struct exchange *const order[] = {&greedy[0], &polite[0], &greedy[1], &polite[1], &greedy[2]};
    struct lane lane;
    unsigned count;
    lane_init(&lane, WIDE);
    queue_up(&lane, greedy, 3, GREEDY);
    queue_up(&lane, polite, 2, POLITE);
    for (int i = 0; i < 5; i++) {
        struct exchange *now = lane_take(&lane, 1, &count);
        cr_expect_eq(now, order[i], "turn %d", i);
        lane_release(&lane, now);
    }
    queue_up(&lane, greedy, 3, GREEDY);
    queue_up(&lane, polite, 2, POLITE);
    struct exchange *list = lane_take(&lane, 5, &count), *at = list;
    for (int i = 0; i < 5; i++, at = at->next)
        cr_expect_eq(at, order[i], "place %d of one list", i);
    lane_release(&lane, list);
    empty_lane(&lane);
}

Test(lane, one_caller_has_its_share_of_the_places_and_no_more)
{
    static struct exchange greedy[4], polite[4];
    struct lane lane;
    lane_init(&lane, (struct lane_limits){.places = LIMIT, .each = 3});
    queue_up(&lane, greedy, 3, GREEDY);
    greedy[3].client = GREEDY;
    cr_expect_eq(lane_reserve(&lane, &greedy[3], false), LANE_SHARE_FULL);
    queue_up(&lane, polite, 3, POLITE);
    cr_expect_eq(lane_reserve(&lane, &polite[3], false), LANE_FULL);
    unsigned count;
    struct exchange *first = lane_take(&lane, 1, &count);
    cr_expect_eq(first, &greedy[0]);
    cr_expect_eq(lane_reserve(&lane, &greedy[3], false), LANE_FULL, "it is still being served");
    lane_release(&lane, first);
    queue_up(&lane, &greedy[3], 1, GREEDY);
    empty_lane(&lane);
}

/* Of two threads one is left, however much the greedy have asked for. */
Test(lane, one_caller_is_not_served_by_all_threads)
{
    static struct exchange greedy[3], polite;
    struct lane lane;
    unsigned count;
    lane_init(&lane, (struct lane_limits){.places = LIMIT, .each = LIMIT, .serving = 1});
    queue_up(&lane, greedy, 3, GREEDY);
    struct exchange *first = lane_take(&lane, 5, &count);
    cr_expect_eq(count, 1);
    queue_up(&lane, &polite, 1, POLITE);
    struct exchange *second = lane_take(&lane, 5, &count);
    cr_expect(second == &polite && count == 1);
    lane_release(&lane, first);
    cr_expect_eq(lane_take(&lane, 5, &count), &greedy[1]);
    lane_release(&lane, second);
    lane_release(&lane, &greedy[1]);
    empty_lane(&lane);
}

/* Eight threads of one caller on two processors left those who answer a third of one. */
Test(lane, one_caller_computes_on_no_more_threads_than_there_are_processors)
{
    cr_expect_eq(lane_fair_limits(100, 8, 2).serving, 2);
    cr_expect_eq(lane_fair_limits(100, 8, 64).serving, 7, "and leaves one to another caller");
    cr_expect_eq(lane_fair_limits(100, 1, 64).serving, 1);
    cr_expect_eq(lane_fair_limits(7, 8, 2).each, 4);
}

/* What is taken at once is little, so that who comes after it waits for little. */
Test(lane, a_large_body_weighs_as_much_as_many_small_ones)
{
    static struct exchange greedy[8], polite;
    struct lane lane;
    unsigned count;
    lane_init(&lane, (struct lane_limits){.places = 20, .each = 10, .light = 100});
    greedy[2].body.size = 1000;
    greedy[3].body.size = 100; /* weighs as much as two */
    queue_up(&lane, greedy, 8, GREEDY);
    queue_up(&lane, &polite, 1, POLITE);
    struct exchange *list = lane_take(&lane, 3, &count);
    cr_expect(count == 3 && list == &greedy[0] && list->next == &polite);
    lane_release(&lane, list);
    list = lane_take(&lane, 3, &count);
    cr_expect(count == 1 && list == &greedy[2], "as much as eleven, and alone");
    lane_release(&lane, list);
    list = lane_take(&lane, 3, &count);
    cr_expect(count == 2 && list == &greedy[3]);
    lane_release(&lane, list);
    list = lane_take(&lane, 3, &count);
    cr_expect(count == 3 && list == &greedy[5]);
    lane_release(&lane, list);
    empty_lane(&lane);
}

/* Small ones that were there before it go first, without it. */
Test(lane, what_fills_a_commit_by_itself_comes_alone)
{
    static struct exchange greedy[2], polite[2];
    struct lane lane;
    unsigned count;
    lane_init(&lane, (struct lane_limits){.places = 20, .each = 10, .light = 100});
    greedy[0].body.size = greedy[1].body.size = 200; /* weighs as much as three */
    queue_up(&lane, polite, 1, POLITE);
    queue_up(&lane, greedy, 2, GREEDY);
    queue_up(&lane, &polite[1], 1, POLITE);
    struct exchange *const order[] = {&polite[0], &greedy[0], &polite[1], &greedy[1]};
    for (int i = 0; i < 4; i++) {
        struct exchange *list = lane_take(&lane, 3, &count);
        cr_expect(count == 1 && list == order[i], "turn %d", i);
        lane_release(&lane, list);
    }
    empty_lane(&lane);
}

/* A caller is forgotten with its last place, and many do not meet. */
Test(lane, many_callers_come_and_go)
{
    enum { MANY = 1000 };
    static struct exchange crowd[MANY];
    struct lane lane;
    unsigned count;
    lane_init(&lane, (struct lane_limits){.places = MANY, .each = 1});
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            queue_up(&lane, &crowd[i], 1, (uint64_t)i + 1);
        struct exchange *list = lane_take(&lane, MANY, &count);
        cr_expect_eq(count, MANY);
        lane_release(&lane, list);
        for (int i = 0; i < LANE_BUCKETS; i++)
            cr_expect_null(lane.bucket[i]);
    }
    empty_lane(&lane);
}
