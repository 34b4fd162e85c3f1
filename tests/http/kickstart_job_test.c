/* The job kickstart in a real server that is killed and stopped amid its questions: every
 * roll-out's answers are in the ledger once. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/scene.h"

static struct server_process server;
static struct scene scene;
static struct desk desk; /* of its steward */

enum { ROLLOUTS = 120, QUESTIONS = 32 };

static double at(const json_t *json, const char *object, const char *name)
{
    return json_number_value(json_object_get(json_object_get(json, object), name));
}

/* Waits until the job has heard more than ANSWERED or is over; gives how much it has. */
static double wait_past(const char *path, double answered, char out_state[16])
{
    double now = 0;
    do {
        usleep(20000);
        struct http_answer job = desk_get(&desk, path);
        snprintf(out_state, 16, "%s", http_text(&job, "state"));
        now = at(job.json, "findings", "states_answered");
        http_answer_clear(&job);
    } while (now <= answered &&
             (strcmp(out_state, "running") == 0 || strcmp(out_state, "queued") == 0));
    return now;
}

/* Debits on the account of the student at the teacher. */
static size_t debits(const char *account)
{
    char path[160];
    size_t count = 0;
    snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=1000", account);
    struct http_answer entries = desk_get(&desk, path);
    const json_t *items = json_object_get(entries.json, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const char *kind = json_string_value(json_object_get(json_array_get(items, i), "kind"));
        count += kind != NULL && strcmp(kind, "debit") == 0;
    }
    http_answer_clear(&entries);
    return count;
}

static void submit(const char *client, char out_path[96])
{
    char body[600];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"kickstart\",\"environment\":\"cartpole\",\"teacher\":\"%s\","
             "\"client\":\"%s\",\"parameters\":{\"hidden\":[16],\"worlds\":4,\"rollout_steps\":32,"
             "\"transitions\":%d,\"questions\":%d}}",
             scene.teacher, client, ROLLOUTS * 128, QUESTIONS);
    desk_submit(&desk, body, "a-student", out_path);
}

Test(kickstart_job, is_killed_and_stopped_and_pays_once)
{
    char path[96], budget_path[160], state[16] = "";
    server_open(&server, "--workers", "1", NULL);
    scene_make(&scene, &server, 1e6, 1e5);
    desk = scene_desk(&scene, &server);
    submit(scene.students[0].id, path);
    double heard = wait_past(path, 0, state);
    int restarts = 0;
    for (int i = 0; i < 3 && strcmp(state, "running") == 0; i++, restarts++) {
        desk_restart(&desk, i < 2 ? SIGKILL : SIGTERM, i < 2 ? 1000 + SIGKILL : 0);
        heard = wait_past(path, heard, state);
    }
    while (strcmp(state, "running") == 0)
        heard = wait_past(path, heard, state);
    cr_assert_str_eq(state, "succeeded");
    cr_assert_geq(restarts, 2);

    struct http_answer job = desk_get(&desk, path);
    double told = at(job.json, "findings", "epsilon_spent");
    cr_expect_eq(at(job.json, "findings", "states_answered"), ROLLOUTS * QUESTIONS, "%s", job.body);
    http_answer_clear(&job);
    snprintf(budget_path, sizeof budget_path, "/v1/teachers/%s/budgets/%s", scene.teacher,
             scene.students[0].id);
    struct http_answer budget = desk_get(&desk, budget_path);
    cr_expect_float_eq(at(budget.json, "spent", "epsilon"), told, 1e-9 * told);
    cr_expect_eq(debits(http_text(&budget, "account")), ROLLOUTS);
    http_answer_clear(&budget);
    desk_expect_whole_ledger(&desk);
    scene_clear(&scene);
    server_close(&server);
}
