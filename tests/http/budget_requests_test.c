/* The life of a request for a budget over HTTP: refused, asked, seen by both, approved, answered,
 * and the same after a kill. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/scene.h"

#define STATE "{\"states\":[[0,0.1,0,-0.1],[0,0,0.02,0]]}"

static struct server_process server;
static struct scene scene;

static struct http_answer call(const char *method, const char *path, const char *token,
                               const char *body, const char *key, long status)
{
    const struct http_call made = {
        .method = method, .path = path, .token = token, .body = body, .key = key};
    return http_expect(scene.client, status, &made);
}

static struct http_answer ask(const char *key)
{
    const struct http_call made = {.method = "POST",
                                   .path = scene.queries,
                                   .token = scene.students[0].token,
                                   .body = STATE,
                                   .key = key};
    return http_do(scene.client, &made);
}

/* Asks until the budget is spent: the refusal. */
static struct http_answer ask_to_refusal(void)
{
    for (int n = 0; n < 4000; n++) {
        char key[32];
        snprintf(key, sizeof key, "k%d", n);
        struct http_answer answer = ask(key);
        if (answer.status == 403)
            return answer;
        cr_assert_eq(answer.status, 200, "%s", answer.body);
        cr_assert_not_null(http_header(&answer, "Tacet-Price"));
        cr_assert_not_null(http_header(&answer, "Tacet-Remaining"));
        http_answer_clear(&answer);
    }
    cr_assert_fail("the budget never ends");
    return ask("never");
}

/* The request that a refusal proposes, with a reason. The caller frees it. */
static char *proposed(const struct http_answer *refusal)
{
    json_t *body = json_object_get(json_object_get(refusal->json, "ask"), "body");
    cr_assert(json_is_object(body), "%s", refusal->body);
    json_object_set_new(body, "reason", json_string("the second half of the thesis"));
    return json_dumps(body, 0);
}

static void keep_headers(const struct http_answer *answer, char out[400])
{
    const char *price = http_header(answer, "Tacet-Price");
    snprintf(out, 200, "%s", price ? price : "");
    const char *left = http_header(answer, "Tacet-Remaining");
    snprintf(out + strlen(out), 200, " %s", left ? left : "");
}

Test(budget_requests, from_a_refusal_to_the_next_answer)
{
    char path[128], headers[400], again_headers[400];
    server_open(&server, NULL);
    scene_make(&scene, &server, 40, 2);
    struct http_answer refusal = ask_to_refusal();
    cr_assert_str_eq(http_text(&refusal, "type"), "/problems/budget-exhausted");
    cr_assert_null(http_header(&refusal, "Tacet-Price"));
    char *body = proposed(&refusal);
    http_answer_clear(&refusal);
    struct http_answer made =
        call("POST", "/v1/budget-requests", scene.students[0].token, body, "request", 201);
    snprintf(path, sizeof path, "/v1/budget-requests/%s", http_text(&made, "id"));
    cr_assert_str_eq(http_header(&made, "Location"), path);
    struct http_answer open =
        call("GET", "/v1/budget-requests?status=open", scene.steward, NULL, NULL, 200);
    cr_assert_not_null(strstr(open.body, http_text(&made, "id")));
    http_answer_clear(&open);
    char approve[160];
    snprintf(approve, sizeof approve, "%s:approve", path);
    struct http_answer given =
        call("POST", approve, scene.steward, "{\"reason\":\"well argued\"}", "approve", 200);
    cr_assert_str_eq(http_text(&given, "status"), "approved");
    http_answer_clear(&given);
    struct http_answer answer = ask("after");
    cr_assert_eq(answer.status, 200, "%s", answer.body);
    keep_headers(&answer, headers);
    cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
    server_start(&server);
    http_client_move(scene.client, &server);
    struct http_answer again = ask("after");
    keep_headers(&again, again_headers);
    cr_assert_str_eq(again.body, answer.body);
    cr_assert_str_eq(again_headers, headers);
    struct http_answer seen = call("GET", path, scene.students[0].token, NULL, NULL, 200);
    cr_assert_str_eq(http_text(&seen, "answer"), "well argued");
    struct http_answer repeat =
        call("POST", approve, scene.steward, "{\"reason\":\"well argued\"}", "approve", 200);
    cr_assert_str_eq(http_header(&repeat, "Idempotency-Replayed"), "true");
    const struct desk desk = scene_desk(&scene, &server);
    desk_expect_whole_ledger(&desk);
    struct http_answer *all[] = {&made, &answer, &again, &seen, &repeat};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        http_answer_clear(all[i]);
    free(body);
    scene_clear(&scene);
    server_close(&server);
}
