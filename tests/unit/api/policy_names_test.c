/* Names of policies stay or move, each move is kept, and a name stands where an id may; released
 * policies are read by whom their owner lets. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "storage/policy_names.h"
#include "tests/unit/api/failing_database.h"
#include "tests/unit/api/service.h"

static char first[64], second[64]; /* policies of the steward, the first of them released */

static void open_policies(void)
{
    f = fixture_open_failing(); /* it counts calls of the database, and none fails */
    struct response *job = domain_run(f, domain_plain_job(domain_sealed(f, "public", 4), 4));
    strcpy(first, response_text(job, "/policy"));
    strcpy(second, domain_policy(f));
}

TestSuite(policy_names, .init = open_policies, .fini = service_close);

static const char *of(const char *id, const char *rest)
{
    return domain_path("/v1/policies/%s%s", id, rest);
}

static struct response *give(const char *policy, const char *name, const char *match)
{
    struct ask ask = {.method = "PUT",
                      .path = domain_path("/v1/policies/%s/names/%s", policy, name),
                      .token = fixture_token(f, "steward")};
    if (match) {
        ask.headers[0][0] = "If-Match";
        ask.headers[0][1] = match;
    }
    return fixture_ask(f, &ask);
}

static struct response *get_as(const char *token, const char *path)
{
    return fixture_ask(f, &(struct ask){.path = path, .token = token});
}

Test(policy_names, a_version_stays_and_an_alias_moves_and_every_move_is_kept)
{
    expect_status(give(first, "treatment@1", NULL), 201);
    expect_status(give(first, "treatment@1", NULL), 200);
    expect_problem(give(second, "treatment@1", "\"1\""), "conflict");
    expect_status(give(second, "treatment@2", NULL), 201);
    struct response *alias = give(first, "treatment@current", NULL);
    expect_status(alias, 201);
    cr_expect_str_eq(response_header(alias, "ETag"), "\"1\"");
    expect_problem(give(second, "treatment@current", NULL), "precondition-required");
    expect_problem(give(second, "treatment@current", "\"2\""), "precondition-failed");
    struct response *moved = give("treatment@2", "treatment@current", "\"1\"");
    expect_status(moved, 200);
    cr_expect_str_eq(response_text(moved, "/policy"), second);
    expect_problem(give(first, "treatment@current", "\"1\""), "precondition-failed");
    struct response *shown = fixture_get(f, "steward", "/v1/policy-names/treatment@current");
    cr_expect_neq(response_text(shown, "/moved_by_name")[0], '\0');
    expect_status(shown, 200);
    cr_expect_str_eq(response_header(shown, "ETag"), "\"2\"");
    cr_expect_eq(json_array_size(response_at(shown, "/moves")), 2);
    cr_expect_str_eq(response_text(shown, "/moves/1/by_name"),
                     response_text(shown, "/moved_by_name"));
    cr_expect_str_eq(response_text(shown, "/moves/1/from"), first);
    cr_expect_str_eq(response_text(shown, "/moves/1/to"), second);
    cr_expect_str_eq(response_text(shown, "/moves/1/by"), fixture_client(f, "steward"));
    struct response *list = fixture_get(f, "steward", "/v1/policy-names");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 3);
    cr_expect_str_eq(response_text(list, "/items/0/name"), "treatment@1");
    struct response *policy = fixture_get(f, "steward", of(second, ""));
    cr_expect_eq(json_array_size(response_at(policy, "/names")), 2);
}

Test(policy_names, a_name_stands_where_an_id_may)
{
    expect_status(give(first, "treatment@current", NULL), 201);
    struct response *shown = fixture_get(f, "steward", of("treatment@current", ""));
    expect_status(shown, 200);
    cr_expect_str_eq(response_text(shown, "/id"), first);
    cr_expect_str_eq(response_header(shown, "Content-Location"), of(first, ""));
    struct response *weights =
        fixture_get(f, "steward", of("treatment@current", "/weights?format=json"));
    expect_status(weights, 200);
    cr_expect_str_eq(response_header(weights, "Content-Location"), of(first, "/weights"));
    expect_status(
        fixture_post(f, "steward", of("treatment@current", "/actions"), "{\"states\":[[0,0,0,0]]}"),
        200);
    struct response *teacher =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher("treatment@current", 8, 2));
    expect_status(teacher, 201);
    cr_expect_str_eq(response_text(teacher, "/policy"), first);
    struct response *job =
        fixture_post(f, "steward", "/v1/jobs",
                     "{\"algorithm\":\"evaluate\",\"policy\":\"treatment@current\",\"evaluate\":{"
                     "\"environment\":\"cartpole\",\"episodes\":2,\"max_episode_steps\":5}}");
    expect_status(job, 202);
    expect_status(give(second, "treatment@current", "\"1\""), 200); /* the job keeps its policy */
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    cr_expect_str_eq(response_text(domain_job(f, job), "/state"), "succeeded");
    static const char *const malformed[] = {"Treatment@1", "a@", "@a", "a", "a@b@c", "a@b%20c"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        expect_problem(give(first, malformed[i], NULL), "not-found");
}

/* What an id names stays; an alias may move within the day that a client keeps an answer. */
Test(policy_names, what_a_name_stands_for_is_asked_for_each_time)
{
    static const char *const files[] = {"/weights?format=json", "/certificate"};
    struct response *job = domain_run(f, domain_private_job(domain_sealed(f, "private", 10), 1, 4));
    const char *policy = response_text(job, "/policy");
    expect_status(give(policy, "treatment@current", NULL), 201);
    for (size_t i = 0; i < 2; i++) {
        struct response *by_id = fixture_get(f, "steward", of(policy, files[i]));
        cr_expect_str_eq(response_header(by_id, "Cache-Control"), "private, max-age=86400");
        struct response *by_name = fixture_get(f, "steward", of("treatment@current", files[i]));
        expect_status(by_name, 200);
        cr_expect_str_eq(response_header(by_name, "Cache-Control"), "no-cache");
        struct ask again = {.path = of("treatment@current", files[i]),
                            .token = fixture_token(f, "steward"),
                            .headers = {{"If-None-Match", response_header(by_name, "ETag")}}};
        struct response *same = fixture_ask(f, &again);
        expect_status(same, 304);
        cr_expect_str_eq(response_header(same, "Cache-Control"), "no-cache");
    }
}

Test(policy_names, a_name_is_its_owners_alone)
{
    const char *other = fixture_new_token(f, "steward");
    expect_status(give(first, "treatment@1", NULL), 201);
    expect_problem(get_as(other, of("treatment@1", "")), "not-found");
    expect_problem(get_as(other, "/v1/policy-names/treatment@1"), "not-found");
    cr_expect_eq(json_array_size(response_at(get_as(other, "/v1/policy-names"), "/items")), 0);
    struct ask ask = {.method = "PUT", .path = of(first, "/names/mine@1"), .token = other};
    expect_problem(fixture_ask(f, &ask), "not-found");
}

Test(policy_names, an_alias_keeps_its_policy_from_being_deleted_and_a_version_does_not)
{
    expect_status(give(second, "treatment@1", NULL), 201);
    expect_status(give(second, "treatment@current", NULL), 201);
    struct response *refused = fixture_delete(f, "steward", of(second, ""));
    expect_problem(refused, "conflict");
    cr_expect_str_eq(response_text(refused, "/used_by/alias"), "treatment@current");
    expect_status(give(first, "treatment@current", "\"1\""), 200);
    expect_status(fixture_delete(f, "steward", of(second, "")), 204);
    expect_problem(fixture_get(f, "steward", of("treatment@1", "")), "not-found");
    expect_problem(give(first, "treatment@1", NULL), "conflict"); /* it meant another */
}

/* Moves the alias NAME, which has revision 1, until it has REVISIONS. */
static void move_often(struct db *db, const char *name, int64_t revisions)
{
    struct policy_name_row row = {.moved_ms = 1};
    snprintf(row.owner, sizeof row.owner, "%s", fixture_client(f, "steward"));
    snprintf(row.client, sizeof row.client, "%s", row.owner);
    snprintf(row.name, sizeof row.name, "%s", name);
    for (row.revision = 2; row.revision <= revisions; row.revision++) {
        memcpy(row.policy, row.revision % 2 == 0 ? second : first, ID_SIZE);
        cr_assert_eq(policy_names_move(db, &row), DB_OK);
    }
}

Test(policy_names, an_alias_that_was_moved_a_thousand_times_stays)
{
    expect_status(give(first, "treatment@current", NULL), 201);
    move_often(fixture_db(f), "treatment@current", POLICY_NAME_REVISIONS - 1);
    expect_problem(fixture_delete(f, "steward", of(first, "")), "conflict");
    expect_status(give(second, "treatment@current", "\"999\""), 200);
    struct response *more = give(first, "treatment@current", "\"1000\"");
    expect_problem(more, "conflict");
    cr_expect_not_null(strstr(response_text(more, "/detail"), "at most 1000 revisions"));
    struct response *shown = fixture_get(f, "steward", "/v1/policy-names/treatment@current");
    cr_expect_str_eq(response_text(shown, "/policy"), second);
    cr_expect_eq(json_array_size(response_at(shown, "/moves")), 1000);
    expect_status(give(second, "treatment@current", NULL), 200); /* nothing moves */
    expect_status(fixture_delete(f, "steward", of(second, "")), 204);
}

/* SQLite's driver, with a move of treatment@current just before its moves are read. */
static struct db_driver moving;
static bool moves_meanwhile;

static enum db_status run_moving(void *connection, const char *sql, const struct db_value *values,
                                 unsigned count, db_row_fn *each, void *context,
                                 struct db_fault *fault)
{
    char error[DB_ERROR_SIZE];
    struct db *other;
    if (moves_meanwhile && strstr(sql, "FROM policy_names") && strstr(sql, "ORDER BY revision")) {
        moves_meanwhile = false;
        cr_assert_eq(db_open(fixture_store(f), &other, error), DB_OK, "%s", error);
        move_often(other, "treatment@current", 2);
        db_close(other);
    }
    return db_driver_sqlite.run(connection, sql, values, count, each, context, fault);
}

Test(policy_names, the_last_move_is_what_the_name_names)
{
    service_close();
    moving = db_driver_sqlite;
    moving.run = run_moving;
    f = fixture_open_on(&moving);
    strcpy(first, domain_policy(f));
    strcpy(second, domain_policy(f));
    expect_status(give(first, "treatment@current", NULL), 201);
    moves_meanwhile = true;
    struct response *shown = fixture_get(f, "steward", "/v1/policy-names/treatment@current");
    cr_assert(!moves_meanwhile);
    cr_expect_eq(response_number(shown, "/revision"), 1);
    cr_expect_eq(json_array_size(response_at(shown, "/moves")), 1);
}

/* A policy of a new project of the steward. */
static const char *policy_of_project(const char **out_project)
{
    struct response *project = fixture_post(f, "steward", "/v1/projects", "{\"name\":\"p\"}");
    expect_status(project, 201);
    *out_project = response_text(project, "/id");
    struct response *made = fixture_post(
        f, "steward", "/v1/policies",
        domain_path("{\"name\":\"p\",\"project\":\"%s\",\"environment\":\"cartpole\",\"network\":{"
                    "\"activation\":\"relu\",\"layers\":[{\"weight\":[[1,2,3,4],[0,0,0,1]],"
                    "\"bias\":[0,1]}],"
                    "\"output\":\"softmax\"}}",
                    *out_project));
    expect_status(made, 201);
    return response_text(made, "/id");
}

Test(policy_names, a_name_of_two_own_projects_is_refused_with_the_ids)
{
    const char *project, *third = policy_of_project(&project);
    const char *path = "/v1/policy-names/treatment@current";
    expect_status(give(first, "treatment@current", NULL), 201);
    expect_status(give(third, "treatment@current", NULL), 201);
    struct response *refused = fixture_get(f, "steward", of("treatment@current", ""));
    expect_problem(refused, "conflict");
    cr_expect_eq(json_array_size(response_at(refused, "/policies")), 2);
    cr_expect_not_null(strstr(refused->body, first), "%s", refused->body);
    cr_expect_not_null(strstr(refused->body, third), "%s", refused->body);
    struct response *teacher =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher("treatment@current", 8, 2));
    expect_problem(teacher, "conflict");
    refused = fixture_get(f, "steward", path);
    expect_problem(refused, "conflict");
    cr_expect_eq(json_array_size(response_at(refused, "/projects")), 2);
    struct response *one = fixture_get(f, "steward", domain_path("%s?project=%s", path, project));
    expect_status(one, 200);
    cr_expect_str_eq(response_text(one, "/policy"), third);
    cr_expect_str_eq(response_text(one, "/project"), project);
    expect_problem(fixture_get(f, "steward", domain_path("%s?project=prj_x", path)), "not-found");
}

/* A project that the caller only views has the name, too: what is wrong with the request is told.
 */
Test(policy_names, a_viewed_project_with_the_name_hides_no_fault)
{
    const char *other = fixture_new_token(f, "steward");
    const char *project, *viewed = policy_of_project(&project);
    const char *member =
        domain_path("/v1/projects/%s/members/%s", project, fixture_token_client(f, other));
    expect_status(fixture_put(f, "steward", member, "{\"role\":\"viewer\"}"), 201);
    expect_status(give(viewed, "treatment@current", NULL), 201);
    struct ask teacher = {.path = "/v1/teachers",
                          .token = other,
                          .key = "of-the-viewed",
                          .body = domain_teacher("treatment@current", 8, 2)};
    expect_problem(fixture_ask(f, &teacher), "forbidden");
    struct response *made =
        fixture_ask(f, &(struct ask){.path = "/v1/policies",
                                     .token = other,
                                     .key = "own",
                                     .body = "{\"name\":\"p\",\"environment\":\"acrobot\","
                                             "\"network\":{\"activation\":\"relu\",\"layers\":[{"
                                             "\"weight\":[[1,2,3,4,5,6],[0,0,0,0,0,1],"
                                             "[1,0,0,0,0,0]],\"bias\":[0,1,0]}],"
                                             "\"output\":\"softmax\"}}"});
    expect_status(made, 201);
    const char *own =
        domain_path("/v1/policies/%s/names/treatment@current", response_text(made, "/id"));
    expect_status(fixture_ask(f, &(struct ask){.method = "PUT", .path = own, .token = other}), 201);
    struct ask job = {.path = "/v1/jobs",
                      .token = other,
                      .key = "of-the-own",
                      .body = "{\"algorithm\":\"evaluate\",\"policy\":\"treatment@current\","
                              "\"evaluate\":{\"environment\":\"cartpole\"}}"};
    expect_invalid(fixture_ask(f, &job), "/evaluate/environment");
}

Test(policy_names, are_listed_in_pages_of_any_size)
{
    const char *project, *third = policy_of_project(&project), *token = "";
    static const char *const names[] = {"a@1", "a@1-b", "a@10", "a.b@1"};
    char seen[300] = "";
    for (size_t i = 0; i < 4; i++) {
        expect_status(give(first, names[i], NULL), 201);
        expect_status(give(third, names[i], NULL), 201);
    }
    for (unsigned pages = 0; token; pages++) {
        cr_assert_lt(pages, 9);
        struct response *page = fixture_get(
            f, "steward",
            domain_path("/v1/policy-names?page_size=1%s%s", *token ? "&page_token=" : "", token));
        expect_status(page, 200);
        cr_expect_eq(json_array_size(response_at(page, "/items")), 1);
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s:%s ",
                 response_text(page, "/items/0/name"),
                 strcmp(response_text(page, "/items/0/policy"), first) == 0 ? "1" : "3");
        token = json_string_value(response_at(page, "/next_page_token"));
    }
    for (size_t i = 0; i < 4; i++) {
        char own[40], other[40];
        snprintf(own, sizeof own, "%s:1 ", names[i]);
        snprintf(other, sizeof other, "%s:3 ", names[i]);
        cr_expect(strstr(seen, own) && strstr(seen, other), "%s", seen);
    }
}

/* ---- readers */

static struct response *grant(const char *policy, const char *body)
{
    return fixture_post(f, "steward", of(policy, "/grants"), body);
}

static void expect_reads(const char *token, bool reads)
{
    static const char *const views[] = {"", "/weights?format=json"};
    for (size_t i = 0; i < 2; i++) {
        struct response *told = get_as(token, of(first, views[i]));
        cr_expect_eq(told->status, reads ? 200 : 404, "%s: %s", views[i], told->body);
        struct response *named = get_as(token, of("treatment@current", views[i]));
        cr_expect_eq(named->status, reads ? 200 : 404, "%s: %s", views[i], named->body);
    }
    struct ask ask = {
        .path = of(first, "/actions"), .token = token, .body = "{\"states\":[[0,0,0,0]]}"};
    cr_expect_eq(fixture_ask(f, &ask)->status, reads ? 200 : 404);
    cr_expect_eq(json_array_size(response_at(get_as(token, "/v1/policies"), "/items")),
                 reads ? 1 : 0);
}

Test(policy_names, a_released_policy_is_read_by_whom_it_is_granted)
{
    const char *student = fixture_token(f, "student"), *other = fixture_new_token(f, "student");
    const char *to_student = domain_path("{\"client\":\"%s\"}", fixture_client(f, "student"));
    expect_status(give(first, "treatment@current", NULL), 201);
    expect_reads(student, false);
    struct response *made = grant(first, to_student);
    expect_status(made, 201);
    expect_problem(grant(first, to_student), "conflict");
    expect_reads(student, true);
    expect_reads(other, false);
    struct response *shown = get_as(student, of(first, ""));
    cr_expect(json_is_null(response_at(shown, "/dataset")), "%s", shown->body);
    cr_expect(json_is_null(response_at(shown, "/job")));
    cr_expect(json_is_false(response_at(shown, "/owned")));
    cr_expect_str_eq(response_text(shown, "/visibility"), "granted");
    expect_problem(fixture_delete(f, "student", of(first, "")), "forbidden");
    expect_status(fixture_delete(f, "steward", response_header(made, "Location")), 204);
    expect_reads(student, false);
}

/* One bit of a stored grant or ending differs: nothing is shown by it, alone or in a list. */
Test(policy_names, a_damaged_grant_or_ending_shows_no_policy)
{
    static const char *const damage[] = {
        "UPDATE policy_grants SET client = 'public'",
        "UPDATE policy_grants SET granted_ms = granted_ms | 1",
        "DELETE FROM policy_grants",
        "DROP TRIGGER endings_fixed",
        "UPDATE endings SET deleted_ms = 0",
    };
    const char *student = fixture_token(f, "student"), *other = fixture_new_token(f, "student");
    expect_status(grant(first, domain_path("{\"client\":\"%s\"}", fixture_client(f, "student"))),
                  201);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(db_run(fixture_db(f), damage[i], NULL, 0, NULL, NULL), DB_OK);
        expect_problem(get_as(i == 0 ? other : student, of(first, "")), "internal-error");
        expect_problem(get_as(i == 0 ? other : student, "/v1/policies"), "internal-error");
    }
    cr_assert_eq(db_run(fixture_db(f), damage[2], NULL, 0, NULL, NULL), DB_OK);
    expect_status(fixture_delete(f, "steward", of(first, "")), 204);
    expect_status(fixture_get(f, "steward", "/v1/policies"), 200);
    for (size_t i = 3; i < 5; i++)
        cr_assert_eq(db_run(fixture_db(f), damage[i], NULL, 0, NULL, NULL), DB_OK);
    expect_problem(fixture_get(f, "steward", of(first, "")), "internal-error");
    expect_problem(fixture_get(f, "steward", "/v1/policies"), "internal-error");
}

Test(policy_names, a_public_policy_is_read_by_every_token_and_by_none_without)
{
    expect_status(give(first, "treatment@current", NULL), 201);
    expect_status(grant(first, "{\"public\":true}"), 201);
    static const char *const roles[] = {"student", "contributor", "agent", "auditor", "admin"};
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        expect_reads(fixture_token(f, roles[i]), true);
    expect_problem(get_as(NULL, of(first, "")), "unauthorized");
    struct response *grants = fixture_get(f, "steward", of(first, "/grants"));
    cr_expect_str_eq(response_text(grants, "/items/0/client"), "public");
    cr_expect_str_eq(response_text(fixture_get(f, "steward", of(first, "")), "/visibility"),
                     "public");
    expect_status(fixture_delete(f, "steward", of(first, "/grants/public")), 204);
    expect_reads(fixture_token(f, "student"), false);
}

Test(policy_names, what_is_not_released_is_granted_to_nobody)
{
    struct response *job = domain_run(f, domain_unprotected_job(domain_sealed(f, "private", 4), 4));
    expect_problem(grant(response_text(job, "/policy"), "{\"public\":true}"), "not-released");
    expect_problem(grant(second, "{\"public\":true}"), "not-released"); /* imported */
    expect_invalid(grant(first, "{\"client\":\"cli_nobody\"}"), "/client");
    expect_invalid(grant(first, "{}"), "");
}

/* ---- names of others */

/* How many calls of the database a stranger's question for NAME takes. */
static unsigned calls_for(const char *token, const char *name)
{
    database_calls_after = 0;
    expect_problem(get_as(token, of(name, "")), "not-found");
    return database_calls_after;
}

Test(policy_names, what_is_anothers_takes_the_way_of_what_is_missing)
{
    const char *stranger = fixture_new_token(f, "student");
    expect_status(give(first, "treatment@1", NULL), 201);
    unsigned foreign = calls_for(stranger, "treatment@1");
    cr_expect_gt(foreign, 0);
    cr_expect_eq(foreign, calls_for(stranger, "treatment@7"));
}
