/* Renyi accounting of a plan fixed in advance.
 *
 * DESIGN. Divergences of one order add up, and at any order the sum converts to an epsilon
 * (Canonne, Kamath, Steinke 2020); for a plan fixed in advance the best order may be chosen
 * afterwards, over the whole line. With c = order - 1 and K(c) = c times the divergence, convex in
 * c, epsilon <= (K(c) + c ln c - (1+c) ln(1+c) - ln delta) / c, ln delta <= K(c) - c epsilon + c ln
 * c - (1+c) ln(1+c), both with one valley in c. What (epsilon, delta) pairs leave to chance is
 * subtracted from delta first (their finite losses have a divergence of their own). Divergences are
 * rounded up, so the figures are bounds. Filters must not choose afterwards: they use one order,
 * docs/proofs/budgets.md. */
#include <math.h>

#include "algos/privacy/accounting/accountant_laws.h"
#include "algos/privacy/accounting/accountant_renyi.h"
#include "algos/privacy/laws/dirichlet.h"
#include "algos/privacy/laws/renyi.h"
#include "algos/privacy/math/minimum.h"

#define ROUND_UP    (1.0 + 1e-9)
#define PRICE_STEPS 5e6 /* of work for a price at one order: some 15 ms */

struct plan {
    const struct composition *composition;
    bool for_delta;
    double at; /* epsilon, or ln of the delta that finite losses may have */
    struct work *work;
};

/* The divergence of ORDER of one run, rounded up; INFINITY where there is none, or none without
 * more WORK. */
static double divergence_of(const struct mechanism *mechanism, double order, struct work *work)
{
    switch (mechanism->kind) {
    case MECHANISM_SUBSAMPLED_GAUSSIAN: {
        double rate = mechanism->gaussian.sampling_rate,
               noise = mechanism->gaussian.noise_multiplier;
        if (!work_take(work, renyi_subsampled_gaussian_steps(rate, noise, order)))
            return INFINITY;
        return renyi_subsampled_gaussian(rate, noise, order);
    }
    case MECHANISM_DIRICHLET: {
        struct dirichlet dirichlet = {.actions = mechanism->dirichlet.actions,
                                      .concentration = mechanism->dirichlet.concentration,
                                      .min_probability = mechanism->dirichlet.min_probability,
                                      .sensitivity = mechanism->dirichlet.sensitivity};
        return order < dirichlet_order_limit(&dirichlet) ? dirichlet_answer_bound(&dirichlet, order)
                                                         : INFINITY;
    }
    case MECHANISM_LAPLACE:
    case MECHANISM_RANDOMIZED_RESPONSE:
    case MECHANISM_EPSILON_DELTA: break;
    }
    struct mechanism whole = *mechanism;
    if (whole.kind == MECHANISM_EPSILON_DELTA)
        whole.pair.delta = 0.0; /* plan_log_finite_mass has it */
    struct contour_law law = accountant_law_of(&whole, 1.0);
    double c = order - 1.0, greatest = contour_law_greatest(&law);
    double value = contour_law_log_moment(&law, c) / c * ROUND_UP;
    /* Small exponents are summed with relative accuracy, large ones as logarithms. */
    return c * greatest < 19.0 ? value : value + 1e-13 / c;
}

/* ln of the probability that all (epsilon, delta) pairs have a finite loss: 0 without pairs. */
static double plan_log_finite_mass(const struct composition *composition)
{
    double sum = 0.0;
    for (size_t i = 0; i < composition->count; i++)
        if (composition->part[i].mechanism.kind == MECHANISM_EPSILON_DELTA)
            sum += (double)composition->part[i].times *
                   log1p(-composition->part[i].mechanism.pair.delta);
    return sum;
}

/* The divergence of ORDER of the finite losses of the whole plan, rounded up. It may be negative,
 * as their mass may be below 1. INFINITY also where WORK does not suffice. */
static double plan_divergence(const struct composition *composition, double order,
                              struct work *work)
{
    double sum = 0;
    for (size_t i = 0; i < composition->count && isfinite(sum); i++)
        sum += (double)composition->part[i].times *
               divergence_of(&composition->part[i].mechanism, order, work);
    return sum * ROUND_UP + plan_log_finite_mass(composition) / (order - 1.0) / ROUND_UP;
}

static double bound_at(const void *context, double log_c)
{
    const struct plan *plan = context;
    double c = (1.0 + exp(log_c)) - 1.0; /* that the order 1 + c is exact */
    double k = c * plan_divergence(plan->composition, 1.0 + c, plan->work) + c * log(c) -
               (1.0 + c) * log1p(c);
    double spent = plan->for_delta ? c * plan->at : plan->at;
    double bound = k - spent + 1e-14 * (1.0 + fabs(k) + fabs(spent));
    return plan->for_delta ? bound : bound / c;
}

/* Mass of the losses that no epsilon covers, rounded up. */
static double plan_infinite_mass(const struct composition *composition)
{
    return (0.0 - expm1(plan_log_finite_mass(composition))) * (1.0 + 1e-12);
}

bool accountant_renyi_price(const struct composition *composition, double order,
                            struct renyi_price *out)
{
    struct work work = {PRICE_STEPS};
    *out = (struct renyi_price){.divergence = plan_divergence(composition, order, &work),
                                .delta = plan_infinite_mass(composition)};
    if (out->divergence < 0.0)
        out->divergence = 0.0; /* no release makes another one cheaper */
    return isfinite(out->divergence) && out->delta < 1.0;
}

/* The divergence of order infinity, rounded up: INFINITY where losses have no end. */
static double greatest_loss(const struct composition *composition)
{
    double sum = 0;
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *mechanism = &composition->part[i].mechanism;
        if (mechanism->kind == MECHANISM_SUBSAMPLED_GAUSSIAN ||
            mechanism->kind == MECHANISM_DIRICHLET)
            return INFINITY;
        struct contour_law law = accountant_law_of(mechanism, (double)composition->part[i].times);
        sum += contour_law_greatest(&law);
    }
    return sum * (1.0 + 1e-12);
}

static double best_bound(const struct plan *plan)
{
    double value;
    minimum_of(bound_at, plan, log(8.0), log(1e-6), log(1e9), 1e-4, &value);
    return value;
}

static enum accountant_status renyi_epsilon(const struct composition *composition,
                                            const struct accountant_question *question,
                                            struct privacy_interval *out)
{
    double finite = question->at - plan_infinite_mass(composition);
    if (!(finite > 0.0))
        return ACCOUNTANT_OUT_OF_REACH;
    struct plan plan = {composition, false, log(finite), question->work};
    double bound = fmin(best_bound(&plan), greatest_loss(composition));
    if (!isfinite(bound))
        return ACCOUNTANT_OUT_OF_REACH;
    *out = (struct privacy_interval){0.0, fmax(0.0, bound)};
    return ACCOUNTANT_OK;
}

static enum accountant_status renyi_delta(const struct composition *composition,
                                          const struct accountant_question *question,
                                          struct privacy_interval *out)
{
    double at = question->at;
    if (isinf(at))
        return ACCOUNTANT_OUT_OF_REACH;
    struct plan plan = {composition, true, at, question->work};
    double finite = 0.0;
    if (at < greatest_loss(composition))
        finite = exp(fmin(0.0, best_bound(&plan))) * (1.0 + 1e-12);
    *out = (struct privacy_interval){0.0, fmin(1.0, plan_infinite_mass(composition) + finite)};
    return ACCOUNTANT_OK;
}

static enum accountant_status renyi_figure(const struct composition *composition,
                                           const struct accountant_question *question,
                                           struct privacy_interval *out)
{
    enum accountant_status status = question->for_delta ? renyi_delta(composition, question, out)
                                                        : renyi_epsilon(composition, question, out);
    return question->work && question->work->left <= 0.0 ? ACCOUNTANT_TOO_MUCH_WORK : status;
}

const struct accountant accountant_renyi = {"renyi", renyi_figure};
