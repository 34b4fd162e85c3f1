/* A judge must speak of the same features and actions as the dataset that is learned from: the
 * first difference is named, and nothing is spent. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <string.h>

TestSuite(same_meaning, .init = service_open, .fini = service_close);

#define HEART    "{\"name\":\"heart\",\"unit\":\"1/min\",\"low\":30,\"high\":220}"
#define LACTATE  "{\"name\":\"lactate\",\"low\":0.1,\"high\":100,\"scale\":\"log\"}"
#define DIABETES "{\"name\":\"diabetes\",\"categories\":[\"no\",\"yes\"]}"
#define FEATURES HEART "," LACTATE "," DIABETES
#define NAMES    "[\"wait\",\"treat\"]"
#define BINS(unit, high, edge)                                                                     \
    "{\"unit\":\"" unit "\",\"low\":0,\"high\":" high ",\"edges\":[" edge                          \
    "],\"names\":[\"wait\",\"treat\"]}"

/* A sealed dataset of two experts with one state; FEATURES NULL: not described. */
static const char *described(const char *more, const char *features, const char *actions,
                             const char *state)
{
    const char *description = "\"state_dim\":4,\"action_count\":2";
    if (features)
        description = domain_path("\"description\":{\"row\":\"an hour\",\"expert\":\"a clinician\","
                                  "\"outside\":\"clip\",\"features\":[%s],\"actions\":%s}",
                                  features, actions);
    const char *body = domain_path("{\"name\":\"ward\",\"max_episode_steps\":10,\"discount\":0.9,"
                                   "\"nominal_experts\":60,%s,%s}",
                                   description, more);
    const char *line = "{\"expert\":\"%s\",\"states\":[%s,%s],\"actions\":[1],\"rewards\":[1],"
                       "\"terminated\":true,\"truncated\":false}\n";
    return domain_sealed_lines(f, body,
                               domain_path("%s%s", domain_path(line, "a", state, state),
                                           domain_path(line, "b", state, state)));
}

/* A sealed dataset of one expert in ENVIRONMENT, whose states have 6 numbers; not described. */
static const char *in_world(const char *more, const char *environment)
{
    const char *body = domain_path(
        "{\"name\":\"world\",\"environment\":\"%s\",\"nominal_experts\":60,%s}", environment, more);
    return domain_sealed_lines(f, body,
                               "{\"expert\":\"a\",\"states\":[[1,0,1,0,0,0],[1,0,1,0,0,0]],"
                               "\"actions\":[1],\"rewards\":[1],\"terminated\":true,"
                               "\"truncated\":false}\n");
}

#define OPEN    "\"sensitivity\":\"public\""
#define PRIVATE "\"budget\":{\"epsilon\":10,\"delta\":1e-3}"
#define STATE   "[80,0,1,0]"

static const char *judged(const char *dataset, const char *judge)
{
    return domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":4,"
                       "\"delta\":1e-4,\"force\":true},\"parameters\":{\"hidden\":[4],"
                       "\"input_scale\":1,\"batch_size\":4,\"steps\":30},\"judge\":{\"dataset\":"
                       "\"%s\"}}",
                       dataset, judge);
}

/* Job and estimate are refused with DETAIL; nothing is spent or stored. */
static void expect_difference(const char *dataset, const char *judge, const char *detail)
{
    static const char *const paths[] = {"/v1/jobs", "/v1/jobs:estimate"};
    for (size_t i = 0; i < 2; i++) {
        struct response *r = fixture_post(f, "steward", paths[i], judged(dataset, judge));
        expect_invalid(r, "/judge/dataset");
        cr_expect(strstr(response_text(r, "/errors/0/detail"), detail), "%s", r->body);
    }
    cr_expect_eq(domain_spent(f, dataset), 0);
    cr_expect_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
}

Test(same_meaning, the_first_difference_of_features_is_named)
{
    static const char *const cases[][3] = {
        {"{\"name\":\"pulse\",\"unit\":\"1/min\",\"low\":30,\"high\":220}," LACTATE "," DIABETES,
         STATE, "feature 0 is \"pulse\", not \"heart\""},
        {LACTATE "," HEART "," DIABETES, STATE, "feature 0 is \"lactate\", not \"heart\""},
        {"{\"name\":\"heart\",\"unit\":\"1/s\",\"low\":30,\"high\":220}," LACTATE "," DIABETES,
         STATE, "the unit of heart is \"1/s\", not \"1/min\""},
        {"{\"name\":\"heart\",\"low\":30,\"high\":220}," LACTATE "," DIABETES, STATE,
         "the unit of heart is \"\", not \"1/min\""},
        {"{\"name\":\"heart\",\"unit\":\"1/min\",\"low\":20,\"high\":220}," LACTATE "," DIABETES,
         STATE, "the lowest value of heart is 20, not 30"},
        {"{\"name\":\"heart\",\"unit\":\"1/min\",\"low\":30,\"high\":220.5}," LACTATE "," DIABETES,
         STATE, "the highest value of heart is 220.5, not 220"},
        {HEART ",{\"name\":\"lactate\",\"low\":0.1,\"high\":100}," DIABETES, STATE,
         "the scale of lactate is \"linear\", not \"log\""},
        {HEART ",{\"name\":\"lactate\",\"categories\":[\"low\",\"high\"]}," DIABETES,
         "[80,0,1,0,1]", "the scale of lactate is \"categories\", not \"log\""},
        {HEART "," LACTATE ",{\"name\":\"diabetes\",\"categories\":[\"no\",\"yes\",\"unknown\"]}",
         "[80,0,1,0,0]", "the number of categories of diabetes is 3, not 2"},
        {HEART "," LACTATE ",{\"name\":\"diabetes\",\"categories\":[\"yes\",\"no\"]}", STATE,
         "number 0 of categories of diabetes is \"yes\", not \"no\""},
        {HEART "," LACTATE, "[80,0]", "the number of features is 2, not 3"},
        {FEATURES ",{\"name\":\"age\",\"low\":18,\"high\":100}", "[80,0,1,0,50]",
         "the number of features is 4, not 3"},
    };
    const char *id = described(PRIVATE, FEATURES, NAMES, STATE);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_difference(id, described(OPEN, cases[i][0], NAMES, cases[i][1]), cases[i][2]);
}

Test(same_meaning, the_first_difference_of_actions_is_named)
{
    static const char *const cases[][3] = {
        {NAMES, "[\"treat\",\"wait\"]", "number 0 of the actions is \"treat\", not \"wait\""},
        {NAMES, "[\"wait\",\"treat\",\"call\"]", "the number of the actions is 3, not 2"},
        {NAMES, BINS("ml", "200", "50"), "the number of edges of the actions' bins is 1, not 0"},
        {BINS("ml", "200", "50"), NAMES, "the number of edges of the actions' bins is 0, not 1"},
        {BINS("ml", "200", "50"), BINS("l", "200", "50"),
         "the unit of the action is \"l\", not \"ml\""},
        {BINS("ml", "200", "50"), BINS("ml", "300", "50"), "the highest action is 300, not 200"},
        {BINS("ml", "200", "50"), BINS("ml", "200", "60"),
         "edge 0 of the actions' bins is 60, not 50"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_difference(described(PRIVATE, FEATURES, cases[i][0], STATE),
                          described(OPEN, FEATURES, cases[i][1], STATE), cases[i][2]);
}

#define UNKNOWN                                                                                    \
    ": nothing says that their numbers mean the same. Make the dataset with the same "             \
    "\"description\""

Test(same_meaning, a_description_on_one_side_alone_is_a_difference)
{
    const char *bare = described(PRIVATE, NULL, NULL, STATE);
    const char *full = described(PRIVATE, FEATURES, NAMES, STATE);
    expect_difference(full, described(OPEN, NULL, NULL, STATE),
                      "does not describe its features, and the job's dataset does" UNKNOWN);
    expect_difference(bare, described(OPEN, FEATURES, NAMES, STATE),
                      "describes its features, and the job's dataset does not" UNKNOWN);
}

/* Of acrobot and the fund the states have 6 numbers, and 3 actions are possible. */
Test(same_meaning, another_world_of_the_same_sizes_is_a_difference)
{
    static const char *const environments[] = {"acrobot", "fund"};
    const char *private[2], *open[2];
    for (int i = 0; i < 2; i++) {
        private[i] = in_world(PRIVATE, environments[i]);
        open[i] = in_world(OPEN, environments[i]);
    }
    expect_difference(private[0], open[1],
                      "is of environment fund, and the job's dataset of acrobot: their numbers do "
                      "not mean the same");
    expect_difference(private[1], open[0], "is of environment acrobot");
    for (int i = 0; i < 2; i++)
        expect_status(fixture_post(f, "steward", "/v1/jobs", judged(private[i], open[i])), 202);
}

/* Other words for a row or an expert, and another rule for values outside, are no difference; nor
 * is a missing description where both are of one world, whose states are such coordinates. */
Test(same_meaning, what_means_the_same_may_judge)
{
    const char *id = described(PRIVATE, FEATURES, NAMES, STATE);
    const char *same = described(OPEN, FEATURES, NAMES, STATE);
    expect_status(fixture_post(f, "steward", "/v1/jobs", judged(id, same)), 202);
    const char *bins = BINS("ml", "200", "50");
    expect_status(fixture_post(f, "steward", "/v1/jobs",
                               judged(described(PRIVATE, FEATURES, bins, STATE),
                                      described(OPEN, FEATURES, bins, STATE))),
                  202);
    expect_status(fixture_post(f, "steward", "/v1/jobs",
                               judged(described(PRIVATE, NULL, NULL, STATE),
                                      described(OPEN, NULL, NULL, STATE))),
                  202);
    const char *world = described(PRIVATE ",\"environment\":\"cartpole\"", FEATURES, NAMES, STATE);
    expect_status(
        fixture_post(f, "steward", "/v1/jobs", judged(world, domain_sealed(f, "public", 20))), 202);
}
