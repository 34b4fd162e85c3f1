/* `tacet experts --upload` as people run it: killed and begun again, on a server that falls over;
 * and every refusal as one line. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/experts_run.h"
#include "tests/http/http_client.h"

/* The only dataset of TOKEN's steward holds this. */
static void check_dataset(const struct server_process *server, const char *token, int experts,
                          int trajectories, const char *state)
{
    struct http_client *client = http_client_new(server);
    struct http_answer answer = http_expect(
        client, 200, &(struct http_call){.method = "GET", .path = "/v1/datasets", .token = token});
    const json_t *items = json_object_get(answer.json, "items"), *one = json_array_get(items, 0);
    cr_assert_eq(json_array_size(items), 1, "%s", answer.body);
    cr_expect_eq(json_integer_value(json_object_get(one, "experts")), experts, "%s", answer.body);
    cr_expect_eq(json_integer_value(json_object_get(one, "trajectories")), trajectories, "%s",
                 answer.body);
    cr_expect_str_eq(json_string_value(json_object_get(one, "state")), state);
    http_answer_clear(&answer);
    http_client_free(client);
}

Test(experts_upload, a_population_arrives_once)
{
    struct server_process server;
    char token[160];
    server_open(&server, NULL);
    server_token(&server, "steward", token);
    const char *const words[] = {"--upload",   server.base, "--experts",   "7",
                                 "--epsilon",  "3",         "--delta",     "1e-6",
                                 "--policies", "--seal",    "--compress",  "zstd",
                                 "--name",     "a \"b\"",   EXPERTS_SMALL, NULL};
    int code = experts_end(experts_start(&server, token, words));
    size_t size = 0;
    char *said = experts_file(&server, "said", &size);
    cr_expect_eq(code, 0, "%s", said);
    cr_expect_not_null(strstr(said, " is sealed\n"), "%s", said);
    check_dataset(&server, token, 7, 14, "sealed");
    cr_expect_not(experts_left(&server, "policies.ndjson"), "they were for the server alone");
    free(said);

    struct http_client *client = http_client_new(&server);
    struct http_answer answer = http_expect(
        client, 200, &(struct http_call){.method = "GET", .path = "/v1/datasets", .token = token});
    const json_t *one = json_array_get(json_object_get(answer.json, "items"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(one, "name")), "a \"b\"");
    cr_expect_eq(json_integer_value(json_object_get(one, "nominal_experts")), 7);
    cr_expect_eq(json_integer_value(json_object_get(one, "max_episode_steps")), 50);
    cr_expect_eq(json_number_value(json_object_get(one, "min_action_probability")), 0.02);
    http_answer_clear(&answer);
    http_client_free(client);

    /* The same command finds the same dataset, which is closed now. */
    cr_expect_eq(experts_end(experts_start(&server, token, words)), 1);
    said = experts_file(&server, "said", &size);
    cr_expect_not_null(strstr(said, "made by an earlier run of this command, is sealed"), "%s",
                       said);
    free(said);
    check_dataset(&server, token, 7, 14, "sealed");
    server_close(&server);
}

/* With its memory gone, too: the keys are enough. */
Test(experts_upload, a_second_run_adds_nothing)
{
    struct server_process server;
    char token[160];
    server_open(&server, NULL);
    server_token(&server, "steward", token);
    const char *const words[] = {"--upload", server.base,   "--experts",  "4", "--epsilon",
                                 "3",        EXPERTS_SMALL, "--policies", NULL};
    for (int run = 0; run < 2; run++) {
        cr_expect_eq(experts_end(experts_start(&server, token, words)), 0);
        check_dataset(&server, token, 4, 8, "open");
    }
    server_close(&server);
}

Test(experts_upload, a_contributor_adds_to_what_a_steward_made)
{
    struct server_process server;
    char steward[160], contributor[160], id[64];
    server_open(&server, NULL);
    server_token(&server, "steward", steward);
    server_token(&server, "contributor", contributor);
    struct http_client *client = http_client_new(&server);
    struct http_answer answer =
        http_expect(client, 201,
                    &(struct http_call){.method = "POST",
                                        .path = "/v1/datasets",
                                        .token = steward,
                                        .body = "{\"name\":\"x\",\"environment\":\"cartpole\","
                                                "\"budget\":{\"epsilon\":1,\"delta\":1e-5}}"});
    snprintf(id, sizeof id, "%s", http_text(&answer, "id"));
    http_answer_clear(&answer);
    FILE *file = fopen(experts_path(&server, "token"), "w");
    fprintf(file, "%s\n", contributor);
    fclose(file);
    const char *const words[] = {"--upload",     server.base, "--dataset",   id,  "--experts", "2",
                                 "--token-file", "token",     EXPERTS_SMALL, NULL};
    cr_expect_eq(experts_end(experts_start(&server, NULL, words)), 0);
    check_dataset(&server, steward, 2, 4, "open");
    const char *const other[] = {"--upload",      server.base, "--dataset",   id,  "--experts", "2",
                                 "--environment", "acrobot",   EXPERTS_SMALL, NULL};
    cr_expect_eq(experts_end(experts_start(&server, contributor, other)), 1);
    size_t size = 0;
    char *said = experts_file(&server, "said", &size);
    cr_expect_not_null(strstr(said, "is of cartpole, not of acrobot"), "%s", said);
    free(said);
    http_client_free(client);
    server_close(&server);
}

/* The server dies without a word while experts come in, and comes back at the same address. */
Test(experts_upload, outlives_a_server_that_is_killed)
{
    struct server_process server;
    char token[160], address[64];
    server_open(&server, NULL);
    server_token(&server, "steward", token);
    const char *const words[] = {"--upload", server.base, "--experts", EXPERTS_MANY,  "--epsilon",
                                 "3",        "--state",   "state",     EXPERTS_SMALL, NULL};
    pid_t child = experts_start(&server, token, words);
    cr_assert(experts_wait(&server, "state", 2, child), "it ended too soon");
    server_end(&server, SIGKILL);
    snprintf(address, sizeof address, "127.0.0.1:%u", server.port);
    server.flags[0] = "--listen"; /* the later one counts */
    server.flags[1] = address;
    server_start(&server);
    int code = experts_end(child);
    size_t size = 0;
    char *said = experts_file(&server, "said", &size);
    cr_expect_eq(code, 0, "%s", said);
    cr_expect_not(experts_left(&server, "state"));
    free(said);
    check_dataset(&server, token, 3 * EXPERTS_SETTINGS, 6 * EXPERTS_SETTINGS, "open");
    server_close(&server);
}

Test(experts_upload, goes_on_after_it_was_killed)
{
    struct server_process server;
    char token[160];
    server_open(&server, NULL);
    server_token(&server, "steward", token);
    const char *const words[] = {"--upload",  server.base,   "--experts", EXPERTS_MANY,
                                 "--epsilon", "3",           "--state",   "state",
                                 "--seal",    EXPERTS_SMALL, NULL};
    for (unsigned settings = 1; settings <= 3; settings += 2) {
        pid_t child = experts_start(&server, token, words);
        cr_assert(experts_wait(&server, "state", settings, child), "it ended too soon");
        kill(child, SIGKILL);
        cr_expect_eq(experts_end(child), 1000 + SIGKILL);
    }
    int code = experts_end(experts_start(&server, token, words));
    size_t size = 0;
    char *said = experts_file(&server, "said", &size);
    cr_expect_eq(code, 0, "%s", said);
    cr_expect_not_null(strstr(said, "going on after"), "%s", said);
    cr_expect_not(experts_left(&server, "state"));
    free(said);
    check_dataset(&server, token, 3 * EXPERTS_SETTINGS, 6 * EXPERTS_SETTINGS, "sealed");
    server_close(&server);
}

/* Others cannot read a token off the list of processes. */
Test(experts_upload, a_token_on_the_command_line_is_crossed_out)
{
    struct server_process server;
    char token[160], path[64];
    server_open(&server, NULL);
    server_token(&server, "steward", token);
    const char *const words[] = {"--upload",  server.base, "--experts",   EXPERTS_MANY,
                                 "--epsilon", "3",         "--token",     token,
                                 "--state",   "state",     EXPERTS_SMALL, NULL};
    pid_t child = experts_start(&server, NULL, words);
    cr_assert(experts_wait(&server, "state", 1, child), "it ended too soon");
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)child);
    size_t size = 0;
    char *line = read_whole(path, &size);
    cr_assert_not_null(line);
    cr_expect_gt(size, 100);
    cr_expect_null(memmem(line, size, token, strlen(token)));
    cr_expect_not_null(memmem(line, size, "xxxxxxxx", 8));
    free(line);
    char *state = experts_file(&server, "state", &size);
    cr_expect_null(strstr(state, token));
    free(state);
    cr_expect_eq(experts_end(child), 0);
    server_close(&server);
}

#define REFUSAL(TOKEN, CODE, WHAT, ...)                                                            \
    experts_refused(&server, TOKEN, CODE, WHAT,                                                    \
                    (const char *const[]){"--upload", server.base, "--experts", "3",               \
                                          EXPERTS_SMALL, __VA_ARGS__, NULL})

Test(experts_upload, refusals_are_one_line)
{
    struct server_process server;
    char token[160], student[160];
    server_open(&server, NULL);
    server_token(&server, "steward", token);
    server_token(&server, "student", student);
    REFUSAL("tct_cli_x_abcdefgh", 1, "401 unauthorized", "--epsilon", "1");
    REFUSAL(student, 1, "403 forbidden", "--epsilon", "1");
    REFUSAL(token, 1, "/budget/epsilon", "--epsilon", "1e7");
    REFUSAL(token, 1, "404 not-found", "--dataset", "ds_none");
    REFUSAL(token, 1, "no dataset's id", "--dataset", "../clients");
    REFUSAL(token, 1, "cannot read none", "--epsilon", "1", "--token-file", "none");
    REFUSAL(NULL, 2, "TACET_TOKEN", "--epsilon", "1");
    REFUSAL("a b", 2, "the token contains characters", "--epsilon", "1");
    REFUSAL(token, 2, "--epsilon", "--threads", "2");
    REFUSAL(token, 2, "--epsilon", "--epsilon", "-1");
    REFUSAL(token, 2, "--delta", "--epsilon", "1", "--delta", "1");
    REFUSAL(token, 2, "--name", "--dataset", "ds_x", "--name", "y");
    REFUSAL(token, 2, "above 0", "--epsilon", "1", "--min-action-probability", "0");
    REFUSAL(token, 2, "--seal takes no value", "--epsilon", "1", "--seal=yes");
    REFUSAL(token, 2, "http://", "--epsilon", "1", "--upload", "localhost:1");
    struct http_client *client = http_client_new(&server);
    struct http_answer answer = http_expect(
        client, 200, &(struct http_call){.method = "GET", .path = "/v1/datasets", .token = token});
    cr_expect_eq(json_array_size(json_object_get(answer.json, "items")), 0, "%s", answer.body);
    http_answer_clear(&answer);
    http_client_free(client);
    server_close(&server);
}

/* A dataset that is sealed by somebody else meanwhile ends the run at once, not after patience. */
Test(experts_upload, stops_when_the_server_says_no)
{
    struct server_process server;
    char token[160];
    server_open(&server, NULL);
    server_token(&server, "steward", token);
    const char *const words[] = {"--upload", server.base, "--experts", EXPERTS_MANY,  "--epsilon",
                                 "3",        "--state",   "state",     EXPERTS_SMALL, NULL};
    pid_t child = experts_start(&server, token, words);
    cr_assert(experts_wait(&server, "state", 1, child), "it ended too soon");
    size_t size = 0;
    char *state = experts_file(&server, "state", &size), id[64], path[128];
    cr_assert_eq(sscanf(strstr(state, "\ndataset "), " dataset %63s", id), 1);
    free(state);
    struct http_client *client = http_client_new(&server);
    snprintf(path, sizeof path, "/v1/datasets/%s:seal", id);
    struct http_answer answer = http_expect(
        client, 200, &(struct http_call){.method = "POST", .path = path, .token = token});
    http_answer_clear(&answer);
    http_client_free(client);
    cr_expect_eq(experts_end(child), 1);
    char *said = experts_file(&server, "said", &size);
    cr_expect_not_null(strstr(said, "409 dataset-not-open"), "%s", said);
    cr_expect_null(strstr(said, "trying again"), "%s", said);
    free(said);
    server_close(&server);
}
