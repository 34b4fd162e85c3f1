/* Teachers made with "when_spent": once a budget is spent, an answer is a marked draw that nothing
 * private was read for, that costs nothing, and that is given again under its key. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

#define STATE     "{\"state\":[0.01,-0.02,0.03,0.04]}"
#define DIRICHLET "\"name\":\"dirichlet\",\"concentration\":20,\"min_probability\":0.1"
#define GAUSSIAN  "\"name\":\"gaussian_simplex\",\"sigma\":0.1"
#define RANDOM    ",\"when_spent\":\"random\""

TestSuite(spent_teacher, .init = service_open, .fini = service_close);

static const char *body_of(const char *policy, const char *mechanism, double client_epsilon,
                           const char *more)
{
    return domain_path("{\"policy\":\"%s\",\"mechanism\":{%s},\"adjacency\":{\"unit\":"
                       "\"observation\",\"radius\":0.01},\"budget\":{\"epsilon\":100,\"delta\":"
                       "1e-5},\"client_budget\":{\"epsilon\":%g,\"delta\":1e-5}%s}",
                       policy, mechanism, client_epsilon, more);
}

static struct response *teacher_of(const char *mechanism, double client_epsilon, const char *more)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers", body_of(domain_policy(f), mechanism, client_epsilon, more));
    expect_status(made, 201);
    return made;
}

static const char *queries(const struct response *teacher)
{
    return domain_path("/v1/teachers/%s/queries", response_text(teacher, "/id"));
}

/* A batch of so many states at which the policy plays the first action, nearly always. Valid until
 * the next call. */
static const char *batch_of(unsigned count)
{
    static char text[16384];
    size_t size = (size_t)snprintf(text, sizeof text, "{\"states\":[");
    for (unsigned i = 0; i < count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s[0,0,99,0]", i ? "," : "");
    cr_assert_lt(size, sizeof text - 3);
    strcat(text, "]}");
    return text;
}

/* Answers until the student's account cannot pay one more. */
static void spend_all(const struct response *teacher)
{
    double promised = response_number(teacher, "/queries_in_client_budget");
    cr_assert(promised >= 1 && promised < 5000, "%g", promised);
    for (double left = promised; left > 0; left -= fmin(left, 500)) {
        expect_status(
            fixture_post(f, "student", queries(teacher), batch_of((unsigned)fmin(left, 500))), 200);
    }
}

static const char *books(void)
{
    return fixture_get(f, "steward", "/v1/ledger/accounts")->body;
}

/* A marked answer: free, and no statement about the teacher. */
static void expect_random(const struct response *r)
{
    expect_status(r, 200);
    cr_expect(json_is_true(response_at(r, "/random")), "%s", r->body);
    cr_expect_eq(response_number(r, "/cost/epsilon"), 0);
    cr_expect_eq(response_number(r, "/cost/delta"), 0);
    cr_expect_float_eq(response_number(r, "/error_radius"), sqrt(2), 1e-12);
}

static void expect_paid(const struct response *r)
{
    expect_status(r, 200);
    cr_expect_null(response_at(r, "/random"), "%s", r->body);
    cr_expect_gt(response_number(r, "/cost/epsilon"), 0);
}

CHECKED_TEST(spent_teacher, refuses_unless_it_was_made_to_answer)
{
    const char *policy = domain_policy(f);
    static const char *const wrong[] = {"\"uniform\"", "\"RANDOM\"", "true", "1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *body =
            body_of(policy, DIRICHLET, 0.5, domain_path(",\"when_spent\":%s", wrong[i]));
        struct response *unknown = fixture_post(f, "steward", "/v1/teachers", body);
        expect_invalid(unknown, "/when_spent");
        cr_expect(i > 1 || (strstr(unknown->body, "refuse") && strstr(unknown->body, "random")),
                  "%s", unknown->body);
    }
    static const char *const silent[] = {"", ",\"when_spent\":\"refuse\""};
    for (size_t i = 0; i < 2; i++) {
        struct response *teacher = teacher_of(DIRICHLET, 0.5, silent[i]);
        cr_expect_str_eq(response_text(teacher, "/when_spent"), "refuse");
        spend_all(teacher);
        expect_problem(fixture_post(f, "student", queries(teacher), STATE), "budget-exhausted");
    }
}

CHECKED_TEST(spent_teacher, answers_are_marked_free_and_given_again)
{
    static const char *const mechanisms[] = {DIRICHLET, GAUSSIAN};
    static const char *const accountings[] = {RANDOM, RANDOM ",\"accounting\":\"basic\""};
    for (size_t i = 0; i < 4; i++) {
        struct response *teacher = teacher_of(mechanisms[i / 2], 4, accountings[i % 2]);
        cr_expect_str_eq(response_text(teacher, "/when_spent"), "random");
        spend_all(teacher);
        const char *before = books();
        struct ask ask = {.path = queries(teacher),
                          .token = fixture_token(f, "student"),
                          .key = domain_path("once-%zu", i),
                          .body = STATE};
        struct response *first = fixture_ask(f, &ask), *again = fixture_ask(f, &ask);
        expect_random(first);
        cr_expect_leq(response_number(first, "/spent/epsilon"), 4);
        cr_expect_gt(response_number(first, "/spent/epsilon"), 0);
        cr_expect_float_eq(response_number(first, "/probabilities/0") +
                               response_number(first, "/probabilities/1"),
                           1, 1e-12);
        cr_expect_str_eq(first->body, again->body);
        cr_expect_str_eq(response_header(again, "Idempotency-Replayed"), "true");
        struct response *other = fixture_post(f, "student", queries(teacher), STATE);
        expect_random(other);
        cr_expect_eq(response_number(other, "/spent/epsilon"),
                     response_number(first, "/spent/epsilon"));
        cr_expect_neq(response_number(other, "/probabilities/0"),
                      response_number(first, "/probabilities/0"), "drawn anew under another key");
        cr_expect_str_eq(books(), before, "no account has moved");
    }
}

CHECKED_TEST(spent_teacher, says_so_where_it_is_shown_and_certified)
{
    struct response *teacher = teacher_of(DIRICHLET, 0.5, RANDOM);
    const char *path = domain_path("/v1/teachers/%s", response_text(teacher, "/id"));
    cr_expect_str_eq(response_text(fixture_get(f, "student", path), "/when_spent"), "random");
    struct response *certificate = fixture_get(f, "student", domain_path("%s/certificate", path));
    cr_expect_str_eq(response_text(certificate, "/when_spent"), "random");
    cr_expect_not_null(strstr(certificate->body, "marked random"));
    teacher = teacher_of(DIRICHLET, 0.5, "");
    certificate = fixture_get(
        f, "student", domain_path("/v1/teachers/%s/certificate", response_text(teacher, "/id")));
    cr_expect_str_eq(response_text(certificate, "/when_spent"), "refuse");
    cr_expect_null(strstr(certificate->body, "marked random"));
}

CHECKED_TEST(spent_teacher, a_batch_is_paid_whole_or_random_whole)
{
    struct response *teacher = teacher_of(DIRICHLET, 0.5, RANDOM);
    unsigned payable = (unsigned)response_number(teacher, "/queries_in_client_budget");
    cr_assert(payable >= 2 && payable < 1000);
    struct response *r = fixture_post(f, "student", queries(teacher), batch_of(payable + 1));
    expect_random(r);
    cr_expect_eq(json_array_size(response_at(r, "/probabilities")), payable + 1);
    cr_expect_eq(response_number(r, "/spent/epsilon"), 0);
    cr_expect_eq(response_number(r, "/remaining/epsilon"), 0.5);
    /* What it could pay for is still there. */
    expect_paid(fixture_post(f, "student", queries(teacher), batch_of(payable)));
    expect_random(fixture_post(f, "student", queries(teacher), STATE));
}

CHECKED_TEST(spent_teacher, the_common_cap_counts_as_well)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{" DIRICHLET "},\"adjacency\":{\"unit\":"
                    "\"observation\",\"radius\":0.01},\"budget\":{\"epsilon\":0.5,\"delta\":1e-5},"
                    "\"client_budget\":{\"epsilon\":0.5,\"delta\":1e-5}" RANDOM "}",
                    domain_policy(f)));
    expect_status(made, 201);
    spend_all(made);
    struct ask ask = {.path = queries(made),
                      .token = fixture_new_token(f, "student"),
                      .key = "other",
                      .body = STATE};
    struct response *r = fixture_ask(f, &ask);
    expect_random(r);
    cr_expect_eq(response_number(r, "/spent/epsilon"), 0, "its own budget is untouched");
}

CHECKED_TEST(spent_teacher, pays_again_once_the_limit_is_raised)
{
    struct response *teacher = teacher_of(DIRICHLET, 0.5, RANDOM);
    spend_all(teacher);
    struct ask ask = {
        .path = queries(teacher), .token = fixture_token(f, "student"), .key = "k", .body = STATE};
    struct response *random = fixture_ask(f, &ask);
    expect_random(random);
    struct ask raise = {.method = "PUT",
                        .path =
                            domain_path("/v1/teachers/%s/budgets/%s", response_text(teacher, "/id"),
                                        fixture_client(f, "student")),
                        .token = fixture_token(f, "steward"),
                        .body = "{\"epsilon\":8,\"delta\":1e-5}",
                        .headers = {{"If-Match", "*"}}};
    expect_status(fixture_ask(f, &raise), 200);
    cr_expect_str_eq(fixture_ask(f, &ask)->body, random->body, "the key has its answer");
    expect_paid(fixture_post(f, "student", queries(teacher), STATE));
}

CHECKED_TEST(spent_teacher, weighs_the_wished_maximum_first)
{
    struct response *teacher = teacher_of(DIRICHLET, 0.5, RANDOM);
    spend_all(teacher);
    expect_problem(
        fixture_post(f, "student", queries(teacher), "{\"state\":[0,0,0,0],\"max_epsilon\":1e-9}"),
        "cost-above-maximum");
    expect_random(
        fixture_post(f, "student", queries(teacher), "{\"state\":[0,0,0,0],\"max_epsilon\":100}"));
}

/* The moments are those of the mechanism's law around the uniform distribution, whatever the policy
 * says: z = Dir(10, 10), or 1/2 + N(0, sigma^2 / 2). By Hoeffding's inequality each mean over 1024
 * draws from an interval of length w is farther than 0.09 w from its expectation with probability
 * at most 2 exp(-2 1024 0.09^2) = 2e-7. At the states of batch_of the policy's own answers have the
 * mean 0.9 (Dirichlet, after mixing) or nearly 1. */
CHECKED_TEST(spent_teacher, draws_around_the_uniform_distribution)
{
    static const struct {
        const char *mechanism;
        double variance;
    } laws[] = {{DIRICHLET, 0.25 / 21}, {GAUSSIAN, 0.005}};
    for (size_t i = 0; i < 2; i++) {
        struct response *teacher = teacher_of(laws[i].mechanism, 0.5, RANDOM);
        cr_assert_lt(response_number(teacher, "/queries_in_client_budget"), 1024);
        struct response *r = fixture_post(f, "student", queries(teacher), batch_of(1024));
        expect_random(r);
        double mean = 0, square = 0;
        for (unsigned d = 0; d < 1024; d++) {
            double z = response_number(r, domain_path("/probabilities/%u/0", d));
            mean += z / 1024;
            square += (z - 0.5) * (z - 0.5) / 1024;
        }
        cr_expect_float_eq(mean, 0.5, 0.09);
        cr_expect_float_eq(square, laws[i].variance, 0.09 * 0.25);
        cr_expect_gt(square, 0);
        expect_paid(fixture_post(f, "student", queries(teacher), batch_of(1)));
    }
}

CHECKED_TEST(spent_teacher, is_marked_in_the_open_inference_protocol)
{
    struct response *teacher = teacher_of(GAUSSIAN, 0.5, RANDOM);
    const char *path = domain_path("/v2/models/%s/infer", response_text(teacher, "/id"));
    static const char body[] = "{\"inputs\":[{\"name\":\"state\",\"datatype\":\"FP32\",\"shape\":"
                               "[1,4],\"data\":[0,0,99,0]}]}";
    struct response *paid = fixture_post(f, "student", path, body);
    expect_status(paid, 200);
    cr_expect_null(response_at(paid, "/parameters/random"));
    while (fixture_post(f, "student", queries(teacher), batch_of(50)) &&
           !json_is_true(response_at(fixture_post(f, "student", path, body), "/parameters/random")))
        continue;
    struct response *r = fixture_post(f, "student", path, body);
    cr_expect(json_is_true(response_at(r, "/parameters/random")));
    cr_expect_eq(response_number(r, "/parameters/cost_epsilon"), 0);
}

/* The Open Inference Protocol marks the floor as well. */
CHECKED_TEST(spent_teacher, the_floor_is_marked_in_the_open_inference_protocol)
{
    struct response *teacher = teacher_of(DIRICHLET ",\"vanishing\":0.1", 4, "");
    const char *id = response_text(teacher, "/id");
    const char *path = domain_path("/v2/models/%s/infer", id);
    static const char body[] = "{\"inputs\":[{\"name\":\"state\",\"datatype\":\"FP32\",\"shape\":"
                               "[1,4],\"data\":[0,0,99,0]}]}";
    struct response *paid = fixture_post(f, "student", path, body);
    expect_status(paid, 200);
    cr_expect_null(response_at(paid, "/parameters/at_floor"));
    expect_status(fixture_post(f, "student", domain_path("/v1/teachers/%s/rollouts", id), NULL),
                  200);
    struct response *r = fixture_post(f, "student", path, body);
    cr_expect_str_eq(response_text(r, "/parameters/at_floor"), "uniform");
    cr_expect_null(response_at(r, "/parameters/random"));
}

/* The end of the schedule is another thing than the end of the budget, and comes first. */
CHECKED_TEST(spent_teacher, leaves_the_floor_of_a_schedule_as_it_is)
{
    struct response *teacher =
        teacher_of(DIRICHLET ",\"vanishing\":0.1,\"at_floor\":\"refuse\"", 0.5, RANDOM);
    spend_all(teacher);
    expect_random(fixture_post(f, "student", queries(teacher), STATE));
    expect_status(
        fixture_post(f, "student",
                     domain_path("/v1/teachers/%s/rollouts", response_text(teacher, "/id")), NULL),
        200);
    expect_problem(fixture_post(f, "student", queries(teacher), STATE), "teacher-silent");
}

/* ---- of experts, where the dataset pays as well */

static const char *expert_teacher(const char *dataset)
{
    struct response *job = domain_run(
        f, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":50,\"parameters\":"
                       "{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                       dataset));
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{" GAUSSIAN "},\"adjacency\":{\"unit\":"
                    "\"expert\"},\"budget\":{\"epsilon\":6,\"delta\":1e-6},\"client_budget\":"
                    "{\"epsilon\":6,\"delta\":1e-6}" RANDOM "}",
                    response_text(job, "/policy")));
    expect_status(made, 201);
    return queries(made);
}

/* What a job holds may come back, so it is no end: the question is refused as ever. What the job
 * has paid does not come back. */
CHECKED_TEST(spent_teacher, a_reserved_budget_is_not_a_spent_one)
{
    const char *dataset = domain_sealed(f, "private", 12), *path = expert_teacher(dataset);
    struct response *job =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 9.5, 20));
    expect_status(job, 202);
    expect_problem(fixture_post(f, "student", path, STATE), "budget-reserved");
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    cr_assert_str_eq(response_text(domain_job(f, job), "/state"), "succeeded");
    double spent = domain_spent(f, dataset);
    struct response *r = fixture_post(f, "student", path, STATE);
    expect_random(r);
    cr_expect_eq(response_number(r, "/spent/epsilon"), 0);
    cr_expect_eq(domain_spent(f, dataset), spent);
}

/* "reuse" gives a paid answer again, not a random one. */
CHECKED_TEST(spent_teacher, reuse_keeps_paid_answers_alone)
{
    static const char again[] = "{\"state\":[0,0,1,0],\"reuse\":\"exact\"}",
                      other[] = "{\"state\":[0,0,2,0],\"reuse\":\"exact\"}";
    const char *dataset = domain_sealed(f, "private", 12), *path = expert_teacher(dataset);
    struct response *paid = fixture_post(f, "student", path, again);
    expect_paid(paid);
    while (!json_is_true(response_at(fixture_post(f, "student", path, STATE), "/random")))
        continue;
    cr_expect_str_eq(fixture_post(f, "student", path, again)->body, paid->body);
    struct response *one = fixture_post(f, "student", path, other),
                    *two = fixture_post(f, "student", path, other);
    expect_random(one);
    expect_random(two);
    cr_expect_str_neq(one->body, two->body);
}
