/* The waist: values, statements, transactions, savepoints, batches, and what may be opened. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/db/id.h"
#include "storage/db/migrate.h"
#include "tests/unit/storage/failing_driver.h"
#include "tests/unit/storage/store.h"

/* ---- small named values, in a table of their own */

struct text_out {
    char *out;
    size_t size;
};

static enum db_status see_value(void *context, const struct db_row *row)
{
    const struct text_out *to = context;
    return db_row_copy(row, 0, to->out, to->size) ? DB_OK : DB_FAILED;
}

static enum db_status meta_get(struct db *db, const char *name, char *out, size_t size)
{
    struct text_out to = {out, size};
    return db_one(db, "SELECT value FROM meta WHERE name = $1", DB_VALUES(db_text(name)), see_value,
                  &to);
}

static enum db_status meta_set(struct db *db, const char *name, const char *value)
{
    return db_optional(db_change(db,
                                 "INSERT INTO meta (name, value) VALUES ($1, $2) "
                                 "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                                 DB_VALUES(db_text(name), db_text(value))));
}

static bool has(struct db *db, const char *name)
{
    char value[32];
    enum db_status status = meta_get(db, name, value, sizeof value);
    cr_assert(status == DB_OK || status == DB_NONE);
    return status == DB_OK;
}

/* ---- values */

static enum db_status see_values(void *context, const struct db_row *row)
{
    size_t size = 0;
    cr_assert_eq(row->count, 6);
    cr_assert_eq(db_row_integer(row, 0), INT64_MIN);
    cr_assert_eq(db_row_real(row, 1), 0.1);
    cr_assert_str_eq(db_row_text(row, 2), "häl'lo");
    cr_assert_arr_eq(db_row_bytes(row, 3, &size), "\0\1\2", 3);
    cr_assert_eq(size, 3);
    cr_assert(row->values[4].type == DB_NULL);
    cr_assert_eq(db_row_integer(row, 4), 0);
    cr_assert_str_eq(db_row_text(row, 4), "");
    cr_assert_eq(db_row_integer(row, 5), INT64_MIN);
    char small[4];
    cr_assert_not(db_row_copy(row, 2, small, sizeof small));
    cr_assert_str_eq(small, "");
    ++*(int *)context;
    return DB_OK;
}

Test(db, values_go_in_and_come_out_by_number, .init = store_open, .fini = store_close)
{
    int rows = 0;
    /* $5 stands first: parameters go by their number, not by where they stand. */
    struct db_value values[] = {db_null(), db_bytes("\0\1\2", 3), db_text("häl'lo"), db_real(0.1),
                                db_integer(INT64_MIN)};
    cr_assert_eq(db_one(f.db, "SELECT $5, $4, $3, $2, $1, $5", values, 5, see_values, &rows),
                 DB_OK);
    cr_assert_eq(rows, 1);
}

Test(db, statements_are_known_by_their_text, .init = store_open, .fini = store_close)
{
    char sql[80];
    for (int i = 0; i < 2000; i++) { /* more than the cache holds, all at one address */
        char name[16], value[32];
        snprintf(name, sizeof name, "n%d", i);
        snprintf(sql, sizeof sql, "INSERT INTO meta (name, value) VALUES ('n%d', '%d')", i, i * 7);
        cr_assert_eq(fixture_sql(f.db, sql), DB_OK, "%s", db_last_error(f.db));
        cr_assert_eq(meta_get(f.db, name, value, sizeof value), DB_OK);
        cr_assert_eq(atoi(value), i * 7);
    }
}

Test(db, errors_are_described_without_values, .init = store_open, .fini = store_close)
{
    struct db_value values[] = {db_text("secret-value"), db_text("x")};
    const char *sql = "INSERT INTO meta (name, value) VALUES ($1, $2)";
    cr_assert_eq(db_change(f.db, sql, values, 2), DB_OK);
    cr_assert_eq(db_change(f.db, sql, values, 2), DB_FAILED);
    cr_assert_neq(db_last_error(f.db)[0], '\0');
    cr_assert_null(strstr(db_last_error(f.db), "secret-value"));
    cr_assert_eq(db_run(f.db, "SELEKT 1", NULL, 0, NULL, NULL), DB_FAILED);
    cr_assert_not(db_broken(f.db));
}

/* ---- transactions */

struct steps {
    enum db_status inner; /* what the inner work gives */
    enum db_status outer;
    int calls;
};

static enum db_status inner_step(struct db *db, void *context)
{
    cr_assert_eq(meta_set(db, "inner", "1"), DB_OK);
    return ((struct steps *)context)->inner;
}

static enum db_status outer_step(struct db *db, void *context)
{
    struct steps *steps = context;
    steps->calls++;
    cr_assert_eq(meta_set(db, "before", "1"), DB_OK);
    cr_assert_eq(db_transact(db, inner_step, steps), steps->inner);
    cr_assert_eq(meta_set(db, "after", "1"), DB_OK);
    return steps->outer;
}

Test(db, a_savepoint_is_undone_alone, .init = store_open, .fini = store_close)
{
    struct steps steps = {.inner = DB_NONE, .outer = DB_OK};
    cr_assert_eq(db_transact(f.db, outer_step, &steps), DB_OK);
    cr_assert(has(f.db, "before") && has(f.db, "after"));
    cr_assert_not(has(f.db, "inner"));
}

Test(db, an_outer_failure_undoes_all, .init = store_open, .fini = store_close)
{
    struct steps steps = {.inner = DB_OK, .outer = DB_FAILED};
    cr_assert_eq(db_transact(f.db, outer_step, &steps), DB_FAILED);
    cr_assert_eq(steps.calls, 1);
    cr_assert_not(has(f.db, "before") || has(f.db, "after") || has(f.db, "inner"));
    cr_assert_not(db_in_transaction(f.db));
}

Test(db, retries_are_bounded, .init = store_open, .fini = store_close)
{
    struct steps steps = {.inner = DB_OK, .outer = DB_RETRY};
    cr_assert_eq(db_transact(f.db, outer_step, &steps), DB_RETRY);
    cr_assert_gt(steps.calls, 1);
    cr_assert_lt(steps.calls, 20);
}

static enum db_status set_name(struct db *db, void *context)
{
    return meta_set(db, context, "1");
}

Test(db, one_retry_is_enough_when_the_second_works, .init = store_open_failing, .fini = store_close)
{
    for (unsigned n = 1; n < 100; n++) {
        failing_arm(n, DB_RETRY, false);
        cr_assert_eq(db_transact(f.db, set_name, (char[]){"name"}), DB_OK, "call %u", n);
        if (!failing_fired()) {
            cr_assert_eq(n, 4); /* begin, run, commit */
            return;
        }
    }
    cr_assert_fail("the failure always fired");
}

/* ---- batches */

static enum db_status set_and_fail(struct db *db, void *context)
{
    cr_assert_eq(meta_set(db, context, "1"), DB_OK);
    return DB_NONE;
}

static enum db_status run_three(struct db *db, enum db_status out[3])
{
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    out[0] = db_transact(db, set_name, (char[]){"one"});
    out[1] = db_transact(db, set_and_fail, (char[]){"two"});
    out[2] = db_transact(db, set_name, (char[]){"three"});
    return db_commit_batch(db);
}

Test(db, a_batch_keeps_the_others_when_one_fails, .init = store_open, .fini = store_close)
{
    enum db_status each[3];
    cr_assert_eq(run_three(f.db, each), DB_RETRY);
    cr_assert(each[0] == DB_OK && each[1] == DB_RETRY && each[2] == DB_RETRY);
    cr_assert_not(has(f.db, "one") || has(f.db, "two") || has(f.db, "three"));
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(run_three(f.db, each), DB_OK);
        cr_assert(each[0] == DB_OK && each[1] == DB_NONE && each[2] == DB_OK);
    }
    cr_assert(has(f.db, "one") && has(f.db, "three"));
    cr_assert_not(has(f.db, "two"));
    db_rollback_batch(f.db); /* does nothing */
}

Test(db, a_batch_is_seen_when_it_is_committed, .init = store_open, .fini = store_close)
{
    struct db *other = fixture_connect(&f);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_assert_eq(db_transact(f.db, set_name, (char[]){"one"}), DB_OK);
    cr_assert_not(has(other, "one"));
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    cr_assert(has(other, "one"));
    db_close(other);
}

static enum db_status only_look(struct db *db, void *context)
{
    cr_assert_not(has(db, context));
    return DB_NONE;
}

Test(db, a_refusal_that_changed_nothing_costs_nothing, .init = store_open, .fini = store_close)
{
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_assert_eq(db_transact(f.db, set_name, (char[]){"one"}), DB_OK);
    cr_assert_eq(db_transact(f.db, only_look, (char[]){"two"}), DB_NONE);
    cr_assert_eq(db_transact(f.db, set_name, (char[]){"three"}), DB_OK);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    cr_assert(has(f.db, "one") && has(f.db, "three"));
}

Test(db, a_batch_can_be_dropped, .init = store_open, .fini = store_close)
{
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_assert_eq(db_transact(f.db, set_name, (char[]){"one"}), DB_OK);
    db_rollback_batch(f.db);
    cr_assert_not(has(f.db, "one"));
}

Test(db, a_reading_batch_changes_nothing, .init = store_open, .fini = store_close)
{
    cr_assert_eq(db_begin_batch(f.db, false), DB_OK);
    cr_assert_eq(db_transact(f.db, set_name, (char[]){"one"}), DB_FAILED);
    cr_assert_eq(meta_set(f.db, "two", "1"), DB_FAILED);
    cr_assert_eq(db_commit_batch(f.db), DB_OK);
    cr_assert_not(has(f.db, "one") || has(f.db, "two"));
}

Test(db, a_batch_that_lost_its_transaction_stores_nothing, .init = store_open_failing,
     .fini = store_close)
{
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    cr_assert_eq(db_transact(f.db, set_name, (char[]){"one"}), DB_OK);
    failing_arm(1, DB_FULL, true);
    cr_assert_eq(db_transact(f.db, set_name, (char[]){"two"}), DB_FULL);
    cr_assert(failing_fired());
    cr_assert_eq(db_transact(f.db, set_name, (char[]){"three"}), DB_FULL);
    cr_assert_eq(meta_set(f.db, "four", "1"), DB_FULL);
    cr_assert_eq(db_commit_batch(f.db), DB_FULL);
    cr_assert_not(has(f.db, "one") || has(f.db, "two") || has(f.db, "three") || has(f.db, "four"));
    cr_assert_eq(meta_set(f.db, "five", "1"), DB_OK);
}

static enum db_status fill(struct db *db, void *context)
{
    static char bytes[1 << 20];
    struct db_value values[] = {db_text(context), db_bytes(bytes, sizeof bytes)};
    memset(bytes, 'x', sizeof bytes);
    values[1].type = DB_TEXT;
    return db_run(db, "INSERT INTO meta (name, value) VALUES ($1, $2)", values, 2, NULL, NULL);
}

Test(db, a_full_disk_loses_nothing, .init = store_open, .fini = store_close)
{
    struct db_settings settings = {.location = f.path, .max_pages = 1000};
    struct db_store *store = db_store_new(&db_driver_sqlite, &settings);
    struct db *db = NULL;
    char error[DB_ERROR_SIZE], name[16];
    cr_assert_eq(db_open(store, &db, error), DB_OK, "%s", error);
    enum db_status status = DB_OK;
    int stored = 0;
    while (status == DB_OK && stored < 50) {
        snprintf(name, sizeof name, "n%d", stored);
        status = db_transact(db, fill, name);
        stored += status == DB_OK;
    }
    cr_assert_eq(status, DB_FULL);
    cr_assert_gt(stored, 0);
    cr_assert_not(db_broken(db));
    cr_assert_not(db_in_transaction(db));
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    cr_assert_eq(db_transact(db, fill, (char[]){"batch"}), DB_FULL);
    (void)db_commit_batch(db);
    cr_assert_not(db_in_transaction(db));
    cr_assert_eq(fixture_sql(db, "DELETE FROM meta WHERE name = 'n0'"), DB_OK);
    cr_assert_eq(db_transact(db, fill, (char[]){"again"}), DB_OK, "%s", db_last_error(db));
    db_close(db);
    db_store_free(store);
}

/* ---- what may be opened */

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static size_t read_file(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    size_t got = fread(out, 1, size, file);
    fclose(file);
    return got;
}

static enum db_status try_open(const char *path, char error[DB_ERROR_SIZE])
{
    struct db_settings settings = {.location = path};
    struct db_store *store = db_store_new(&db_driver_sqlite, &settings);
    struct db *db = NULL;
    enum db_status status = db_open(store, &db, error);
    if (status == DB_OK)
        status = migrate(db, NULL, 0, error);
    db_close(db);
    db_store_free(store);
    return status;
}

Test(db, a_file_that_is_no_database_is_left_alone, .init = store_open, .fini = store_close)
{
    static const char *const texts[] = {"hello", "SQLite format 3",
                                        ("\x7f"
                                         "ELF\2\1\1")};
    for (unsigned i = 0; i < 4; i++) {
        char path[128], bytes[5000] = {0}, after[5001], error[DB_ERROR_SIZE];
        size_t size = i == 3 ? sizeof bytes : strlen(texts[i]);
        snprintf(path, sizeof path, "%s/other", f.folder);
        memset(bytes, 'g', sizeof bytes);
        if (i < 3)
            memcpy(bytes, texts[i], size);
        write_file(path, bytes, size);
        cr_assert_eq(try_open(path, error), DB_FAILED);
        cr_assert_not_null(strstr(error, "not a database"), "%s", error);
        cr_assert_eq(read_file(path, after, sizeof after), size);
        cr_assert_arr_eq(after, bytes, size);
        unlink(path);
    }
}

Test(db, another_programs_database_is_left_alone, .init = store_open, .fini = store_close)
{
    char header[100] = "SQLite format 3", after[101], path[128], error[DB_ERROR_SIZE];
    memcpy(header + 68, "GPKG", 4);
    snprintf(path, sizeof path, "%s/other", f.folder);
    write_file(path, header, sizeof header);
    cr_assert_eq(try_open(path, error), DB_FAILED);
    cr_assert_not_null(strstr(error, "another program"), "%s", error);
    cr_assert_eq(read_file(path, after, sizeof after), sizeof header);
    cr_assert_arr_eq(after, header, sizeof header);
    unlink(path);
}

Test(db, folders_and_missing_folders_are_refused, .init = store_open, .fini = store_close)
{
    char error[DB_ERROR_SIZE], path[128];
    cr_assert_eq(try_open(f.folder, error), DB_FAILED);
    cr_assert_not_null(strstr(error, "not a file"), "%s", error);
    snprintf(path, sizeof path, "%s/no/such/file", f.folder);
    cr_assert_eq(try_open(path, error), DB_FAILED);
    cr_assert_neq(error[0], '\0');
}

/* The linker wraps fsync, which SQLite does not call through it. */
static bool folder_fails;
static char folder_log[128]; /* the log that was there when a folder was synced */

int __real_fsync(int file);
int __wrap_fsync(int file);

int __wrap_fsync(int file)
{
    struct stat info;
    if (!folder_log[0] || fstat(file, &info) != 0 || !S_ISDIR(info.st_mode))
        return __real_fsync(file);
    cr_expect_eq(access(folder_log, F_OK), 0, "the log is made later");
    errno = EIO;
    return folder_fails ? -1 : __real_fsync(file);
}

Test(db, is_not_used_where_its_folder_cannot_be_synced, .init = store_open, .fini = store_close)
{
    char error[DB_ERROR_SIZE], path[100];
    snprintf(path, sizeof path, "%s/other", f.folder);
    snprintf(folder_log, sizeof folder_log, "%s-wal", path);
    cr_assert_eq(try_open(path, error), DB_OK, "%s", error);
    cr_assert_neq(access(folder_log, F_OK), 0);
    folder_fails = true;
    cr_assert_eq(try_open(path, error), DB_FAILED);
    cr_assert_not_null(strstr(error, "cannot be synced"), "%s", error);
    folder_fails = false;
    cr_assert_eq(try_open(path, error), DB_OK, "%s", error);
    folder_log[0] = '\0';
    unlink(path);
}

Test(db, a_newer_schema_is_left_alone, .init = store_open, .fini = store_close)
{
    char error[DB_ERROR_SIZE];
    cr_assert_eq(fixture_sql(f.db, "INSERT INTO schema_versions (version) VALUES (999)"), DB_OK);
    cr_assert_eq(migrate(f.db, NULL, 0, error), DB_FAILED);
    cr_assert_not_null(strstr(error, "999"), "%s", error);
}

Test(db, migrating_twice_is_harmless_and_survives_any_failure)
{
    unsigned n = 1;
    for (bool fired = true; fired; n++) {
        char error[DB_ERROR_SIZE];
        failing_arm(0, DB_OK, false);
        fixture_open(&f, &failing_driver);
        cr_assert_eq(fixture_sql(f.db, "DELETE FROM schema_versions"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "DROP TABLE meta"), DB_OK);
        cr_assert_eq(migrate(f.db, NULL, 0, error),
                     DB_FAILED); /* tables exist: nothing must be kept */
        cr_assert_eq(db_run(f.db, "SELECT * FROM meta", NULL, 0, NULL, NULL), DB_FAILED);
        fixture_close(&f);

        fixture_open(&f, &failing_driver);
        failing_arm(n, DB_FULL, n % 2 == 0);
        enum db_status status = migrate(f.db, NULL, 0, error);
        fired = failing_fired();
        failing_arm(0, DB_OK, false);
        cr_assert(fired ? status != DB_OK : status == DB_OK, "call %u", n);
        cr_assert_eq(migrate(f.db, NULL, 0, error), DB_OK, "call %u: %s", n, error);
        fixture_close(&f);
    }
    cr_assert_gt(n, 3);
}

Test(db, the_file_is_for_its_owner_alone, .init = store_open, .fini = store_close)
{
    struct stat info;
    char path[128];
    cr_assert_eq(stat(f.path, &info), 0);
    cr_assert_eq(info.st_mode & 0777, 0600);
    snprintf(path, sizeof path, "%s-wal", f.path);
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 0777, 0600);
}

Test(db, values_survive_a_reopening, .init = store_open, .fini = store_close)
{
    char value[8];
    cr_assert_eq(meta_set(f.db, "a", "1"), DB_OK);
    cr_assert_eq(meta_set(f.db, "a", "2"), DB_OK);
    fixture_reopen(&f);
    cr_assert_eq(meta_get(f.db, "a", value, sizeof value), DB_OK);
    cr_assert_str_eq(value, "2");
    cr_assert_eq(meta_set(f.db, "a", "a long value"), DB_OK);
    cr_assert_eq(meta_get(f.db, "a", value, sizeof value), DB_FAILED);
    cr_assert_eq(meta_get(f.db, "b", value, sizeof value), DB_NONE);
}

Test(id, ids_have_their_form)
{
    char one[ID_SIZE], two[ID_SIZE];
    id_new("job_", one);
    id_new("job_", two);
    cr_assert_str_neq(one, two);
    cr_assert_eq(strncmp(one, "job_", 4), 0);
    cr_assert_eq(strlen(one), 24);
    cr_assert_eq(strspn(one + 4, "0123456789abcdefghjkmnpqrstvwxyz"), 20);
}
