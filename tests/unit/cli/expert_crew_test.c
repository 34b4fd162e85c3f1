/* `tacet experts` below its flags: order, threads, text; and its exit statuses. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/expert_crew.h"
#include "cli/expert_lines.h"
#include "cli/progress.h"

static struct expert_request request_for(uint64_t experts)
{
    return (struct expert_request){
        .env = env_find("cartpole"),
        .population = experts_find(env_find("cartpole")),
        .seed = 5,
        .experts = experts,
        .trajectories = 2,
        .max_steps = 50,
        .min_action_probability = 0.02,
        .policies = true,
    };
}

/* Everything that a crew hands over: trajectories, then policies. */
struct whole {
    char *bytes[2];
    size_t size[2];
};

static struct whole all_text(uint64_t experts, unsigned threads)
{
    struct expert_request request = request_for(experts);
    struct expert_crew *crew = expert_crew_start(&request, threads);
    cr_assert_not_null(crew);
    struct whole whole = {0};
    FILE *out[2];
    for (int i = 0; i < 2; i++) {
        out[i] = open_memstream(&whole.bytes[i], &whole.size[i]);
        cr_assert_not_null(out[i]);
    }
    struct expert_text text;
    const char *failure;
    uint64_t taken = 0;
    while (expert_crew_take(crew, &text, &failure)) {
        taken += text.experts;
        fwrite(text.trajectories, 1, text.trajectories_size, out[0]);
        fwrite(text.policies, 1, text.policies_size, out[1]);
        expert_text_clear(&text);
    }
    cr_assert_null(failure);
    cr_assert_eq(taken, experts);
    expert_crew_stop(crew);
    fclose(out[0]);
    fclose(out[1]);
    return whole;
}

static void whole_clear(struct whole *whole)
{
    free(whole->bytes[0]);
    free(whole->bytes[1]);
}

Test(expert_crew, neither_threads_nor_their_number_show)
{
    struct whole one = all_text(8, 1), three = all_text(8, 3);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(one.size[i], three.size[i]);
        cr_assert_eq(memcmp(one.bytes[i], three.bytes[i], one.size[i]), 0);
    }
    whole_clear(&one);
    whole_clear(&three);
}

Test(expert_crew, fewer_experts_are_the_first_ones)
{
    struct whole few = all_text(2, 1), many = all_text(4, 2);
    for (int i = 0; i < 2; i++) {
        cr_assert_lt(few.size[i], many.size[i]);
        cr_assert_eq(memcmp(few.bytes[i], many.bytes[i], few.size[i]), 0);
    }
    whole_clear(&few);
    whole_clear(&many);
}

/* What a run that goes on makes is the rest of what one run makes; and the returns are those of the
 * lines. */
Test(expert_crew, begins_where_it_is_told)
{
    struct expert_request request = request_for(8);
    struct whole all = all_text(8, 2);
    struct expert_text text;
    const char *failure;
    request.first_setting = 2;
    struct expert_crew *crew = expert_crew_start(&request, 2);
    cr_assert(expert_crew_take(crew, &text, &failure));
    cr_assert_eq(text.experts, 2);
    cr_assert_eq(memcmp(all.bytes[0] + all.size[0] - text.trajectories_size, text.trajectories,
                        text.trajectories_size),
                 0);
    double sum = 0;
    char *line = text.trajectories;
    for (int i = 0; i < 2; i++) { /* the first expert's; CartPole pays 1 a step */
        char *end = strchr(line, '\n');
        json_t *json = json_loadb(line, (size_t)(end - line), 0, NULL);
        sum += (double)json_array_size(json_object_get(json, "rewards"));
        json_decref(json);
        line = end + 1;
    }
    cr_expect_float_eq(text.returns[0], sum / 2, 1e-12);
    expert_text_clear(&text);
    cr_assert_not(expert_crew_take(crew, &text, &failure));
    cr_assert_null(failure);
    expert_crew_stop(crew);
    request.first_setting = 3; /* nothing is left to do */
    crew = expert_crew_start(&request, 2);
    cr_assert_not_null(crew);
    cr_assert_not(expert_crew_take(crew, &text, &failure));
    cr_assert_null(failure);
    expert_crew_stop(crew);
    whole_clear(&all);
}

Test(expert_crew, stops_before_the_end)
{
    struct expert_request request = request_for(1000);
    struct expert_crew *crew = expert_crew_start(&request, 2);
    struct expert_text text;
    const char *failure;
    cr_assert(expert_crew_take(crew, &text, &failure));
    expert_text_clear(&text);
    expert_crew_stop(crew); /* leak checkers see to the rest */
}

Test(expert_lines, a_trajectory_reads_back_to_the_same_bits)
{
    const float states[] = {0.1F, -1e-30F, 3.4e38F, 0.0F, 1.0F / 3, -0.0F};
    const uint16_t actions[] = {1, 0};
    const float rewards[] = {1.0F, 0.7F};
    const struct trajectory trajectory = {
        .length = 2, .terminated = true, .states = states, .actions = actions, .rewards = rewards};
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    expert_lines_trajectory(out, "e000017", &trajectory, 2);
    fclose(out);
    cr_assert_eq(bytes[size - 1], '\n');
    json_t *line = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(line, "%s", bytes);
    cr_assert_eq(json_object_size(line), 6);
    cr_assert_str_eq(json_string_value(json_object_get(line, "expert")), "e000017");
    const json_t *rows = json_object_get(line, "states");
    cr_assert_eq(json_array_size(rows), 3);
    for (size_t i = 0; i < 6; i++) {
        const json_t *x = json_array_get(json_array_get(rows, i / 2), i % 2);
        float read = (float)json_number_value(x);
        cr_assert_eq(read, states[i], "number %zu", i);
    }
    cr_assert_eq(json_integer_value(json_array_get(json_object_get(line, "actions"), 0)), 1);
    cr_assert_eq((float)json_number_value(json_array_get(json_object_get(line, "rewards"), 1)),
                 0.7F);
    cr_assert(json_is_true(json_object_get(line, "terminated")));
    cr_assert(json_is_false(json_object_get(line, "truncated")));
    json_decref(line);
    free(bytes);
}

Test(expert_lines, a_policy_is_its_layers)
{
    const struct mlp_shape shape = {
        .input = 2, .layer_count = 2, .width = {3, 2}, .activation = MLP_TANH};
    struct policy *policy = policy_new(&shape, POLICY_ARGMAX);
    for (size_t i = 0; i < mlp_parameter_count(&shape); i++)
        policy->parameters[i] = (float)i;
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    expert_lines_policy(out, 1234567, policy);
    fclose(out);
    cr_assert_str_eq(bytes,
                     "{\"expert\":\"e1234567\",\"policy\":{\"activation\":\"tanh\",\"layers\":["
                     "{\"weight\":[[0,1],[2,3],[4,5]],\"bias\":[6,7,8]},"
                     "{\"weight\":[[9,10,11],[12,13,14]],\"bias\":[15,16]}],"
                     "\"output\":\"argmax\"}}\n");
    policy_free(policy);
    free(bytes);
}

Test(progress, times_are_for_people)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "0 s"},           {-3, "0 s"},         {59.4, "59 s"},
                 {59.6, "1 min 00 s"}, {185, "3 min 05 s"}, {3599.7, "1 h 00 min"},
                 {4800, "1 h 20 min"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        progress_time(cases[i].seconds, text);
        cr_expect_str_eq(text, cases[i].text);
    }
}

/* What a call wrote to a descriptor, standard output or error. */
struct call {
    int status;
    char said[8192];
};

static struct call call(int descriptor, int argc, const char *const *argv)
{
    struct call call = {0};
    char *arguments[3];
    cr_assert_leq(argc, 3);
    for (int i = 0; i < argc; i++)
        arguments[i] = strdup(argv[i]);
    FILE *heard = tmpfile();
    cr_assert_not_null(heard);
    fflush(NULL);
    int kept = dup(descriptor);
    dup2(fileno(heard), descriptor);
    call.status = cli_experts(argc, arguments);
    fflush(NULL);
    dup2(kept, descriptor);
    close(kept);
    rewind(heard);
    call.said[fread(call.said, 1, sizeof call.said - 1, heard)] = '\0';
    fclose(heard);
    for (int i = 0; i < argc; i++)
        free(arguments[i]);
    return call;
}

/* One clear line, and it speaks of WHAT. */
static void check_complaint(const struct call *call, int status, const char *what)
{
    cr_assert_eq(call->status, status, "%s", what);
    const char *end = strchr(call->said, '\n');
    cr_assert(end && end[1] == '\0', "%s", call->said);
    cr_assert(strstr(call->said, what), "%s: %s", what, call->said);
}

Test(cli_experts, bad_flags_exit_with_two_and_say_which)
{
    static const char *const bad[][2] = {
        {"--bogus", NULL},
        {"stray", NULL},
        {"--experts", NULL},
        {"--experts", "0"},
        {"--experts", "12x"},
        {"--experts", "-1"},
        {"--seed", "1e3"},
        {"--threads", "100000"},
        {"--environment", "mars"},
        {"--output", ""},
        {"--max-steps", "-5"},
        {"--trajectories=0", NULL},
        {"--trajectories", "99999"},
        {"--min-action-probability", "0.6"},
        {"--min-action-probability", "nan"},
        {"--min-action-probability", "-0.1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct call said = call(STDERR_FILENO, bad[i][1] ? 2 : 1, bad[i]);
        char flag[64];
        snprintf(flag, sizeof flag, "%.*s", (int)strcspn(bad[i][0], "="), bad[i][0]);
        check_complaint(&said, 2, flag);
    }
}

Test(cli_experts, help_names_every_flag)
{
    struct call help = call(STDOUT_FILENO, 1, (const char *const[]){"--help"});
    cr_assert_eq(help.status, 0);
    static const char *const flags[] = {
        "environment", "experts", "trajectories", "max-steps", "seed",   "min-action-probability",
        "threads",     "output",  "policies",     "compress",  "upload", "token-file",
        "dataset",     "epsilon", "seal",         "report",    "plot",   "from"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        cr_assert(strstr(help.said, flags[i]), "%s", flags[i]);
}

Test(cli_experts, what_cannot_be_written_is_a_failure)
{
    static const char *const full[] = {"--experts=1", "--trajectories=1", "--output=/dev/full"};
    struct call said = call(STDERR_FILENO, 3, full);
    check_complaint(&said, 1, "No space left");
    said = call(STDERR_FILENO, 1, (const char *const[]){"--output=/no/such/directory/file"});
    check_complaint(&said, 1, "/no/such/directory/file");
}
