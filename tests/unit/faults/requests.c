#include "tests/unit/faults/requests.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/match.h"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *made_id(struct response *r)
{
    cr_assert(r->status >= 200 && r->status < 300, "%d %s", r->status, r->body);
    return domain_path("%s", response_text(r, "/id"));
}

/* Runs whatever is queued. */
static void run_jobs(struct play *p)
{
    while (domain_turn(p->f, "w", NULL, NULL) == API_JOB_RAN)
        continue;
}

static const char *made_job(struct play *p)
{
    return made_id(
        fixture_post(p->f, "steward", "/v1/jobs", domain_private_job(p->dataset, 1, 20)));
}

/* Declines the student's open request, so that the next one may come. */
static void close_requests(struct play *p)
{
    struct response *open = fixture_get(p->f, "steward", "/v1/budget-requests?status=open");
    const char *id = response_text(open, "/items/0/id");
    if (id[0] != '\0')
        expect_status(fixture_post(p->f, "steward",
                                   domain_path("/v1/budget-requests/%s:decline", id),
                                   "{\"reason\":\"r\"}"),
                      200);
}

/* A request for a budget, larger than any before. */
static const char *made_request(struct play *p)
{
    static unsigned asked;
    close_requests(p);
    return made_id(fixture_post(p->f, "student", "/v1/budget-requests",
                                domain_path("{\"teacher\":\"%s\",\"epsilon\":1e6,\"delta\":%.9g,"
                                            "\"reason\":\"r\"}",
                                            p->teacher, 5e-5 + 1e-7 * ++asked)));
}

static const char *release_q(struct play *p)
{
    run_jobs(p);
    struct response *job = domain_run(
        p->f, domain_path("{\"algorithm\":\"gp_q_learning\",\"mechanism\":\"gaussian_process\","
                          "\"dataset\":\"%s\",\"privacy\":{\"epsilon\":4,\"delta\":1e-5,\"force\":"
                          "true},\"parameters\":{\"steps\":12,\"batch_size\":4}}",
                          p->dataset));
    return domain_path("%s", response_text(job, "/q_release"));
}

static void copy_id(char out[40], const struct response *r, const char *pointer)
{
    snprintf(out, 40, "%s", response_text(r, pointer));
    cr_assert(out[0] != '\0', "%s: %s", pointer, r->body);
}

struct things requests_things(struct play *p)
{
    struct things things;
    struct response *job = domain_run(p->f, domain_private_job(p->dataset, 1, 20));
    copy_id(things.job, job, "/id");
    copy_id(things.policy, job, "/policy");
    copy_id(things.certificate,
            fixture_get(p->f, "steward", domain_path("/v1/policies/%s/certificate", things.policy)),
            "/id");
    copy_id(things.account, fixture_get(p->f, "steward", "/v1/ledger/accounts"),
            "/items/0/account");
    snprintf(things.q_release, sizeof things.q_release, "%s", release_q(p));
    return things;
}

/* A client with a second token; where ROUTE names a certificate, one that has it if it is to be
 * unbound, and otherwise not. */
static const char *client_for(struct play *p, const struct route *route)
{
    const char *id = fixture_client(p->f, "agent");
    if (strstr(route->pattern, "{sha256}")) {
        const char *path = play_path(p, "/v1/clients/{id}/certificates/{sha256}", id);
        bool binds = strcmp(route->method, "PUT") == 0;
        (void)(binds ? fixture_delete(p->f, "admin", path)
                     : fixture_put(p->f, "admin", path, NULL));
        return id;
    }
    id = made_id(fixture_post(p->f, "admin", "/v1/clients", "{\"name\":\"n\",\"role\":\"agent\"}"));
    (void)fixture_post(p->f, "admin", domain_path("/v1/clients/%s:rotate", id), "{}");
    return id;
}

static const char *made_teacher(struct play *p, bool closed)
{
    const char *id =
        made_id(fixture_post(p->f, "steward", "/v1/teachers", domain_teacher(p->policy, 8, 2)));
    if (closed)
        expect_status(fixture_post(p->f, "steward", domain_path("/v1/teachers/%s:close", id), NULL),
                      200);
    return id;
}

/* A project of the steward, the same while it is the owner, with the student in it. */
static const char *made_project(struct play *p)
{
    static char id[40] = "prj_0";
    const char *path = domain_path("/v1/projects/%s", id);
    if (fixture_get(p->f, "steward", path)->status != 200)
        snprintf(id, sizeof id, "%s",
                 made_id(fixture_post(p->f, "steward", "/v1/projects", "{\"name\":\"p\"}")));
    struct response *r =
        fixture_put(p->f, "steward",
                    domain_path("/v1/projects/%s/members/%s", id, fixture_client(p->f, "student")),
                    "{\"role\":\"student\"}");
    cr_assert(r->status == 200 || r->status == 201, "%s", r->body);
    return id;
}

/* A dataset, a job, a client, a policy, a teacher, a project, a collection that the next request
 * may use up. */
static const char *fresh_id(struct play *p, const struct route *route)
{
    const char *pattern = route->pattern;
    if (begins(pattern, "/v1/clients/"))
        return client_for(p, route);
    if (begins(pattern, "/v1/jobs/"))
        return made_job(p);
    if (begins(pattern, "/v1/aggregations/"))
        return made_id(
            fixture_post(p->f, "steward", "/v1/aggregations",
                         "{\"environment\":\"cartpole\",\"epsilon\":5,\"seed\":3,\"buffer\":1}"));
    if (begins(pattern, "/v1/q-releases/"))
        return release_q(p);
    if (begins(pattern, "/v1/budget-requests/"))
        return made_request(p);
    if (begins(pattern, "/v1/limit-changes/"))
        return play_limit_change(p);
    if (begins(pattern, "/v1/policies/"))
        return domain_path("%s", domain_policy(p->f));
    if (begins(pattern, "/v1/teachers/"))
        return made_teacher(p, strcmp(route->method, "DELETE") == 0);
    if (begins(pattern, "/v1/projects/"))
        return made_project(p);
    if (begins(pattern, "/v1/environments/"))
        return domain_environment(p->f, fixture_client(p->f, "steward"));
    cr_assert(begins(pattern, "/v1/datasets/"), "%s: say what it uses up", pattern);
    const char *id = domain_path("%s", domain_dataset(p->f, "private"));
    domain_fill(p->f, id, 5);
    return id;
}

/* Gives the name that play_path asks for. */
static void give_name(struct play *p, const char *policy)
{
    const char *path = play_path(p, "/v1/policies/{id}/names/{name}", domain_path("%s", policy));
    int status = fixture_put(p->f, "steward", path, NULL)->status;
    cr_assert(status == 200 || status == 201, "%d", status);
}

static bool uses_up(const struct route *route)
{
    static const char *const patterns[] = {":seal",         ":cancel",  ":close",    ":compose",
                                           ":approve",      ":decline", ":transfer", "/submissions",
                                           "/trajectories", "/experts/"};
    bool found = strcmp(route->method, "DELETE") == 0;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        found = found || strstr(route->pattern, patterns[i]);
    return found;
}

/* POLICY is granted to the student alone, or to nobody. */
static void renew_grant(struct play *p, const char *policy, bool granted)
{
    const char *student = fixture_client(p->f, "student");
    const char *grants = domain_path("/v1/policies/%s/grants", policy);
    fixture_delete(p->f, "steward", domain_path("%s/public", grants));
    fixture_delete(p->f, "steward", domain_path("%s/%s", grants, student));
    if (granted)
        expect_status(
            fixture_post(p->f, "steward", grants, domain_path("{\"client\":\"%s\"}", student)),
            201);
}

static const char *id_for(struct play *p, const struct things *things, const struct route *route)
{
    const struct {
        const char *collection, *id;
    } rows[] = {{"/v1/ledger/accounts/", things->account},
                {"/v1/certificates/", things->certificate},
                {"/v1/datasets/", p->dataset},
                {"/v1/jobs/", things->job},
                {"/v1/policies/", things->policy},
                {"/v1/teachers/", p->teacher},
                {"/v2/models/", p->teacher},
                {"/v1/q-releases/", things->q_release}};
    if (!strstr(route->pattern, "{id}"))
        return "";
    if (strstr(route->pattern, "/grants")) {
        renew_grant(p, things->policy, strcmp(route->method, "DELETE") == 0);
        return things->policy;
    }
    if (uses_up(route))
        return fresh_id(p, route);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (begins(route->pattern, rows[i].collection))
            return rows[i].id;
    return fresh_id(p, route);
}

/* The path of a budget that nobody has been granted yet. */
static const char *new_budget(struct play *p)
{
    const char *client = made_id(
        fixture_post(p->f, "admin", "/v1/clients", "{\"name\":\"n\",\"role\":\"student\"}"));
    return domain_path("/v1/teachers/%s/budgets/%s", p->teacher, client);
}

/* Somebody who may call ROUTE: a student where a teacher is asked, its owner where a policy is. */
static int caller_of(const struct route *route)
{
    if (begins(route->pattern, "/v1/clients"))
        return CALLER_ADMIN;
    if (route->roles & ROLE_STUDENT && strcmp(route->method, "POST") == 0 &&
        !begins(route->pattern, "/v1/policies/"))
        return CALLER_STUDENT;
    if (route->roles & ROLE_STEWARD)
        return CALLER_OWNER;
    if (route->roles & ROLE_AGENT)
        return CALLER_AGENT;
    if (route->roles == ROLE_AUDITOR)
        return CALLER_AUDITOR;
    return route->roles & ROLE_ADMIN ? CALLER_ADMIN : CALLER_NOBODY;
}

struct ask requests_ask(struct play *p, const struct things *things, const struct route *route)
{
    static unsigned keys, jobs;
    if (begins(route->pattern, "/v1/jobs") && ++jobs % 200 == 0)
        run_jobs(p); /* there may be a thousand */
    const char *path = play_path(p, route->pattern, id_for(p, things, route)), *body = "";
    if (strcmp(route->method, "PUT") == 0 && strstr(route->pattern, "/budgets/{client}"))
        path = new_budget(p);
    if (strcmp(route->method, "GET") != 0)
        body = play_body(p, route, path);
    if (begins(route->pattern, "/v1/policy-names/"))
        give_name(p, things->policy);
    if (strcmp(route->pattern, "/v1/budget-requests") == 0)
        close_requests(p);
    return (struct ask){
        .method = route->method,
        .path = domain_path("%s", path),
        .token = play_token(p, caller_of(route)),
        .key = strcmp(route->method, "POST") == 0 ? domain_path("fault-%u", ++keys) : NULL,
        .body = body[0] != '\0' ? body : NULL,
        .content_type = route->body == BODY_STREAM ? "application/x-ndjson" : NULL,
        .headers = {{strcmp(route->method, "PATCH") == 0 ? "If-Match" : NULL, "*"}}};
}
