/* The lines between the server and a world's program: what is asked, and what is taken for an
 * answer. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/worlds/world_json.h"

#define HEAD "{\"protocol\":1,\"state_dim\":2,\"action_count\":3,\"max_episode_steps\":50"
#define PARAMETER                                                                                  \
    "{\"name\":\"mass\",\"default\":1,\"minimum\":0,\"maximum\":2,\"unit\":\"kg\",\"meaning\":"    \
    "\"m\"}"

static enum world_fault describe(const char *line, struct world_facts *facts, char detail[160])
{
    return world_json_description(line, strlen(line), facts, detail);
}

Test(world_json, asks_in_the_words_of_the_contract)
{
    char question[WORLD_QUESTION_MAX];
    struct world_facts facts = {.parameter_count = 2};
    strcpy(facts.parameters[0].name, "mass");
    strcpy(facts.parameters[1].name, "length");
    const double parameters[ENV_MAX_PARAMETERS] = {0.1, 1e-7};
    cr_expect_eq(world_json_ask_description(question), strlen(question));
    cr_expect_str_eq(question, "{\"describe\":1}\n");
    cr_expect_eq(world_json_ask_step(7, 2, question), strlen(question));
    cr_expect_str_eq(question, "{\"step\":{\"instance\":7,\"action\":2}}\n");
    size_t size = world_json_ask_reset(&facts, 3, (UINT64_C(1) << 53) - 1, parameters, question);
    cr_expect_eq(size, strlen(question));
    cr_expect_str_eq(question, "{\"reset\":{\"instance\":3,\"seed\":9007199254740991,"
                               "\"parameters\":{\"mass\":0.1,\"length\":1e-7}}}\n");
}

Test(world_json, the_longest_question_fits)
{
    char question[WORLD_QUESTION_MAX];
    struct world_facts facts = {.parameter_count = ENV_MAX_PARAMETERS};
    double parameters[ENV_MAX_PARAMETERS];
    for (int i = 0; i < ENV_MAX_PARAMETERS; i++) {
        memset(facts.parameters[i].name, 'a', sizeof facts.parameters[i].name - 1);
        parameters[i] = -1.2345678901234567e-300;
    }
    size_t size =
        world_json_ask_reset(&facts, UINT32_MAX, (UINT64_C(1) << 53) - 1, parameters, question);
    cr_expect_eq(size, strlen(question));
    cr_expect_eq(question[size - 1], '\n');
}

Test(world_json, reads_a_description)
{
    struct world_facts facts;
    char detail[160];
    cr_assert_eq(
        describe(HEAD ",\"random_return\":-3.5,\"parameters\":[" PARAMETER "]}", &facts, detail),
        WORLD_OK, "%s", detail);
    cr_expect(facts.state_dim == 2 && facts.action_count == 3 && facts.max_episode_steps == 50);
    cr_expect_eq(facts.random_return, -3.5);
    cr_assert_eq(facts.parameter_count, 1);
    cr_expect_str_eq(facts.parameters[0].name, "mass");
    cr_expect_str_eq(facts.parameters[0].unit, "kg");
    cr_expect(facts.parameters[0].value == 1 && facts.parameters[0].max == 2);
    struct world_facts again;
    memset(&again, 0xff, sizeof again);
    cr_assert_eq(describe("{\"parameters\":[" PARAMETER "],\"random_return\":-3.5,"
                          "\"max_episode_steps\":50,\"action_count\":3,\"state_dim\":2,"
                          "\"protocol\":1}",
                          &again, detail),
                 WORLD_OK);
    cr_expect(world_facts_equal(&facts, &again));
    again.parameters[0].max = 3;
    cr_expect_not(world_facts_equal(&facts, &again));
    cr_assert_eq(describe(HEAD "}", &facts, detail), WORLD_OK);
    cr_expect(facts.parameter_count == 0 && isnan(facts.random_return));
    cr_expect(world_facts_equal(&facts, &facts));
    cr_expect_not(world_facts_equal(&facts, &again));
}

Test(world_json, says_what_is_wrong_with_a_description)
{
    static const struct {
        const char *line, *named;
    } cases[] = {
        {"{}", "protocol"},
        {"{\"protocol\":2}", "protocol"},
        {"{\"protocol\":1,\"state_dim\":0}", "state_dim"},
        {"{\"protocol\":1,\"state_dim\":1e9}", "state_dim"},
        {"{\"protocol\":1,\"state_dim\":1000000}", "state_dim"},
        {"{\"protocol\":1,\"state_dim\":2.5}", "state_dim"},
        {"{\"protocol\":1,\"state_dim\":\"2\"}", "state_dim"},
        {"{\"protocol\":1,\"state_dim\":2,\"action_count\":1}", "action_count"},
        {"{\"protocol\":1,\"state_dim\":2,\"action_count\":100000}", "action_count"},
        {"{\"protocol\":1,\"state_dim\":2,\"action_count\":2}", "max_episode_steps"},
        {HEAD ",\"random_return\":\"good\"}", "random_return"},
        {HEAD ",\"random_return\":1e300}", "random_return"},
        {HEAD ",\"name\":\"x\"}", "*"},
        {HEAD ",\"parameters\":3}", "parameters"},
        {HEAD ",\"parameters\":[3]}", "parameters"},
        {HEAD ",\"parameters\":[" PARAMETER "," PARAMETER "]}", "twice"},
        {HEAD ",\"parameters\":[{\"name\":\"a\",\"default\":3,\"minimum\":0,\"maximum\":2}]}",
         "default"},
        {HEAD ",\"parameters\":[{\"name\":\"a\",\"default\":3,\"minimum\":0}]}", "maximum"},
        {HEAD ",\"parameters\":[{\"name\":\"a b\",\"default\":1,\"minimum\":0,\"maximum\":2}]}",
         "name"},
        {HEAD ",\"parameters\":[{\"name\":\"a\",\"default\":1,\"minimum\":0,\"maximum\":2,"
              "\"unit\":\"\\n\"}]}",
         "unit"},
        {HEAD ",\"parameters\":[{\"name\":\"a\",\"default\":1,\"minimum\":0,\"maximum\":2,"
              "\"more\":1}]}",
         "*"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world_facts facts;
        char detail[160];
        cr_expect_eq(describe(cases[i].line, &facts, detail), WORLD_BAD_MEMBERS, "%s",
                     cases[i].line);
        cr_expect_not_null(strstr(detail, cases[i].named), "%s: %s", cases[i].line, detail);
    }
    char many[4096] = HEAD ",\"parameters\":[", detail[160];
    struct world_facts facts;
    for (int i = 0; i < 17; i++)
        strcat(many, i > 0 ? "," PARAMETER : PARAMETER);
    strcat(many, "]}");
    cr_expect_eq(describe(many, &facts, detail), WORLD_BAD_MEMBERS);
    cr_expect_not_null(strstr(detail, "at most 16"));
}

Test(world_json, reads_observations_and_steps)
{
    double seen[2] = {9, 9};
    struct env_outcome outcome;
    const char *good = "{\"observation\":[0.1,-2e-3]}";
    const char *step = " {\"reward\":-1, \"terminated\":true, \"observation\":[1,2]} \r";
    cr_assert_eq(world_json_observation(good, strlen(good), 2, seen), WORLD_OK);
    cr_expect(seen[0] == 0.1 && seen[1] == -2e-3);
    cr_assert_eq(world_json_step(step, strlen(step), 2, seen, &outcome), WORLD_OK);
    cr_expect(seen[0] == 1 && outcome.reward == -1 && outcome.terminated && !outcome.failed);
}

Test(world_json, takes_nothing_else_for_a_step)
{
#define STEP(observation, rest) "{\"observation\":" observation "," rest "}"
#define REST                    "\"reward\":1,\"terminated\":false"
    static const struct {
        const char *line;
        enum world_fault fault;
    } cases[] = {
        {"", WORLD_NOT_JSON},
        {"hello", WORLD_NOT_JSON},
        {"[1,2]", WORLD_NOT_JSON},
        {"{\"observation\":[1,2]", WORLD_NOT_JSON},
        {STEP("[1,NaN]", REST), WORLD_NOT_JSON},
        {STEP("[1,Infinity]", REST), WORLD_NOT_JSON},
        {STEP("[1,2]", REST ",\"reward\":1"), WORLD_NOT_JSON},
        {STEP("[1,2]", REST) STEP("[1,2]", REST), WORLD_NOT_JSON},
        {STEP("[1,1e999]", REST), WORLD_BAD_NUMBER},
        {STEP("[1,1e39]", REST), WORLD_BAD_NUMBER},
        {STEP("[1,2]", "\"reward\":-1e200,\"terminated\":false"), WORLD_BAD_NUMBER},
        {STEP("[1]", REST), WORLD_BAD_LENGTH},
        {STEP("[1,2,3]", REST), WORLD_BAD_LENGTH},
        {STEP("[]", REST), WORLD_BAD_LENGTH},
        {STEP("[1,null]", REST), WORLD_BAD_MEMBERS},
        {STEP("[1,\"2\"]", REST), WORLD_BAD_MEMBERS},
        {STEP("[1,true]", REST), WORLD_BAD_MEMBERS},
        {STEP("3", REST), WORLD_BAD_MEMBERS},
        {STEP("[1,2]", "\"reward\":1"), WORLD_BAD_MEMBERS},
        {STEP("[1,2]", "\"reward\":1,\"terminated\":0"), WORLD_BAD_MEMBERS},
        {STEP("[1,2]", "\"reward\":\"1\",\"terminated\":false"), WORLD_BAD_MEMBERS},
        {STEP("[1,2]", REST ",\"truncated\":false"), WORLD_BAD_MEMBERS},
        {"{" REST "}", WORLD_BAD_MEMBERS},
        {"{\"error\":\"no such action\"}", WORLD_REPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double seen[2];
        struct env_outcome outcome;
        cr_expect_eq(world_json_step(cases[i].line, strlen(cases[i].line), 2, seen, &outcome),
                     cases[i].fault, "%s", cases[i].line);
    }
    double seen[2];
    cr_expect_eq(world_json_observation(cases[17].line, strlen(cases[17].line), 2, seen),
                 WORLD_BAD_MEMBERS);
}

Test(world_json, every_fault_has_its_own_sentence)
{
    for (int a = 0; a < WORLD_FAULTS; a++) {
        cr_expect_gt(strlen(world_fault_text((enum world_fault)a)), 5);
        for (int b = 0; b < a; b++) {
            cr_expect_str_neq(world_fault_text((enum world_fault)a),
                              world_fault_text((enum world_fault)b));
        }
    }
}
