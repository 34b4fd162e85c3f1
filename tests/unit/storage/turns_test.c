/* Writers in line, and the one that goes before them. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "storage/db/db_state.h"
#include "tests/unit/storage/store.h"

enum { IN_LINE = 3, ALL = IN_LINE + 1 };

struct writer {
    struct db *db;
    char name;
    unsigned times;
    bool until_first_waits; /* it keeps its turn so long */
    pthread_t thread;
};

static char order[16]; /* who wrote; whose turn it is may change it */

static bool first_waits(void)
{
    pthread_mutex_lock(&f.store->lock);
    bool waits = f.store->first_waits;
    pthread_mutex_unlock(&f.store->lock);
    return waits;
}

static uint64_t numbers_taken(void)
{
    pthread_mutex_lock(&f.store->lock);
    uint64_t taken = f.store->next;
    pthread_mutex_unlock(&f.store->lock);
    return taken;
}

static void *writer_run(void *context)
{
    struct writer *writer = context;
    for (unsigned i = 0; i < writer->times; i++) {
        cr_assert_eq(db_begin_batch(writer->db, true), DB_OK);
        strncat(order, &writer->name, 1);
        while (writer->until_first_waits && !first_waits())
            sched_yield();
        cr_assert_eq(db_commit_batch(writer->db), DB_OK);
    }
    return NULL;
}

static void writer_start(struct writer *writer)
{
    uint64_t before = numbers_taken();
    cr_assert_eq(pthread_create(&writer->thread, NULL, writer_run, writer), 0);
    while (numbers_taken() == before && !first_waits())
        sched_yield();
}

/* The first overtakes those in line, and after each of its turns one of them has one. */
Test(turns, the_first_waits_for_one_writer_and_keeps_none_waiting, .timeout = 600)
{
    struct writer writers[ALL] = {{.name = 'a', .times = 1, .until_first_waits = true},
                                  {.name = 'b', .times = 1},
                                  {.name = 'c', .times = 1},
                                  {.name = 'F', .times = 2}};
    fixture_open(&f, &db_driver_sqlite);
    for (unsigned i = 0; i < ALL; i++)
        writers[i].db = fixture_connect(&f);
    db_go_first(writers[IN_LINE].db);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    for (unsigned i = 0; i < ALL; i++)
        writer_start(&writers[i]);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    for (unsigned i = 0; i < ALL; i++) {
        pthread_join(writers[i].thread, NULL);
        db_close(writers[i].db);
    }
    cr_expect_str_eq(order, "FaFbc");
    fixture_close(&f);
}
