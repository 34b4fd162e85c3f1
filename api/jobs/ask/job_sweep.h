/* Sweeps: a job that trains with several settings, one after the other, and gives the best.
 *
 *   "sweep":{"learning_rate":[0.001,0.003],"batch_size":[64,128]}
 *
 * PRIVACY. Every try is charged: the price is that of all tries together, composed by the one
 * accountant that prices a single run, and it is held before the first try begins. Each try is a
 * plan of its own, with the least noise at which all tries together cost at most the requested
 * budget. Choosing the best try then costs nothing more: each is judged by playing it in a public
 * world, which is post-processing. */
#ifndef TACET_API_JOBS_ASK_JOB_SWEEP_H
#define TACET_API_JOBS_ASK_JOB_SWEEP_H

#include "api/jobs/ask/job_request.h"

/* The checked lists of a request. An axis is a parameter with the values it takes. */
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

/* Plans every try of SWEEP. PLAN comes in with what all tries share. On success PLAN also holds the
 * list of tries, and its cost and step figures are those of all tries together.
 * ALGORITHM_INFEASIBLE: the budget cannot pay for all tries. The list is in the call's arena.
 * Otherwise as struct algorithm's plan. */
enum algorithm_status job_sweep_plan(struct call *call, const struct job_sweep *sweep,
                                     struct job_plan *plan, const char **message);

/* About the least epsilon with which the sweep of PLAN, which its budget cannot pay for, could be
 * planned at the same delta; 0: not found within the work that planning may take. */
double job_sweep_least(const struct job_plan *plan);

/* {"tries":[{"parameters":{...}}]}: what distinguishes the tries; null where there is no sweep. New
 * reference. */
json_t *job_sweep_json(const struct job_plan *plan);

#endif
