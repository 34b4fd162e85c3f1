/* Values to coordinates. Ranges and clipping are description_fit's. */
#include "api/data/table_values.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "memory/memory.h"

struct table_tally table_tally_new(const struct description *description)
{
    struct table_tally tally = {0};
    tally.features = memory_new(description->feature_count, sizeof *tally.features);
    tally.feature_count = description->feature_count;
    for (unsigned f = 0; f < tally.feature_count; f++)
        if (description->features[f].category_count > 0)
            tally.features[f].categories =
                memory_new(description->features[f].category_count, sizeof(uint64_t));
    tally.actions = memory_new(description->action_count, sizeof *tally.actions);
    return tally;
}

void table_tally_free(struct table_tally *tally)
{
    for (unsigned f = 0; f < tally->feature_count; f++)
        free(tally->features[f].categories);
    free(tally->features);
    free(tally->actions);
}

static void tally_value(struct table_found *found, double value, double low, double high)
{
    if (found->values == 0 || value < found->low)
        found->low = value;
    if (found->values == 0 || value > found->high)
        found->high = value;
    found->values++;
    found->outside += value < low || value > high;
}

/* ---- numbers */

bool table_is_missing(const char *text)
{
    static const char *const names[] = {"NA", "N/A", "NaN", "NULL"};
    bool missing = text[0] == '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        missing |= strcasecmp(text, names[i]) == 0;
    return missing;
}

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* True when TEXT is [+-] digits [. digits] [e [+-] digits], with a digit before the exponent. */
static bool is_decimal(const char *text)
{
    text += *text == '+' || *text == '-';
    const char *end = skip_digits(text);
    bool digits = end > text;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digits |= end > fraction;
    }
    if (digits && (*end == 'e' || *end == 'E')) {
        const char *exponent = end + 1;
        exponent += *exponent == '+' || *exponent == '-';
        end = skip_digits(exponent);
        digits = end > exponent;
    }
    return digits && *end == '\0';
}

/* True when TEXT would be a number but for a comma. */
static bool has_decimal_comma(const char *text)
{
    char copy[64];
    char *comma = NULL;
    size_t size = strlen(text);
    if (size >= sizeof copy)
        return false;
    memcpy(copy, text, size + 1);
    comma = strchr(copy, ',');
    if (!comma)
        return false;
    *comma = '.';
    return is_decimal(copy);
}

const char *table_number(const char *text, double *out)
{
    if (has_decimal_comma(text))
        return "has a decimal comma: write a point, and nothing between thousands";
    if (!is_decimal(text))
        return "must be a number";
    *out = strtod(text, NULL);
    return fabs(*out) <= FLT_MAX ? NULL : "is beyond the range of a 32-bit float";
}

/* ---- features */

static bool value_refused(char *detail, const char *text)
{
    snprintf(detail, DESCRIPTION_FAULT_SIZE, "%s", text);
    return false;
}

static void set_category(const struct description_feature *feature, unsigned category, float *state)
{
    for (unsigned c = 0; c < feature->category_count; c++)
        state[feature->coordinate + c] = (float)(c == category);
}

/* Takes a VALUE of 0 or less of a feature on a logarithmic scale: moved to the lowest value where
 * the description clips, otherwise a fault in DETAIL. */
static bool value_without_logarithm(const struct description *description,
                                    const struct description_feature *feature, double value,
                                    float *state, char *detail)
{
    state[feature->coordinate] = (float)log10(feature->low);
    if (description->clips)
        return true;
    snprintf(detail, DESCRIPTION_FAULT_SIZE, "%s is %.6g, below its lowest value %.6g",
             feature->name, value, feature->low);
    return false;
}

static void value_put(const struct description_feature *feature, double value, float *state)
{
    if (feature->logarithmic)
        value = log10(value);
    state[feature->coordinate] = (float)value;
}

/* Puts a FEATURE's constant, or its PREVIOUS value, in the place of a missing value. */
static bool value_fill(const struct description *description, unsigned feature,
                       const float *previous, float *state, struct table_tally *tally,
                       char detail[DESCRIPTION_FAULT_SIZE])
{
    const struct description_feature *which = &description->features[feature];
    size_t width = description_width(which);
    uint32_t at = which->coordinate;
    if (tally)
        tally->features[feature].missing++;
    if (which->carries && previous)
        memcpy(state + at, previous + at, width * sizeof *state);
    else if (which->fills && which->category_count > 0)
        set_category(which, (unsigned)which->fill, state);
    else if (which->fills)
        value_put(which, which->fill, state);
    else if (which->carries)
        return value_refused(detail, "is missing, and so is a value before it in the episode");
    else
        return value_refused(detail, "is missing; the table's member \"missing\" may say what "
                                     "fills in for it");
    return true;
}

static void set_found_category(const struct description_feature *feature, unsigned category,
                               float *state, struct table_found *found)
{
    set_category(feature, category, state);
    if (!found)
        return;
    found->values++;
    found->categories[category]++;
}

bool table_value_number(const struct description *description, unsigned feature, double value,
                        const float *previous, float *state, struct table_tally *tally,
                        char detail[DESCRIPTION_FAULT_SIZE])
{
    const struct description_feature *which = &description->features[feature];
    struct table_found *found = tally ? &tally->features[feature] : NULL;
    uint32_t at;
    if (isnan(value))
        return value_fill(description, feature, previous, state, tally, detail);
    if (!(fabs(value) <= FLT_MAX))
        return value_refused(detail, "is beyond the range of a 32-bit float");
    unsigned count = which->category_count;
    if (count > 0 && !(value >= 0 && value < count && value == floor(value))) {
        snprintf(detail, DESCRIPTION_FAULT_SIZE, "must be the index of a category, from 0 to %u",
                 count - 1);
        return false;
    }
    if (count > 0) {
        set_found_category(which, (unsigned)value, state, found);
        return true;
    }
    if (found)
        tally_value(found, value, which->low, which->high);
    if (which->logarithmic && value <= 0)
        return value_without_logarithm(description, which, value, state, detail);
    value_put(which, value, state);
    return description_fit(description, feature, state, &at, detail);
}

bool table_value_text(const struct description *description, unsigned feature, const char *text,
                      const float *previous, float *state, struct table_tally *tally,
                      char detail[DESCRIPTION_FAULT_SIZE])
{
    const struct description_feature *which = &description->features[feature];
    double value = 0;
    for (unsigned c = 0; c < which->category_count; c++)
        if (strcmp(text, which->categories[c]) == 0)
            return table_value_number(description, feature, c, previous, state, tally, detail);
    if (table_is_missing(text))
        return value_fill(description, feature, previous, state, tally, detail);
    if (which->category_count > 0)
        return value_refused(detail, "is none of the feature's categories");
    const char *problem = table_number(text, &value);
    if (problem)
        return value_refused(detail, problem);
    return table_value_number(description, feature, value, previous, state, tally, detail);
}

/* ---- actions */

static bool action_take(uint32_t action, uint16_t *out, struct table_tally *tally)
{
    *out = (uint16_t)action;
    if (tally)
        tally->actions[action]++;
    return true;
}

static bool action_bin(const struct description *description, double value, uint16_t *out,
                       struct table_tally *tally, char *detail)
{
    const struct description_bins *bins = &description->bins;
    bool inside = value >= bins->low && value <= bins->high;
    unsigned bin = 0;
    if (tally)
        tally_value(&tally->dose, value, bins->low, bins->high);
    if (!inside && !description->clips) {
        snprintf(detail, DESCRIPTION_FAULT_SIZE, "the action is %.6g, outside of %.6g to %.6g",
                 value, bins->low, bins->high);
        return false;
    }
    while (bin < bins->count && value > bins->edges[bin])
        bin++;
    return action_take(bin, out, tally);
}

bool table_action_number(const struct description *description, double value, uint16_t *out,
                         struct table_tally *tally, char detail[DESCRIPTION_FAULT_SIZE])
{
    unsigned count = description->action_count;
    if (!(fabs(value) <= FLT_MAX))
        return value_refused(detail, "is beyond the range of a 32-bit float");
    if (description->bins.count > 0)
        return action_bin(description, value, out, tally, detail);
    if (value >= 0 && value < count && value == floor(value)) {
        if (tally)
            tally->action_numbers++;
        return action_take((uint32_t)value, out, tally);
    }
    snprintf(detail, DESCRIPTION_FAULT_SIZE,
             value == floor(value)
                 ? "must be the index of an action, from 0 to %u"
                 : "must be the index of an action, from 0 to %u; for continuous actions declare "
                   "bins (\"actions\":{\"edges\":[...],...})",
             count - 1);
    return false;
}

/* Refuses a name, and lists the first of those that there are. */
static bool action_refused(const struct description *description, char *detail)
{
    int used = snprintf(detail, DESCRIPTION_FAULT_SIZE, "is the name of no action. There are");
    unsigned a = 0;
    for (; a < description->action_count && used < DESCRIPTION_FAULT_SIZE - 80; a++)
        used += snprintf(detail + used, DESCRIPTION_FAULT_SIZE - (size_t)used, "%s %s",
                         a > 0 ? "," : "", description->actions[a]);
    if (a < description->action_count)
        snprintf(detail + used, DESCRIPTION_FAULT_SIZE - (size_t)used, ", and others");
    return false;
}

bool table_action_text(const struct description *description, const char *text, uint16_t *out,
                       struct table_tally *tally, char detail[DESCRIPTION_FAULT_SIZE])
{
    bool names_are_numbers = false;
    double value = 0;
    for (unsigned a = 0; a < description->action_count; a++) {
        if (description->bins.count == 0 && strcmp(text, description->actions[a]) == 0)
            return action_take(a, out, tally);
        names_are_numbers |= is_decimal(description->actions[a]);
    }
    const char *problem = table_number(text, &value);
    if (description->bins.count > 0 && problem)
        return value_refused(detail, problem);
    if (description->bins.count == 0 && (problem || names_are_numbers))
        return action_refused(description, detail);
    return table_action_number(description, value, out, tally, detail);
}
