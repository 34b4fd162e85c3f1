/* A steward's token is lost: an admin hands the project to another steward, who goes on, also
 * behind a kill. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/http/scene.h"

static struct server_process server;
static struct scene scene;
static char admin[160], heir[160], heir_id[40], steward_id[40];

static struct http_answer call(const char *method, const char *path, const char *token,
                               const char *body, const char *key, long status)
{
    const struct http_call made = {
        .method = method, .path = path, .token = token, .body = body, .key = key};
    return http_expect(scene.client, status, &made);
}

static void expect_status(const char *method, const char *path, const char *token, long status)
{
    struct http_answer answer = call(method, path, token, NULL, NULL, status);
    http_answer_clear(&answer);
}

/* The id in TOKEN, "tct_<id>_<secret>". */
static void id_of_token(const char *token, char out[40])
{
    snprintf(out, 40, "cli_%.*s", (int)strcspn(token + 4, "_"), token + 4);
}

/* Every account of the heir ends with one entry "handover". */
static void expect_entries(void)
{
    struct http_answer list = call("GET", "/v1/ledger/accounts", heir, NULL, NULL, 200);
    json_t *items = json_object_get(list.json, "items"), *account;
    size_t i;
    cr_expect_gt(json_array_size(items), 1);
    json_array_foreach(items, i, account)
    {
        char path[128];
        snprintf(path, sizeof path, "/v1/ledger/accounts/%s/entries?page_size=1000",
                 json_string_value(json_object_get(account, "account")));
        struct http_answer entries = call("GET", path, heir, NULL, NULL, 200);
        json_t *all = json_object_get(entries.json, "items"), *entry;
        unsigned handed = 0;
        size_t k;
        json_array_foreach(all, k, entry)
        {
            const char *kind = json_string_value(json_object_get(entry, "kind"));
            handed += kind && strcmp(kind, "handover") == 0;
        }
        cr_expect_eq(handed, 1, "%s", entries.body);
        http_answer_clear(&entries);
    }
    http_answer_clear(&list);
}

Test(projects, a_lost_token_loses_no_project)
{
    char transfer[96], body[200], members[128], revoke[96], teacher[96];
    server_open(&server, NULL);
    scene_make(&scene, &server, 40, 2);
    server_token(&server, "admin", admin);
    server_token(&server, "steward", heir);
    id_of_token(heir, heir_id);
    id_of_token(scene.steward, steward_id);
    struct http_answer asked = call("POST", scene.queries, scene.students[0].token,
                                    "{\"state\":[0,0.1,0,-0.1]}", "first", 200);
    snprintf(transfer, sizeof transfer, "/v1/projects/%s:transfer", steward_id);
    snprintf(body, sizeof body, "{\"to\":\"%s\",\"reason\":\"the token is lost\"}", heir_id);
    snprintf(members, sizeof members, "/v1/projects/%s", steward_id);
    snprintf(revoke, sizeof revoke, "/v1/clients/%s", steward_id);
    snprintf(teacher, sizeof teacher, "%.*s", (int)(strrchr(scene.queries, '/') - scene.queries),
             scene.queries);
    expect_status("GET", teacher, heir, 404);
    expect_status("DELETE", revoke, admin, 204);
    struct http_answer done = call("POST", transfer, admin, body, "transfer", 200);
    expect_status("GET", teacher, admin, 403);
    cr_assert_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
    server_start(&server);
    http_client_move(scene.client, &server);
    struct http_answer again = call("POST", transfer, admin, body, "transfer", 200);
    cr_expect_str_eq(http_header(&again, "Idempotency-Replayed"), "true");
    expect_status("GET", teacher, heir, 200);
    expect_status("GET", teacher, scene.steward, 401);
    expect_entries();
    struct http_answer shown = call("GET", members, heir, NULL, NULL, 200);
    cr_expect_str_eq(http_text(&shown, "role"), "owner");
    cr_expect_eq(json_array_size(json_object_get(shown.json, "members")), 1, "%s", shown.body);
    /* The students go on, and the heir grants. */
    struct http_answer more = call("POST", scene.queries, scene.students[0].token,
                                   "{\"state\":[0,0.1,0,-0.1]}", "second", 200);
    struct http_answer audit = call("POST", "/v1/ledger:verify", heir, NULL, "verify", 200);
    cr_expect(json_is_true(json_object_get(audit.json, "ok")), "%s", audit.body);
    struct http_answer *all[] = {&asked, &done, &again, &shown, &more, &audit};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        http_answer_clear(all[i]);
    scene_clear(&scene);
    server_close(&server);
}
