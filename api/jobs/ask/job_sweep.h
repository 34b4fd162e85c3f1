/* Sweeps: a job that trains with several settings, one after the other, and gives the best.
 *
 *   "sweep":{"learning_rate":[0.001,0.003],"batch_size":[64,128]}
 *
 * PRIVACY. Every try is charged: the price is that of all tries together, composed by the one
 * accountant that prices a single run, and it is held before the first of them begins. Each try is
 * a plan of its own whose noise is the least at which all of them together cost at most what was
 * asked for. Nothing is saved by choosing well: after that any choice among the tries is
 * post-processing, and so is judging each by playing it in a public world, which is what is done.
 */
#ifndef TACET_API_JOBS_ASK_JOB_SWEEP_H
#define TACET_API_JOBS_ASK_JOB_SWEEP_H

#include "api/jobs/ask/job_request.h"

/* The lists of a request, checked: an axis is a parameter with its values. */
struct job_sweep {
    unsigned axis_count;
    struct job_sweep_axis {
        unsigned parameter; /* index in the algorithm's table */
        unsigned count;
        struct parameter_value *values; /* of the call's arena */
    } axes[PARAMETERS_MAX];
    unsigned tries; /* their product */
};

/* Reads the object at "/sweep" beside the PARAMETERS that all tries share (NULL: none), and gathers
 * faults. PLAN's mechanism and evaluation are known. */
void job_sweep_read(struct call *call, const json_t *object, const json_t *parameters,
                    const struct job_plan *plan, struct job_sweep *out);

/* Plans all tries of SWEEP from PLAN, which has what they share: its tries, and its own figures as
 * their sums. As struct algorithm's plan; ALGORITHM_INFEASIBLE when not every try can be paid for
 * together. What is made is of the call's arena. */
enum algorithm_status job_sweep_plan(struct call *call, const struct job_sweep *sweep,
                                     struct job_plan *plan, const char **message);

/* {"tries":[{"parameters":{...}}]}: what distinguishes the tries; null where there is no sweep. New
 * reference. */
json_t *job_sweep_json(const struct job_plan *plan);

#endif
