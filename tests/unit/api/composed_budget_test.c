/* Datasets whose account adds Renyi divergences: what jobs and teachers cost it, how many more it
 * pays for than one that adds epsilons, and how an account that adds epsilons becomes one. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/privacy/answers/filter.h"
#include "algos/privacy/laws/renyi.h"
#include "api/teachers/teacher_payers.h"
#include "storage/ledger/ledger.h"
#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

TestSuite(composed_budget, .init = service_open, .fini = service_close);

#define RENYI ",\"accounting\":\"renyi\""

/* A sealed private dataset of cartpole with that BUDGET, text of members. */
static const char *dataset_with(const char *budget)
{
    const char *body =
        domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":{%s}}", budget);
    return domain_sealed_of(f, body, 10);
}

static struct ledger_account account_of(const char *dataset)
{
    struct ledger_account found;
    const char *id = response_text(domain_budget(f, dataset), "/account");
    cr_assert_eq(ledger_find(fixture_db(f), id, &found), DB_OK);
    return found;
}

/* How many jobs of EPSILON are accepted before the first that is refused, at most MOST. */
static unsigned jobs_accepted(const char *dataset, double epsilon, unsigned most)
{
    for (unsigned n = 0; n < most; n++) {
        struct response *made =
            fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, epsilon, 20));
        if (made->status != 202) {
            expect_problem(made, "budget-reserved");
            return n;
        }
    }
    return most;
}

/* ---- opening */

CHECKED_TEST(composed_budget, converts_its_limit_without_what_is_set_aside)
{
    struct ledger_account account = account_of(dataset_with("\"epsilon\":10,\"delta\":1e-5" RENYI));
    cr_expect_float_eq(account.renyi_order, filter_plan_order(10, 0.95e-5), 1e-9);
    cr_expect_eq(account.limit_delta, INT64_C(500000000000));
    double most = renyi_budget(account.renyi_order, 10, 1e-5 - 5e-7) * 1e9;
    cr_expect(account.limit_units <= most && account.limit_units > most - 1000);
    struct response *budget =
        domain_budget(f, dataset_with("\"epsilon\":2,\"delta\":1e-6,\"order\":12,"
                                      "\"delta_share\":0.5" RENYI));
    cr_expect_str_eq(response_text(budget, "/accounting"), "renyi");
    cr_expect_eq(response_number(budget, "/order"), 12);
    cr_expect_eq(response_number(budget, "/limit/epsilon"), 2);
    cr_expect_eq(response_number(budget, "/remaining/epsilon"), 2);
    cr_expect_float_eq(response_number(budget, "/remaining/delta"), 1e-6, 1e-18);
}

CHECKED_TEST(composed_budget, bad_terms_are_refused)
{
    static const char *const cases[][2] = {
        {"\"epsilon\":1,\"delta\":1e-5,\"order\":1" RENYI, "/budget/order"},
        {"\"epsilon\":1,\"delta\":1e-5,\"order\":-2" RENYI, "/budget/order"},
        {"\"epsilon\":1,\"delta\":1e-5,\"order\":\"2\"" RENYI, "/budget/order"},
        {"\"epsilon\":1,\"delta\":1e-5,\"order\":2", "/budget/order"},
        {"\"epsilon\":1,\"delta\":1e-5,\"delta_share\":0.5", "/budget/delta_share"},
        {"\"epsilon\":1,\"delta\":1e-5,\"delta_share\":0.95" RENYI, "/budget/delta_share"},
        {"\"epsilon\":1,\"delta\":1" RENYI, "/budget/delta"},
        {"\"epsilon\":0.1,\"delta\":1e-9,\"order\":2" RENYI, "/budget"},
        {"\"epsilon\":1,\"delta\":1e-5,\"accounting\":\"zcdp\"", "/budget/accounting"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *body = domain_path("{\"name\":\"d\",\"environment\":\"cartpole\","
                                       "\"budget\":{%s}}",
                                       cases[i][0]);
        expect_invalid(fixture_post(f, "steward", "/v1/datasets", body), cases[i][1]);
    }
}

/* ---- jobs */

CHECKED_TEST(composed_budget, pays_for_several_times_as_many_jobs)
{
    const char *adding = dataset_with("\"epsilon\":5,\"delta\":1e-5"),
               *composing = dataset_with("\"epsilon\":5,\"delta\":1e-5" RENYI);
    cr_expect_eq(jobs_accepted(adding, 0.5, 60), 10u);
    cr_expect_eq(jobs_accepted(composing, 0.5, 1), 1u);
    double told = response_number(domain_budget(f, composing), "/buys/jobs_like_the_last");
    unsigned accepted = 1 + jobs_accepted(composing, 0.5, 100);
    cr_expect_eq(told, accepted - 1, "the budget says how many more it pays for");
    struct ledger_account account = account_of(composing);
    cr_expect(accepted >= 40 && accepted < 100, "%u", accepted);
    cr_expect_eq(account.held_units / accepted * accepted, account.held_units,
                 "equal jobs have equal prices");
    cr_expect_gt(account.held_units / accepted, account.limit_units - account.held_units);
}

CHECKED_TEST(composed_budget, a_job_pays_the_divergence_of_its_event)
{
    const char *dataset = dataset_with("\"epsilon\":5,\"delta\":1e-5" RENYI);
    struct ledger_account before = account_of(dataset);
    const char *body = domain_private_job(dataset, 1, 20);
    struct response *plan = fixture_post(f, "steward", "/v1/jobs:estimate", body);
    double rate = response_number(plan, "/plan/sampling_rate"),
           noise = response_number(plan, "/plan/noise_multiplier");
    struct response *job = domain_run(f, body);
    struct ledger_account after = account_of(dataset);
    double steps = 20 * renyi_subsampled_gaussian(rate, noise, before.renyi_order);
    cr_expect_eq(after.held_units, 0);
    cr_expect(after.spent_units >= steps * 1e9, "rounded up, and the draws' rounding beside it");
    cr_expect_float_eq((double)after.spent_units, steps * 1e9, 1e-4 * steps * 1e9);
    cr_expect(after.spent_delta > 0 && after.spent_delta <= INT64_C(1001000000),
              "the thousandth of the job's delta that exact noise needs");
    cr_expect_float_eq(response_number(job, "/privacy/spent/epsilon"), 1, 0.01,
                       "what the job alone costs is shown as ever");
    double spent = filter_epsilon(before.renyi_order, after.spent_units, 1e-5 - 5e-7);
    cr_expect_float_eq(response_number(domain_budget(f, dataset), "/spent/epsilon"), spent, 1e-9);
}

/* In float no delta is lost to rounding: the price has a divergence and no delta at all. */
CHECKED_TEST(composed_budget, a_job_without_a_delta_of_its_own_spends_none)
{
    const char *dataset = dataset_with("\"epsilon\":5,\"delta\":1e-5" RENYI);
    struct response *job = domain_run(
        f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":1,"
                       "\"delta\":1e-6,\"force\":true},\"parameters\":{\"hidden\":[4],"
                       "\"batch_size\":2,\"steps\":20,\"arithmetic\":\"float\"}}",
                       dataset));
    cr_expect_str_eq(response_text(job, "/state"), "succeeded");
    struct ledger_account after = account_of(dataset);
    cr_expect(after.spent_units > 0 && after.spent_delta == 0);
}

CHECKED_TEST(composed_budget, a_cancelled_job_pays_for_its_steps)
{
    const char *dataset = dataset_with("\"epsilon\":10,\"delta\":1e-5" RENYI);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 6, 100000));
    expect_status(made, 202);
    struct ledger_account held = account_of(dataset);
    struct domain_meddler meddler = {
        .f = f,
        .advance_ms = 2000,
        .act_at = 4,
        .cancel = domain_path("/v1/jobs/%s:cancel", response_text(made, "/id"))};
    cr_assert_eq(domain_turn(f, "w", domain_meddle, &meddler), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "cancelled");
    struct ledger_account after = account_of(dataset);
    double share = response_number(job, "/progress/step") / 100000;
    cr_expect(share > 0 && share < 1);
    cr_expect_float_eq((double)after.spent_units, share * (double)held.held_units,
                       1e-3 * (double)held.held_units);
    cr_expect_eq(after.held_units, 0);
}

CHECKED_TEST(composed_budget, a_job_that_never_ran_gives_all_back)
{
    const char *dataset = dataset_with("\"epsilon\":10,\"delta\":1e-5" RENYI);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 6, 20));
    expect_status(made, 202);
    expect_status(fixture_post(f, "steward",
                               domain_path("/v1/jobs/%s:cancel", response_text(made, "/id")), NULL),
                  200);
    struct ledger_account after = account_of(dataset);
    cr_expect(after.spent_units == 0 && after.spent_delta == 0 && after.held_units == 0);
}

CHECKED_TEST(composed_budget, an_estimate_knows_what_it_can_pay)
{
    const char *dataset = dataset_with("\"epsilon\":2,\"delta\":1e-5" RENYI);
    struct response *small =
        fixture_post(f, "steward", "/v1/jobs:estimate", domain_private_job(dataset, 1, 20));
    cr_expect(json_is_true(response_at(small, "/feasible")), "%s", small->body);
    struct response *large =
        fixture_post(f, "steward", "/v1/jobs:estimate", domain_private_job(dataset, 3, 20));
    cr_expect(json_is_false(response_at(large, "/feasible")), "%s", large->body);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 3, 20)),
                   "budget-exhausted");
    cr_expect_eq(account_of(dataset).held_units, 0);
}

/* ---- teachers of shards */

static struct response *shards_job(const char *dataset)
{
    return domain_run(
        f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":50,\"parameters\":"
                       "{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                       dataset));
}

static const char *shards_teacher(const struct response *job)
{
    return domain_path(
        "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":"
        "0.1},\"adjacency\":{\"unit\":\"expert\"},\"budget\":{\"epsilon\":6,\"delta\":"
        "1e-6},\"client_budget\":{\"epsilon\":4,\"delta\":1e-6}}",
        response_text(job, "/policy"));
}

static struct response *try_teacher(const char *dataset)
{
    return fixture_post(f, "steward", "/v1/teachers", shards_teacher(shards_job(dataset)));
}

static struct response *teacher_of(const char *dataset)
{
    struct response *teacher = try_teacher(dataset);
    expect_status(teacher, 201);
    return teacher;
}

static struct response *ask(const struct response *teacher)
{
    return fixture_post(f, "student",
                        domain_path("/v1/teachers/%s/queries", response_text(teacher, "/id")),
                        "{\"state\":[0.01,-0.02,0.03,0.04]}");
}

/* The price of one answer of that teacher at ORDER. */
static double answer_units(double order)
{
    double change = sqrt(2) / 50 + sqrt(2) * 0x1p-20;
    return 1e9 * order * pow(change / 0.1, 2) / 2;
}

CHECKED_TEST(composed_budget, every_payer_counts_at_its_own_order)
{
    const char *dataset = dataset_with("\"epsilon\":10,\"delta\":1e-5" RENYI);
    struct response *teacher = teacher_of(dataset);
    struct ledger_account data = account_of(dataset), cap, client;
    expect_status(ask(teacher), 200);
    expect_status(ask(teacher), 200);
    cr_assert_eq(ledger_find(fixture_db(f), response_text(teacher, "/account"), &cap), DB_OK);
    cr_assert_eq(ledger_find_for(fixture_db(f), LEDGER_CLIENT, response_text(teacher, "/id"),
                                 fixture_client(f, "student"), &client),
                 DB_OK);
    cr_expect(cap.renyi_order < client.renyi_order, "a larger epsilon has a smaller best order");
    cr_expect_float_eq((double)cap.spent_units, 2 * answer_units(cap.renyi_order), 4);
    cr_expect_float_eq((double)client.spent_units, 2 * answer_units(client.renyi_order), 4);
    cr_expect_float_eq((double)account_of(dataset).spent_units, 2 * answer_units(data.renyi_order),
                       4, "its first answer costs the dataset no more than the second");
    cr_expect_eq(account_of(dataset).spent_delta, 0);
    cr_expect_eq(response_number(teacher, "/dataset_cost/order"), data.renyi_order);
}

/* It is refused in epsilon, not in the divergences that the account counts. */
CHECKED_TEST(composed_budget, a_refusal_of_a_teacher_speaks_of_epsilon)
{
    const char *dataset = dataset_with("\"epsilon\":0.01,\"delta\":1e-5" RENYI);
    struct ledger_account data = account_of(dataset);
    double price = answer_units(data.renyi_order);
    double cost = filter_epsilon(data.renyi_order, (int64_t)price, 1e-5 - 5e-7);
    struct response *refused = try_teacher(dataset);
    expect_invalid(refused, "/budget");
    const char *detail = response_text(refused, "/errors/0/detail");
    cr_expect_not_null(strstr(detail, "which has epsilon 0.01 and delta 1e-05 left"), "%s", detail);
    cr_expect_not_null(strstr(detail, domain_path("first answer would cost it epsilon %.4g", cost)),
                       "%s", detail);
}

/* A dataset whose order has no finite price for an answer refuses one state and two alike. */
CHECKED_TEST(composed_budget, a_dataset_without_a_price_cannot_pay)
{
    struct teacher teacher = {
        .mechanism = &teacher_dirichlet, .actions = 2, .dirichlet = {2, 20, 0.1, 0.01}};
    struct teacher_row row = {.concentration = 20};
    const double order[TEACHER_PAYERS] = {5, 4, 1e9};
    struct teacher_prices one, two;
    cr_assert(teacher_prices_at(&teacher, &row, order, 20, 1, &one));
    cr_assert(teacher_prices_at(&teacher, &row, order, 20, 2, &two));
    cr_expect_eq(one.of[PAYER_DATASET].units, LEDGER_UNITS_MAX);
    cr_expect_eq(two.of[PAYER_DATASET].units, LEDGER_UNITS_MAX);
    cr_expect_eq(two.of[PAYER_CLIENT].units, 2 * one.of[PAYER_CLIENT].units);
}

/* ---- from adding to composing */

static struct response *compose(const char *dataset, const char *body)
{
    return fixture_post(f, "steward", domain_path("/v1/datasets/%s:compose", dataset), body);
}

CHECKED_TEST(composed_budget, what_is_left_is_composed_and_nothing_is_given_back)
{
    const char *dataset = dataset_with("\"epsilon\":10,\"delta\":1e-5");
    domain_run(f, domain_private_job(dataset, 2, 20));
    struct ledger_account before = account_of(dataset), old;
    struct response *budget = compose(dataset, "{}");
    expect_status(budget, 200);
    struct ledger_account new = account_of(dataset);
    cr_assert_eq(ledger_find(fixture_db(f), before.id, &old), DB_OK);
    cr_expect_str_neq(new.id, old.id);
    cr_expect_str_eq(response_text(budget, "/account"), new.id);
    cr_expect_eq(old.spent_units, old.limit_units);
    cr_expect_eq(old.spent_delta, old.limit_delta);
    cr_expect_float_eq(new.epsilon, (double)(before.limit_units - before.spent_units) * 1e-9, 1e-9);
    cr_expect_float_eq(new.delta, 1e-5 - 1e-6, 1e-18);
    cr_expect_gt(jobs_accepted(dataset, 1, 20), 15u);
    cr_expect(json_is_integer(response_at(domain_budget(f, dataset), "/buys/jobs_like_the_last")),
              "a budget that was converted knows the last job");
    expect_problem(compose(dataset, "{}"), "conflict");
}

CHECKED_TEST(composed_budget, is_not_composed_while_jobs_hold_it_or_when_it_is_spent)
{
    const char *dataset = dataset_with("\"epsilon\":2,\"delta\":1e-5");
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1, 20));
    expect_status(made, 202);
    expect_problem(compose(dataset, "{}"), "budget-reserved");
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    expect_invalid(compose(dataset, "{\"order\":1}"), "/order");
    expect_invalid(compose(dataset, "{\"delta_share\":1}"), "/delta_share");
    expect_invalid(compose(dataset, "{\"epsilon\":1}"), "/epsilon");
    cr_expect_eq(account_of(dataset).renyi_order, 0, "a refusal changes nothing");
    cr_assert_eq(db_run(fixture_db(f), "UPDATE ledger_accounts SET limit_units = spent_units", NULL,
                        0, NULL, NULL),
                 DB_OK);
    expect_problem(compose(dataset, "{}"), "budget-exhausted");
    cr_assert_eq(db_run(fixture_db(f), "UPDATE ledger_accounts SET limit_units = 2000000000", NULL,
                        0, NULL, NULL),
                 DB_OK);
    expect_problem(
        fixture_post(f, "student", domain_path("/v1/datasets/%s:compose", dataset), "{}"),
        "forbidden");
}

CHECKED_TEST(composed_budget, teachers_go_on_and_the_new_account_pays)
{
    const char *dataset = dataset_with("\"epsilon\":20,\"delta\":1e-5");
    struct response *teacher = teacher_of(dataset);
    expect_status(ask(teacher), 200);
    struct ledger_account before = account_of(dataset), old;
    expect_status(compose(dataset, "{}"), 200);
    struct ledger_account new = account_of(dataset);
    expect_status(ask(teacher), 200);
    cr_assert_eq(ledger_find(fixture_db(f), before.id, &old), DB_OK);
    cr_expect_eq(old.entries, before.entries + 1, "only the conversion");
    cr_expect_float_eq((double)account_of(dataset).spent_units, answer_units(new.renyi_order), 2);
}

/* ---- a conversion while something is planned */

/* SQLite's driver, with a conversion of the dataset right after a plan has run LAST_READ. */
static struct db_driver composing;
static const char *last_read; /* NULL: no conversion any more */
static const char *planned;

static enum db_status run_composing(void *connection, const char *sql,
                                    const struct db_value *values, unsigned count, db_row_fn *each,
                                    void *context, struct db_fault *fault)
{
    enum db_status status =
        db_driver_sqlite.run(connection, sql, values, count, each, context, fault);
    if (last_read && strstr(sql, last_read) && !db_in_transaction(fixture_db(f))) {
        last_read = NULL;
        expect_status(compose(planned, "{}"), 200);
    }
    return status;
}

static void open_composing(void)
{
    fixture_close(f);
    composing = db_driver_sqlite;
    composing.run = run_composing;
    f = fixture_open_on(&composing);
}

static void expect_asks_again(const struct response *refused)
{
    cr_assert_null(last_read);
    expect_problem(refused, "conflict");
    cr_expect_not_null(strstr(response_text(refused, "/detail"), "ask again"), "%s", refused->body);
}

CHECKED_TEST(composed_budget, a_job_that_was_planned_before_is_asked_for_again)
{
    open_composing();
    planned = dataset_with("\"epsilon\":10,\"delta\":1e-5");
    const char *body = domain_private_job(planned, 2, 20);
    last_read = "FROM datasets WHERE id";
    expect_asks_again(fixture_post(f, "steward", "/v1/jobs", body));
    expect_status(fixture_post(f, "steward", "/v1/jobs", body), 202);
    cr_expect_gt(account_of(planned).held_units, 0);
}

CHECKED_TEST(composed_budget, a_teacher_that_was_planned_before_is_asked_for_again)
{
    open_composing();
    planned = dataset_with("\"epsilon\":20,\"delta\":1e-5");
    const char *body = shards_teacher(shards_job(planned));
    last_read = "FROM ledger_accounts";
    expect_asks_again(fixture_post(f, "steward", "/v1/teachers", body));
    struct response *teacher = fixture_post(f, "steward", "/v1/teachers", body);
    expect_status(teacher, 201);
    cr_expect_str_eq(response_text(teacher, "/dataset_account"), account_of(planned).id);
}

/* ---- what is said of it */

static struct response *dataset_shown(const char *dataset)
{
    return fixture_get(f, "steward", domain_path("/v1/datasets/%s", dataset));
}

CHECKED_TEST(composed_budget, the_limit_and_what_was_released_are_stated)
{
    const char *dataset = dataset_with("\"epsilon\":10,\"delta\":1e-5" RENYI);
    cr_expect_eq(response_number(dataset_shown(dataset), "/exposure/released/epsilon"), 0);
    struct response *job = domain_run(f, domain_private_job(dataset, 1, 20));
    struct response *shown = dataset_shown(dataset);
    cr_expect_eq(response_number(shown, "/exposure/limit/epsilon"), 10);
    cr_expect_eq(response_number(shown, "/exposure/limit/delta"), 1e-5);
    double one = response_number(job, "/privacy/spent/epsilon");
    cr_expect_float_eq(response_number(shown, "/exposure/released/epsilon"), one, 1e-8,
                       "one job is not said to cost more than itself");
    cr_expect_float_eq(response_number(shown, "/exposure/released/delta"), 1e-6, 1e-15);
    struct response *certificate = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    cr_expect_float_eq(response_number(certificate, "/ledger/exposure/released/epsilon"), one,
                       1e-8);
    cr_expect_eq(response_number(certificate, "/ledger/exposure/limit/epsilon"), 10);
    for (int i = 0; i < 20; i++)
        domain_run(f, domain_private_job(dataset, 1, 20));
    shown = dataset_shown(dataset);
    double budget = response_number(domain_budget(f, dataset), "/spent/epsilon");
    cr_expect(budget < 10 && budget < 21 * one, "%g", budget);
    cr_expect_eq(response_number(shown, "/exposure/released/epsilon"), budget,
                 "many jobs cost less than their sum");
}

CHECKED_TEST(composed_budget, a_continued_account_states_the_whole)
{
    const char *dataset = dataset_with("\"epsilon\":10,\"delta\":1e-5");
    struct response *first = domain_run(f, domain_private_job(dataset, 2, 20));
    double one = response_number(first, "/privacy/spent/epsilon");
    expect_status(compose(dataset, "{}"), 200);
    struct response *shown = dataset_shown(dataset);
    cr_expect_eq(response_number(shown, "/exposure/limit/epsilon"), 10);
    cr_expect_float_eq(response_number(shown, "/exposure/released/epsilon"), one, 1e-8);
    cr_expect_float_eq(response_number(shown, "/exposure/released/delta"), 1e-6, 1e-15);
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1, 20)), 202);
    shown = dataset_shown(dataset);
    cr_expect_float_eq(response_number(shown, "/exposure/released/epsilon"), one + 1, 0.01,
                       "what is held counts");
    cr_expect(response_at(fixture_get(f, "contributor", domain_path("/v1/datasets/%s", dataset)),
                          "/exposure") == NULL);
}
