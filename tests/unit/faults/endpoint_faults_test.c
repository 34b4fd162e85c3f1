/* Every endpoint while the n-th call of the database fails, or the n-th allocation of a size that a
 * user chooses, for every n and in every way: the answer is an honest problem, nothing is charged,
 * and the same call with the same key then goes through as if it had never been, and is charged
 * once. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/match.h"
#include "tests/unit/faults/faults.h"

TestSuite(endpoint_faults, .timeout = 900);

#define CALLS_MOST 20000 /* of the database, or allocations, for one request */
#define CALLS_EACH 64    /* that fail one by one; with TACET_FAULTS=all, all do */

/* What stands for {id}; those that can be used once are made anew for each request. */
struct things {
    char policy[40], certificate[40], account[40], job[40], q_release[40];
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *made_id(struct response *r)
{
    cr_assert(r->status >= 200 && r->status < 300, "%d %s", r->status, r->body);
    return domain_path("%s", response_text(r, "/id"));
}

static const char *made_job(struct play *p)
{
    return made_id(
        fixture_post(p->f, "steward", "/v1/jobs", domain_private_job(p->dataset, 1, 20)));
}

/* Runs whatever is queued. */
static void run_jobs(struct play *p)
{
    while (domain_turn(p->f, "w", NULL, NULL) == API_JOB_RAN)
        continue;
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

static struct things things_make(struct play *p)
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

/* A dataset, a job, a client, a collection that the next request may use up. */
static const char *fresh_id(struct play *p, const struct route *route)
{
    const char *pattern = route->pattern;
    if (begins(pattern, "/v1/clients/"))
        return made_id(
            fixture_post(p->f, "admin", "/v1/clients", "{\"name\":\"n\",\"role\":\"agent\"}"));
    if (begins(pattern, "/v1/jobs/"))
        return made_job(p);
    if (begins(pattern, "/v1/aggregations/"))
        return made_id(
            fixture_post(p->f, "steward", "/v1/aggregations",
                         "{\"environment\":\"cartpole\",\"epsilon\":5,\"seed\":3,\"buffer\":1}"));
    if (begins(pattern, "/v1/q-releases/"))
        return release_q(p);
    cr_assert(begins(pattern, "/v1/datasets/"), "%s: say what it uses up", pattern);
    const char *id = domain_path("%s", domain_dataset(p->f, "private"));
    domain_fill(p->f, id, 5);
    return id;
}

static bool uses_up(const struct route *route)
{
    static const char *const patterns[] = {":seal",        ":cancel",       ":close", ":compose",
                                           "/submissions", "/trajectories", "/experts/"};
    bool found = strcmp(route->method, "DELETE") == 0;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        found = found || strstr(route->pattern, patterns[i]);
    return found;
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

/* Somebody who may call ROUTE: a student where a teacher is asked. */
static int caller_of(const struct route *route)
{
    if (route->roles & ROLE_STUDENT && strcmp(route->method, "POST") == 0)
        return CALLER_STUDENT;
    if (route->roles & ROLE_STEWARD)
        return CALLER_OWNER;
    if (route->roles & ROLE_AGENT)
        return CALLER_AGENT;
    return route->roles & ROLE_ADMIN ? CALLER_ADMIN : CALLER_NOBODY;
}

static struct ask ask_for(struct play *p, const struct things *things, const struct route *route)
{
    static unsigned keys;
    const char *path = play_path(p, route->pattern, id_for(p, things, route)), *body = "";
    if (strcmp(route->method, "PUT") == 0 && strstr(route->pattern, "{client}"))
        path = new_budget(p);
    if (strcmp(route->method, "GET") != 0)
        body = play_body(p, route, path);
    return (struct ask){.method = route->method,
                        .path = domain_path("%s", path),
                        .token = play_token(p, caller_of(route)),
                        .key = strcmp(route->method, "POST") == 0 ? domain_path("fault-%u", ++keys)
                                                                  : NULL,
                        .body = body[0] != '\0' ? body : NULL,
                        .content_type = route->body == BODY_STREAM ? "application/x-ndjson" : NULL};
}

static bool is_good(const struct response *r)
{
    return r->status >= 200 && r->status < 300;
}

/* A server's problem that does not say what the driver said. What ran short is not the client's
 * fault and may be there later. */
static void expect_honest(const struct response *r, const struct fault *fault, const char *where)
{
    cr_expect(r->status >= 500 && response_text(r, "/type")[0] != '\0', "%s: %d %s", where,
              r->status, r->body);
    cr_expect(!fault->memory || r->status == 503, "%s: %d %s", where, r->status, r->body);
    cr_expect_null(strstr(r->body, "made to fail"), "%s: %s", where, r->body);
}

/* The same call once more, and again: it goes through, and where it is kept it is kept. */
static void expect_recovery(struct play *p, const struct route *route, const struct ask *ask,
                            const char *where)
{
    struct response *again = fixture_ask(p->f, ask);
    bool gone = strcmp(route->method, "DELETE") == 0 && again->status == 404;
    cr_expect(is_good(again) || gone, "%s, then: %d %s", where, again->status, again->body);
    if (!ask->key || !route_writes(route) || strcmp(route->pattern, "/v1/clients") == 0)
        return;
    struct response *replay = fixture_ask(p->f, ask);
    cr_expect(replay->status == again->status && replay->size == again->size &&
                  memcmp(replay->body, again->body, again->size) == 0,
              "%s, then twice: %s %s", where, again->body, replay->body);
}

/* One request whose N-th call or allocation fails. False: it makes fewer. */
static bool fail_at(struct play *p, const struct things *things, const struct route *route,
                    const struct fault *fault, unsigned n, double entries)
{
    const char *where =
        domain_path("%s %s, %s at %u", route->method, route->pattern, fault->name, n);
    const struct ask ask = ask_for(p, things, route);
    double before = faults_entries(p);
    faults_restart(p);
    faults_arm(fault, n);
    struct response *r = faults_ask(p, &ask);
    bool failed = faults_end();
    double charged = faults_entries(p) - before;
    if (r && is_good(r)) {
        cr_expect_eq(charged, entries, "%s: other charges", where);
    } else {
        cr_expect(failed, "%s: %d %s", where, r ? r->status : 0, r ? r->body : "");
        if (r)
            expect_honest(r, fault, where);
        cr_expect(charged == 0 || (!r && charged == entries), "%s: charged without an answer",
                  where);
        expect_recovery(p, route, &ask, where);
        cr_expect_eq(faults_entries(p) - before, entries, "%s: charged otherwise", where);
    }
    fixture_forget(p->f);
    return failed;
}

static unsigned fail_everywhere(struct play *p, const struct things *things,
                                const struct route *route)
{
    const struct ask ask = ask_for(p, things, route);
    double before = faults_entries(p);
    struct response *r = fixture_ask(p->f, &ask);
    double entries = faults_entries(p) - before;
    unsigned tried = 0;
    cr_assert(is_good(r), "%s %s: %d %s", route->method, route->pattern, r->status, r->body);
    for (unsigned i = 0; i < fault_count; i++) {
        unsigned n = 0;
        while (fail_at(p, things, route, &faults[i], n, entries)) {
            n += n < CALLS_EACH || getenv("TACET_FAULTS") ? 1 : n / 4;
            cr_assert_lt(n, CALLS_MOST, "%s %s", route->method, route->pattern);
            tried++;
        }
    }
    return tried;
}

Test(endpoint_faults, cost_nothing_and_leave_nothing)
{
    struct play *p = faults_open();
    const struct things things = things_make(p);
    unsigned count, tried = 0, met = 0;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        unsigned failures = routes[i].lane == API_LANE_INLINE && routes[i].roles == ROLE_NONE
                                ? 0
                                : fail_everywhere(p, &things, &routes[i]);
        tried += failures;
        met += failures > 0;
    }
    domain_expect_whole_ledger(p->f);
    fprintf(stderr, "%u failing calls and allocations in %u of %u endpoints\n", tried, met, count);
    faults_close(p);
}
