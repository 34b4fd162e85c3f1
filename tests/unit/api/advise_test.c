/* jobs:advise, the estimate's advice, the refusal of hopeless plans, and "auto". */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/ask/job_advice.h"
#include "storage/jobs.h"
#include "tests/unit/api/service.h"

TestSuite(advise, .init = service_open, .fini = service_close);
TestSuite(hopeless, .init = service_open, .fini = service_close);
TestSuite(auto, .init = service_open, .fini = service_close);

#define ADVISE "/v1/jobs:advise"

static const char *facts_body(unsigned experts, double epsilon, const char *more)
{
    return domain_path("{\"experts\":%u,\"privacy\":{\"epsilon\":%g,\"delta\":1e-6}%s}", experts,
                       epsilon, more);
}

static const char *member_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* ---- asking the advisor */

Test(advise, ranks_candidates_from_facts)
{
    struct response *r =
        fixture_post(f, "steward", ADVISE, facts_body(300, 3, ",\"environment\":\"cartpole\""));
    expect_status(r, 200);
    const json_t *list = response_at(r, "/candidates"), *one;
    size_t i;
    double before = INFINITY;
    bool hopeless = false;
    cr_assert_gt(json_array_size(list), 5);
    json_array_foreach(list, i, one)
    {
        double expected =
            json_number_value(json_object_get(json_object_get(one, "quality"), "expected"));
        bool now = strcmp(member_text(one, "verdict"), "hopeless") == 0;
        cr_assert(now || !hopeless, "hopeless ones come last");
        cr_assert(expected <= before || now != hopeless);
        before = expected;
        hopeless = now;
        cr_assert_str_not_empty(member_text(one, "sentence"));
        cr_assert_null(json_object_get(json_object_get(one, "job"), "dataset"));
    }
    cr_assert_eq(response_number(r, "/facts/experts"), 300);
    cr_assert_eq(response_number(r, "/facts/state_dim"), 4);
}

Test(advise, offers_a_grid_only_where_bounds_are_known)
{
    const char *without = ",\"state_dim\":2,\"action_count\":3";
    const char *with = ",\"state_dim\":2,\"action_count\":3,\"bounds\":{\"low\":[0,0],"
                       "\"high\":[1,2]}";
    struct response *r = fixture_post(f, "steward", ADVISE, facts_body(300, 3, without));
    expect_status(r, 200);
    cr_assert_null(strstr(r->body, "\"grid\""));
    cr_assert_null(strstr(r->body, "consensus"), "no world was named");
    r = fixture_post(f, "steward", ADVISE, facts_body(300, 3, with));
    expect_status(r, 200);
    cr_assert_not_null(strstr(r->body, "\"grid\""));
}

Test(advise, says_what_a_forecast_of_a_coarse_grid_does_not_know)
{
    const char *more = ",\"state_dim\":5,\"action_count\":3,\"bounds\":{\"low\":[0,0,0,0,0],"
                       "\"high\":[1,2,1,1,1]}";
    struct response *r = fixture_post(f, "steward", ADVISE, facts_body(900, 5, more));
    expect_status(r, 200);
    const json_t *one;
    size_t i;
    unsigned grids = 0;
    json_array_foreach(response_at(r, "/candidates"), i, one)
    {
        const json_t *privacy = json_object_get(json_object_get(one, "job"), "privacy");
        bool grid = json_object_get(json_object_get(privacy, "consensus"), "grid");
        bool says = strstr(member_text(one, "sentence"), "fewer than five points of a number");
        cr_expect_eq(grid, says, "%s", member_text(one, "sentence"));
        cr_expect(!grid || strcmp(member_text(one, "verdict"), "good") != 0);
        grids += grid;
    }
    cr_expect_gt(grids, 0);
}

/* The id of a dataset that examples/ward.json describes. */
static const char *ward_dataset(void)
{
    json_t *description = json_load_file("examples/ward.json", 0, NULL);
    cr_assert_not_null(description);
    json_t *body =
        json_pack("{s:s, s:o, s:i, s:i, s:f, s:{s:i, s:f}}", "name", "ward", "description",
                  description, "nominal_experts", 600, "max_episode_steps", 72, "discount", 0.95,
                  "budget", "epsilon", 6, "delta", 1e-5);
    char *text = json_dumps(body, 0);
    const char *id = domain_sealed_lines(
        f, text,
        "{\"expert\":\"a\",\"states\":[[90,80,0,95,1,0],[90,80,0,95,1,0]],\"actions\":[0],"
        "\"rewards\":[0],\"terminated\":true,\"truncated\":false}\n");
    free(text);
    json_decref(body);
    return id;
}

/* Nobody is in a state of no category, or of two: a vote there would be paid for in vain. */
Test(advise, asks_at_a_grid_whose_every_state_can_be)
{
    const char *body = domain_path(
        "{\"dataset\":\"%s\",\"privacy\":{\"epsilon\":3,\"delta\":1e-6}}", ward_dataset());
    struct response *r = fixture_post(f, "steward", ADVISE, body);
    expect_status(r, 200);
    const json_t *one;
    size_t i;
    unsigned grids = 0;
    json_array_foreach(response_at(r, "/candidates"), i, one)
    {
        json_t *job = json_object_get(one, "job");
        const json_t *privacy = json_object_get(job, "privacy");
        if (!json_object_get(json_object_get(privacy, "consensus"), "grid"))
            continue;
        grids++;
        cr_expect(strstr(member_text(one, "sentence"), "The grid is a list of 512 states."));
        cr_expect(strstr(member_text(one, "sentence"), "fewer than five points of a number"));
        cr_expect_str_neq(member_text(one, "verdict"), "good");
        char *text = json_dumps(job, 0);
        struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", text);
        free(text);
        expect_status(estimate, 200);
        cr_expect_eq(response_number(estimate, "/plan/consensus/labels"), 512); /* 4^4 x 2 */
        cr_expect_eq(json_array_size(response_at(estimate, "/grid_warnings")), 0, "%s",
                     estimate->body);
        cr_expect_eq(json_array_size(response_at(estimate, "/grid_spacing")), 4);
        cr_expect_str_eq(response_text(estimate, "/grid_spacing/0"),
                         "heart_rate: every 63.33 1/min, from 30 to 220");
        cr_expect_str_eq(response_text(estimate, "/grid_spacing/2"),
                         "lactate: by factors of 4.05, from 0.3 to 20 mmol/l");
        cr_expect_str_eq(response_text(estimate, "/advice/verdict"), member_text(one, "verdict"));
    }
    cr_expect_eq(grids, 1, "%s", r->body);
}

Test(advise, offers_what_is_wanted)
{
    const char *bounds = ",\"state_dim\":2,\"action_count\":3,\"want\":\"%s\",\"bounds\":{"
                         "\"low\":[0,0],\"high\":[1,2]}";
    char more[256];
    snprintf(more, sizeof more, bounds, "teacher");
    struct response *r = fixture_post(f, "steward", ADVISE, facts_body(300, 3, more));
    expect_status(r, 200);
    cr_assert_gt(response_number(r, "/candidates/0/job/shards"), 1, "%s", r->body);
    snprintf(more, sizeof more, bounds, "q_release");
    r = fixture_post(f, "steward", ADVISE, facts_body(300, 3, more));
    expect_status(r, 200);
    cr_assert_str_eq(response_text(r, "/candidates/0/job/algorithm"), "gp_q_learning");
    cr_assert_eq(response_number(r, "/candidates/0/job/parameters/high/1"), 2);
    r = fixture_post(f, "steward", ADVISE,
                     facts_body(300, 3, ",\"environment\":\"cartpole\",\"want\":\"q_release\""));
    expect_invalid(r, "/bounds");
    r = fixture_post(f, "steward", ADVISE,
                     facts_body(300, 3, ",\"environment\":\"cartpole\",\"want\":\"fame\""));
    expect_invalid(r, "/want");
}

Test(advise, says_what_would_be_enough)
{
    struct response *r =
        fixture_post(f, "steward", ADVISE, facts_body(3, 0.2, ",\"environment\":\"cartpole\""));
    expect_status(r, 200);
    cr_expect_geq(response_number(r, "/enough/weak/experts"), 30, "no run had fewer");
    double experts = response_number(r, "/enough/good/experts");
    cr_assert_gt(experts, 3);
    r = fixture_post(f, "steward", ADVISE,
                     facts_body((unsigned)experts, 0.2, ",\"environment\":\"cartpole\""));
    cr_assert_str_eq(response_text(r, "/candidates/0/verdict"), "good", "%s", r->body);
}

Test(advise, refuses_nonsense)
{
    static const char *const cases[][2] = {
        {"{}", "/privacy"},
        {"{\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}", "/experts"},
        {"{\"experts\":0,\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}", "/experts"},
        {"{\"experts\":1,\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}", "/experts"},
        {"{\"experts\":1e12,\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}", "/experts"},
        {"{\"experts\":30,\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}", "/state_dim"},
        {"{\"experts\":30,\"state_dim\":3,\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}",
         "/action_count"},
        {"{\"experts\":30,\"state_dim\":3,\"action_count\":1,\"privacy\":{\"epsilon\":1,"
         "\"delta\":1e-6}}",
         "/action_count"},
        {"{\"experts\":30,\"environment\":\"cartpole\",\"privacy\":{\"epsilon\":0,"
         "\"delta\":1e-6}}",
         "/privacy/epsilon"},
        {"{\"experts\":30,\"environment\":\"cartpole\",\"privacy\":{\"epsilon\":-1,"
         "\"delta\":1e-6}}",
         "/privacy/epsilon"},
        {"{\"experts\":30,\"environment\":\"cartpole\",\"privacy\":{\"epsilon\":1}}",
         "/privacy/delta"},
        {"{\"experts\":30,\"environment\":\"mars\",\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}",
         "/environment"},
        {"{\"experts\":30,\"environment\":\"cartpole\",\"state_dim\":5,\"privacy\":{"
         "\"epsilon\":1,\"delta\":1e-6}}",
         "/state_dim"},
        {"{\"experts\":30,\"environment\":\"cartpole\",\"action_count\":3,\"privacy\":{"
         "\"epsilon\":1,\"delta\":1e-6}}",
         "/action_count"},
        {"{\"experts\":30,\"state_dim\":2,\"action_count\":2,\"bounds\":{\"low\":[0],"
         "\"high\":[1,1]},\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}",
         "/bounds/low"},
        {"{\"experts\":30,\"state_dim\":2,\"action_count\":2,\"bounds\":{\"low\":[0,3],"
         "\"high\":[1,1]},\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}",
         "/bounds/high/1"},
        {"{\"experts\":30,\"environment\":\"cartpole\",\"wish\":\"fame\",\"privacy\":{"
         "\"epsilon\":1,\"delta\":1e-6}}",
         "/wish"},
        {"{\"dataset\":\"ds_x\",\"experts\":30,\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}",
         "/experts"},
        {"{\"dataset\":\"ds_x\",\"environment\":\"cartpole\",\"privacy\":{\"epsilon\":1,"
         "\"delta\":1e-6}}",
         "/environment"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(fixture_post(f, "steward", ADVISE, cases[i][0]), cases[i][1]);
}

static const char *of_dataset(const char *id)
{
    return domain_path("{\"dataset\":\"%s\",\"privacy\":{\"epsilon\":4,\"delta\":1e-6}}", id);
}

Test(advise, keeps_datasets_apart)
{
    const char *empty = domain_dataset(f, "private"), *one = domain_sealed(f, "private", 1);
    expect_problem(fixture_post(f, "steward", ADVISE, of_dataset("ds_nothing")), "not-found");
    expect_problem(fixture_post(f, "steward", ADVISE, of_dataset(empty)), "dataset-empty");
    expect_invalid(fixture_post(f, "steward", ADVISE, of_dataset(one)), "/dataset");
    struct ask ask = {
        .path = ADVISE, .token = fixture_new_token(f, "steward"), .body = of_dataset(one)};
    expect_problem(fixture_ask(f, &ask), "not-found");
    expect_problem(fixture_post(f, "student", ADVISE, of_dataset(one)), "forbidden");
}

/* Every candidate is a job that the same server accepts, with the same forecast. */
Test(advise, gives_bodies_that_can_be_sent_as_they_are)
{
    const char *id = domain_sealed(f, "private", 12);
    struct response *r = fixture_post(f, "steward", ADVISE, of_dataset(id));
    expect_status(r, 200);
    const json_t *list = response_at(r, "/candidates"), *one;
    size_t i;
    cr_assert_gt(json_array_size(list), 3);
    json_array_foreach(list, i, one)
    {
        char *body = json_dumps(json_object_get(one, "job"), 0);
        struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
        expect_status(estimate, 200);
        cr_assert_eq(response_number(estimate, "/advice/signal"),
                     json_number_value(json_object_get(one, "signal")), "%s", body);
        cr_assert_str_eq(response_text(estimate, "/advice/verdict"), member_text(one, "verdict"));
        free(body);
    }
    cr_assert_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
}

/* Nothing says how large the numbers of such a dataset are, until its owner does. */
Test(advise, scales_the_numbers_of_a_bare_dataset_by_its_bounds)
{
    const char *id = domain_sealed_of(
        f,
        "{\"name\":\"d\",\"state_dim\":4,\"action_count\":2,\"max_episode_steps\":500,"
        "\"discount\":0.9,\"sensitivity\":\"private\",\"budget\":{\"epsilon\":10,\"delta\":1e-5}}",
        12);
    expect_invalid(fixture_post(f, "steward", ADVISE, of_dataset(id)), "/bounds");
    struct response *r = fixture_post(
        f, "steward", ADVISE,
        domain_path("{\"dataset\":\"%s\",\"privacy\":{\"epsilon\":4,\"delta\":1e-6},\"bounds\":{"
                    "\"low\":[-2,-2,-2,-2],\"high\":[2,2,2,6]}}",
                    id));
    expect_status(r, 200);
    cr_assert_eq(response_number(r, "/candidates/0/job/parameters/input_center/3"), 2);
    const json_t *list = response_at(r, "/candidates"), *one;
    size_t i;
    json_array_foreach(list, i, one)
    {
        char *body = json_dumps(json_object_get(one, "job"), 0);
        expect_status(fixture_post(f, "steward", "/v1/jobs:estimate", body), 200);
        free(body);
    }
}

/* ---- rehearsals beside forecasts */

/* Asks for the job of ADVICE's candidate number I with "rehearse" and PARAMETERS (NULL: its own),
 * and ends it with QUALITY, as if it had been run. The job's id. */
static const char *rehearse(const struct response *advice, size_t i, const char *parameters,
                            double quality)
{
    json_t *job = json_deep_copy(response_at(advice, domain_path("/candidates/%zu/job", i)));
    json_object_set_new(job, "rehearse", json_true());
    if (parameters)
        json_object_set_new(job, "parameters", json_loads(parameters, 0, NULL));
    char *body = json_dumps(job, 0);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", body);
    expect_status(made, 202);
    free(body);
    json_decref(job);
    const char *id = response_text(made, "/id");
    const char *end =
        domain_path("UPDATE jobs SET state = 'succeeded', findings = "
                    "'{\"rehearsal\":{\"quality\":%g,\"sentence\":\"As told.\"}}' WHERE id = '%s'",
                    quality, id);
    cr_assert_eq(db_run(fixture_db(f), end, NULL, 0, NULL, NULL), DB_OK);
    fixture_advance(1000);
    return id;
}

/* Of all candidates number I alone was rehearsed, by JOB (NULL: none was). */
static void expect_rehearsed(const struct response *advice, size_t i, const char *job)
{
    expect_status(advice, 200);
    const json_t *list = response_at(advice, "/candidates"), *one;
    size_t k;
    json_array_foreach(list, k, one)
    {
        const json_t *rehearsal = json_object_get(one, "rehearsal");
        if (!job || k != i) {
            cr_expect(json_is_null(rehearsal), "%zu: %s", k, advice->body);
            continue;
        }
        cr_expect_str_eq(member_text(rehearsal, "job"), job, "%s", advice->body);
        cr_expect_str_eq(member_text(rehearsal, "sentence"), "As told.");
    }
}

/* The newest rehearsal of the same job stands beside its forecast, with a dataset or of its size
 * alone; for who asked for it. */
Test(advise, shows_what_was_rehearsed)
{
    static const char size[] = "{\"experts\":12,\"environment\":\"cartpole\",\"privacy\":{"
                               "\"epsilon\":4,\"delta\":1e-6}}";
    const char *id = domain_sealed(f, "private", 12);
    struct response *r = fixture_post(f, "steward", ADVISE, of_dataset(id));
    expect_rehearsed(r, 0, NULL);
    const size_t count = json_array_size(response_at(r, "/candidates"));
    const char *jobs[ADVICE_RANKED_MAX];
    for (size_t i = 0; i < count; i++) {
        (void)rehearse(r, i, NULL, 1); /* another is newer */
        jobs[i] = rehearse(r, i, NULL, 0.25);
    }
    struct response *again = fixture_post(f, "steward", ADVISE, of_dataset(id));
    for (size_t i = 0; i < count; i++) {
        const char *at = domain_path("/candidates/%zu", i);
        cr_expect_str_eq(response_text(again, domain_path("%s/rehearsal/job", at)), jobs[i]);
        cr_expect_eq(response_number(again, domain_path("%s/rehearsal/quality", at)), 0.25);
        cr_expect(json_equal(response_at(r, domain_path("%s/job", at)),
                             response_at(again, domain_path("%s/job", at))),
                  "the order is that of forecasts");
    }
    expect_status(fixture_post(f, "steward", ADVISE, size), 200);
    cr_expect(!json_is_null(
        response_at(fixture_post(f, "steward", ADVISE, size), "/candidates/0/rehearsal")));
    const struct ask other = {
        .method = "POST", .path = ADVISE, .token = fixture_new_token(f, "steward"), .body = size};
    expect_rehearsed(fixture_ask(f, &other), 0, NULL);
}

Test(advise, shows_no_rehearsal_of_another_job)
{
    const char *id = domain_sealed(f, "private", 12), *more = domain_sealed(f, "private", 13);
    struct response *r = fixture_post(f, "steward", ADVISE, of_dataset(id));
    const char *budget = domain_path("{\"dataset\":\"%s\",\"privacy\":{\"epsilon\":5,"
                                     "\"delta\":1e-6}}",
                                     id);
    size_t dpsgd = 0;
    while (!response_at(r, domain_path("/candidates/%zu/job/parameters", dpsgd)))
        dpsgd++;
    (void)rehearse(fixture_post(f, "steward", ADVISE, of_dataset(more)), dpsgd, NULL, 0.5);
    (void)rehearse(fixture_post(f, "steward", ADVISE, budget), dpsgd, NULL, 0.5);
    (void)rehearse(r, dpsgd, "{\"learning_rate\":0.5}", 0.5);
    const char *myopic =
        domain_sealed_of(f,
                         "{\"name\":\"d\",\"environment\":\"cartpole\",\"discount\":0.5,"
                         "\"sensitivity\":\"private\",\"budget\":{\"epsilon\":10,\"delta\":1e-5}}",
                         12);
    struct response *other = fixture_post(f, "steward", ADVISE, of_dataset(myopic));
    for (size_t i = 0; i < json_array_size(response_at(other, "/candidates")); i++)
        (void)rehearse(other, i, NULL, 0.5);
    expect_rehearsed(fixture_post(f, "steward", ADVISE, of_dataset(id)), 0, NULL);
    const char *job = rehearse(r, dpsgd, NULL, 0.5);
    expect_rehearsed(fixture_post(f, "steward", ADVISE, of_dataset(id)), dpsgd, job);
}

/* ---- hopeless plans */

static const char *few_experts(const char *id, const char *force)
{
    return domain_path("{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"dpsgd\",\"dataset\":"
                       "\"%s\",\"privacy\":{\"epsilon\":0.1,\"delta\":1e-6%s}}",
                       id, force);
}

Test(hopeless, plan_is_refused_without_force)
{
    const char *id = domain_sealed(f, "private", 8);
    struct response *r =
        fixture_post(f, "steward", "/v1/jobs", few_experts(id, ",\"force\":false"));
    expect_problem(r, "hopeless-plan");
    cr_assert_str_eq(response_text(r, "/advice/verdict"), "hopeless");
    cr_assert_not_null(strstr(response_text(r, "/detail"), "With 8 experts and epsilon 0.1"), "%s",
                       r->body);
    cr_assert_not_null(strstr(response_text(r, "/detail"), "would make it"), "%s", r->body);
    cr_assert_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", few_experts(id, ""));
    expect_status(estimate, 200);
    cr_assert(json_is_true(response_at(estimate, "/advice/refused")));
}

/* The sentence about a hopeless plan of 40 experts and epsilon 4; in the arena of CALL. */
static const char *hopeless_sentence(struct call *call, double signal)
{
    const struct algorithm_request request = {.nominal_experts = 40, .epsilon = 4};
    const struct job_advice advice = {
        .request = &request, .signal = signal, .outlook = {.verdict = ADVICE_HOPELESS}};
    return job_advice_sentence(call, &advice, NULL);
}

Test(hopeless, sentence_names_the_larger_of_signal_and_noise)
{
    struct call call = {0};
    arena_init(&call.arena);
    cr_assert_str_eq(hopeless_sentence(&call, 2.4),
                     "With 40 experts and epsilon 4, measured runs with a similar signal-to-noise "
                     "ratio (2.4) were no better than random play.");
    cr_assert_str_eq(
        hopeless_sentence(&call, 0.1),
        "With 40 experts and epsilon 4 the noise is 10 times the signal, and no better "
        "than random play is to be expected.");
    arena_clear(&call.arena);
}

/* The certificate of JOB's policy. */
static struct response *certificate_of(const struct response *job)
{
    const char *policy = response_text(job, "/policy");
    struct response *r =
        fixture_get(f, "auditor", domain_path("/v1/policies/%s/certificate", policy));
    expect_status(r, 200);
    return r;
}

Test(hopeless, plan_is_accepted_with_force)
{
    const char *id = domain_sealed(f, "private", 8);
    const char *body =
        few_experts(id, ",\"force\":true},\"parameters\":{\"hidden\":[4],\"steps\":50");
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
    cr_assert_str_eq(response_text(estimate, "/advice/verdict"), "hopeless");
    cr_assert(json_is_false(response_at(estimate, "/advice/refused")), "%s", estimate->body);
    struct response *forced = certificate_of(domain_run(f, body));
    cr_assert_gt(domain_spent(f, id), 0);
    cr_assert(json_is_true(response_at(forced, "/forced")), "%s", forced->body);
    cr_assert(strstr(forced->body, "asked for with force"), "%s", forced->body);
}

Test(hopeless, plan_that_was_not_forced_is_certified_without_a_word_of_force)
{
    const char *id = domain_sealed(f, "public", 8);
    struct response *usual = certificate_of(domain_run(
        f, few_experts(id, ",\"force\":false},\"parameters\":{\"hidden\":[4],\"steps\":50")));
    cr_assert(json_is_false(response_at(usual, "/forced")), "%s", usual->body);
    cr_assert_not(strstr(usual->body, "with force"), "%s", usual->body);
}

Test(hopeless, plan_on_public_data_spends_nothing_and_is_accepted)
{
    const char *id = domain_sealed(f, "public", 8);
    expect_status(fixture_post(f, "steward", "/v1/jobs", few_experts(id, ",\"force\":false")), 202);
}

Test(hopeless, sweep_is_judged_by_its_best_try)
{
    const char *id = domain_sealed(f, "private", 8);
    const char *body = domain_path(
        "{\"algorithm\":\"behaviour_cloning\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":0.1,"
        "\"delta\":1e-6,\"force\":false},\"sweep\":{\"learning_rate\":[0.001,0.01]},\"evaluate\":{"
        "\"environment\":"
        "\"cartpole\"}}",
        id);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", body), "hopeless-plan");
}

Test(hopeless, plain_training_has_no_forecast)
{
    const char *id = domain_sealed(f, "public", 8);
    struct response *r =
        fixture_post(f, "steward", "/v1/jobs:estimate", domain_plain_job(id, 2000));
    expect_status(r, 200);
    cr_assert(json_is_null(response_at(r, "/advice")));
}

/* ---- auto */

static const char *auto_job(const char *id, const char *algorithm, const char *more)
{
    return domain_path("{\"algorithm\":\"%s\",\"mechanism\":\"auto\",\"dataset\":\"%s\","
                       "\"privacy\":{\"epsilon\":4,\"delta\":1e-6,\"force\":true}%s}",
                       algorithm, id, more);
}

/* The first candidate of ALGORITHM (NULL: of all). */
static const json_t *first_of(const struct response *r, const char *algorithm)
{
    const json_t *list = response_at(r, "/candidates"), *one;
    size_t i;
    json_array_foreach(list, i, one)
    {
        const json_t *job = json_object_get(one, "job");
        if (!algorithm || strcmp(member_text(job, "algorithm"), algorithm) == 0)
            return job;
    }
    cr_assert_fail("no candidate of %s", algorithm ? algorithm : "any algorithm");
    return NULL;
}

Test(auto, takes_what_the_advisor_ranks_first)
{
    static const char *const algorithms[] = {"auto", "cql", "behaviour_cloning", "bcq"};
    const char *id = domain_sealed(f, "private", 12);
    struct response *advice = fixture_post(f, "steward", ADVISE, of_dataset(id));
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        const json_t *best = first_of(advice, i == 0 ? NULL : algorithms[i]);
        struct response *job =
            fixture_post(f, "steward", "/v1/jobs", auto_job(id, algorithms[i], ""));
        expect_status(job, 202);
        cr_assert_str_eq(response_text(job, "/algorithm"), member_text(best, "algorithm"));
        cr_assert_str_eq(response_text(job, "/mechanism"), member_text(best, "mechanism"));
        expect_status(fixture_post(f, "steward",
                                   domain_path("/v1/jobs/%s:cancel", response_text(job, "/id")),
                                   NULL),
                      200);
    }
    /* The certificate names what was taken. */
    struct response *done =
        domain_run(f, auto_job(id, "behaviour_cloning", ",\"parameters\":{\"steps\":20}"));
    const char *taken = member_text(first_of(advice, "behaviour_cloning"), "mechanism");
    cr_assert_str_eq(response_text(done, "/mechanism"), taken);
    struct response *certificate = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(done, "/policy")));
    cr_assert_not_null(strstr(certificate->body, domain_path("\"%s\"", taken)), "%s",
                       certificate->body);
    cr_assert_null(strstr(certificate->body, "\"auto\""), "%s", certificate->body);
}

Test(auto, keeps_the_parameters_that_were_sent)
{
    const char *id = domain_sealed(f, "private", 12);
    struct response *r =
        fixture_post(f, "steward", "/v1/jobs:estimate",
                     auto_job(id, "cql", ",\"parameters\":{\"hidden\":[5],\"steps\":50}"));
    expect_status(r, 200);
    cr_assert_eq(response_number(r, "/parameters/steps"), 50);
    cr_assert_eq(response_number(r, "/parameters/hidden/0"), 5);
}

Test(auto, refuses_what_it_cannot_choose)
{
    const char *id = domain_sealed(f, "private", 12);
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", auto_job(id, "ppo", "")), "/mechanism");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", auto_job(id, "magic", "")), "/algorithm");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", auto_job(id, "cql", ",\"shards\":3")),
                   "/shards");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                auto_job(id, "cql", ",\"sweep\":{\"learning_rate\":[0.1,0.2]}")),
                   "/sweep");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                domain_path("{\"algorithm\":\"auto\",\"dataset\":\"%s\"}", id)),
                   "/privacy");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                "{\"algorithm\":\"auto\",\"privacy\":{\"epsilon\":1,"
                                "\"delta\":1e-6}}"),
                   "/dataset");
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs",
                     domain_path("{\"algorithm\":\"auto\",\"mechanism\":\"none\",\"dataset\":"
                                 "\"%s\",\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}",
                                 id)),
        "/mechanism");
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs",
                     domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"auto\",\"dataset\":"
                                 "\"%s\",\"privacy\":{\"epsilon\":1,\"delta\":1e-6,\"consensus\":"
                                 "{\"labels\":5}}}",
                                 id)),
        "/privacy/consensus");
    expect_problem(fixture_post(f, "steward", "/v1/jobs", auto_job("ds_nothing", "cql", "")),
                   "not-found");
}
