/* The rule of verdict.h. */
#include "algos/offline/judge/verdict.h"

#include <math.h>

const char *judge_verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"not_supported", "weak", "supported"};
    return names[verdict];
}

/* Adds REASON, and lowers the verdict to AT_MOST. */
static void verdict_lower(struct judge_verdict *out, enum verdict at_most, const char *reason)
{
    if (out->verdict > at_most)
        out->verdict = at_most;
    out->reason[out->reason_count++] = reason;
}

static bool verdict_inside(const struct judge_figures *f, double value)
{
    return value >= f->lowest && value <= f->highest; /* false for what is no number */
}

/* Sets the combined interval. */
static void verdict_combine(const struct judge_figures *f, struct judge_verdict *out)
{
    double low = fmin(f->fitted.low, f->robust.low), high = fmax(f->fitted.high, f->robust.high);
    if (f->effective >= VERDICT_SAMPLES) {
        low = fmin(low, f->sampling.low);
        high = fmax(high, f->sampling.high);
    }
    if (f->tried < VERDICT_TRIED) {
        low = fmin(low, f->bound_low);
        high = fmax(high, f->bound_high);
    }
    out->low = fmin(fmax(low, f->lowest), f->highest);
    out->high = fmin(fmax(high, f->lowest), f->highest);
}

struct judge_verdict judge_decide(const struct judge_figures *f)
{
    struct judge_verdict out = {.verdict = VERDICT_SUPPORTED};
    verdict_combine(f, &out);
    out.outside = !verdict_inside(f, f->fitted.value) || !verdict_inside(f, f->robust.value) ||
                  !verdict_inside(f, f->sampling.value);
    if (f->units < VERDICT_UNITS)
        verdict_lower(&out, VERDICT_NOT_SUPPORTED, "The data have fewer than ten units.");
    if (!(f->lowest < f->highest))
        verdict_lower(&out, VERDICT_NOT_SUPPORTED, "All logged returns are alike.");
    if (f->tried < VERDICT_LEAST_TRIED)
        verdict_lower(&out, VERDICT_NOT_SUPPORTED,
                      "The policy often does what the data hardly hold.");
    else if (f->tried < VERDICT_TRIED)
        verdict_lower(&out, VERDICT_WEAK, "The policy sometimes does what the data hardly hold.");
    if (out.outside)
        verdict_lower(&out, VERDICT_NOT_SUPPORTED,
                      "An estimate lies outside of the logged returns.");
    double gap = fmax(f->fitted.low - f->robust.high, f->robust.low - f->fitted.high);
    if (gap > VERDICT_GAP * (f->highest - f->lowest))
        verdict_lower(&out, VERDICT_NOT_SUPPORTED, "The estimators contradict each other.");
    if (out.high - out.low > VERDICT_WIDE * (f->highest - f->lowest))
        verdict_lower(&out, VERDICT_NOT_SUPPORTED,
                      "The data say next to nothing: the interval takes more than half of the "
                      "logged range.");
    if (out.high < f->behaviour.value)
        verdict_lower(&out, VERDICT_NOT_SUPPORTED,
                      "The data say that the policy does worse than who made them.");
    else if (out.low < f->behaviour.value)
        verdict_lower(&out, VERDICT_WEAK,
                      "The policy may do worse than who made the data: its interval reaches below "
                      "their mean.");
    if (out.reason_count == 0)
        out.reason[out.reason_count++] =
            "The policy keeps to what was tried, the estimators agree, and its interval lies above "
            "the mean of who made the data.";
    return out;
}
