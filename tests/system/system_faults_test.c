/* A real server, whose n-th system call of a sort fails, once or from then on, while it serves a
 * request to each endpoint, or runs a job of each kind: the answer is right, or honest, or the
 * process ends without one. The same call with the same key then goes through and is charged once,
 * and no job is lost. After a sync that failed there is no good answer. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/match.h"
#include "tests/http/http_client.h"
#include "tests/system/fixture_http.h"
#include "tests/unit/faults/requests.h"
#include "tests/unit/noninterference/kinds.h"

TestSuite(system_faults, .timeout = 7200);

static const struct {
    const char *name;
    enum failing_call call;
    int error;
} sorts[] = {
    {"sync", FAILING_SYNC, EIO},         {"map", FAILING_MAP, ENOMEM},
    {"random", FAILING_RANDOM, EAGAIN},  {"pwrite", FAILING_PWRITE, ENOSPC},
    {"write", FAILING_WRITE, ENOSPC},    {"read", FAILING_READ, EIO},
    {"open", FAILING_OPEN, EMFILE},      {"truncate", FAILING_TRUNCATE, EIO},
    {"pipe", FAILING_PIPE, EMFILE},      {"send", FAILING_SEND, ENOBUFS},
    {"receive", FAILING_RECEIVE, EIO},   {"accept", FAILING_ACCEPT, EMFILE},
    {"wait", FAILING_WAIT, EINTR},       {"thread", FAILING_THREAD, EAGAIN},
    {"pwrite EIO", FAILING_PWRITE, EIO}, {"name", FAILING_NAME, EIO},
    {"look", FAILING_LOOK, EIO},         {"lock", FAILING_LOCK, ENOLCK},
    {"short write", FAILING_SHORT, 0},
};

enum { SORTS = sizeof sorts / sizeof sorts[0], CALLS_MOST = 300, ROWS = 4 };

struct scene {
    struct play *p;
    struct things things;
    unsigned failures, ends;
    unsigned row, kinds; /* of jobs */
};

static bool is_good(const struct response *r)
{
    return r->status >= 200 && r->status < 300;
}

/* The entries of all accounts, when all jobs have ended. */
static double entries_now(struct play *p)
{
    double sum = 0;
    char next[128] = "";
    (void)domain_turn(p->f, "w", NULL, NULL);
    do {
        struct response *r =
            fixture_get(p->f, "auditor", domain_path("/v1/ledger/accounts?page_size=1000%s", next));
        cr_assert_eq(r->status, 200, "%d %s", r->status, r->body);
        for (size_t i = 0; i < json_array_size(response_at(r, "/items")); i++) {
            json_t *item = json_array_get(response_at(r, "/items"), i);
            sum += json_number_value(json_object_get(item, "entries"));
        }
        snprintf(next, sizeof next, "&page_token=%s", response_text(r, "/next_page_token"));
    } while (next[12] != '\0');
    return sum;
}

/* What a job that is cancelled costs depends on how far it had come; it may have ended. No key
 * protects a change of a limit, which may come after its client has gone. */
static bool is_race(const struct route *route)
{
    return strcmp(route->pattern, "/v1/jobs/{id}:cancel") == 0 ||
           (strcmp(route->method, "PATCH") == 0 &&
            strcmp(route->pattern, "/v1/ledger/accounts/{id}") == 0);
}

/* A deletion, or a PUT of what there was not, had taken effect, and then its answer was lost. The
 * HTTP library of the test asks once more by itself when a connection that it kept is closed
 * without an answer. */
static bool is_gone(const struct route *route, const struct response *r)
{
    if (strcmp(route->method, "PUT") == 0)
        return r->status == 428;
    return strcmp(route->method, "DELETE") == 0 && (r->status == 404 || r->status == 409);
}

/* Keys of data lie beside the database. Where they cannot be synced the server says so, and goes
 * on.
 */
static bool has_keys(const struct route *route)
{
    return strncmp(route->pattern, "/v1/datasets/", strlen("/v1/datasets/")) == 0;
}

/* Registered worlds need a runner, which this server has not. test_faults tries these. */
static bool needs_a_runner(const struct route *route)
{
    return strncmp(route->pattern, "/v1/environments", strlen("/v1/environments")) == 0;
}

/* An upload whose client went away is under way until the server sees that, and takes a place. */
static struct response *ask_again(struct play *p, const struct ask *ask)
{
    struct response *r = fixture_ask(p->f, ask);
    while (r->status == 429) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        r = fixture_ask(p->f, ask);
    }
    return r;
}

/* One request during which the N-th call fails. False: it makes fewer. */
static bool fail_at(struct scene *s, const struct route *route, unsigned sort, bool stays,
                    unsigned n, double price)
{
    struct play *p = s->p;
    const char *where = domain_path("%s %s, %s %s at %u", route->method, route->pattern,
                                    sorts[sort].name, stays ? "for good" : "once", n);
    const struct ask ask = requests_ask(p, &s->things, route);
    double before = is_race(route) ? 0 : entries_now(p); /* it waits for the job to end */
    int code = 0;
    fixture_fail(sorts[sort].call, sorts[sort].error, stays, false, n);
    struct response *r = fixture_ask(p->f, &ask);
    bool failed = fixture_failed() > 0;
    unsigned wait_ms = r->status == 0 ? 200 : 0;
    bool synced = !failed || sorts[sort].call != FAILING_SYNC ||
                  (has_keys(route) && r->status != 0 && !is_good(r));
    bool ended = failed && fixture_revive(p->f, synced ? wait_ms : 20000, &code);
    s->failures += failed;
    s->ends += ended;
    cr_expect(!ended || code == 1 || code == 1006, "%s: the process ended with %d", where, code);
    cr_expect(r->status == 0 || is_good(r) || r->status >= 500 || r->status == 429 ||
                  is_race(route) || is_gone(route, r),
              "%s: %d %s", where, r->status, r->body);
    cr_expect(synced || ended || r->status == 0, "%s: %d after a sync that failed", where,
              r->status);
    double charged = entries_now(p) - before;
    bool may_be_charged = is_good(r) || r->status == 0;
    if (!is_race(route))
        cr_expect((charged == price && may_be_charged) || (charged == 0 && !is_good(r)),
                  "%s: %d, charged %g", where, r->status, charged);
    struct response *again = ask_again(p, &ask);
    bool gone = is_gone(route, again);
    bool once = !ask.key && is_good(r); /* and the thing may be used up */
    cr_expect(is_good(again) || gone || once || is_race(route), "%s, then: %d %s", where,
              again->status, again->body);
    if (!once && !is_race(route))
        cr_expect_eq(entries_now(p) - before, price, "%s: charged otherwise", where);
    fixture_forget(p->f);
    return failed;
}

/* Waits for requests whose clients have gone. After an accept that failed the library accepts
 * nothing until a connection ends. */
static void await_late_requests(struct play *p)
{
    double before, now = entries_now(p);
    fixture_reconnect(p->f);
    do {
        before = now;
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        now = entries_now(p);
    } while (now != before);
}

/* Every sort of call in ROUTE's request; a SAMPLE: one of each. */
static void fail_route(struct scene *s, const struct route *route, bool sample)
{
    struct play *p = s->p;
    static unsigned turn;
    const struct ask ask = requests_ask(p, &s->things, route);
    double before = is_race(route) ? 0 : entries_now(p);
    struct response *r = fixture_ask(p->f, &ask);
    double price = entries_now(p) - before;
    cr_assert(is_good(r) || is_race(route), "%s %s: %d %s", route->method, route->pattern,
              r->status, r->body);
    for (unsigned sort = 0; sort < SORTS; sort++) {
        unsigned n = sample ? turn++ % 3 : 0;
        for (int stays = 0; stays < 2; stays++)
            while (fail_at(s, route, sort, stays, n, price) && !sample && n < CALLS_MOST)
                n++;
    }
    if (is_race(route))
        await_late_requests(p);
}

static struct scene open_scene(void)
{
    static const struct secret someone = {.name = "someone",
                                          .steps = 10,
                                          .first = 0.02,
                                          .further = 0.03,
                                          .reward = 1,
                                          .weight = 0.3,
                                          .question = 0.01,
                                          .gradient = 0.5,
                                          .unprotected_pulse_ms = 1100,
                                          .public_epsilon = 1e6};
    static unsigned answered[256];
    struct scene s = {.p = play_open(&someone, answered, fixture_open_http)};
    s.things = requests_things(s.p);
    return s;
}

/* The routes whose number leaves ROW; without FAULTS_TESTED=all a sample of those that spend. */
static void fail_row(unsigned row)
{
    unsigned count;
    bool all = getenv("FAULTS_TESTED") != NULL;
    const struct route *routes = route_all(&count);
    struct scene s = open_scene();
    for (unsigned i = row; i < count; i += ROWS) {
        bool inner = routes[i].lane == API_LANE_INLINE && routes[i].roles == ROLE_NONE;
        bool chosen = all || (i / ROWS) % 19 == 0 || strstr(routes[i].pattern, "/queries");
        if (inner || needs_a_runner(&routes[i]) || !chosen)
            continue;
        if (all)
            fprintf(stderr, "%s %s, after %u failures\n", routes[i].method, routes[i].pattern,
                    s.failures);
        fail_route(&s, &routes[i], !all);
    }
    struct response *r = fixture_post(s.p->f, "auditor", "/v1/ledger:verify", NULL);
    cr_expect(json_is_true(response_at(r, "/ok")), "%s", r->body);
    fprintf(stderr, "%u failing system calls, %u ends of the process, in row %u of endpoints\n",
            s.failures, s.ends, row);
    cr_expect_gt(s.failures, 0);
    fixture_close(s.p->f);
}

/* ---- jobs */

/* A kind of job, and its entries in the ledgers. */
struct kind {
    const char *body;
    double price;
};

/* A new job of that KIND: its path; NULL where none was made. */
static const char *new_job(struct play *p, const struct kind *kind)
{
    struct response *made = fixture_post(p->f, "steward", "/v1/jobs", kind->body);
    return made->status == 202 ? domain_path("/v1/jobs/%s", response_text(made, "/id")) : NULL;
}

/* True: the job at PATH has come to that STATE. */
static bool has_state(struct play *p, const char *path, const char *state)
{
    return strcmp(response_text(fixture_get(p->f, "steward", path), "/state"), state) == 0;
}

/* Waits until a call has failed or the job at PATH is over. */
static void wait_for_failure(struct play *p, const char *path)
{
    while (!fixture_has_failed() && !has_state(p, path, "succeeded") &&
           !has_state(p, path, "failed")) {
        fixture_forget(p->f);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

/* The clock goes on, so that no lease lasts, and the next job wakes the workers. False: the process
 * has ended. */
static bool wake_workers(struct play *p)
{
    static const struct kind next = {.body = "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\","
                                             "\"parameters\":{\"hidden\":[4],\"transitions\":64}}"};
    fixture_advance(LEASE_OVER_MS);
    return new_job(p, &next) != NULL;
}

/* Ends the failures of SORT. True: there were some. */
static bool end_failures(struct scene *s, unsigned sort, const char *where)
{
    int code = 0;
    bool syncs = sorts[sort].call == FAILING_SYNC;
    if (fixture_failed() == 0)
        return false;
    bool ended = fixture_revive(s->p->f, syncs ? 20000 : 0, &code);
    if (!wake_workers(s->p)) {
        ended = fixture_revive(s->p->f, 20000, &code);
        cr_assert(ended && wake_workers(s->p), "%s: no job any more", where);
    }
    s->failures++;
    s->ends += ended;
    cr_expect(!ended || code == 1 || code == 1006, "%s: the process ended with %d", where, code);
    cr_expect(!syncs || ended, "%s: the process goes on", where);
    return true;
}

/* The N-th call of SORT fails in a job of that KIND: it succeeds, and is paid for once. False: it
 * makes fewer. A worker that looks for a job may end the process before there is one. */
static bool fail_job(struct scene *s, const struct kind *kind, unsigned sort, bool stays,
                     unsigned n)
{
    struct play *p = s->p;
    const char *where = domain_path("%s %s at %u, %.100s", sorts[sort].name,
                                    stays ? "for good" : "once", n, kind->body);
    double before = entries_now(p);
    fixture_fail(sorts[sort].call, sorts[sort].error, stays, true, n);
    const char *path = new_job(p, kind);
    if (path)
        wait_for_failure(p, path);
    if (stays)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    bool failed = end_failures(s, sort, where);
    double charged = entries_now(p) - before;
    cr_expect(path || failed, "%s: no job", where);
    cr_expect(charged == kind->price || (!path && charged == 0), "%s: charged %g, not %g", where,
              charged, kind->price);
    if (path)
        cr_expect(has_state(p, path, "succeeded"), "%s: %s", where,
                  fixture_get(p->f, "steward", path)->body);
    fixture_forget(p->f);
    return failed;
}

/* Every sort of call in a job of that KIND; a SAMPLE: the next sort that it makes. */
static void fail_sorts(struct scene *s, const struct kind *kind, bool sample)
{
    if (sample) {
        unsigned sort = s->kinds;
        while (!fail_job(s, kind, sort % SORTS, s->kinds % 2, s->kinds % 3))
            sort++;
        return;
    }
    for (unsigned sort = 0; sort < SORTS; sort++)
        for (int stays = 0; stays < 2; stays++)
            for (unsigned n = 0; n < CALLS_MOST && fail_job(s, kind, sort, stays, n);)
                n += 1 + n / 2;
}

/* All faults of some kinds are more jobs than a dataset's budget pays for. */
static void renew_play(struct scene *s)
{
    fixture_close(s->p->f);
    s->p = open_scene().p;
}

/* The first job of a kind may open an account. */
static void fail_kind(struct scene *s, struct kind *kind)
{
    bool all = getenv("FAULTS_TESTED") != NULL;
    double before = entries_now(s->p);
    const char *path = new_job(s->p, kind);
    kind->price = entries_now(s->p) - before;
    cr_assert(path && has_state(s->p, path, "succeeded"), "%s", kind->body);
    fail_sorts(s, kind, !all);
    if (!all)
        return;
    fprintf(stderr, "%u failures and %u ends after %s\n", s->failures, s->ends, kind->body);
    renew_play(s);
}

static bool try_kind_of_job(void *context, const struct algorithm *algorithm, int mechanism,
                            const struct job_option *option)
{
    struct scene *s = context;
    char *body = strdup(kinds_job(s->p, algorithm, mechanism, option));
    struct kind kind = {.body = body};
    const char *path = new_job(s->p, &kind);
    (void)domain_turn(s->p->f, "w", NULL, NULL);
    bool succeeds = path && has_state(s->p, path, "succeeded");
    if (succeeds && s->kinds++ % ROWS == s->row)
        fail_kind(s, &kind);
    fixture_forget(s->p->f);
    free(body);
    return succeeds;
}

/* Every kind of job whose number leaves ROW. */
static void fail_jobs(unsigned row)
{
    struct scene s = open_scene();
    s.row = row;
    kinds_try(try_kind_of_job, &s);
    fprintf(stderr,
            "%u failing system calls, %u ends of the process, in row %u of %u kinds of jobs\n",
            s.failures, s.ends, row, s.kinds);
    cr_expect_gt(s.kinds, 40);
    cr_expect_gt(s.failures, 0);
    fixture_close(s.p->f);
}

Test(system_faults, cost_no_job_0)
{
    fail_jobs(0);
}

Test(system_faults, cost_no_job_1)
{
    fail_jobs(1);
}

Test(system_faults, cost_no_job_2)
{
    fail_jobs(2);
}

Test(system_faults, cost_no_job_3)
{
    fail_jobs(3);
}

Test(system_faults, leave_every_endpoint_right_0)
{
    fail_row(0);
}

Test(system_faults, leave_every_endpoint_right_1)
{
    fail_row(1);
}

Test(system_faults, leave_every_endpoint_right_2)
{
    fail_row(2);
}

Test(system_faults, leave_every_endpoint_right_3)
{
    fail_row(3);
}

static bool asks_live(int handle)
{
    static const char live[] = "GET /healthz/live HTTP/1.1\r\nHost: t\r\n\r\n";
    return handle >= 0 && raw_send(handle, live);
}

static bool hears(int handle)
{
    char answer[2000];
    return raw_receive(handle, answer, sizeof answer, false) > 0 && strstr(answer, "200 OK");
}

/* The library then takes no connection until one ends. KEPT is the only one; ASKS: it stays busy.
 */
static void fail_accept(struct fixture *f, int kept, bool asks)
{
    fixture_fail(FAILING_ACCEPT, EMFILE, false, false, 0);
    int other = fixture_connect(f);
    cr_assert(asks_live(other));
    while (!fixture_has_failed())
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    cr_expect(!asks || (asks_live(kept) && hears(kept)));
    cr_expect(hears(other));
    close(other);
}

Test(system_faults, an_accept_that_failed_shuts_nobody_out, .timeout = 60)
{
    struct fixture *f = fixture_open_http();
    for (int asks = 0; asks < 2; asks++) {
        int kept = fixture_connect(f);
        cr_assert(asks_live(kept) && hears(kept));
        fail_accept(f, kept, asks);
        close(kept);
    }
    fixture_close(f);
}

/* The only connection takes the events of a job that waits. */
Test(system_faults, an_accept_that_failed_beside_a_stream_shuts_nobody_out, .timeout = 60)
{
    struct fixture *f = fixture_open_http();
    char head[400];
    const char *token = fixture_token(f, "steward");
    snprintf(head, sizeof head,
             "GET /v1/jobs/%s/events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n\r\n",
             response_text(fixture_post(f, "steward", "/v1/jobs",
                                        "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\","
                                        "\"parameters\":{\"transitions\":100000000}}"),
                           "/id"),
             token);
    int stream = fixture_connect(f);
    cr_assert(stream >= 0 && raw_send(stream, head) && hears(stream));
    fixture_reconnect(f); /* ends the fixture's own, before the next accept */
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    fail_accept(f, stream, false);
    close(stream);
    fixture_close(f);
}
