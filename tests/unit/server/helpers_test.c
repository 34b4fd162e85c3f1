/* Helpers: every item is done once, whoever does it, also for several callers at once. */
#include "server/helpers.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ITEMS = 500, CALLERS = 4, ROUNDS = 20 };

struct tally {
    atomic_uint done[ITEMS];
};

static void count_item(void *what, uint32_t i)
{
    struct tally *tally = what;
    atomic_fetch_add(&tally->done[i], 1);
}

static void expect_all_once(struct tally *tally, uint32_t items, unsigned times)
{
    for (uint32_t i = 0; i < ITEMS; i++)
        cr_assert_eq(atomic_load(&tally->done[i]), i < items ? times : 0, "item %u", i);
}

Test(helpers, every_item_is_done_once)
{
    for (unsigned threads = 0; threads <= 3; threads++) {
        struct helpers *helpers = helpers_start(threads);
        cr_assert_not_null(helpers);
        static const uint32_t sizes[] = {0, 1, 2, ITEMS};
        for (int s = 0; s < 4; s++) {
            struct tally tally = {0};
            helpers_run(helpers, count_item, &tally, sizes[s]);
            expect_all_once(&tally, sizes[s], 1);
        }
        helpers_stop(helpers);
    }
    helpers_stop(NULL);
}

struct caller {
    struct helpers *helpers;
    struct tally tally;
};

static void *call_often(void *context)
{
    struct caller *caller = context;
    for (int round = 0; round < ROUNDS; round++)
        helpers_run(caller->helpers, count_item, &caller->tally, ITEMS);
    return NULL;
}

Test(helpers, several_may_call_at_once)
{
    static struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    struct helpers *helpers = helpers_start(2);
    cr_assert_not_null(helpers);
    for (int c = 0; c < CALLERS; c++) {
        callers[c].helpers = helpers;
        cr_assert_eq(pthread_create(&threads[c], NULL, call_often, &callers[c]), 0);
    }
    for (int c = 0; c < CALLERS; c++)
        pthread_join(threads[c], NULL);
    for (int c = 0; c < CALLERS; c++)
        expect_all_once(&callers[c].tally, ITEMS, ROUNDS);
    helpers_stop(helpers);
}

/* Two items that each wait until the other has begun end only when two threads are at work. */
struct meeting {
    pthread_barrier_t barrier;
    atomic_uint met;
};

static void meet(void *what, uint32_t i)
{
    struct meeting *meeting = what;
    (void)i;
    pthread_barrier_wait(&meeting->barrier);
    atomic_fetch_add(&meeting->met, 1);
}

Test(helpers, a_helper_works_beside_the_caller, .timeout = 600)
{
    struct meeting meeting = {0};
    struct helpers *helpers = helpers_start(1);
    cr_assert_not_null(helpers);
    pthread_barrier_init(&meeting.barrier, NULL, 2);
    helpers_run(helpers, meet, &meeting, 2);
    cr_assert_eq(atomic_load(&meeting.met), 2);
    pthread_barrier_destroy(&meeting.barrier);
    helpers_stop(helpers);
}

struct seen {
    pthread_t caller;
    atomic_uint others;
};

static void note_thread(void *what, uint32_t i)
{
    struct seen *seen = what;
    (void)i;
    atomic_fetch_add(&seen->others, !pthread_equal(pthread_self(), seen->caller));
}

Test(helpers, helpers_rest_while_all_cores_have_workers)
{
    struct seen seen = {.caller = pthread_self()};
    struct helpers *helpers = helpers_start(1);
    helpers_worker(helpers, true);
    helpers_worker(helpers, true);
    for (int i = 0; i < 1000; i++)
        helpers_run(helpers, note_thread, &seen, 4);
    cr_assert_eq(atomic_load(&seen.others), 0);
    helpers_worker(helpers, false);
    struct meeting meeting = {0};
    pthread_barrier_init(&meeting.barrier, NULL, 2);
    helpers_run(helpers, meet, &meeting, 2); /* needs the helper to come back */
    pthread_barrier_destroy(&meeting.barrier);
    helpers_worker(helpers, false);
    helpers_stop(helpers);
}
