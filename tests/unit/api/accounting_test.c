/* POST /v1/accounting:compose: figures of oracles, refusals with places, and that the events of the
 * ledger cost what the ledger charged. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(accounting, .init = service_open, .fini = service_close);

#define PATH     "/v1/accounting:compose"
#define GAUSSIAN "{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":1}"
#define STATE    "{\"state\":[0.01,-0.02,0.03,0.04]}"

/* The answer to EVENTS with the member QUESTION. */
static struct response *compose(const char *events, const char *question)
{
    return fixture_post(f, "agent", PATH, domain_path("{\"events\":%s,%s}", events, question));
}

static const char *steps(double rate, double noise, double count)
{
    return domain_path("{\"type\":\"SelfComposedDpEvent\",\"count\":%.0f,\"event\":{\"type\":"
                       "\"PoissonSampledDpEvent\",\"sampling_probability\":%.17g,\"event\":{"
                       "\"type\":\"GaussianDpEvent\",\"noise_multiplier\":%.17g}}}",
                       count, rate, noise);
}

/* The epsilon from both sides holds EXACT and is no wider than WIDTH times it. */
static void expect_epsilon(const struct response *r, double exact, double width)
{
    expect_status(r, 200);
    double upper = response_number(r, "/epsilon"), lower = response_number(r, "/epsilon_lower");
    cr_expect(lower <= exact * (1 + 1e-9) && upper >= exact * (1 - 1e-9), "%g not in %s", exact,
              r->body);
    cr_expect(upper - lower <= width * exact, "%s", r->body);
}

/* Cases of tests/golden/privacy: subsampled_gaussian.json, gaussian.json, composition.json. */
Test(accounting, agrees_with_oracles)
{
    static const double sampled[][5] = {
        {0.1, 40, 100000, 0.0003333333333333333, 2.618345469666098},
        {0.042666666666666665, 2, 10000, 1e-5, 11.789920687772474},
        {0.021333333333333333, 1, 1000, 1e-5, 4.187535691205063},
        {0.5, 0.8, 1, 1e-5, 4.786232156829799},
    };
    for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++) {
        const double *c = sampled[i];
        struct response *r = compose(steps(c[0], c[1], c[2]), domain_path("\"delta\":%.17g", c[3]));
        expect_epsilon(r, c[4], 1e-3);
        cr_expect_str_eq(response_text(r, "/accountant"), "pld");
        cr_expect(response_number(r, "/epsilon_renyi") >= c[4]);
        cr_expect_float_eq(response_number(r, "/epsilon_exact"), c[4], 1e-8 * c[4]);
    }
    struct response *r = compose("[" GAUSSIAN "," GAUSSIAN "]", "\"delta\":1e-5");
    expect_epsilon(r, 6.572970067030331, 1e-9);
    cr_expect_str_eq(response_text(r, "/accountant"), "gdp");
    r = compose("[" GAUSSIAN "," GAUSSIAN "]", "\"epsilon\":3");
    expect_status(r, 200);
    cr_expect_float_eq(response_number(r, "/delta"), 0.03167219418578685, 1e-12);
    cr_expect_float_eq(response_number(r, "/delta_lower"), 0.03167219418578685, 1e-12);
    cr_expect_eq(response_number(r, "/epsilon"), 3);
    r = compose("{\"type\":\"SelfComposedDpEvent\",\"count\":25,\"event\":{\"type\":"
                "\"EpsilonDeltaDpEvent\",\"epsilon\":0.1,\"delta\":0}}",
                "\"delta\":1e-4");
    expect_epsilon(r, 1.639379448751181, 1e-3);
}

/* dirichlet.json, eps_rdp: the upper figure; what one pair costs lies below it. */
Test(accounting, prices_dirichlet_answers_from_both_sides)
{
    static const double cases[][6] = {
        {4, 20, 0.05, 0.01, 1, 2.0906528739810253},
        {4, 20, 0.05, 0.01, 100, 15.139371848920073},
    };
    for (size_t i = 0; i < 2; i++) {
        const double *c = cases[i];
        struct response *r =
            compose(domain_path("{\"type\":\"SelfComposedDpEvent\",\"count\":%g,\"event\":{"
                                "\"type\":\"DirichletDpEvent\",\"actions\":%g,\"concentration\":%g,"
                                "\"min_probability\":%g,\"sensitivity\":%g}}",
                                c[4], c[0], c[1], c[2], c[3]),
                    "\"delta\":1e-5");
        expect_epsilon(r, c[5], 0.25);
        cr_expect_float_eq(response_number(r, "/epsilon"), c[5], 1e-3 * c[5]);
        cr_expect_str_eq(response_text(r, "/accountant"), "renyi");
        cr_expect(response_number(r, "/epsilon_lower") > 0.75 * c[5]);
    }
}

/* The reply holds the events as they were read: asked with, they cost the same and come back. */
Test(accounting, gives_the_events_back)
{
    struct response *first =
        compose(domain_path("[%s,%s,{\"type\":\"NoOpDpEvent\"}]", GAUSSIAN, steps(0.1, 2, 50)),
                "\"delta\":1e-5");
    expect_status(first, 200);
    cr_assert_str_eq(response_text(first, "/events/type"), "ComposedDpEvent");
    cr_assert_str_eq(response_text(first, "/events/events/1/event/type"), "PoissonSampledDpEvent");
    char *events = json_dumps(response_at(first, "/events"), JSON_COMPACT);
    struct response *second = compose(events, "\"delta\":1e-5");
    cr_assert_str_eq(second->body, first->body);
    free(events);
}

Test(accounting, is_for_every_role_and_no_stranger)
{
    static const char *const roles[] = {"admin",   "steward", "contributor",
                                        "student", "agent",   "auditor"};
    const char *body = "{\"events\":" GAUSSIAN ",\"delta\":1e-5}";
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        expect_status(fixture_post(f, roles[i], PATH, body), 200);
    expect_problem(fixture_post(f, NULL, PATH, body), "unauthorized");
}

Test(accounting, refuses_with_a_place)
{
    static const char *const cases[][2] = {
        {"{}", "/events"},
        {"[]", ""},
        {"{\"events\":" GAUSSIAN "}", ""},
        {"{\"events\":" GAUSSIAN ",\"delta\":1e-5,\"epsilon\":1}", ""},
        {"{\"events\":" GAUSSIAN ",\"delta\":0}", "/delta"},
        {"{\"events\":" GAUSSIAN ",\"delta\":1}", "/delta"},
        {"{\"events\":" GAUSSIAN ",\"delta\":-1e-5}", "/delta"},
        {"{\"events\":" GAUSSIAN ",\"delta\":1e999}", "/delta"},
        {"{\"events\":" GAUSSIAN ",\"delta\":\"1e-5\"}", "/delta"},
        {"{\"events\":" GAUSSIAN ",\"epsilon\":-1}", "/epsilon"},
        {"{\"events\":" GAUSSIAN ",\"delta\":1e-5,\"dleta\":1}", "/dleta"},
        {"{\"events\":null,\"delta\":1e-5}", "/events"},
        {"{\"events\":[],\"delta\":1e-5}", "/events"},
        {"{\"events\":{\"type\":\"ComposedDpEvent\",\"events\":[]},\"delta\":1e-5}",
         "/events/events"},
        {"{\"events\":{\"type\":\"NoOpDpEvent\"},\"delta\":1e-5}", "/events"},
        {"{\"events\":[" GAUSSIAN ",{\"type\":\"NonPrivateDpEvent\"}],\"delta\":1e-5}", "/events"},
        {"{\"events\":{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":-1},\"delta\":1e-5}",
         "/events/noise_multiplier"},
        {"{\"events\":{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":1e999},\"delta\":1e-5}",
         "/events/noise_multiplier"},
        {"{\"events\":{\"type\":\"PoissonSampledDpEvent\",\"sampling_probability\":0.1,\"event\":{"
         "\"type\":\"LaplaceDpEvent\",\"noise_multiplier\":1}},\"delta\":1e-5}",
         "/events"},
        {"{\"events\":{\"type\":\"SelfComposedDpEvent\",\"count\":1000000,\"event\":{\"type\":"
         "\"SelfComposedDpEvent\",\"count\":10000000,\"event\":" GAUSSIAN "}},\"delta\":1e-5}",
         "/events"},
        {"{\"events\":{\"type\":\"EpsilonDeltaDpEvent\",\"epsilon\":1,\"delta\":1e-4},"
         "\"delta\":1e-5}",
         "/events"},
        {"{\"events\":{\"type\":\"PoissonSampledDpEvent\",\"sampling_probability\":0.1,\"event\":{"
         "\"type\":\"GaussianDpEvent\",\"noise_multiplier\":1e-9}},\"delta\":1e-5}",
         "/events"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_invalid(fixture_post(f, "agent", PATH, cases[i][0]), cases[i][1]);
    expect_problem(fixture_post(f, "agent", PATH, "{\"events\":" GAUSSIAN ",\"delta\":NaN}"),
                   "not-json");
}

Test(accounting, prices_sixteen_mechanisms_and_no_more)
{
    char events[4000] = "[";
    for (unsigned i = 1; i <= 17; i++) {
        size_t size = strlen(events);
        snprintf(events + size, sizeof events - size,
                 "%s{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":%u},"
                 "{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":%u}",
                 i == 1 ? "" : ",", 10 + i, 10 + i);
        if (i < 16)
            continue;
        struct response *r = compose(domain_path("%s]", events), "\"delta\":1e-5");
        if (i == 16)
            expect_status(r, 200);
        else
            expect_invalid(r, "/events");
    }
}

/* Each of these took from seconds to minutes. */
Test(accounting, ends_its_work)
{
    static const double rare[][3] = {{1e-7, 0.6, 100}, {1e-6, 0.3, 1e8}, {0.01, 0.3, 1e12}};
    for (size_t i = 0; i < sizeof rare / sizeof *rare; i++) {
        struct response *r = compose(steps(rare[i][0], rare[i][1], rare[i][2]), "\"delta\":1e-9");
        expect_invalid(r, "/events");
        cr_expect(strstr(r->body, "steps to account for") != NULL, "%s", r->body);
    }
}

/* COUNT subsampled Gaussians with little noise beside a Dirichlet answer: orders are searched. */
static struct response *compose_beside_dirichlet(unsigned count, double noise)
{
    char events[4000] = "[{\"type\":\"DirichletDpEvent\",\"actions\":2,\"concentration\":20,"
                        "\"min_probability\":0.1,\"sensitivity\":0.01}";
    for (unsigned i = 0; i < count; i++) {
        size_t size = strlen(events);
        snprintf(events + size, sizeof events - size, ",%s",
                 steps(1e-3, noise * (1 + 0.01 * i), 1));
    }
    return compose(domain_path("%s]", events), "\"delta\":1e-5");
}

static bool takes_too_much(const struct response *r)
{
    return r->status == 422 && strstr(r->body, "steps to account for");
}

/* The dearest took a minute. */
Test(accounting, ends_its_work_with_renyi_divergences)
{
    unsigned permitted = 0;
    expect_status(compose_beside_dirichlet(15, 1.0), 200);
    while (permitted < 15 && !takes_too_much(compose_beside_dirichlet(permitted + 1, 0.02)))
        permitted++;
    cr_expect(permitted > 0 && permitted < 15, "%u", permitted);
    cr_expect(takes_too_much(compose_beside_dirichlet(15, 0.02)));
}

/* ---- the ledger's own events */

/* The event of entry INDEX of ACCOUNT, as text. */
static const char *event_of(const char *account, unsigned index)
{
    struct response *entries =
        fixture_get(f, "steward", domain_path("/v1/ledger/accounts/%s/entries", account));
    expect_status(entries, 200);
    json_t *event = response_at(entries, domain_path("/items/%u/event", index));
    cr_assert(json_is_object(event), "%s", entries->body);
    char *text = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(17));
    const char *kept = domain_path("%s", text);
    free(text);
    return kept;
}

static struct response *teacher(const char *mechanism)
{
    struct response *r = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":%s,\"adjacency\":{\"unit\":\"observation\","
                    "\"radius\":0.01},\"budget\":{\"epsilon\":8,\"delta\":1e-4},"
                    "\"client_budget\":{\"epsilon\":2,\"delta\":1e-5}}",
                    domain_policy(f), mechanism));
    expect_status(r, 201);
    return r;
}

static void ask(const struct response *of, const char *body)
{
    expect_status(fixture_post(f, "student",
                               domain_path("/v1/teachers/%s/queries", response_text(of, "/id")),
                               body),
                  200);
}

/* Composed over all orders, answers cost at most what the account of one order says is spent. */
Test(accounting, reads_the_events_of_answers)
{
    static const char *const mechanisms[][3] = {
        {"{\"concentration\":20}", "DirichletDpEvent", "renyi"},
        {"{\"name\":\"gaussian_simplex\",\"sigma\":0.05}", "GaussianDpEvent", "gdp"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct response *made = teacher(mechanisms[i][0]);
        const char *account = response_text(made, "/account");
        ask(made, STATE);
        ask(made, "{\"states\":[[0,0,0,0],[0,0,0,1],[1,0,0,0]]}");
        const char *one = event_of(account, 1), *three = event_of(account, 2);
        cr_expect_not_null(strstr(one, mechanisms[i][1]), "%s", one);
        cr_expect_not_null(strstr(three, "\"count\":3"), "%s", three);
        struct response *cost =
            compose(domain_path("[%s,%s,%s]", event_of(account, 0), one, three), "\"delta\":1e-4");
        expect_status(cost, 200);
        cr_expect_str_eq(response_text(cost, "/accountant"), mechanisms[i][2]);
        struct response *spent =
            fixture_get(f, "steward", domain_path("/v1/ledger/accounts/%s", account));
        double charged = response_number(spent, "/spent/epsilon");
        cr_expect(response_number(cost, "/epsilon") <= charged * (1 + 1e-9), "%s of %g", cost->body,
                  charged);
        cr_expect(response_number(cost, "/epsilon_lower") > 0.05 * charged, "%s of %g", cost->body,
                  charged);
    }
}

/* Posts a private job with ARITHMETIC, composes the event of each of its entries and compares it
 * with the job's estimate: every figure within SLACK of it, and none above what was charged. */
static void expect_event_of_job(const char *arithmetic, double slack)
{
    const char *id = domain_sealed(f, "private", 10);
    const char *body = domain_path(
        "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\",\"privacy\":"
        "{\"epsilon\":5,\"delta\":1e-6},\"parameters\":{\"hidden\":[4],\"batch_size\":2,"
        "\"steps\":20,\"arithmetic\":\"%s\"}}",
        id, arithmetic);
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
    expect_status(estimate, 200);
    domain_run(f, body);
    struct response *budget = fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", id));
    const char *account = response_text(budget, "/account");
    for (unsigned entry = 1; entry <= 2; entry++) {
        double delta = response_number(estimate, "/plan/delta");
        struct response *cost =
            compose(event_of(account, entry), domain_path("\"delta\":%.17g", delta));
        expect_status(cost, 200);
        static const char *const same[][2] = {{"/epsilon", "/plan/epsilon"},
                                              {"/epsilon_lower", "/plan/epsilon_lower"},
                                              {"/epsilon_renyi", "/plan/epsilon_renyi"}};
        for (size_t i = 0; i < 3; i++) {
            double planned = response_number(estimate, same[i][1]);
            cr_expect_float_eq(response_number(cost, same[i][0]), planned, slack * planned, "%s %s",
                               cost->body, estimate->body);
        }
        cr_expect_leq(response_number(cost, "/epsilon"),
                      response_number(estimate, "/plan/epsilon"));
    }
}

/* To the digit in float. In exact arithmetic the plan sets a thousandth of delta aside, and whoever
 * composes the event divides delta as is best. */
Test(accounting, reads_the_event_of_a_job)
{
    expect_event_of_job("float", 0);
    expect_event_of_job("exact", 2e-4);
}
