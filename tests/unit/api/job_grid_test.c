/* Consensus labels at a declared grid or list of states over the API: no world, its bounds, its
 * price. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/ask/job_parts.h"
#include "tests/unit/api/service.h"

TestSuite(job_grid, .init = service_open, .fini = service_close);

/* A sealed dataset of no world that anybody could play. */
static const char *unplayable(void)
{
    return domain_sealed_of(
        f,
        "{\"name\":\"d\",\"state_dim\":4,\"action_count\":2,\"max_episode_steps\":30,"
        "\"discount\":0.9,\"budget\":{\"epsilon\":300,\"delta\":1e-2}}",
        6);
}

#define GRID "{\"low\":[-1,-1,-0.1,-1],\"high\":[1,1,0.1,1],\"points\":[2,3,5,1]}"

static const char *job(const char *algorithm, const char *dataset, const char *consensus)
{
    return domain_path(
        "{\"algorithm\":\"%s\",\"mechanism\":\"consensus\",\"dataset\":\"%s\","
        "\"privacy\":{\"epsilon\":3,\"delta\":1e-3,\"consensus\":%s},"
        "\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"input_scale\":1,\"steps\":50}}",
        algorithm, dataset, consensus);
}

Test(job_grid, needs_no_world_and_costs_what_its_labels_cost)
{
    const char *id = unplayable();
    const char *body = job("behaviour_cloning", id, "{\"grid\":" GRID "}");
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
    expect_status(estimate, 200);
    cr_expect(json_is_true(response_at(estimate, "/feasible")), "%s", estimate->body);
    cr_expect_eq(response_number(estimate, "/plan/consensus/labels"), 30);
    cr_expect_eq(response_number(estimate, "/plan/consensus/grid/points/2"), 5);
    cr_expect_eq(response_number(estimate, "/plan/consensus/grid/low/2"), -0.1);
    struct response *done = domain_run(f, body);
    cr_expect_float_eq(response_number(done, "/privacy/spent/epsilon"), 3, 1e-6);
    struct response *budget = fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", id));
    cr_expect_float_eq(response_number(budget, "/spent/epsilon"), 3, 1e-6);
    struct response *certificate = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(done, "/policy")));
    expect_status(certificate, 200);
    cr_expect_str_eq(response_text(certificate, "/privacy/unit"), "expert");
    cr_expect_not_null(strstr(certificate->body, "grid of states that the experts were asked at"));
    cr_expect_eq(response_number(certificate, "/plan/consensus/grid/high/0"), 1);
}

/* Before anything is spent one sees how coarse the grid is, in the features' own units; and that no
 * held-out expert can judge what comes of it. */
Test(job_grid, an_estimate_says_how_far_apart_its_states_are)
{
    static const char *const says[] = {"map: every 2 mmHg, from -1 to 1",
                                       "lactate: by factors of 10, from 0.1 to 10",
                                       "c: every 0.05,", "d: at 5 alone"};
    const char *id = domain_sealed_of(
        f,
        "{\"name\":\"d\",\"max_episode_steps\":30,\"discount\":0.9,\"budget\":{\"epsilon\":300,"
        "\"delta\":1e-2},\"description\":{\"row\":\"r\",\"expert\":\"e\",\"outside\":\"clip\","
        "\"features\":[{\"name\":\"map\",\"unit\":\"mmHg\",\"low\":-9,\"high\":9},{\"name\":"
        "\"lactate\",\"low\":1e-9,\"high\":1e9,\"scale\":\"log\"},{\"name\":\"c\",\"low\":-9,"
        "\"high\":9},{\"name\":\"d\",\"low\":-9,\"high\":9}],\"actions\":[\"l\",\"r\"]}}",
        6);
    static const char grid[] = "{\"grid\":{\"low\":[-1,-1,-0.1,2],\"high\":[1,1,0.1,8],"
                               "\"points\":[2,3,5,1]}}";
    struct response *estimate =
        fixture_post(f, "steward", "/v1/jobs:estimate", job("behaviour_cloning", id, grid));
    expect_status(estimate, 200);
    cr_assert_eq(json_array_size(response_at(estimate, "/grid_spacing")), 4, "%s", estimate->body);
    for (unsigned i = 0; i < 4; i++) {
        const char *text = response_text(estimate, domain_path("/grid_spacing/%u", i));
        cr_expect_eq(strncmp(text, says[i], strlen(says[i])), 0, "%s", text);
    }
    cr_expect(strstr(response_text(estimate, "/advice/judging"), "cannot judge this job"));
}

/* The numbers of a certificate's state number I. */
static double listed(const struct response *certificate, unsigned i, unsigned d)
{
    return response_number(certificate, domain_path("/plan/consensus/grid/states/%u/%u", i, d));
}

static bool at_once(void *context)
{
    (*(unsigned *)context)++;
    return true;
}

/* A list of states instead: read back from the stored plan by every worker that goes on with it. */
Test(job_grid, a_list_survives_being_stopped_and_stands_in_the_certificate)
{
    const char *id = unplayable();
    const char *body =
        job("behaviour_cloning", id,
            "{\"grid\":{\"states\":[[0.1,0,-0.3,1e-7],[-1,2,3,4],[0.1,0,-0.3,1e-7]]}}");
    struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
    expect_status(estimate, 200);
    cr_expect(json_is_true(response_at(estimate, "/feasible")), "%s", estimate->body);
    cr_expect_eq(response_number(estimate, "/plan/consensus/labels"), 3);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", body);
    expect_status(made, 202);
    unsigned stops = 0;
    for (int turn = 0; turn < 3; turn++) {
        cr_assert_eq(domain_turn(f, "w1", at_once, &stops), API_JOB_PAUSED);
        fixture_advance(60000);
    }
    cr_assert_geq(stops, 3);
    cr_assert_eq(domain_turn(f, "w2", NULL, NULL), API_JOB_RAN);
    struct response *done =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    cr_assert_str_eq(response_text(done, "/state"), "succeeded", "%s", done->body);
    cr_expect_float_eq(response_number(done, "/privacy/spent/epsilon"), 3, 1e-6);
    struct response *certificate = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/certificate", response_text(done, "/policy")));
    expect_status(certificate, 200);
    cr_expect_eq(response_number(certificate, "/plan/consensus/labels"), 3);
    cr_expect_eq(listed(certificate, 0, 0), 0.1);
    cr_expect_eq(listed(certificate, 0, 3), 1e-7);
    cr_expect_eq(listed(certificate, 1, 3), 4);
    cr_expect_eq(listed(certificate, 2, 2), -0.3);
}

/* As many states as may be, and one more. */
Test(job_grid, lists_are_bounded_in_number)
{
    enum { MOST = 4096 };
    static const char row[] = "[0,1,2,0000],"; /* and the state's number */
    const char *id = unplayable();
    for (int more = 0; more < 2; more++) {
        size_t rows = MOST + (size_t)more, size = rows * (sizeof row - 1);
        char *list = malloc(size + 1), *body = NULL;
        for (size_t i = 0; i < rows; i++)
            cr_assert_eq(snprintf(list + i * (sizeof row - 1), sizeof row, "[0,1,2,%4zu],", i),
                         sizeof row - 1);
        list[size - 1] = '\0'; /* the last comma */
        cr_assert_gt(asprintf(&body,
                              "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"consensus\","
                              "\"dataset\":\"%s\",\"privacy\":{\"epsilon\":3,\"delta\":1e-3,"
                              "\"consensus\":{\"grid\":{\"states\":[%s]}}},"
                              "\"parameters\":{\"input_scale\":1}}",
                              id, list),
                     0);
        struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
        if (more) {
            expect_invalid(estimate, "/privacy/consensus/grid/states");
        } else {
            expect_status(estimate, 200);
            cr_expect_eq(response_number(estimate, "/plan/consensus/labels"), MOST);
        }
        free(list);
        free(body);
    }
}

Test(job_grid, bad_grids_name_what_is_bad)
{
    static const char *const cases[][2] = {
        {"{\"grid\":{}}", "/privacy/consensus/grid/low"},
        {"{\"grid\":{\"low\":[],\"high\":[],\"points\":[]}}", "/privacy/consensus/grid/low"},
        {"{\"grid\":{\"low\":[0,0,0,0],\"high\":[1,1,1,1]}}", "/privacy/consensus/grid/points"},
        {"{\"grid\":{\"low\":[0,0,0,0],\"high\":[1,1,1],\"points\":[2,2,2,2]}}",
         "/privacy/consensus/grid/high"},
        {"{\"grid\":{\"low\":[0,0,0,0],\"high\":[1,1,1,1],\"points\":[2,2,2]}}",
         "/privacy/consensus/grid/points"},
        {"{\"grid\":{\"low\":[0,0,2,0],\"high\":[1,1,1,1],\"points\":[2,2,2,2]}}",
         "/privacy/consensus/grid/high/2"},
        {"{\"grid\":{\"low\":[0,0,0,0],\"high\":[1,1,1,1e10],\"points\":[2,2,2,2]}}",
         "/privacy/consensus/grid/high/3"},
        {"{\"grid\":{\"low\":[-1e10,0,0,0],\"high\":[1,1,1,1],\"points\":[2,2,2,2]}}",
         "/privacy/consensus/grid/low/0"},
        {"{\"grid\":{\"low\":[0,\"x\",0,0],\"high\":[1,1,1,1],\"points\":[2,2,2,2]}}",
         "/privacy/consensus/grid/low/1"},
        {"{\"grid\":{\"low\":[0,0,0,0],\"high\":[1,1,1,1],\"points\":[2,0,2,2]}}",
         "/privacy/consensus/grid/points/1"},
        {"{\"grid\":{\"low\":[0,0,0,0],\"high\":[1,1,1,1],\"points\":[2,2.5,2,2]}}",
         "/privacy/consensus/grid/points/1"},
        {"{\"grid\":{\"low\":[0,0,0,0],\"high\":[1,1,1,1],\"points\":[2,2,1001,2]}}",
         "/privacy/consensus/grid/points/2"},
        {"{\"grid\":{\"low\":[0,0,0,0],\"high\":[1,1,1,1],\"points\":[100,100,100,2]}}",
         "/privacy/consensus/grid/points"},
        {"{\"grid\":{\"low\":[0,0,0],\"high\":[1,1,1],\"points\":[2,2,2]}}",
         "/privacy/consensus/grid"},
        {"{\"grid\":" GRID ",\"labels\":30}", "/privacy/consensus/labels"},
        {"{\"grid\":" GRID ",\"rounds\":2}", "/privacy/consensus/rounds"},
        {"{\"grid\":" GRID ",\"explore\":0.1}", "/privacy/consensus/explore"},
        {"{\"grid\":" GRID ",\"max_length\":30}", "/privacy/consensus/max_length"},
        {"{\"grid\":" GRID ",\"skill\":{\"low\":0,\"high\":9}}", "/privacy/consensus/skill"},
        {"{\"grid\":7}", "/privacy/consensus/grid"},
        {"{\"grid\":{\"states\":[]}}", "/privacy/consensus/grid/states"},
        {"{\"grid\":{\"states\":7}}", "/privacy/consensus/grid/states"},
        {"{\"grid\":{\"states\":[[]]}}", "/privacy/consensus/grid/states/0"},
        {"{\"grid\":{\"states\":[0,0,0,0]}}", "/privacy/consensus/grid/states/0"},
        {"{\"grid\":{\"states\":[[0,0,0,0],[1,1,1]]}}", "/privacy/consensus/grid/states/1"},
        {"{\"grid\":{\"states\":[[0,0,0,0],{}]}}", "/privacy/consensus/grid/states/1"},
        {"{\"grid\":{\"states\":[[0,0,0,0],[1,1,1,null]]}}", "/privacy/consensus/grid/states/1/3"},
        {"{\"grid\":{\"states\":[[0,0,0,0],[1,1,1,1e999]]}}", "/privacy/consensus/grid/states/1/3"},
        {"{\"grid\":{\"states\":[[0,0,0,0],[1,\"1\",1,1]]}}", "/privacy/consensus/grid/states/1/1"},
        {"{\"grid\":{\"states\":[[0,0,0,-1e10],[1,1,1,1]]}}", "/privacy/consensus/grid/states/0/3"},
        {"{\"grid\":{\"states\":[[0,0,0],[1,1,1]]}}", "/privacy/consensus/grid"},
        {"{\"grid\":{\"states\":[[0,0,0,0]],\"low\":[0,0,0,0]}}", "/privacy/consensus/grid/low"},
        {"{\"grid\":{\"states\":[[0,0,0,0]],\"points\":[1,1,1,1]}}",
         "/privacy/consensus/grid/points"},
        {"{\"grid\":{\"states\":[[0,0,0,0]],\"more\":1}}", "/privacy/consensus/grid/more"},
        {"{\"grid\":{\"states\":[[0,0,0,0]]},\"labels\":1}", "/privacy/consensus/labels"},
    };
    const char *id = unplayable();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *body = job("behaviour_cloning", id, cases[i][0]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", body), cases[i][1]);
    }
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", job("cql", id, "{\"grid\":" GRID "}")),
                   "/privacy/consensus/grid");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", job("bcq", id, "{\"grid\":" GRID "}")),
                   "/privacy/consensus/grid");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs",
                                job("cql", domain_sealed(f, "private", 6),
                                    "{\"grid\":{\"states\":[[0,0,0,0]]}}")),
                   "/privacy/consensus/grid"); /* in a world that could be played, too */
    cr_expect_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
    struct response *budget = fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", id));
    cr_expect_eq(response_number(budget, "/reserved/epsilon"), 0);
    cr_expect_eq(response_number(budget, "/spent/epsilon"), 0);
}

/* A state that is asked twice is paid for twice: whoever wants that lists it twice. */
Test(job_grid, asks_no_state_of_its_axes_twice)
{
    static const char *const cases[][2] = {
        {"{\"low\":[0,3,0,0],\"high\":[1,3,1,1],\"points\":[2,2,2,2]}", "points/1"},
        {"{\"low\":[0,0,0,0],\"high\":[1,1,1,0],\"points\":[1,2,2,9]}", "points/3"},
        /* different numbers, but not as the floats that are asked */
        {"{\"low\":[0,0,1e8,0],\"high\":[1,1,100000100,1],\"points\":[2,2,101,2]}", "points/2"},
        {"{\"low\":[0,0,8388608.4,0],\"high\":[1,1,8388609.6,1],\"points\":[2,2,7,2]}", "points/2"},
    };
    const char *id = unplayable();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *body = job("behaviour_cloning", id, domain_path("{\"grid\":%s}", cases[i][0]));
        struct response *refused = fixture_post(f, "steward", "/v1/jobs", body);
        expect_invalid(refused, domain_path("/privacy/consensus/grid/%s", cases[i][1]));
        cr_expect(strstr(refused->body, "twice"), "%s", refused->body);
    }
    static const char once[] = "{\"grid\":{\"low\":[0,3,0,0],\"high\":[1,3,1,1],"
                               "\"points\":[2,1,2,2]}}";
    expect_status(
        fixture_post(f, "steward", "/v1/jobs:estimate", job("behaviour_cloning", id, once)), 200);
}

#define LINE(expert)                                                                               \
    "{\"expert\":\"" expert                                                                        \
    "\",\"states\":[[60,0,1,0],[60,0,1,0]],\"actions\":[0],\"rewards\":[0],"                       \
    "\"terminated\":true,\"truncated\":false}\n"

/* Where a described dataset never was, its experts' votes are worth nothing. */
Test(job_grid, an_estimate_warns_of_states_that_cannot_be)
{
    static const struct {
        const char *grid;
        unsigned count;
        const char *pointer, *says;
    } cases[] = {
        {"{\"low\":[60,-0.5,0,1],\"high\":[120,1.3,0,1],\"points\":[3,3,1,1]}", 0, "", ""},
        {"{\"low\":[60,0.3,0,1],\"high\":[120,20,0,1],\"points\":[3,3,1,1]}", 1, "high/1",
         "lactate is 1e+20, whose decimal logarithm 20"},
        {"{\"low\":[20,0,0,1],\"high\":[250,1,0,1],\"points\":[3,3,1,1]}", 2, "low/0",
         "rate is 20, below its lowest value 30"},
        {"{\"low\":[20,0,0,1],\"high\":[21,1,0,1],\"points\":[1,3,1,1]}", 1, "low/0",
         "rate is 20.5, below its lowest value 30"},
        {"{\"low\":[60,0,0,0],\"high\":[120,1,1,1],\"points\":[3,3,2,2]}", 1, "low/2",
         "diabetes has no category"},
        {"{\"low\":[60,0,0,1],\"high\":[120,1,1,1],\"points\":[3,3,2,1]}", 1, "high/3",
         "diabetes has 2 categories"},
        {"{\"states\":[[60,0,1,0],[60,0,0,1]]}", 0, "", ""},
        {"{\"states\":[[60,0,1,0],[60,0,1,1],[221,9,1,0]]}", 3, "states/1/3",
         "diabetes has 2 categories"},
    };
    const char *id = domain_sealed_lines(
        f,
        "{\"name\":\"d\",\"max_episode_steps\":30,\"discount\":0.9,\"budget\":{\"epsilon\":300,"
        "\"delta\":1e-2},\"description\":{\"row\":\"r\",\"expert\":\"e\",\"outside\":\"clip\","
        "\"features\":[{\"name\":\"rate\",\"low\":30,\"high\":220},{\"name\":\"lactate\",\"low\":0."
        "3,"
        "\"high\":20,\"scale\":\"log\"},{\"name\":\"diabetes\",\"categories\":[\"no\",\"yes\"]}],"
        "\"actions\":[\"l\",\"r\"]}}",
        LINE("a") LINE("b") LINE("c") LINE("d"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *body =
            job("behaviour_cloning", id, domain_path("{\"grid\":%s}", cases[i].grid));
        struct response *estimate = fixture_post(f, "steward", "/v1/jobs:estimate", body);
        expect_status(estimate, 200);
        cr_expect_eq(json_array_size(response_at(estimate, "/grid_warnings")), cases[i].count, "%s",
                     estimate->body);
        if (cases[i].count == 0)
            continue;
        cr_expect_str_eq(response_text(estimate, "/grid_warnings/0/pointer"),
                         domain_path("/privacy/consensus/grid/%s", cases[i].pointer));
        const char *detail = response_text(estimate, "/grid_warnings/0/detail");
        cr_expect_eq(strncmp(detail, cases[i].says, strlen(cases[i].says)), 0, "%s", detail);
    }
}

static void expect_read_back(const struct consensus_grid *grid)
{
    struct consensus_grid back = {0};
    json_t *json = job_stage_grid_json(grid);
    cr_assert(job_stage_grid_parse(json, &back));
    cr_assert_eq(consensus_grid_size(&back), consensus_grid_size(grid));
    for (uint32_t i = 0; i < consensus_grid_size(grid); i++) {
        float wanted[2], read[2];
        consensus_grid_state(grid, i, wanted);
        consensus_grid_state(&back, i, read);
        cr_expect(memcmp(wanted, read, sizeof read) == 0, "%u", i);
    }
    job_stage_grid_clear(&back);
    json_decref(json);
}

Test(job_grid, is_read_back_as_it_was_written)
{
    double states[] = {0.5, 1.5, 2.5, 3.5, 4.5, 5.5};
    expect_read_back(
        &(struct consensus_grid){.low = {-1, 0}, .high = {1, 0}, .points = {3, 1}, .dims = 2});
    expect_read_back(&(struct consensus_grid){.dims = 2, .count = 3, .states = states});
}
