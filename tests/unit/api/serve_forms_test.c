/* The forms of what api_serve gives: what Accept decides, origins, pages, problems that the server
 * asks for, health and metrics. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/wire/problem.h"
#include "tests/unit/api/domain.h"

TestSuite(serve_forms);

Test(serve_forms, accept_decides_the_form)
{
    struct fixture *f = fixture_open();
    const char *browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    struct ask ask = {.path = "/v1/clients", .token = fixture_token(f, "admin")};
    const char *fine[] = {"*/*", "application/json", "application/*", "text/html", ""};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        ask.accept = fine[i];
        struct response *r = fixture_ask(f, &ask);
        expect_status(r, 200);
        cr_expect_str_eq(r->content_type, "application/json");
    }
    ask.accept = "image/png";
    expect_problem(fixture_ask(f, &ask), "not-acceptable");
    ask.accept = "application/json;q=0";
    expect_problem(fixture_ask(f, &ask), "not-acceptable");

    struct response *page =
        fixture_ask(f, &(struct ask){.path = "/v1/ledger/accounts", .accept = browser});
    expect_status(page, 200);
    cr_expect_str_eq(page->content_type, "text/html; charset=utf-8");
    struct response *data =
        fixture_ask(f, &(struct ask){.path = "/v1/ledger/accounts", .accept = "*/*"});
    expect_problem(data, "unauthorized");
    fixture_close(f);
}

static void allow_origins(struct api_settings *settings)
{
    settings->cors_origins = "https://a.example, https://b.example";
}

Test(serve_forms, cors_is_for_the_listed_origins)
{
    struct fixture *f = fixture_open_with(allow_origins);
    struct ask ask = {.path = "/healthz/live", .headers = {{"Origin", "https://b.example"}}};
    struct response *r = fixture_ask(f, &ask);
    cr_expect_str_eq(response_header(r, "Access-Control-Allow-Origin"), "https://b.example");
    cr_expect_str_eq(response_header(r, "Vary"), "Origin");
    ask.method = "OPTIONS";
    ask.path = "/v1/clients";
    r = fixture_ask(f, &ask);
    expect_status(r, 204);
    cr_expect(strstr(response_header(r, "Access-Control-Allow-Headers"), "Idempotency-Key"));
    ask.headers[0][1] = "https://c.example";
    r = fixture_ask(f, &ask);
    cr_expect(response_header(r, "Access-Control-Allow-Origin") == NULL);
    cr_expect(response_header(r, "Access-Control-Allow-Headers") == NULL);
    fixture_close(f);
}

/* A header too many would be an abort, so there is room for two more than the fullest answer. */
Test(serve_forms, the_answer_with_most_headers_has_room_for_more)
{
    struct fixture *f = fixture_open_with(allow_origins);
    struct ask ask = {.path = "/v1/jobs",
                      .token = fixture_token(f, "steward"),
                      .key = "job-1",
                      .body = domain_private_job(domain_sealed(f, "private", 4), 10, 2),
                      .headers = {{"Origin", "https://a.example"}}};
    expect_status(fixture_ask(f, &ask), 202);
    struct response *again = fixture_ask(f, &ask);
    expect_status(again, 202);
    static const char *const carried[] = {"Location",
                                          "Idempotency-Replayed",
                                          "Tacet-Price",
                                          "Request-Id",
                                          "Tacet-Remaining",
                                          "Access-Control-Allow-Origin",
                                          "Cache-Control",
                                          "Vary",
                                          "Access-Control-Expose-Headers"};
    for (size_t i = 0; i < sizeof carried / sizeof carried[0]; i++)
        cr_expect(response_header(again, carried[i]), "%s", carried[i]);
    cr_expect_leq(again->reply.header_count + 2, API_REPLY_HEADERS, "%u",
                  again->reply.header_count);
    fixture_close(f);
}

Test(serve_forms, static_pages_are_asked_once)
{
    struct fixture *f = fixture_open();
    const char *paths[] = {"/", "/status.js", "/status.css", "/openapi.yaml", "/docs"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct ask ask = {.path = paths[i]};
        struct response *r = fixture_ask(f, &ask);
        expect_status(r, 200);
        cr_expect(r->size > 100, "%s", paths[i]);
        const char *etag = response_header(r, "ETag");
        cr_assert(etag != NULL && etag[0] == '"');
        ask.headers[0][0] = "If-None-Match";
        ask.headers[0][1] = etag;
        r = fixture_ask(f, &ask);
        expect_status(r, 304);
        cr_expect_eq(r->size, 0);
        cr_expect_str_eq(response_header(r, "ETag"), etag);
        ask.headers[0][1] = "\"other\"";
        expect_status(fixture_ask(f, &ask), 200);
    }
    fixture_close(f);
}

Test(serve_forms, a_problem_has_a_page)
{
    struct fixture *f = fixture_open();
    struct response *list = fixture_get(f, NULL, "/problems");
    expect_status(list, 200);
    cr_expect_eq(json_array_size(response_at(list, "/items")), PROBLEM_COUNT - 1);
    for (size_t i = 0; i < PROBLEM_COUNT - 1; i++) {
        char pointer[40];
        snprintf(pointer, sizeof pointer, "/items/%zu/type", i);
        const char *type = response_text(list, pointer);
        struct response *r = fixture_get(f, NULL, type);
        expect_status(r, 200);
        cr_expect_str_eq(response_text(r, "/type"), type);
        cr_expect(strlen(response_text(r, "/explanation")) > 20);
        r = fixture_ask(f, &(struct ask){.path = type, .accept = "text/html"});
        expect_status(r, 200);
        cr_expect_str_eq(r->content_type, "text/html; charset=utf-8");
        cr_expect(strstr(r->body, response_text(list, "/items/0/title")) != NULL || i > 0);
    }
    expect_problem(fixture_get(f, NULL, "/problems/none"), "not-found");
    fixture_close(f);
}

Test(serve_forms, a_refused_body_is_told_its_limit)
{
    struct fixture *f = fixture_open();
    static const struct api_request requests[] = {
        {.method = "POST", .path = "/v1/datasets", .request_id = "req-1"},
        {.method = "POST", .path = "/v1/datasets/ds_1/trajectories", .request_id = "req-2"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct api_reply reply;
        char limit[40];
        struct api_route_info route =
            api_route(fixture_app(f), requests[i].method, requests[i].path);
        snprintf(limit, sizeof limit, "%llu bytes", (unsigned long long)route.max_body_bytes);
        api_problem_reply_to(fixture_app(f), "body-too-large", "", &requests[i], &reply);
        cr_expect_eq(reply.status, 413);
        json_t *json = json_loadb(reply.body, reply.body_size, 0, NULL);
        const char *detail = json_string_value(json_object_get(json, "detail"));
        cr_expect_str_eq(json_string_value(json_object_get(json, "instance")), requests[i].path);
        cr_expect(strstr(detail, limit) != NULL, "%s", detail);
        cr_expect_eq(strstr(detail, "decodes") != NULL, i == 1);
        json_decref(json);
        api_reply_clear(&reply);
    }
    fixture_close(f);
}

Test(serve_forms, the_server_can_ask_for_any_problem)
{
    struct fixture *f = fixture_open();
    const char *slugs[] = {"body-too-large", "overloaded",      "shutting-down",
                           "storage-full",   "request-timeout", "internal-error"};
    for (size_t i = 0; i < sizeof slugs / sizeof slugs[0]; i++) {
        struct api_reply reply;
        api_problem_reply(slugs[i], NULL, "req-1", &reply);
        cr_expect_eq(reply.status, problem_info(problem_find(slugs[i]))->status);
        json_t *json = json_loadb(reply.body, reply.body_size, 0, NULL);
        cr_expect_str_eq(json_string_value(json_object_get(json, "request_id")), "req-1");
        json_decref(json);
        bool waits = false;
        for (unsigned h = 0; h < reply.header_count; h++)
            waits = waits || strcmp(reply.headers[h].name, "Retry-After") == 0;
        cr_expect_eq(waits, reply.status == 503);
        api_reply_clear(&reply);
    }
    fixture_close(f);
}

static bool never_ready(void *context, const char **why_not)
{
    (void)context;
    *why_not = "The workers are starting.";
    return false;
}

static void not_ready(struct api_settings *settings)
{
    settings->ready = never_ready;
}

Test(serve_forms, people_get_a_page_where_nothing_is)
{
    struct fixture *f = fixture_open();
    struct response *r = fixture_ask(f, &(struct ask){.path = "/tutor", .accept = "text/html"});
    expect_status(r, 404);
    cr_expect_str_eq(r->content_type, "text/html; charset=utf-8");
    cr_expect_not_null(strstr(r->body, "<a href=\"/docs\">"));
    cr_expect_str_eq(r->reply.problem, "not-found");
    cr_expect_null(strstr(r->body, "tutor"), "what was asked for is not repeated");
    expect_problem(fixture_ask(f, &(struct ask){.path = "/teacher"}), "not-found");
    r = fixture_ask(f,
                    &(struct ask){.path = "/v1/clients", .method = "PUT", .accept = "text/html"});
    cr_expect_eq(r->status, 405);
    fixture_close(f);
}

Test(serve_forms, a_misspelt_world_is_told_with_the_one_that_may_be_meant)
{
    struct fixture *f = fixture_open();
    static const char body[] = "{\"name\":\"d\",\"environment\":\"CartPole-v1\",\"budget\":"
                               "{\"epsilon\":1,\"delta\":1e-6}}";
    struct response *r = fixture_ask(f, &(struct ask){.path = "/v1/datasets",
                                                      .key = "a",
                                                      .token = fixture_token(f, "steward"),
                                                      .body = body});
    expect_problem(r, "validation");
    cr_expect_not_null(strstr(r->body, "did you mean \\\"cartpole\\\"?"), "%s", r->body);
    fixture_close(f);
}

static size_t two_counters(void *context, char *buffer, size_t size)
{
    (void)context;
    return (size_t)snprintf(buffer, size, "tacet_a 1\ntacet_b 2\n");
}

static void with_metrics(struct api_settings *settings)
{
    settings->metrics = two_counters;
}

Test(serve_forms, health_and_metrics)
{
    struct fixture *f = fixture_open_with(with_metrics);
    expect_status(fixture_get(f, NULL, "/healthz/live"), 200);
    struct response *r = fixture_get(f, NULL, "/healthz/ready");
    expect_status(r, 200);
    cr_expect_str_eq(response_text(r, "/version"), "test");
    r = fixture_get(f, "admin", "/metrics");
    expect_status(r, 200);
    cr_expect_eq(strncmp(r->body, "tacet_a 1\ntacet_b 2\n", 20), 0);
    cr_expect_not_null(strstr(r->body, "\ntacet_jobs{state=\"queued\"} 0\n"));
    cr_expect_not_null(strstr(r->body, "\ntacet_epsilon_left{kind=\"dataset\"} 0\n"));
    expect_problem(fixture_get(f, NULL, "/metrics"), "unauthorized");
    expect_problem(fixture_get(f, "student", "/metrics"), "forbidden");
    expect_problem(fixture_get(f, "steward", "/metrics"), "forbidden");
    expect_status(fixture_get(f, "monitor", "/metrics"), 200);
    expect_problem(fixture_get(f, "monitor", "/v1/environments"), "forbidden");
    expect_problem(fixture_get(f, "monitor", "/v1/clients/me"), "forbidden");
    r = fixture_get(f, "auditor", "/metrics");
    expect_problem(r, "forbidden");
    cr_expect_not_null(strstr(response_text(r, "/detail"), "these may: admin, monitor"));
    fixture_close(f);
    f = fixture_open_with(not_ready);
    r = fixture_get(f, NULL, "/healthz/ready");
    expect_problem(r, "not-ready");
    cr_expect_str_eq(response_text(r, "/detail"), "The workers are starting.");
    cr_expect(response_header(r, "Retry-After") != NULL);
    expect_status(fixture_get(f, NULL, "/healthz/live"), 200);
    fixture_close(f);
}

Test(serve_forms, worlds_are_listed)
{
    struct fixture *f = fixture_open();
    struct response *r = fixture_get(f, "student", "/v1/environments");
    expect_status(r, 200);
    cr_expect_str_eq(response_text(r, "/items/0/name"), "cartpole");
    cr_expect_eq(response_number(r, "/items/0/state_dim"), 4);
    cr_expect_eq(response_number(r, "/items/0/action_count"), 2);
    cr_expect_str_eq(response_text(r, "/items/0/parameters/0/name"), "gravity");
    cr_expect_eq(response_number(r, "/items/0/parameters/0/default"), 9.8);
    cr_expect_str_eq(response_text(r, "/items/1/name"), "acrobot");
    cr_expect_eq(response_number(r, "/items/1/state_dim"), 6);
    cr_expect_eq(response_number(r, "/items/1/action_count"), 3);
    cr_expect_eq(response_number(r, "/items/1/max_episode_steps"), 500);
    cr_expect_eq(response_number(r, "/items/1/random_return"), -200);
    cr_expect_str_eq(response_text(r, "/items/1/parameters/0/name"), "link_length_1");
    cr_expect_str_eq(response_text(r, "/items/2/name"), "hiv");
    cr_expect_eq(response_number(r, "/items/2/state_dim"), 6);
    cr_expect_eq(response_number(r, "/items/2/action_count"), 4);
    cr_expect_eq(response_number(r, "/items/2/max_episode_steps"), 50);
    cr_expect_str_eq(response_text(r, "/items/2/parameters/1/name"), "penalty_drug1_R1");
    cr_expect_eq(response_number(r, "/items/2/parameters/1/default"), 20000);
    cr_expect_str_eq(response_text(r, "/items/3/name"), "lunar_lander");
    cr_expect_eq(response_number(r, "/items/3/state_dim"), 8);
    cr_expect_eq(response_number(r, "/items/3/action_count"), 4);
    cr_expect_eq(response_number(r, "/items/3/max_episode_steps"), 1000);
    cr_expect_str_eq(response_text(r, "/items/3/parameters/0/name"), "gravity");
    cr_expect_eq(response_number(r, "/items/3/parameters/0/default"), -10);
    static const struct {
        const char *name;
        int state_dim, action_count, steps;
    } examples[] = {{"ward", 6, 4, 48}, {"fund", 6, 3, 52}, {"factory", 3, 3, 64}};
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "/items/%d/name", 4 + i);
        cr_expect_str_eq(response_text(r, path), examples[i].name);
        snprintf(path, sizeof path, "/items/%d/state_dim", 4 + i);
        cr_expect_eq(response_number(r, path), examples[i].state_dim);
        snprintf(path, sizeof path, "/items/%d/action_count", 4 + i);
        cr_expect_eq(response_number(r, path), examples[i].action_count);
        snprintf(path, sizeof path, "/items/%d/max_episode_steps", 4 + i);
        cr_expect_eq(response_number(r, path), examples[i].steps);
    }
    fixture_close(f);
}
