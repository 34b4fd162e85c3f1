/* Privacy-loss distributions as an accountant: every part of a composition as outcomes, all in one
 * distribution, once for each direction.
 *
 * A neighbour is made by adding or by removing one unit, for the whole composition at once: the
 * price is the worse of two compositions, not a composition of worse parts. The two directions
 * differ only for the subsampled Gaussian. */
#include "algos/privacy/accounting/accountant_pld.h"

#include <math.h>
#include <stdlib.h>

#include "algos/privacy/laws/pld_mechanisms.h"
#include "algos/privacy/laws/subsampled_gaussian.h"
#include "memory/memory.h"

#define ROUNDING           1e-12
#define MIN_GAUSSIAN_NOISE 0.02 /* below, a normal law spans more cells than are worth it */

const struct pld_effort ACCOUNTANT_PLD_EFFORT = {.relative_gap = 2e-4,
                                                 .max_log2_size = PLD_MAX_LOG2_SIZE};

/* The memory from which a part's outcomes are listed. */
struct source {
    struct subsampled_gaussian gaussian;
    struct pld_atoms atoms;
    double epsilon; /* Laplace */
};

/* Prepares SOURCE and PART from FROM for the direction in which one unit is removed. FROM's
 * mechanism must have passed its `check`. */
static void part_prepare(const struct composition_part *from, struct source *source,
                         struct pld_part *part)
{
    const struct mechanism *m = &from->mechanism;
    *part = (struct pld_part){.times = from->times};
    switch (m->kind) {
    case MECHANISM_SUBSAMPLED_GAUSSIAN:
        source->gaussian =
            (struct subsampled_gaussian){.sampling_rate = m->gaussian.sampling_rate,
                                         .noise_multiplier = m->gaussian.noise_multiplier};
        part->mechanism = subsampled_gaussian_outcomes;
        part->parameters = &source->gaussian;
        return;
    case MECHANISM_LAPLACE:
        source->epsilon = 1.0 / m->laplace.noise_multiplier;
        part->mechanism = pld_laplace_outcomes;
        part->parameters = &source->epsilon;
        part->quantum = source->epsilon;
        return;
    case MECHANISM_RANDOMIZED_RESPONSE:
        source->atoms = pld_atoms_of_response(m->response.noise_parameter, m->response.buckets);
        break;
    case MECHANISM_EPSILON_DELTA:
        source->atoms = pld_atoms_of_pair(m->pair.epsilon, m->pair.delta);
        break;
    case MECHANISM_DIRICHLET: return;
    }
    part->mechanism = pld_atoms_outcomes;
    part->parameters = &source->atoms;
    part->quantum = source->atoms.epsilon;
}

static bool is_gaussian(const struct mechanism *m)
{
    return m->kind == MECHANISM_SUBSAMPLED_GAUSSIAN;
}

static enum accountant_status question_check(const struct composition *composition,
                                             enum pld_figure figure, double at)
{
    bool fine = figure == PLD_EPSILON ? at > 0.0 && at < 1.0 : at >= 0.0 && isfinite(at);
    if (!fine || composition->count == 0)
        return ACCOUNTANT_BAD;
    enum accountant_status status = ACCOUNTANT_OK;
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *m = &composition->part[i].mechanism;
        if (mechanism_problem(m) || composition->part[i].times == 0)
            return ACCOUNTANT_BAD;
        if (m->kind == MECHANISM_DIRICHLET)
            status = ACCOUNTANT_UNSUPPORTED;
        if (is_gaussian(m) && m->gaussian.noise_multiplier < MIN_GAUSSIAN_NOISE)
            status = status == ACCOUNTANT_OK ? ACCOUNTANT_OUT_OF_REACH : status;
    }
    return status;
}

/* Bounds the losses without a grid. *OUT_TOLD: the probability of an infinite loss. *OUT_MOST: the
 * greatest finite loss, INFINITY when the finite losses have no bound. */
static void bound_losses(const struct composition *composition, const struct pld_part *part,
                         double *out_told, double *out_most)
{
    double untold = 0;
    *out_most = 0.0;
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *m = &composition->part[i].mechanism;
        double n = (double)part[i].times;
        *out_most += is_gaussian(m) ? INFINITY : n * part[i].quantum;
        untold += m->kind == MECHANISM_EPSILON_DELTA ? n * log1p(-m->pair.delta) : 0.0;
    }
    *out_told = fmax(0.0, -expm1(untold));
}

/* The interval that follows from *OUT_TOLD and *OUT_MOST of bound_losses alone. */
static struct privacy_interval bounded_interval(enum pld_figure figure, double at, double told,
                                                double most)
{
    double low = told * (1.0 - ROUNDING), high = told * (1.0 + ROUNDING);
    most *= 1.0 + ROUNDING;
    if (figure == PLD_EPSILON)
        return (struct privacy_interval){at < low ? INFINITY : 0.0, at < high ? INFINITY : most};
    return (struct privacy_interval){low, at < most ? 1.0 : high};
}

static enum accountant_status pld_answer_status(enum pld_status status)
{
    switch (status) {
    case PLD_OK: return ACCOUNTANT_OK;
    case PLD_TOO_MUCH_WORK: return ACCOUNTANT_TOO_MUCH_WORK;
    case PLD_TOO_LARGE: return ACCOUNTANT_OUT_OF_REACH;
    case PLD_NO_MEMORY: break;
    }
    return ACCOUNTANT_NO_MEMORY; /* for the grids */
}

enum accountant_status accountant_pld_figure(const struct composition *composition,
                                             enum pld_figure figure, double at,
                                             const struct pld_effort *effort,
                                             struct privacy_interval *out)
{
    enum accountant_status status = question_check(composition, figure, at);
    if (status != ACCOUNTANT_OK)
        return status;
    size_t count = composition->count;
    struct source *source = memory_new(count, sizeof *source);
    struct pld_part *part = memory_new(count, sizeof *part);
    bool two_sided = false;
    for (size_t i = 0; i < count; i++) {
        const struct mechanism *m = &composition->part[i].mechanism;
        part_prepare(&composition->part[i], &source[i], &part[i]);
        two_sided |= is_gaussian(m) && m->gaussian.sampling_rate < 1.0;
    }
    double told, most;
    bound_losses(composition, part, &told, &most);
    struct privacy_interval simple = bounded_interval(figure, at, told, most), removed = simple,
                            added;
    if (most > 0.0)
        status = pld_answer_status(pld_certify(part, count, figure, at, effort, &removed));
    if (status != ACCOUNTANT_OK)
        goto cleanup;
    added = removed;
    if (two_sided) {
        struct pld_effort second = *effort;
        /* The direction of addition matters only where it costs more. */
        second.irrelevant = fmax(second.irrelevant, removed.upper);
        for (size_t i = 0; i < count; i++)
            source[i].gaussian.add = true;
        status = pld_answer_status(pld_certify(part, count, figure, at, &second, &added));
        if (status != ACCOUNTANT_OK)
            goto cleanup;
    }
    struct privacy_interval worse = {fmax(removed.lower, added.lower),
                                     fmax(removed.upper, added.upper)};
    worse.lower = fmax(worse.lower, simple.lower);
    worse.upper = fmin(worse.upper, simple.upper);
    if (isinf(worse.upper) && isfinite(worse.lower))
        status = ACCOUNTANT_OUT_OF_REACH;
    if (status == ACCOUNTANT_OK)
        *out = worse;
cleanup:
    free(source);
    free(part);
    return status;
}

static enum accountant_status pld_answer(const struct composition *composition,
                                         const struct accountant_question *question,
                                         struct privacy_interval *out)
{
    return accountant_pld_figure(composition, question->for_delta ? PLD_DELTA : PLD_EPSILON,
                                 question->at, &ACCOUNTANT_PLD_EFFORT, out);
}

const struct accountant accountant_pld = {"pld", pld_answer};
