/* What `tacet import --dry-run` says about a file, for the owner of the data alone. */
#ifndef TACET_CLI_IMPORT_IMPORT_REPORT_H
#define TACET_CLI_IMPORT_IMPORT_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "api/data/expert_names.h"
#include "cli/import/import_source.h"

/* Counts over the whole trajectories of a file. */
struct import_summary {
    struct expert_names *experts; /* owned */
    uint64_t episodes, terminated, steps;
    uint32_t shortest, longest;     /* steps of an episode, while episodes > 0 */
    double reward_low, reward_high; /* likewise */
    uint64_t faults;
};

/* An empty summary. The caller frees it with import_summary_free. */
struct import_summary import_summary_new(void);

/* Frees the names. */
void import_summary_free(struct import_summary *summary);

/* Counts TRAJECTORY of EXPERT. False: there are too many experts. */
bool import_summary_add(struct import_summary *summary, const struct trajectory *trajectory,
                        const char *expert);

/* Warns where actions were given by numbers, which another site may number in another order. */
void import_report_numbers(FILE *out, const struct import_source *source);

/* Warns, where the file goes into DATASET (NULL: a new one), of experts who have the names that the
 * first experts of any file have. */
void import_report_names(FILE *out, const struct import_source *source, const char *dataset);

/* Warns where DELTA of a new dataset is not below 1/experts of the file, and where NOMINAL_EXPERTS
 * (0: not given) are more than twice or less than half of them. */
void import_report_new(FILE *out, const struct import_summary *summary, double delta,
                       uint64_t nominal_experts);

/* Writes the report on SOURCE, which was read to its end with a tally. */
void import_report(FILE *out, const struct import_source *source,
                   const struct import_summary *summary);

#endif
