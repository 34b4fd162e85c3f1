/* The power goes at changes of the files that are drawn from a seed: what was acknowledged is
 * there, a step is there whole or not at all, and a start finds nothing to complain of. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/answers/answers.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/upgrade.h"
#include "tests/unit/storage/fixture.h"
#include "tests/unit/storage/power_work.h"

TestSuite(power_cut, .timeout = 36000);

enum { SEEDS = 4, STEPS = 60, IMAGES_MOST = 64, ONE_IN = 4, FIRST_STARTS = 8, FOLDER_BYTES = 96 };

/* ---- the file beside the database, which SQLite does not write (the linker wraps pwrite) */

ssize_t __real_pwrite(int file, const void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int file, const void *bytes, size_t size, off_t at);

ssize_t __wrap_pwrite(int file, const void *bytes, size_t size, off_t at)
{
    char link[64], path[512];
    ssize_t written = __real_pwrite(file, bytes, size, at);
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (written > 0 && length > 0) {
        path[length] = '\0';
        power_disk_wrote(power_disk_file(path), bytes, (size_t)written, at);
    }
    return written;
}

/* ---- one life of a service, with cuts */

enum verdict {
    HELD,    /* all that was acknowledged, and the step in hand whole or not at all */
    LOST,    /* a whole ledger without something that was acknowledged */
    REFUSED, /* a start finds something damaged */
    VERDICTS
};

struct life {
    struct power_work work;
    uint64_t random; /* of the cuts */
    unsigned long verdicts[VERDICTS];
    struct power_counts counts;
    unsigned one_in;                      /* of so many changes one is a cut; 0: ONE_IN */
    unsigned images;                      /* cuts of the step in hand */
    unsigned char held[POWER_DUMP_BYTES]; /* before it */
    char why[DB_ERROR_SIZE];              /* of the last REFUSED */
};

static void image_name(const struct life *life, unsigned image, char out[FOLDER_BYTES])
{
    snprintf(out, FOLDER_BYTES, "%s.%u", life->work.folder, image);
}

static void cut_power(void *context, unsigned long changes)
{
    struct life *life = context;
    char folder[FOLDER_BYTES];
    (void)changes;
    if (fixture_random(&life->random, life->one_in > 0 ? life->one_in : ONE_IN) != 0 ||
        life->images == IMAGES_MOST)
        return;
    image_name(life, life->images++, folder);
    power_disk_cut(fixture_random(&life->random, UINT64_MAX), folder, &life->counts);
}

/* What a start looks at, and then all that is stored. */
static enum verdict judge_database(struct db *db, const unsigned char *before,
                                   const unsigned char *after, char why[DB_ERROR_SIZE])
{
    unsigned char dump[POWER_DUMP_BYTES];
    struct ledger_report report;
    int64_t answers;
    snprintf(why, DB_ERROR_SIZE, "the ledger does not add up");
    if (storage_upgrade(db, why) != DB_OK || storage_check(db, why) != DB_OK ||
        ledger_verify(db, &report) != DB_OK || report.fault_count != 0 ||
        answers_verify(db, &answers, why) != DB_OK || power_dump(db, "%", dump) != DB_OK)
        return REFUSED;
    if (memcmp(dump, before, sizeof dump) != 0 && memcmp(dump, after, sizeof dump) != 0)
        return LOST;
    snprintf(why, DB_ERROR_SIZE, "%" PRId64 " entries, noted %" PRId64, report.entries,
             db_noted_entries(db));
    return report.entries >= db_noted_entries(db) ? HELD : REFUSED;
}

static enum verdict judge_image(const char *folder, const unsigned char *before,
                                const unsigned char *after, char why[DB_ERROR_SIZE])
{
    char path[FOLDER_BYTES + 16];
    snprintf(path, sizeof path, "%s/tacet.db", folder);
    const struct db_settings settings = {.location = path};
    struct db_store *store = db_store_new(&db_driver_sqlite, &settings);
    struct db *db = NULL;
    enum verdict verdict = REFUSED;
    if (db_open(store, &db, why) == DB_OK)
        verdict = judge_database(db, before, after, why);
    db_close(db);
    db_store_free(store);
    return verdict;
}

/* Judges the cuts of the step that is over. */
static void judge_step(struct life *life, const unsigned char *before)
{
    unsigned char after[POWER_DUMP_BYTES];
    char folder[FOLDER_BYTES], why[DB_ERROR_SIZE];
    power_disk_watch(NULL, NULL);
    cr_assert_eq(power_dump(life->work.db[0], "%", after), DB_OK);
    for (unsigned i = 0; i < life->images; i++) {
        image_name(life, i, folder);
        enum verdict verdict = judge_image(folder, before ? before : after, after, why);
        if (verdict == REFUSED)
            memcpy(life->why, why, sizeof why);
        life->verdicts[verdict]++;
        power_remove(folder);
    }
    life->images = 0;
    memcpy(life->held, after, sizeof after);
}

/* The power goes between two steps, and the service goes on with what is left. */
static void go_on_after_cut(struct life *life)
{
    struct power_work *work = &life->work;
    char folder[sizeof work->folder], why[DB_ERROR_SIZE];
    static unsigned number;
    snprintf(folder, sizeof folder, "%.40s-%u", work->folder, ++number);
    power_disk_cut(fixture_random(&life->random, UINT64_MAX), folder, &life->counts);
    power_work_end(work);
    memcpy(work->folder, folder, sizeof folder);
    snprintf(work->path, sizeof work->path, "%s/tacet.db", folder);
    power_disk_begin(folder);
    power_disk_watch(cut_power, life); /* also while the start repairs */
    power_work_open(work);
    power_disk_watch(NULL, NULL);
    cr_assert_eq(judge_database(work->db[0], life->held, life->held, why), HELD, "%s", why);
    life->verdicts[HELD]++;
    judge_step(life, life->held);
}

/* A service of STEPS steps. With LIVES the power goes for good at some, too. */
static void live(struct life *life, uint64_t seed, bool lives)
{
    life->random = ~seed;
    power_work_begin(&life->work, seed);
    power_disk_watch(cut_power, life);
    power_work_open(&life->work);
    judge_step(life, NULL);
    for (int i = 0; i < STEPS; i++) {
        unsigned char before[POWER_DUMP_BYTES];
        memcpy(before, life->held, sizeof before);
        power_disk_watch(cut_power, life);
        power_work_step(&life->work);
        judge_step(life, before);
        if (lives && fixture_random(&life->random, 12) == 0)
            go_on_after_cut(life);
    }
    power_work_end(&life->work);
}

static void expect_all_held(const struct life *life, uint64_t seed)
{
    cr_expect_eq(life->verdicts[LOST] + life->verdicts[REFUSED], 0, "seed %" PRIu64 ": %s", seed,
                 life->why);
}

static void print_counts(const struct life *life)
{
    const struct power_counts *c = &life->counts;
    fprintf(stderr,
            "%lu power cuts: %lu held, %lu lost, %lu refused; of unsynced changes %lu kept, %lu "
            "lost, %lu torn, %lu out of order, %lu truncations lost, %lu rubbish, %lu names\n",
            c->cuts, life->verdicts[HELD], life->verdicts[LOST], life->verdicts[REFUSED], c->kept,
            c->lost, c->torn, c->swapped, c->truncations_lost, c->rubbish, c->names_lost);
}

/* $TACET_POWER_SEEDS: as many other services. */
Test(power_cut, loses_nothing_that_was_acknowledged)
{
    const char *more = getenv("TACET_POWER_SEEDS");
    uint64_t seeds = more ? strtoull(more, NULL, 10) : SEEDS;
    struct life sum = {.images = 0};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        live(&sum, seed, true);
        expect_all_held(&sum, seed);
    }
    print_counts(&sum);
    cr_expect_gt(sum.counts.torn, 0);
    cr_expect_gt(sum.counts.swapped, 0);
    cr_expect_gt(sum.counts.rubbish, 0);
    cr_expect(seeds < 100 || sum.counts.truncations_lost > 0, "one in some thousand cuts");
    cr_expect_gt(sum.counts.names_lost, 0);
}

/* Nothing is in the file yet, and its first page may be there in part. */
Test(power_cut, leaves_a_first_start_that_can_be_repeated)
{
    struct life sum = {.one_in = 1};
    for (uint64_t seed = 1; seed <= FIRST_STARTS; seed++) {
        sum.random = ~seed;
        power_work_begin(&sum.work, seed);
        power_disk_watch(cut_power, &sum);
        power_work_open(&sum.work);
        judge_step(&sum, NULL);
        power_work_end(&sum.work);
        expect_all_held(&sum, seed);
    }
    print_counts(&sum);
}

/* What the disk of the tests can tell: without syncs, something is lost or damaged. */
Test(power_cut, finds_a_service_that_does_not_sync)
{
    struct life life = {.work = {.not_durable = true}};
    live(&life, 1, false);
    print_counts(&life);
    cr_expect_gt(life.verdicts[LOST] + life.verdicts[REFUSED], 0);
}

/* With syncs at checkpoints alone the file stays whole, and the last commits are lost. */
Test(power_cut, finds_a_log_that_is_not_synced_at_commits)
{
    struct life life = {.work = {.after_open = "PRAGMA synchronous=NORMAL"}};
    live(&life, 1, false);
    print_counts(&life);
    cr_expect_gt(life.verdicts[LOST], 0);
    cr_expect_gt(life.verdicts[HELD], 0);
}
