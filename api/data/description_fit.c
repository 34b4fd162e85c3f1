/* Checks the states of a dataset against its description. */
#include <math.h>
#include <stdio.h>

#include "api/data/description.h"

#define SLACK 1e-6 /* of a bound's size: six decimal places of a logarithm, or a float's */

/* One coordinate within its range, or within the rounding of it. */
static bool fit_number(const struct description *description,
                       const struct description_feature *feature, float *x, char *detail)
{
    const struct feature_range *range = &description->ranges->range[feature->coordinate];
    if (!isfinite(*x)) {
        snprintf(detail, DESCRIPTION_FAULT_SIZE, "%s is not a finite number", feature->name);
        return false;
    }
    double slack = SLACK * fmax(fabs(range->low), fabs(range->high));
    bool below = *x < (float)range->low;
    if (!below && *x <= (float)range->high)
        return true;
    bool near = *x >= range->low - slack && *x <= range->high + slack;
    if (near || description->clips) {
        *x = (float)(below ? range->low : range->high);
        return true;
    }
    const char *where = below ? "below its lowest" : "above its highest";
    double bound = below ? feature->low : feature->high;
    if (feature->logarithmic)
        snprintf(detail, DESCRIPTION_FAULT_SIZE,
                 "%s is %.6g, whose decimal logarithm %.6g is in the state, %s value %.6g",
                 feature->name, pow(10, *x), (double)*x, where, bound);
    else
        snprintf(detail, DESCRIPTION_FAULT_SIZE, "%s is %.6g, %s value %.6g", feature->name,
                 (double)*x, where, bound);
    return false;
}

/* One 1 and zeros. *OUT_AT is the first coordinate that breaks the rule. */
static bool fit_categories(const struct description_feature *feature, const float *block,
                           uint32_t *out_at, char *detail)
{
    unsigned ones = 0;
    for (unsigned c = 0; c < feature->category_count; c++) {
        ones += block[c] == 1.0F;
        if ((block[c] == 1.0F && ones == 1) || block[c] == 0.0F)
            continue;
        *out_at = c;
        snprintf(detail, DESCRIPTION_FAULT_SIZE,
                 "%s has %u categories: one of its coordinates must be 1 and the others 0",
                 feature->name, feature->category_count);
        return false;
    }
    *out_at = 0;
    if (ones == 1)
        return true;
    snprintf(detail, DESCRIPTION_FAULT_SIZE,
             "%s has no category: one of its %u coordinates must be 1", feature->name,
             feature->category_count);
    return false;
}

bool description_fit(const struct description *description, unsigned feature, float *state,
                     uint32_t *out_coordinate, char detail[DESCRIPTION_FAULT_SIZE])
{
    const struct description_feature *which = &description->features[feature];
    float *first = state + which->coordinate;
    uint32_t at = 0;
    bool fits;
    if (which->category_count > 0)
        fits = fit_categories(which, first, &at, detail);
    else
        fits = fit_number(description, which, first, detail);
    *out_coordinate = which->coordinate + at;
    return fits;
}
