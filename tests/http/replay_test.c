/* `tacet replay` as a process: the recordings of the references agree, what was altered in them is
 * found where it is, and what is no recording is one line and exit code 2. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/server_process.h"

#define GOLDEN "tests/golden/environments/"

static const struct {
    const char *file, *environment;
    size_t agree, not_compared;
    const char *tolerance; /* NULL: the world's */
} RECORDINGS[] = {
    {GOLDEN "cartpole.json", "cartpole", 17, 0, "--tolerance=0"},
    {GOLDEN "acrobot.json", "acrobot", 14, 0, NULL},
    {GOLDEN "hiv.json", "hiv", 14, 0, NULL},
    {GOLDEN "lunar_lander.json", "lunar_lander", 14, 0, NULL},
};
#define RECORDING_COUNT (sizeof RECORDINGS / sizeof *RECORDINGS)

static char output[1 << 16];

static json_t *parse_output(void)
{
    json_t *json = json_loads(output, JSON_REJECT_DUPLICATES, NULL);
    char *end = strchr(output, '\n');
    cr_assert(json != NULL && end != NULL && end[1] == '\0', "%s", output);
    return json;
}

static json_int_t count_of(const json_t *json, const char *name)
{
    cr_assert(json_is_integer(json_object_get(json, name)), "%s", name);
    return json_integer_value(json_object_get(json, name));
}

Test(replay, the_references_recordings_agree)
{
    for (size_t i = 0; i < RECORDING_COUNT; i++) {
        cr_assert_eq(tacet_run(output, sizeof output, "replay", "--json", RECORDINGS[i].file,
                               RECORDINGS[i].tolerance, NULL),
                     0, "%s", output);
        json_t *json = parse_output(), *file = json_array_get(json_object_get(json, "files"), 0);
        cr_expect_eq(count_of(json, "agree"), (json_int_t)RECORDINGS[i].agree);
        cr_expect_eq(count_of(json, "differ"), 0);
        cr_expect_eq(count_of(json, "not_compared"), (json_int_t)RECORDINGS[i].not_compared);
        cr_expect_str_eq(json_string_value(json_object_get(file, "environment")),
                         RECORDINGS[i].environment);
        size_t n;
        json_t *item;
        json_array_foreach(json_object_get(file, "cases"), n, item)
        {
            if (json_is_false(json_object_get(item, "compared"))) {
                cr_expect(json_string_length(json_object_get(item, "reason")) > 0);
                continue;
            }
            cr_expect(json_is_true(json_object_get(item, "agrees")));
            cr_expect_leq(json_number_value(json_object_get(item, "largest_error")), 1e-7);
            cr_expect_gt(count_of(item, "steps"), 0);
        }
        json_decref(json);
    }
}

Test(replay, all_files_at_once_are_told_in_lines)
{
    cr_assert_eq(tacet_run(output, sizeof output, "replay", RECORDINGS[0].file, RECORDINGS[1].file,
                           RECORDINGS[2].file, RECORDINGS[3].file, NULL),
                 0);
    static const char *const told[] = {
        "59 cases agree, 0 differ, 0 not compared\n",
        "65 steps  largest error 0  rewards agree  flags agree\n",
    };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        cr_expect_not_null(strstr(output, told[i]), "%s in\n%s", told[i], output);
}

Test(replay, a_tolerance_is_the_callers)
{
    cr_expect_eq(
        tacet_run(output, sizeof output, "replay", "--tolerance", "0", RECORDINGS[1].file, NULL),
        1);
    cr_expect_not_null(strstr(output, "TOO LARGE"));
    cr_expect_eq(
        tacet_run(output, sizeof output, "replay", "--tolerance=1e-14", RECORDINGS[1].file, NULL),
        0);
    cr_expect_eq(tacet_run(output, sizeof output, "replay", "--tolerance", "1e-9", "--json",
                           RECORDINGS[2].file, NULL),
                 1);
    json_t *json = parse_output();
    cr_expect_gt(count_of(json, "differ"), 10);
    cr_expect_eq(json_number_value(json_object_get(
                     json_array_get(json_object_get(json, "files"), 0), "tolerance")),
                 1e-9);
    json_decref(json);
}

/* ---- altered recordings */

/* A file of TEXT that the caller removes. */
static void write_file(char path[40], const char *text)
{
    strcpy(path, "/tmp/tacet_replay_XXXXXX");
    int file = mkstemp(path);
    cr_assert(file >= 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

/* The golden file of world I; its first case is in *OUT_RESULT, or the result within it. */
static json_t *load_golden(size_t i, json_t **out_case, json_t **out_result)
{
    json_t *json = json_load_file(RECORDINGS[i].file, 0, NULL);
    cr_assert(json, "run from the repository's root");
    json_t *cases = json_object_get(json, "cases");
    while (json_array_size(cases) > 1)
        json_array_remove(cases, 1);
    *out_case = json_array_get(cases, 0);
    json_t *inner = json_object_get(*out_case, "debian_box2d_2_4_1_contact600");
    *out_result = inner ? inner : *out_case;
    return json;
}

/* Replays JSON, as --json; gives the exit code. */
static int replay_json(const json_t *json)
{
    char path[40], *text = json_dumps(json, 0);
    write_file(path, text);
    int code = tacet_run(output, sizeof output, "replay", "--json", path, NULL);
    unlink(path);
    free(text);
    return code;
}

/* The only case of the object that was printed. */
static json_t *only_case(const json_t *json)
{
    return json_array_get(
        json_object_get(json_array_get(json_object_get(json, "files"), 0), "cases"), 0);
}

static void expect_difference(const json_t *altered, const char *verdict, const char *step,
                              json_int_t at)
{
    static const char *const verdicts[] = {"states_agree", "rewards_agree", "flags_agree"};
    cr_assert_eq(replay_json(altered), 1, "%s", output);
    json_t *json = parse_output(), *item = only_case(json);
    cr_expect_eq(count_of(json, "differ"), 1);
    cr_expect(json_is_false(json_object_get(item, "agrees")));
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(json_is_false(json_object_get(item, verdicts[i])),
                     strcmp(verdicts[i], verdict) == 0, "%s %s", verdicts[i], output);
    cr_expect_eq(count_of(item, step), at, "%s", output);
    json_decref(json);
}

/* The last step, whose state no later step starts from, is altered in each way by itself. */
Test(replay, what_was_altered_is_found_where_it_is)
{
    for (size_t i = 0; i < RECORDING_COUNT; i++) {
        json_t *item, *result, *json = load_golden(i, &item, &result);
        json_t *states = json_object_get(result, "states");
        json_t *rewards = json_object_get(result, "rewards");
        size_t last = json_array_size(states) - 1;
        json_t *row = json_array_get(states, last);
        double number = json_number_value(json_array_get(row, 1));
        json_array_set_new(row, 1, json_real(number * 1.1 + 0.1));
        expect_difference(json, "states_agree", "largest_error_step", (json_int_t)last + 1);
        json_array_set_new(row, 1, json_real(number));

        double reward = json_number_value(json_array_get(rewards, 3));
        json_array_set_new(rewards, 3, json_real(reward * 1.01 + 0.1));
        expect_difference(json, "rewards_agree", "largest_reward_error_step", 4);
        json_array_set_new(rewards, 3, json_real(reward));

        json_array_set_new(json_object_get(result, "terminated"), 2, json_true());
        expect_difference(json, "flags_agree", "first_flags_that_differ_step", 3);
        json_array_set_new(json_object_get(result, "terminated"), 2, json_false());
        json_array_set_new(json_object_get(result, "truncated"), 4, json_true());
        expect_difference(json, "flags_agree", "first_flags_that_differ_step", 5);
        json_decref(json);
    }
}

Test(replay, another_action_or_another_physics_is_another_episode)
{
    for (size_t i = 0; i < RECORDING_COUNT; i++) {
        json_t *item, *result, *json = load_golden(i, &item, &result);
        json_t *actions = json_object_get(result, "actions");
        json_int_t first = json_integer_value(json_array_get(actions, 0));
        json_array_set_new(actions, 0, json_integer(first == 0 ? 1 : 0));
        cr_expect_eq(replay_json(json), 1, "%s", output);
        json_array_set_new(actions, 0, json_integer(first));
        cr_expect_eq(replay_json(json), 0, "%s", output);
        static const char *const constant[] = {"force_mag", "link_moi", "S", "gravity"};
        json_t *params = json_object_get(item, "params");
        double value = json_number_value(json_object_get(params, constant[i]));
        json_object_set_new(params, constant[i], json_real(0.999 * value));
        cr_expect_eq(replay_json(json), 1, "%s", output);
        json_decref(json);
    }
}

/* A leg that touches the ground, or does not, is no matter of nearly. */
Test(replay, a_contact_must_be_the_same_whatever_the_tolerance)
{
    json_t *item, *result, *json = load_golden(3, &item, &result);
    json_array_set_new(json_array_get(json_object_get(result, "states"), 0), 6, json_real(1.0));
    char path[40], *text = json_dumps(json, 0);
    write_file(path, text);
    cr_expect_eq(tacet_run(output, sizeof output, "replay", "--tolerance", "1000", path, NULL), 1);
    unlink(path);
    free(text);
    json_decref(json);
}

/* ---- refusals */

#define CASE(REST)                                                                                 \
    "{\"env\":\"cartpole\",\"cases\":[{\"name\":\"a\",\"params\":{},"                              \
    "\"initial_state\":[0,0,0,0]," REST "}]}"
#define ONE_STEP                                                                                   \
    "\"actions\":[1],\"states\":[[0,0.2,0,0]],\"rewards\":[1],\"terminated\":[false],"             \
    "\"truncated\":[false]"
#define LANDER(START, REST)                                                                        \
    "{\"env\":\"LunarLander-v3\",\"cases\":[{\"name\":\"a\",\"initial\":{" START "}," REST         \
    "\"actions\":[0],\"states\":[[0,0,0,0,0,0,0,0]],\"rewards\":[0],\"terminated\":[false],"       \
    "\"truncated\":[false]}]}"
#define FLAT "\"terrain_heights\":[3,3,3,3,3,3,3,3,3,3,3,3]"

/* What a file holds, and what the line must say. */
static const char *const MALFORMED[][2] = {
    {"", "JSON"},
    {"{", "ends too early"},
    {"[]", "/env"},
    {"{\"env\":3}", "/env"},
    {"{\"env\":\"\"}", "/env"},
    {"{\"env\":\"MountainCar-v0\",\"cases\":[{}]}", "MountainCar-v0"},
    {"{\"env\":\"LunarLanderContinuous-v3\",\"cases\":[{}]}", "LunarLanderContinuous-v3"},
    {"{\"env\":\"mountain\\ncar\",\"cases\":[{}]}", "mountain?car"},
    {"{\"env\":\"cartpole\"}", "/cases"},
    {"{\"env\":\"cartpole\",\"cases\":{}}", "/cases"},
    {"{\"env\":\"cartpole\",\"cases\":[]}", "/cases"},
    {"{\"env\":\"cartpole\",\"cases\":[1]}", "/cases/0/name"},
    {"{\"env\":\"cartpole\",\"cases\":[{\"name\":\"a\",\"params\":[]}]}", "/cases/0/params"},
    {"{\"env\":\"cartpole\",\"cases\":[{\"name\":\"a\",\"params\":{\"colour\":1}}]}", "colour"},
    {"{\"env\":\"cartpole\",\"cases\":[{\"name\":\"a\",\"params\":{\"gravity\":-1}}]}",
     "gravity -1"},
    {"{\"env\":\"cartpole\",\"cases\":[{\"name\":\"a\",\"params\":{\"total_mass\":9}}]}",
     "total_mass"},
    {"{\"env\":\"hiv\",\"cases\":[{\"name\":\"a\",\"params\":{\"efficacy_noise_sd\":0.01}}]}",
     "efficacies"},
    {CASE("\"actions\":[]"), "/cases/0/actions"},
    {CASE("\"actions\":[2]"), "/cases/0/actions/0"},
    {CASE("\"actions\":[0.5]"), "/cases/0/actions/0"},
    {CASE("\"actions\":[-1]"), "/cases/0/actions/0"},
    {CASE("\"actions\":[1]"), "/cases/0/states"},
    {CASE("\"actions\":[1],\"states\":[[0,0,0]]"), "/cases/0/states/0"},
    {CASE("\"actions\":[1],\"states\":[[0,0,0,null]]"), "/cases/0/states/0"},
    {CASE("\"actions\":[1],\"states\":[[0,0,0,1e999]]"), "/cases/0/states/0"},
    {CASE("\"actions\":[1],\"states\":[[0,0,0,0]],\"rewards\":[]"), "/cases/0/rewards"},
    {CASE("\"actions\":[1],\"states\":[[0,0,0,0]],\"rewards\":[1],\"terminated\":[0]"),
     "/cases/0/terminated"},
    {CASE("\"actions\":[1],\"states\":[[0,0,0,0]],\"rewards\":[1],\"terminated\":[true]"),
     "/cases/0/truncated"},
    {"{\"env\":\"cartpole\",\"cases\":[{\"name\":\"a\"," ONE_STEP "}]}", "/cases/0/initial_state"},
    {"{\"env\":\"hiv\",\"cases\":[{\"name\":\"a\",\"initial_state\":[1,1,1,1,1,-1],"
     "\"actions\":[0],\"states\":[[1,1,1,1,1,1]],\"rewards\":[0],\"terminated\":[false],"
     "\"truncated\":[false]}]}",
     "/cases/0 has a start"},
    {LANDER("", ""), "/cases/0/initial/terrain_heights"},
    {LANDER(FLAT, ""), "/cases/0/initial/initial_force"},
    {LANDER(FLAT ",\"initial_force\":[0,0],\"wind_idx\":0.5", ""), "/cases/0/initial/wind_idx"},
    {LANDER(FLAT ",\"initial_force\":[0,0]", ""), "/cases/0/dispersion"},
    {LANDER(FLAT ",\"initial_force\":[0,0]", "\"dispersion\":[[0,2]],"), "/cases/0/dispersion/0"},
    {LANDER(FLAT ",\"initial_force\":[0,1e9]", "\"dispersion\":[[0,0]],"), "/cases/0 has a start"},
    {LANDER(FLAT ",\"initial_force\":[0,0],\"wind_idx\":9999999999", "\"dispersion\":[[0,0]],"),
     "/cases/0 has a start"},
};

static void expect_one_line(int code, int wanted, const char *what, const char *words)
{
    char *end = strchr(output, '\n');
    cr_expect_eq(code, wanted, "%s: %d, %s", what, code, output);
    cr_expect(end != NULL && end[1] == '\0', "%s: %s", what, output);
    cr_expect(strncmp(output, "tacet replay: ", 14) == 0 && strstr(output, words) != NULL,
              "%s: %s does not say %s", what, output, words);
}

Test(replay, what_is_no_recording_is_one_line_that_says_where_and_exit_code_2)
{
    for (size_t i = 0; i < sizeof MALFORMED / sizeof *MALFORMED; i++) {
        char path[40];
        write_file(path, MALFORMED[i][0]);
        int code = tacet_run(output, sizeof output, "replay", path, NULL);
        expect_one_line(code, 2, MALFORMED[i][0], MALFORMED[i][1]);
        cr_expect_not_null(strstr(output, path));
        unlink(path);
    }
}

/* Numbers that overflow in a world are a difference, and null in JSON. */
Test(replay, numbers_beyond_all_bounds_differ)
{
    char path[40];
    write_file(path,
               "{\"env\":\"cartpole\",\"cases\":[{\"name\":\"a\\nb\",\"initial_state\":[0,0,0,"
               "1e200]," ONE_STEP "}]}");
    cr_expect_eq(tacet_run(output, sizeof output, "replay", "--json", path, NULL), 1);
    json_t *json = parse_output();
    cr_expect(json_is_null(json_object_get(only_case(json), "largest_error")));
    json_decref(json);
    cr_expect_eq(tacet_run(output, sizeof output, "replay", path, NULL), 1);
    cr_expect(strstr(output, "a?b") && strstr(output, "largest error inf at step 1, TOO LARGE"));
    unlink(path);
}

Test(replay, a_file_that_cannot_be_read_does_not_keep_the_others_from_being_compared)
{
    int code = tacet_run(output, sizeof output, "replay", RECORDINGS[0].file, "/nonexistent/file",
                         RECORDINGS[1].file, NULL);
    cr_expect_eq(code, 2);
    cr_expect_not_null(strstr(output, "/nonexistent/file: cannot be read"));
    cr_expect_not_null(strstr(output, "31 cases agree, 0 differ, 0 not compared\n"));
}

Test(replay, a_wrong_flag_is_one_line_that_names_it_and_exit_code_2)
{
    static const char *const wrong[][3] = {
        {NULL, NULL, "no file"},
        {"--nonsense", NULL, "--nonsense"},
        {"--tolerance", NULL, "--tolerance"},
        {"--tolerance=", GOLDEN "cartpole.json", "--tolerance"},
        {"--tolerance=-1", GOLDEN "cartpole.json", "--tolerance"},
        {"--tolerance=nan", GOLDEN "cartpole.json", "--tolerance"},
        {"--tolerance=1e999", GOLDEN "cartpole.json", "--tolerance"},
        {"--tolerance=1x", GOLDEN "cartpole.json", "--tolerance"},
        {"/", NULL, "/: cannot be read"},
        {"/dev/null", NULL, "/dev/null"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int code = tacet_run(output, sizeof output, "replay", wrong[i][0], wrong[i][1], NULL);
        expect_one_line(code, 2, wrong[i][0] ? wrong[i][0] : "", wrong[i][2]);
    }
}

Test(replay, has_help)
{
    cr_expect_eq(tacet_run(output, sizeof output, "replay", "--help", NULL), 0);
    static const char *const named[] = {"--tolerance", "--json", "lunar_lander", "1e-12"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        cr_expect_not_null(strstr(output, named[i]), "%s", named[i]);
}
