/* Calls that take long: while they are under way, who sends them may lose the right to. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

static char project[32], second[200]; /* of the steward, and another owner of it */
static const char *gone;              /* who loses a right meanwhile */

static void open_service(void)
{
    f = fixture_open();
    struct response *made = fixture_post(f, "steward", "/v1/projects", "{\"name\":\"icu\"}");
    expect_status(made, 201);
    snprintf(project, sizeof project, "%s", response_text(made, "/id"));
    snprintf(second, sizeof second, "%s", fixture_new_token(f, "steward"));
}

TestSuite(under_way, .init = open_service, .fini = service_close);

static void join(const char *client, const char *role)
{
    const char *path = domain_path("/v1/projects/%s/members/%s", project, client);
    expect_status(fixture_put(f, "steward", path, domain_path("{\"role\":\"%s\"}", role)), 201);
}

static void leave(struct fixture *fixture)
{
    const char *path = domain_path("/v1/projects/%s/members/%s", project, gone);
    expect_status(fixture_delete(fixture, "steward", path), 204);
}

static void revoke(struct fixture *fixture)
{
    expect_status(fixture_delete(fixture, "admin", domain_path("/v1/clients/%s", gone)), 204);
}

static void end_token(struct fixture *fixture)
{
    expect_status(fixture_delete(fixture, "admin", domain_path("/v1/clients/%s/tokens/1", gone)),
                  204);
}

static struct response *ask(const char *token, const char *path, const char *body,
                            void (*meanwhile)(struct fixture *fixture))
{
    return fixture_ask(f, &(struct ask){.path = path,
                                        .token = token,
                                        .key = domain_path("k%u", fixture_next_key(f)),
                                        .body = body,
                                        .meanwhile = meanwhile});
}

static const char *dataset(void)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/datasets",
        domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",\"project\":\"%s\","
                    "\"nominal_experts\":4,\"budget\":{\"epsilon\":10,\"delta\":1e-5}}",
                    project));
    expect_status(made, 201);
    return response_text(made, "/id");
}

static struct response *upload(const char *token, const char *id,
                               void (*meanwhile)(struct fixture *fixture))
{
    char *lines = domain_lines(4, 3);
    struct response *answer =
        fixture_ask(f, &(struct ask){.path = domain_path("/v1/datasets/%s/trajectories", id),
                                     .token = token,
                                     .key = domain_path("k%u", fixture_next_key(f)),
                                     .body = lines,
                                     .content_type = "application/x-ndjson",
                                     .meanwhile = meanwhile});
    free(lines);
    return answer;
}

CHECKED_TEST(under_way, an_upload_of_who_was_removed_stores_nothing)
{
    const char *id = dataset();
    gone = fixture_client(f, "contributor");
    join(gone, "contributor");
    expect_problem(upload(fixture_token(f, "contributor"), id, leave), "not-found");
    join(gone, "contributor");
    expect_problem(upload(fixture_token(f, "contributor"), id, end_token), "unauthorized");
    struct response *shown = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_expect_eq(response_number(shown, "/trajectories"), 0, "%s", shown->body);
}

CHECKED_TEST(under_way, an_upload_of_who_was_revoked_stores_nothing)
{
    const char *id = dataset();
    gone = fixture_client(f, "contributor");
    join(gone, "contributor");
    expect_status(upload(fixture_token(f, "contributor"), id, NULL), 201);
    expect_problem(upload(fixture_token(f, "contributor"), id, revoke), "unauthorized");
    struct response *shown = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_expect_eq(response_number(shown, "/trajectories"), 4, "%s", shown->body);
}

CHECKED_TEST(under_way, a_repeated_upload_of_who_was_revoked_is_not_answered)
{
    char *lines = domain_lines(4, 3);
    struct ask ask = {.path = domain_path("/v1/datasets/%s/trajectories", dataset()),
                      .token = fixture_token(f, "contributor"),
                      .key = "once",
                      .body = lines,
                      .content_type = "application/x-ndjson"};
    gone = fixture_client(f, "contributor");
    join(gone, "contributor");
    expect_status(fixture_ask(f, &ask), 201);
    ask.meanwhile = revoke;
    expect_problem(fixture_ask(f, &ask), "unauthorized");
    free(lines);
}

CHECKED_TEST(under_way, a_job_of_who_was_removed_spends_nothing)
{
    const char *id = dataset();
    gone = fixture_token_client(f, second);
    expect_status(upload(fixture_token(f, "steward"), id, NULL), 201);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", id), NULL), 200);
    const char *body = domain_private_job(id, 5, 20);
    join(gone, "steward");
    expect_problem(ask(second, "/v1/jobs", body, leave), "not-found");
    join(gone, "steward");
    expect_problem(ask(second, "/v1/jobs", body, revoke), "unauthorized");
    struct response *budget = fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", id));
    cr_expect_eq(response_number(budget, "/reserved/epsilon"), 0, "%s", budget->body);
}

CHECKED_TEST(under_way, a_teacher_of_who_was_removed_is_not_made)
{
    gone = fixture_token_client(f, second);
    join(gone, "steward");
    struct response *policy = fixture_post(
        f, "steward", "/v1/policies",
        domain_path("{\"name\":\"p\",\"environment\":\"cartpole\",\"project\":\"%s\",\"network\":"
                    "{\"activation\":\"relu\",\"layers\":[{\"weight\":[[0.1,0.2,0.3,0.4],"
                    "[-0.1,0.2,-0.3,0.4]],\"bias\":[0,0.5]}],\"output\":\"softmax\"}}",
                    project));
    expect_status(policy, 201);
    const char *body = domain_teacher(response_text(policy, "/id"), 100, 1);
    expect_invalid(ask(second, "/v1/teachers", body, leave), "/policy");
    struct response *list = fixture_get(f, "steward", "/v1/teachers");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 0);
}
