/* Data directories of earlier versions: every balance, head and answer is the same afterwards. */
#include "storage/datasets.h"
#include "storage/upgrade.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "storage/db/listing.h"
#include "storage/db/table.h"
#include "storage/digests.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger_post.h"
#include "storage/ledger/ledger_verify.h"
#include "storage/projects.h"
#include "storage/q_releases.h"
#include "tests/unit/storage/old_format.h"

static void upgrade(struct db *db)
{
    char error[DB_ERROR_SIZE];
    cr_assert_eq(storage_upgrade(db, error), DB_OK, "%s", error);
}

static int64_t count_of(struct db *db, const char *sql)
{
    int64_t count = -1;
    cr_assert_eq(db_one(db, sql, NULL, 0, listing_integer, &count), DB_OK, "%s", db_last_error(db));
    return count;
}

/* ---- the file that the program of commit cc30558 made (make_lines.sh) */

static void hex_of(const unsigned char *bytes, char out[2 * LEDGER_HASH_SIZE + 1])
{
    for (unsigned i = 0; i < LEDGER_HASH_SIZE; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void check_verify(struct db *db, char *line)
{
    struct ledger_report report;
    char head[2 * LEDGER_HASH_SIZE + 1], expected[128];
    cr_assert_eq(ledger_verify(db, &report), DB_OK);
    cr_assert_eq(report.fault_count, 0, "%s", report.faults[0].what);
    hex_of(report.head, head);
    snprintf(expected, sizeof expected, "verify\t%" PRId64 "\t%" PRId64 "\t%s", report.entries,
             report.open_holds, head);
    cr_assert_str_eq(line, expected);
}

static void check_account(struct db *db, char *line)
{
    struct ledger_account account;
    char id[ID_SIZE], head[2 * LEDGER_HASH_SIZE + 1], expected[256];
    cr_assert_eq(sscanf(line, "account\t%31s", id), 1);
    cr_assert_eq(ledger_find(db, id, &account), DB_OK);
    hex_of(account.head, head);
    snprintf(expected, sizeof expected,
             "account\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s", id,
             account.entries, account.spent_units, account.held_units, account.limit_units, head);
    cr_assert_str_eq(line, expected);
}

static void check_answer(struct db *db, char *line)
{
    struct answer_row answer;
    char *fields[5];
    for (unsigned i = 0; i < 5; i++) {
        fields[i] = line;
        line = i < 4 ? strchr(line, '\t') : line;
        cr_assert_not_null(line);
        if (i < 4)
            *line++ = '\0';
    }
    enum db_status status = answers_find(db, fields[1], fields[2], &answer);
    if (strcmp(fields[3], "422") == 0 || strcmp(fields[3], "400") == 0) {
        cr_assert_eq(status, DB_NONE, "a refusal is not stored");
        return;
    }
    cr_assert_eq(status, DB_OK, "%s %s", fields[1], fields[2]);
    cr_assert_eq(answer.status, atoi(fields[3]));
    cr_assert_str_eq(answer.body, fields[4]);
    answer_done(&answer);
}

static bool see_release(void *context, const struct q_release_row *row)
{
    (void)row;
    ++*(int *)context;
    return true;
}

static bool see_any(void *context, const void *row)
{
    (void)row;
    ++*(int *)context;
    return true;
}

Test(upgrade, the_old_programs_own_file_says_the_same_afterwards)
{
    int rows = 0;
    struct fixture f;
    size_t size;
    int accounts = 0, answers = 0, releases = 0;
    old_open_golden(&f);
    upgrade(f.db);
    char *text = old_golden("lines.txt", &size);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, "verify", 6) == 0)
            check_verify(f.db, line);
        else if (strncmp(line, "account", 7) == 0)
            check_account(f.db, line), accounts++;
        else
            check_answer(f.db, line), answers++;
    cr_assert_eq(accounts, 3);
    cr_assert_gt(answers, 100);
    cr_assert_eq(count_of(f.db, "SELECT count(*) FROM jobs WHERE state = 'succeeded'"), 1);
    cr_assert_gt(count_of(f.db, "SELECT count(*) FROM teachers"), 0);
    cr_assert_gt(count_of(f.db, "SELECT count(*) FROM client_tokens"), 0);
    cr_assert_eq(count_of(f.db, "SELECT count(*) FROM clients AS c LEFT JOIN client_tokens AS t"
                                " ON t.client = c.id AND number = 1 AND scopes = 7"
                                " AND expires_ms = 0 AND length(secret_hash) = 32"
                                " WHERE t.client IS NULL"),
                 0);
    cr_assert_eq(
        count_of(f.db, "SELECT count(*) FROM teachers WHERE when_spent <> 'refuse' OR name <> ''"),
        0);
    cr_assert_eq(q_releases_list(f.db, NULL, NULL, &(struct listing_page){.limit = 9}, see_release,
                                 &releases),
                 DB_OK);
    cr_assert_eq(releases, 1);
    for (const struct table *const *table = digests_tables; *table; table++)
        cr_expect_eq(table_list(f.db, *table, "", NULL, 0, see_any, &rows), DB_OK, "%s",
                     db_last_error(f.db));
    cr_expect_gt(rows, 100, "%d", rows);
    free(text);
    fixture_close(&f);
}

/* ---- the writer in old_format.c is the old program's */

struct lines_row {
    int64_t account, first, count;
    char *lines;
};

static const struct column lines_columns[] = {
    COLUMN(lines_row, account, INTEGER),
    COLUMN(lines_row, first, INTEGER),
    COLUMN(lines_row, count, INTEGER),
    COLUMN(lines_row, lines, POINTER),
};

static const struct table lines_table = TABLE("ledger_blocks", lines_row, lines_columns, 0);

struct block_row {
    char *answers;
    size_t size;
};

static const struct column block_columns[] = {
    {"answers", COLUMN_BLOB, offsetof(struct block_row, answers), offsetof(struct block_row, size),
     NULL},
};

static const struct table block_table = TABLE("answer_blocks", block_row, block_columns, 0);

#define RUN_MOST 200

struct compare_run {
    struct ledger_entry entries[RUN_MOST];
    unsigned count;
};

static bool keep_entry(void *context, const struct ledger_entry *entry)
{
    struct compare_run *run = context;
    struct ledger_entry *copy = &run->entries[run->count++];
    *copy = *entry;
    copy->client = strdup(entry->client);
    copy->resource = strdup(entry->resource);
    copy->event = strdup(entry->event);
    return run->count < RUN_MOST;
}

struct old_rows {
    struct db *rows; /* the same database, migrated */
    char ids[3][ID_SIZE];
    unsigned blocks, answers;
};

static bool compare_lines(void *context, const void *row)
{
    struct old_rows *old = context;
    const struct lines_row *block = row;
    struct compare_run run = {.count = 0};
    cr_assert_eq(ledger_entries(old->rows, old->ids[block->account - 1], block->first - 1,
                                (unsigned)block->count, keep_entry, &run),
                 DB_OK);
    cr_assert_eq(run.count, block->count);
    char *lines = old_lines(run.entries, run.count);
    cr_assert_str_eq(lines, block->lines);
    free(lines);
    for (unsigned i = 0; i < run.count; i++) {
        free((char *)(uintptr_t)run.entries[i].client);
        free((char *)(uintptr_t)run.entries[i].resource);
        free((char *)(uintptr_t)run.entries[i].event);
    }
    old->blocks++;
    return true;
}

/* Reads the answers of a block with the migrated rows, and writes the block again. */
static bool compare_block(void *context, const void *row)
{
    struct old_rows *old = context;
    const struct block_row *block = row;
    static char names[RUN_MOST][2][64];
    struct old_answer answers[RUN_MOST];
    unsigned count = 0;
    const unsigned char *at = (const unsigned char *)block->answers + 1,
                        *end = at - 1 + block->size;
    for (; at < end; count++) {
        size_t size = at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16;
        const unsigned char *client = at + 4 + 8 + 2 + ANSWER_FINGERPRINT_SIZE;
        const unsigned char *key = client + 2 + client[0];
        snprintf(names[count][0], 64, "%.*s", client[0], (const char *)client + 2);
        snprintf(names[count][1], 64, "%.*s", key[0], (const char *)key + 2);
        answers[count].client = names[count][0];
        answers[count].key = names[count][1];
        cr_assert_eq(answers_find(old->rows, names[count][0], names[count][1], &answers[count].row),
                     DB_OK);
        at += 4 + size;
    }
    size_t size;
    unsigned char *again = old_block(answers, count, &size);
    cr_assert_eq(size, block->size);
    cr_assert_arr_eq(again, block->answers, size);
    free(again);
    for (unsigned i = 0; i < count; i++)
        answer_done(&answers[i].row);
    old->answers += count;
    return true;
}

Test(upgrade, the_old_writer_kept_here_writes_what_the_old_program_wrote)
{
    struct fixture before, after;
    old_open_golden(&before);
    old_open_golden(&after);
    upgrade(after.db);
    struct old_rows old = {.rows = after.db};
    for (int i = 0; i < 3; i++) {
        struct db_value values[] = {db_integer(i + 1)};
        struct ledger_account account;
        static const struct column id_columns[] = {COLUMN(ledger_account, id, TEXT)};
        static const struct table ids = TABLE("ledger_accounts", ledger_account, id_columns, 0);
        cr_assert_eq(table_find(before.db, &ids, "WHERE number = $1", values, 1, &account), DB_OK);
        memcpy(old.ids[i], account.id, ID_SIZE);
    }
    cr_assert_eq(table_list(before.db, &lines_table, "ORDER BY account, first", NULL, 0,
                            compare_lines, &old),
                 DB_OK);
    cr_assert_eq(table_list(before.db, &block_table, "ORDER BY id", NULL, 0, compare_block, &old),
                 DB_OK);
    cr_assert_gt(old.blocks, 100);
    cr_assert_eq(old.answers, 101);
    fixture_close(&before);
    fixture_close(&after);
}

/* ---- a large directory, made by that writer */

#define ACCOUNTS  50
#define PER_BATCH 40
#define BATCHES   50 /* of each account: 100,000 entries in all */
#define ANSWERS   20000
#define JOBS      200
#define RELEASES  20
#define SPENT     (PER_BATCH * BATCHES)

static void open_account(struct db *db, struct ledger_account *a, unsigned i)
{
    *a = (struct ledger_account){.kind = LEDGER_DATASET,
                                 .epsilon = 1.5,
                                 .delta = 1e-6,
                                 .limit_units = 1000000,
                                 .created_ms = 1000 + i};
    snprintf(a->id, sizeof a->id, "acc_%020u", i);
    snprintf(a->resource, sizeof a->resource, "ds_%u", i);
    snprintf(a->owner, sizeof a->owner, "cli_owner");
    snprintf(a->unit, sizeof a->unit, "expert");
    ledger_genesis(a, a->head);
    struct table_extra number = {"number", db_integer(i + 1)};
    struct ledger_account row = *a;
    row.spent_units = SPENT - 1;
    row.entries = SPENT;
    cr_assert_eq(table_insert(db, &ledger_accounts_table, &row, &number, 1), DB_OK, "%s",
                 db_last_error(db));
}

/* All entries of account I, in blocks of PER_BATCH; the first opens it. */
static void fill_account(struct db *db, unsigned i, unsigned char out_head[LEDGER_HASH_SIZE])
{
    static struct ledger_entry run[PER_BATCH];
    static char resources[PER_BATCH][ID_SIZE];
    struct ledger_account account;
    open_account(db, &account, i);
    for (unsigned n = 0; n < SPENT; n++) {
        struct ledger_entry *e = &run[n % PER_BATCH];
        snprintf(resources[n % PER_BATCH], ID_SIZE, "qry_%u", n / 3);
        *e = (struct ledger_entry){.account = account.id,
                                   .sequence = n + 1,
                                   .time_ms = 5000 + n / 7,
                                   .kind = n == 0 ? LEDGER_ENTRY_OPEN : LEDGER_ENTRY_DEBIT,
                                   .limit_units = n == 0 ? 1000000 : 0,
                                   .spent_units = n > 0,
                                   .epsilon = n == 0 ? 1.5 : 0,
                                   .delta = n == 0 ? 1e-6 : 0,
                                   .client = n % 11 ? "cli_student" : "",
                                   .resource = resources[n % PER_BATCH],
                                   .event = "{\"type\":\"DirichletDpEvent\",\"actions\":2}"};
        memcpy(e->previous_hash, account.head, LEDGER_HASH_SIZE);
        ledger_entry_hash(e, e->hash);
        memcpy(account.head, e->hash, LEDGER_HASH_SIZE);
        if ((n + 1) % PER_BATCH == 0)
            old_write_entries(db, i + 1, run, PER_BATCH);
    }
    memcpy(out_head, account.head, LEDGER_HASH_SIZE);
    struct db_value values[] = {db_text(account.id), db_bytes(account.head, LEDGER_HASH_SIZE)};
    cr_assert_eq(db_change(db, "UPDATE ledger_accounts SET head = $2 WHERE id = $1", values, 2),
                 DB_OK);
}

static void make_answer(struct old_answer *answer, unsigned n, char key[24], char body[64])
{
    *answer = (struct old_answer){.client = n % 2 ? "cli_odd" : "cli_even", .key = key};
    snprintf(key, 24, "key-%u", n);
    snprintf(body, 64, "{\"answer\":%u}", n);
    answer->row = (struct answer_row){.status = 200 + (int)(n % 3),
                                      .content_type = "application/json",
                                      .body = body,
                                      .body_size = strlen(body),
                                      .created_ms = 7000 + n};
    memset(answer->row.fingerprint, (int)(n % 251), ANSWER_FINGERPRINT_SIZE);
    if (n % 5 == 0)
        snprintf(answer->row.headers, sizeof answer->row.headers, "/v1/x/%u", n);
}

static void fill_answers(struct db *db)
{
    static struct old_answer answers[PER_BATCH];
    static char keys[PER_BATCH][24], bodies[PER_BATCH][64];
    for (unsigned n = 0; n < ANSWERS; n++) {
        make_answer(&answers[n % PER_BATCH], n, keys[n % PER_BATCH], bodies[n % PER_BATCH]);
        if ((n + 1) % PER_BATCH == 0)
            old_write_answers(db, n / PER_BATCH + 1, answers, PER_BATCH);
    }
}

static void fill_rest(struct db *db)
{
    for (unsigned i = 0; i < JOBS; i++) {
        char sql[256];
        snprintf(
            sql, sizeof sql,
            "INSERT INTO jobs (id, owner, algorithm, mechanism, dataset, environment, request, "
            "plan, total_steps, account, hold_units, hold_delta, created_ms, state) VALUES "
            "('job_%u', '', '', '', '', '', '{}', '', 0, '', 0, 0, %u, 'queued')",
            i, i);
        cr_assert_eq(fixture_sql(db, sql), DB_OK, "%s", db_last_error(db));
    }
    for (unsigned i = 0; i < RELEASES; i++) {
        char sql[256];
        snprintf(sql, sizeof sql,
                 "INSERT INTO q_releases VALUES ('qre_%u', '', '', '', '', '', 'crt_%u', '{}', %u, "
                 "0, x'00', 'text')",
                 i, i, i);
        cr_assert_eq(fixture_sql(db, sql), DB_OK, "%s", db_last_error(db));
    }
}

static void check_large(struct db *db, unsigned char heads[ACCOUNTS][LEDGER_HASH_SIZE])
{
    struct ledger_report report;
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        struct ledger_account account;
        char id[ID_SIZE];
        snprintf(id, sizeof id, "acc_%020u", i);
        cr_assert_eq(ledger_find(db, id, &account), DB_OK);
        cr_assert_eq(account.entries, SPENT);
        cr_assert_eq(account.spent_units, SPENT - 1);
        cr_assert_eq(account.limit_units, 1000000);
        cr_assert_arr_eq(account.head, heads[i], LEDGER_HASH_SIZE);
    }
    cr_assert_eq(ledger_verify(db, &report), DB_OK);
    cr_assert_eq(report.fault_count, 0, "%s", report.faults[0].what);
    cr_assert_eq(report.entries, ACCOUNTS * SPENT);
    cr_assert_eq(count_of(db, "SELECT sum(spent_units) FROM ledger_entries"),
                 ACCOUNTS * (SPENT - 1));
    cr_assert_eq(count_of(db, "SELECT count(*) FROM answers"), ANSWERS);
    for (unsigned n = 0; n < ANSWERS; n++) {
        char key[24], body[64];
        struct old_answer wanted;
        struct answer_row found;
        make_answer(&wanted, n, key, body);
        cr_assert_eq(answers_find(db, wanted.client, key, &found), DB_OK);
        cr_assert_eq(found.status, wanted.row.status);
        cr_assert_eq(found.created_ms, wanted.row.created_ms);
        cr_assert_str_eq(found.headers, wanted.row.headers);
        cr_assert_str_eq(found.content_type, wanted.row.content_type);
        cr_assert_str_eq(found.body, body);
        cr_assert_arr_eq(found.fingerprint, wanted.row.fingerprint, ANSWER_FINGERPRINT_SIZE);
        answer_done(&found);
    }
    cr_assert_eq(count_of(db, "SELECT count(*) FROM jobs"), JOBS);
    cr_assert_eq(count_of(db, "SELECT count(*) FROM q_releases"), RELEASES);
}

/* Migrates in another process, which is killed after a while. True: it was done before that. */
static bool upgrade_until_killed(struct fixture *f, long milliseconds)
{
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct db_settings settings = {.location = f->path, .cache_kib = 512};
        struct db_store *store = db_store_new(&db_driver_sqlite, &settings);
        struct db *db = NULL;
        char error[DB_ERROR_SIZE];
        if (db_open(store, &db, error) != DB_OK || storage_upgrade(db, error) != DB_OK)
            _exit(1);
        _exit(0);
    }
    nanosleep(
        &(struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000},
        NULL);
    kill(child, SIGKILL);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
}

Test(upgrade, a_hundred_thousand_entries_survive_and_so_do_kills_on_the_way, .timeout = 600)
{
    struct fixture f;
    static unsigned char heads[ACCOUNTS][LEDGER_HASH_SIZE];
    old_open_empty(&f);
    cr_assert_eq(db_begin_batch(f.db, true), DB_OK);
    for (unsigned i = 0; i < ACCOUNTS; i++)
        fill_account(f.db, i, heads[i]);
    fill_answers(f.db);
    fill_rest(f.db);
    cr_assert_eq(db_commit_batch(f.db), DB_OK, "%s", db_last_error(f.db));
    bool done = false;
    for (long milliseconds = 30; milliseconds < 1000 && !done; milliseconds *= 3) {
        done = upgrade_until_killed(&f, milliseconds);
        int64_t version = count_of(f.db, "SELECT max(version) FROM schema_versions");
        cr_assert(done || version >= OLD_VERSION);
        if (version == OLD_VERSION)
            cr_assert_eq(count_of(f.db, "SELECT sum(count) FROM ledger_blocks"), ACCOUNTS * SPENT);
    }
    /* The last kill decides how much is left, so the time says little without the version. */
    int64_t from = count_of(f.db, "SELECT max(version) FROM schema_versions");
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    upgrade(f.db);
    clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(stderr, "upgrade from version %" PRId64 ": %.2f s\n", from,
            (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    check_large(f.db, heads);
    fixture_reopen(&f);
    upgrade(f.db); /* again: nothing is left to do */
    fixture_close(&f);
}

/* What jobs of earlier versions took from a dataset's cover. */
Test(upgrade, datasets_that_jobs_without_a_mechanism_used_are_not_covered)
{
    static const struct {
        const char *id, *mechanism, *plan;
        int is_public, uncovered;
    } cases[] = {
        {"ds_plain", "none", "{\"shards\":0}", 0, 1},
        {"ds_old", "none", "", 0, 1},
        {"ds_shards", "none", "{\"shards\":8}", 0, 0},
        {"ds_noisy", "dpsgd", "{}", 0, 0},
        {"ds_public", "none", "{}", 1, 0},
    };
    struct fixture f;
    char sql[640];
    old_open_empty(&f);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO datasets (id, owner, name, environment, state_dim, action_count, "
                 "max_episode_steps, discount, min_action_probability, is_public, "
                 "nominal_experts, state, account, created_ms) VALUES ('%s', 'cli', 'd', '', 4, "
                 "2, 9, 1, 0, %d, 0, 'sealed', '', 1)",
                 cases[i].id, cases[i].is_public);
        cr_assert_eq(fixture_sql(f.db, sql), DB_OK, "%s", db_last_error(f.db));
        snprintf(sql, sizeof sql,
                 "INSERT INTO jobs (id, owner, algorithm, mechanism, dataset, environment, "
                 "request, plan, state, total_steps, account, hold_units, hold_delta, created_ms) "
                 "VALUES ('job_%u', 'cli', 'cql', '%s', '%s', '', '{}', '%s', 'queued', 1, '', 0, "
                 "0, 1)",
                 i, cases[i].mechanism, cases[i].id, cases[i].plan);
        cr_assert_eq(fixture_sql(f.db, sql), DB_OK, "%s", db_last_error(f.db));
    }
    upgrade(f.db);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(sql, sizeof sql, "SELECT uncovered FROM datasets WHERE id = '%s'", cases[i].id);
        cr_expect_eq(count_of(f.db, sql), cases[i].uncovered, "%s", cases[i].id);
        /* And nobody described them. */
        struct dataset_row row;
        char *description = NULL;
        cr_assert_eq(datasets_find(f.db, cases[i].id, &row), DB_OK);
        cr_expect_str_eq(row.expert_means, "");
        cr_expect_eq(datasets_description(f.db, cases[i].id, &description), DB_NONE);
    }
    cr_expect_neq(fixture_sql(f.db, "UPDATE datasets SET uncovered = 0"), DB_OK);
    fixture_close(&f);
}

/* When each expert uploaded was not noted: none is erased by its days before it is time. */
Test(upgrade, experts_are_as_old_as_the_newest_upload_of_their_dataset)
{
    static const char *const rows[] = {
        "INSERT INTO datasets (id, owner, name, environment, state_dim, action_count, "
        "max_episode_steps, discount, min_action_probability, is_public, nominal_experts, state, "
        "account, created_ms) VALUES ('ds_a', 'cli', 'd', '', 4, 2, 9, 1, 0, 0, 0, 'sealed', '', "
        "1)",
        "INSERT INTO experts (dataset, number, name, owner) VALUES ('ds_a', 0, 'a', 'cli'), "
        "('ds_a', 1, 'b', 'cli'), ('ds_a', 2, '~c', 'cli')",
        "INSERT INTO uploads (id, dataset, client, place, chunks, created_ms, experts) VALUES "
        "('u', 'ds_a', 'cli', 1, 0, 50, x''), ('v', 'ds_a', 'cli', 2, 0, 40, x''), "
        "('w', 'ds_a', 'cli', 0, 0, 90, x'')",
        "INSERT INTO expert_policies (dataset, number, bytes, stored_ms) VALUES "
        "('ds_a', 1, x'', 70)"};
    struct fixture f;
    old_open_empty(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_eq(fixture_sql(f.db, rows[i]), DB_OK, "%s", db_last_error(f.db));
    upgrade(f.db);
    cr_expect_eq(count_of(f.db, "SELECT uploaded_ms FROM experts WHERE number = 0"), 50);
    cr_expect_eq(count_of(f.db, "SELECT uploaded_ms FROM experts WHERE number = 1"), 70);
    cr_expect_eq(count_of(f.db, "SELECT uploaded_ms FROM experts WHERE number = 2"), 0);
    cr_expect_eq(count_of(f.db, "SELECT sealed_ms FROM datasets WHERE retention_days = 0"), 50);
    fixture_close(&f);
}

/* ---- what does not add up is refused, and stays as it is */

Test(upgrade, a_damaged_directory_is_left_as_it_is)
{
    static const char *const damages[] = {
        "UPDATE ledger_blocks SET lines = 'nothing' WHERE first = 5",
        "UPDATE ledger_blocks SET lines = lines || lines WHERE first = 5",
        "UPDATE ledger_blocks SET lines = '' WHERE first = 5",
        "UPDATE ledger_blocks SET lines = replace(lines, 'debit', 'gift') WHERE first = 5",
        "UPDATE ledger_blocks SET lines = replace(lines, 'Dirichlet', 'dirichlet') WHERE first = 5",
        "UPDATE ledger_blocks SET count = count + 1 WHERE first = 5",
        "UPDATE ledger_blocks SET previous_hash = zeroblob(32) WHERE first = 5",
        "UPDATE ledger_blocks SET account = 77 WHERE first = 5 AND account = 1",
        "DELETE FROM ledger_blocks WHERE first = 5",
        "UPDATE answer_blocks SET answers = x'0105' WHERE id = 2",
        "UPDATE answer_blocks SET answers = x'02' WHERE id = 2",
        "UPDATE answer_blocks SET answers = substr(answers, 1, length(answers) - 1) WHERE id = 2",
    };
    for (unsigned i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct fixture f;
        char error[DB_ERROR_SIZE];
        old_open_golden(&f);
        cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_blocks_fixed"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER ledger_blocks_stay"), DB_OK);
        cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER answer_blocks_fixed"), DB_OK);
        int64_t before = count_of(f.db, "SELECT total_changes()");
        cr_assert_eq(fixture_sql(f.db, damages[i]), DB_OK, "%s", db_last_error(f.db));
        cr_assert_gt(count_of(f.db, "SELECT total_changes()"), before, "%s", damages[i]);
        cr_expect_eq(storage_upgrade(f.db, error), DB_FAILED, "%s", damages[i]);
        cr_expect_neq(error[0], '\0');
        cr_expect_eq(count_of(f.db, "SELECT max(version) FROM schema_versions"), OLD_VERSION);
        cr_expect_eq(count_of(f.db, "SELECT count(*) FROM sqlite_schema WHERE name = "
                                    "'ledger_entries'"),
                     0);
        fixture_close(&f);
    }
}

static char *read_whole(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    fseek(file, 0, SEEK_END);
    *out_size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*out_size + 1);
    cr_assert_eq(fread(bytes, 1, *out_size, file), *out_size);
    fclose(file);
    return bytes;
}

/* Upgrades the closed file of F and closes it again. */
static enum db_status upgrade_closed(struct fixture *f, unsigned char key_byte,
                                     char error[DB_ERROR_SIZE])
{
    unsigned char key[DB_KEY_SIZE];
    memset(key, key_byte, sizeof key);
    struct db_settings settings = {.location = f->path, .not_durable = true, .digest_key = key};
    f->store = db_store_new(&db_driver_sqlite, &settings);
    f->db = fixture_connect(f);
    enum db_status status = storage_upgrade(f->db, error);
    db_close(f->db);
    db_store_free(f->store);
    return status;
}

static void close_file(struct fixture *f)
{
    db_close(f->db);
    db_store_free(f->store);
}

/* Damage in an index, which no step of an upgrade reads. */
Test(upgrade, a_damaged_page_is_found_before_anything_is_written)
{
    struct fixture f;
    char error[DB_ERROR_SIZE] = "";
    size_t size, again_size;
    old_open_golden(&f);
    cr_assert_eq(fixture_sql(f.db, "INSERT INTO clients VALUES ('cli_zzzz', '', '', x'', 77, 0)"),
                 DB_OK);
    int64_t page = count_of(f.db, "SELECT (rootpage - 1) * (SELECT page_size FROM "
                                  "pragma_page_size) FROM sqlite_schema WHERE name = "
                                  "'clients_by_time'");
    close_file(&f);
    FILE *file = fopen(f.path, "r+b");
    cr_assert_not_null(file);
    fseek(file, (long)page + 3, SEEK_SET); /* the page's count of cells, and what follows */
    static const unsigned char none[5];
    cr_assert_eq(fwrite(none, sizeof none, 1, file), 1);
    fclose(file);
    char *before = read_whole(f.path, &size);
    cr_expect_eq(upgrade_closed(&f, 0, error), DB_FAILED);
    cr_expect_not_null(strstr(error, "nothing was upgraded"), "%s", error);
    char *after = read_whole(f.path, &again_size);
    cr_assert_eq(again_size, size);
    cr_expect_eq(memcmp(before, after, size), 0);
    free(before);
    free(after);
    f.store = db_store_new(&db_driver_sqlite, &(struct db_settings){.location = f.path});
    f.db = fixture_connect(&f);
    cr_expect_eq(count_of(f.db, "SELECT max(version) FROM schema_versions"), OLD_VERSION);
    fixture_close(&f);
}

/* A step writes digests, which only the right key may do. */
Test(upgrade, another_key_is_found_before_anything_is_written)
{
    struct fixture f;
    char error[DB_ERROR_SIZE] = "";
    fixture_open(&f, &db_driver_sqlite);
    cr_assert_eq(fixture_sql(f.db, "DELETE FROM schema_versions"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "INSERT INTO schema_versions VALUES (19)"), DB_OK);
    close_file(&f);
    cr_expect_eq(upgrade_closed(&f, 1, error), DB_FAILED);
    cr_expect_not_null(strstr(error, "another signing.key"), "%s", error);
    f.store = db_store_new(&db_driver_sqlite, &(struct db_settings){.location = f.path});
    f.db = fixture_connect(&f);
    cr_expect_eq(count_of(f.db, "SELECT max(version) FROM schema_versions"), 19);
    fixture_close(&f);
}

/* ---- the tables of an upgraded directory, and directories that are too old */

static enum db_status keep_text(void *context, const struct db_row *row)
{
    *(char **)context = strdup(db_row_text(row, 0));
    return DB_OK;
}

/* Every table, column, index and trigger of DB as a line of one text, which the caller frees. */
static char *describe_schema(struct db *db)
{
    static const char sql[] =
        "SELECT group_concat(line, char(10)) FROM ("
        "SELECT l.name || ' ' || l.wr || ' ' || l.strict AS line FROM pragma_table_list() AS l "
        "UNION SELECT t.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || "
        "coalesce(c.dflt_value, '') || ' ' || c.pk FROM sqlite_schema AS t, "
        "pragma_table_info(t.name) AS c WHERE t.type = 'table' "
        "UNION SELECT name || ' ' || coalesce(sql, tbl_name) FROM sqlite_schema "
        "WHERE type <> 'table' ORDER BY line)";
    char *text = NULL;
    cr_assert_eq(db_one(db, sql, NULL, 0, keep_text, &text), DB_OK, "%s", db_last_error(db));
    cr_assert_not_null(text);
    return text;
}

Test(upgrade, an_upgraded_directory_has_the_tables_of_a_new_one)
{
    struct fixture fresh, upgraded;
    fixture_open(&fresh, &db_driver_sqlite);
    old_open_empty(&upgraded);
    upgrade(upgraded.db);
    char *wanted = describe_schema(fresh.db), *got = describe_schema(upgraded.db);
    cr_assert_not_null(strstr(wanted, "ledger_entries.hash BLOB"));
    cr_assert_str_eq(got, wanted);
    free(wanted);
    free(got);
    fixture_close(&fresh);
    fixture_close(&upgraded);
}

Test(upgrade, a_directory_of_a_version_that_is_too_old_is_left_as_it_is)
{
    struct fixture f;
    char error[DB_ERROR_SIZE];
    old_open_empty(&f);
    cr_assert_eq(fixture_sql(f.db, "DELETE FROM schema_versions WHERE version > 10"), DB_OK);
    cr_assert_eq(storage_upgrade(f.db, error), DB_FAILED);
    cr_assert_not_null(strstr(error, "version 10"), "%s", error);
    cr_assert_eq(count_of(f.db, "SELECT max(version) FROM schema_versions"), 10);
    cr_assert_eq(count_of(f.db, "SELECT count(*) FROM answer_blocks"), 0); /* the table is there */
    fixture_close(&f);
}

Test(upgrade, every_steward_gets_a_project_of_its_own)
{
    struct fixture f;
    int64_t owners = 0;
    bool admits = false;
    struct project_row project;
    old_open_empty(&f);
    cr_assert_eq(fixture_sql(f.db, "INSERT INTO clients VALUES ('cli_s', 'Alice', 'steward', x'', "
                                   "7, 0), ('cli_t', 'Bob', 'student', x'', 8, 0)"),
                 DB_OK);
    upgrade(f.db);
    cr_assert_eq(projects_find(f.db, "cli_s", &project), DB_OK);
    cr_expect_str_eq(project.name, "Alice");
    cr_expect(!project.invited_only);
    cr_assert_eq(projects_owners(f.db, "cli_s", &owners), DB_OK);
    cr_expect_eq(owners, 1);
    cr_expect_eq(projects_find(f.db, "cli_t", &project), DB_NONE);
    cr_assert_eq(projects_admit(f.db, "cli_s", "cli_t", &admits), DB_OK);
    cr_expect(admits);
    cr_expect_neq(fixture_sql(f.db, "DELETE FROM projects"), DB_OK);
    fixture_close(&f);
}
