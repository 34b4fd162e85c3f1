/* How much an expert's voice counts in consensus labels (algos/offline/skill_voices.h):
 * "skill":{"low","high","power","episodes"} in a job's privacy and in its plan. */
#ifndef TACET_API_JOBS_ASK_JOB_SKILL_H
#define TACET_API_JOBS_ASK_JOB_SKILL_H

#include "algos/offline/stage_plan.h"
#include "api/call/call.h"

/* Reads OBJECT, at "/privacy/consensus/skill"; what is wrong goes to CALL. */
void job_skill_read(struct call *call, const json_t *object, struct skill_scale *out);

/* As it was asked for, a new reference; NULL where all voices count alike. */
json_t *job_skill_json(const struct skill_scale *skill);

/* Back from there; takes NULL, too. */
struct skill_scale job_skill_parse(const json_t *json);

#endif
