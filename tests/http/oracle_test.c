/* tests/oracle/ledger.py as an auditor runs it: on a running server, and on the export that it kept
 * of it, as it is and changed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/http/shards_scene.h"

static struct server_process server;
static struct scene scene;

static void setup(void)
{
    server_open(&server, "--workers", "1", NULL);
    scene_make(&scene, &server, 8, 2);
}

static void teardown(void)
{
    scene_clear(&scene);
    server_close(&server);
}

TestSuite(oracle, .init = setup, .fini = teardown);

/* Asks the teacher at QUERIES once, as the first student. */
static void ask(const char *queries, const char *key)
{
    const struct http_call call = {.method = "POST",
                                   .path = queries,
                                   .token = scene.students[0].token,
                                   .key = key,
                                   .body = "{\"states\":[[0,0,0.02,0],[0,0,0,0]]}"};
    struct http_answer answer = http_expect(scene.client, 200, &call);
    http_answer_clear(&answer);
}

/* The script's exit code; what it prints goes into the file "said" of the server's folder. */
static int price(const char *arguments)
{
    char line[500];
    snprintf(line, sizeof line,
             "F=%s; TACET_TOKEN=%s /usr/bin/python3 tests/oracle/ledger.py %s >$F/said 2>&1",
             server.folder, scene.auditor, arguments);
    int status = system(line);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_said(const char *text)
{
    char path[96];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/said", server.folder);
    char *said = read_whole(path, &size);
    cr_expect(strstr(said, text), "\"%s\" is not in: %s", text, said);
    free(said);
}

Test(oracle, prices_what_an_auditor_exports)
{
    static const struct shards_wish wish = {.shards = 20,
                                            .hidden = 4,
                                            .sigma = 2,
                                            .budgets =
                                                "\"budget\":{\"epsilon\":4,\"delta\":1e-5},"
                                                "\"client_budget\":{\"epsilon\":2,\"delta\":1e-5}"};
    struct shards_teacher teacher;
    char queries[128], arguments[160], line[300];
    ask(scene.queries, "observation");
    shards_teach(&scene, &wish, &teacher);
    snprintf(queries, sizeof queries, "/v1/teachers/%s/queries", teacher.id);
    ask(queries, "expert");
    snprintf(arguments, sizeof arguments, "--save $F/export %s", server.base);
    cr_expect_eq(price(arguments), 0);
    expect_said("2 distinct events");
    cr_expect_eq(price("$F/export"), 0);
    snprintf(line, sizeof line,
             "sed 's/\"concentration\": 20/\"concentration\": 20.1/' %s/export >%s/changed",
             server.folder, server.folder);
    cr_assert_eq(system(line), 0);
    cr_expect_eq(price("$F/changed"), 1);
    expect_said("charges too little");
}

/* A training and its judge by held-out experts are one event, which another accountant prices. */
Test(oracle, prices_a_judge_by_held_out_experts)
{
    char dataset[64], body[400], path[96], arguments[160];
    const struct desk desk = scene_desk(&scene, &server);
    scene_dataset(desk.client, desk.steward, 40, dataset);
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"epsilon\":4,\"delta\":1e-5,\"force\":true},"
             "\"judge\":{\"held_out\":0.5,\"return_low\":0,\"return_high\":20},"
             "\"parameters\":{\"hidden\":[8],\"batch_size\":8,\"steps\":50}}",
             dataset);
    desk_submit(&desk, body, "judged", path);
    struct http_answer job = desk_wait(&desk, path);
    const json_t *judge = json_object_get(json_object_get(job.json, "findings"), "judge");
    cr_assert_not_null(json_object_get(judge, "held_out"), "%s", job.body);
    http_answer_clear(&job);
    snprintf(arguments, sizeof arguments, "--save $F/export %s", server.base);
    cr_expect_eq(price(arguments), 0);
    expect_said("1 distinct event");
    desk_expect_whole_ledger(&desk);
}
