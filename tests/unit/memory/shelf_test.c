/* The shelf: what is kept, what goes, and that nothing is lost or closed twice, in any race. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "memory/shelf.h"

TestSuite(shelf);

struct box {
    char name[SHELF_NAME_SIZE];
    atomic_bool open;
};

static atomic_uint opened, closed;

static void box_close(void *thing)
{
    struct box *box = thing;
    cr_assert(atomic_exchange(&box->open, false), "%s is closed once", box->name);
    atomic_fetch_add(&closed, 1);
    free(box);
}

/* "b7" takes ten bytes and is of the group "b"; names that begin with '-' are unknown. */
static bool box_open(void *context, const char *name, struct shelf_opened *out)
{
    (void)context;
    if (name[0] == '-')
        return false;
    struct box *box = memory_new(1, sizeof *box);
    strcpy(box->name, name);
    atomic_store(&box->open, true);
    atomic_fetch_add(&opened, 1);
    *out = (struct shelf_opened){.thing = box, .bytes = 10, .group = {name[0], '\0'}};
    return true;
}

static struct shelf *shelf_of(unsigned most, size_t most_bytes)
{
    const struct shelf_kind kind = {most, most_bytes, box_close};
    atomic_store(&opened, 0);
    atomic_store(&closed, 0);
    return shelf_new(&kind);
}

/* Borrows NAME and gives it back. */
static void touch(struct shelf *shelf, const char *name)
{
    const struct box *box = shelf_borrow(shelf, name, box_open, NULL);
    cr_assert_not_null(box);
    cr_expect_str_eq(box->name, name);
    shelf_return(shelf, box);
}

Test(shelf, opens_once_what_is_asked_for_again)
{
    struct shelf *shelf = shelf_of(2, 1000);
    cr_expect_null(shelf_borrow(shelf, "a1", NULL, NULL));
    cr_expect_null(shelf_borrow(shelf, "-", box_open, NULL));
    touch(shelf, "a1");
    touch(shelf, "a1");
    const void *box = shelf_borrow(shelf, "a1", NULL, NULL);
    cr_expect_not_null(box);
    shelf_return(shelf, box);
    cr_expect_eq(opened, 1);
    shelf_free(shelf);
    cr_expect_eq(closed, 1);
    shelf_free(NULL);
}

Test(shelf, the_one_lent_longest_ago_makes_room)
{
    struct shelf *shelf = shelf_of(2, 1000);
    touch(shelf, "a1");
    touch(shelf, "a2");
    touch(shelf, "a1");
    touch(shelf, "a3");
    cr_expect_eq(closed, 1);
    cr_expect_null(shelf_borrow(shelf, "a2", NULL, NULL));
    touch(shelf, "a1");
    cr_expect_eq(opened, 3);
    shelf_free(shelf);
    cr_expect_eq(closed, 3);
}

Test(shelf, holds_no_more_bytes_than_it_may)
{
    struct shelf *shelf = shelf_of(100, 25);
    touch(shelf, "a1");
    touch(shelf, "a2");
    touch(shelf, "a3");
    cr_expect_eq(closed, 1);
    shelf_free(shelf);
    shelf = shelf_of(100, 9); /* too small for any: each is for one loan */
    touch(shelf, "a1");
    cr_expect_eq(closed, 1);
    shelf_free(shelf);
    cr_expect_eq(closed, 1);
}

Test(shelf, lends_more_than_it_keeps)
{
    struct shelf *shelf = shelf_of(1, 1000);
    const struct box *first = shelf_borrow(shelf, "a1", box_open, NULL);
    const struct box *second = shelf_borrow(shelf, "a2", box_open, NULL);
    cr_expect(first->open && second->open);
    shelf_return(shelf, second);
    cr_expect_eq(closed, 1, "there was no room for the second");
    cr_expect(first->open);
    shelf_return(shelf, first);
    cr_expect_eq(closed, 1);
    shelf_free(shelf);
    cr_expect_eq(closed, 2);
}

Test(shelf, a_dropped_group_goes_with_its_last_loan_and_later_things_of_it_are_kept)
{
    struct shelf *shelf = shelf_of(10, 1000);
    touch(shelf, "a1");
    touch(shelf, "b1");
    const struct box *lent = shelf_borrow(shelf, "a2", box_open, NULL);
    shelf_drop(shelf, "a");
    cr_expect_eq(closed, 1);
    cr_expect(lent->open);
    shelf_return(shelf, lent);
    cr_expect_eq(closed, 2);
    touch(shelf, "a3");
    touch(shelf, "a3");
    cr_expect_eq(opened, 4);
    cr_expect_eq(closed, 2);
    touch(shelf, "b1");
    cr_expect_eq(opened, 4);
    shelf_free(shelf);
    cr_expect_eq(closed, 4);
}

Test(shelf, a_thing_is_dropped_by_its_own_name_and_is_not_kept_again)
{
    struct shelf *shelf = shelf_of(10, 1000);
    touch(shelf, "a1");
    touch(shelf, "a2");
    shelf_drop(shelf, "a1");
    cr_expect_eq(closed, 1);
    touch(shelf, "a1");
    cr_expect_eq(closed, 2, "it was opened for one loan");
    touch(shelf, "a2");
    cr_expect_eq(opened, 3);
    shelf_free(shelf);
}

/* Opens NAME as another thread would that is faster, then for its own caller. */
static bool box_open_late(void *context, const char *name, struct shelf_opened *out)
{
    touch(context, name);
    return box_open(NULL, name, out);
}

Test(shelf, of_two_that_open_the_same_thing_both_get_the_one_that_is_kept)
{
    struct shelf *shelf = shelf_of(10, 1000);
    const struct box *box = shelf_borrow(shelf, "a1", box_open_late, shelf);
    cr_expect_eq(opened, 2);
    cr_expect_eq(closed, 1);
    cr_expect(box->open);
    cr_expect_eq(shelf_borrow(shelf, "a1", NULL, NULL), box);
    shelf_return(shelf, box);
    shelf_return(shelf, box);
    shelf_free(shelf);
    cr_expect_eq(closed, 2);
}

/* What is read before a drop comes to the shelf after it. */
static bool box_open_too_late(void *context, const char *name, struct shelf_opened *out)
{
    shelf_drop(context, "a");
    return box_open(NULL, name, out);
}

Test(shelf, does_not_keep_what_was_dropped_while_it_was_opened)
{
    struct shelf *shelf = shelf_of(10, 1000);
    shelf_return(shelf, shelf_borrow(shelf, "a1", box_open_too_late, shelf));
    cr_expect_eq(closed, 1);
    shelf_free(shelf);
}

/* The same, with many other drops before it comes. */
static bool box_open_much_too_late(void *context, const char *name, struct shelf_opened *out)
{
    char other[SHELF_NAME_SIZE];
    shelf_drop(context, name);
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(other, sizeof other, "other%u", i);
        shelf_drop(context, other);
    }
    return box_open(NULL, name, out);
}

Test(shelf, does_not_keep_what_was_dropped_a_thousand_drops_ago)
{
    struct shelf *shelf = shelf_of(10, 1000);
    shelf_return(shelf, shelf_borrow(shelf, "a1", box_open_much_too_late, shelf));
    cr_expect_eq(closed, 1);
    touch(shelf, "a1");
    cr_expect_eq(closed, 2);
    shelf_free(shelf);
}

#define THREADS 4
#define ROUNDS  20000

struct worker {
    struct shelf *shelf;
    unsigned number, wrong;
};

static void *work(void *context)
{
    struct worker *worker = context;
    unsigned state = worker->number + 1;
    for (unsigned i = 0; i < ROUNDS; i++) {
        state = state * 1664525 + 1013904223;
        const char name[] = {(char)('a' + (state >> 20) % 3), (char)('0' + (state >> 24) % 6),
                             '\0'};
        const struct box *box = shelf_borrow(worker->shelf, name, box_open, NULL);
        worker->wrong += !box || !box->open || strcmp(box->name, name) != 0;
        if (i == ROUNDS / 2 && worker->number == 0)
            shelf_drop(worker->shelf, "b");
        worker->wrong += !box->open;
        shelf_return(worker->shelf, box);
    }
    return NULL;
}

Test(shelf, many_threads_close_each_thing_once_and_none_in_use)
{
    struct shelf *shelf = shelf_of(5, 1000);
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){shelf, t, 0};
        cr_assert_eq(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        cr_expect_eq(workers[t].wrong, 0);
    }
    cr_expect_lt(closed, opened);
    shelf_free(shelf);
    cr_expect_eq(closed, opened);
}
