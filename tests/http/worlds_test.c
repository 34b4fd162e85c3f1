/* Worlds that are programs, with a real server: the example, and programs that hang, die, or are in
 * the middle of an answer when the server ends. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/desk.h"
#include "tests/http/scene.h"

/* A world of shell, like the cartpole; STEP is what it does when it is asked to move. */
#define FACTS "{\"protocol\":1,\"state_dim\":4,\"action_count\":2,\"max_episode_steps\":10}"
#define WORLD(step)                                                                                \
    "while read -r q; do case $q in *describe*) echo '" FACTS "';; *reset*) "                      \
    "echo '{\"observation\":[0,0,0,0]}';; *) " step                                                \
    "echo '{\"observation\":[0,0,0,0],\"reward\":1,\"terminated\":false}';; esac; done"

static struct server_process server;
static struct desk desk;

static void teardown(void)
{
    desk_close(&desk);
    server_close(&server);
}

TestSuite(worlds);

static void submit(const char *dataset, const char *world, const char *key, char out_path[96])
{
    char body[640];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
             "\"privacy\":{\"force\":true,\"epsilon\":2,\"delta\":1e-6},"
             "\"parameters\":{\"hidden\":[8],\"batch_size\":8,\"steps\":50},"
             "\"evaluate\":{\"environment\":\"%s\",\"episodes\":3}}",
             dataset, world);
    desk_submit(&desk, body, key, out_path);
}

static void expect_evaluated(const char *path, double mean_return)
{
    struct http_answer job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    json_t *evaluation = json_object_get(job.json, "evaluation");
    cr_expect_eq(json_number_value(json_object_get(evaluation, "mean_return")), mean_return, "%s",
                 job.body);
    http_answer_clear(&job);
}

/* The job failed for WHY, but its policy can be had. */
static void expect_kept(const char *path, const char *why)
{
    char weights[160];
    struct http_answer job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), "failed", "%s", job.body);
    cr_expect_not_null(strstr(job.body, "/problems/evaluation-failed"), "%s", job.body);
    cr_expect_not_null(strstr(job.body, why), "%s", job.body);
    snprintf(weights, sizeof weights, "/v1/policies/%s/weights?format=json",
             http_text(&job, "policy"));
    struct http_answer policy = desk_get(&desk, weights);
    http_answer_clear(&policy);
    http_answer_clear(&job);
}

/* Epsilon that the dataset has paid; nothing is reserved. */
static double paid(const char *dataset)
{
    cr_expect_eq(desk_epsilon(&desk, dataset, "reserved"), 0);
    return desk_epsilon(&desk, dataset, "spent");
}

/* ---- */

static void upload_to_rail(const char *dataset)
{
    char *lines = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);
    cr_assert_not_null(out);
    for (int e = 0; e < 40; e++)
        fprintf(out,
                "{\"expert\":\"e%d\",\"states\":[[0,0],[0.05,0.05],[0.05,0]],\"actions\":[1,0],"
                "\"rewards\":[1,1],\"terminated\":false,\"truncated\":true}\n",
                e);
    fclose(out);
    desk_fill(&desk, dataset, lines);
    free(lines);
}

Test(worlds, the_example_is_a_world, .fini = teardown)
{
    server_open(&server, "--workers", "1", "--world", "rail=python3 examples/world.py", NULL);
    desk_open(&desk, &server);
    struct http_answer list = desk_get(&desk, "/v1/environments");
    cr_expect_not_null(strstr(list.body, "\"name\":\"rail\",\"state_dim\":2"), "%s", list.body);
    http_answer_clear(&list);
    struct http_answer made =
        desk_post(&desk, 201, "/v1/datasets",
                  "{\"name\":\"rail\",\"environment\":\"rail\",\"nominal_experts\":40,"
                  "\"budget\":{\"epsilon\":8,\"delta\":1e-4}}",
                  NULL);
    char dataset[64], path[96];
    snprintf(dataset, sizeof dataset, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    upload_to_rail(dataset);
    submit(dataset, "rail", "one", path);
    struct http_answer job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    json_t *evaluation = json_object_get(job.json, "evaluation");
    double mean = json_number_value(json_object_get(evaluation, "mean_return"));
    cr_expect(mean > 0 && mean <= 200, "%s", job.body);
    http_answer_clear(&job);
}

/* In C: each step costs a point, and the expert never turns back. */
Test(worlds, the_example_in_c_is_one_too, .fini = teardown)
{
    static char world[512];
    const char *program = server_program();
    int folder = (int)(strrchr(program, '/') - program);
    snprintf(world, sizeof world, "corridor=%.*s/example_world", folder, program);
    server_open(&server, "--workers", "1", "--world", world, NULL);
    desk_open(&desk, &server);
    struct http_answer made = desk_post(&desk, 201, "/v1/datasets",
                                        "{\"name\":\"corridor\",\"environment\":\"corridor\","
                                        "\"sensitivity\":\"public\"}",
                                        NULL);
    char path[96], body[640];
    desk_fill(&desk, http_text(&made, "id"),
              "{\"expert\":\"e\",\"states\":[[0],[1],[2],[3],[4],[5],[6]],\"actions\":[1,1,1,1,"
              "1,1],\"rewards\":[-1,-1,-1,-1,-1,-1],\"terminated\":true,\"truncated\":false}\n");
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"none\",\"dataset\":\"%s\","
             "\"parameters\":{\"hidden\":[64],\"steps\":1000},"
             "\"evaluate\":{\"environment\":\"corridor\",\"episodes\":50}}",
             http_text(&made, "id"));
    desk_submit(&desk, body, "c", path);
    struct http_answer job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    /* From 0, 1 or 2 the goal is 6, 5 or 4 steps away for who never turns back. */
    json_t *evaluation = json_object_get(job.json, "evaluation");
    double mean = json_number_value(json_object_get(evaluation, "mean_return"));
    cr_expect(mean <= -4 && mean >= -6, "%s", job.body);
    http_answer_clear(&job);
    http_answer_clear(&made);
}

Test(worlds, that_hang_or_die_leave_the_server_well, .fini = teardown)
{
    server_open(&server, "--workers", "1", "--world-timeout", "1", "--world",
                "hangs=" WORLD("sleep 1000; "), "--world",
                "dies=" WORLD("echo 'out of wind' >&2; exit 1; "), "--world", "good=" WORLD(""),
                NULL);
    desk_open(&desk, &server);
    char dataset[64], hangs[96], dies[96], good[96];
    scene_dataset(desk.client, desk.steward, 40, dataset);
    submit(dataset, "hangs", "a", hangs);
    submit(dataset, "dies", "b", dies);
    submit(dataset, "good", "c", good);
    expect_kept(hangs, "did not answer in time");
    expect_kept(dies, "ended, or closed its output");
    expect_evaluated(good, 10);
    cr_expect(server_log_has(&server, "event=world-said world=dies line=\"out of wind\""));
    double price = paid(dataset);
    cr_expect(price > 3 && price <= 6, "%g", price);
    desk_expect_whole_ledger(&desk);
}

/* The world hangs at its first step ever, until the mark is gone; the mark holds its process. */
static void open_hanging(char mark[64])
{
    static char world[1024];
    snprintf(mark, 64, "/tmp/tacet-world-%ld", (long)getpid());
    snprintf(world, sizeof world, "slow=%s%s%s%s%s", "m=", mark, "; ",
             WORLD("if [ ! -e $m ]; then read -r p r </proc/self/stat; echo $p >$m.new; mv $m.new "
                   "$m; sleep 20; fi; "),
             "");
    server_open(&server, "--workers", "1", "--world-timeout", "3600", "--world", world, NULL);
    desk_open(&desk, &server);
}

static pid_t wait_for_mark(const char *mark)
{
    FILE *file = NULL;
    while ((file = fopen(mark, "r")) == NULL)
        usleep(20000);
    long pid = 0;
    cr_assert_eq(fscanf(file, "%ld", &pid), 1);
    fclose(file);
    return (pid_t)pid;
}

Test(worlds, end_with_the_server_and_the_evaluation_begins_again, .fini = teardown)
{
    char mark[64], dataset[64], path[96];
    open_hanging(mark);
    scene_dataset(desk.client, desk.steward, 40, dataset);
    submit(dataset, "slow", "a", path);
    pid_t program = wait_for_mark(mark);
    desk_restart(&desk, SIGTERM, 0);
    cr_expect(!server_log_has(&server, "drain-cut-off"));
    cr_expect_neq(kill(program, 0), 0);
    expect_evaluated(path, 10);
    double price = paid(dataset);
    cr_expect(price > 1 && price <= 2, "%g", price);
    unlink(mark);
}

Test(worlds, a_kill_in_the_middle_of_an_evaluation_costs_nothing_twice, .fini = teardown)
{
    char mark[64], dataset[64], path[96];
    open_hanging(mark);
    scene_dataset(desk.client, desk.steward, 40, dataset);
    submit(dataset, "slow", "a", path);
    wait_for_mark(mark);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    expect_evaluated(path, 10);
    double price = paid(dataset);
    cr_expect(price > 1 && price <= 2, "%g", price);
    cr_expect(!server_log_has(&server, "event=job-resumed")); /* there was nothing left to train */
    unlink(mark);
}

Test(worlds, that_cannot_be_asked_stop_the_start)
{
    char out[1024];
    int code = tacet_run(out, sizeof out, "serve", "--data", "/nonexistent/tacet", "--world",
                         "a=exit 3", NULL);
    cr_expect_eq(code, 2);
    cr_expect_not_null(strstr(out, "--world a: the program ended"), "%s", out);
    code =
        tacet_run(out, sizeof out, "serve", "--data", "/nonexistent/tacet", "--world", "a", NULL);
    cr_expect_eq(code, 2);
    cr_expect_not_null(strstr(out, "is not NAME=COMMAND"), "%s", out);
}
