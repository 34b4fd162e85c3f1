/* Tokens that rotate and end, against a server that runs. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/http/http_client.h"
#include "tests/http/server_process.h"

TestSuite(client_tokens, .timeout = 600);

static long status_of(struct http_client *client, const char *token, const char *path)
{
    struct http_answer answer =
        http_do(client, &(struct http_call){.method = "GET", .path = path, .token = token});
    long status = answer.status;
    http_answer_clear(&answer);
    return status;
}

Test(client_tokens, rotate_over_http_and_on_the_servers_machine)
{
    struct server_process server;
    char admin[160], student[160], id[64], out[4000], token[160] = "";
    server_open(&server, NULL);
    server_token(&server, "admin", admin);
    server_token(&server, "student", student);
    struct http_client *client = http_client_new(&server);
    struct http_answer me = http_expect(
        client, 200,
        &(struct http_call){.method = "GET", .path = "/v1/clients/me", .token = student});
    snprintf(id, sizeof id, "%s", http_text(&me, "id"));
    http_answer_clear(&me);
    struct http_answer turned = http_expect(client, 201,
                                            &(struct http_call){.method = "POST",
                                                                .path = "/v1/clients/me:rotate",
                                                                .token = student,
                                                                .body = "{\"overlap_seconds\":0}"});
    cr_expect_eq(status_of(client, student, "/v1/clients/me"), 401);
    cr_expect_eq(status_of(client, http_text(&turned, "token"), "/v1/clients/me"), 200);

    int code = tacet_run(out, sizeof out, "client", "rotate", "--data", server.data, "--client", id,
                         "--scopes", "read", "--expires-days", "1", NULL);
    cr_assert_eq(code, 0, "%s", out);
    cr_assert_eq(sscanf(out, "%159s", token), 1, "%s", out);
    cr_expect_eq(status_of(client, http_text(&turned, "token"), "/v1/clients/me"), 401);
    cr_expect_eq(status_of(client, token, "/v1/clients/me"), 200);
    http_answer_clear(&turned);
    struct http_answer narrow = http_expect(
        client, 403,
        &(struct http_call){
            .method = "POST", .path = "/v1/clients/me:rotate", .token = token, .body = "{}"});
    cr_expect(strstr(http_header(&narrow, "WWW-Authenticate"), "scope=\"write\"") != NULL);
    http_answer_clear(&narrow);

    code = tacet_run(out, sizeof out, "client", "rotate", "--data", server.data, "--client",
                     "cli_none", NULL);
    cr_expect_eq(code, 1, "%s", out);
    cr_expect(strstr(out, "there is no such client") != NULL, "%s", out);
    code = tacet_run(out, sizeof out, "client", "rotate", "--data", server.data, "--client", id,
                     "--scopes", "read,", NULL);
    cr_expect_eq(code, 1, "%s", out);
    code = tacet_run(out, sizeof out, "client", "rotate", "--data", "/nonexistent/x", "--client",
                     id, NULL);
    cr_expect_eq(code, 1, "%s", out);
    cr_expect(strstr(out, "holds no service") != NULL, "%s", out);
    http_client_free(client);
    server_close(&server);
}
