/* Every endpoint while the n-th call of the database fails, or the n-th allocation of a size that a
 * user chooses, for every n and in every way: the answer is an honest problem, nothing is charged,
 * and the same call with the same key then goes through as if it had never been, and is charged
 * once. What changes something is one row of the audit trail, whatever failed before. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/match.h"
#include "tests/unit/faults/faults.h"
#include "tests/unit/faults/requests.h"

TestSuite(endpoint_faults, .timeout = 36000);

#define CALLS_MOST 20000 /* of the database, or allocations, for one request */
#define CALLS_EACH 12    /* that fail one by one; with FAULTS_TESTED=all, all do */

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
    bool token = strncmp(route->pattern, "/v1/clients", 11) == 0; /* is not kept */
    if (!ask->key || !route_writes(route) || token)
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
    const struct ask ask = requests_ask(p, things, route);
    double before = faults_entries(p), rows = faults_rows(p);
    faults_restart(p);
    faults_arm(fault, n);
    struct response *r = faults_ask(p, &ask);
    bool failed = faults_end();
    double charged = faults_entries(p) - before;
    if (r)
        cr_expect_eq(faults_rows(p) - rows, is_good(r) && route_in_trail(route), "%s: %g rows",
                     where, faults_rows(p) - rows);
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
        if (r)
            cr_expect_eq(faults_rows(p) - rows, route_in_trail(route), "%s: then %g rows", where,
                         faults_rows(p) - rows);
    }
    fixture_forget(p->f);
    return failed;
}

static unsigned fail_everywhere(struct play *p, const struct things *things,
                                const struct route *route)
{
    const struct ask ask = requests_ask(p, things, route);
    double before = faults_entries(p), rows = faults_rows(p);
    struct response *r = fixture_ask(p->f, &ask);
    double entries = faults_entries(p) - before;
    cr_expect_eq(faults_rows(p) - rows, route_in_trail(route), "%s %s: %g rows", route->method,
                 route->pattern, faults_rows(p) - rows);
    unsigned tried = 0;
    cr_assert(is_good(r), "%s %s: %d %s", route->method, route->pattern, r->status, r->body);
    for (unsigned i = 0; i < fault_count; i++) {
        unsigned n = 0;
        while (fail_at(p, things, route, &faults[i], n, entries)) {
            n += n < CALLS_EACH || getenv("FAULTS_TESTED") ? 1 : n / 4;
            cr_assert_lt(n, CALLS_MOST, "%s %s", route->method, route->pattern);
            tried++;
        }
    }
    if (getenv("FAULTS_TESTED"))
        fprintf(stderr, "%s %s: %u\n", route->method, route->pattern, tried);
    return tried;
}

/* Registering a world, of which registered_test.c shows what happens. */
static bool starts_a_program(const struct route *route)
{
    return strcmp(route->method, "POST") == 0 && strcmp(route->pattern, "/v1/environments") == 0;
}

/* Every second endpoint, from the FIRST. */
static void fail_half_of_the_endpoints(unsigned first)
{
    struct play *p = faults_open();
    const struct things things = requests_things(p);
    unsigned count, tried = 0, met = 0;
    const struct route *routes = route_all(&count);
    for (unsigned i = first; i < count; i += 2) {
        unsigned failures = 0;
        bool bare = routes[i].lane == API_LANE_INLINE && routes[i].roles == ROLE_NONE;
        if (!bare && !starts_a_program(&routes[i]))
            failures = fail_everywhere(p, &things, &routes[i]);
        tried += failures;
        met += failures > 0;
    }
    domain_expect_whole_ledger(p->f);
    fprintf(stderr, "%u failing calls and allocations in %u of %u endpoints\n", tried, met,
            (count + 1 - first) / 2);
    faults_close(p);
}

Test(endpoint_faults, cost_nothing_and_leave_nothing_0)
{
    fail_half_of_the_endpoints(0);
}

Test(endpoint_faults, cost_nothing_and_leave_nothing_1)
{
    fail_half_of_the_endpoints(1);
}
