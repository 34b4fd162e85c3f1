/* Accounts, batches of debits with their answers, holds, limits, policies, jobs and checkpoints;
 * and what SQLite does by itself: emptying its log, and closing. */
#include "tests/unit/storage/power_work.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/memory.h"
#include "storage/answers/answers.h"
#include "storage/jobs.h"
#include "storage/policies.h"
#include "storage/upgrade.h"
#include "tests/unit/storage/fixture.h"

enum { BATCH_MOST = 5, POLICY_BYTES_MOST = 40000, LIMIT = 1000000 };

/* ---- identifiers follow from the seed, too */

static uint64_t work_chance;

static const char *chance_name(void)
{
    return "seeded";
}

static uint32_t chance_word(void)
{
    return (uint32_t)fixture_random(&work_chance, UINT32_MAX);
}

static void chance_fill(void *const out, const size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)out)[i] = (unsigned char)fixture_random(&work_chance, 256);
}

static randombytes_implementation work_randomness = {
    .implementation_name = chance_name, .random = chance_word, .buf = chance_fill};

/* ---- opening */

static uint64_t work_draw(struct power_work *work, uint64_t limit)
{
    return fixture_random(&work->random, limit);
}

static struct db *work_connection(struct power_work *work)
{
    return work->db[work_draw(work, 2)];
}

void power_work_begin(struct power_work *work, uint64_t seed)
{
    const struct power_work settings = *work;
    work_chance = seed;
    randombytes_set_implementation(&work_randomness);
    cr_assert_geq(sodium_init(), 0);
    *work = (struct power_work){
        .random = seed, .not_durable = settings.not_durable, .after_open = settings.after_open};
    snprintf(work->folder, sizeof work->folder, "/tmp/tacet-power-XXXXXX");
    cr_assert_not_null(mkdtemp(work->folder));
    snprintf(work->path, sizeof work->path, "%s/tacet.db", work->folder);
    power_vfs_use();
    power_disk_begin(work->folder);
}

void power_work_open(struct power_work *work)
{
    const struct db_settings settings = {.location = work->path, .not_durable = work->not_durable};
    char error[DB_ERROR_SIZE];
    work->store = db_store_new(&db_driver_sqlite, &settings);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(db_open(work->store, &work->db[i], error), DB_OK, "%s", error);
        if (i == 0)
            cr_assert_eq(storage_upgrade(work->db[i], error), DB_OK, "%s", error);
        if (work->after_open)
            cr_assert_eq(db_run(work->db[i], work->after_open, NULL, 0, NULL, NULL), DB_OK);
    }
}

void power_work_close(struct power_work *work)
{
    for (int i = 0; i < 2 && work->store; i++)
        db_close(work->db[i]);
    db_store_free(work->store);
    work->store = NULL;
}

/* ---- the steps */

static void open_account(struct power_work *work)
{
    static const enum ledger_kind kinds[] = {LEDGER_DATASET, LEDGER_TEACHER, LEDGER_CLIENT};
    char resource[16];
    unsigned n = work->account_count++;
    snprintf(resource, sizeof resource, "res_%u", n / 3);
    struct ledger_account account =
        fixture_account(work_connection(work), kinds[n % 3], resource,
                        kinds[n % 3] == LEDGER_CLIENT ? "cli_a" : NULL, LIMIT, LIMIT);
    memcpy(work->accounts[n], account.id, ID_SIZE);
}

/* One query: its debit and its answer. */
static enum db_status answer_query(struct db *db, void *context)
{
    struct power_work *work = context;
    const struct ledger_charge charge = {
        .prices = {{work->accounts[work_draw(work, work->account_count)], 1 + work->answers % 7,
                    1}},
        .count = 1,
        .client = "cli_a",
        .resource = "qry",
        .event = "{\"event\":\"query\"}",
        .now_ms = work->answers};
    struct ledger_outcome outcome;
    char key[32], body[1200] = "";
    snprintf(key, sizeof key, "key-%" PRId64, work->answers);
    int size = snprintf(body, sizeof body, "{\"answer\":%" PRId64 ",\"numbers\":\"%0*d\"}",
                        work->answers, (int)work_draw(work, 1000), 7);
    struct answer_row answer = {.status = 200,
                                .content_type = "application/json",
                                .body = body,
                                .body_size = (size_t)size,
                                .created_ms = work->answers};
    memset(answer.fingerprint, (int)(work->answers % 251), sizeof answer.fingerprint);
    work->answers++;
    enum db_status status = ledger_debit(db, &charge, &outcome);
    cr_assert(status != DB_OK || outcome.verdict == LEDGER_OK);
    return status == DB_OK ? answers_store(db, "cli_a", key, &answer) : status;
}

/* As the committer: several in one commit. */
void power_work_answer(struct power_work *work)
{
    struct db *db = work_connection(work);
    uint64_t count = 1 + work_draw(work, BATCH_MOST);
    cr_assert_eq(db_begin_batch(db, true), DB_OK);
    for (uint64_t i = 0; i < count; i++)
        cr_assert_eq(db_transact(db, answer_query, work), DB_OK, "%s", db_last_error(db));
    cr_assert_eq(db_commit_batch(db), DB_OK, "%s", db_last_error(db));
}

static void change_hold(struct power_work *work)
{
    struct db *db = work_connection(work);
    enum ledger_verdict verdict;
    char name[32];
    if (work->open_hold != 0) {
        snprintf(name, sizeof name, "job_%" PRId64, work->open_hold);
        cr_assert_eq(fixture_settle(db, name, work->accounts[0], 3, &verdict), DB_OK);
        work->open_hold = 0;
    } else {
        work->open_hold = work->steps + 1;
        snprintf(name, sizeof name, "job_%" PRId64, work->open_hold);
        cr_assert_eq(fixture_hold(db, name, work->accounts[0], 5, &verdict), DB_OK);
    }
    cr_assert_eq(verdict, LEDGER_OK);
}

static void change_limit(struct power_work *work)
{
    struct db *db = work_connection(work);
    enum ledger_verdict verdict;
    const struct ledger_limit limit = {.account = work->accounts[0],
                                       .epsilon = 1 + (double)work->steps,
                                       .delta = 1e-6,
                                       .limit_units = LIMIT + work->steps,
                                       .limit_delta = LIMIT,
                                       .client = "cli_s",
                                       .event = "{}",
                                       .now_ms = work->steps};
    cr_assert_eq(ledger_set_limit(db, &limit, &verdict, NULL), DB_OK, "%s", db_last_error(db));
    cr_assert_eq(verdict, LEDGER_OK);
}

static void store_policy(struct power_work *work)
{
    struct db *db = work_connection(work);
    struct policy_row policy = {.owner = "cli_s", .mechanism = "none", .dataset = "ds_a"};
    size_t size = 1 + (size_t)work_draw(work, POLICY_BYTES_MOST);
    unsigned char *bytes = memory_new(size, 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)work_draw(work, 256);
    snprintf(policy.id, sizeof policy.id, "pol_%" PRId64, work->policies++);
    cr_assert_eq(policies_insert(db, &policy, bytes, size, NULL), DB_OK);
    free(bytes);
}

static void erase_policies(struct power_work *work)
{
    cr_assert_eq(policies_erase_secrets(work_connection(work), "ds_a"), DB_OK);
}

static void submit_job(struct power_work *work)
{
    struct job_row job = {.owner = "cli_s", .request = (char[]){"{}"}, .plan = (char[]){""}};
    snprintf(job.id, sizeof job.id, "job_%" PRId64, work->jobs++);
    job.created_ms = work->steps;
    cr_assert_eq(jobs_submit(work_connection(work), &job), DB_OK);
}

static void empty_log(struct power_work *work)
{
    cr_assert_eq(
        db_run(work_connection(work), "PRAGMA wal_checkpoint(PASSIVE)", NULL, 0, NULL, NULL),
        DB_OK);
}

static void start_anew(struct power_work *work)
{
    power_work_close(work);
    power_work_open(work);
}

void power_work_step(struct power_work *work)
{
    static void (*const kinds[])(struct power_work *) = {
        power_work_answer, power_work_answer, power_work_answer, power_work_answer, change_hold,
        change_hold,       change_limit,      store_policy,      erase_policies,    submit_job,
        empty_log,         empty_log,         start_anew,
    };
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    if (work->account_count < 2 || (work->account_count < 6 && work_draw(work, 8) == 0))
        open_account(work);
    else
        kinds[work_draw(work, KINDS)](work);
    work->steps++;
}

void power_remove(const char *folder)
{
    char path[512];
    DIR *names = opendir(folder);
    cr_assert_not_null(names);
    for (struct dirent *entry = readdir(names); entry; entry = readdir(names)) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    closedir(names);
    rmdir(folder);
}

void power_work_end(struct power_work *work)
{
    power_work_close(work);
    power_disk_end();
    power_remove(work->folder);
}

/* ---- what a database holds */

struct dump {
    crypto_generichash_state hash; /* first: it is aligned to 64 bytes */
    struct db *db;
    const char *like;
};

static enum db_status dump_row(void *context, const struct db_row *row)
{
    struct dump *dump = context;
    for (unsigned i = 0; i < row->count; i++) {
        const struct db_value *value = &row->values[i];
        bool borrowed = value->type == DB_TEXT || value->type == DB_BYTES;
        uint64_t head[3] = {(uint64_t)value->type, borrowed ? value->size : 0, 0};
        if (value->type == DB_INTEGER || value->type == DB_REAL)
            memcpy(&head[2], &value->integer, sizeof head[2]);
        crypto_generichash_update(&dump->hash, (const unsigned char *)head, sizeof head);
        if (borrowed && value->size > 0)
            crypto_generichash_update(&dump->hash, value->data, value->size);
    }
    return DB_OK;
}

static enum db_status dump_table(void *context, const struct db_row *row)
{
    struct dump *dump = context;
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT * FROM %s", db_row_text(row, 0));
    crypto_generichash_update(&dump->hash, (const unsigned char *)sql, strlen(sql));
    return db_run(dump->db, sql, NULL, 0, dump_row, dump);
}

static enum db_status dump_all(struct db *db, void *context)
{
    static const char names[] =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE $1 "
        "ORDER BY name";
    const struct dump *dump = context;
    return db_run(db, names, DB_VALUES(db_text(dump->like)), dump_table, context);
}

enum db_status power_dump(struct db *db, const char *like, unsigned char out[POWER_DUMP_BYTES])
{
    struct dump dump = {.db = db, .like = like};
    crypto_generichash_init(&dump.hash, NULL, 0, POWER_DUMP_BYTES);
    enum db_status status = db_view(db, dump_all, &dump);
    crypto_generichash_final(&dump.hash, out, POWER_DUMP_BYTES);
    return status;
}
