/* `tacet agent` against a real server: one agent, a crowd, a crowd through kill -9, and refusals.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/http/http_client.h"

struct stage {
    struct server_process server;
    struct http_client *client;
    char admin[160], steward[160], aggregation[64];
};

static void open_stage(struct stage *stage, const char *body, const char *flag, const char *value)
{
    server_open(&stage->server, flag, value, NULL);
    stage->client = http_client_new(&stage->server);
    server_token(&stage->server, "admin", stage->admin);
    server_token(&stage->server, "steward", stage->steward);
    const struct http_call call = {
        .method = "POST", .path = "/v1/aggregations", .token = stage->steward, .body = body};
    struct http_answer answer = http_expect(stage->client, 201, &call);
    snprintf(stage->aggregation, sizeof stage->aggregation, "%s", http_text(&answer, "id"));
    http_answer_clear(&answer);
}

static void close_stage(struct stage *stage)
{
    http_client_free(stage->client);
    server_close(&stage->server);
}

static long number(struct stage *stage, const char *member)
{
    char path[100];
    snprintf(path, sizeof path, "/v1/aggregations/%s", stage->aggregation);
    const struct http_call call = {.method = "GET", .path = path, .token = stage->steward};
    struct http_answer answer = http_expect(stage->client, 200, &call);
    long value = (long)json_integer_value(json_object_get(answer.json, member));
    http_answer_clear(&answer);
    return value;
}

/* The ledger adds up, and holds as many agents' accounts as there were reports. */
static void check_ledger(struct stage *stage, long reports)
{
    struct http_call call = {
        .method = "POST", .path = "/v1/ledger:verify", .token = stage->steward};
    struct http_answer answer = http_expect(stage->client, 200, &call);
    cr_expect(json_is_true(json_object_get(answer.json, "ok")), "%s", answer.body);
    http_answer_clear(&answer);
    call = (struct http_call){
        .method = "GET", .path = "/v1/ledger/accounts?page_size=1000", .token = stage->steward};
    answer = http_expect(stage->client, 200, &call);
    const json_t *items = json_object_get(answer.json, "items");
    cr_expect_eq((long)json_array_size(items), reports);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *spent = json_object_get(json_array_get(items, i), "spent");
        double epsilon = json_number_value(json_object_get(spent, "epsilon"));
        cr_expect_float_eq(epsilon, 2.0, 1e-9);
    }
    http_answer_clear(&answer);
}

/* How many clients are agents. */
static size_t count_agents(struct stage *stage)
{
    size_t agents = 0, i;
    const json_t *item;
    const struct http_call call = {
        .method = "GET", .path = "/v1/clients?page_size=1000", .token = stage->admin};
    struct http_answer answer = http_expect(stage->client, 200, &call);
    json_array_foreach(json_object_get(answer.json, "items"), i, item) agents +=
        strcmp(json_string_value(json_object_get(item, "role")), "agent") == 0;
    http_answer_clear(&answer);
    return agents;
}

#define SETTINGS "{\"environment\":\"cartpole\",\"epsilon\":2,\"buffer\":7}"

Test(agent, reports_once)
{
    struct stage stage;
    char out[2000], token[160];
    open_stage(&stage, SETTINGS, NULL, NULL);
    server_token(&stage.server, "agent", token);
    setenv("TACET_TOKEN", token, 1);
    for (int i = 0; i < 2; i++) {
        int code = tacet_run(out, sizeof out, "agent", "--server", stage.server.base,
                             "--aggregation", stage.aggregation, "--json", NULL);
        cr_assert_eq(code, 0, "%s", out);
        json_t *said = json_loads(out, 0, NULL);
        cr_assert_not_null(said, "%s", out);
        cr_expect_eq(json_integer_value(json_object_get(said, "reported")), i == 0);
        cr_expect_eq(json_integer_value(json_object_get(said, "not_asked")), i == 1);
        json_decref(said);
    }
    cr_expect_eq(number(&stage, "reports"), 1);
    check_ledger(&stage, 1);
    close_stage(&stage);
}

Test(agent, a_crowd_moves_the_parameters)
{
    struct stage stage;
    char out[2000];
    open_stage(&stage, SETTINGS, NULL, NULL);
    setenv("TACET_ADMIN_TOKEN", stage.admin, 1);
    int code = tacet_run(out, sizeof out, "agent", "--server", stage.server.base, "--aggregation",
                         stage.aggregation, "--agents", "60", "--concurrency", "9", "--vary",
                         "gravity=9.7,9.8,9.9", "--seed", "1", NULL);
    cr_assert_eq(code, 0, "%s", out);
    cr_expect_eq(number(&stage, "reports"), 60);
    cr_expect_eq(number(&stage, "version"), 1 + 60 / 7);
    cr_expect_eq(number(&stage, "waiting"), 60 % 7);
    check_ledger(&stage, 60);
    cr_expect_eq(count_agents(&stage), 60, "none is made for the terms alone");
    close_stage(&stage);
}

/* The server dies three times while agents report, and comes back on the same port: every agent
 * reports in the end, exactly once. */
Test(agent, crowds_survive_a_killed_server)
{
    enum { AGENTS = 500 };
    struct stage stage;
    char agents[16], port[32];
    open_stage(&stage, SETTINGS, NULL, NULL);
    snprintf(port, sizeof port, "127.0.0.1:%u", stage.server.port);
    snprintf(agents, sizeof agents, "%d", AGENTS);
    pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        setenv("TACET_ADMIN_TOKEN", stage.admin, 1);
        execl(server_program(), "tacet", "agent", "--server", stage.server.base, "--aggregation",
              stage.aggregation, "--agents", agents, "--concurrency", "8", (char *)NULL);
        _exit(127);
    }
    stage.server.flags[0] = "--listen";
    stage.server.flags[1] = port;
    stage.server.flags[2] = NULL;
    for (int i = 0; i < 3; i++) {
        for (int waits = 0; number(&stage, "reports") < 40 + 60 * i && waits < 3000; waits++)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        cr_assert_eq(server_end(&stage.server, SIGKILL), 1000 + SIGKILL);
        server_start(&stage.server);
        http_client_move(stage.client, &stage.server);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
    cr_expect_eq(number(&stage, "reports"), AGENTS);
    cr_expect_eq(number(&stage, "version"), 1 + AGENTS / 7);
    cr_expect_eq(number(&stage, "waiting"), AGENTS % 7);
    check_ledger(&stage, AGENTS);
    close_stage(&stage);
}

/* A report whose bytes stop half way: with the connection, or with the JSON. Nothing is counted or
 * charged, and the agent may report afterwards. */
Test(agent, half_a_report_counts_nothing)
{
    struct stage stage;
    char head[700], path[100], answer[600], token[160];
    open_stage(&stage, SETTINGS, "--idle-timeout", "1");
    server_token(&stage.server, "agent", token);
    snprintf(path, sizeof path, "/v1/aggregations/%s/submissions", stage.aggregation);
    for (int hangs_up = 0; hangs_up < 2; hangs_up++) {
        int handle = raw_connect(&stage.server);
        snprintf(head, sizeof head,
                 "POST %s HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\nIdempotency-Key: h\r\n"
                 "Content-Type: application/json\r\nContent-Length: 900\r\n\r\n"
                 "{\"version\":1,\"report\":{\"bytes\":\"AAAA",
                 path, token);
        cr_assert(raw_send(handle, head));
        if (!hangs_up) /* the server loses patience and hangs up without a reply that says done */
            raw_receive(handle, answer, sizeof answer, true);
        if (!hangs_up)
            cr_expect(strncmp(answer, "HTTP/1.1 2", 10) != 0, "%s", answer);
        close(handle);
    }
    const struct http_call cut = {.method = "POST",
                                  .path = path,
                                  .token = token,
                                  .key = "cut",
                                  .body = "{\"version\":1,\"report\":{\"bytes\":\"AAAA"};
    struct http_answer refused = http_expect(stage.client, 400, &cut);
    http_answer_clear(&refused);
    cr_expect_eq(number(&stage, "reports"), 0);
    check_ledger(&stage, 0);
    setenv("TACET_TOKEN", token, 1);
    int code = tacet_run(answer, sizeof answer, "agent", "--server", stage.server.base,
                         "--aggregation", stage.aggregation, NULL);
    cr_expect_eq(code, 0, "%s", answer);
    cr_expect_eq(number(&stage, "reports"), 1);
    close_stage(&stage);
}

/* Flags or terms that are not right: one line, and nothing is sent. */
Test(agent, refuses)
{
    static const struct {
        const char *flag, *value;
        int code;
    } cases[] = {
        {"--max-epsilon", "1.5", 1},      {"--environment", "acrobot", 1},
        {"--environment", "moon", 2},     {"--vary", "gravity=0", 2},
        {"--vary", "colour=1", 2},        {"--vary", "gravity", 2},
        {"--max-steps", "0", 2},          {"--agents", "x", 2},
        {"--concurrency", "65", 2},       {"--aggregation", "agg_../..", 2},
        {"--aggregation", "agg_none", 1}, {"--nothing", "1", 2},
    };
    struct stage stage;
    char out[2000], token[160];
    open_stage(&stage, SETTINGS, NULL, NULL);
    server_token(&stage.server, "agent", token);
    setenv("TACET_TOKEN", token, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code =
            tacet_run(out, sizeof out, "agent", "--server", stage.server.base, "--aggregation",
                      stage.aggregation, cases[i].flag, cases[i].value, NULL);
        cr_expect_eq(code, cases[i].code, "%s: %d, %s", cases[i].flag, code, out);
        cr_expect(strchr(out, '\n') == out + strlen(out) - 1, "%s", out);
        cr_expect_null(strstr(out, token));
    }
    cr_expect_eq(number(&stage, "reports"), 0);
    setenv("TACET_TOKEN", stage.steward, 1);
    int code = tacet_run(out, sizeof out, "agent", "--server", stage.server.base, "--aggregation",
                         stage.aggregation, NULL);
    cr_expect_eq(code, 1, "%s", out);
    close_stage(&stage);
}
