/* Mechanisms, compositions and trees of events: what is taken and what is refused. */
#include "algos/privacy/accounting/event.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "algos/privacy/accounting/privacy_report.h"
#include "tests/unit/privacy/plans.h"

static struct mechanism dirichlet(double concentration)
{
    return (struct mechanism){.kind = MECHANISM_DIRICHLET,
                              .dirichlet = {concentration, 0.1, 0.01, 4}};
}

Test(mechanism, ranges)
{
    const struct mechanism good[] = {plan_gaussian(1.0, 1.0),  plan_gaussian(1e-9, 1e9),
                                     plan_laplace(0.1),        plan_response(0.5, 2),
                                     plan_pair(0.0, 0.0),      plan_pair(3.0, 0.5),
                                     plan_response(0.999, 99), dirichlet(20.0)};
    const struct mechanism bad[] = {
        plan_gaussian(0.0, 1.0),
        plan_gaussian(1.1, 1.0),
        plan_gaussian(-0.1, 1.0),
        plan_gaussian(NAN, 1.0),
        plan_gaussian(1.0, 0.0),
        plan_gaussian(1.0, -1.0),
        plan_gaussian(1.0, NAN),
        plan_gaussian(1.0, INFINITY),
        plan_laplace(0.0),
        plan_laplace(-1.0),
        plan_laplace(NAN),
        plan_laplace(INFINITY),
        plan_response(0.0, 2),
        plan_response(1.0, 2),
        plan_response(NAN, 2),
        plan_response(0.5, 1),
        plan_response(0.5, 0),
        plan_pair(-0.1, 0.0),
        plan_pair(NAN, 0.0),
        plan_pair(INFINITY, 0.0),
        plan_pair(1.0, -1e-9),
        plan_pair(1.0, 1.0),
        plan_pair(1.0, NAN),
        dirichlet(1.0),
        {.kind = (enum mechanism_kind)99},
    };
    struct composition composition = {0};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        cr_expect_null(mechanism_problem(&good[i]), "good %zu", i);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect_not_null(mechanism_problem(&bad[i]), "bad %zu", i);
        cr_expect_eq(composition_add(&composition, &bad[i], 1), COMPOSITION_BAD, "bad %zu", i);
    }
    cr_expect_eq(composition.count, 0);
    composition_clear(&composition);
}

Test(composition, equal_parts_merge_and_limits_hold)
{
    struct composition c = {0};
    struct mechanism a = plan_gaussian(0.1, 1.0), b = plan_gaussian(0.1, 2.0);
    cr_assert_eq(composition_add(&c, &a, 3), COMPOSITION_OK);
    cr_assert_eq(composition_add(&c, &b, 1), COMPOSITION_OK);
    cr_assert_eq(composition_add(&c, &a, 4), COMPOSITION_OK);
    cr_assert(c.count == 2 && c.part[0].times == 7 && c.part[1].times == 1);
    cr_assert_eq(composition_add(&c, &a, 0), COMPOSITION_BAD);
    cr_assert_eq(composition_add(&c, &a, COMPOSITION_MAX_TIMES), COMPOSITION_TOO_LONG);
    cr_assert_eq(composition_add(&c, &a, UINT64_MAX), COMPOSITION_TOO_LONG);
    cr_assert(c.count == 2 && c.part[0].times == 7, "as before on failure");
    cr_assert_eq(composition_add(&c, &a, COMPOSITION_MAX_TIMES - 7), COMPOSITION_OK);
    for (unsigned i = 2; i < COMPOSITION_MAX_PARTS; i++) {
        struct mechanism m = plan_laplace(1.0 + i);
        cr_assert_eq(composition_add(&c, &m, 1), COMPOSITION_OK);
    }
    struct mechanism more = plan_laplace(0.5);
    cr_assert_eq(composition_add(&c, &more, 1), COMPOSITION_TOO_LONG);
    cr_assert_eq(composition_add(&c, &b, 1), COMPOSITION_OK, "an old part still grows");
    composition_clear(&c);
    cr_assert(c.count == 0 && !c.part);
    composition_clear(&c);
}

static struct event leaf(struct mechanism mechanism)
{
    return (struct event){.kind = EVENT_MECHANISM, .mechanism = mechanism};
}

/* An event around CHILD, which it takes. */
static struct event around(enum event_kind kind, struct event child)
{
    struct event event = {.kind = kind, .child = malloc(sizeof child), .child_count = 1};
    cr_assert_not_null(event.child);
    event.child[0] = child;
    return event;
}

static struct event sampled(double rate, struct event child)
{
    struct event event = around(EVENT_POISSON_SAMPLED, child);
    event.sampling_rate = rate;
    return event;
}

static struct event repeated(uint64_t times, struct event child)
{
    struct event event = around(EVENT_SELF_COMPOSED, child);
    event.times = times;
    return event;
}

static struct event both(struct event first, struct event second)
{
    struct event event = {
        .kind = EVENT_COMPOSED, .child = malloc(2 * sizeof first), .child_count = 2};
    cr_assert_not_null(event.child);
    event.child[0] = first;
    event.child[1] = second;
    return event;
}

Test(event, flattens)
{
    struct composition c;
    const char *problem = NULL;
    struct event sgd = repeated(100, sampled(0.1, leaf(plan_gaussian(1.0, 2.0))));
    struct event event =
        repeated(3, both(both(sgd, leaf(plan_laplace(4.0))), (struct event){.kind = EVENT_NO_OP}));
    cr_assert_eq(event_flatten(&event, &c, &problem), EVENT_OK, "%s", problem);
    cr_assert_eq(c.count, 2);
    cr_assert(c.part[0].times == 300 && c.part[0].mechanism.gaussian.sampling_rate == 0.1 &&
              c.part[0].mechanism.gaussian.noise_multiplier == 2.0);
    cr_assert(c.part[1].times == 3 && c.part[1].mechanism.kind == MECHANISM_LAPLACE);
    composition_clear(&c);
    event_clear(&event);
    cr_assert(!event.child && event.child_count == 0);
}

/* Flattens EVENT, which must fail with WANT and leave nothing; takes EVENT. */
static void refused(struct event event, enum event_status want, const char *what)
{
    struct composition c;
    const char *problem = NULL;
    cr_expect_eq(event_flatten(&event, &c, &problem), want, "%s", what);
    cr_expect_not_null(problem, "%s", what);
    cr_expect(!c.part && c.count == 0 && c.capacity == 0, "%s", what);
    cr_expect_eq(event_flatten(&event, &c, NULL), want, "%s", what);
    event_clear(&event);
}

Test(event, refusals)
{
    struct event nothing = {.kind = EVENT_NO_OP}, open = {.kind = EVENT_NON_PRIVATE};
    struct mechanism g = plan_gaussian(1.0, 1.0);
    refused(nothing, EVENT_EMPTY, "nothing");
    refused((struct event){.kind = EVENT_COMPOSED}, EVENT_EMPTY, "empty list");
    refused(sampled(0.5, nothing), EVENT_EMPTY, "a sample for nothing");
    refused(open, EVENT_UNSUPPORTED, "non-private");
    refused(both(leaf(g), open), EVENT_UNSUPPORTED, "something non-private");
    refused(leaf(plan_gaussian(1.0, NAN)), EVENT_BAD, "NaN");
    refused(leaf(plan_gaussian(0.5, 1.0)), EVENT_BAD, "a rate of its own");
    refused(sampled(0.5, leaf(plan_gaussian(0.5, 1.0))), EVENT_BAD, "a rate of its own, sampled");
    refused(sampled(0.0, leaf(g)), EVENT_BAD, "rate 0");
    refused(sampled(1.5, leaf(g)), EVENT_BAD, "rate above 1");
    refused(sampled(NAN, leaf(g)), EVENT_BAD, "rate NaN");
    refused(sampled(0.5, leaf(plan_laplace(1.0))), EVENT_UNSUPPORTED, "sampled Laplace");
    refused(sampled(0.5, both(leaf(g), leaf(g))), EVENT_UNSUPPORTED, "one sample for two");
    refused(sampled(0.5, repeated(2, leaf(g))), EVENT_UNSUPPORTED, "one sample for two runs");
    refused((struct event){.kind = EVENT_POISSON_SAMPLED, .sampling_rate = 0.5}, EVENT_BAD,
            "a sample for nobody");
    refused((struct event){.kind = EVENT_SELF_COMPOSED, .times = 2}, EVENT_BAD, "no child");
    refused(repeated(0, leaf(g)), EVENT_BAD, "never");
    refused(repeated(COMPOSITION_MAX_TIMES + 1ULL, leaf(g)), EVENT_TOO_LONG, "too often");
    refused(repeated(10000000, repeated(10000000, leaf(g))), EVENT_TOO_LONG, "too often, nested");
    refused(repeated(UINT64_MAX, repeated(UINT64_MAX, leaf(g))), EVENT_TOO_LONG, "overflow");
    refused((struct event){.kind = (enum event_kind)77}, EVENT_BAD, "unknown");
}

Test(event, depth)
{
    struct composition c;
    struct event event = leaf(plan_gaussian(1.0, 1.0));
    for (int i = 1; i < EVENT_MAX_DEPTH; i++)
        event = around(EVENT_COMPOSED, event);
    cr_assert_eq(event_flatten(&event, &c, NULL), EVENT_OK);
    composition_clear(&c);
    refused(around(EVENT_COMPOSED, event), EVENT_TOO_DEEP, "33 deep");
}

Test(accountant, table)
{
    struct composition c = {0};
    struct mechanism g = plan_gaussian(0.1, 1.0), d = dirichlet(20.0);
    cr_assert_eq(composition_add(&c, &g, 1), COMPOSITION_OK);
    cr_assert_eq(privacy_report_accountant(&c), &accountant_pld);
    cr_assert_eq(composition_add(&c, &d, 1), COMPOSITION_OK);
    cr_assert_neq(privacy_report_accountant(&c), &accountant_pld);
    composition_clear(&c);
}
