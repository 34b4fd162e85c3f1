/* Pages at another page's place, pages that were never written, zeros and flipped bits: a start
 * refuses the database, or what is read is as it was stored, or is an error. Never is money there
 * again, or a key free. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/memory.h"
#include "storage/answers/answers.h"
#include "storage/db/table.h"
#include "storage/digests.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/upgrade.h"
#include "tests/unit/storage/fixture.h"
#include "tests/unit/storage/page_sums.h"
#include "tests/unit/storage/power_work.h"

TestSuite(misdirected, .timeout = 36000);

enum { PAGE = 8192, LOG_HEAD = 32, FRAME = 24 + PAGE, STEPS = 120, TRIES = 300, ANSWERS = 10 };

struct bytes {
    unsigned char *bytes;
    size_t size;
};

/* A database, as it was half way and as it is. */
struct scene {
    struct power_work work;
    struct bytes half, now, log, note; /* the database, its log, and ledger.head */
    unsigned char ledger[POWER_DUMP_BYTES], answers[POWER_DUMP_BYTES];
    uint64_t random;
};

static struct bytes read_bytes(const char *folder, const char *name)
{
    struct bytes file = {.bytes = NULL};
    struct stat info;
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && fstat(fd, &info) == 0, "%s", path);
    file.size = (size_t)info.st_size;
    file.bytes = memory_bytes(file.size);
    cr_assert_eq(read(fd, file.bytes, file.size), (ssize_t)file.size);
    close(fd);
    return file;
}

static void write_bytes(const char *folder, const char *name, const struct bytes *file)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && write(fd, file->bytes, file->size) == (ssize_t)file->size);
    close(fd);
}

static void dump_money(struct db *db, unsigned char ledger[POWER_DUMP_BYTES],
                       unsigned char answers[POWER_DUMP_BYTES])
{
    cr_assert_eq(power_dump(db, "ledger%", ledger), DB_OK);
    cr_assert_eq(power_dump(db, "answers", answers), DB_OK);
}

/* ---- what the service would find */

enum finding {
    REFUSED,   /* at the start */
    READ,      /* when it is read */
    NOTHING,   /* and everything that was stored is read */
    OTHER,     /* something older is read, which no budget and no answer hangs on */
    UNNOTICED, /* money or keys are not what they were */
    FINDINGS
};

static bool see_row(void *context, const void *row)
{
    (void)context, (void)row;
    return true;
}

/* Every row under a digest, as calls read them. */
static bool digested_rows_hold(struct db *db)
{
    for (const struct table *const *table = digests_tables; *table; table++)
        if (table_list(db, *table, "", NULL, 0, see_row, NULL) != DB_OK)
            return false;
    return true;
}

/* Every account is found under its name and every answer under its key. */
static enum finding find_money(struct db *db, const struct power_work *work)
{
    static const enum ledger_kind kinds[] = {LEDGER_DATASET, LEDGER_TEACHER, LEDGER_CLIENT};
    for (unsigned i = 0; i < work->account_count; i++) {
        char resource[16];
        struct ledger_account account;
        snprintf(resource, sizeof resource, "res_%u", i / 3);
        enum db_status status = ledger_find_for(
            db, kinds[i % 3], resource, kinds[i % 3] == LEDGER_CLIENT ? "cli_a" : "", &account);
        if (status != DB_OK)
            return status == DB_NONE ? UNNOTICED : READ;
    }
    for (int64_t i = 0; i < work->answers; i++) {
        char key[32];
        struct answer_row answer;
        snprintf(key, sizeof key, "key-%" PRId64, i);
        enum db_status status = answers_find(db, "cli_a", key, &answer);
        answer_done(&answer);
        if (status != DB_OK)
            return status == DB_NONE ? UNNOTICED : READ;
    }
    return NOTHING;
}

static enum finding find_damage(const struct scene *scene, struct db *db,
                                const unsigned char whole[POWER_DUMP_BYTES],
                                char why[DB_ERROR_SIZE])
{
    struct ledger_report report;
    int64_t answers;
    unsigned char ledger[POWER_DUMP_BYTES], kept[POWER_DUMP_BYTES], all[POWER_DUMP_BYTES];
    snprintf(why, DB_ERROR_SIZE, "the ledger does not add up");
    if (storage_upgrade(db, why) != DB_OK || storage_check(db, why) != DB_OK ||
        ledger_verify(db, &report) != DB_OK || report.fault_count != 0 ||
        report.entries < db_noted_entries(db) || answers_verify(db, &answers, why) != DB_OK)
        return REFUSED;
    enum finding money = find_money(db, &scene->work);
    if (money == UNNOTICED)
        return UNNOTICED;
    if (power_dump(db, "ledger%", ledger) != DB_OK || power_dump(db, "answers", kept) != DB_OK)
        return READ;
    if (memcmp(ledger, scene->ledger, sizeof ledger) != 0 ||
        memcmp(kept, scene->answers, sizeof kept) != 0)
        return UNNOTICED;
    if (money == READ || !digested_rows_hold(db) || power_dump(db, "%", all) != DB_OK)
        return READ;
    return memcmp(all, whole, sizeof all) == 0 ? NOTHING : OTHER;
}

static enum finding find_in_folder(const struct scene *scene,
                                   const unsigned char whole[POWER_DUMP_BYTES],
                                   char why[DB_ERROR_SIZE])
{
    const struct db_settings settings = {.location = scene->work.path};
    struct db_store *store = db_store_new(&db_driver_sqlite, &settings);
    struct db *db = NULL;
    enum finding finding = REFUSED;
    if (db_open(store, &db, why) == DB_OK)
        finding = find_damage(scene, db, whole, why);
    db_close(db);
    db_store_free(store);
    return finding;
}

/* ---- what is damaged */

enum kind { MISDIRECTED, STALE, ZEROED, FLIPPED, KINDS };
static const char *const kind_names[] = {"misdirected", "stale", "zeroed", "flipped"};

static void damage_database(struct scene *scene, struct bytes *file, enum kind kind, size_t *out_at)
{
    size_t pages = file->size / PAGE, at = (size_t)fixture_random(&scene->random, pages);
    size_t from = (size_t)fixture_random(&scene->random, pages);
    unsigned char *page = file->bytes + at * PAGE;
    *out_at = at + 1;
    switch (kind) {
    case MISDIRECTED: /* what was meant for FROM stands here, and not there */
        memcpy(page, file->bytes + from * PAGE, PAGE);
        if ((from + 1) * PAGE <= scene->half.size && from != at)
            memcpy(file->bytes + from * PAGE, scene->half.bytes + from * PAGE, PAGE);
        break;
    case STALE:
        if ((at + 1) * PAGE <= scene->half.size)
            memcpy(page, scene->half.bytes + at * PAGE, PAGE);
        break;
    case ZEROED: memset(page, 0, PAGE); break;
    default: page[fixture_random(&scene->random, PAGE)] ^= (unsigned char)(1 << (from % 8));
    }
}

static void scene_open(struct scene *scene, uint64_t seed)
{
    *scene = (struct scene){.random = ~seed};
    power_work_begin(&scene->work, seed);
    power_work_open(&scene->work);
    for (int i = 0; i < STEPS; i++) {
        power_work_step(&scene->work);
        if (i == STEPS / 2) {
            power_work_close(&scene->work);
            scene->half = read_bytes(scene->work.folder, "tacet.db");
            power_work_open(&scene->work);
        }
    }
}

static void scene_close(struct scene *scene)
{
    free(scene->half.bytes);
    free(scene->now.bytes);
    free(scene->log.bytes);
    free(scene->note.bytes);
    power_work_end(&scene->work);
}

static void damage_pages(bool summed)
{
    static struct scene scene;
    unsigned char whole[POWER_DUMP_BYTES];
    unsigned found[KINDS][FINDINGS] = {{0}};
    const char *more = getenv("TACET_POWER_TRIES");
    unsigned tries = more ? (unsigned)strtoul(more, NULL, 10) : TRIES;
    char why[DB_ERROR_SIZE];
    scene_open(&scene, 7);
    dump_money(scene.work.db[0], scene.ledger, scene.answers);
    cr_assert_eq(power_dump(scene.work.db[0], "%", whole), DB_OK);
    power_work_close(&scene.work);
    power_disk_end();
    if (!summed)
        page_sums_remove(scene.work.path);
    scene.now = read_bytes(scene.work.folder, "tacet.db");
    scene.note = read_bytes(scene.work.folder, "ledger.head");
    for (unsigned i = 0; i < tries; i++) {
        struct bytes file = {memory_copy(scene.now.bytes, scene.now.size), scene.now.size};
        enum kind kind = (enum kind)(i % KINDS);
        size_t at;
        damage_database(&scene, &file, kind, &at);
        write_bytes(scene.work.folder, "tacet.db", &file);
        write_bytes(scene.work.folder, "ledger.head", &scene.note);
        enum finding finding = find_in_folder(&scene, whole, why);
        found[kind][finding]++;
        cr_expect_neq(finding, UNNOTICED, "%s, page %zu (try %u)", kind_names[kind], at, i);
        free(file.bytes);
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        cr_expect_gt(found[kind][REFUSED], 0);
        fprintf(stderr, "%s: %u refused at the start, %u when read, %u harmless, %u older\n",
                kind_names[kind], found[kind][REFUSED], found[kind][READ], found[kind][NOTHING],
                found[kind][OTHER]);
    }
    scene_close(&scene);
}

Test(misdirected, pages_are_found_or_do_no_harm)
{
    damage_pages(true);
}

/* The ledger's hashes, the rows' digests and the start find what no page's sum does. */
Test(misdirected, pages_without_sums_are_found_or_do_no_harm)
{
    damage_pages(false);
}

/* SQLite takes the log's end for its first frame that is not whole: later commits are gone, and the
 * note beside the database tells of them. */
Test(misdirected, frames_of_the_log_are_found)
{
    static struct scene scene;
    unsigned char whole[POWER_DUMP_BYTES];
    unsigned found[FINDINGS] = {0};
    char why[DB_ERROR_SIZE];
    scene_open(&scene, 11);
    for (int i = 0; i < ANSWERS; i++)
        power_work_answer(&scene.work);
    dump_money(scene.work.db[0], scene.ledger, scene.answers);
    cr_assert_eq(power_dump(scene.work.db[0], "%", whole), DB_OK);
    scene.now = read_bytes(scene.work.folder, "tacet.db");
    scene.log = read_bytes(scene.work.folder, "tacet.db-wal");
    scene.note = read_bytes(scene.work.folder, "ledger.head");
    power_work_close(&scene.work);
    power_disk_end();
    cr_assert_gt(scene.log.size, FRAME);
    for (unsigned i = 0; i < TRIES / 2; i++) {
        struct bytes log = {memory_copy(scene.log.bytes, scene.log.size), scene.log.size};
        size_t frames = (log.size - LOG_HEAD) / FRAME;
        size_t at = LOG_HEAD + FRAME * (size_t)fixture_random(&scene.random, frames);
        size_t from = LOG_HEAD + FRAME * (size_t)fixture_random(&scene.random, frames);
        if (i % 2 == 0)
            memcpy(log.bytes + at, log.bytes + from, FRAME);
        else
            log.bytes[fixture_random(&scene.random, log.size)] ^= (unsigned char)(1 << (at % 8));
        write_bytes(scene.work.folder, "tacet.db", &scene.now);
        write_bytes(scene.work.folder, "tacet.db-wal", &log);
        write_bytes(scene.work.folder, "ledger.head", &scene.note);
        enum finding finding = find_in_folder(&scene, whole, why);
        found[finding]++;
        cr_expect_neq(finding, UNNOTICED, "try %u", i);
        free(log.bytes);
    }
    fprintf(stderr, "log: %u refused at the start, %u when read, %u harmless, %u older\n",
            found[REFUSED], found[READ], found[NOTHING], found[OTHER]);
    cr_expect_gt(found[REFUSED], 0);
    scene_close(&scene);
}
