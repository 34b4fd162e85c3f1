/* Every kind of job while a call of the database in a worker's turn fails: the job is tried again,
 * succeeds, and is paid for once. Every job fails at PLACES calls, spread over its turn and other
 * ones for each kind; with TACET_FAULTS=all in the environment at every call, which takes minutes.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/faults/faults.h"
#include "tests/unit/noninterference/kinds.h"

TestSuite(job_faults, .timeout = 1800);

enum { PLACES = 16, OPTIONS_MOST = 256, TURNS_MOST = 20, WAITS_MOST = 10, LEASE_OVER_MS = 600000 };

/* What a worker waits for: after some waits the database works again. */
static void wait_for_database(void *context, int64_t ms)
{
    unsigned *waits = context;
    fixture_advance(ms);
    if (++*waits >= WAITS_MOST)
        database_calls_left = -1;
}

static void take_turn(struct play *p)
{
    unsigned waits = 0;
    char note[256];
    const struct api_job_control control = {
        .worker = "w", .context = &waits, .wait = wait_for_database};
    (void)api_job_turn(fixture_app(p->f), fixture_db(p->f), &control, note);
}

static bool is_over(const char *state)
{
    return strcmp(state, "queued") != 0 && strcmp(state, "running") != 0;
}

/* Runs the job of that BODY, whose N-th call fails as FAULT (NULL: none) says. Its state at its
 * end; *OUT_CALLS: of the database in its first turn, up to the one that failed. */
static const char *run_failing(struct play *p, const char *body, const struct fault *fault,
                               unsigned n, unsigned *out_calls)
{
    static const struct fault none = {"none", DB_OK, false};
    enum { NEVER = 1000000 };
    struct response *made = fixture_post(p->f, "steward", "/v1/jobs", body);
    if (made->status != 202)
        return "refused";
    const char *path = domain_path("/v1/jobs/%s", response_text(made, "/id")), *state;
    int turns = 0;
    faults_arm(fault ? fault : &none, fault ? n : NEVER);
    take_turn(p);
    *out_calls = fault ? n : (unsigned)(NEVER - database_calls_left);
    cr_expect_eq(faults_end(), fault != NULL, "%s at call %u: %s", fault ? fault->name : "", n,
                 body);
    while (!is_over(state = response_text(fixture_get(p->f, "steward", path), "/state"))) {
        cr_assert(turns++ < TURNS_MOST, "%s stays %s", body, state);
        fixture_advance(LEASE_OVER_MS);
        take_turn(p);
    }
    return state;
}

struct sums {
    struct play *p;
    unsigned kinds, calls;
    const struct job_option *taken[OPTIONS_MOST]; /* options that some job has had */
    unsigned taken_count;
};

/* Every mechanism of every algorithm is tried, and every option with the first that takes it. */
static bool is_taken(const struct sums *sums, const struct job_option *option)
{
    for (unsigned i = 0; i < sums->taken_count; i++)
        if (sums->taken[i] == option)
            return strcmp(option->name, "plain") != 0;
    return false;
}

static void fail_kind(void *context, const struct algorithm *algorithm, int mechanism,
                      const struct job_option *option)
{
    struct sums *sums = context;
    struct play *p = sums->p;
    unsigned calls = 0;
    if (is_taken(sums, option) || strstr(option->members, "\"audit\"")) /* names another job */
        return;
    char *body = strdup(kinds_job(p, algorithm, mechanism, option));
    cr_assert(body != NULL);
    if (strcmp(run_failing(p, body, NULL, 0, &calls), "succeeded") == 0) {
        double before = faults_entries(p); /* the first may have opened an account */
        (void)run_failing(p, body, NULL, 0, &calls);
        double entries = faults_entries(p) - before;
        unsigned stride = getenv("TACET_FAULTS") ? 1 : (calls + PLACES - 1) / PLACES, unused;
        for (unsigned n = sums->kinds % stride; n < calls; n += stride) {
            const struct fault *fault = &faults[sums->calls++ % fault_count];
            before = faults_entries(p);
            const char *state = run_failing(p, body, fault, n, &unused);
            cr_expect_str_eq(state, "succeeded", "%s at call %u: %s", fault->name, n, body);
            cr_expect_eq(faults_entries(p) - before, entries, "%s at call %u: %s", fault->name, n,
                         body);
            fixture_forget(p->f);
        }
        cr_assert_lt(sums->taken_count, OPTIONS_MOST);
        sums->taken[sums->taken_count++] = option;
        sums->kinds++;
    }
    free(body);
}

Test(job_faults, cost_no_job_and_no_budget)
{
    struct sums sums = {.p = faults_open()};
    kinds_visit(false, fail_kind, &sums);
    domain_expect_whole_ledger(sums.p->f);
    fprintf(stderr, "%u failing calls of the database in %u kinds of jobs\n", sums.calls,
            sums.kinds);
    cr_expect_gt(sums.kinds, 40);
    faults_close(sums.p);
}
