/* The least noise, or the most steps, that a budget allows.
 *
 * DESIGN. Both searches move one coordinate x along which epsilon falls: ln noise_multiplier, or
 * -ln steps. ln epsilon is nearly a straight line in it, so false position (Illinois form) needs
 * few evaluations. A first search looks at coarse grids; its result is bracketed and refined on
 * fine ones. What is returned was itself certified to cost at most the target. */
#include <assert.h>
#include <math.h>

#include "algos/privacy/training/dp_sgd_accounting.h"

#define RELATIVE_END 1e-3 /* width of the final bracket */

static const struct pld_effort COARSE = {.relative_gap = 5e-3, .max_log2_size = 20};

struct search {
    struct dp_sgd_plan plan;
    bool for_steps;
    double target;
    bool certify;             /* fine grids and upper bounds, not guesses */
    double least, greatest;   /* range of x */
    double good, good_excess; /* affordable: ln(epsilon / target) <= 0 */
    double bad, bad_excess;   /* too dear; bad < good */
    struct privacy_interval good_interval;
};

static double steps_at(double x)
{
    return floor(exp(-x) * (1.0 + 1e-12));
}

/* Sets the plan to X. A number of steps is rounded to a whole one that was not tried before.
 * Returns the x of the plan that results. */
static double plan_place(struct search *search, double x)
{
    if (!search->for_steps) {
        search->plan.noise_multiplier = fmin(DP_SGD_MAX_NOISE, fmax(DP_SGD_MIN_NOISE, exp(x)));
        return x;
    }
    double steps = fmax(1.0, steps_at(x));
    if (isfinite(search->good))
        steps = fmax(steps, steps_at(search->good) + 1.0);
    if (isfinite(search->bad))
        steps = fmin(steps, steps_at(search->bad) - 1.0);
    search->plan.steps = (uint64_t)steps;
    return -log(steps);
}

/* Evaluates the plan at X and tightens the bracket. */
static enum dp_sgd_plan_status plan_look(struct search *search, double x)
{
    struct privacy_interval interval;
    x = plan_place(search, x);
    enum dp_sgd_plan_status status = dp_sgd_accounting_interval(
        &search->plan, search->certify ? &ACCOUNTANT_PLD_EFFORT : &COARSE, &interval);
    if (status == DP_SGD_PLAN_INFEASIBLE) /* no finite epsilon: surely too dear */
        interval = (struct privacy_interval){1e9 * search->target, 1e9 * search->target};
    else if (status != DP_SGD_PLAN_OK)
        return status;
    /* The upper law's variance errs twice as much as the lower one's. */
    double epsilon = (2.0 * interval.lower + interval.upper) / 3.0;
    if (search->certify)
        epsilon = interval.upper;
    double excess = fmax(-20.0, log(epsilon / search->target));
    if (excess <= 0.0) {
        search->good = x;
        search->good_excess = excess;
        search->good_interval = interval;
    } else {
        search->bad = x;
        search->bad_excess = excess;
    }
    return DP_SGD_PLAN_OK;
}

/* Widens the bracket from X by growing steps until a good and a bad point are known, or until the
 * search reaches an end of the range; that end is then good or bad, as its evaluation shows. */
static enum dp_sgd_plan_status plan_bracket(struct search *search, double x, double step)
{
    search->good = INFINITY;
    search->bad = -INFINITY;
    enum dp_sgd_plan_status status = plan_look(search, x);
    while (status == DP_SGD_PLAN_OK && isinf(search->good) && search->bad < search->greatest) {
        status = plan_look(search, fmin(search->greatest, search->bad + step));
        step *= 2.0;
    }
    while (status == DP_SGD_PLAN_OK && isinf(search->bad) && search->good > search->least) {
        status = plan_look(search, fmax(search->least, search->good - step));
        step *= 2.0;
    }
    return status;
}

static bool plan_narrow_enough(const struct search *search, double width)
{
    return search->good - search->bad <= width ||
           (search->for_steps && steps_at(search->bad) - steps_at(search->good) <= 1.0);
}

static enum dp_sgd_plan_status plan_close_in(struct search *search, double width)
{
    int side = 0;
    for (int i = 0; i < 60 && !plan_narrow_enough(search, width); i++) {
        double good = search->good_excess, bad = search->bad_excess;
        /* Illinois rule: the end that stayed for two steps counts half. */
        good = side < -1 ? 0.5 * good : good;
        bad = side > 1 ? 0.5 * bad : bad;
        double span = search->good - search->bad;
        double x = search->bad + span * (bad / (bad - good));
        /* A third of the wanted width beside the root, on the affordable side; and where the good
         * end is the root already, just far enough below it to end the search. */
        x = fmin(fmax(x + width / 3.0, search->bad + 0.01 * span), search->good - 0.9 * width);
        double before = search->good;
        enum dp_sgd_plan_status status = plan_look(search, x);
        if (status != DP_SGD_PLAN_OK)
            return status;
        if (search->good != before)
            side = side > 0 ? side + 1 : 1;
        else
            side = side < 0 ? side - 1 : -1;
    }
    return DP_SGD_PLAN_OK;
}

/* Finds the best affordable x from a guess X. INFEASIBLE: there is none in the range. */
static enum dp_sgd_plan_status plan_find(struct search *search, double x)
{
    search->certify = false;
    enum dp_sgd_plan_status status =
        plan_bracket(search, fmin(search->greatest, fmax(search->least, x)), 0.5);
    if (status == DP_SGD_PLAN_OK && isfinite(search->good) && isfinite(search->bad))
        status = plan_close_in(search, 0.3 * RELATIVE_END);
    if (status != DP_SGD_PLAN_OK)
        return status;
    search->certify = true;
    x = isfinite(search->good) ? search->good + 0.3 * RELATIVE_END : search->greatest;
    status = plan_bracket(search, fmin(x, search->greatest), 0.9 * RELATIVE_END);
    if (status != DP_SGD_PLAN_OK)
        return status;
    if (isinf(search->good))
        return DP_SGD_PLAN_INFEASIBLE;
    return isfinite(search->bad) ? plan_close_in(search, RELATIVE_END) : DP_SGD_PLAN_OK;
}

static enum dp_sgd_plan_status plan_finish(struct search *search, enum dp_sgd_plan_status status,
                                           struct dp_sgd_plan *plan)
{
    if (status != DP_SGD_PLAN_OK)
        return status;
    if (search->for_steps)
        search->plan.steps = (uint64_t)steps_at(search->good);
    else
        plan_place(search, search->good);
    assert(search->good_interval.upper <= search->target);
    dp_sgd_accounting_fill(&search->plan, &search->good_interval);
    *plan = search->plan;
    return DP_SGD_PLAN_OK;
}

/* ---- what was found before */

static bool search_asks(const struct search *search, const struct dp_sgd_known *known)
{
    const struct dp_sgd_plan *p = &search->plan, *k = &known->asked;
    return search->for_steps == known->for_steps && search->target == known->epsilon &&
           search->least == known->least && p->sampling_rate == k->sampling_rate &&
           p->noise_multiplier == k->noise_multiplier && p->clip_norm == k->clip_norm &&
           p->batch_size == k->batch_size && p->nominal_experts == k->nominal_experts &&
           p->steps == k->steps && p->rounded_draws == k->rounded_draws && p->delta == k->delta;
}

/* Finds the best x from a guess X and fills *PLAN, or repeats what the same search found. Plans
 * after a release are not compared. */
static enum dp_sgd_plan_status plan_search(struct search *search, double x,
                                           struct dp_sgd_plan *plan)
{
    struct dp_sgd_work *work = plan->before.times == 0 ? plan->work : NULL;
    if (!work)
        return plan_finish(search, plan_find(search, x), plan);
    for (unsigned i = 0; i < DP_SGD_KNOWN; i++) {
        const struct dp_sgd_known *known = &work->known[i];
        if (!search_asks(search, known))
            continue;
        if (known->status == DP_SGD_PLAN_OK)
            *plan = known->found;
        return known->status;
    }
    struct dp_sgd_known *now = &work->known[work->searches++ % DP_SGD_KNOWN];
    *now = (struct dp_sgd_known){.asked = search->plan,
                                 .epsilon = search->target,
                                 .least = search->least,
                                 .for_steps = search->for_steps};
    now->status = plan_finish(search, plan_find(search, x), plan);
    now->found = *plan;
    return now->status;
}

/* A plan without steps has no noise to find: what was released before is affordable or not. */
static enum dp_sgd_plan_status find_none(struct dp_sgd_plan *plan, double target_epsilon)
{
    struct dp_sgd_plan none = *plan;
    none.noise_multiplier = 0.0;
    enum dp_sgd_plan_status status = dp_sgd_plan_account(&none);
    if (status != DP_SGD_PLAN_OK)
        return status;
    if (none.epsilon > target_epsilon)
        return DP_SGD_PLAN_INFEASIBLE;
    *plan = none;
    return DP_SGD_PLAN_OK;
}

enum dp_sgd_plan_status dp_sgd_plan_find_noise(struct dp_sgd_plan *plan, double target_epsilon)
{
    if (plan->steps == 0 && plan->before.times > 0 && target_epsilon > 0.0)
        return find_none(plan, target_epsilon);
    struct search search = {.plan = *plan, .target = target_epsilon};
    search.plan.noise_multiplier = 1.0; /* find_noise computes this field, so its former value
                                         * does not matter */
    if (!dp_sgd_accounting_valid(&search.plan) || !(target_epsilon > 0.0) ||
        !isfinite(target_epsilon))
        return DP_SGD_PLAN_BAD;
    search.least = log(DP_SGD_MIN_NOISE);
    search.greatest = log(DP_SGD_MAX_NOISE);
    double guess = plan->sampling_rate * sqrt(2.0 * (double)plan->steps * -log(plan->delta));
    return plan_search(&search, log(fmax(0.3, guess / target_epsilon)), plan);
}

enum dp_sgd_plan_status dp_sgd_plan_find_steps(struct dp_sgd_plan *plan, double target_epsilon,
                                               uint64_t max_steps)
{
    struct search search = {.plan = *plan, .for_steps = true, .target = target_epsilon};
    search.plan.steps = 1;
    if (!dp_sgd_accounting_valid(&search.plan) || !(target_epsilon > 0.0) ||
        !isfinite(target_epsilon) || max_steps == 0)
        return DP_SGD_PLAN_BAD;
    if (max_steps > DP_SGD_MAX_STEPS)
        max_steps = DP_SGD_MAX_STEPS;
    search.least = -log((double)max_steps);
    search.greatest = 0.0;
    double scale = target_epsilon * plan->noise_multiplier / plan->sampling_rate;
    return plan_search(&search, -log(fmax(1.0, scale * scale / (2.0 * -log(plan->delta)))), plan);
}
