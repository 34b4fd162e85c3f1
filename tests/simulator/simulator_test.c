/* Lives of the service, each from a seed of its own. `make simulate SEED=... STEPS=...` lives
 * through more; what fails says the seed with which it happens again. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/simulator/life.h"
#include "tests/simulator/ram.h"

TestSuite(simulator, .timeout = 36000);

#define LIFE_LENGTH 2000 /* steps */
#ifdef __SANITIZE_ADDRESS__
#define STEPS 10000
#else
#define STEPS 60000
#endif

static const char *const names[LIFE_COUNTS] = {
    "steps",
    "requests",
    "new answers under keys",
    "answers given again",
    "refusals",
    "batches",
    "processes that ended",
    "calls of the database that failed",
    "turns of workers",
    "jobs that ended",
    "drawn faults that struck",
    "replies that told of one",
    "ends at a commit that reached the disk",
    "ends at a commit that did not",
    "ends within a transaction",
    "ends at another call",
    "answers that their client lost, found by the next process",
    "jobs that another worker took",
    "answers removed because their time was over",
    "entries folded",
    "of their keys, asked again and refused",
    "keys of a day that the clock took back",
    "replies that their client did not get",
    "servers that ended while another went on",
    "commits that the old primary alone shows",
    "commits that a failover took away",
    "commits of which a failover took the reply away",
    "commits for which the standby came in step",
    "commits at the old primary after a failover",
    "failovers",
    "replies of a server that was at the old primary",
    "answers that were shown, and that a failover took back",
    "requests asked again where another server fell silent",
    "limits that were set",
    "limits set or asked for without a reply",
    "limits refused: more is spent, or a change waits",
    "limits refused: changed since",
    "larger limits that students asked for",
    "of them, given",
    "decisions about limits that waited",
    "decisions refused: there had been one",
    "decisions refused: it was the proposer's",
    "uploads that became part of a dataset",
    "uploads that were cut, and refused",
    "new keys to sign with",
    "checkpoints of the log",
    "lies: another's secret",
    "lies: no token",
    "lies: another's role",
    "lies: a broken body",
    "lies: no key, or one without its day",
    "lies: another's job",
};

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

static struct scene *open_scene(void)
{
    char directory[96];
    ram_use();
    snprintf(directory, sizeof directory, "%s/tacet-simulator-%ld",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
    return scene_make(directory);
}

static void show_trace(const struct life *life)
{
    for (unsigned i = 0; i < LIFE_TRACE; i++) {
        const char *line = life->trace[(life->noted + i) % LIFE_TRACE];
        if (line[0] != '\0')
            fprintf(stderr, "  %s\n", line);
    }
}

static const struct life *living;

/* The product's own assertions and faults end the program: this says where, too. */
static void say_where(int number)
{
    dprintf(STDERR_FILENO, "SEED=%" PRIu64 " step %" PRIu64 ": signal %d\n", living->seed,
            living->count[LIFE_STEPS], number);
    signal(number, SIG_DFL);
    raise(number);
}

/* Lives from SEED on, until there were so many STEPS. */
static void live(const struct scene *scene, uint64_t seed, uint64_t steps, uint64_t *counts)
{
    struct life *life = malloc(sizeof *life);
    cr_assert_not_null(life);
    living = life;
    signal(SIGABRT, say_where);
    signal(SIGSEGV, say_where);
    const unsigned files = ram_count(); /* the scene's */
    while (counts[LIFE_STEPS] < steps) {
        bool good = life_run(life, scene, seed, LIFE_LENGTH);
        for (int i = 0; i < LIFE_COUNTS; i++)
            counts[i] += life->count[i];
        if (!good)
            show_trace(life);
        cr_assert(good, "SEED=%" PRIu64 " %s", seed, life->failure);
        cr_assert_eq(ram_count(), files, "SEED=%" PRIu64 " leaves %u files behind", seed,
                     ram_count() - files);
        seed++;
    }
    signal(SIGABRT, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    free(life);
}

Test(simulator, nothing_is_unspent_or_drawn_twice)
{
    uint64_t counts[LIFE_COUNTS] = {0}, seed = number_of("SEED", 1);
    struct scene *scene = open_scene();
    clock_t begun = clock();
    live(scene, seed, number_of("STEPS", STEPS), counts);
    static char lines[8192]; /* leave in one piece: two programs may live at once */
    setvbuf(stderr, lines, _IOFBF, sizeof lines);
    fprintf(stderr, "seeds from %" PRIu64 ", %.1f s of CPU:\n", seed,
            (double)(clock() - begun) / CLOCKS_PER_SEC);
    for (int i = 0; i < LIFE_COUNTS; i++)
        fprintf(stderr, "%11" PRIu64 " %s\n", counts[i], names[i]);
    fflush(stderr);
    setvbuf(stderr, NULL, _IONBF, 0);
    for (int i = 0; i < LIFE_COUNTS && counts[LIFE_STEPS] >= 60000; i++)
        cr_expect_gt(counts[i], 0, "no %s", names[i]);
    scene_free(scene);
}

/* Also when each thread has a connection of its own. */
Test(simulator, a_seed_is_the_same_life_again)
{
    uint64_t digests[3];
    struct scene *scene = open_scene();
    struct life *life = malloc(sizeof *life);
    cr_assert_not_null(life);
    for (int i = 0; i < 3; i++) {
        disk.apart = i == 2;
        cr_assert(life_run(life, scene, 6, LIFE_LENGTH), "%s", life->failure);
        digests[i] = life->digest;
    }
    disk.apart = false;
    cr_expect_eq(digests[0], digests[1]);
    cr_expect_eq(digests[0], digests[2]);
    free(life);
    scene_free(scene);
}
