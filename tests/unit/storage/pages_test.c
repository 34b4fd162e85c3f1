/* A flipped bit in any page is an error when the page is read, and never a key that looks new. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/memory.h"
#include "storage/answers/answers.h"
#include "storage/db/listing.h"
#include "storage/db/sqlite_pages.h"
#include "storage/upgrade.h"
#include "tests/unit/storage/old_format.h"
#include "tests/unit/storage/page_sums.h"
#include "tests/unit/storage/power_work.h"
#include "tests/unit/storage/store.h"

enum { ANSWERS = 900, STEP = 1021, PAGE = SQLITE_PAGES_BYTES, HEADER_RESERVE = 20 };

TestSuite(pages, .timeout = 1200);

/* ---- a store, and its file */

static unsigned char whole[POWER_DUMP_BYTES]; /* what all its tables hold */
static struct ledger_account account;

static void name_key(char key[16], unsigned i)
{
    snprintf(key, 16, "key-%04u", i);
}

static enum db_status store_answer(struct db *db, void *context)
{
    struct answer_row row = {.status = 200, .content_type = "application/json"};
    row.body = context;
    row.body_size = strlen(context);
    return answers_store(db, "cli_a", context, &row);
}

static void store_answers(struct db *db)
{
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    for (unsigned i = 0; i < ANSWERS; i++) {
        char key[16];
        name_key(key, i);
        cr_assert_eq(db_transact(db, store_answer, key), DB_OK);
    }
    cr_assert_eq(db_commit_batch(db), DB_OK);
}

static void close_file(void)
{
    db_close(f.db); /* which empties the log */
    db_store_free(f.store);
}

static void make_file(void)
{
    fixture_open(&f, &db_driver_sqlite);
    store_answers(f.db);
    account = fixture_account(f.db, LEDGER_DATASET, "dst_a", "", 1000, 1000);
    cr_assert_eq(power_dump(f.db, "%", whole), DB_OK);
    close_file();
}

static enum db_status open_file(void)
{
    char error[DB_ERROR_SIZE];
    f.store = db_store_new(&db_driver_sqlite,
                           &(struct db_settings){.location = f.path, .not_durable = true});
    enum db_status status = db_open(f.store, &f.db, error);
    if (status != DB_OK)
        db_store_free(f.store);
    return status;
}

static void remove_file(void)
{
    cr_assert_eq(open_file(), DB_OK);
    fixture_close(&f);
}

static unsigned char *read_file(long *out_size)
{
    struct stat info;
    int fd = open(f.path, O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && fstat(fd, &info) == 0);
    unsigned char *bytes = memory_bytes((size_t)info.st_size);
    cr_assert_eq(read(fd, bytes, (size_t)info.st_size), info.st_size);
    close(fd);
    *out_size = info.st_size;
    return bytes;
}

static void write_file(const unsigned char *bytes, size_t size, long at)
{
    int fd = open(f.path, O_WRONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && pwrite(fd, bytes, size, at) == (ssize_t)size);
    close(fd);
}

static void flip_bit(const unsigned char *bytes, long at)
{
    unsigned char byte = (unsigned char)(bytes[at] ^ 1 << at % 8);
    write_file(&byte, 1, at);
}

/* ---- reading all of it */

struct found {
    unsigned errors, unknown, wrong; /* unknown: answers that look as if they were never given */
};

static void find_answers(struct found *found)
{
    for (unsigned i = 0; i < ANSWERS; i++) {
        char key[16];
        struct answer_row row;
        name_key(key, i);
        enum db_status status = answers_find(f.db, "cli_a", key, &row);
        found->errors += status != DB_OK && status != DB_NONE;
        found->unknown += status == DB_NONE;
        if (status == DB_OK)
            found->wrong += row.body_size != strlen(key) || memcmp(row.body, key, strlen(key)) != 0;
        answer_done(&row);
    }
}

/* Reads by the index and by all rows, and then whatever these did not read. */
static struct found read_all(void)
{
    struct found found = {0};
    char error[DB_ERROR_SIZE];
    unsigned char dump[POWER_DUMP_BYTES];
    if (open_file() != DB_OK)
        return (struct found){.errors = 1};
    find_answers(&found);
    enum db_status status = power_dump(f.db, "%", dump);
    found.errors += status != DB_OK;
    found.wrong += status == DB_OK && memcmp(dump, whole, sizeof dump) != 0;
    if (found.errors == 0)
        found.errors += storage_check(f.db, error) != DB_OK;
    close_file();
    return found;
}

static void expect_whole(void)
{
    struct found found = read_all();
    cr_expect(found.errors == 0 && found.unknown == 0 && found.wrong == 0, "%u %u %u", found.errors,
              found.unknown, found.wrong);
}

/* A page that is in no use is read by copies alone. */
static bool copy_fails(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s.copy", f.path);
    cr_assert_eq(open_file(), DB_OK);
    enum db_status status = db_copy(f.db, path);
    const char *why = db_last_error(f.db);
    cr_expect(status == DB_OK || strstr(why, "is not as it was written"), "%s", why);
    close_file();
    (void)unlink(path);
    return status != DB_OK;
}

static bool damage_is_found(void)
{
    struct found found = read_all();
    return found.unknown == 0 && found.wrong == 0 && (found.errors > 0 || copy_fails());
}

/* ---- damage */

Test(pages, a_flipped_bit_in_any_page_is_an_error_and_no_key_looks_new)
{
    long size;
    unsigned flips = 0;
    make_file();
    expect_whole();
    unsigned char *bytes = read_file(&size);
    for (long at = 0; at < size; at += STEP, flips++) {
        flip_bit(bytes, at);
        cr_expect(damage_is_found(), "byte %ld of page %ld", at % PAGE, at / PAGE + 1);
        write_file(bytes + at, 1, at);
    }
    cr_expect_gt(flips, 500);
    expect_whole();
    free(bytes);
    remove_file();
}

/* The reason for the sums: the same flips, where no page has one. */
Test(pages, without_sums_some_flips_make_a_key_look_new)
{
    long size;
    unsigned unknown = 0, unseen = 0, wrong = 0;
    make_file();
    page_sums_remove(f.path);
    expect_whole();
    unsigned char *bytes = read_file(&size);
    for (long at = 0; at < size; at += STEP) {
        flip_bit(bytes, at);
        struct found found = read_all();
        unknown += found.unknown > 0;
        wrong += found.wrong > 0;
        unseen += found.errors == 0;
        write_file(bytes + at, 1, at);
    }
    fprintf(stderr,
            "without sums: %u of %ld flips make a key look new, %u a wrong row, %u are not "
            "seen\n",
            unknown, size / STEP, wrong, unseen);
    cr_expect_gt(unknown, 0);
    free(bytes);
    remove_file();
}

/* What another program changes in a copy (sqlite_pages.c) is under no sum. */
static bool is_counter(unsigned at)
{
    return (at >= 24 && at < 32) || (at >= 40 && at < 44) || (at >= 92 && at < 100);
}

/* The first hundred bytes say that there are sums: no flip there makes a database without sums. */
Test(pages, every_bit_of_the_header_is_an_error)
{
    long size;
    make_file();
    unsigned char *bytes = read_file(&size);
    for (unsigned bit = 0; bit < 100 * 8; bit++) {
        unsigned char byte = (unsigned char)(bytes[bit / 8] ^ 1 << bit % 8);
        write_file(&byte, 1, bit / 8);
        cr_expect(is_counter(bit / 8) || damage_is_found(), "byte %u, bit %u", bit / 8, bit % 8);
        write_file(bytes + bit / 8, 1, bit / 8);
    }
    expect_whole();
    free(bytes);
    remove_file();
}

Test(pages, pages_at_each_others_places_zeros_and_a_short_file_are_errors)
{
    static const unsigned char zeros[PAGE];
    long size, zeroed = 0;
    make_file();
    unsigned char *bytes = read_file(&size);
    for (long at = 0; at + PAGE < size; at += PAGE) {
        unsigned char *other = bytes + at + PAGE;
        if (memcmp(bytes + at, other, PAGE) == 0)
            continue;
        write_file(other, PAGE, at);
        write_file(bytes + at, PAGE, at + PAGE);
        cr_expect(damage_is_found(), "page %ld swapped", at / PAGE + 1);
        write_file(zeros, sizeof zeros, at);
        write_file(other, PAGE, at + PAGE);
        struct found found = read_all();
        cr_expect(found.unknown == 0 && found.wrong == 0, "page %ld zeroed", at / PAGE + 1);
        zeroed += found.errors > 0;
        write_file(bytes + at, 2 * (size_t)PAGE, at);
    }
    cr_assert_eq(truncate(f.path, size - PAGE), 0);
    cr_expect(damage_is_found());
    cr_expect_gt(zeroed, 9 * size / PAGE / 10);
    write_file(bytes + size - PAGE, PAGE, size - PAGE);
    expect_whole();
    free(bytes);
    remove_file();
}

/* ---- a service that runs */

struct question {
    char *key;
    bool is_drawn;
};

/* As a paid query: what its key has is given again, or else it is charged and drawn. */
static enum db_status ask(struct db *db, void *context)
{
    struct question *question = context;
    struct answer_row row;
    enum db_status status = answers_find(db, "cli_a", question->key, &row);
    answer_done(&row);
    if (status != DB_NONE)
        return status;
    question->is_drawn = true;
    status = fixture_debit(db, account.id, 1, 0, NULL);
    return status == DB_OK ? store_answer(db, question->key) : status;
}

static int64_t count_entries(struct db *db)
{
    int64_t count = 0;
    cr_assert_eq(
        db_run(db, "SELECT count(*) FROM ledger_entries", NULL, 0, listing_integer, &count), DB_OK);
    return count;
}

/* The page comes from the disk again where memory was short; here, for another connection. */
static unsigned ask_again(const unsigned char *bytes, long at, char *key)
{
    struct question question = {.key = key};
    flip_bit(bytes, at);
    struct db *later = fixture_connect(&f);
    enum db_status status = db_transact(later, ask, &question);
    unsigned is_error = status == DB_FAILED;
    cr_expect_not(question.is_drawn, "byte %ld of page %ld", at % PAGE, at / PAGE + 1);
    cr_expect(is_error || status == DB_OK);
    if (is_error) {
        cr_expect(strstr(db_last_error(later), "is not as it was written"), "%s",
                  db_last_error(later));
        cr_expect(strstr(db_damage(later), "is not as it was written"));
    }
    db_close(later);
    write_file(bytes + at, 1, at);
    return is_error;
}

Test(pages, a_key_whose_index_is_damaged_while_the_service_runs_is_not_charged_again)
{
    char key[16];
    long size;
    unsigned errors = 0;
    make_file();
    unsigned char *bytes = read_file(&size);
    cr_assert_eq(open_file(), DB_OK);
    int64_t entries = count_entries(f.db);
    for (unsigned i = 0; i < ANSWERS; i += 97) {
        name_key(key, i);
        unsigned char *place = bytes;
        /* Its row, and its name in the index. */
        while ((place = memmem(place, (size_t)(bytes + size - place), key, strlen(key)))) {
            errors += ask_again(bytes, place - bytes + 5, key);
            place++;
        }
    }
    cr_expect_gt(errors, 2 * (ANSWERS / 97), "%u", errors);
    cr_expect_eq(count_entries(f.db), entries);
    free(bytes);
    fixture_close(&f);
}

/* ---- copies, other programs, and databases without sums */

Test(pages, a_copy_has_sums)
{
    char copy[128];
    unsigned with, without;
    make_file();
    snprintf(copy, sizeof copy, "%s.copy", f.path);
    cr_assert_eq(open_file(), DB_OK);
    cr_assert_eq(db_copy(f.db, copy), DB_OK, "%s", db_last_error(f.db));
    close_file();
    cr_assert_eq(rename(copy, f.path), 0);
    page_sums_count(f.path, &with, &without);
    cr_expect(with > 100 && without == 0, "%u %u", with, without);
    expect_whole();
    remove_file();
}

/* Runs SQL as the sqlite3 shell does. */
static void run_elsewhere(const char *sql)
{
    sqlite3 *handle;
    cr_assert_eq(sqlite3_open(f.path, &handle), SQLITE_OK);
    cr_expect_eq(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK, "%s",
                 sqlite3_errmsg(handle));
    sqlite3_close(handle);
}

/* After a crash somebody looks at the database with the shell, which empties the log. */
Test(pages, what_another_program_moves_out_of_the_log_is_read)
{
    unsigned with, without;
    fixture_open(&f, &db_driver_sqlite);
    store_answers(f.db);
    run_elsewhere("PRAGMA wal_checkpoint(TRUNCATE)");
    cr_assert_eq(power_dump(f.db, "%", whole), DB_OK);
    page_sums_count(f.path, &with, &without);
    cr_expect_gt(without, 0);
    close_file();
    expect_whole();
    remove_file();
}

Test(pages, what_another_program_changes_is_an_error)
{
    make_file();
    run_elsewhere("DELETE FROM schema_versions");
    struct found found = read_all();
    cr_expect_gt(found.errors, 0);
    cr_expect_eq(found.unknown, 0);
    remove_file();
}

Test(pages, a_copy_by_another_program_is_read)
{
    char path[sizeof f.path], sql[200];
    make_file();
    snprintf(sql, sizeof sql, "VACUUM INTO '%s.copy'", f.path);
    run_elsewhere(sql);
    snprintf(path, sizeof path, "%s", f.path);
    cr_assert_eq(unlink(path), 0);
    snprintf(sql, sizeof sql, "%s.copy", path);
    cr_assert_eq(rename(sql, path), 0);
    expect_whole();
    remove_file();
}

/* As the shell's .backup does. */
static void copy_elsewhere(const char *path)
{
    sqlite3 *from, *to;
    cr_assert_eq(sqlite3_open(f.path, &from), SQLITE_OK);
    cr_assert_eq(sqlite3_open(path, &to), SQLITE_OK);
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    cr_assert_not_null(backup);
    cr_expect_eq(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    cr_expect_eq(sqlite3_backup_finish(backup), SQLITE_OK);
    sqlite3_close(to);
    sqlite3_close(from);
}

Test(pages, a_backup_by_another_program_is_read)
{
    char copy[sizeof f.path + 8];
    unsigned with, without;
    make_file();
    snprintf(copy, sizeof copy, "%s.copy", f.path);
    copy_elsewhere(copy);
    cr_assert_eq(unlink(f.path), 0);
    cr_assert_eq(rename(copy, f.path), 0);
    page_sums_count(f.path, &with, &without);
    cr_expect_gt(with, 100);
    expect_whole();
    remove_file();
}

Test(pages, a_database_without_sums_is_used_as_it_is)
{
    long size;
    char error[DB_ERROR_SIZE];
    old_open_empty(&f);
    cr_assert_eq(storage_upgrade(f.db, error), DB_OK, "%s", error);
    store_answers(f.db);
    cr_assert_eq(power_dump(f.db, "%", whole), DB_OK);
    close_file();
    unsigned char *bytes = read_file(&size);
    cr_expect_eq(bytes[HEADER_RESERVE], 0);
    expect_whole();
    free(bytes);
    remove_file();
}
