/* What a table's or an array's values mean to a description: numbers and names become coordinates
 * and actions. */
#ifndef TACET_API_DATA_TABLE_VALUES_H
#define TACET_API_DATA_TABLE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/data/description.h"

/* What was met of one column. */
struct table_found {
    uint64_t values, outside, missing;
    double low, high;     /* of a number, in its own unit, while values > 0 */
    uint64_t *categories; /* owned: how often each; NULL of a number */
};

/* What was met, for the owner's own eyes: nothing of it is public. */
struct table_tally {
    unsigned feature_count;
    struct table_found *features; /* owned */
    struct table_found dose;      /* of the column whose bins the actions are */
    uint64_t *actions;            /* owned: how often each */
    uint64_t action_numbers;      /* of these: by its number, not by its name */
    uint64_t rewards_missing;     /* filled in for as declared */
};

/* An empty tally. The caller frees it with table_tally_free. */
struct table_tally table_tally_new(const struct description *description);

/* Frees what the tally holds. */
void table_tally_free(struct table_tally *tally);

/* Brings VALUE, in the feature's own unit (of categories: the index of one), into its coordinates
 * of STATE[dim]. NaN is a missing value, which is filled in for as declared; PREVIOUS is the state
 * before it in its episode, or NULL. False: DETAIL says why not. TALLY may be NULL. */
bool table_value_number(const struct description *description, unsigned feature, double value,
                        const float *previous, float *state, struct table_tally *tally,
                        char detail[DESCRIPTION_FAULT_SIZE]);

/* The same of TEXT: a number, the name of a category, or nothing. */
bool table_value_text(const struct description *description, unsigned feature, const char *text,
                      const float *previous, float *state, struct table_tally *tally,
                      char detail[DESCRIPTION_FAULT_SIZE]);

/* The action that VALUE is: its index, or its bin. False: DETAIL says why it is none. */
bool table_action_number(const struct description *description, double value, uint16_t *out,
                         struct table_tally *tally, char detail[DESCRIPTION_FAULT_SIZE]);

/* The same of TEXT: a name; where no action's name is a number, or where actions are bins, a number
 * as well. */
bool table_action_text(const struct description *description, const char *text, uint16_t *out,
                       struct table_tally *tally, char detail[DESCRIPTION_FAULT_SIZE]);

/* Reads TEXT, a decimal number that is finite as a 32-bit float. NULL, or a sentence. */
const char *table_number(const char *text, double *out);

/* True when TEXT stands for no value: empty, or NA, N/A, NaN, NULL in any case. */
bool table_is_missing(const char *text);

#endif
