/* Descriptions of datasets: what is taken, what is refused and where it says so, and what a state
 * must be. */
#include "api/data/description.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "tests/unit/api/domain.h"

#define FEATURES                                                                                   \
    "\"features\":["                                                                               \
    "{\"name\":\"heart_rate\",\"unit\":\"1/min\",\"low\":30,\"high\":220,\"scale\":\"linear\"},"   \
    "{\"name\":\"lactate\",\"low\":0.1,\"high\":100,\"scale\":\"log\"},"                           \
    "{\"name\":\"ward\",\"categories\":[\"A\",\"B\",\"C\"]}]"
#define WORDS   "\"row\":\"an hour\",\"expert\":\"the clinician\""
#define ACTIONS "\"actions\":[\"wait\",\"treat\"]"
#define TABLE(more)                                                                                \
    "\"table\":{\"expert\":\"who\",\"episode\":\"stay\",\"action\":\"did\",\"reward\":\"r\","      \
    "\"terminated\":\"end\"" more "}"
#define GOOD "{" WORDS "," FEATURES "," ACTIONS "}"

static struct description *parsed(const char *text)
{
    struct json_fault fault = {.detail = ""};
    struct description *description = description_parse(text, &fault);
    cr_assert(description != NULL, "%s %s", fault.pointer, fault.detail);
    return description;
}

static void refuses(const char *text, const char *pointer, const char *detail)
{
    struct json_fault fault = {.detail = ""};
    struct description *description = description_parse(text, &fault);
    cr_expect(!description, "taken: %s", text);
    cr_expect_str_eq(fault.pointer, pointer, "%s: %s", text, fault.detail);
    cr_expect(strstr(fault.detail, detail), "%s: %s", text, fault.detail);
    description_free(description);
}

Test(description, gives_coordinates_and_their_ranges)
{
    struct description *d = parsed(GOOD);
    cr_assert_eq(d->feature_count, 3);
    cr_expect_str_eq(d->expert, "the clinician");
    cr_expect_str_eq(d->row, "an hour");
    cr_expect_eq(d->dim, 5); /* 1 + 1 + 3 */
    cr_expect_eq(d->features[2].coordinate, 2);
    cr_expect_str_eq(d->features[0].unit, "1/min");
    cr_expect_str_eq(d->features[2].categories[1], "B");
    cr_expect_eq(d->action_count, 2);
    cr_expect_str_eq(d->actions[1], "treat");
    cr_expect(!d->clips && !d->has_table);
    cr_assert_eq(d->ranges->count, 5);
    const double low[] = {30, -1, 0, 0, 0}, high[] = {220, 2, 1, 1, 1};
    for (unsigned i = 0; i < 5; i++) {
        cr_expect_float_eq(d->ranges->range[i].low, low[i], 1e-15);
        cr_expect_float_eq(d->ranges->range[i].high, high[i], 1e-15);
    }
    cr_expect_eq(feature_center(&d->ranges->range[0]), 125);
    cr_expect_float_eq(feature_scale(&d->ranges->range[1]), 2.0 / 3, 1e-15);
    description_free(d);
}

/* The files of examples are descriptions, whose coordinates are those of the worlds. */
Test(description, of_the_examples_are_read)
{
    const struct {
        const char *path;
        unsigned dim, actions;
    } files[] = {{"examples/ward.json", 6, 4},
                 {"examples/fund.json", 6, 3},
                 {"examples/factory.json", 3, 3}};
    for (size_t i = 0; i < 3; i++) {
        FILE *file = fopen(files[i].path, "rb");
        cr_assert(file != NULL);
        char *text = memory_new(1, 65536);
        cr_assert(fread(text, 1, 65535, file) > 0);
        fclose(file);
        struct description *d = parsed(text);
        cr_expect_eq(d->dim, files[i].dim);
        cr_expect_eq(d->action_count, files[i].actions);
        cr_expect(d->has_table);
        cr_expect_eq(d->table.last_state, LAST_STATE_OWN_ROW);
        cr_expect(!d->features[0].fills && !d->features[0].carries && !d->table.truncated);
        description_free(d);
        free(text);
    }
}

#define WITH(features) "{" WORDS "," ACTIONS ",\"features\":[" features "]}"

Test(description, refuses_features_without_sense)
{
    refuses(WITH("{\"name\":\"x\",\"high\":1}"), "/features/0/low", "is required");
    refuses(WITH("{\"name\":\"x\",\"low\":1}"), "/features/0/high", "is required");
    refuses(WITH("{\"name\":\"x\",\"low\":2,\"high\":1}"), "/features/0/high",
            "above low, of \"x\"");
    refuses(WITH("{\"name\":\"x\",\"low\":1,\"high\":1}"), "/features/0/high",
            "above low, of \"x\"");
    refuses(WITH("{\"name\":\"x\",\"low\":16777216,\"high\":16777217}"), "/features/0/high",
            "32 bits");
    refuses(WITH("{\"name\":\"x\",\"low\":-1e39,\"high\":1}"), "/features/0/low", "1e+30");
    refuses(WITH("{\"name\":\"x\",\"low\":0,\"high\":1,\"scale\":\"log\"}"), "/features/0/low",
            "above 0");
    refuses(WITH("{\"name\":\"x\",\"low\":-1,\"high\":1,\"scale\":\"log\"}"), "/features/0/low",
            "above 0");
    refuses(WITH("{\"name\":\"x\",\"low\":0,\"high\":1,\"scale\":\"cubic\"}"), "/features/0/scale",
            "\"linear\", \"log\"");
    refuses(WITH("{\"name\":\"x\",\"low\":0,\"high\":1},{\"name\":\"x\",\"low\":0,\"high\":1}"),
            "/features/1/name", "is the name of feature 0");
    refuses(WITH("{\"name\":\"\",\"low\":0,\"high\":1}"), "/features/0/name", "1 to 64 bytes");
    refuses(WITH("{\"name\":\"0123456789012345678901234567890123456789012345678901234567890123+\","
                 "\"low\":0,\"high\":1}"),
            "/features/0/name", "1 to 64 bytes");
    refuses(WITH("{\"name\":\"x\",\"low\":0,\"high\":1,\"mean\":0.5}"), "/features/0/mean",
            "not a known member");
    refuses(WITH("7"), "/features/0", "must be an object");
    refuses(WITH(""), "/features", "1 to 1024 elements");
}

Test(description, refuses_categories_without_sense)
{
    refuses(WITH("{\"name\":\"x\",\"categories\":[\"a\"]}"), "/features/0/categories",
            "2 to 1024 elements");
    refuses(WITH("{\"name\":\"x\",\"categories\":[\"a\",\"a\"]}"), "/features/0/categories/1",
            "is the name of element 0");
    refuses(WITH("{\"name\":\"x\",\"categories\":[\"a\",3]}"), "/features/0/categories/1",
            "must be a name");
    refuses(WITH("{\"name\":\"x\",\"categories\":[\"a\",\"b\"],\"low\":0}"), "/features/0/low",
            "no meaning beside categories");
}

/* 1,024 coordinates are taken, and one more is not. */
Test(description, refuses_too_many_coordinates)
{
    char *list = memory_new(1, 40000);
    size_t used = 0;
    for (unsigned i = 0; i < 1023; i++)
        used += (size_t)sprintf(list + used, "%s\"c%u\"", i > 0 ? "," : "", i);
    for (unsigned more = 1; more <= 2; more++) {
        char *text = memory_format("{" WORDS "," ACTIONS
                                   ",\"features\":[{\"name\":\"x\",\"categories\":[%s]},"
                                   "{\"name\":\"y\",\"low\":0,\"high\":1}%s]}",
                                   list, more > 1 ? ",{\"name\":\"z\",\"low\":0,\"high\":1}" : "");
        if (more > 1)
            refuses(text, "/features", "make 1025 coordinates");
        else
            description_free(parsed(text));
        free(text);
    }
    free(list);
}

Test(description, refuses_missing_and_unknown_members)
{
    refuses("{" WORDS "," FEATURES "}", "/actions", "is required");
    refuses("{\"row\":\"a\"," FEATURES "," ACTIONS "}", "/expert", "is required");
    refuses("{" WORDS "," FEATURES ",\"actions\":[\"a\"]}", "/actions", "2 to 1024");
    refuses("{" WORDS "," FEATURES ",\"actions\":[\"a\",\"a\"]}", "/actions/1", "element 0");
    refuses("{" WORDS "," FEATURES "," ACTIONS ",\"outside\":\"drop\"}", "/outside",
            "\"refuse\", \"clip\"");
    refuses("{" WORDS "," FEATURES "," ACTIONS ",\"feature\":[]}", "/feature", "not a known");
    refuses("[]", "", "must be an object");
    refuses("{", "", "");
}

#define TABLED(more) "{" WORDS "," FEATURES "," ACTIONS "," TABLE(more) "}"

Test(description, keeps_the_columns_of_its_table)
{
    struct description *d = parsed(TABLED(
        ",\"time\":\"hour\",\"last_state\":\"repeat\",\"missing\":{\"fill\":{\"lactate\":1.5,"
        "\"ward\":\"C\"}}"));
    cr_assert(d->has_table);
    cr_expect_str_eq(d->table.time, "hour");
    cr_expect_eq(d->table.last_state, LAST_STATE_REPEAT);
    cr_expect(d->features[1].fills && d->features[1].fill == 1.5);
    description_free(d);
    refuses(TABLED(""), "/table/last_state", "is required");
    refuses(TABLED(",\"last_state\":\"drop\",\"missing\":\"ignore\""), "/table/missing",
            "must be \"refuse\"");
    refuses(TABLED(",\"last_state\":\"drop\",\"missing\":{\"fill\":{\"lactat\":1}}"),
            "/table/missing/fill/lactat", "is no feature");
    refuses(TABLED(",\"last_state\":\"drop\",\"missing\":{\"fill\":{\"lactate\":0}}"),
            "/table/missing/fill/lactate", "from the feature's low to its high");
    refuses(TABLED(",\"last_state\":\"drop\",\"missing\":{\"fill\":{\"ward\":\"D\"}}"),
            "/table/missing/fill/ward", "one of the feature's categories");
    refuses(TABLED(",\"last_state\":\"drop\",\"time\":\"r\""), "/table/reward",
            "is the column of \"time\", too");
}

/* The table of a feature named NAME, with truncated in its own column. */
#define READS(name)                                                                                \
    "{" WORDS "," ACTIONS ",\"features\":[{\"name\":\"" name "\",\"low\":0,\"high\":1}]," TABLE(   \
        ",\"time\":\"hour\",\"truncated\":\"cut\",\"last_state\":\"drop\"") "}"

#define NEW(description)                                                                           \
    "{\"name\":\"d\",\"max_episode_steps\":30,\"discount\":0.9,\"budget\":{\"epsilon\":3,"         \
    "\"delta\":"                                                                                   \
    "1e-6},\"description\":" description "}"

/* A policy that reads its own action, or what came of it, learns nothing else. What is stored is
 * read all the same. */
Test(description, of_a_new_dataset_has_no_feature_that_is_no_state)
{
    static const char *const cases[][2] = {{"action", READS("did")},
                                           {"reward", READS("r")},
                                           {"terminated", READS("end")},
                                           {"truncated", READS("cut")},
                                           {"expert", READS("who")}};
    struct fixture *f = fixture_open();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        description_free(parsed(cases[i][1]));
        struct response *refused =
            fixture_post(f, "steward", "/v1/datasets", domain_path(NEW("%s"), cases[i][1]));
        expect_invalid(refused, domain_path("/description/table/%s", cases[i][0]));
        cr_expect(strstr(refused->body, "is the column of a feature, too"), "%s", refused->body);
    }
    /* the hour of a stay may be part of a state */
    expect_status(fixture_post(f, "steward", "/v1/datasets", NEW(READS("hour"))), 201);
    fixture_close(f);
}

/* A value to fill in for a feature whose categories were refused: that is the one fault. */
Test(description, a_faulty_feature_may_be_filled)
{
    refuses(
        "{\"row\":\"r\",\"expert\":\"e\",\"features\":[{\"name\":\"k\",\"categories\":[\"a\",1]}],"
        "\"actions\":[\"l\",\"r\"],\"table\":{\"expert\":\"w\",\"episode\":\"s\",\"action\":\"a\","
        "\"reward\":\"g\",\"terminated\":\"t\",\"last_state\":\"drop\","
        "\"missing\":{\"fill\":{\"k\":\"a\"}}}}",
        "/features/0/categories/1", "");
}

Test(description, says_how_each_missing_value_is_filled)
{
    struct description *d = parsed(TABLED(
        ",\"last_state\":\"repeat_or_drop\",\"missing\":{\"previous\":[\"lactate\",\"ward\"],"
        "\"fill\":{\"ward\":\"B\"}}"));
    cr_expect_eq(d->table.last_state, LAST_STATE_REPEAT_OR_DROP);
    cr_expect(!d->features[0].carries && !d->features[0].fills);
    cr_expect(d->features[1].carries && !d->features[1].fills);
    cr_expect(d->features[2].carries && d->features[2].fills && d->features[2].fill == 1);
    description_free(d);
    refuses(TABLED(",\"last_state\":\"drop\",\"missing\":{}"), "/table/missing",
            "must be \"refuse\"");
    refuses(TABLED(",\"last_state\":\"drop\",\"missing\":{\"previous\":[\"lactat\"]}"),
            "/table/missing/previous/0", "is no feature");
}

#define BINS(members) "{" WORDS "," FEATURES ",\"actions\":{" members "}}"

Test(description, takes_bins_of_a_continuous_action)
{
    struct description *d = parsed(BINS("\"unit\":\"ml\",\"low\":0,\"high\":2000,\"edges\":[0,500],"
                                        "\"names\":[\"none\",\"some\",\"much\"]"));
    cr_expect_eq(d->action_count, 3);
    cr_expect_str_eq(d->actions[2], "much");
    cr_expect_str_eq(d->bins.unit, "ml");
    cr_assert_eq(d->bins.count, 2);
    cr_expect(d->bins.low == 0 && d->bins.high == 2000 && d->bins.edges[1] == 500);
    description_free(d);
    refuses(BINS("\"low\":0,\"edges\":[0],\"names\":[\"a\",\"b\"]"), "/actions/high",
            "is required");
    refuses(BINS("\"low\":0,\"high\":9,\"edges\":[1],\"names\":[\"a\",\"b\",\"c\"]"),
            "/actions/names", "one more than the edges: 2, not 3");
    refuses(BINS("\"low\":0,\"high\":9,\"edges\":[2,2],\"names\":[\"a\",\"b\",\"c\"]"),
            "/actions/edges/1", "above the edge before it");
    refuses(BINS("\"low\":0,\"high\":9,\"edges\":[-1],\"names\":[\"a\",\"b\"]"), "/actions/edges/0",
            "from low to below high");
    refuses(BINS("\"low\":0,\"high\":9,\"edges\":[9],\"names\":[\"a\",\"b\"]"), "/actions/edges/0",
            "from low to below high");
    refuses(BINS("\"low\":0,\"high\":9,\"edges\":[1],\"names\":[\"a\",\"a\"]"), "/actions/names/1",
            "element 0");
    refuses("{" WORDS "," FEATURES ",\"actions\":3}", "/actions", "array of 2 to 1024 names");
}

/* Whether STATE fits, and what is said of it. */
static bool fits(const struct description *d, float *state, uint32_t *at, char *detail)
{
    for (unsigned f = 0; f < d->feature_count; f++)
        if (!description_fit(d, f, state, at, detail))
            return false;
    return true;
}

Test(description, refuses_values_outside_and_names_the_feature)
{
    struct description *d = parsed(GOOD);
    const struct {
        float state[5];
        uint32_t at;
        const char *detail;
    } wrong[] = {
        {{1180, 0, 1, 0, 0}, 0, "heart_rate is 1180, above its highest value 220"},
        {{29, 0, 1, 0, 0}, 0, "heart_rate is 29, below its lowest value 30"},
        {{80, 3, 1, 0, 0},
         1,
         "lactate is 1000, whose decimal logarithm 3 is in the state, above its highest value 100"},
        {{80, 1, 0, 0, 0}, 2, "ward has no category"},
        {{80, 1, 1, 1, 0}, 3, "ward has 3 categories"},
        {{80, 1, 0, 0.5F, 0.5F}, 3, "ward has 3 categories"},
        {{80, 1, 0, 0, NAN}, 4, "ward has 3 categories"},
        {{INFINITY, 1, 1, 0, 0}, 0, "heart_rate is not a finite number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        float state[5];
        char detail[DESCRIPTION_FAULT_SIZE];
        uint32_t at;
        memcpy(state, wrong[i].state, sizeof state);
        cr_expect(!fits(d, state, &at, detail), "%zu", i);
        cr_expect_eq(at, wrong[i].at, "%zu: %u", i, at);
        cr_expect(strstr(detail, wrong[i].detail), "%zu: %s", i, detail);
    }
    float bounds[2][5] = {{30, -1, 1, 0, 0}, {220, 2, 0, 0, 1}}; /* the bounds are inside */
    for (size_t i = 0; i < 2; i++) {
        char detail[DESCRIPTION_FAULT_SIZE];
        uint32_t at;
        cr_expect(fits(d, bounds[i], &at, detail), "%s", detail);
    }
    description_free(d);
}

/* A logarithm that was written with six decimals is not outside. log10(0.3) = -0.52287874... */
Test(description, forgives_the_rounding_of_a_bound)
{
    struct description *d =
        parsed(WITH("{\"name\":\"x\",\"low\":0.3,\"high\":20,\"scale\":\"log\"}"));
    char detail[DESCRIPTION_FAULT_SIZE];
    uint32_t at;
    float x = -0.522879F;
    cr_assert(description_fit(d, 0, &x, &at, detail));
    cr_expect_eq(x, (float)log10(0.3));
    x = -0.5229F;
    cr_expect(!description_fit(d, 0, &x, &at, detail));
    description_free(d);
}

Test(description, clips_numbers_alone)
{
    struct description *d = parsed("{" WORDS "," FEATURES "," ACTIONS ",\"outside\":\"clip\"}");
    float state[5] = {1180, -4, 0, 1, 0};
    char detail[DESCRIPTION_FAULT_SIZE];
    uint32_t at;
    cr_assert(fits(d, state, &at, detail), "%s", detail);
    cr_expect_eq(state[0], 220);
    cr_expect_eq(state[1], -1);
    float infinite[5] = {INFINITY, 0, 0, 1, 0}, none[5] = {80, 0, 0, 0, 0};
    cr_expect(!fits(d, infinite, &at, detail));
    cr_expect(!fits(d, none, &at, detail));
    description_free(d);
}
