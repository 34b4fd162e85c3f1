/* Jobs with shards and teachers of adjacency "expert": what they refuse, that nothing of the
 * shards' policies leaves, that three accounts pay together or none, and that what was learned goes
 * with its dataset. */
#include <criterion/criterion.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/release/ensemble.h"
#include "api/call/app.h"
#include "api/call/sealed.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger.h"
#include "storage/policies.h"
#include "tests/unit/api/service.h"

#define STATE "{\"state\":[0.01,-0.02,0.03,0.04]}"

TestSuite(expert_teacher, .init = service_open, .fini = service_close);

static const char *job_body(const char *dataset, const char *algorithm, unsigned shards,
                            const char *more)
{
    return domain_path("{\"algorithm\":\"%s\",\"dataset\":\"%s\",\"shards\":%u,\"parameters\":"
                       "{\"hidden\":[4],\"batch_size\":2,\"steps\":20}%s}",
                       algorithm, dataset, shards, more);
}

static const char *ensemble_of(const char *dataset, unsigned shards)
{
    struct response *job = domain_run(f, job_body(dataset, "cql", shards, ""));
    cr_assert_eq(response_number(job, "/shards"), shards);
    return response_text(job, "/policy");
}

#define GAUSSIAN "\"name\":\"gaussian_simplex\",\"sigma\":0.1"
#define EXPERT   "\"unit\":\"expert\""
#define BUDGETS                                                                                    \
    ",\"budget\":{\"epsilon\":6,\"delta\":1e-6},\"client_budget\":{\"epsilon\":4,\"delta\":1e-6}"

static const char *teacher_body(const char *policy, const char *mechanism, const char *adjacency,
                                const char *rest)
{
    return domain_path("{\"policy\":\"%s\",\"mechanism\":{%s},\"adjacency\":{%s}%s}", policy,
                       mechanism, adjacency, rest);
}

static const char *queries(struct response *teacher)
{
    return domain_path("/v1/teachers/%s/queries", response_text(teacher, "/id"));
}

static struct ledger_account account(const char *id)
{
    struct ledger_account found;
    cr_assert_eq(ledger_find(fixture_db(f), id, &found), DB_OK);
    return found;
}

static struct ledger_account dataset_account(const char *dataset)
{
    struct response *budget =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", dataset));
    return account(response_text(budget, "/account"));
}

/* ---- jobs */

Test(expert_teacher, jobs_refuse_what_would_tell_of_the_data)
{
    static const char *const cases[][3] = {
        {"cql", ",\"evaluate\":{\"environment\":\"cartpole\"}", "/evaluate"},
        {"cql", ",\"judge\":{\"dataset\":\"ds_x\"}", "/judge"},
        {"cql", ",\"sweep\":{\"learning_rate\":[0.1,0.2]}", "/sweep"},
        {"cql", ",\"mechanism\":\"dpsgd\",\"privacy\":{\"epsilon\":1,\"delta\":1e-5}",
         "/mechanism"},
        {"cql", ",\"privacy\":{\"epsilon\":1,\"delta\":1e-5}", "/privacy"},
        {"gp_q_learning", ",\"privacy\":{\"epsilon\":1,\"delta\":1e-5}", "/mechanism"},
        {"ppo", ",\"environment\":\"cartpole\"", "/shards"},
        {"audit", "", "/shards"},
    };
    const char *dataset = domain_sealed(f, "private", 6);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *body = job_body(dataset, cases[i][0], 5, cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), cases[i][2]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", body), cases[i][2]);
    }
    static const char *const numbers[] = {"1", "0", "-3", "2.5", "100001", "\"5\""};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                    domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\","
                                                "\"shards\":%s}",
                                                dataset, numbers[i])),
                       "/shards");
    }
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs",
                     domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":1000,"
                                 "\"parameters\":{\"hidden\":[256,256]}}",
                                 dataset)),
        "/shards");
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
}

/* The bytes of the policy as they lie in the database. */
static unsigned char *stored(const char *policy, size_t *out_size)
{
    void *bytes = NULL;
    cr_assert_eq(policies_bytes(fixture_db(f), policy, &bytes, out_size), DB_OK);
    return bytes;
}

static bool holds_text(const unsigned char *bytes, size_t size, const char *text)
{
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

Test(expert_teacher, nothing_of_the_shards_leaves_by_any_door)
{
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    const char *datasets[] = {domain_sealed(f, "private", 12), domain_sealed(f, "public", 6)};
    for (size_t i = 0; i < 6; i++) {
        const char *dataset = datasets[i % 2];
        struct response *job = domain_run(f, job_body(dataset, algorithms[i / 2], 9, ""));
        const char *policy = response_text(job, "/policy");
        cr_assert_eq(strncmp(policy, "pol_", 4), 0, "%s", job->body);
        cr_expect(json_is_null(response_at(job, "/evaluation")));
        cr_expect_str_eq(response_text(job, "/mechanism"), "none");
        struct response *shown = fixture_get(f, "steward", domain_path("/v1/policies/%s", policy));
        cr_expect(json_is_false(response_at(shown, "/released")));
        cr_expect_eq(response_number(shown, "/shards"), 9);
        expect_problem(fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy)),
                       "not-released");
        expect_problem(fixture_post(f, "steward", domain_path("/v1/policies/%s/actions", policy),
                                    "{\"states\":[[0,0,0,0]]}"),
                       "not-released");
        expect_problem(
            fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", policy)),
            "not-found");
        size_t size = 0, length = 0;
        unsigned char *bytes = stored(policy, &size);
        cr_expect_not(holds_text(bytes, size, "TCEN"));
        unsigned char *secret = sealed_open(fixture_app(f), dataset, policy, bytes, size, &length);
        struct ensemble *ensemble = ensemble_from_bytes(secret, length);
        cr_assert_not_null(ensemble);
        cr_expect_eq(ensemble->count, 9u);
        cr_expect_null(sealed_open(fixture_app(f), dataset, "pol_other", bytes, size, &length));
        ensemble_free(ensemble);
        sodium_free(secret);
        free(bytes);
        /* Where nothing accounts for the data it does not teach. */
        expect_invalid(
            fixture_post(f, "steward", "/v1/teachers",
                         teacher_body(policy, GAUSSIAN, "\"unit\":\"observation\",\"radius\":0.01",
                                      BUDGETS)),
            "/adjacency/unit");
        cr_expect_eq(dataset_account(dataset).spent_units, 0);
    }
}

/* ---- workers */

struct patience {
    int left;
    const char *job;
    bool plain; /* a checkpoint held what should be sealed */
    int seen;
};

static bool later(void *context)
{
    struct patience *patience = context;
    int64_t step;
    void *bytes = NULL;
    size_t size = 0;
    if (jobs_load_checkpoint(fixture_db(f), patience->job, &step, &bytes, &size) == DB_OK) {
        patience->seen++;
        patience->plain = patience->plain || holds_text(bytes, size, "TSSH");
        free(bytes);
    }
    return --patience->left <= 0;
}

static struct ensemble *opened(const char *dataset, const char *policy)
{
    size_t size = 0, length = 0;
    unsigned char *bytes = stored(policy, &size);
    unsigned char *secret = sealed_open(fixture_app(f), dataset, policy, bytes, size, &length);
    struct ensemble *ensemble = ensemble_from_bytes(secret, length);
    cr_assert_not_null(ensemble);
    sodium_free(secret);
    free(bytes);
    return ensemble;
}

/* Stopped again and again it ends in one ensemble, and its checkpoints are ciphertext. */
Test(expert_teacher, a_worker_may_be_stopped_anywhere)
{
    const char *dataset = domain_sealed(f, "private", 12);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", job_body(dataset, "cql", 60, ""));
    expect_status(made, 202);
    struct patience patience = {.job = response_text(made, "/id")};
    enum api_job_turn turn = API_JOB_PAUSED;
    int turns = 0;
    for (int next = 3; turn == API_JOB_PAUSED && turns < 400; turns++, next += 2) {
        patience.left = next;
        turn = domain_turn(f, "w", later, &patience);
        fixture_advance(40000);
    }
    cr_assert_eq(turn, API_JOB_RAN);
    cr_expect_gt(turns, 2);
    cr_expect_gt(patience.seen, 0);
    cr_expect_not(patience.plain);
    struct response *job = fixture_get(f, "steward", domain_path("/v1/jobs/%s", patience.job));
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    struct response *list = fixture_get(f, "steward", "/v1/policies");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 1);
    struct ensemble *ensemble = opened(dataset, response_text(job, "/policy"));
    unsigned there = 0;
    for (uint32_t i = 0; i < ensemble->count; i++)
        there += ensemble->members[i * (2 + mlp_parameter_count(&ensemble->shape))] > 0;
    cr_expect(there > 0 && there <= 12, "12 experts lie in %u shards", there);
    ensemble_free(ensemble);
}

static bool cancels(void *context)
{
    const char *job = context;
    fixture_advance(2000); /* a heartbeat is due */
    fixture_post(f, "steward", domain_path("/v1/jobs/%s:cancel", job), NULL);
    return false;
}

Test(expert_teacher, a_cancelled_job_leaves_nothing_and_costs_nothing)
{
    const char *dataset = domain_sealed(f, "private", 12);
    struct response *made =
        fixture_post(f, "steward", "/v1/jobs", job_body(dataset, "cql", 200, ""));
    expect_status(made, 202);
    const char *id = response_text(made, "/id");
    char job[64];
    snprintf(job, sizeof job, "%s", id);
    cr_assert_eq(domain_turn(f, "w", cancels, job), API_JOB_RAN);
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/jobs/%s", id));
    cr_expect_str_eq(response_text(seen, "/state"), "cancelled", "%s", seen->body);
    cr_expect(json_is_null(response_at(seen, "/policy")));
    cr_expect_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/policies"), "/items")),
                 0);
    cr_expect_eq(dataset_account(dataset).spent_units, 0);
}

/* ---- teachers */

Test(expert_teacher, refuses_what_it_cannot_be)
{
    const char *dataset = domain_sealed(f, "private", 12), *policy = ensemble_of(dataset, 50);
    static const char *const cases[][4] = {
        {GAUSSIAN, "\"unit\":\"expert\",\"radius\":0.1", BUDGETS, "/adjacency/radius"},
        {GAUSSIAN, "\"unit\":\"person\"", BUDGETS, "/adjacency/unit"},
        {GAUSSIAN, "", BUDGETS, "/adjacency/unit"},
        /* The dataset has delta 1e-5 in all, and epsilon 10. */
        {GAUSSIAN, EXPERT, ",\"budget\":{\"epsilon\":6,\"delta\":1e-4}", "/budget"},
        {"\"name\":\"gaussian_simplex\",\"sigma\":0.05", EXPERT,
         ",\"budget\":{\"epsilon\":5000,\"delta\":1e-6}", "/budget"},
        {"\"concentration\":9", EXPERT, BUDGETS, "/mechanism/concentration"},
        {"\"concentration\":20,\"at_floor\":\"silence\"", EXPERT, BUDGETS, "/mechanism/at_floor"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_invalid(fixture_post(f, "steward", "/v1/teachers",
                                    teacher_body(policy, cases[i][0], cases[i][1], cases[i][2])),
                       cases[i][3]);
    }
    struct ask stranger = {.path = "/v1/teachers",
                           .token = fixture_new_token(f, "steward"),
                           .body = teacher_body(policy, GAUSSIAN, EXPERT, BUDGETS)};
    expect_problem(fixture_ask(f, &stranger), "not-found");
    cr_expect_eq(dataset_account(dataset).spent_units, 0);
}

/* What one answer costs by hand: mu = sqrt(2)/M/sigma, divergence order mu^2 / 2. */
Test(expert_teacher, three_accounts_pay_for_an_answer)
{
    const char *dataset = domain_sealed(f, "private", 12), *policy = ensemble_of(dataset, 50);
    struct response *teacher =
        fixture_post(f, "steward", "/v1/teachers", teacher_body(policy, GAUSSIAN, EXPERT, BUDGETS));
    expect_status(teacher, 201);
    struct response *certificate = fixture_get(
        f, "steward", domain_path("/v1/teachers/%s/certificate", response_text(teacher, "/id")));
    cr_expect_not_null(strstr(certificate->body, "Every answer is charged to the dataset's"));
    cr_expect_str_eq(response_text(teacher, "/adjacency/unit"), "expert");
    cr_expect_eq(response_number(teacher, "/adjacency/shards"), 50);
    cr_expect(json_is_null(response_at(teacher, "/lipschitz")));
    cr_expect_float_eq(response_number(teacher, "/sensitivity"), sqrt(2) / 50, 1e-9);
    double order = response_number(teacher, "/order"),
           change = sqrt(2) / 50 + sqrt(2) * 0x1p-20, /* and rounding, gaussian_simplex.h */
        price = ceil(1e9 * order * pow(change / 0.1, 2) / 2), first = log(1e6) / (order - 1);
    cr_expect_float_eq(response_number(teacher, "/renyi_units_per_query"), price, 2);
    cr_expect_float_eq(response_number(teacher, "/dataset_cost/first/epsilon"),
                       first + price * 1e-9, 1e-7);
    cr_expect_float_eq(response_number(teacher, "/dataset_cost/further/epsilon"), price * 1e-9,
                       3e-9);
    const char *ask = queries(teacher);
    struct response *one = fixture_post(f, "student", ask, STATE);
    expect_status(one, 200);
    cr_expect_str_eq(response_text(one, "/protects"), "expert");
    cr_expect_not_null(strstr(response_text(one, "/does_not_protect"), "observations"));
    cr_expect_eq(
        response_number(one, "/probabilities/0") + response_number(one, "/probabilities/1"), 1);
    struct ledger_account data = dataset_account(dataset);
    struct ledger_account cap = account(response_text(teacher, "/account"));
    int64_t units = (int64_t)response_number(teacher, "/renyi_units_per_query");
    cr_expect_float_eq((double)cap.spent_units, price / order * cap.renyi_order, 2,
                       "the cap counts at an order of its own");
    cr_expect_eq(data.spent_delta, INT64_C(1000000000000));
    cr_expect_float_eq((double)data.spent_units * 1e-9, first + price * 1e-9, 1e-7);
    expect_status(fixture_post(f, "student", ask, "{\"states\":[[0,0,0,0],[1,1,1,1]]}"), 200);
    struct ledger_account after = dataset_account(dataset);
    cr_expect_eq(after.spent_units, data.spent_units + 2 * units);
    cr_expect_eq(after.spent_delta, data.spent_delta);
    cr_expect_eq(account(response_text(teacher, "/account")).spent_units, 3 * cap.spent_units);
    /* The Open Inference Protocol's form is the same answer from the same accounts. */
    struct response *infer = fixture_post(
        f, "student", domain_path("/v2/models/%s/infer", response_text(teacher, "/id")),
        "{\"inputs\":[{\"name\":\"state\",\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[0,0,0,0]"
        "}]}");
    expect_status(infer, 200);
    cr_expect_str_eq(response_text(infer, "/parameters/protects"), "expert");
    cr_expect_eq(dataset_account(dataset).spent_units, after.spent_units + units);
    domain_expect_whole_ledger(f);
}

/* Members that are null are left out, of a job and of a question. */
Test(expert_teacher, null_is_left_out)
{
    const char *dataset = domain_sealed(f, "private", 12), *policy = ensemble_of(dataset, 50);
    const char *job = job_body(dataset, "cql", 50,
                               ",\"evaluate\":null,\"judge\":null,\"sweep\":null,\"choose\":null,"
                               "\"environment\":null");
    expect_status(fixture_post(f, "steward", "/v1/jobs:estimate", job), 200);
    struct response *teacher =
        fixture_post(f, "steward", "/v1/teachers", teacher_body(policy, GAUSSIAN, EXPERT, BUDGETS));
    static const char *const bodies[] = {"{\"state\":[0,0,0,0],\"states\":null}",
                                         "{\"state\":null,\"states\":[[0,0,0,0]]}"};
    for (size_t i = 0; i < 2; i++)
        expect_status(fixture_post(f, "student", queries(teacher), bodies[i]), 200);
    expect_status(fixture_post(f, "student", domain_path("%s:estimate", queries(teacher)),
                               "{\"count\":5,\"states\":null}"),
                  200);
    expect_invalid(fixture_post(f, "student", queries(teacher), "{\"state\":null}"), "");
}

/* An estimate says whether what is trained could ever be paid for. */
Test(expert_teacher, an_estimate_says_when_no_answer_could_be_paid)
{
    const char *dataset = domain_sealed(f, "private", 12);
    struct response *fresh =
        fixture_post(f, "steward", "/v1/jobs:estimate", job_body(dataset, "cql", 50, ""));
    expect_status(fresh, 200);
    cr_expect(json_is_null(response_at(fresh, "/reason")), "%s", fresh->body);
    cr_expect_gt(json_array_size(response_at(fresh, "/plan/teaching")), 0u);
    struct ledger_account all = dataset_account(dataset);
    cr_assert_eq(db_run(fixture_db(f), "UPDATE ledger_accounts SET spent_units = limit_units", NULL,
                        0, NULL, NULL),
                 DB_OK);
    cr_assert_gt(all.limit_units, 0);
    struct response *spent =
        fixture_post(f, "steward", "/v1/jobs:estimate", job_body(dataset, "cql", 50, ""));
    expect_status(spent, 200);
    cr_expect(json_is_true(response_at(spent, "/feasible")), "training costs nothing");
    cr_expect_eq(json_array_size(response_at(spent, "/plan/teaching")), 0u);
    cr_expect_not_null(strstr(response_text(spent, "/reason"), "no answer of a teacher"), "%s",
                       spent->body);
}

/* Public data without a budget have no account that could be spent or charged. */
Test(expert_teacher, without_a_budget_no_account_is_spoken_of)
{
    const char *dataset = domain_sealed_of(
        f, "{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":\"public\"}", 12);
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", job_body(dataset, "cql", 50, ""));
    expect_status(estimate, 200);
    cr_expect(json_is_null(response_at(estimate, "/reason")), "%s", estimate->body);
    struct response *teacher =
        fixture_post(f, "steward", "/v1/teachers",
                     teacher_body(ensemble_of(dataset, 50), GAUSSIAN, EXPERT, BUDGETS));
    expect_status(teacher, 201);
    struct response *certificate = fixture_get(
        f, "steward", domain_path("/v1/teachers/%s/certificate", response_text(teacher, "/id")));
    expect_status(certificate, 200);
    cr_expect(json_is_null(response_at(certificate, "/ledger/dataset_account")));
    cr_expect_null(strstr(certificate->body, "Every answer is charged to the dataset's account"));
}

/* The dataset's account is short: nobody pays. */
Test(expert_teacher, no_account_pays_when_the_dataset_cannot)
{
    const char *dataset = domain_sealed(f, "private", 12), *policy = ensemble_of(dataset, 50);
    struct response *one =
        fixture_post(f, "steward", "/v1/teachers", teacher_body(policy, GAUSSIAN, EXPERT, BUDGETS));
    struct response *two =
        fixture_post(f, "steward", "/v1/teachers",
                     teacher_body(policy, "\"concentration\":200,\"min_probability\":0.2", EXPERT,
                                  ",\"budget\":{\"epsilon\":9.5,\"delta\":1e-6}"));
    expect_status(one, 201);
    expect_status(two, 201);
    const char *dear = queries(two);
    expect_status(fixture_put(f, "steward",
                              domain_path("/v1/teachers/%s/budgets/%s", response_text(two, "/id"),
                                          fixture_client(f, "student")),
                              "{\"epsilon\":9.5,\"delta\":1e-6}"),
                  201);
    expect_status(fixture_post(f, "student", queries(one), STATE), 200);
    int answered = 0;
    struct response *r = NULL;
    for (int i = 0; i < 3000; i++, answered++) {
        r = fixture_post(f, "student", dear, STATE);
        if (r->status != 200)
            break;
    }
    expect_problem(r, "budget-exhausted");
    cr_expect_gt(answered, 0);
    struct ledger_account data = dataset_account(dataset);
    cr_expect_str_eq(response_text(r, "/violated/0/account"), data.id, "%s", r->body);
    struct ledger_account cap = account(response_text(two, "/account"));
    expect_problem(fixture_post(f, "student", dear, STATE), "budget-exhausted");
    cr_expect_eq(dataset_account(dataset).spent_units, data.spent_units);
    cr_expect_eq(account(response_text(two, "/account")).spent_units, cap.spent_units);
    cr_expect_leq(data.spent_units, data.limit_units);
    domain_expect_whole_ledger(f);
}

/* By basic composition each answer costs the dataset its epsilon and delta, and nothing before. */
Test(expert_teacher, counts_by_basic_composition_too)
{
    const char *dataset = domain_sealed(f, "private", 12), *policy = ensemble_of(dataset, 200);
    struct response *teacher = fixture_post(
        f, "steward", "/v1/teachers",
        teacher_body(policy, GAUSSIAN, EXPERT,
                     ",\"accounting\":\"basic\",\"budget\":{\"epsilon\":4,\"delta\":1e-6},"
                     "\"client_budget\":{\"epsilon\":4,\"delta\":1e-6}"));
    expect_status(teacher, 201);
    expect_status(fixture_post(f, "student", queries(teacher), STATE), 200);
    struct ledger_account cap = account(response_text(teacher, "/account")),
                          data = dataset_account(dataset);
    cr_expect_eq(cap.spent_units, data.spent_units);
    cr_expect_eq(cap.spent_delta, data.spent_delta);
    cr_expect_gt(data.spent_delta, 0);
}

/* What is guaranteed to a client is set aside in the dataset's account too, and pays there. */
Test(expert_teacher, a_share_is_set_aside_in_the_datasets_account)
{
    const char *dataset = domain_sealed(f, "private", 12), *policy = ensemble_of(dataset, 50);
    struct response *teacher = fixture_post(
        f, "steward", "/v1/teachers",
        teacher_body(policy, GAUSSIAN, EXPERT,
                     ",\"accounting\":\"basic\",\"budget\":{\"epsilon\":6,\"delta\":1e-6},"
                     "\"client_budget\":{\"epsilon\":4,\"delta\":1e-6}"));
    expect_status(teacher, 201);
    const char *id = response_text(teacher, "/id");
    expect_status(
        fixture_put(f, "steward",
                    domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, "student")),
                    "{\"epsilon\":4,\"delta\":1e-6,\"guaranteed\":{\"answers\":3}}"),
        201);
    struct ledger_account before = dataset_account(dataset);
    cr_assert(before.held_units > 0 && before.held_units % 3 == 0 && before.held_delta > 0);
    for (int i = 0; i < 2; i++)
        expect_status(fixture_post(f, "student", queries(teacher), STATE), 200);
    struct ledger_account asked = dataset_account(dataset);
    cr_expect_eq(asked.spent_units, before.spent_units, "the share pays");
    cr_expect_eq(asked.held_units, before.held_units);
    expect_status(fixture_post(f, "steward", domain_path("/v1/teachers/%s:close", id), NULL), 200);
    struct ledger_account after = dataset_account(dataset);
    cr_expect_eq(after.held_units, 0);
    cr_expect_eq(after.held_delta, 0);
    cr_expect_eq(after.spent_units, before.held_units / 3 * 2, "what was asked is paid for");
    cr_expect_eq(after.spent_delta, before.held_delta / 3 * 2);
    domain_expect_whole_ledger(f);
}

Test(expert_teacher, its_certificate_says_what_is_protected)
{
    const char *dataset = domain_sealed(f, "private", 12), *policy = ensemble_of(dataset, 50);
    struct response *teacher =
        fixture_post(f, "steward", "/v1/teachers", teacher_body(policy, GAUSSIAN, EXPERT, BUDGETS));
    expect_status(teacher, 201);
    const char *id = response_text(teacher, "/certificate");
    const char *path = domain_path("/v1/teachers/%s/certificate", response_text(teacher, "/id"));
    static const char *const roles[] = {"steward", "student", "auditor"};
    for (size_t i = 0; i < 3; i++) {
        struct response *c = fixture_get(f, roles[i], path);
        expect_status(c, 200);
        cr_expect(certificate_check(c->body, fixture_app(f)->public_key));
        cr_expect_str_eq(response_text(c, "/id"), id);
        cr_expect_str_eq(response_text(c, "/privacy/unit"), "expert");
        cr_expect_eq(response_number(c, "/privacy/epsilon"), 6);
        cr_expect_eq(response_number(c, "/privacy/adjacency/shards"), 50);
        cr_expect_not_null(strstr(response_text(c, "/does_not_protect"), "observations"));
        struct response *same = fixture_get(f, roles[i], domain_path("/v1/certificates/%s", id));
        expect_status(same, 200);
        cr_expect_str_eq(same->body, c->body);
    }
    struct ask stranger = {.path = path, .token = fixture_new_token(f, "steward")};
    expect_problem(fixture_ask(f, &stranger), "not-found");
    /* A teacher that protects observations says so, and what it does not protect. */
    struct response *other =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 8, 2));
    struct response *c = fixture_get(
        f, "steward", domain_path("/v1/teachers/%s/certificate", response_text(other, "/id")));
    expect_status(c, 200);
    cr_expect_str_eq(response_text(c, "/privacy/unit"), "observation");
    cr_expect_not_null(strstr(response_text(c, "/does_not_protect"), "trained on"));
    cr_expect(certificate_check(c->body, fixture_app(f)->public_key));
}

/* What was learned of the data goes with them; answers that were given stay their askers'. */
Test(expert_teacher, falls_silent_when_its_dataset_is_deleted)
{
    const char *dataset = domain_sealed(f, "private", 12), *policy = ensemble_of(dataset, 50);
    struct response *teacher =
        fixture_post(f, "steward", "/v1/teachers", teacher_body(policy, GAUSSIAN, EXPERT, BUDGETS));
    struct response *unasked =
        fixture_post(f, "steward", "/v1/teachers", teacher_body(policy, GAUSSIAN, EXPERT, BUDGETS));
    expect_status(unasked, 201);
    struct ask keyed = {.path = queries(teacher),
                        .token = fixture_token(f, "student"),
                        .key = "kept",
                        .body = STATE};
    struct response *answer = fixture_ask(f, &keyed);
    expect_status(answer, 200);
    int64_t spent = dataset_account(dataset).spent_units;
    struct ledger_account cap = account(response_text(teacher, "/account"));
    expect_status(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", dataset)), 204);
    size_t size = 0;
    free(stored(policy, &size));
    cr_expect_eq(size, 0u);
    struct response *no = fixture_post(f, "student", queries(teacher), STATE);
    expect_problem(no, "teacher-silent");
    expect_problem(fixture_post(f, "student", queries(unasked), STATE), "teacher-silent");
    cr_expect_eq(account(response_text(teacher, "/account")).spent_units, cap.spent_units);
    struct response *again = fixture_ask(f, &keyed);
    expect_status(again, 200);
    cr_expect_str_eq(again->body, answer->body);
    expect_problem(
        fixture_post(f, "steward", "/v1/teachers", teacher_body(policy, GAUSSIAN, EXPERT, BUDGETS)),
        "conflict");
    expect_status(
        fixture_get(f, "student", domain_path("/v1/teachers/%s", response_text(teacher, "/id"))),
        200);
    cr_expect_gt(spent, 0);
    domain_expect_whole_ledger(f);
}
