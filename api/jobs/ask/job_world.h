/* A world as a job's plan keeps it: by name, with its physics. Whether the server still has it is
 * seen when the job runs. */
#ifndef TACET_API_JOBS_ASK_JOB_WORLD_H
#define TACET_API_JOBS_ASK_JOB_WORLD_H

#include <jansson.h>
#include <stdbool.h>

#include "api/data/environment_choice.h"
#include "api/worlds/worlds.h"

struct job_world {
    char name[WORLD_NAME_SIZE]; /* "": none */
    unsigned count;             /* of parameters; 0: the usual ones, whatever they are */
    double physics[ENV_MAX_PARAMETERS];
};

/* What CHOICE names, with its physics. */
void job_world_set(struct job_world *world, const struct environment_choice *choice);

/* Fills PARAMETERS for ENV, the world of that name. False: its table is not that of before. */
bool job_world_physics(const struct job_world *world, const struct env *env, double *parameters);

/* Adds the members "environment" and "physics" to OBJECT. */
void job_world_write(const struct job_world *world, json_t *object);

/* Reads what job_world_write wrote; false: it is not that. Absent members read as no world, and as
 * the usual physics. */
bool job_world_read(const json_t *object, struct job_world *out);

#endif
