/* Which accountant answers, and who is asked beside it. */
#include "algos/privacy/accounting/privacy_report.h"

#include <math.h>

#include "algos/privacy/accounting/accountant_pld.h"
#include "algos/privacy/laws/gaussian_dp.h"

/* A PRIVACY_QUICK plan with more parts than this is not shown to the other accountants. */
#define QUICK_PARTS 8

/* Figures that are exact but for floating point are lowered by this part. */
#define ROUNDING 1e-6

static const struct pld_effort COARSE = {.relative_gap = 2e-4, .max_log2_size = 20};

/* Whether UPPER is of a plan that somebody would run: where hardly anything is protected, or hardly
 * anything told, figures take longest and matter least. */
static bool is_sensible(const struct privacy_question *question, double upper)
{
    return question->for_delta ? upper > 1e-30 && upper < 0.5 : upper > 1e-6 && upper < 100.0;
}

static enum accountant_status ask_accountant(const struct accountant *accountant,
                                             const struct composition *composition,
                                             const struct privacy_question *question,
                                             enum privacy_effort effort,
                                             struct privacy_interval *out)
{
    struct work work = {PRIVACY_QUICK_STEPS};
    const struct accountant_question asked = {question->for_delta, question->at,
                                              effort == PRIVACY_QUICK ? &work : NULL};
    return accountant_answer(accountant, composition, &asked, out);
}

static enum accountant_status ask_pld(const struct composition *composition,
                                      const struct privacy_question *question,
                                      enum privacy_effort effort, struct privacy_interval *out)
{
    enum pld_figure figure = question->for_delta ? PLD_DELTA : PLD_EPSILON;
    struct work work = {PRIVACY_QUICK_STEPS};
    struct pld_effort coarse = COARSE, fine = ACCOUNTANT_PLD_EFFORT;
    if (effort == PRIVACY_QUICK) {
        coarse.work = fine.work = &work;
        enum accountant_status status =
            accountant_pld_figure(composition, figure, question->at, &coarse, out);
        if (status != ACCOUNTANT_OK || !is_sensible(question, out->upper))
            return status;
    }
    return accountant_pld_figure(composition, figure, question->at, &fine, out);
}

const struct accountant *privacy_report_accountant(const struct composition *composition)
{
    if (!isnan(gaussian_dp_mu(composition)))
        return &accountant_gdp;
    for (size_t i = 0; i < composition->count; i++)
        if (composition->part[i].mechanism.kind == MECHANISM_DIRICHLET)
            return &accountant_renyi;
    return &accountant_pld;
}

static double upper_of(const struct accountant *accountant, const struct composition *composition,
                       const struct privacy_question *question, enum privacy_effort effort)
{
    struct privacy_interval figure;
    bool good = ask_accountant(accountant, composition, question, effort, &figure) == ACCOUNTANT_OK;
    return good && isfinite(figure.upper) ? figure.upper : (double)NAN;
}

static double exact_lower(const struct composition *composition,
                          const struct privacy_question *question, enum privacy_effort effort)
{
    struct privacy_interval pairs = {0};
    (void)ask_accountant(&accountant_exact, composition, question, effort, &pairs);
    return pairs.lower * (1.0 - ROUNDING);
}

/* What COMPOSITION, with Dirichlet parts, costs at least: the exact price of some pairs of
 * neighbours. 0 where none can be computed. Other parts may put the integral out of reach, or take
 * long (with ALL they are tried); who sees the Dirichlet answers alone learns no more. */
static double lower_of(const struct composition *composition,
                       const struct privacy_question *question, enum privacy_effort effort,
                       bool all)
{
    struct composition alone = {0};
    for (size_t i = 0; i < composition->count; i++)
        if (composition->part[i].mechanism.kind == MECHANISM_DIRICHLET)
            (void)composition_add(&alone, &composition->part[i].mechanism,
                                  composition->part[i].times);
    double lower = exact_lower(&alone, question, effort);
    if (all && alone.count < composition->count)
        lower = fmax(lower, exact_lower(composition, question, effort));
    composition_clear(&alone);
    return lower;
}

enum accountant_status privacy_report_make(const struct composition *composition,
                                           const struct privacy_question *question,
                                           enum privacy_effort effort, struct privacy_report *out)
{
    const struct accountant *accountant = privacy_report_accountant(composition);
    struct privacy_report report = {.accountant = accountant->name, .renyi = NAN, .exact = NAN};
    struct privacy_interval *figure = &report.figure;
    bool full = effort == PRIVACY_FULL, by_pld = accountant == &accountant_pld;
    enum accountant_status status =
        by_pld ? ask_pld(composition, question, effort, figure)
               : ask_accountant(accountant, composition, question, effort, figure);
    if (status != ACCOUNTANT_OK)
        return status;
    if (!isfinite(figure->upper))
        return ACCOUNTANT_OUT_OF_REACH;
    bool all = full || (composition->count <= QUICK_PARTS && is_sensible(question, figure->upper));
    if (accountant == &accountant_renyi)
        figure->lower = fmin(lower_of(composition, question, effort, all), figure->upper);
    if (all) {
        report.renyi = upper_of(&accountant_renyi, composition, question, effort);
        if (accountant != &accountant_renyi && (full || !question->for_delta))
            report.exact = upper_of(&accountant_exact, composition, question, effort);
    }
    *out = report;
    return ACCOUNTANT_OK;
}
