/* Projects: members and roles, who finds what, and handing one over. */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/checked_test.h"
#include "tests/unit/api/service.h"

static const char *other; /* the token of a second steward */

static void open_service(void)
{
    f = fixture_open();
    (void)fixture_token(f, "steward");
    other = fixture_new_token(f, "steward");
}

TestSuite(projects, .init = open_service, .fini = service_close);

/* A request with TOKEN, and a key where it has a body. */
static struct response *ask(const char *token, const char *method, const char *path,
                            const char *body)
{
    const char *key = body ? domain_path("k%u", fixture_next_key(f)) : NULL;
    return fixture_ask(
        f, &(struct ask){.method = method, .path = path, .token = token, .body = body, .key = key});
}

static const char *other_id(void)
{
    return fixture_token_client(f, other);
}

/* A project of the steward; its id. */
static const char *project(void)
{
    struct response *made = fixture_post(f, "steward", "/v1/projects", "{\"name\":\"icu\"}");
    expect_status(made, 201);
    cr_expect_str_eq(response_text(made, "/role"), "owner");
    return response_text(made, "/id");
}

static const char *dataset_in(const char *id)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/datasets",
                     domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",\"project\":\"%s\","
                                 "\"budget\":{\"epsilon\":10,\"delta\":1e-5}}",
                                 id));
    expect_status(made, 201);
    cr_expect_str_eq(response_text(made, "/project/id"), id);
    return response_text(made, "/id");
}

/* A teacher with a default budget in project ID. */
static const char *teacher_in(const char *id)
{
    struct response *policy = fixture_post(
        f, "steward", "/v1/policies",
        domain_path("{\"name\":\"p\",\"environment\":\"cartpole\",\"project\":\"%s\",\"network\":"
                    "{\"activation\":\"relu\",\"layers\":[{\"weight\":[[0.1,0.2,0.3,0.4],"
                    "[-0.1,0.2,-0.3,0.4]],\"bias\":[0,0.5]}],\"output\":\"softmax\"}}",
                    id));
    expect_status(policy, 201);
    struct response *made = fixture_post(f, "steward", "/v1/teachers",
                                         domain_teacher(response_text(policy, "/id"), 100, 1));
    expect_status(made, 201);
    cr_expect_str_eq(response_text(made, "/project/id"), id);
    return response_text(made, "/id");
}

static struct response *put_member(const char *id, const char *client, const char *role)
{
    return fixture_put(f, "steward", domain_path("/v1/projects/%s/members/%s", id, client),
                       domain_path("{\"role\":\"%s\"}", role));
}

static void expect_status_of(const char *token, const char *path, int status)
{
    expect_status(ask(token, "GET", path, NULL), status);
}

/* Anyone may be made a member without being asked. */
CHECKED_TEST(projects, a_steward_leaves_by_itself_and_removes_nobody_else)
{
    const char *id = project();
    const char *mine = domain_path("/v1/projects/%s/members/%s", id, other_id());
    const char *owner = domain_path("/v1/projects/%s/members/%s", id, fixture_client(f, "steward"));
    expect_status(put_member(id, other_id(), "viewer"), 201);
    expect_problem(ask(other, "DELETE", owner, NULL), "forbidden");
    expect_status(ask(other, "DELETE", mine, NULL), 204);
    expect_problem(ask(other, "GET", domain_path("/v1/projects/%s", id), NULL), "not-found");
    expect_problem(ask(other, "DELETE", mine, NULL), "not-found");
    expect_problem(fixture_delete(f, "steward", owner), "conflict"); /* the last owner */
}

CHECKED_TEST(projects, a_steward_has_one_of_its_own_and_it_is_the_default)
{
    struct response *list = fixture_get(f, "steward", "/v1/projects");
    expect_status(list, 200);
    cr_expect_str_eq(response_text(list, "/items/0/id"), fixture_client(f, "steward"));
    cr_expect_str_eq(response_text(list, "/items/0/role"), "owner");
    const char *dataset = domain_dataset(f, "private");
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/datasets/%s", dataset));
    cr_expect_str_eq(response_text(seen, "/project/id"), fixture_client(f, "steward"));
    expect_status_of(other, domain_path("/v1/datasets/%s", dataset), 404);
}

CHECKED_TEST(projects, what_belongs_to_one_is_seen_by_its_stewards)
{
    const char *id = project(), *dataset = dataset_in(id);
    const char *path = domain_path("/v1/datasets/%s", dataset);
    expect_status_of(other, path, 404);
    expect_status(put_member(id, other_id(), "steward"), 201);
    expect_status_of(other, path, 200);
    struct response *list = ask(other, "GET", "/v1/datasets", NULL);
    cr_expect_str_eq(response_text(list, "/items/0/id"), dataset);
    cr_expect_str_eq(response_text(list, "/items/0/project/name"), "icu");
    list = ask(other, "GET", "/v1/ledger/accounts", NULL);
    cr_expect_str_eq(response_text(list, "/items/0/resource"), dataset);
    list = ask(other, "GET", domain_path("/v1/datasets?project=%s", other_id()), NULL);
    cr_expect_eq(json_array_size(response_at(list, "/items")), 0);
    list = ask(other, "GET", domain_path("/v1/datasets?project=%s", id), NULL);
    cr_expect_eq(json_array_size(response_at(list, "/items")), 1);
    expect_status(
        fixture_delete(f, "steward", domain_path("/v1/projects/%s/members/%s", id, other_id())),
        204);
    expect_status_of(other, path, 404);
    list = ask(other, "GET", domain_path("/v1/datasets?project=%s", id), NULL);
    cr_expect_eq(json_array_size(response_at(list, "/items")), 0);
}

CHECKED_TEST(projects, a_viewer_sees_and_changes_nothing)
{
    const char *id = project(), *dataset = dataset_in(id);
    expect_status(put_member(id, other_id(), "viewer"), 201);
    expect_status_of(other, domain_path("/v1/datasets/%s", dataset), 200);
    expect_status_of(other, domain_path("/v1/datasets/%s/budget", dataset), 200);
    expect_problem(ask(other, "DELETE", domain_path("/v1/datasets/%s", dataset), NULL),
                   "forbidden");
    expect_problem(ask(other, "POST", domain_path("/v1/datasets/%s:compose", dataset), "{}"),
                   "forbidden");
    domain_fill(f, dataset, 4);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", dataset), NULL),
                  200);
    expect_problem(ask(other, "POST", "/v1/jobs", domain_private_job(dataset, 1, 8)), "forbidden");
    expect_problem(ask(other, "PATCH", domain_path("/v1/projects/%s", id), "{\"name\":\"x\"}"),
                   "forbidden");
    expect_status_of(other, domain_path("/v1/datasets/%s", dataset), 200);
}

CHECKED_TEST(projects, only_invited_contributors_find_a_dataset)
{
    const char *id = project(), *dataset = dataset_in(id);
    const char *path = domain_path("/v1/datasets/%s", dataset);
    const char *client = fixture_client(f, "contributor");
    expect_status(fixture_get(f, "contributor", path), 404);
    char *lines = domain_lines(1, 12);
    expect_status(domain_upload(f, "contributor", dataset, lines, 0, NULL), 404);
    struct response *list = fixture_get(f, "contributor", "/v1/datasets");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 0);
    expect_status(put_member(id, client, "contributor"), 201);
    expect_status(fixture_get(f, "contributor", path), 200);
    expect_status(domain_upload(f, "contributor", dataset, lines, 0, NULL), 201);
    list = fixture_get(f, "contributor", "/v1/datasets");
    cr_expect_str_eq(response_text(list, "/items/0/project/id"), id);
    free(lines);
}

CHECKED_TEST(projects, only_invited_students_find_a_teacher)
{
    const char *id = project(), *teacher = teacher_in(id);
    const char *path = domain_path("/v1/teachers/%s", teacher);
    const char *query = domain_path("/v1/teachers/%s/queries", teacher);
    const char *state = "{\"state\":[0.01,-0.02,0.03,0.04]}";
    const char *client = fixture_client(f, "student");
    expect_status(fixture_get(f, "student", path), 404);
    expect_status(fixture_post(f, "student", query, state), 404);
    expect_status(put_member(id, client, "student"), 201);
    expect_status(fixture_get(f, "student", path), 200);
    expect_status(fixture_post(f, "student", query, state), 200);
    /* What was granted stays a grant. */
    expect_status(
        fixture_delete(f, "steward", domain_path("/v1/projects/%s/members/%s", id, client)), 204);
    expect_status(fixture_post(f, "student", query, state), 200);
    /* An open project shows it to all. */
    const char *second = fixture_new_token(f, "student");
    expect_status_of(second, path, 404);
    expect_status(ask(fixture_token(f, "steward"), "PATCH", domain_path("/v1/projects/%s", id),
                      "{\"invited_only\":false}"),
                  200);
    expect_status_of(second, path, 200);
}

CHECKED_TEST(projects, a_role_fits_the_client_and_one_owner_stays)
{
    const char *id = project(), *me = fixture_client(f, "steward");
    expect_invalid(put_member(id, fixture_client(f, "student"), "steward"), "/role");
    expect_invalid(put_member(id, fixture_client(f, "contributor"), "student"), "/role");
    expect_invalid(put_member(id, other_id(), "student"), "/role");
    expect_problem(put_member(id, fixture_client(f, "admin"), "viewer"), "conflict");
    expect_problem(put_member(id, "cli_nobody", "viewer"), "not-found");
    expect_problem(put_member(id, me, "viewer"), "conflict");
    const char *own = domain_path("/v1/projects/%s/members/%s", id, me);
    expect_problem(fixture_delete(f, "steward", own), "conflict");
    expect_status(put_member(id, other_id(), "owner"), 201);
    expect_status(fixture_delete(f, "steward", own), 204);
    expect_problem(put_member(id, me, "owner"), "not-found");
    expect_problem(ask(fixture_token(f, "steward"), "PATCH", domain_path("/v1/projects/%s", me),
                       "{\"invited_only\":true}"),
                   "conflict");
}

CHECKED_TEST(projects, an_admin_hands_one_over_and_the_ledger_says_so)
{
    const char *dataset = domain_sealed(f, "private", 4);
    struct response *job =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(dataset, 1, 8));
    expect_status(job, 202);
    const char *me = fixture_client(f, "steward");
    const char *path = domain_path("/v1/datasets/%s", dataset);
    const char *account = response_text(fixture_get(f, "steward", path), "/account");
    const char *body = domain_path("{\"to\":\"%s\",\"reason\":\"her token is lost\"}", other_id());
    const char *transfer = domain_path("/v1/projects/%s:transfer", me);
    expect_problem(ask(other, "POST", transfer, body), "not-found");
    expect_status(fixture_get(f, "admin", path), 403);
    expect_invalid(
        fixture_post(f, "admin", transfer,
                     domain_path("{\"to\":\"%s\",\"reason\":\"r\"}", fixture_client(f, "student"))),
        "/to");
    struct response *done = fixture_post(f, "admin", transfer, body);
    expect_status(done, 200);
    cr_expect_null(strstr(done->body, dataset));
    /* The old steward has lost it, and the new one goes on. */
    expect_status(fixture_get(f, "steward", path), 404);
    expect_status(fixture_get(f, "steward", domain_path("/v1/ledger/accounts/%s", account)), 404);
    expect_status_of(other, path, 200);
    struct response *entries =
        ask(other, "GET", domain_path("/v1/ledger/accounts/%s/entries", account), NULL);
    cr_expect_str_eq(response_text(entries, "/items/2/kind"), "handover");
    cr_expect_str_eq(response_text(entries, "/items/2/reason"), "her token is lost");
    cr_expect_str_eq(response_text(entries, "/items/2/client"), fixture_client(f, "admin"));
    cr_expect_str_eq(response_text(entries, "/items/2/event/to"), other_id());
    cr_expect_str_eq(response_text(entries, "/items/2/event/from/0"), me);
    cr_expect_eq(response_number(entries, "/items/2/units/spent"), 0);
    /* The job goes on and pays. */
    (void)domain_turn(f, "w", NULL, NULL);
    struct response *ended =
        ask(other, "GET", domain_path("/v1/jobs/%s", response_text(job, "/id")), NULL);
    cr_expect_str_eq(response_text(ended, "/state"), "succeeded");
    expect_status_of(other, domain_path("/v1/policies/%s", response_text(ended, "/policy")), 200);
    /* Its own project is gone, so the old steward must name one. */
    expect_problem(fixture_post(f, "steward", "/v1/datasets",
                                "{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":"
                                "{\"epsilon\":1,\"delta\":1e-5}}"),
                   "conflict");
    dataset_in(project());
}

/* Who asked for a job is who has spent, not the project that paid. */
CHECKED_TEST(projects, a_settlement_names_who_asked_for_the_job)
{
    const char *id = project(), *data = dataset_in(id);
    domain_fill(f, data, 4);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", data), NULL), 200);
    expect_status(put_member(id, other_id(), "steward"), 201);
    struct response *asked =
        ask(other, "POST", "/v1/jobs",
            domain_path(
                "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\",\"privacy\":{"
                "\"force\":true,\"epsilon\":4,\"delta\":1e-6},\"parameters\":{\"hidden\":[4],"
                "\"batch_size\":1,\"steps\":3}}",
                data));
    expect_status(asked, 202);
    cr_expect_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *dataset = fixture_get(f, "steward", domain_path("/v1/datasets/%s", data));
    struct response *entries = fixture_get(
        f, "steward",
        domain_path("/v1/ledger/accounts/%s/entries", response_text(dataset, "/account")));
    unsigned named = 0;
    for (size_t i = 0; i < json_array_size(response_at(entries, "/items")); i++) {
        json_t *entry = json_array_get(response_at(entries, "/items"), i);
        const char *kind = json_string_value(json_object_get(entry, "kind"));
        if (strcmp(kind, "settle") != 0)
            continue;
        named++;
        cr_expect_str_eq(json_string_value(json_object_get(entry, "client")), other_id());
    }
    cr_expect_eq(named, 1, "%s", entries->body);
}

/* Nobody is asked before, and nobody has to stay. */
CHECKED_TEST(projects, who_was_handed_a_project_hands_it_back)
{
    const char *id = project(), *dataset = dataset_in(id);
    const char *transfer = domain_path("/v1/projects/%s:transfer", id);
    const char *path = domain_path("/v1/datasets/%s", dataset);
    expect_status(fixture_post(f, "steward", transfer,
                               domain_path("{\"to\":\"%s\",\"reason\":\"take it\"}", other_id())),
                  200);
    expect_problem(fixture_get(f, "steward", path), "not-found");
    expect_status(
        ask(other, "POST", transfer,
            domain_path("{\"to\":\"%s\",\"reason\":\"no, thanks\"}", fixture_client(f, "steward"))),
        200);
    expect_status_of(other, path, 404);
    struct response *seen = fixture_get(f, "steward", path);
    const char *entries =
        domain_path("/v1/ledger/accounts/%s/entries", response_text(seen, "/account"));
    struct response *kept = fixture_get(f, "steward", entries);
    cr_expect_str_eq(response_text(kept, "/items/1/reason"), "take it");
    cr_expect_str_eq(response_text(kept, "/items/1/client"), fixture_client(f, "steward"));
    cr_expect_str_eq(response_text(kept, "/items/2/reason"), "no, thanks");
    cr_expect_str_eq(response_text(kept, "/items/2/client"), other_id());
}

/* Who has as many projects as one may is handed one of these, and no other. */
CHECKED_TEST(projects, a_member_is_handed_a_project_without_more_room)
{
    const char *mine = project(), *shared = project();
    const char *body = domain_path("{\"to\":\"%s\",\"reason\":\"r\"}", other_id());
    expect_status(put_member(shared, other_id(), "viewer"), 201);
    unsigned made = 0;
    while (ask(other, "POST", "/v1/projects", "{\"name\":\"p\"}")->status == 201)
        made++;
    cr_assert_gt(made, 100u);
    expect_problem(fixture_post(f, "steward", domain_path("/v1/projects/%s:transfer", mine), body),
                   "conflict");
    expect_status(fixture_post(f, "steward", domain_path("/v1/projects/%s:transfer", shared), body),
                  200);
}

CHECKED_TEST(projects, members_may_be_kept_at_a_handover)
{
    const char *id = project(), *me = fixture_client(f, "steward");
    fixture_advance(1);
    struct response *done = fixture_post(
        f, "steward", domain_path("/v1/projects/%s:transfer", id),
        domain_path("{\"to\":\"%s\",\"reason\":\"r\",\"keep_members\":true}", other_id()));
    expect_status(done, 200);
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/projects/%s", id));
    cr_expect_str_eq(response_text(seen, "/members/0/client"), me);
    cr_expect_str_eq(response_text(seen, "/members/1/client"), other_id());
    cr_expect_str_eq(response_text(seen, "/members/1/role"), "owner");
    cr_expect_neq(response_text(seen, "/members/1/added_by_name")[0], '\0');
}

CHECKED_TEST(projects, a_foreign_project_cannot_be_named)
{
    const char *id = project();
    struct response *foreign =
        ask(other, "POST", "/v1/aggregations",
            domain_path("{\"environment\":\"cartpole\",\"epsilon\":4,\"project\":\"%s\"}", id));
    struct response *missing =
        ask(other, "POST", "/v1/aggregations",
            "{\"environment\":\"cartpole\",\"epsilon\":4,\"project\":\"prj_nothing\"}");
    expect_invalid(foreign, "/project");
    expect_invalid(missing, "/project");
    expect_status_of(other, domain_path("/v1/projects/%s", id), 404);
}

/* Ids of the policies that TOKEN is shown of PROJECT. */
static const char *policies_of(const char *token, const char *project)
{
    struct response *list =
        ask(token, "GET", domain_path("/v1/policies?project=%s", project), NULL);
    expect_status(list, 200);
    const char *ids = "";
    size_t i;
    json_t *item;
    json_array_foreach(response_at(list, "/items"), i, item) ids =
        domain_path("%s%s ", ids, json_string_value(json_object_get(item, "id")));
    return ids;
}

/* A policy that everybody reads is in the list of its own project, for those who act for it. */
Test(projects, a_list_of_policies_of_one_has_those_of_no_other)
{
    static const char import[] =
        "{\"name\":\"p\",\"environment\":\"cartpole\",\"network\":{\"activation\":\"relu\","
        "\"layers\":[{\"weight\":[[1,2,3,4],[0,0,0,1]],\"bias\":[0,1]}],\"output\":\"softmax\"}}";
    struct response *job = domain_run(f, domain_plain_job(domain_sealed(f, "public", 4), 4));
    const char *open = response_text(job, "/policy"), *me = fixture_client(f, "steward");
    expect_status(fixture_post(f, "steward", domain_path("/v1/policies/%s/grants", open),
                               "{\"public\":true}"),
                  201);
    const char *theirs = response_text(ask(other, "POST", "/v1/policies", import), "/id");
    struct response *all = ask(other, "GET", "/v1/policies", NULL);
    cr_expect_eq(json_array_size(response_at(all, "/items")), 2);
    cr_expect_str_eq(policies_of(other, other_id()), domain_path("%s ", theirs));
    cr_expect_str_eq(policies_of(other, me), "");
    cr_expect_str_eq(policies_of(fixture_token(f, "steward"), me), domain_path("%s ", open));
    cr_expect_str_eq(policies_of(fixture_token(f, "steward"), project()), "");
    all = fixture_get(f, "student", "/v1/policies");
    cr_expect_eq(json_array_size(response_at(all, "/items")), 1);
    cr_expect_str_eq(policies_of(fixture_token(f, "student"), me), "");
}

/* The list of LISTED that the other steward gets behind the token of TEXT. */
static struct response *behind(const char *listed, const char *text)
{
    char token[160];
    sodium_bin2base64(token, sizeof token, (const unsigned char *)text, strlen(text),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return ask(other, "GET", domain_path("/v1/%s?page_token=%s", listed, token), NULL);
}

/* What another project calls its datasets is not told. */
Test(projects, a_name_is_taken_in_its_own_project_alone)
{
    static const char body[] = "{\"name\":\"d\",\"unique_name\":true,"
                               "\"environment\":\"cartpole\",\"sensitivity\":\"public\"}";
    expect_status(fixture_post(f, "steward", "/v1/datasets", body), 201);
    expect_status(ask(other, "POST", "/v1/datasets", body), 201);
    expect_problem(ask(other, "POST", "/v1/datasets", body), "conflict");
}

/* A token that names what the caller may not see is answered like one that names nothing. */
Test(projects, a_page_token_tells_nothing_of_what_others_have)
{
    const char *dataset = dataset_in(project());
    struct response *own = ask(other, "POST", "/v1/datasets",
                               "{\"name\":\"d\",\"environment\":\"cartpole\","
                               "\"sensitivity\":\"public\"}");
    expect_status(own, 201);
    struct response *made =
        ask(other, "POST", "/v1/jobs", "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\"}");
    expect_status(made, 202);
    struct response *foreign = fixture_post(f, "steward", "/v1/jobs",
                                            "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\"}");
    expect_status(foreign, 202);
    const char *const known[][2] = {{"datasets", dataset}, {"jobs", response_text(foreign, "/id")}};
    const char *const forms[] = {"%s", "0 %s", "9000000000000 %s"};
    for (size_t i = 0; i < 6; i++) {
        const char *list = known[i % 2][0];
        struct response *of_known = behind(list, domain_path(forms[i / 2], known[i % 2][1]));
        struct response *of_none = behind(list, domain_path(forms[i / 2], "nothing"));
        cr_expect_eq(of_known->status, i < 2 ? 422 : 200);
        cr_expect_eq(of_none->status, of_known->status);
        cr_expect(json_equal(response_at(of_known, "/items"), response_at(of_none, "/items")) ||
                      i < 2,
                  "%s\n%s", of_known->body, of_none->body);
    }
}
