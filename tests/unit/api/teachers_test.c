/* Teachers: what is certified and refused, what a query costs, and the silence at the end. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(teachers, .init = service_open, .fini = service_close);

#define STATE "{\"state\":[0.01,-0.02,0.03,0.04]}"

static const char *new_teacher(double epsilon, double client_epsilon)
{
    struct response *made = fixture_post(f, "steward", "/v1/teachers",
                                         domain_teacher(domain_policy(f), epsilon, client_epsilon));
    expect_status(made, 201);
    return response_text(made, "/id");
}

static const char *queries(const char *teacher)
{
    return domain_path("/v1/teachers/%s/queries", teacher);
}

/* A teacher's body with one member other than good. */
static const char *teacher_with(const char *policy, const char *mechanism, const char *adjacency,
                                const char *rest)
{
    return domain_path("{\"policy\":\"%s\",\"mechanism\":{%s},\"adjacency\":{%s}%s}", policy,
                       mechanism, adjacency, rest);
}

#define MECHANISM "\"concentration\":20,\"min_probability\":0.1"
#define ADJACENCY "\"unit\":\"observation\",\"radius\":0.01"
#define BUDGET    ",\"budget\":{\"epsilon\":8,\"delta\":1e-5}"

Test(teachers, refuse_what_they_cannot_be)
{
    static const char *const cases[][4] = {
        {MECHANISM, ADJACENCY, "", "/budget"},
        {MECHANISM, ADJACENCY, ",\"budget\":{\"epsilon\":0,\"delta\":1e-5}", "/budget/epsilon"},
        {MECHANISM, ADJACENCY, ",\"budget\":{\"epsilon\":1e999,\"delta\":1e-5}", "/budget/epsilon"},
        {MECHANISM, ADJACENCY, ",\"budget\":{\"epsilon\":0.0001,\"delta\":1e-5}",
         "/budget/epsilon"},
        {MECHANISM, ADJACENCY, BUDGET ",\"client_budget\":{\"epsilon\":0.0001,\"delta\":1e-5}",
         "/client_budget/epsilon"},
        {MECHANISM, ADJACENCY, BUDGET ",\"accounting\":\"paper\"", "/accounting"},
        {MECHANISM, ADJACENCY, BUDGET ",\"accounting\":2", "/accounting"},
        {MECHANISM, ADJACENCY, BUDGET ",\"colour\":1", "/colour"},
        {MECHANISM, ADJACENCY, BUDGET ",\"order\":1e999", "/order"},
        /* Every finite order is used up: those of the mechanism end at 1 + least / change. */
        {"\"concentration\":20000,\"min_probability\":0.001",
         "\"unit\":\"observation\",\"radius\":100", BUDGET, "/budget/epsilon"},
        {"\"concentration\":20000,\"min_probability\":0.001",
         "\"unit\":\"observation\",\"radius\":1e9", BUDGET, "/budget/epsilon"},
        {MECHANISM, "\"unit\":\"expert\"", BUDGET, "/adjacency/unit"},
        {MECHANISM, "\"unit\":\"expert\",\"radius\":0.1", BUDGET, "/adjacency/radius"},
        {MECHANISM, "\"unit\":\"nobody\",\"radius\":0.1", BUDGET, "/adjacency/unit"},
        {MECHANISM, ADJACENCY ",\"shards\":5", BUDGET, "/adjacency/shards"},
        {MECHANISM, "\"unit\":\"observation\"", BUDGET, "/adjacency/radius"},
        {MECHANISM, "\"unit\":\"observation\",\"radius\":-1", BUDGET, "/adjacency/radius"},
        {"\"name\":\"laplace\",\"sigma\":1", ADJACENCY, BUDGET, "/mechanism/name"},
        {"\"name\":5,\"concentration\":20", ADJACENCY, BUDGET, "/mechanism/name"},
        {MECHANISM ",\"sigma\":0.05", ADJACENCY, BUDGET, "/mechanism/sigma"},
        {"\"concentration\":9", ADJACENCY, BUDGET, "/mechanism/concentration"},
        {"\"concentration\":20,\"min_probability\":0.5", ADJACENCY, BUDGET,
         "/mechanism/min_probability"},
        {"\"concentration\":20,\"temperature\":0", ADJACENCY, BUDGET, "/mechanism/temperature"},
        {"\"concentration\":20,\"vanishing\":1.5", ADJACENCY, BUDGET, "/mechanism/vanishing"},
        {"", ADJACENCY, BUDGET, "/mechanism/concentration"},
    };
    const char *policy = domain_policy(f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_invalid(fixture_post(f, "steward", "/v1/teachers",
                                    teacher_with(policy, cases[i][0], cases[i][1], cases[i][2])),
                       cases[i][3]);
    }
    expect_problem(fixture_post(f, "steward", "/v1/teachers", domain_teacher("pol_nothing", 8, 2)),
                   "not-found");
    struct ask ask = {.path = "/v1/teachers",
                      .token = fixture_new_token(f, "steward"),
                      .body = domain_teacher(policy, 8, 2)};
    expect_problem(fixture_ask(f, &ask), "not-found");
    cr_assert_eq(
        json_array_size(response_at(fixture_get(f, "steward", "/v1/ledger/accounts"), "/items")),
        0);
}

/* Weights too large, and an output that jumps: the reason is told. */
Test(teachers, need_a_network_with_a_lipschitz_bound)
{
    static const char *const networks[][3] = {
        {"softmax", "3e38", "no finite Lipschitz bound"},
        {"argmax", "0.5", "no Lipschitz bound"},
    };
    for (size_t i = 0; i < 2; i++) {
        const char *w = networks[i][1], *row = domain_path("[%s,%s]", w, w),
                   *wide = domain_path("[%s,%s,%s,%s]", w, w, w, w),
                   *layer = domain_path(",{\"weight\":[%s,%s],\"bias\":[0,0]}", row, row);
        struct response *policy = fixture_post(
            f, "steward", "/v1/policies",
            domain_path("{\"name\":\"steep\",\"environment\":\"cartpole\",\"network\":{"
                        "\"activation\":\"relu\",\"output\":\"%s\",\"layers\":[{\"weight\":[%s,%s],"
                        "\"bias\":[0,0]}%s%s%s%s%s%s%s]}}",
                        networks[i][0], wide, wide, layer, layer, layer, layer, layer, layer,
                        layer));
        expect_status(policy, 201);
        struct response *refused = fixture_post(
            f, "steward", "/v1/teachers",
            teacher_with(response_text(policy, "/id"),
                         "\"name\":\"gaussian_simplex\",\"sigma\":0.1", ADJACENCY, BUDGET));
        expect_invalid(refused, "/mechanism");
        cr_expect_not_null(strstr(refused->body, networks[i][2]), "%s", refused->body);
    }
}

/* With hardly any noise the answers would be the network that may not leave. */
Test(teachers, blur_a_policy_that_is_not_released)
{
    static const char *const cases[][3] = {
        {"\"concentration\":101", ADJACENCY, "/mechanism/concentration"},
        {"\"concentration\":20", "\"unit\":\"observation\",\"radius\":9e-7", "/adjacency/radius"},
    };
    const char *large = ",\"budget\":{\"epsilon\":1000,\"delta\":1e-5}";
    struct response *job =
        domain_run(f, domain_unprotected_job(domain_sealed(f, "private", 10), 50));
    const char *secret = response_text(job, "/policy"), *own = domain_policy(f);
    const char *understood = domain_path("%s,\"i_understand\":\"not_private\"", large);
    for (size_t i = 0; i < 2; i++) {
        expect_invalid(fixture_post(f, "steward", "/v1/teachers",
                                    teacher_with(secret, cases[i][0], cases[i][1], understood)),
                       cases[i][2]);
        expect_status(fixture_post(f, "steward", "/v1/teachers",
                                   teacher_with(own, cases[i][0], cases[i][1], large)),
                      201);
    }
    const char *least = "\"unit\":\"observation\",\"radius\":1e-6";
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers",
                     teacher_with(secret, "\"concentration\":100", least, understood));
    expect_status(made, 201);
    cr_assert_not_null(strstr(response_text(made, "/does_not_protect"), "reveals a little"));
    expect_invalid(fixture_post(f, "steward", "/v1/teachers",
                                teacher_with(secret, "\"concentration\":100", least, large)),
                   "/i_understand");
    expect_invalid(fixture_post(f, "steward", "/v1/teachers",
                                teacher_with(own, "\"concentration\":100", least, understood)),
                   "/i_understand");
}

Test(teachers, say_what_is_certified_and_what_it_costs)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 8, 2));
    expect_status(made, 201);
    /* Two rows (0.1,0.2,0.3,0.4), (-0.1,0.2,-0.3,0.4): the norm is 2 sqrt(0.1) or below, softmax
     * halves it. */
    double lipschitz = response_number(made, "/lipschitz");
    cr_assert(lipschitz >= 0.31622 && lipschitz < 0.3164, "%.9g", lipschitz);
    cr_assert_float_eq(response_number(made, "/sensitivity"), 0.8 * lipschitz * 0.01, 1e-9);
    cr_assert(response_number(made, "/order") > 1);
    cr_assert(response_number(made, "/cost_per_query/epsilon") > 0);
    cr_assert(response_number(made, "/queries_in_client_budget") > 1);
    cr_assert(strlen(response_text(made, "/does_not_protect")) > 0);
    const char *id = response_text(made, "/id");
    struct response *seen = fixture_get(f, "student", domain_path("/v1/teachers/%s", id));
    expect_status(seen, 200);
    cr_assert(json_is_null(response_at(seen, "/account")));
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "student", "/v1/teachers"), "/items")),
                 1);
    struct ask ask = {.path = domain_path("/v1/teachers/%s", id),
                      .token = fixture_new_token(f, "steward")};
    expect_problem(fixture_ask(f, &ask), "not-found");
}

Test(teachers, answer_with_probabilities_and_their_cost)
{
    const char *id = new_teacher(8, 2);
    struct response *r = fixture_post(f, "student", queries(id), STATE);
    expect_status(r, 200);
    double p0 = response_number(r, "/probabilities/0"), p1 = response_number(r, "/probabilities/1");
    cr_assert(p0 >= 0 && p1 >= 0 && p0 + p1 == 1);
    cr_assert_eq(p0 * 1048576, rint(p0 * 1048576));
    cr_assert_eq(response_number(r, "/concentration"), 20);
    cr_assert(response_number(r, "/error_radius") > 0);
    double cost = response_number(r, "/cost/epsilon"), spent = response_number(r, "/spent/epsilon");
    cr_assert(cost > 0);
    cr_assert_float_eq(cost, spent, 1e-12, "the first answer");
    cr_assert_float_eq(response_number(r, "/remaining/epsilon"), 2 - spent, 1e-9);
    struct response *second = fixture_post(f, "student", queries(id), STATE);
    cr_assert(response_number(second, "/cost/epsilon") < cost);
    cr_assert_eq(response_number(second, "/cost/delta"), 0);
    cr_assert_float_eq(response_number(second, "/spent/epsilon"),
                       spent + response_number(second, "/cost/epsilon"), 1e-9);
    struct response *batch =
        fixture_post(f, "student", queries(id), "{\"states\":[[0,0,0,0],[1,1,1,1],[2,2,2,2]]}");
    expect_status(batch, 200);
    cr_assert_eq(json_array_size(response_at(batch, "/probabilities")), 3);
    cr_assert_eq(json_array_size(response_at(batch, "/probabilities/2")), 2);
    cr_assert_float_eq(response_number(batch, "/cost/epsilon"),
                       3 * response_number(second, "/cost/epsilon"), 1e-9);
    struct response *mine = fixture_get(
        f, "student", domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, "student")));
    expect_status(mine, 200);
    cr_assert_eq(response_number(mine, "/spent/epsilon"), response_number(batch, "/spent/epsilon"));
    struct response *noisy =
        fixture_post(f, "student", queries(id), "{\"state\":[0,0,0,0],\"concentration\":12}");
    expect_status(noisy, 200);
    cr_expect_eq(response_number(noisy, "/concentration"), 12);
    cr_expect_lt(response_number(noisy, "/cost/epsilon"), response_number(second, "/cost/epsilon"));
    cr_expect_gt(response_number(noisy, "/error_radius"), response_number(r, "/error_radius"));
    domain_expect_whole_ledger(f);
}

/* The guarantee does not depend on where a state lies. */
Test(teachers, answer_and_charge_at_states_far_outside)
{
    static const char *const states[] = {"1e6,-1e6,1e6,-1e6", "3e38,3e38,-3e38,3e38",
                                         "1e-40,0,-0.0,1e-44"};
    const char *id = new_teacher(8, 2);
    double spent = 0;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct response *r =
            fixture_post(f, "student", queries(id), domain_path("{\"state\":[%s]}", states[i]));
        expect_status(r, 200);
        cr_expect_gt(response_number(r, "/spent/epsilon"), spent);
        spent = response_number(r, "/spent/epsilon");
    }
}

Test(teachers, refuse_questions_that_are_none)
{
    static const char *const cases[][2] = {
        {"{}", ""},
        {"{\"state\":[0,0,0,0],\"states\":[[0,0,0,0]]}", ""},
        {"{\"state\":[0,0,0]}", "/state"},
        {"{\"state\":[0,0,0,0,0]}", "/state"},
        {"{\"state\":[]}", "/state"},
        {"{\"state\":[[0,0,0,0]]}", "/state"},
        {"{\"state\":[0,0,0,\"0\"]}", "/state/3"},
        {"{\"state\":[0,null,0,0]}", "/state/1"},
        {"{\"state\":[0,true,0,0]}", "/state/1"},
        {"{\"state\":[0,0,1e999,0]}", "/state/2"},
        {"{\"state\":[0,0,-1e999,0]}", "/state/2"},
        /* numbers, and none of the 32-bit floats that the network reads */
        {"{\"state\":[0,0,0,1e39]}", "/state/3"},
        {"{\"states\":[[0,0,0,0],[0,-1e39,0,0]]}", "/states/1/1"},
        {"{\"state\":{}}", "/state"},
        {"{\"states\":[]}", "/states"},
        {"{\"states\":[[0,0,0,0],[0]]}", "/states/1"},
        {"{\"state\":[0,0,0,0],\"concentration\":20.001}", "/concentration"},
        {"{\"state\":[0,0,0,0],\"concentration\":9.999}", "/concentration"},
        {"{\"state\":[0,0,0,0],\"concentration\":0}", "/concentration"},
        {"{\"state\":[0,0,0,0],\"concentration\":-1}", "/concentration"},
        {"{\"state\":[0,0,0,0],\"concentration\":1e999}", "/concentration"},
        {"{\"state\":[0,0,0,0],\"max_epsilon\":0}", "/max_epsilon"},
        {"{\"state\":[0,0,0,0],\"max_epsilon\":-1}", "/max_epsilon"},
        {"{\"state\":[0,0,0,0],\"reuse\":\"always\"}", "/reuse"},
        {"{\"state\":[0,0,0,0],\"temperature\":1}", "/temperature"},
    };
    const char *id = new_teacher(8, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(fixture_post(f, "student", queries(id), cases[i][0]), cases[i][1]);
    static const char *const words[] = {"{\"state\":[0,NaN,0,0]}", "{\"state\":[0,0,Infinity,0]}"};
    for (size_t i = 0; i < 2; i++)
        expect_problem(fixture_post(f, "student", queries(id), words[i]), "not-json");
    struct response *r =
        fixture_post(f, "student", queries(id), "{\"state\":[0,0,0,0],\"max_epsilon\":1e-9}");
    expect_problem(r, "cost-above-maximum");
    expect_problem(fixture_post(f, "student", queries("tch_nothing"), STATE), "not-found");
    expect_problem(fixture_post(f, "contributor", queries(id), STATE), "forbidden");
    struct ask ask = {.path = queries(id), .token = fixture_token(f, "student"), .body = STATE};
    expect_problem(fixture_ask(f, &ask), "idempotency-key-required");
    /* Nothing of this was charged; no account was opened. */
    struct response *accounts = fixture_get(f, "steward", "/v1/ledger/accounts");
    cr_assert_eq(json_array_size(response_at(accounts, "/items")), 1);
    cr_assert_eq(response_number(accounts, "/items/0/spent/epsilon"), 0);
}

/* A policy with one hidden layer of 4000 units: 28,002 parameters. */
static const char *large_policy(void)
{
    enum { HIDDEN = 4000, ROOM = 200000 };
    char *text = malloc(ROOM);
    cr_assert_not_null(text);
    int at = snprintf(text, ROOM,
                      "{\"name\":\"large\",\"environment\":\"cartpole\",\"network\":{"
                      "\"activation\":\"relu\",\"output\":\"softmax\",\"layers\":[{\"weight\":[");
    for (int i = 0; i < HIDDEN; i++)
        at += sprintf(text + at, "%s[%d,0,0,0]", i > 0 ? "," : "", i == 0);
    at += sprintf(text + at, "],\"bias\":[0");
    for (int i = 1; i < HIDDEN; i++)
        at += sprintf(text + at, ",0");
    at += sprintf(text + at, "]},{\"weight\":[[0.1");
    for (int i = 1; i < 2 * HIDDEN; i++)
        at += sprintf(text + at, i == HIDDEN ? "],[0" : ",0");
    sprintf(text + at, "]],\"bias\":[0,0]}]}}");
    struct response *made = fixture_post(f, "steward", "/v1/policies", text);
    free(text);
    expect_status(made, 201);
    return response_text(made, "/id");
}

static struct response *ask_many(const char *teacher, int count)
{
    char body[16384] = "{\"states\":[[0,0,0,0]";
    size_t at = strlen(body);
    for (int i = 1; i < count; i++)
        at += (size_t)snprintf(body + at, sizeof body - at, ",[0,0,0,0]");
    snprintf(body + at, sizeof body - at, "]}");
    return fixture_post(f, "student", queries(teacher), body);
}

/* What one query computes holds up the others of its commit. */
Test(teachers, bound_the_work_of_one_query)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(large_policy(), 1e5, 1e5));
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    struct response *r = ask_many(id, 20000000 / 28002 + 1);
    expect_invalid(r, "/states");
    cr_assert_not_null(strstr(response_text(r, "/errors/0/detail"), "714 states"));
    expect_status(ask_many(id, 20000000 / 28002), 200);
    expect_invalid(ask_many(new_teacher(8, 2), 1025), "/states");
    expect_status(fixture_post(f, "student", queries(id), STATE), 200);
}

Test(teachers, weigh_the_wished_maximum_before_paying)
{
    const char *id = new_teacher(8, 2);
    struct response *first = fixture_post(f, "student", queries(id), STATE);
    double step = response_number(fixture_post(f, "student", queries(id), STATE), "/cost/epsilon");
    struct response *before = fixture_get(f, "steward", "/v1/ledger/accounts");
    static const char capped[] = "{\"state\":[0.01,-0.02,0.03,0.04],\"max_epsilon\":%.17g}";
    struct ask ask = {.path = queries(id),
                      .token = fixture_token(f, "student"),
                      .key = "dear",
                      .body = domain_path(capped, step * 0.999)};
    expect_problem(fixture_ask(f, &ask), "cost-above-maximum");
    struct response *after = fixture_get(f, "steward", "/v1/ledger/accounts");
    cr_assert_str_eq(before->body, after->body, "a refusal changes nothing");
    /* The first answer costs more than the later ones; their price is what is judged. */
    cr_assert(step * 1.001 < response_number(first, "/cost/epsilon"));
    ask.body = domain_path(capped, step * 1.001); /* the key of what was refused is free */
    struct response *paid = fixture_ask(f, &ask);
    expect_status(paid, 200);
    cr_assert_float_eq(response_number(paid, "/cost/epsilon"), step, 1e-9);
    domain_expect_whole_ledger(f);
}

Test(teachers, fall_silent_when_the_client_cannot_pay)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 100, 0.5));
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    double promised = response_number(made, "/queries_in_client_budget");
    cr_assert(promised > 2 && promised < 5000, "%g", promised);
    struct response *r = ask_many(id, (int)promised + 1);
    expect_problem(r, "budget-exhausted"); /* whole: what the client can pay is still there */
    double answered = 0;
    while (answered < promised) {
        r = fixture_post(f, "student", queries(id), STATE);
        if (r->status != 200)
            break;
        answered++;
    }
    cr_assert_eq(answered, promised);
    double spent = response_number(r, "/spent/epsilon");
    cr_assert(spent <= 0.5);
    r = fixture_post(f, "student", queries(id), STATE);
    expect_problem(r, "budget-exhausted");
    cr_assert_eq(json_array_size(response_at(r, "/violated")), 1);
    cr_assert_eq(response_number(r, "/violated/0/limit/epsilon"), 0.5);
    cr_assert_eq(response_number(r, "/violated/0/spent/epsilon"), spent);
    cr_assert(response_number(r, "/violated/0/requested/epsilon") > 0);
    /* The other student has a budget of its own. */
    struct ask ask = {.path = queries(id),
                      .token = fixture_new_token(f, "student"),
                      .key = "other",
                      .body = STATE};
    expect_status(fixture_ask(f, &ask), 200);
    domain_expect_whole_ledger(f);
}

Test(teachers, fall_silent_for_all_at_the_common_cap)
{
    const char *id = new_teacher(0.5, 0.5);
    struct response *r =
        fixture_post(f, "student", queries(id), "{\"states\":[[0,0,0,0],[0,0,0,0],[0,0,0,0]]}");
    expect_status(r, 200);
    struct response *teacher = fixture_get(f, "steward", domain_path("/v1/teachers/%s", id));
    int count = (int)response_number(teacher, "/queries_in_client_budget") - 2;
    char body[8192] = "{\"states\":[[0,0,0,0]";
    for (int i = 1; i < count && strlen(body) < 8000; i++)
        strcat(body, ",[0,0,0,0]");
    strcat(body, "]}");
    struct ask ask = {
        .path = queries(id), .token = fixture_new_token(f, "student"), .key = "k", .body = body};
    r = fixture_ask(f, &ask); /* its own budget could pay, the common one cannot */
    expect_problem(r, "budget-exhausted");
    struct response *accounts = fixture_get(f, "steward", "/v1/ledger/accounts");
    cr_assert_eq(json_array_size(response_at(accounts, "/items")), 2, "nothing half done");
    domain_expect_whole_ledger(f);
}

Test(teachers, replay_the_stored_bytes)
{
    const char *id = new_teacher(8, 2);
    struct ask ask = {
        .path = queries(id), .token = fixture_token(f, "student"), .key = "once", .body = STATE};
    struct response *first = fixture_ask(f, &ask), *again = fixture_ask(f, &ask);
    expect_status(again, 200);
    cr_assert_str_eq(first->body, again->body);
    cr_assert_str_eq(response_header(again, "Idempotency-Replayed"), "true");
    ask.body = "{\"state\":[0,0,0,0]}";
    expect_problem(fixture_ask(f, &ask), "idempotency-key-reused");
    /* The same bytes under another key are charged again. */
    struct response *fresh = fixture_post(f, "student", queries(id), STATE);
    cr_assert(response_number(fresh, "/spent/epsilon") > response_number(first, "/spent/epsilon"));
    domain_expect_whole_ledger(f);
}

/* Whoever sees answers and accounts must not learn which of two close observations was asked: not
 * even that one of them was asked before, in the same bytes, in others, or as the same float. */
Test(teachers, treat_a_repeated_observation_like_a_close_one)
{
    static const char *const second[] = {"{\"state\":[0.1,0,0,0]}", "{\"state\":[0.10,0,0,0]}",
                                         "{\"state\":[0.10000000001,0,0,0]}",
                                         "{\"state\":[0.109,0,0,0]}"};
    const char *id = new_teacher(8, 2);
    struct response *before = fixture_post(f, "student", queries(id), second[0]);
    expect_status(before, 200);
    const char *reuse = "{\"state\":[0.1,0,0,0],\"reuse\":\"exact\"}";
    struct response *refused = fixture_post(f, "student", queries(id), reuse);
    expect_invalid(refused, "/reuse");
    cr_expect_not_null(strstr(refused->body, "same observation"), "%s", refused->body);
    expect_invalid(
        fixture_post(f, "student", queries(id), "{\"states\":[[0.1,0,0,0]],\"reuse\":\"exact\"}"),
        "/reuse");
    /* The first answer has its own cost; from then on each costs the same. */
    before = fixture_post(f, "student", queries(id), second[0]);
    double cost = response_number(before, "/cost/divergence");
    for (size_t i = 0; i < sizeof second / sizeof *second; i++) {
        struct response *answer = fixture_post(f, "student", queries(id), second[i]);
        expect_status(answer, 200);
        cr_expect_str_neq(response_text(answer, "/query"), response_text(before, "/query"));
        cr_expect_eq(response_number(answer, "/cost/divergence"), cost);
        cr_expect_gt(response_number(answer, "/spent/epsilon"),
                     response_number(before, "/spent/epsilon"));
        before = answer;
    }
    domain_expect_whole_ledger(f);
}

Test(teachers, grant_and_change_budgets_by_revision)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers",
                     teacher_with(domain_policy(f), MECHANISM, ADJACENCY, BUDGET)); /* no default */
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    /* To a client that may not ask, it is as if the teacher were not there, whatever it sends. */
    static const char *const unread[] = {STATE, "{\"colour\":1}"};
    for (size_t i = 0; i < 2; i++) {
        expect_problem(fixture_post(f, "student", queries(id), unread[i]), "not-found");
        expect_problem(fixture_post(f, "student",
                                    domain_path("/v1/teachers/%s/queries:estimate", id), unread[i]),
                       "not-found");
    }
    expect_problem(fixture_post(f, "student", domain_path("/v1/teachers/%s/rollouts", id), NULL),
                   "not-found");
    struct response *own = fixture_post(f, "steward", queries(id), STATE); /* its own */
    expect_problem(own, "no-budget");
    cr_expect_str_eq(response_text(own, "/ask/method"), "PUT");
    cr_expect_str_eq(response_text(own, "/ask/href"),
                     domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, "steward")));
    expect_problem(fixture_get(f, "student", domain_path("/v1/teachers/%s", id)), "not-found");
    const char *path = domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, "student"));
    struct ask ask = {.method = "PUT",
                      .path = path,
                      .token = fixture_token(f, "steward"),
                      .body = "{\"epsilon\":6,\"delta\":1e-5}",
                      .headers = {{"If-Match", "\"1\""}}};
    expect_problem(fixture_ask(f, &ask), "precondition-failed");
    ask.headers[0][0] = NULL;
    struct response *granted = fixture_ask(f, &ask);
    expect_status(granted, 201);
    cr_assert_str_eq(response_header(granted, "ETag"), "\"1\"");
    expect_status(fixture_post(f, "student", queries(id), STATE), 200);
    expect_problem(fixture_ask(f, &ask), "precondition-required");
    ask.headers[0][0] = "If-Match";
    static const char *const others[] = {"\"7\"", "W/\"1\"", "\"7\" x, \"1\"", "1", "\"7\", \"1"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ask.headers[0][1] = others[i];
        expect_problem(fixture_ask(f, &ask), "precondition-failed");
    }
    ask.headers[0][1] = "\"7\", W/\"2\" ,\"1\"";
    ask.body = "{\"epsilon\":7,\"delta\":1e-5}";
    struct response *changed = fixture_ask(f, &ask);
    expect_status(changed, 200);
    cr_assert_str_eq(response_header(changed, "ETag"), "\"2\"");
    cr_assert_eq(response_number(changed, "/limit/epsilon"), 7);
    struct response *mine = fixture_get(f, "student", path);
    cr_assert_str_eq(response_header(mine, "ETag"), "\"2\"");
    ask.headers[0][1] = "\"2\"";
    ask.body = "{\"epsilon\":1e-7,\"delta\":1e-5}";
    expect_problem(fixture_ask(f, &ask), "validation");
    ask.path = domain_path("/v1/teachers/%s/budgets/cli_nobody", id);
    expect_problem(fixture_ask(f, &ask), "not-found");
    ask = (struct ask){.path = path, .token = fixture_new_token(f, "student")};
    expect_problem(fixture_ask(f, &ask), "not-found");
    domain_expect_whole_ledger(f);
}

/* A teacher whose schedule ends in its fourth roll-out: 16, 12.8, 10.24, 8.2 < 1/0.1. */
static const char *vanishing_teacher(const char *at_floor)
{
    const char *body =
        teacher_with(domain_policy(f), domain_path("%s,\"vanishing\":0.8%s", MECHANISM, at_floor),
                     ADJACENCY, BUDGET ",\"client_budget\":{\"epsilon\":2,\"delta\":1e-5}");
    struct response *made = fixture_post(f, "steward", "/v1/teachers", body);
    expect_status(made, 201);
    return response_text(made, "/id");
}

Test(teachers, follow_the_vanishing_schedule_down_to_its_floor)
{
    const char *id = vanishing_teacher("");
    const char *next = domain_path("/v1/teachers/%s/rollouts", id);
    static const double schedule[] = {20, 16, 12.8, 10.24};
    double cost = INFINITY, spent = 0;
    struct response *r = NULL, *answer = fixture_post(f, "student", queries(id), STATE);
    expect_status(answer, 200); /* the first costs more, whatever its concentration */
    for (int i = 0; i < 4; i++) {
        answer = fixture_post(f, "student", queries(id), STATE);
        expect_status(answer, 200);
        cr_assert_float_eq(response_number(answer, "/concentration"), schedule[i], 1e-9);
        cr_assert(response_at(answer, "/at_floor") == NULL);
        cr_assert_lt(response_number(answer, "/cost/epsilon"), cost);
        cost = response_number(answer, "/cost/epsilon");
        spent = response_number(answer, "/spent/epsilon");
        expect_invalid(fixture_post(f, "student", queries(id),
                                    domain_path("{\"state\":[0,0,0,0],\"concentration\":%.17g}",
                                                1.001 * schedule[i])),
                       "/concentration");
        r = fixture_post(f, "student", next, NULL);
        expect_status(r, 200);
        cr_assert_eq(response_number(r, "/rollout"), i + 1);
        if (i == 3)
            break;
        cr_assert_float_eq(response_number(r, "/concentration"), schedule[i + 1], 1e-9);
        cr_assert(json_is_null(response_at(r, "/at_floor")));
    }
    cr_assert(response_at(r, "/concentration") == NULL);
    cr_assert_str_eq(response_text(r, "/at_floor"), "uniform");
    for (int i = 0; i < 3; i++) {
        answer = fixture_post(f, "student", queries(id), "{\"states\":[[0,0,0,0],[1,2,3,4]]}");
        expect_status(answer, 200);
        cr_assert_str_eq(response_text(answer, "/at_floor"), "uniform");
        cr_assert_eq(response_number(answer, "/probabilities/0/0"), 0.5);
        cr_assert_eq(response_number(answer, "/probabilities/1/1"), 0.5);
        cr_assert_eq(response_number(answer, "/concentration"), 0);
        cr_assert_eq(response_number(answer, "/cost/epsilon"), 0);
        cr_assert_eq(response_number(answer, "/cost/delta"), 0);
        cr_assert_eq(response_number(answer, "/spent/epsilon"), spent);
    }
    expect_invalid(
        fixture_post(f, "student", queries(id), "{\"state\":[0,0,0,0],\"concentration\":11}"),
        "/concentration");
    expect_invalid(fixture_post(f, "student", queries(id), "{\"state\":[0,0,0]}"), "/state");
    domain_expect_whole_ledger(f);
}

Test(teachers, fall_silent_at_the_floor_where_that_was_declared)
{
    const char *id = vanishing_teacher(",\"at_floor\":\"refuse\"");
    const char *next = domain_path("/v1/teachers/%s/rollouts", id);
    struct ask ask = {
        .path = queries(id), .token = fixture_token(f, "student"), .key = "old", .body = STATE};
    struct response *old = fixture_ask(f, &ask);
    expect_status(old, 200);
    for (int i = 0; i < 3; i++)
        fixture_post(f, "student", next, NULL);
    struct response *last = fixture_post(f, "student", queries(id), STATE);
    expect_status(last, 200);
    struct response *r = fixture_post(f, "student", next, NULL);
    cr_assert_str_eq(response_text(r, "/at_floor"), "refuse");
    expect_problem(fixture_post(f, "student", queries(id), STATE), "teacher-silent");
    cr_assert_str_eq(fixture_ask(f, &ask)->body, old->body, "the stored answer is the student's");
    const char *me = domain_path("/v1/teachers/%s/budgets/%s", id, fixture_client(f, "student"));
    cr_assert_eq(response_number(fixture_get(f, "student", me), "/spent/epsilon"),
                 response_number(last, "/spent/epsilon"));
}

Test(teachers, estimate_without_charging)
{
    const char *id = new_teacher(8, 2);
    const char *path = domain_path("/v1/teachers/%s/queries:estimate", id);
    struct response *one = fixture_post(f, "student", path, "{\"count\":1}");
    expect_status(one, 200);
    struct response *teacher = fixture_get(f, "student", domain_path("/v1/teachers/%s", id));
    cr_assert_float_eq(response_number(one, "/cost/epsilon"),
                       response_number(teacher, "/cost_per_query/epsilon"), 1e-9);
    int fits = (int)response_number(teacher, "/queries_in_client_budget");
    struct response *r = fixture_post(f, "student", path, domain_path("{\"count\":%d}", fits));
    cr_assert(json_is_true(response_at(r, "/feasible")));
    cr_assert(response_number(r, "/cost/epsilon") <= 2);
    r = fixture_post(f, "student", path, domain_path("{\"count\":%d}", fits + 1));
    cr_assert(json_is_false(response_at(r, "/feasible")));
    r = fixture_post(f, "student", path, domain_path("{\"count\":%d,\"concentration\":10}", fits));
    cr_assert(response_number(r, "/cost/epsilon") < 2);
    expect_invalid(fixture_post(f, "student", path, "{\"count\":0}"), "/count");
}

Test(teachers, no_client_gets_more_answers_than_the_teacher_has)
{
    const char *policy = domain_policy(f);
    struct response *small =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 2, 2));
    struct response *wide =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 2, 8));
    expect_status(wide, 201);
    cr_expect_eq(response_number(wide, "/queries_in_client_budget"),
                 response_number(small, "/queries_in_client_budget"));
    cr_expect_eq(json_array_size(response_at(small, "/warnings")), 0);
    const char *path = domain_path("/v1/teachers/%s", response_text(wide, "/id"));
    struct response *shown = fixture_get(f, "student", path);
    cr_expect(strstr(response_text(shown, "/warnings/0"), "no client gets more"));
}
