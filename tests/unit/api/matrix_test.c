/* Every endpoint of the table as every role, for what is its own, what it was invited to, what is
 * foreign and what does not exist. What is foreign is told from what is missing neither by status
 * nor by body nor by the number of calls of the database. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/match.h"
#include "tests/checked_test.h"
#include "tests/unit/api/failing_database.h"
#include "tests/unit/api/service.h"

enum kind {
    CLIENT,
    PROJECT,
    ACCOUNT,
    CERTIFICATE,
    DATASET,
    JOB,
    POLICY,
    TEACHER,
    REQUEST,
    CHANGE,
    RELEASE,
    AGGREGATION,
    ENVIRONMENT,
    PROBLEM,
    KINDS
};

/* Who finds what the paths below COLLECTION name: stewards of its project always, INVITED as other
 * members, ALL without being asked. A path with an {id} that no row begins fails the test. */
static const struct rule {
    const char *collection;
    enum kind kind;
    const char *missing;
    unsigned invited, all;
} rules[] = {
    {"/v1/clients/", CLIENT, "cli_0", 0, ROLE_ADMIN},
    {"/v1/projects/", PROJECT, "prj_0", ROLE_CONTRIBUTOR | ROLE_STUDENT | ROLE_AGENT,
     ROLE_ADMIN | ROLE_AUDITOR},
    {"/v1/ledger/accounts/", ACCOUNT, "acc_0", 0, ROLE_AUDITOR},
    {"/v1/certificates/", CERTIFICATE, "crt_0", ROLE_CONTRIBUTOR | ROLE_STUDENT | ROLE_AGENT,
     ROLE_AUDITOR},
    {"/v1/datasets/", DATASET, "ds_0", ROLE_CONTRIBUTOR, ROLE_AUDITOR},
    {"/v1/jobs/", JOB, "job_0", 0, 0},
    {"/v1/policies/{id}/certificate", POLICY, "pol_0", 0, ROLE_AUDITOR},
    {"/v1/policies/", POLICY, "pol_0", 0, 0},
    {"/v1/teachers/", TEACHER, "tch_0", ROLE_STUDENT, ROLE_AUDITOR},
    {"/v2/models/", TEACHER, "tch_0", ROLE_STUDENT, 0},
    {"/v1/budget-requests/", REQUEST, "brq_0", ROLE_STUDENT, 0}, /* the student who asked */
    {"/v1/limit-changes/", CHANGE, "lch_0", 0, ROLE_AUDITOR},
    {"/v1/q-releases/", RELEASE, "qre_0", ROLE_STUDENT, ROLE_AUDITOR},
    {"/v1/aggregations/", AGGREGATION, "agg_0", ROLE_AGENT, 0},
    {"/v1/environments/", ENVIRONMENT, "env_0", 0, 0},
    {"/problems/", PROBLEM, "nothing", 0, 0},
};

/* Bodies, where {} would be refused before anything is looked for. */
static const char *const bodies[][2] = {
    {":transfer", "{\"to\":\"cli_0\",\"reason\":\"r\"}"},
    {"/trajectories", "{\"expert\":\"late\",\"states\":[[0,0,0,0],[0,0,0,0]],\"actions\":[1],"
                      "\"rewards\":[1],\"terminated\":true,\"truncated\":false}\n"},
    {"/members/{client}", "{\"role\":\"viewer\"}"},
    {"/infer", "{\"inputs\":[{\"name\":\"state\",\"datatype\":\"FP32\",\"shape\":[1,4],"
               "\"data\":[0,0,0,0]}]}"},
    {"/queries", "{\"state\":[0,0,0,0]}"},
    {"queries:estimate", "{\"count\":10}"},
};

enum standing { OWN, INVITED, FOREIGN, STANDINGS };

static const char *const role_names[] = {"admin", "steward", "contributor", "student",
                                         "agent", "auditor", "monitor"};
#define ROLES (sizeof role_names / sizeof *role_names)

static char tokens[ROLES][STANDINGS][160]; /* "": there is none */
static char ids[KINDS][40];                /* in a project for invited clients only */
static char student[40];
static bool pool_full; /* all questions take their turn in the batch */

static void keep_text(char *out, size_t size, const char *text)
{
    cr_assert(text[0] != '\0' && strlen(text) < size, "%s", text);
    snprintf(out, size, "%s", text);
}

static const char *made(struct response *r, enum kind kind)
{
    cr_assert(r->status == 201 || r->status == 202, "%d %s", r->status, r->body);
    keep_text(ids[kind], sizeof ids[kind], response_text(r, "/id"));
    return ids[kind];
}

static void open_clients(void)
{
    static const char *const members[ROLES] = {
        [1] = "steward", [2] = "contributor", [3] = "student", [4] = "student"};
    keep_text(tokens[1][OWN], 160, fixture_token(f, "steward"));
    for (size_t r = 0; r < ROLES; r++) {
        (void)fixture_token(f, role_names[r]);
        keep_text(tokens[r][FOREIGN], 160, fixture_new_token(f, role_names[r]));
        if (!members[r])
            continue;
        keep_text(tokens[r][INVITED], 160, fixture_new_token(f, role_names[r]));
        expect_status(fixture_put(f, "steward",
                                  domain_path("/v1/projects/%s/members/%s", ids[PROJECT],
                                              fixture_token_client(f, tokens[r][INVITED])),
                                  domain_path("{\"role\":\"%s\"}", members[r])),
                      201);
    }
    keep_text(student, sizeof student, fixture_token_client(f, tokens[3][INVITED]));
    keep_text(ids[CLIENT], sizeof ids[CLIENT], fixture_client(f, "auditor"));
    keep_text(ids[PROBLEM], sizeof ids[PROBLEM], "validation");
}

static const char *in_project(const char *members)
{
    return domain_path("{%s,\"project\":\"%s\"}", members, ids[PROJECT]);
}

static void open_things(void)
{
    made(fixture_post(f, "steward", "/v1/datasets",
                      in_project("\"name\":\"d\",\"environment\":\"cartpole\","
                                 "\"budget\":{\"epsilon\":50,\"delta\":1e-3}")),
         DATASET);
    domain_fill(f, ids[DATASET], 12);
    expect_status(
        fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", ids[DATASET]), NULL), 200);
    struct response *job =
        fixture_post(f, "steward", "/v1/jobs", domain_private_job(ids[DATASET], 1, 8));
    made(job, JOB);
    (void)domain_turn(f, "w", NULL, NULL);
    const char *policy = response_text(domain_job(f, job), "/policy");
    keep_text(
        ids[CERTIFICATE], 40,
        response_text(fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", policy)),
                      "/id"));
    made(fixture_post(f, "steward", "/v1/policies",
                      in_project("\"name\":\"p\",\"environment\":\"cartpole\",\"network\":"
                                 "{\"activation\":\"relu\",\"layers\":[{\"weight\":"
                                 "[[0.1,0.2,0.3,0.4],[-0.1,0.2,-0.3,0.4]],\"bias\":[0,0.5]}],"
                                 "\"output\":\"softmax\"}")),
         POLICY);
    made(fixture_post(f, "steward", "/v1/teachers", domain_teacher(ids[POLICY], 100, 1)), TEACHER);
    keep_text(ids[POLICY], 40, policy);
    made(fixture_post(f, "steward", "/v1/aggregations",
                      in_project("\"environment\":\"cartpole\",\"epsilon\":4")),
         AGGREGATION);
    job = fixture_post(
        f, "steward", "/v1/jobs",
        domain_path("{\"algorithm\":\"gp_q_learning\",\"mechanism\":\"gaussian_process\","
                    "\"dataset\":\"%s\",\"privacy\":{\"epsilon\":4,\"delta\":1e-5,\"force\":true},"
                    "\"parameters\":{\"steps\":12,\"batch_size\":4}}",
                    ids[DATASET]));
    expect_status(job, 202);
    (void)domain_turn(f, "w", NULL, NULL);
    keep_text(ids[RELEASE], 40, response_text(domain_job(f, job), "/q_release"));
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/datasets/%s", ids[DATASET]));
    keep_text(ids[ACCOUNT], 40, response_text(seen, "/account"));
}

/* A limit that a second steward would have to approve. */
static void propose_limit(void)
{
    struct response *data =
        fixture_post(f, "steward", "/v1/datasets",
                     in_project("\"name\":\"l\",\"environment\":\"cartpole\",\"approvals\":2,"
                                "\"budget\":{\"epsilon\":1,\"delta\":1e-5}"));
    const char *account = domain_path("/v1/ledger/accounts/%s", response_text(data, "/account"));
    const struct ask ask = {.method = "PATCH",
                            .path = account,
                            .token = fixture_token(f, "steward"),
                            .body = "{\"limit\":{\"epsilon\":2,\"delta\":1e-5},\"reason\":\"r\"}",
                            .headers = {{"If-Match", "*"}}};
    made(fixture_ask(f, &ask), CHANGE);
}

static void open_service(void)
{
    f = fixture_open_failing();
    made(fixture_post(f, "steward", "/v1/projects", "{\"name\":\"p\"}"), PROJECT);
    open_clients();
    open_things();
    propose_limit();
    keep_text(ids[ENVIRONMENT], 40, domain_environment(f, ids[PROJECT]));
    struct response *asked = fixture_ask(
        f, &(struct ask){.path = "/v1/budget-requests",
                         .token = tokens[3][INVITED],
                         .key = "request",
                         .body = domain_path("{\"teacher\":\"%s\",\"epsilon\":1e3,\"delta\":1e-4,"
                                             "\"reason\":\"r\"}",
                                             ids[TEACHER])});
    made(asked, REQUEST);
}

TestSuite(matrix, .init = open_service, .fini = service_close);

static const struct rule *rule_of(const struct route *route)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strncmp(route->pattern, rules[i].collection, strlen(rules[i].collection)) == 0)
            return &rules[i];
    cr_assert_fail("%s: give its collection a row in rules[]", route->pattern);
    return NULL;
}

/* What stands for the NAME ("{client}...") of a part of a path that is not {id}. */
static const char *part_of(const char *name)
{
    static const char *const parts[][2] = {
        {"{expert}", "e0"},
        {"{token}", "1"},
        {"{name}", "p@current"},
        {"{level}", "0"},
        {"{tile}", "000.p/1"},
        {"{sha256}", "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(name, parts[i][0], strlen(parts[i][0])) == 0)
            return parts[i][1];
    cr_assert(strncmp(name, "{client}", 8) == 0, "%s: say in part_of() what stands for it", name);
    return student;
}

/* The pattern with ID for {id}. */
static const char *path_of(const struct route *route, const char *id)
{
    char path[256] = "";
    for (const char *at = route->pattern; *at != '\0'; at++) {
        size_t size = strlen(path);
        const char *name = id;
        if (*at == '{' && strncmp(at, "{id}", 4) != 0 && strncmp(at, "{slug}", 6) != 0)
            name = part_of(at);
        if (*at == '{')
            snprintf(path + size, sizeof path - size, "%s", name);
        else
            snprintf(path + size, sizeof path - size, "%c", *at);
        at = *at == '{' ? strchr(at, '}') : at;
    }
    return domain_path("%s", path);
}

static const char *body_of(const struct route *route)
{
    if (strcmp(route->method, "GET") == 0 || strcmp(route->method, "DELETE") == 0)
        return NULL;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        size_t size = strlen(bodies[i][0]), length = strlen(route->pattern);
        if (length >= size && strcmp(route->pattern + length - size, bodies[i][0]) == 0)
            return bodies[i][1];
    }
    return route->body == BODY_NONE ? NULL : "{}";
}

/* Asks as TOKEN (NULL: nobody); *OUT_CALLS: those of the database. */
static struct response *ask(const struct route *route, const char *path, const char *token,
                            unsigned *out_calls)
{
    static unsigned keys;
    const char *body = body_of(route);
    struct ask one = {.method = route->method,
                      .path = path,
                      .token = token,
                      .body = body,
                      .pool_full = pool_full,
                      .content_type =
                          body && route->body == BODY_STREAM ? "application/x-ndjson" : NULL};
    if (strcmp(route->method, "POST") == 0)
        one.key = domain_path("018f0000-0000-7000-8000-%012u", ++keys);
    database_calls_after = 0;
    struct response *r = fixture_ask(f, &one);
    *out_calls = database_calls_after;
    return r;
}

/* BODY without the two ids. */
static const char *without_ids(const char *body, const char *id, const char *other)
{
    char text[4000] = "";
    for (const char *at = body; *at != '\0';) {
        const char *skip = NULL;
        if (strncmp(at, id, strlen(id)) == 0)
            skip = id;
        else if (strncmp(at, other, strlen(other)) == 0)
            skip = other;
        size_t size = strlen(text);
        if (!skip)
            snprintf(text + size, sizeof text - size, "%c", *at);
        at += skip ? strlen(skip) : 1;
    }
    return domain_path("%s", text);
}

static bool is_same(const struct response *a, const struct response *b, const struct rule *rule)
{
    return a->status == b->status &&
           strcmp(without_ids(a->body, ids[rule->kind], rule->missing),
                  without_ids(b->body, ids[rule->kind], rule->missing)) == 0;
}

/* Checks what a caller who may call ROUTE gets. */
static void expect_admitted(const struct route *route, const struct rule *rule, size_t role,
                            enum standing standing)
{
    const char *token = tokens[role][standing];
    unsigned calls, least = 0;
    unsigned bit = role_find(role_names[role]);
    bool steward = strcmp(role_names[role], "steward") == 0;
    bool member = standing != FOREIGN && steward && rule->kind != CLIENT; /* no project has it */
    bool finds = (rule->all & bit) || member || (standing == INVITED && (rule->invited & bit) != 0);
    const char *where = domain_path("%s %s as %s, %d", route->method, route->pattern,
                                    role_names[role], (int)standing);
    struct response *missing = ask(route, path_of(route, rule->missing), token, &least);
    struct response *there = ask(route, path_of(route, ids[rule->kind]), token, &calls);
    cr_expect_neq(missing->status / 100, 5, "%s: %s", where, missing->body);
    cr_expect_neq(there->status / 100, 5, "%s: %s", where, there->body);
    if (finds) {
        cr_expect(!is_same(missing, there, rule), "%s: %d %s", where, there->status, there->body);
        return;
    }
    cr_expect(is_same(missing, there, rule), "%s: %d %s\n%d %s", where, there->status, there->body,
              missing->status, missing->body);
    cr_expect_eq(calls, least, "%s: %u calls of the database, and %u for what is missing", where,
                 calls, least);
}

static void expect_route(const struct route *route, enum standing standing)
{
    const struct rule *rule = strstr(route->pattern, "{id}") ? rule_of(route) : NULL;
    unsigned calls;
    const char *path = rule ? path_of(route, ids[rule->kind]) : path_of(route, "validation");
    struct response *r = ask(route, path, NULL, &calls);
    if (route->roles != ROLE_NONE)
        expect_problem(r, "unauthorized");
    for (size_t role = 0; role < ROLES; role++) {
        if (tokens[role][standing][0] == '\0' || route->roles == ROLE_NONE)
            continue;
        if (!(route->roles & role_find(role_names[role])))
            expect_problem(ask(route, path, tokens[role][standing], &calls), "forbidden");
        else if (rule)
            expect_admitted(route, rule, role, standing);
    }
    fixture_forget(f);
}

/* Foreign ones first: what is there changes as members ask. */
CHECKED_TEST(matrix, what_is_foreign_is_told_from_what_is_missing_by_nothing)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(routes[i].method, "DELETE") != 0 || !strstr(routes[i].pattern, "/clients/"))
            expect_route(&routes[i], FOREIGN);
}

/* The same while the teacher is on the shelf, because a member has asked it. */
CHECKED_TEST(matrix, a_foreign_teacher_on_the_shelf_is_told_from_a_missing_one_by_nothing)
{
    unsigned count, calls;
    const struct route *routes = route_all(&count);
    pool_full = true; /* a light question at hand is in the batch, one that is not is in the pool */
    for (unsigned i = 0; i < count; i++) {
        const struct rule *rule = strstr(routes[i].pattern, "{id}") ? rule_of(&routes[i]) : NULL;
        if (!rule || rule->kind != TEACHER)
            continue;
        if (strstr(routes[i].pattern, "/queries"))
            (void)ask(&routes[i], path_of(&routes[i], ids[TEACHER]), tokens[3][INVITED], &calls);
        expect_route(&routes[i], FOREIGN);
    }
}

/* True when nothing of {id} may be left afterwards. */
static bool deletes_whole(const struct route *route)
{
    return strcmp(route->method, "DELETE") == 0 &&
           strcmp(strrchr(route->pattern, '/'), "/{id}") == 0;
}

static void expect_members(bool deletes, enum standing standing)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++)
        if (deletes_whole(&routes[i]) == deletes)
            expect_route(&routes[i], standing);
}

CHECKED_TEST(matrix, members_find_what_they_were_invited_to)
{
    expect_members(false, INVITED);
}

CHECKED_TEST(matrix, an_owner_finds_all_of_its_own)
{
    expect_members(false, OWN);
    expect_members(true, OWN);
}
