/* Reading an algorithm's settings by its own table. */
#ifndef TACET_API_JOBS_ASK_JOB_PARAMETERS_H
#define TACET_API_JOBS_ASK_JOB_PARAMETERS_H

#include "algos/algorithm.h"
#include "api/call/call.h"

/* Reads OBJECT (NULL: none), which stands at PLACE of the body, and gathers faults. What it leaves
 * out has the default of WORLD (NULL: of any). */
void job_parameters_read(struct call *call, const char *place, const struct algorithm *algorithm,
                         const char *world, const json_t *object, struct parameter_values *out);

#endif
