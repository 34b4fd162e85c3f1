/* What a webhook's target was not told yet. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "storage/budget_requests.h"
#include "storage/endings.h"
#include "storage/jobs.h"
#include "storage/teachers.h"
#include "storage/webhooks.h"
#include "tests/unit/storage/store.h"

static char seen[400]; /* "job_a succeeded,...": ids of events, and states */

static bool see_event(void *context, const struct webhook_event *event)
{
    size_t size = strlen(seen);
    (void)context;
    snprintf(seen + size, sizeof seen - size, "%s%s%s,", event->id, event->state[0] ? " " : "",
             event->state);
    return true;
}

static const char *untold(const char *target, const char *project, int64_t since_ms)
{
    seen[0] = '\0';
    cr_assert_eq(webhooks_untold(f.db, target, project, since_ms, see_event, NULL), DB_OK, "%s",
                 db_last_error(f.db));
    return seen;
}

static bool see_one(void *context, const struct webhook_event *event)
{
    (void)see_event(context, event);
    return false;
}

TestSuite(webhooks, .init = store_open, .fini = store_close);

static void end_job(const char *id, const char *owner, enum job_state state, int64_t now_ms)
{
    struct job_row job = {.algorithm = "cql", .request = (char[]){"{}"}, .plan = (char[]){""}};
    struct job_row claimed;
    bool ours = false;
    snprintf(job.id, sizeof job.id, "%s", id);
    snprintf(job.owner, sizeof job.owner, "%s", owner);
    cr_assert_eq(jobs_submit(f.db, &job), DB_OK, "%s", db_last_error(f.db));
    cr_assert_eq(jobs_claim(f.db, "w", "", now_ms, 1000, &claimed), DB_OK);
    job_done(&claimed);
    struct job_end end = {.id = id, .worker = "w", .state = state, .now_ms = now_ms};
    if (state == JOB_FAILED)
        end.problem_slug = "internal-error", end.problem_detail = "A detail.";
    cr_assert_eq(jobs_finish(f.db, &end, &ours), DB_OK, "%s", db_last_error(f.db));
    cr_assert(ours);
}

Test(webhooks, tell_jobs_that_have_ended_once_to_each_target)
{
    struct job_row waiting = {.id = "job_w",
                              .owner = "prj_1",
                              .algorithm = "cql",
                              .request = (char[]){"{}"},
                              .plan = (char[]){""}};
    end_job("job_b", "prj_1", JOB_FAILED, 2000);
    end_job("job_a", "prj_1", JOB_SUCCEEDED, 1000);
    end_job("job_c", "prj_2", JOB_CANCELLED, 3000);
    cr_assert_eq(jobs_submit(f.db, &waiting), DB_OK);
    cr_expect_str_eq(untold("t", NULL, 0), "job_a succeeded,job_b failed,job_c cancelled,");
    cr_expect_str_eq(untold("t", "prj_1", 0), "job_a succeeded,job_b failed,");
    cr_expect_str_eq(untold("t", NULL, 1000), "job_b failed,job_c cancelled,");
    seen[0] = '\0';
    cr_assert_eq(webhooks_untold(f.db, "t", NULL, 0, see_one, NULL), DB_OK);
    cr_expect_str_eq(seen, "job_a succeeded,");
    cr_assert_eq(webhooks_told(f.db, "t", "job_b", 4000), DB_OK);
    cr_assert_eq(webhooks_told(f.db, "t", "job_b", 5000), DB_OK);
    cr_expect_str_eq(untold("t", NULL, 0), "job_a succeeded,job_c cancelled,");
    cr_expect_str_eq(untold("u", "prj_1", 0), "job_a succeeded,job_b failed,");
    fixture_reopen(&f);
    cr_expect_str_eq(untold("t", NULL, 0), "job_a succeeded,job_c cancelled,");
}

Test(webhooks, tell_once_for_each_limit_that_a_budget_is_low)
{
    char first[WEBHOOK_EVENT_SIZE + 1], both[2 * WEBHOOK_EVENT_SIZE];
    struct ledger_account a = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 1000, 0);
    struct ledger_account b = fixture_account(f.db, LEDGER_TEACHER, "tch_b", NULL, 1000, 0);
    struct ledger_account agent = fixture_account(f.db, LEDGER_CLIENT, "agg_x", "cli_x", 10, 0);
    cr_assert_eq(fixture_debit(f.db, agent.id, 10, 0, NULL), DB_OK);
    cr_assert_eq(fixture_debit(f.db, a.id, 900, 0, NULL), DB_OK);
    cr_expect_str_eq(untold("t", NULL, -1), "");
    cr_assert_eq(fixture_debit(f.db, a.id, 1, 0, NULL), DB_OK);
    cr_assert_eq(fixture_hold(f.db, "job_x", b.id, 901, NULL), DB_OK);
    snprintf(first, sizeof first, "%s-1,", a.id);
    cr_expect_not_null(strstr(untold("t", NULL, -1), first), "%s", seen);
    snprintf(both, sizeof both, "%s-1,", b.id);
    cr_expect_not_null(strstr(seen, both), "%s", seen);
    cr_expect_eq(strlen(seen), strlen(first) + strlen(both));
    first[strlen(first) - 1] = '\0';
    cr_assert_eq(webhooks_told(f.db, "t", first, 1), DB_OK);
    cr_assert_eq(fixture_debit(f.db, a.id, 1, 0, NULL), DB_OK);
    cr_expect_str_eq(untold("t", NULL, -1), both);
    cr_expect_str_eq(untold("t", "prj_other", -1), "");
}

static enum db_status close_teacher(struct db *db, void *context)
{
    return endings_close(db, context);
}

/* A budget is low by its delta, too. It is not by being closed, or by what another one took over.
 */
Test(webhooks, tell_only_of_budgets_that_run_out)
{
    char told[WEBHOOK_EVENT_SIZE + 1];
    struct ending ending = {.resource = "tch_b", .client = "cli_owner", .closed_ms = 1};
    struct ledger_account a = fixture_account(f.db, LEDGER_DATASET, "ds_a", NULL, 1000, 1000);
    struct ledger_account b = fixture_account(f.db, LEDGER_TEACHER, "tch_b", NULL, 1000, 0);
    struct ledger_account c = fixture_account(f.db, LEDGER_DATASET, "ds_c", NULL, 1000, 1000);
    (void)fixture_account(f.db, LEDGER_DATASET, c.id, NULL, 1000, 1000);
    cr_assert_eq(fixture_debit(f.db, b.id, 1000, 0, NULL), DB_OK);
    cr_assert_eq(fixture_debit(f.db, c.id, 1000, 1000, NULL), DB_OK);
    cr_assert_eq(db_transact(f.db, close_teacher, &ending), DB_OK, "%s", db_last_error(f.db));
    cr_expect_str_eq(untold("t", NULL, -1), "");
    cr_assert_eq(fixture_debit(f.db, a.id, 500, 901, NULL), DB_OK);
    snprintf(told, sizeof told, "%s-1,", a.id);
    cr_expect_str_eq(untold("t", NULL, -1), told);
}

Test(webhooks, tell_requests_for_more_until_they_are_decided)
{
    struct budget_request_row request = {
        .id = "brq_a", .client = "cli_x", .teacher = "tch_a", .epsilon = 1, .created_ms = 9};
    struct ledger_account account = fixture_account(f.db, LEDGER_TEACHER, "tch_a", NULL, 1000, 0);
    struct teacher_row teacher = {.id = "tch_a",
                                  .policy = "pol_a",
                                  .mechanism = "dirichlet",
                                  .adjacency = "observation",
                                  .renyi_order = 2};
    memcpy(teacher.account, account.id, ID_SIZE);
    snprintf(request.owner, sizeof request.owner, "prj_1");
    snprintf(request.reason, sizeof request.reason, "a reason that no webhook tells");
    cr_assert_eq(fixture_sql(f.db,
                             "INSERT INTO policies (id, owner, name, environment, dataset, job,"
                             " mechanism, released, state_dim, action_count, certificate,"
                             " created_ms, bytes) VALUES ('pol_a', 'prj_1', 'p', 'cartpole',"
                             " '', '', 'none', 1, 4, 2, '', 1, x'')"),
                 DB_OK, "%s", db_last_error(f.db));
    cr_assert_eq(teachers_insert(f.db, &teacher, ""), DB_OK, "%s", db_last_error(f.db));
    cr_assert_eq(budget_requests_insert(f.db, &request), DB_OK, "%s", db_last_error(f.db));
    cr_expect_str_eq(untold("t", "prj_1", 8), "brq_a,");
    cr_expect_str_eq(untold("t", "prj_1", 9), "");
    request.state = BUDGET_REQUEST_DECLINED;
    request.decided_ms = 10;
    cr_assert_eq(budget_requests_decide(f.db, &request), DB_OK, "%s", db_last_error(f.db));
    cr_expect_str_eq(untold("t", "prj_1", 8), "");
}
