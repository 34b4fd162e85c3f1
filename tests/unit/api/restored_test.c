/* A service that was restored: what the backup has is answered again byte for byte; a key of which
 * nobody knows whether the lost life answered it is refused, and its log has another name. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/jobs/jobs.h"
#include "api/json/json_text.h"
#include "storage/datasets.h"
#include "storage/db/listing.h"
#include "storage/ledger/ledger_post.h"
#include "storage/recovery.h"
#include "tests/unit/api/domain.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/keep_scene.h"

#define LOST_MS (KEEP_BEGIN_MS + 500) /* keys up to here may have been answered */

static void second_life(struct api_settings *settings)
{
    keep_for_ever(settings);
    settings->answered_ms = LOST_MS;
    settings->life = 2;
    settings->life_id = "life_abc";
}

/* In the life that was lost no key named its time. */
static void life_after_undated_keys(struct api_settings *settings)
{
    second_life(settings);
    settings->answered_ms = 0;
}

Test(restored, keys_that_may_have_been_answered_are_refused)
{
    char old[KEEP_KEY_BYTES], lost[KEEP_KEY_BYTES], fresh[KEEP_KEY_BYTES];
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS);
    f = fixture_open_with(keep_for_ever);
    const char *queries = keep_teacher(50, "");
    keep_uuid(KEEP_BEGIN_MS, 1, old);
    keep_uuid(LOST_MS, 2, lost);
    keep_uuid(LOST_MS + 1, 3, fresh);
    struct response *dated = keep_ask(queries, old, KEEP_STATE);
    struct response *undated = keep_ask(queries, "undated", KEEP_STATE);
    expect_status(dated, 200);
    expect_status(undated, 200);
    fixture_restart(f, second_life);
    keep_expect_replayed(keep_ask(queries, old, KEEP_STATE), dated->body);
    keep_expect_replayed(keep_ask(queries, "undated", KEEP_STATE), undated->body);
    int64_t entries = keep_number(KEEP_ENTRIES), answers = keep_number(KEEP_ANSWERS);
    expect_problem(keep_ask(queries, lost, KEEP_STATE), "idempotency-key-expired");
    struct response *another = keep_ask(queries, "another", KEEP_STATE);
    expect_problem(another, "idempotency-key-expired");
    char after[40];
    json_t *lost_at = json_time(LOST_MS);
    snprintf(after, sizeof after, "%s", json_string_value(lost_at));
    json_decref(lost_at);
    cr_expect_str_eq(response_text(another, "/keys_after"), after);
    cr_expect_eq(keep_number(KEEP_ENTRIES), entries);
    cr_expect_eq(keep_number(KEEP_ANSWERS), answers);
    expect_status(keep_ask(queries, fresh, KEEP_STATE), 200);
    struct response *checkpoint = fixture_get(f, "auditor", "/v1/ledger/checkpoint");
    expect_status(checkpoint, 200);
    const char *end = strchr(checkpoint->body, '\n');
    cr_expect(strncmp(checkpoint->body, "tacet/", 6) == 0 && strncmp(end - 9, "/life_abc", 9) == 0,
              "%s", checkpoint->body);
    check_after();
    service_close();
}

Test(restored, keys_without_a_time_are_refused_though_none_with_one_was_answered)
{
    char fresh[KEEP_KEY_BYTES];
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS);
    f = fixture_open_with(keep_for_ever);
    const char *queries = keep_teacher(50, "");
    keep_uuid(KEEP_BEGIN_MS, 1, fresh);
    struct response *undated = keep_ask(queries, "undated", KEEP_STATE);
    expect_status(undated, 200);
    fixture_restart(f, life_after_undated_keys);
    keep_expect_replayed(keep_ask(queries, "undated", KEEP_STATE), undated->body);
    expect_problem(keep_ask(queries, "new-1", KEEP_STATE), "idempotency-key-expired");
    expect_status(keep_ask(queries, fresh, KEEP_STATE), 200);
    check_after();
    service_close();
}

/* ---- what was burnt */

#define BURNT INT64_C(700000000)

static enum db_status burn_one(struct db *db, struct ledger_account *account, void *context)
{
    const struct mark mark = {.used = {account->spent_units + BURNT, account->spent_delta}};
    (void)context;
    return ledger_burn(db, account, &mark, "life_abc", "{\"type\":\"NoOpDpEvent\"}",
                       account->created_ms + 1000);
}

static enum db_status burn_all(struct db *db, void *context)
{
    return ledger_each(db, NULL, burn_one, context);
}

static double epsilon_of(struct response *account, const char *what)
{
    return response_number(account, domain_path("/%s/epsilon", what));
}

/* The value of the metric NAME of teachers. */
static double teachers_metric(const char *name)
{
    struct response *r = fixture_get(f, "admin", "/metrics");
    const char *line = domain_path("\n%s{kind=\"teacher\"} ", name), *at = strstr(r->body, line);
    cr_assert_not_null(at, "%s", r->body);
    return strtod(at + strlen(line), NULL);
}

/* ACCOUNTING is that of the account. */
static void expect_burnt_shown(const char *accounting)
{
    service_open();
    char body[400];
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,"
             "\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},"
             "\"accounting\":\"%s\",\"budget\":{\"epsilon\":9,\"delta\":1e-5},"
             "\"client_budget\":{\"epsilon\":8,\"delta\":1e-5}}",
             domain_policy(f), accounting);
    struct response *made = fixture_post(f, "steward", "/v1/teachers", body);
    expect_status(made, 201);
    expect_status(fixture_post(f, "student",
                               domain_path("/v1/teachers/%s/queries", response_text(made, "/id")),
                               "{\"states\":[[0.01,-0.02,0.03,0.04]]}"),
                  200);
    char path[80];
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s", response_text(made, "/account"));
    struct response *before = fixture_get(f, "steward", path);
    cr_expect_str_eq(response_text(before, "/accounting"), accounting);
    cr_expect_eq(epsilon_of(before, "burnt"), 0);
    cr_assert_eq(db_transact(fixture_db(f), burn_all, NULL), DB_OK);
    struct response *after = fixture_get(f, "steward", path);
    cr_expect_eq(response_number(after, "/units/burnt"), BURNT);
    cr_expect_eq(response_number(after, "/burnt/delta"), 0);
    cr_expect_float_eq(epsilon_of(after, "spent"),
                       epsilon_of(before, "spent") + epsilon_of(after, "burnt"), 1e-12);
    cr_expect_float_eq(epsilon_of(after, "limit"),
                       epsilon_of(after, "spent") + epsilon_of(after, "reserved") +
                           epsilon_of(after, "remaining"),
                       1e-9);
    cr_expect_float_eq(teachers_metric("tacet_epsilon_spent"), epsilon_of(after, "spent"), 1e-8);
    cr_expect_float_eq(teachers_metric("tacet_epsilon_left"), epsilon_of(after, "remaining"), 1e-8);
    service_close();
}

Test(restored, an_account_shows_what_was_burnt_and_adds_up)
{
    expect_burnt_shown("basic");
    expect_burnt_shown("renyi");
}

/* ---- the conversion of a teacher of shards */

#define DATASET_BURNT INT64_C(4000000000)

/* A mark stands ahead of an account that has paid nothing yet. */
static enum db_status burn_ahead(struct db *db, struct ledger_account *account, void *context)
{
    const struct mark mark = {.used = {account->limit_units / 100 + 1, account->spent_delta}},
                      much = {.used = {DATASET_BURNT, account->spent_delta}};
    (void)context;
    return ledger_burn(db, account, account->kind == LEDGER_DATASET ? &much : &mark, "life_abc",
                       "{\"type\":\"NoOpDpEvent\"}", account->created_ms + 1000);
}

static enum db_status burn_all_ahead(struct db *db, void *context)
{
    return ledger_each(db, NULL, burn_ahead, context);
}

static struct ledger_account account_of(const char *id)
{
    struct ledger_account account;
    cr_assert_eq(ledger_find(fixture_db(f), id, &account), DB_OK);
    return account;
}

/* Nobody asked the teacher before the loss: its dataset has still to pay the conversion. */
Test(restored, a_teacher_that_was_never_asked_owes_its_conversion)
{
    service_open();
    const char *dataset = domain_sealed(f, "private", 12);
    struct response *job =
        domain_run(f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":50,"
                                  "\"parameters\":{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                                  dataset));
    struct response *teacher =
        fixture_post(f, "steward", "/v1/teachers",
                     domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\","
                                 "\"sigma\":0.1},\"adjacency\":{\"unit\":\"expert\"},"
                                 "\"budget\":{\"epsilon\":9.5,\"delta\":1e-6},"
                                 "\"client_budget\":{\"epsilon\":9.5,\"delta\":1e-6}}",
                                 response_text(job, "/policy")));
    expect_status(teacher, 201);
    const char *queries = domain_path("/v1/teachers/%s/queries", response_text(teacher, "/id"));
    int64_t price = (int64_t)response_number(teacher, "/renyi_units_per_query");
    double first = 1e9 * response_number(teacher, "/dataset_cost/first/epsilon") - (double)price;
    cr_assert_gt(first, 10.0 * (double)price);
    cr_assert_eq(db_transact(fixture_db(f), burn_all_ahead, NULL), DB_OK);
    cr_assert_gt(account_of(response_text(teacher, "/account")).spent_units, 0);
    struct response *budget = domain_budget(f, dataset);
    const char *id = response_text(budget, "/account");
    struct ledger_account before = account_of(id);
    double left = (double)(before.limit_units - before.spent_units);
    cr_expect_float_eq(response_number(budget, "/buys/answers"), (left - first) / (double)price, 2);
    const char *count =
        domain_path("{\"count\":%lld}", (long long)(left - first / 2) / (long long)price);
    struct response *estimate =
        fixture_post(f, "steward", domain_path("%s:estimate", queries), count);
    expect_status(estimate, 200);
    cr_expect(json_is_false(response_at(estimate, "/feasible")), "%s", estimate->body);
    static const char state[] = "{\"state\":[0.01,-0.02,0.03,0.04]}";
    expect_status(fixture_post(f, "student", queries, state), 200);
    struct ledger_account one = account_of(id);
    cr_expect_float_eq((double)(one.spent_units - before.spent_units), first + (double)price, 3);
    cr_expect_eq(one.spent_delta - before.spent_delta, INT64_C(1000000000000));
    expect_status(fixture_post(f, "student", queries, state), 200);
    struct ledger_account two = account_of(id);
    cr_expect_eq(two.spent_units - one.spent_units, price);
    cr_expect_eq(two.spent_delta, one.spent_delta);
    estimate = fixture_post(
        f, "steward", domain_path("%s:estimate", queries),
        domain_path("{\"count\":%lld}", (long long)(two.limit_units - two.spent_units) / price));
    cr_expect(json_is_true(response_at(estimate, "/feasible")), "%s", estimate->body);
    domain_expect_whole_ledger(f);
    service_close();
}

/* ---- a database that is lost beside its marks, and a copy of it that is restored */

struct loss {
    struct fixture *f;
    char directory[120], copy[120];
    struct marks *marks;
    struct db_store *store;
    struct db *db; /* the copy */
};

static void begin_marks(struct loss *loss)
{
    char error[DB_ERROR_SIZE] = "";
    cr_assert(recovery_begin(fixture_db(loss->f), loss->directory, KEEP_BEGIN_MS, &loss->marks,
                             error, sizeof error),
              "%s", error);
}

/* A kill -9: nothing is written. */
static void lose_process(struct loss *loss)
{
    marks_close(loss->marks);
    db_set_guard(fixture_db(loss->f), NULL);
}

static void open_marked(struct loss *loss)
{
    *loss = (struct loss){.f = fixture_open()};
    snprintf(loss->directory, sizeof loss->directory, "%s.marks", fixture_path(loss->f));
    snprintf(loss->copy, sizeof loss->copy, "%s.copy", fixture_path(loss->f));
    cr_assert_eq(mkdir(loss->directory, 0700), 0);
    begin_marks(loss);
}

static void back_up(const struct loss *loss)
{
    char sql[200];
    snprintf(sql, sizeof sql, "VACUUM INTO '%s'", loss->copy);
    cr_assert_eq(db_run(fixture_db(loss->f), sql, NULL, 0, NULL, NULL), DB_OK);
}

static void restore_copy(struct loss *loss)
{
    char error[DB_ERROR_SIZE] = "";
    struct db_settings settings = {.location = loss->copy, .not_durable = true};
    struct ledger_restored restored;
    lose_process(loss);
    loss->store = db_store_new(&db_driver_sqlite, &settings);
    cr_assert_eq(db_open(loss->store, &loss->db, error), DB_OK, "%s", error);
    cr_assert(recovery_restore(loss->db, loss->directory, false, KEEP_BEGIN_MS, &restored, error,
                               sizeof error),
              "%s", error);
}

/* Both programs read the export of the copy, and find no fault. */
static void expect_copy_verifies(const struct loss *loss, struct verify_report *out)
{
    char command[300];
    size_t size;
    char *export = export_scene_take_of(loss->f, loss->db, &size);
    export_scene_verify(export, size, NULL, out);
    cr_expect_eq(out->fault_count, 0, "%s", out->faults[0].what);
    snprintf(command, sizeof command, "%s.export", loss->copy);
    FILE *file = fopen(command, "w");
    cr_assert(file && fwrite(export, 1, size, file) == size && fclose(file) == 0);
    snprintf(command, sizeof command, "python3 scripts/verify.py %s.export >/dev/null", loss->copy);
    cr_expect_eq(system(command), 0);
    free(export);
}

static void close_loss(struct loss *loss)
{
    char command[300];
    db_close(loss->db);
    db_store_free(loss->store);
    snprintf(command, sizeof command, "rm -r %s %s*", loss->directory, loss->copy);
    cr_expect_eq(system(command), 0);
    fixture_close(loss->f);
}

/* ---- what no budget covers */

/* A job that reveals what no budget pays for is in the marks when it is accepted. */
Test(restored, a_dataset_that_was_uncovered_after_the_backup_says_so)
{
    struct loss loss;
    struct verify_report report;
    struct dataset_row row;
    open_marked(&loss);
    const char *covered = domain_sealed(loss.f, "private", 6),
               *dataset = domain_sealed(loss.f, "private", 6);
    back_up(&loss);
    expect_status(fixture_post(loss.f, "steward", "/v1/jobs", domain_unprotected_job(dataset, 20)),
                  202);
    restore_copy(&loss);
    cr_assert_eq(datasets_find(loss.db, dataset, &row), DB_OK);
    cr_expect(row.uncovered);
    cr_assert_eq(datasets_find(loss.db, covered, &row), DB_OK);
    cr_expect_not(row.uncovered);
    expect_copy_verifies(&loss, &report);
    cr_expect_eq(report.uncovered, 1);
    close_loss(&loss);
}

/* ---- shares */

/* The account of the only share in DB. */
static struct ledger_account share_in(struct db *db)
{
    struct ledger_account share;
    char id[ID_SIZE];
    cr_assert_eq(
        db_one(db, "SELECT id FROM ledger_accounts WHERE kind = 'share'", NULL, 0, listing_id, id),
        DB_OK);
    cr_assert_eq(ledger_find(db, id, &share), DB_OK);
    return share;
}

/* Its payer has settled for what it spent. Its mark stays ahead, also after a kill and a start. */
Test(restored, a_share_that_ended_before_the_backup_spends_nothing_more)
{
    struct loss loss;
    struct verify_report report;
    struct mark mark;
    char name[MARKS_NAME_SIZE], teacher[80];
    open_marked(&loss);
    struct response *made = fixture_post(loss.f, "steward", "/v1/teachers",
                                         domain_teacher(domain_policy(loss.f), 1000, 900));
    expect_status(made, 201);
    snprintf(teacher, sizeof teacher, "/v1/teachers/%s", response_text(made, "/id"));
    expect_status(
        fixture_put(loss.f, "steward",
                    domain_path("%s/budgets/%s", teacher, fixture_client(loss.f, "student")),
                    "{\"epsilon\":900,\"delta\":1e-5,\"guaranteed\":{\"answers\":100}}"),
        201);
    int64_t limit = share_in(fixture_db(loss.f)).limit_units;
    expect_status(fixture_post(loss.f, "steward", domain_path("%s:close", teacher), ""), 200);
    lose_process(&loss);
    begin_marks(&loss);
    struct ledger_account share = share_in(fixture_db(loss.f));
    cr_expect_eq(share.limit_units, 0);
    ledger_mark_name(&share, name);
    cr_assert(marks_find(loss.marks, name, &mark));
    cr_expect_eq(mark.used.units, limit / MARKS_PARTS + 1);
    back_up(&loss);
    restore_copy(&loss);
    cr_expect_eq(share_in(loss.db).spent_units, 0);
    expect_copy_verifies(&loss, &report);
    close_loss(&loss);
}

/* ---- jobs */

struct backing {
    const struct loss *loss;
    const char *job;
    bool done;
};

/* Makes the backup once the job has stored some steps. */
static bool back_up_then(void *context)
{
    struct backing *backing = context;
    struct job_row job;
    fixture_advance(2000);
    cr_assert_eq(jobs_find(fixture_db(backing->loss->f), backing->job, &job), DB_OK);
    if (!backing->done && job.step > 0) {
        back_up(backing->loss);
        backing->done = true;
    }
    job_done(&job);
    return backing->done;
}

/* What it may have paid in the lost life is in another entry. */
static void expect_paid_nothing(const struct loss *loss, const char *id)
{
    const struct job_wait unknown = {0};
    struct job_row job;
    cr_assert_eq(jobs_find(loss->db, id, &job), DB_OK);
    json_t *json = job_json(loss->db, &job, &unknown, KEEP_BEGIN_MS);
    const char *why = json_string_value(json_object_get(json, "why"));
    cr_expect_str_eq(json_string_value(json_object_get(json, "state")), "cancelled");
    cr_expect(why && strstr(why, "The service was restored from a backup. What the job may have"),
              "%s", why);
    const json_t *amounts[] = {json_object_get(json, "paid"),
                               json_object_get(json_object_get(json, "privacy"), "spent")};
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(json_number_value(json_object_get(amounts[i], "epsilon")), 0);
        cr_expect_eq(json_number_value(json_object_get(amounts[i], "delta")), 0);
        cr_expect_eq(json_object_size(amounts[i]), 2);
    }
    json_decref(json);
    job_done(&job);
}

Test(restored, jobs_that_had_not_ended_say_what_they_paid)
{
    struct loss loss;
    struct verify_report report;
    open_marked(&loss);
    char ids[2][ID_SIZE];
    for (int i = 0; i < 2; i++) {
        struct response *made =
            fixture_post(loss.f, "steward", "/v1/jobs",
                         domain_private_job(domain_sealed(loss.f, "private", 6), 1, 2000));
        expect_status(made, 202);
        snprintf(ids[i], ID_SIZE, "%s", response_text(made, "/id"));
    }
    struct backing backing = {.loss = &loss, .job = ids[0]};
    (void)domain_turn(loss.f, "w", back_up_then, &backing);
    cr_assert(backing.done);
    restore_copy(&loss);
    for (int i = 0; i < 2; i++)
        expect_paid_nothing(&loss, ids[i]);
    expect_copy_verifies(&loss, &report);
    close_loss(&loss);
}
