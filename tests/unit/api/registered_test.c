/* Worlds that stewards register: who may name them, what they are refused for, and that a program
 * of a client tells nobody but its client anything. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/worlds/world_program.h"
#include "api/worlds/worlds.h"
#include "programs/limits.h"
#include "storage/environments.h"
#include "tests/unit/api/service.h"
#include "tests/unit/api/shell_world.h"

static struct worlds *worlds;
static unsigned logged; /* lines of programs that the server's log got */

static void log_line(void *context, const char *world, const char *line)
{
    (void)context, (void)world, (void)line;
    logged++;
}

static void with_worlds(struct api_settings *settings)
{
    settings->worlds = worlds;
}

/* Worlds of a server with the runner "sh", or with none. */
static void open_worlds(bool runs)
{
    static const char *const runners[] = {"sh=/bin/sh"};
    char error[512];
    const struct worlds_settings settings = {
        .runners = runners, .runner_count = runs, .answer_s = 60, .run_s = 600, .said = log_line};
    worlds = worlds_open(&settings, error, sizeof error);
    cr_assert_not_null(worlds, "%s", error);
}

static void open_service(void)
{
    open_worlds(true);
    f = fixture_open_with(with_worlds);
}

static void close_service(void)
{
    fixture_close(f);
    worlds_close(worlds);
}

TestSuite(registered, .init = open_service, .fini = close_service, .timeout = 240);

static struct response *enter(const char *role, const char *name, const char *runner,
                              const char *source)
{
    json_t *json = json_pack("{s:s, s:s, s:s}", "name", name, "runner", runner, "source", source);
    char *body = json_dumps(json, 0);
    struct response *r = fixture_post(f, role, "/v1/environments", body);
    free(body);
    json_decref(json);
    return r;
}

/* A row as a steward's registration would leave it, without its program being started. */
static const char *put_described(const char *owner, const char *client, const char *source,
                                 const char *description)
{
    struct environment_row row = {.name = "row",
                                  .runner = "sh",
                                  .description = (char *)(uintptr_t)description,
                                  .source = (char *)(uintptr_t)source};
    id_new(ENVIRONMENT_PREFIX, row.id);
    snprintf(row.owner, sizeof row.owner, "%s", owner);
    snprintf(row.client, sizeof row.client, "%s", client);
    cr_assert_eq(environments_insert(fixture_db(f), &row), DB_OK);
    return domain_path("%s", row.id);
}

static const char *put_row(const char *owner, const char *client, const char *source)
{
    return put_described(owner, client, source, SHELL_FACTS);
}

static const char *play(const char *policy, const char *world)
{
    return domain_path("{\"algorithm\":\"evaluate\",\"policy\":\"%s\",\"evaluate\":{"
                       "\"environment\":\"%s\",\"episodes\":3,\"max_episode_steps\":20}}",
                       policy, world);
}

static struct response *played_in_vain(const char *policy, const char *world, const char *why)
{
    struct response *made = fixture_post(f, "steward", "/v1/jobs", play(policy, world));
    expect_status(made, 202);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_expect_str_eq(response_text(job, "/state"), "failed", "%s", job->body);
    cr_expect_not_null(strstr(job->body, why), "%s", job->body);
    return job;
}

Test(registered, a_world_is_there_after_a_restart_until_it_is_deleted)
{
    struct response *made = enter("steward", "seven", "sh", "echo hello >&2; " SHELL_SEVEN);
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    const char *place = domain_path("/v1/environments/%s", id);
    cr_expect_str_eq(response_header(made, "Location"), place);
    cr_expect_str_eq(response_text(made, "/name"), "seven");
    cr_expect_str_eq(response_text(made, "/runner"), "sh");
    cr_expect_eq(strlen(response_text(made, "/source_sha256")), 64);
    cr_expect_eq(response_number(made, "/state_dim"), 4);
    const char *policy = domain_policy(f);
    struct response *job = domain_run(f, play(policy, id));
    cr_expect_eq(response_number(job, "/evaluation/mean_return"), 3.5);
    fixture_restart(f, with_worlds);
    job = domain_run(f, play(policy, id));
    cr_expect_eq(response_number(job, "/evaluation/mean_return"), 3.5);
    cr_expect_eq(logged, 0);
    struct response *queued = fixture_post(f, "steward", "/v1/jobs", play(policy, id));
    expect_status(queued, 202);
    expect_status(fixture_delete(f, "steward", place), 204);
    expect_problem(fixture_delete(f, "steward", place), "not-found");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", play(policy, id)),
                   "/evaluate/environment");
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    cr_expect_not_null(strstr(domain_job(f, queued)->body, "no such world any more"));
    struct response *trail = fixture_get(f, "auditor", domain_path("/v1/audit?resource=%s", id));
    cr_expect_eq(json_array_size(response_at(trail, "/items")), 2, "%s", trail->body);
}

Test(registered, it_is_known_to_the_stewards_of_its_project_alone)
{
    const char *id =
        put_row(fixture_client(f, "steward"), fixture_client(f, "steward"), SHELL_SEVEN);
    const char *other = fixture_new_token(f, "steward");
    struct response *mine = fixture_get(f, "steward", "/v1/environments");
    cr_expect_not_null(strstr(mine->body, id), "%s", mine->body);
    const struct ask list = {.path = "/v1/environments", .token = other};
    cr_expect_null(strstr(fixture_ask(f, &list)->body, id));
    cr_expect_null(strstr(fixture_get(f, "student", "/v1/environments")->body, id));
    cr_expect_null(strstr(fixture_get(f, "admin", "/v1/environments")->body, id));
    const struct ask drop = {
        .method = "DELETE", .path = domain_path("/v1/environments/%s", id), .token = other};
    expect_problem(fixture_ask(f, &drop), "not-found");
    const struct ask named = {
        .path = "/v1/datasets",
        .token = other,
        .key = "d",
        .body =
            domain_path("{\"name\":\"d\",\"environment\":\"%s\",\"sensitivity\":\"public\"}", id)};
    expect_invalid(fixture_ask(f, &named), "/environment");
    expect_status(fixture_post(f, "steward", "/v1/datasets", named.body), 201);
}

Test(registered, it_serves_the_evaluation_of_policies_alone)
{
    const char *id =
        put_row(fixture_client(f, "steward"), fixture_client(f, "steward"), SHELL_SEVEN);
    struct response *learn =
        fixture_post(f, "steward", "/v1/jobs",
                     domain_path("{\"algorithm\":\"ppo\",\"environment\":\"%s\"}", id));
    expect_invalid(learn, "/environment");
    cr_expect_not_null(strstr(learn->body, "evaluation of policies alone"), "%s", learn->body);
    expect_status(
        fixture_post(f, "steward", "/v1/policies",
                     domain_path("{\"name\":\"p\",\"environment\":\"%s\",\"network\":{"
                                 "\"activation\":\"relu\",\"layers\":[{\"weight\":[[1,0,0,0],"
                                 "[0,0,1,0]],\"bias\":[0,0]}],\"output\":\"softmax\"}}",
                                 id)),
        201);
    expect_invalid(
        fixture_post(f, "steward", "/v1/jobs:estimate",
                     domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"selective_dpsgd\","
                                 "\"dataset\":\"%s\",\"privacy\":{\"epsilon\":2,\"delta\":1e-6},"
                                 "\"choose\":{\"environment\":\"%s\"}}",
                                 domain_sealed(f, "private", 30), id)),
        "/choose/environment");
}

Test(registered, what_is_wrong_with_a_program_is_told_to_its_client_alone)
{
    struct response *r = enter("steward", "w", "sh", "echo 'no wheel' >&2; exit 1");
    expect_invalid(r, "/source");
    cr_expect_not_null(strstr(r->body, "It said: no wheel"), "%s", r->body);
    r = enter("steward", "w", "sh", "read q; echo garbage; cat");
    expect_invalid(r, "/source");
    cr_expect_not_null(strstr(r->body, "not one JSON object"), "%s", r->body);
    r = enter("steward", "w", "python", "x");
    expect_invalid(r, "/runner");
    cr_expect_not_null(strstr(r->body, "this server has sh"), "%s", r->body);
    expect_invalid(fixture_post(f, "steward", "/v1/environments",
                                "{\"name\":\"w\",\"runner\":\"sh\",\"source\":7}"),
                   "/source");
    char *long_source = calloc(PROGRAM_SOURCE_MAX + 2, 1);
    memset(long_source, '#', PROGRAM_SOURCE_MAX + 1);
    expect_invalid(enter("steward", "w", "sh", long_source), "/source");
    free(long_source);
    expect_problem(enter("student", "w", "sh", SHELL_SEVEN), "forbidden");
    cr_expect_eq(logged, 0);
    struct response *list = fixture_get(f, "steward", "/v1/environments");
    cr_expect_null(strstr(list->body, "\"runner\""));
}

Test(registered, one_that_cannot_be_read_is_named_beside_the_others)
{
    const char *client = fixture_client(f, "steward");
    (void)put_row(client, client, SHELL_SEVEN);
    const char *broken = put_described(client, client, SHELL_SEVEN, "{\"state_dim\":0}");
    (void)put_row(client, client, SHELL_SEVEN);
    struct response *r = fixture_get(f, "steward", "/v1/environments");
    expect_status(r, 200);
    size_t count = json_array_size(response_at(r, "/items")), refused = 0, whole = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *item = json_array_get(response_at(r, "/items"), i);
        const char *id = json_string_value(json_object_get(item, "id"));
        if (!id)
            continue;
        whole += json_is_integer(json_object_get(item, "state_dim"));
        if (strcmp(id, broken) == 0)
            refused += json_is_string(json_object_get(item, "refused"));
    }
    cr_assert(refused == 1 && whole == 2);
    expect_status(fixture_delete(f, "steward", domain_path("/v1/environments/%s", broken)), 204);
}

Test(registered, a_client_has_sixteen_at_most)
{
    const char *client = fixture_client(f, "steward");
    for (int i = 0; i < 16; i++)
        (void)put_row(client, client, SHELL_SEVEN);
    expect_problem(enter("steward", "w", "sh", SHELL_SEVEN), "conflict");
}

Test(registered, without_its_runner_or_with_another_description_it_is_not_played)
{
    const char *client = fixture_client(f, "steward"), *policy = domain_policy(f);
    const char *changed = put_row(client, client,
                                  "read q; echo '{\"protocol\":1,\"state_dim\":4,"
                                  "\"action_count\":3,\"max_episode_steps\":500}'; cat");
    (void)played_in_vain(policy, changed, "describes another world");
    const char *id = put_row(client, client, SHELL_SEVEN);
    struct worlds *before = worlds;
    open_worlds(false);
    fixture_restart(f, with_worlds);
    (void)played_in_vain(policy, id, "does not allow its runner");
    expect_invalid(enter("steward", "w", "sh", SHELL_SEVEN), "/runner");
    worlds_close(before);
}

Test(registered, a_client_tries_one_at_a_time_and_leaves_a_place_for_another)
{
    const char *client = fixture_client(f, "steward");
    cr_assert(worlds_begin_trial(worlds, client));
    cr_expect_not(worlds_begin_trial(worlds, client));
    expect_problem(enter("steward", "w", "sh", SHELL_SEVEN), "overloaded");
    cr_assert(worlds_begin_trial(worlds, "another"));
    cr_expect_not(worlds_begin_trial(worlds, "third"));
    worlds_end_trial(worlds, client);
    cr_expect(worlds_begin_trial(worlds, "third"));
    worlds_end_trial(worlds, "another");
    cr_expect_eq(enter("steward", "w", "sh", SHELL_SEVEN)->status, 201);
    cr_expect(worlds_begin_trial(worlds, client));
}

/* ---- what the operator declares */

Test(registered, a_runner_that_is_not_there_stops_the_start)
{
    static const struct {
        const char *runner, *why;
    } rows[] = {
        {"python=/opt/none/python3 -I", "\"/opt/none/python3\" is not found below /usr"},
        {"python", "is not NAME=COMMAND"},
        {"Py=python3", "is not NAME=COMMAND"},
        {"py=$(id)", "is not NAME=COMMAND"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char error[512];
        const struct worlds_settings settings = {.runners = &rows[i].runner, .runner_count = 1};
        cr_expect_null(worlds_open(&settings, error, sizeof error));
        cr_expect_not_null(strstr(error, rows[i].why), "%s", error);
    }
}
