/* The filter never says no of what it was shown or given, and mostly of anything else. */
#include "storage/answers/answer_filter.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/storage/fixture.h"

TestSuite(answer_filter);

static int64_t any_hash(uint64_t *state)
{
    uint64_t high = fixture_random(state, UINT64_C(1) << 32);
    return (int64_t)(high << 32 | fixture_random(state, UINT64_C(1) << 32));
}

static int in_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Shows those of TABLE[COUNT], which is in order, that are wanted next: at most MOST. */
static bool show_some(struct answer_filter *filter, const int64_t *table, size_t count, size_t most)
{
    int64_t from = 0;
    if (!answer_filter_wants(filter, &from))
        return false;
    size_t first = 0;
    while (first < count && table[first] < from)
        first++;
    size_t shown = count - first < most ? count - first : most;
    answer_filter_show(filter, table + first, shown, shown < most);
    return true;
}

Test(answer_filter, knows_nothing_before_it_was_shown_all)
{
    struct answer_filter filter = {0};
    const int64_t table[] = {INT64_MIN, -5, 7, 7, 8, INT64_MAX};
    cr_assert(answer_filter_may_hold(&filter, 3));
    cr_assert(show_some(&filter, table, 6, 2)); /* the first two */
    cr_assert_not(answer_filter_may_hold(&filter, -6));
    cr_assert(answer_filter_may_hold(&filter, -4));
    cr_assert(answer_filter_may_hold(&filter, 100));
    cr_assert(show_some(&filter, table, 6, 2));
    cr_assert(answer_filter_may_hold(&filter, 8));
    cr_assert(show_some(&filter, table, 6, 2)); /* ends at the last hash there is */
    cr_assert_not(show_some(&filter, table, 6, 2));
    for (size_t i = 0; i < 6; i++)
        cr_assert(answer_filter_may_hold(&filter, table[i]));
    cr_assert_not(answer_filter_may_hold(&filter, -6));
    cr_assert_not(answer_filter_may_hold(&filter, 1000));
    answer_filter_add(&filter, 1000);
    cr_assert(answer_filter_may_hold(&filter, 1000));
    answer_filter_clear(&filter);
    cr_assert(answer_filter_may_hold(&filter, 1000));
}

Test(answer_filter, an_empty_table_is_shown_at_once)
{
    struct answer_filter filter = {0};
    cr_assert(show_some(&filter, NULL, 0, 4));
    cr_assert_not(show_some(&filter, NULL, 0, 4));
    cr_assert_not(answer_filter_may_hold(&filter, 0));
    answer_filter_clear(&filter);
}

/* It grows beneath what is added, begins again, and is right all the while. */
Test(answer_filter, holds_many)
{
    enum { COUNT = 400000, OLD = 300000 };
    uint64_t state = 7;
    struct answer_filter filter = {0};
    int64_t *table = malloc(COUNT * sizeof *table), *late = malloc((COUNT - OLD) * sizeof *late);
    size_t strangers = 0, grown = 0, words = 0, count = OLD;
    cr_assert(table != NULL && late != NULL);
    for (size_t i = 0; i < OLD; i++)
        table[i] = any_hash(&state);
    qsort(table, OLD, sizeof *table, in_order);
    for (size_t i = 0; i < COUNT - OLD; i++) {
        late[i] = any_hash(&state);
        answer_filter_add(&filter, late[i]);
        table[count++] = late[i];
        if (i % 1000 == 0) {
            qsort(table, count, sizeof *table, in_order);
            (void)show_some(&filter, table, count, 20000);
            grown += filter.count != words;
            words = filter.count;
        }
        if (i % 997 == 0)
            for (size_t j = 0; j < count; j += 1009)
                cr_assert(answer_filter_may_hold(&filter, table[j]));
    }
    qsort(table, count, sizeof *table, in_order);
    while (show_some(&filter, table, count, 20000)) {
    }
    cr_assert_geq(grown, 3);
    for (size_t i = 0; i < COUNT; i++)
        cr_assert(answer_filter_may_hold(&filter, table[i]));
    for (int i = 0; i < 100000; i++)
        strangers += answer_filter_may_hold(&filter, any_hash(&state));
    cr_assert_lt(strangers, 6000, "%zu", strangers);
    answer_filter_clear(&filter);
    free(table);
    free(late);
}
