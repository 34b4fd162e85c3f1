/* What a job will run and cost. The plan is made when the job is requested and stored with it.
 * Worker, views and certificate read the plan and decide nothing anew. */
#ifndef TACET_API_JOBS_ASK_JOB_PLAN_H
#define TACET_API_JOBS_ASK_JOB_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "algos/advice/rehearsal.h"
#include "algos/algorithm.h"
#include "api/data/environment_choice.h"
#include "api/worlds/worlds.h"
#include "storage/db/id.h"

#define JOB_SWEEP_MAX   64 /* tries of a sweep */
#define JOB_EPSILON_MAX 1000

/* What planning one job may take (algos/privacy/math/work.h): up to some ten seconds, all
 * tries of a sweep together: tries that are priced alike are priced once. */
#define JOB_PLAN_STEPS 4e9

/* What all plans of one advice, or of a choice of algorithm, may take: up to some ten seconds. */
#define JOB_ADVICE_STEPS 4e9

/* A world as a plan keeps it: by name, with its physics. Whether the server still has it is seen
 * when the job runs. */
struct job_world {
    char name[WORLD_NAME_SIZE]; /* "": none */
    unsigned count;             /* of the world's parameters in physics[]; 0: its defaults */
    double physics[ENV_MAX_PARAMETERS];
};

struct job_plan {
    const struct algorithm *algorithm;
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct features *features;  /* request.features, owned, in a plan that was read; else NULL */
    char features_job[ID_SIZE]; /* the job that released them; "": they were described, or none */
    bool dataset_public;        /* "sensitivity":"public" */
    uint32_t shards;            /* of experts, a policy for each; 0: one policy of all */
    struct rehearsal_terms rehearsal; /* on made-up data, in place of the dataset; runs 0: none */
    bool experts_declared; /* the number of experts was declared, not counted at sealing */

    struct job_world learn;    /* to learn in; request.world is that while the job is planned and
                                  while it runs, and NULL in a plan that was read */
    struct job_world evaluate; /* to evaluate in, if asked for */
    uint32_t episodes, max_episode_steps;
    struct job_world choose; /* where the result is chosen, if it is */
    char project[ID_SIZE];   /* that the job belongs to; "" in a plan that was read */
    char policy[ID_SIZE], q_release[ID_SIZE]; /* of ALGORITHM_EVALUATES: which of the two is
                                                 played; "": not this */
    char judge[ID_SIZE];                      /* public dataset to judge by; "": none */
    double judge_discount;
    char audit[ID_SIZE]; /* job whose findings the certificate shows; "": none */

    /* Whom MECHANISM_TEACHER_ANSWERS asks, and the client that pays; "": nobody. */
    char teacher[ID_SIZE], payer[ID_SIZE];

    /* A sweep (job_sweep.h): whole plans, in their order, and PLAN then has their sums and what
     * they cost together. 0: none. Owned, for job_plan_clear, in a plan that was read; borrowed in
     * one that is being made. So is a list of states in request.stage.grid. */
    struct job_plan *tries;
    uint32_t try_count;

    const char *unfit; /* after a job_plan_read that failed: the first parameter that is missing or
                          not allowed; NULL: it failed for another reason */
};

/* Frees what a plan that was read owns. */
void job_plan_clear(struct job_plan *plan);

/* The privacy statement that the job's algorithm makes itself. False, with *OUT unchanged: it makes
 * none, because it protects experts or nobody. */
bool job_plan_statement(const struct job_plan *plan, struct statement *out);

/* Whom the job protects: "expert", "policy of an expert" where logged trajectories are shown, or
 * what the algorithm says. */
const char *job_plan_unit(const struct job_plan *plan);

/* Whether a job with PLAN on private data reveals more of an expert than its price says: nobody is
 * protected, or something else than experts. */
bool job_plan_uncovers(const struct job_plan *plan);

/* The value of one parameter, as a caller writes it. New reference. */
json_t *job_parameter_json(const struct parameter_spec *spec, const struct parameter_value *value);

/* All parameters, defaults included, as a caller writes them. New reference. */
json_t *job_plan_parameters(const struct job_plan *plan);

/* Reads what job_plan_parameters gave for ALGORITHM, perhaps in an earlier version with fewer
 * parameters (algorithm_before). Returns NULL, or the name of the first malformed parameter. */
const char *job_plan_parameters_read(const struct algorithm *algorithm, const json_t *json,
                                     struct parameter_values *out);

/* The noisy steps {"steps","noise_multiplier","sampling_rate",...}, the first stage, if there is
 * one (job_parts.h), and the algorithm's own figures, for private jobs; of a sweep the price and
 * all its tries. New reference. */
json_t *job_plan_privacy(const struct job_plan *plan);

/* The event of a ledger entry (event_json.h): STEPS composed Poisson-sampled Gaussians, preceded by
 * the first stage when BEFORE says that it was begun. Without either it is the event of doing
 * nothing. The caller frees it. */
char *job_plan_event(const struct job_plan *plan, uint64_t steps, bool before);

/* Writes the whole plan, exactly, as text for job_plan_read. The caller frees it. */
char *job_plan_write(const struct job_plan *plan);

/* On success OUT is for job_plan_clear. False when TEXT is not what job_plan_write wrote, or names
 * what this program does not have. */
bool job_plan_read(const char *text, struct job_plan *out);

/* Sets WORLD to the name and the physics of CHOICE. */
void job_world_set(struct job_world *world, const struct environment_choice *choice);

/* Fills PARAMETERS for ENV, the environment that WORLD names. False: the table of ENV's parameters
 * is not the one that WORLD was made for. */
bool job_world_physics(const struct job_world *world, const struct env *env, double *parameters);

/* Adds the members "environment" and "physics" to OBJECT. */
void job_world_write(const struct job_world *world, json_t *object);

/* Reads what job_world_write wrote; false: OBJECT is malformed. Absent members are read as no world
 * and as default physics. */
bool job_world_read(const json_t *object, struct job_world *out);

#endif
