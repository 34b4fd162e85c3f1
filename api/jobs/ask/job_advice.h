/* What a job is likely to be worth (algos/advice/advice.h), as callers see it: in estimates, in the
 * refusal of hopeless plans, in the answer of jobs:advise, and as what "auto" takes. It reads
 * public numbers and what the dataset's owner may see, never data. */
#ifndef TACET_API_JOBS_ASK_JOB_ADVICE_H
#define TACET_API_JOBS_ASK_JOB_ADVICE_H

#include "algos/advice/advice.h"
#include "api/jobs/ask/job_request.h"

/* A plan's outlook. */
struct job_advice {
    const struct algorithm *algorithm;
    const struct algorithm_request *request;
    const char *world; /* of the dataset; "": none that was measured */
    double signal;     /* NAN: it has none */
    struct advice_outlook outlook;
};

/* Sets OUT to the outlook of a feasible WISH; of a sweep, to that of its best try. False:
 * the job trains no policy with noise on a dataset, so there is nothing to forecast. */
bool job_advice_look(const struct job_wish *wish, struct job_advice *out);

/* True when ADVICE is that a plan on a private dataset will earn no more than random play, and
 * WISH does not say "force" and is no rehearsal. */
bool job_advice_refuses(const struct job_wish *wish, const struct job_advice *advice);

/* What would be enough for a weak and for a good result. */
struct job_enough {
    struct advice_enough weak, good;
};

/* Sets OUT; all of it is 0 where nothing is forecast. It makes some forty plans. */
void job_advice_enough(const struct job_advice *advice, struct job_enough *out);

/* {"weak":{"experts","epsilon"},"good":{...}}; null for what is out of reach. New reference. */
json_t *job_enough_json(const struct job_enough *enough);

/* {"verdict","quality":{"expected","low","high"},"signal","runs","measured","sentence"}, in which
 * the sentence names ENOUGH (NULL: it does not). New reference. */
json_t *job_advice_json(const struct job_advice *advice, const struct job_enough *enough);

/* The sentence alone, for problems; in the arena of CALL. */
const char *job_advice_sentence(struct call *call, const struct job_advice *advice,
                                const struct job_enough *enough);

/* ---- facts and candidates (job_candidates.c) */

/* Sets OUT to what is public of ROW, with bounds from its description if it has one. PROBLEM_NONE,
 * or a fault at "/dataset": it has too few experts for anything. OUT's budget is not set. */
enum problem job_facts_of_dataset(struct call *call, const struct dataset_row *row,
                                  struct advice_facts *out);

/* The body of a POST /v1/jobs that asks for RANKED on DATASET ("": none, and then the body lacks
 * it). New reference. */
json_t *job_candidate_body(const struct advice_ranked *ranked, const char *dataset);

/* Adds input_center and input_scale to BODY, which bring states within FACTS' bounds to -1..1. */
void job_candidate_scale(json_t *body, const struct advice_facts *facts);

/* ---- "auto" (job_auto.c) */

/* Where the call's body has "algorithm" or "mechanism" "auto", puts the best candidate for its
 * dataset and privacy in its place: call->body is then what is taken. PROBLEM_NONE, also where
 * nothing is asked for; or a fault with its pointer. */
enum problem job_auto_take(struct call *call);

/* Puts a job's part of the delta that its dataset's account has left in the place of
 * "delta":"auto" (job_delta.c). Problems: validation, budget-exhausted. */
enum problem job_delta_take(struct call *call);

/* Refuses an advice whose plans take more than JOB_ADVICE_STEPS. */
enum problem job_advice_too_much(struct call *call);

#endif
