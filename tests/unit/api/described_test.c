/* Datasets that describe their features: dimensions follow, values outside are refused or clipped,
 * training takes its scales from the description, and certificates repeat who an expert is. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/jobs.h"
#include "tests/unit/api/service.h"

TestSuite(described, .init = service_open, .fini = service_close);

#define MEANS "the clinician, with every stay that they treated"
#define MEANING(outside)                                                                           \
    "\"row\":\"an hour\",\"outside\":\"" outside                                                   \
    "\",\"features\":[{\"name\":\"heart_rate\",\"unit\":\"1/min\",\"low\":30,\"high\":220},"       \
    "{\"name\":\"lactate\",\"low\":0.1,\"high\":100,\"scale\":\"log\"},"                           \
    "{\"name\":\"diabetes\",\"categories\":[\"no\",\"yes\"]}],\"actions\":[\"wait\",\"treat\"]"
#define DESCRIPTION(outside) "\"description\":{\"expert\":\"" MEANS "\"," MEANING(outside) "}"
#define WITH_TABLE(outside)                                                                        \
    "\"description\":{\"expert\":\"" MEANS "\"," MEANING(                                          \
        outside) ",\"table\":{\"expert\":\"who\",\"episode\":\"stay\",\"action\":\"did\","         \
                 "\"reward\":\"reward\",\"terminated\":\"ended\",\"last_state\":\"own_row\"}}"
#define REST                                                                                       \
    "\"max_episode_steps\":10,\"discount\":0.9,\"nominal_experts\":60,"                            \
    "\"budget\":{\"epsilon\":100,\"delta\":1e-2}"

static struct response *declare(const char *more)
{
    return fixture_post(f, "steward", "/v1/datasets",
                        domain_path("{\"name\":\"ward\",%s," REST "}", more));
}

#define LINE(expert, heart, lactate)                                                               \
    "{\"expert\":\"" expert "\",\"states\":[[" heart "," lactate                                   \
    ",1,0],[80,0,1,0]],\"actions\":[1],\"rewards\":[1],\"terminated\":true,\"truncated\":false}\n"

/* Whoever has a certificate alone knows what the network reads and answers, as it was declared. */
static void expect_meaning(const struct response *certificate)
{
    json_t *declared = json_loads("{" MEANING("refuse") "}", 0, NULL);
    cr_expect(json_equal(response_at(certificate, "/dataset_description"), declared), "%s",
              certificate->body);
    json_decref(declared);
}

/* A sealed dataset of 60 experts, described or not. */
static const char *ward(const char *described)
{
    struct response *made = declare(described);
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    char text[60 * 256];
    size_t at = 0;
    for (unsigned e = 0; e < 60; e++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "{\"expert\":\"e%u\",\"states\":[[%u,%g,%d,%d],[%u,0.5,%d,%d]],"
                               "\"actions\":[%d],\"rewards\":[%d],\"terminated\":true,"
                               "\"truncated\":false}\n",
                               e, 60 + 2 * e, e / 60.0, e % 2 == 0, e % 2 == 1, 60 + e, e % 2 == 0,
                               e % 2 == 1, e > 30, e > 30);
    expect_status(domain_upload(f, NULL, id, text, at, NULL), 201);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", id), NULL), 200);
    return id;
}

/* A number that RFC 8785 writes as an integer of more than 64 bits is stored and read like others.
 */
Test(described, bounds_are_any_numbers)
{
    struct response *made =
        declare("\"description\":{\"row\":\"r\",\"expert\":\"e\",\"features\":[{\"name\":\"x\","
                "\"low\":-1e20,\"high\":1e20}],\"actions\":[\"l\",\"r\"]}");
    expect_status(made, 201);
    const char *path = domain_path("/v1/datasets/%s", response_text(made, "/id"));
    struct response *shown = fixture_get(f, "steward", path);
    expect_status(shown, 200);
    cr_expect(response_number(shown, "/description/features/0/high") == 1e20);
    static const char line[] = "{\"expert\":\"e\",\"states\":[[1e19],[2e19]],\"actions\":[1],"
                               "\"rewards\":[1],\"terminated\":true,\"truncated\":false}\n";
    expect_status(domain_upload(f, NULL, response_text(made, "/id"), line, 0, NULL), 201);
}

Test(described, dimensions_follow_from_the_features)
{
    struct response *made = declare(DESCRIPTION("refuse"));
    expect_status(made, 201);
    cr_expect_eq(response_number(made, "/state_dim"), 4);
    cr_expect_eq(response_number(made, "/action_count"), 2);
    cr_expect_str_eq(response_text(made, "/expert_means"), MEANS);
    const char *path = domain_path("/v1/datasets/%s", response_text(made, "/id"));
    const char *const readers[] = {"steward", "contributor"};
    for (size_t i = 0; i < 2; i++) {
        struct response *shown = fixture_get(f, readers[i], path);
        expect_status(shown, 200);
        cr_expect_str_eq(response_text(shown, "/description/features/1/scale"), "log");
        cr_expect_eq(response_number(shown, "/description/features/0/high"), 220);
        cr_expect(
            json_equal(response_at(shown, "/description"), response_at(made, "/description")));
    }
    struct response *list = fixture_get(f, "steward", "/v1/datasets");
    cr_expect_str_eq(response_text(list, "/items/0/expert_means"), MEANS);
    cr_expect_null(response_at(list, "/items/0/description"));
    expect_status(declare("\"state_dim\":4,\"action_count\":2," DESCRIPTION("clip")), 201);
    expect_status(fixture_delete(f, "steward", path), 204);
}

Test(described, what_does_not_agree_is_refused_before_anything_is_stored)
{
    expect_invalid(declare("\"state_dim\":5," DESCRIPTION("refuse")), "/state_dim");
    expect_invalid(declare("\"action_count\":3," DESCRIPTION("refuse")), "/action_count");
    expect_invalid(declare("\"environment\":\"ward\"," DESCRIPTION("refuse")),
                   "/description/features");
    expect_invalid(declare("\"environment\":\"ward\"," DESCRIPTION("refuse")),
                   "/description/actions");
    expect_invalid(declare(DESCRIPTION("ignore")), "/description/outside");
    expect_invalid(declare("\"description\":{}"), "/description/features");
    expect_invalid(declare("\"description\":[]"), "/description");
    struct response *list = fixture_get(f, "steward", "/v1/datasets");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 0);
    /* A world of the same form is fine: its states are such coordinates. */
    expect_status(declare("\"environment\":\"cartpole\"," DESCRIPTION("refuse")), 201);
    struct response *plain = declare("\"state_dim\":4,\"action_count\":2");
    expect_status(plain, 201);
    struct response *shown =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s", response_text(plain, "/id")));
    cr_expect(json_is_null(response_at(shown, "/description")));
    cr_expect(json_is_null(response_at(shown, "/expert_means")));
}

Test(described, values_outside_are_refused_by_line)
{
    struct response *made = declare(DESCRIPTION("refuse"));
    const char *id = response_text(made, "/id");
    const char text[] = LINE("a", "80", "0") LINE("b", "1180", "0") LINE("c", "80", "-1.5");
    struct response *refused = domain_upload(f, NULL, id, text, 0, NULL);
    expect_invalid(refused, "/states/0/0");
    expect_invalid(refused, "/states/0/1");
    cr_expect_eq(response_number(refused, "/errors/0/line"), 2);
    cr_expect_str_eq(response_text(refused, "/errors/0/detail"),
                     "heart_rate is 1180, above its highest value 220");
    cr_expect_eq(response_number(refused, "/errors/1/line"), 3);
    cr_expect(strstr(response_text(refused, "/errors/1/detail"), "lactate is 0.0316228, "));
    expect_invalid(domain_upload(f, NULL, id,
                                 "[{\"expert\":\"a\",\"states\":[[80,0,1,1],[80,0,0,0]],"
                                 "\"actions\":[1],\"rewards\":[1],\"terminated\":true,"
                                 "\"truncated\":false}]",
                                 0, "application/json"),
                   "/0/states/1/2");
    struct response *shown = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_expect_eq(response_number(shown, "/trajectories"), 0);
    expect_status(domain_upload(f, NULL, id, LINE("a", "30", "2"), 0, NULL), 201);
    made = declare(DESCRIPTION("clip"));
    id = response_text(made, "/id");
    expect_status(domain_upload(f, NULL, id, text, 0, NULL), 201);
    expect_invalid(domain_upload(f, NULL, id, LINE("a", "1e39", "0"), 0, NULL), "/states/0/0");
}

#define JOB(algorithm, mechanism, dataset, more)                                                   \
    domain_path("{\"algorithm\":\"" algorithm "\",\"mechanism\":\"" mechanism                      \
                "\",\"dataset\":\"%s\"" more "}",                                                  \
                dataset)
#define PRIVACY ",\"privacy\":{\"epsilon\":2,\"delta\":1e-5}"
#define SHORT   "\"steps\":20,\"hidden\":[4]"

Test(described, unscaled_data_are_refused_before_anything_is_spent)
{
    const char *id = ward("\"state_dim\":4,\"action_count\":2");
    const char *bare = JOB("cql", "dpsgd", id, PRIVACY ",\"parameters\":{" SHORT "}");
    struct response *refused = fixture_post(f, "steward", "/v1/jobs", bare);
    expect_invalid(refused, "/parameters/input_scale");
    cr_expect(strstr(response_text(refused, "/errors/0/detail"), "\"description\""));
    expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", bare),
                   "/parameters/input_scale");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                JOB("behaviour_cloning", "none", id,
                                    ",\"shards\":3,\"parameters\":{" SHORT "}")),
                   "/parameters/input_scale");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                JOB("gp_q_learning", "gaussian_process", id, PRIVACY)),
                   "/parameters/input_scale");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                JOB("gp_q_learning", "gaussian_process", id,
                                    PRIVACY ",\"parameters\":{\"input_scale\":1,\"low\":[-9]}")),
                   "/parameters/high");
    cr_expect_eq(domain_spent(f, id), 0);
    /* Without a mechanism nothing is spent. */
    expect_status(fixture_post(f, "steward", "/v1/jobs:estimate",
                               JOB("cql", "none", id,
                                   ",\"i_understand\":\"not_private\",\"parameters\":{" SHORT "}")),
                  200);
    expect_status(fixture_post(f, "steward", "/v1/jobs:estimate",
                               JOB("cql", "dpsgd", id,
                                   PRIVACY ",\"parameters\":{\"input_scale\":0.01," SHORT "}")),
                  200);
}

/* The plan of job ID as it is stored. */
static json_t *stored_plan(const char *id)
{
    struct job_row row;
    cr_assert_eq(jobs_find(fixture_db(f), id, &row), DB_OK);
    json_t *plan = json_loads(row.plan, 0, NULL);
    job_done(&row);
    cr_assert(plan != NULL);
    return plan;
}

Test(described, training_takes_its_scales_from_the_description)
{
    const char *id = ward(WITH_TABLE("refuse"));
    struct response *job =
        domain_run(f, JOB("behaviour_cloning", "dpsgd", id, PRIVACY ",\"parameters\":{" SHORT "}"));
    cr_expect_eq(response_number(job, "/parameters/input_scale"), 2);
    json_t *plan = stored_plan(response_text(job, "/id"));
    const double low[] = {30, -1, 0, 0}, high[] = {220, 2, 1, 1};
    json_t *features = json_object_get(plan, "features");
    for (size_t d = 0; d < 4; d++) {
        cr_expect_float_eq(json_number_value(json_array_get(json_object_get(features, "low"), d)),
                           low[d], 1e-15);
        cr_expect_float_eq(json_number_value(json_array_get(json_object_get(features, "high"), d)),
                           high[d], 1e-15);
    }
    json_decref(plan);
    struct response *certificate = fixture_get(
        f, "auditor", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    expect_status(certificate, 200);
    cr_expect_str_eq(response_text(certificate, "/expert_means"), MEANS);
    expect_meaning(certificate);
    cr_expect_str_eq(response_text(certificate, "/privacy/unit"), "expert");
}

/* Without noise a clone of these experts treats whoever has a heart rate above 120: the downloaded
 * network reads heart rates. */
Test(described, a_released_policy_reads_the_numbers_as_they_were_uploaded)
{
    const char *id = ward("\"sensitivity\":\"public\"," DESCRIPTION("refuse"));
    struct response *job = domain_run(f, JOB("behaviour_cloning", "none", id,
                                             ",\"parameters\":{\"steps\":2000,\"hidden\":[16]}"));
    const char *path = domain_path("/v1/policies/%s/actions", response_text(job, "/policy"));
    struct response *r =
        fixture_post(f, "steward", path, "{\"states\":[[70,0.1,1,0],[170,0.9,0,1],[75,0.15,0,1]]}");
    expect_status(r, 200);
    cr_expect_eq(response_number(r, "/actions/0"), 0);
    cr_expect_eq(response_number(r, "/actions/1"), 1);
    cr_expect_eq(response_number(r, "/actions/2"), 0);
    cr_expect_eq(json_array_size(response_at(r, "/warnings")), 0, "%s", r->body);
    r = fixture_post(f, "steward", path, "{\"states\":[[60,0,1,0],[230,31,1,1]]}");
    expect_status(r, 200);
    cr_expect_eq(json_array_size(response_at(r, "/warnings")), 3, "%s", r->body);
    cr_expect_str_eq(response_text(r, "/warnings/0/pointer"), "/states/1/0");
    cr_expect_str_eq(response_text(r, "/warnings/0/detail"),
                     "heart_rate is 230, above its highest value 220");
    /* The same of a question to a teacher, before it is paid for. */
    struct response *teacher = fixture_post(
        f, "steward", "/v1/teachers", domain_teacher(response_text(job, "/policy"), 1e6, 1e6));
    expect_status(teacher, 201);
    path = domain_path("/v1/teachers/%s/queries:estimate", response_text(teacher, "/id"));
    struct response *before =
        fixture_post(f, "student", path, "{\"states\":[[60,0,1,0],[230,31,1,1]]}");
    expect_status(before, 200);
    cr_expect_eq(json_array_size(response_at(before, "/warnings")), 3, "%s", before->body);
    cr_expect_str_eq(response_text(before, "/warnings/0/detail"),
                     response_text(r, "/warnings/0/detail"));
    cr_expect_null(response_at(fixture_post(f, "student", path, "{\"count\":2}"), "/warnings"));
    expect_invalid(fixture_post(f, "student", path, "{}"), "");
    expect_invalid(fixture_post(f, "student", path, "{\"count\":1,\"states\":[[60,0,1,0]]}"), "");
    expect_invalid(fixture_post(f, "student", path, "{\"states\":[[1]]}"), "/states/0");
}

/* ---- ranges that are estimated: a job of its own, paid for, and named by a later one */

/* A dataset of 400 experts that nobody described, around a heart rate of 90 and a lactate of 1.5.
 */
static const char *nameless(void)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/datasets",
        "{\"name\":\"n\",\"state_dim\":2,\"action_count\":2,\"max_episode_steps\":10,\"discount\":"
        "0.9,\"budget\":{\"epsilon\":10,\"delta\":1e-4}}");
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    char *text = malloc(400 * 200);
    size_t at = 0;
    for (unsigned e = 0; e < 400; e++)
        at += (size_t)sprintf(text + at,
                              "{\"expert\":\"e%u\",\"states\":[[%u,%g],[%u,1.5]],\"actions\":[0],"
                              "\"rewards\":[0],\"terminated\":true,\"truncated\":false}\n",
                              e, 70 + e % 41, 1.1 + e % 8 / 10.0, 90 + e % 3);
    expect_status(domain_upload(f, NULL, id, text, at, NULL), 201);
    free(text);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", id), NULL), 200);
    return id;
}

#define MEASURE(dataset, epsilon)                                                                  \
    domain_path(                                                                                   \
        "{\"algorithm\":\"feature_ranges\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":%g,"        \
        "\"delta\":1e-6}}",                                                                        \
        dataset, (double)(epsilon))
#define BY_RANGES(dataset, job)                                                                    \
    domain_path(                                                                                   \
        "{\"algorithm\":\"behaviour_cloning\",\"dataset\":\"%s\",\"features\":\"%s\"" PRIVACY      \
        ",\"parameters\":{" SHORT "}}",                                                            \
        dataset, job)

Test(described, ranges_are_measured_at_a_price_and_named_by_a_later_job)
{
    const char *id = nameless();
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", MEASURE(id, 2));
    expect_status(estimate, 200);
    cr_expect(json_is_true(response_at(estimate, "/feasible")));
    cr_expect_eq(domain_spent(f, id), 0);
    struct response *measured = domain_run(f, MEASURE(id, 2));
    cr_expect_str_eq(response_text(measured, "/mechanism"), "gaussian");
    double paid = domain_spent(f, id);
    cr_expect(paid > 1.9 && paid <= 2, "%g", paid);
    cr_expect_eq(response_number(measured, "/findings/unclear"), 0);
    double low = response_number(measured, "/findings/ranges/low/0");
    double high = response_number(measured, "/findings/ranges/high/0");
    cr_expect(low >= 64 && low < 85 && high > 95 && high <= 128, "%g to %g", low, high);
    /* The ranges are what a later job trains by. */
    const char *ranges = response_text(measured, "/id");
    struct response *job = domain_run(f, BY_RANGES(id, ranges));
    cr_expect_str_eq(response_text(job, "/features"), ranges);
    cr_expect_eq(response_number(job, "/parameters/input_scale"), 2);
    json_t *plan = stored_plan(response_text(job, "/id"));
    cr_expect(
        json_equal(json_object_get(plan, "features"), response_at(measured, "/findings/ranges")));
    json_decref(plan);
    cr_expect_float_eq(domain_spent(f, id), paid + 2, 0.05);
    struct response *certificate = fixture_get(
        f, "auditor", domain_path("/v1/policies/%s/certificate", response_text(job, "/policy")));
    cr_expect(strstr(certificate->body, "released estimates from the same data"));
    cr_expect(!strstr(certificate->body, "and all settings are public"));
}

Test(described, only_ranges_of_the_same_dataset_are_taken)
{
    const char *id = nameless(), *other = nameless(), *described = ward(DESCRIPTION("clip"));
    struct response *measured = domain_run(f, MEASURE(id, 2));
    const char *ranges = response_text(measured, "/id");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", BY_RANGES(other, ranges)), "/features");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", BY_RANGES(described, ranges)),
                   "/features");
    expect_status(fixture_post(f, "steward", "/v1/jobs", BY_RANGES(id, "job_none")), 404);
    struct response *shards = domain_run(
        f, domain_path("{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"none\",\"shards\":3,"
                       "\"dataset\":\"%s\",\"features\":\"%s\",\"parameters\":{" SHORT "}}",
                       id, ranges));
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs", BY_RANGES(id, response_text(shards, "/id"))),
        "/features");
    struct response *queued = fixture_post(f, "steward", "/v1/jobs", MEASURE(id, 1));
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs", BY_RANGES(id, response_text(queued, "/id"))),
        "/features");
    /* Too little to see anything by: said before it is spent. */
    struct response *blind = fixture_post(f, "steward", "/v1/jobs:estimate", MEASURE(id, 0.05));
    expect_status(blind, 200);
    cr_expect(json_is_false(response_at(blind, "/feasible")));
    cr_expect(strstr(response_text(blind, "/reason"), "hide"));
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs",
                     domain_path("{\"algorithm\":\"feature_ranges\",\"dataset\":\"%s\","
                                 "\"features\":\"%s\",\"privacy\":{\"epsilon\":1,\"delta\":1e-6}}",
                                 id, ranges)),
        "/features");
}

/* All tries of a sweep learn from the same ranges, also when another worker goes on. */
Test(described, a_sweep_and_a_job_that_was_stopped_keep_the_ranges)
{
    const char *id = ward("\"environment\":\"cartpole\"," DESCRIPTION("refuse"));
    struct domain_meddler stop = {.f = f, .act_at = 1, .stop = true};
    struct response *made = fixture_post(
        f, "steward", "/v1/jobs",
        JOB("behaviour_cloning", "dpsgd", id,
            PRIVACY ",\"sweep\":{\"learning_rate\":[0.001,0.01]},\"evaluate\":{\"environment\":"
                    "\"cartpole\",\"episodes\":2},\"parameters\":{\"steps\":300,\"hidden\":[4]}"));
    expect_status(made, 202);
    (void)domain_turn(f, "one", domain_meddle, &stop);
    (void)domain_turn(f, "two", NULL, NULL);
    struct response *job = domain_job(f, made);
    cr_expect_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
}

Test(described, teachers_repeat_who_an_expert_is)
{
    const char *id = ward(DESCRIPTION("refuse"));
    struct response *job = domain_run(
        f, JOB("behaviour_cloning", "none", id, ",\"shards\":10,\"parameters\":{" SHORT "}"));
    struct response *teacher = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"adjacency\":{\"unit\":\"expert\"},\"mechanism\":{"
                    "\"name\":\"gaussian_simplex\",\"sigma\":1},\"budget\":{\"epsilon\":50,"
                    "\"delta\":1e-4}}",
                    response_text(job, "/policy")));
    expect_status(teacher, 201);
    struct response *certificate = fixture_get(
        f, "auditor", domain_path("/v1/teachers/%s/certificate", response_text(teacher, "/id")));
    expect_status(certificate, 200);
    cr_expect_str_eq(response_text(certificate, "/expert_means"), MEANS);
    expect_meaning(certificate);
}

/* A teacher's certificate claims no more than is so where shards were scaled by released ranges. */
Test(described, teachers_say_that_scales_may_be_estimates)
{
    const char *id = nameless();
    struct response *measured = domain_run(f, MEASURE(id, 2));
    struct response *shards = domain_run(
        f, domain_path("{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"none\",\"shards\":10,"
                       "\"dataset\":\"%s\",\"features\":\"%s\",\"parameters\":{" SHORT "}}",
                       id, response_text(measured, "/id")));
    struct response *teacher = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"adjacency\":{\"unit\":\"expert\"},\"mechanism\":{"
                    "\"name\":\"gaussian_simplex\",\"sigma\":1},\"budget\":{\"epsilon\":5,"
                    "\"delta\":5e-5}}",
                    response_text(shards, "/policy")));
    expect_status(teacher, 201);
    struct response *certificate = fixture_get(
        f, "auditor", domain_path("/v1/teachers/%s/certificate", response_text(teacher, "/id")));
    cr_expect(strstr(certificate->body, "released estimates from the same data"));
}

Test(described, q_releases_are_bounded_by_the_ranges)
{
    const char *id = ward(DESCRIPTION("refuse"));
    struct response *job = domain_run(
        f, JOB("gp_q_learning", "gaussian_process", id,
               ",\"privacy\":{\"epsilon\":50,\"delta\":1e-4},\"parameters\":{\"steps\":10,"
               "\"radius\":100}"));
    cr_expect_eq(response_number(job, "/parameters/low/0"), 30);
    cr_expect_float_eq(response_number(job, "/parameters/high/1"), 2, 1e-15);
    cr_expect_eq(response_number(job, "/release/shards"), 12); /* a fifth of 60 */
    const char *release = response_text(job, "/q_release");
    struct response *r =
        fixture_post(f, "steward", domain_path("/v1/q-releases/%s/actions", release),
                     "{\"states\":[[118,0.6,1,0]]}");
    expect_status(r, 200);
    struct response *certificate =
        fixture_get(f, "auditor", domain_path("/v1/q-releases/%s/certificate", release));
    cr_expect_str_eq(response_text(certificate, "/expert_means"), MEANS);
    expect_meaning(certificate);
}
