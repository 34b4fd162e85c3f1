/* Every kind of job while a call of the database in a worker's turn fails, or an allocation of a
 * size that a user chooses: the job is tried again, succeeds, and is paid for once. Every job fails
 * at PLACES calls and allocations, spread over its turn and other ones for each kind; with
 * FAULTS_TESTED=all in the environment at every one, in every way. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/faults/faults.h"
#include "tests/unit/noninterference/kinds.h"

TestSuite(job_faults, .timeout = 36000);

enum { ROWS = 4, PLACES = 5, TURNS_MOST = 20, LEASE_OVER_MS = 600000 };

static bool is_over(const char *state)
{
    return strcmp(state, "queued") != 0 && strcmp(state, "running") != 0;
}

/* Lets the one job at PATH come to its end, and gives its state. */
static const char *end_job(struct play *p, const char *path)
{
    const char *state;
    int turns = 0;
    while (!is_over(state = response_text(fixture_get(p->f, "steward", path), "/state"))) {
        cr_assert(turns++ < TURNS_MOST, "%s stays %s", path, state);
        fixture_advance(LEASE_OVER_MS);
        faults_turn(p);
    }
    return state;
}

/* The path of a new job; NULL: it is refused. */
static const char *new_job(struct play *p, const char *body)
{
    struct response *made = fixture_post(p->f, "steward", "/v1/jobs", body);
    return made->status == 202 ? domain_path("/v1/jobs/%s", response_text(made, "/id")) : NULL;
}

/* What the job at PATH, which waits, may cost. */
static double price_of(struct play *p, const char *path)
{
    return response_number(fixture_get(p->f, "steward", path), "/privacy/reserved/epsilon");
}

/* True: the job of that BODY succeeds. OUT: calls and allocations of its first turn; *OUT_PRICE:
 * what it might have cost. */
static bool run_watched(struct play *p, const char *body, unsigned out[2], double *out_price)
{
    const char *path = new_job(p, body);
    if (!path)
        return false;
    *out_price = price_of(p, path);
    faults_watch();
    faults_turn(p);
    faults_watched(out);
    return strcmp(end_job(p, path), "succeeded") == 0;
}

/* Lack of memory for the data ends a job in its first turn, where ending is free. */
static bool ends_for_nothing(const struct response *job, const struct fault *fault, double charged)
{
    return fault->memory && charged == 0 && strcmp(response_text(job, "/state"), "failed") == 0 &&
           strstr(job->body, "memory");
}

/* What a job did to the ledgers. */
struct cost {
    double entries, spent;
    double price; /* of the job, when it waits */
};

static struct cost cost_since(struct play *p, struct cost before)
{
    return (struct cost){faults_entries(p) - before.entries, faults_spent(p) - before.spent, 0};
}

/* The price of a stage depends a little on what it draws. The price of the whole depends on the
 * job's seed: of one in 4,096 all twelve steps are plain ones. */
static bool cost_once(struct cost is, struct cost once)
{
    double spent = once.price > 0 ? once.spent * is.price / once.price : once.spent;
    return is.entries == once.entries && fabs(is.spent - spent) <= 0.01 * spent;
}

/* The job of that BODY, in whose first turn the N-th of some COUNT calls or allocations fails: it
 * succeeds, and costs as much as without a failure. What a stage draws decides whether it has the
 * last of them. */
static void run_failing(struct play *p, const char *body, const struct fault *fault, unsigned n,
                        unsigned count, struct cost once)
{
    struct cost before = cost_since(p, (struct cost){0});
    const char *path = new_job(p, body);
    cr_assert(path, "%s is refused", body);
    double price = price_of(p, path);
    faults_restart(p);
    faults_arm(fault, n);
    faults_turn(p);
    bool failed = faults_end() || n >= count - count / PLACES;
    const char *state = end_job(p, path);
    struct cost cost = cost_since(p, before);
    cost.price = price;
    struct response *job = fixture_get(p->f, "steward", path);
    bool good = strcmp(state, "succeeded") == 0 && cost_once(cost, once);
    cr_expect(failed && (good || ends_for_nothing(job, fault, cost.spent)),
              "%s at %u (%d): %s costs %.17g in %g entries, not %.17g in %g: %s", fault->name, n,
              failed, body, cost.spent, cost.entries, once.spent, once.entries, job->body);
    fixture_forget(p->f);
}

struct kind {
    const struct algorithm *algorithm;
    int mechanism;
    const struct job_option *option;
};

struct sums {
    struct play *p;
    unsigned row, kinds, failures;
    struct kind kind; /* what is tried now, and its request */
    char *body;
};

static void sums_ask(struct sums *sums)
{
    free(sums->body);
    sums->body =
        strdup(kinds_job(sums->p, sums->kind.algorithm, sums->kind.mechanism, sums->kind.option));
    cr_assert(sums->body != NULL);
}

/* All faults of a kind are more jobs than a dataset's budget pays for. The first job of a new
 * service does more than the next ones. */
static void renew_play(struct sums *sums)
{
    unsigned counts[2];
    double price;
    domain_expect_whole_ledger(sums->p->f);
    faults_close(sums->p);
    sums->p = faults_open();
    sums_ask(sums);
    cr_expect(run_watched(sums->p, sums->body, counts, &price), "%s", sums->body);
}

/* Fails the job at places among the COUNT calls, or allocations. */
static void fail_among(struct sums *sums, bool memory, unsigned count, struct cost once)
{
    enum { JOBS_PAID = 400 };
    const struct fault *some[8];
    unsigned sorts = 0, stride = (count + PLACES - 1) / PLACES, each = 1;
    for (unsigned i = 0; i < fault_count; i++)
        if (faults[i].memory == memory)
            some[sorts++] = &faults[i];
    if (getenv("FAULTS_TESTED")) {
        stride = 1;
        each = sorts;
    }
    for (unsigned n = count > 0 ? sums->kinds % stride : 0; n < count; n += stride)
        for (unsigned i = 0; i < each; i++) {
            if (sums->failures % JOBS_PAID == JOBS_PAID - 1)
                renew_play(sums);
            run_failing(sums->p, sums->body, some[sums->failures++ % sorts], n, count, once);
        }
}

static bool fail_kind(void *context, const struct algorithm *algorithm, int mechanism,
                      const struct job_option *option)
{
    struct sums *sums = context;
    unsigned counts[2];
    double price = 0;
    sums->kind = (struct kind){algorithm, mechanism, option};
    sums_ask(sums);
    bool succeeds = run_watched(sums->p, sums->body, counts, &price);
    if (succeeds && sums->kinds++ % ROWS == sums->row) {
        struct cost before = cost_since(sums->p, (struct cost){0});
        faults_restart(sums->p);
        cr_expect(run_watched(sums->p, sums->body, counts, &price), "%s", sums->body);
        struct cost once = cost_since(sums->p, before);
        once.price = price;
        fail_among(sums, false, counts[0], once);
        fail_among(sums, true, counts[1], once);
        if (getenv("FAULTS_TESTED"))
            fprintf(stderr, "%s: %u and %u\n", sums->body, counts[0], counts[1]);
    }
    fixture_forget(sums->p->f);
    return succeeds;
}

/* Every kind of job whose number leaves ROW. */
static void fail_row(unsigned row)
{
    struct sums sums = {.p = faults_open(), .row = row};
    kinds_try(fail_kind, &sums);
    domain_expect_whole_ledger(sums.p->f);
    fprintf(stderr, "%u failing calls and allocations in row %u of %u kinds of jobs\n",
            sums.failures, row, sums.kinds);
    cr_expect_gt(sums.kinds, 40);
    free(sums.body);
    faults_close(sums.p);
}

/* Criterion runs them side by side. */
Test(job_faults, cost_no_job_and_no_budget_0)
{
    fail_row(0);
}

Test(job_faults, cost_no_job_and_no_budget_1)
{
    fail_row(1);
}

Test(job_faults, cost_no_job_and_no_budget_2)
{
    fail_row(2);
}

Test(job_faults, cost_no_job_and_no_budget_3)
{
    fail_row(3);
}
