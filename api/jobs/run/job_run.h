/* One job in the hands of a worker: the state that the parts of api_job_turn share. */
#ifndef TACET_API_JOBS_RUN_JOB_RUN_H
#define TACET_API_JOBS_RUN_JOB_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "algos/algorithm.h"
#include "algos/data/dataset.h"
#include "algos/offline/expert_policies.h"
#include "algos/offline/judge/held_out.h"
#include "algos/release/ensemble.h"
#include "api/jobs/ask/job_plan.h"
#include "api/jobs/run/job_turn.h"
#include "api/wire/problem.h"
#include "storage/datasets.h"
#include "storage/jobs.h"

#define JOB_RUN_FINDINGS 16

struct job_run {
    struct app *app;
    struct db *db;
    const struct api_job_control *control;
    struct job_row job;
    struct job_plan plan;
    char environment[64];         /* of the dataset, or learned in; "" for none */
    char detail[JOB_DETAIL_SIZE]; /* room for the ending's */

    uint64_t step;    /* as of the last pulse */
    bool resumed;     /* an earlier worker had the job: its last step is not known exactly */
    bool trained;     /* the training was entered */
    bool finished;    /* only an evaluation is missing: what it trained is on disk, or was given */
    int64_t beat_ms;  /* of the last heartbeat */
    int64_t saved_ms; /* of the last checkpoint */

    bool has_return; /* what it learns is public, and so is its present mean return */
    double mean_return;
    int64_t shown_ms; /* when that was last written down */

    struct {
        const char *name;
        double value;
    } findings[JOB_RUN_FINDINGS]; /* of an algorithm that gives such */
    unsigned finding_count;

    uint32_t best_try; /* of a sweep that was gone through, with its evaluation if there is one */
    bool best_known;
    struct policy_evaluation best_played;
    double try_scores[JOB_SWEEP_MAX]; /* NAN: none */

    struct features *ranges; /* of an algorithm that measures, once it is over; freed likewise */

    struct q_release *release; /* of an algorithm that gives such, once its training is over; freed
                                  by api_job_turn */
    bool injected_noise;       /* in it: it protects nobody */

    struct ensemble
        *ensemble; /* of a plan with shards, once its training is over; freed likewise */

    bool judged; /* by a public dataset, or by held-out experts */
    struct judge_figures judgement;
    const char *unjudged; /* why it has no figures: static, lower case and without a stop; NULL: it
                             has */

    struct rehearsal_figures rehearsed; /* of a rehearsal that is over; else of 0 runs */

    struct held_out_figures witness; /* of held-out experts: post-processing of what was released */

    bool slow_data;      /* its columns are files, and leases last longer */
    bool lost;           /* the lease is another's: nothing more may be written */
    bool stopping;       /* the server wants to stop: save and pause */
    bool cancelled;      /* the caller wants it to end */
    bool storage_failed; /* the database does not answer as it should */
    bool waiting; /* the disk is full or busy, a user's large data do not fit into memory, or the
                     system gives no randomness: try again when the lease has expired */
};

/* How a job ended, before it is stored. */
struct job_ending {
    enum job_state state;
    enum problem problem;  /* JOB_FAILED: which */
    const char *detail;    /* a sentence with nothing of private data in it; lives as the run */
    struct policy *policy; /* of a training that ran to its end (run->ensemble may take its place):
                              always with JOB_SUCCEEDED, else
                              where only the evaluation failed or was cancelled; owned by the
                              caller */
    struct policy_evaluation evaluation;
    bool evaluated;
    int64_t tick_ms; /* the moment at which it is shown to end (job_tick.c); 0: when it is stored */
};

/* Makes ENDING a failure by PROBLEM; DETAIL is as in struct job_ending. */
void job_ending_fail(struct job_ending *ending, enum problem problem, const char *detail);

/* Renews the lease for LEASE_MS when the last heartbeat is a second old, or at once when FORCE.
 * False: stop working (lost, cancelled, or the database failed; see the flags). */
bool job_run_beat(struct job_run *run, bool force, int64_t lease_ms);

/* True when the server wants to stop, which is noted in RUN. */
bool job_run_must_stop(struct job_run *run);

/* Checks for a stop and renews the lease when that is due; to be called between pieces of data
 * while they are loaded. False: stop loading; a flag of RUN says why. */
bool job_run_goes_on(struct job_run *run);

/* The status with which a training ends because of a flag of RUN: NO_MEMORY for waiting; PAUSED for
 * lost, stopping or storage_failed; CANCELLED for cancelled; OK when no flag is set. */
enum algorithm_status job_run_held_up(const struct job_run *run);

/* Stores the checkpoint; true only when it is on disk. On false a flag of RUN is set. A full or
 * busy disk sets waiting: the job is then tried again when its lease has run out. */
bool job_run_keep(struct job_run *run, uint64_t steps_done, const unsigned char *bytes,
                  size_t size);

/* Reads the present row of dataset ID. False: there is no such dataset, unless storage_failed is
 * set. */
bool job_run_dataset(struct job_run *run, const char *id, struct dataset_row *out);

/* Reads the dataset's chunks into memory. NULL: the data are damaged or gone, unless a flag of RUN
 * (lost, stopping, cancelled, storage_failed, waiting) says another reason. */
struct dataset *job_run_load(struct job_run *run);

/* Loads dataset ID, which must be public, have experts, and fit the job's state dimension and
 * action count. Otherwise as job_run_load. */
struct dataset *job_run_load_other(struct job_run *run, const char *id);

/* Reads the networks that were uploaded for the dataset's experts into a slot for each expert,
 * mixed to the dataset's floor; slots of experts without one stay empty. The caller frees it. NULL:
 * as above; networks that job_networks_fit refuses are damage too, for the job has
 * to fit into memory. */
struct expert_policies *job_run_load_experts(struct job_run *run);

/* Stores the ending, the policy with its certificate, and the settlement of the hold in one
 * transaction. DB_NONE: the lease was lost and nothing was stored. */
enum db_status job_run_finish(struct job_run *run, const struct job_ending *ending);

/* ---- when the end of an unprotected job is seen (job_tick.c) */

/* Waits until the end of an unprotected job may be seen, which is a whole power of two of seconds,
 * at least one, behind its start, and notes that moment in ENDING. A job that is cancelled before
 * that has no result. Other jobs do not wait. False: the job must stop without an ending; a flag of
 * RUN says why. */
bool job_tick_wait(struct job_run *run, struct job_ending *ending);

/* ---- the lease (job_lease.c) */

#define JOB_LEASE_MS 30000

/* True when storage has failed or the connection is broken. What was stored last is then unknown,
 * so the worker writes nothing more. */
bool job_lease_broken(struct job_run *run);

/* STEP as the job's row has it for views: 0 for an unprotected job, whose speed is not shown. */
int64_t job_lease_shown(const struct job_run *run, uint64_t step);

/* Stores CHECKPOINT, whose now_ms it sets. As jobs_save_checkpoint. */
enum db_status job_lease_save(struct job_run *run, struct job_checkpoint *checkpoint,
                              struct job_lease *out);

/* Stores a checkpoint, encrypted. DB_OK: it is on disk, and the lease is ours. DB_FULL, DB_RETRY or
 * DB_MEMORY: it is not on disk, but a later try may succeed. DB_FAILED: a flag of RUN says why. */
enum db_status job_lease_store(struct job_run *run, uint64_t steps_done, const unsigned char *bytes,
                               size_t size);

/* ---- checkpoints at rest (job_checkpoint.c) */

/* Encrypts a checkpoint. The caller frees *out. False: waiting is set. */
bool job_checkpoint_close(struct job_run *run, const unsigned char *bytes, size_t size,
                          unsigned char **out, size_t *out_size);

/* Reads the job's checkpoint into memory that sodium_free wipes. *OUT is NULL with DB_OK when it
 * cannot be decrypted; waiting is set where memory is short. DB_NONE: there is none. */
enum db_status job_checkpoint_load(struct job_run *run, int64_t *out_step, unsigned char **out,
                                   size_t *out_size);

/* ---- what a training asks (job_hooks.c) */

/* Hooks whose context is RUN, as algorithm.h has them: a pulse beats the lease and hears of a stop,
 * a checkpoint is stored, and progress figures are kept in RUN. They are valid as long as RUN. */
struct algorithm_hooks job_hooks_of(struct job_run *run);

/* The findings of RUN as a JSON object. New reference. */
json_t *job_findings_json(const struct job_run *run);

/* ---- the teacher that it asks (run_teacher.c) */

/* algorithm_hooks.ask_teacher with CONTEXT a struct job_run. */
enum algorithm_status job_teacher_ask(void *context, const struct teacher_question *question,
                                      double *out_probabilities, struct teacher_told *out);

/* The findings of RUN at its end as JSON text (malloc'ed; NULL: the database failed): those of this
 * worker or, without any, those that an earlier worker stored. Answers that were paid for but not
 * yet in the findings are added. */
char *job_teacher_all_findings(const struct job_run *run);

/* Stores the findings for views of the running job. A write that fails is no loss. */
void job_teacher_show(struct job_run *run);

/* The cost of a job's own answers, and the total that the payer's account has spent. */
struct job_teacher_spent {
    double epsilon, delta, account_epsilon, account_delta;
};

/* Reads the spending from FINDINGS, the JSON text that job_teacher_all_findings gives. */
struct job_teacher_spent job_teacher_spent_of(const char *findings);

/* ---- its rehearsal (run_rehearsal.c) */

/* Trains the plan on made-up data and notes the figures in RUN. As algorithm->train. */
enum algorithm_status job_rehearse(struct job_run *run, const char **message);

/* Adds the figures that job_rehearse noted in RUN to OBJECT. */
void job_rehearsal_show(const struct job_run *run, json_t *object);

/* ---- its stages (run_stage.c) */

/* Trains in both stages (or in the only one). RUN and its TRAINING as algorithm.h has them. */
enum algorithm_status job_stage_train(struct job_run *run, const struct algorithm_run *training,
                                      struct policy **out_policy, const char **message);

/* ---- its tries (run_sweep.c) */

/* Trains and judges every try; gives the best policy, rounded, and notes its score in RUN. RUN and
 * TRAINING as in job_stage_train. The checkpoints hold the results of all finished tries, so that
 * no finished try is trained again. */
enum algorithm_status job_sweep_train(struct job_run *run, const struct algorithm_run *training,
                                      struct policy **out_policy, const char **message);

/* {"best","mean_returns"} of a sweep that has ended. New reference. */
json_t *job_sweep_findings(const struct job_run *run);

/* ---- its judge (run_judge.c, run_held_out.c) */

/* Gives the part of DATA (NULL: there are none) that the training may read, which is all of it
 * where no experts are held out. Takes DATA over. NULL: no memory, which is noted in RUN. */
struct dataset *job_judge_training(struct job_run *run, struct dataset *data);

/* Releases what the held-out experts say of POLICY, with the plan's noise, and notes it in RUN. It
 * is drawn anew when a worker dies before it is stored: nobody has seen what was drawn before.
 * False: as job_judge. */
bool job_judge_held_out(struct job_run *run, const struct policy *policy);

/* The findings of held-out experts: the member "judge". New reference. */
json_t *job_judge_held_out_json(const struct job_run *run);

/* Judges POLICY, which is on disk, and notes the figures in RUN. Of a dataset that is
 * gone or cannot judge it notes why. False: the job must stop; a flag of RUN says why. */
bool job_judge(struct job_run *run, const struct policy *policy);

/* Notes in RUN that the data of whoever judges could not be read. False: as job_judge, because a
 * flag of RUN says another reason. */
bool job_judge_unread(struct job_run *run);

/* The pulse of a judge who works for RUN. It is valid as long as RUN. */
struct judge_pulse job_judge_pulse(struct job_run *run);

/* {"value","low","high"}. New reference. */
json_t *job_judge_interval_json(const struct judge_interval *interval);

/* Adds the figures that job_judge noted in RUN to OBJECT. */
void job_judge_show(const struct job_run *run, json_t *object);

/* ---- playing what is there (run_play.c) */

/* Plays the policy or Q-release of the plan and fills ENDING: success with an evaluation, or
 * failure. False: the job must stop without an ending (lost, stopping, cancelled, storage_failed or
 * waiting says why). */
bool job_play(struct job_run *run, struct job_ending *ending);

/* ---- after the training (job_complete.c) */

/* How well a released policy plays in a simulator (job_evaluate.c): post-processing, free of
 * charge. */

/* What plays: exactly one member is set. */
struct job_player {
    const struct policy *policy;
    const struct q_release *release;
};

/* Plays the episodes that PLAN asks for in WORLD, in blocks of about a second, each from its own
 * public seed. BETWEEN is called before every block with the number of finished episodes; its false
 * ends the evaluation. False: it was ended, or it failed, and *out says why as for policy_evaluate.
 */
bool job_evaluate(const struct job_plan *plan, const struct env *world,
                  const struct job_player *player, bool (*between)(void *context, uint32_t done),
                  void *context, struct policy_evaluation *out);

/* Rounds the weights to the public grid on which policies are released. */
void job_complete_round(struct policy *policy);

/* Outcome of an evaluation. */
enum job_score {
    JOB_SCORE_FOUND,
    JOB_SCORE_UNKNOWN,
    JOB_SCORE_STOPPED,
};

/* Evaluates PLAYER, which is on disk, as PLAN asks. UNKNOWN: it cannot be played, and WHY is a
 * clause with the reason. STOPPED: lost, stopping, cancelled, storage_failed or waiting says why.
 */
enum job_score job_complete_score(struct job_run *run, const struct job_plan *plan,
                                  const struct job_player *player, struct policy_evaluation *out,
                                  char why[JOB_DETAIL_SIZE]);

/* Fills ENDING with POLICY (NULL where run->release took its place), which stays the caller's, and
 * its evaluation. When the requested evaluation is impossible, the job fails but keeps its policy.
 * False: the job must stop without an ending (lost, stopping, cancelled, storage_failed or waiting
 * says why). */
bool job_complete(struct job_run *run, struct policy *policy, struct job_ending *ending);

/* The rounded policy that an earlier worker kept before it evaluated, for policy_free; NULL: none
 * was kept, unless storage_failed or waiting says that the search failed. */
struct policy *job_complete_kept(struct job_run *run);

/* Fills ENDING with POLICY and no evaluation. WHY is a clause with the reason. */
void job_complete_unevaluated(struct job_run *run, struct policy *policy, const char *why,
                              struct job_ending *ending);

/* ---- what each kind of algorithm does at work (run_kind.c); what it asks and leaves is
 * ask/job_kind.h */

struct run_kind {
    /* Finds what an earlier worker finished and kept: a policy, which the caller frees, or
     * run->release. NULL: there is no policy, or storage_failed says that the search failed. */
    struct policy *(*kept)(struct job_run *run);
    /* Runs the claimed job and fills ENDING. False: the job must stop without an ending; a flag of
     * RUN says why. */
    bool (*work)(struct job_run *run, struct job_ending *ending);
    /* Fills ENDING with the result of the training. POLICY (NULL where there is none) stays the
     * caller's. False: as for WORK. */
    bool (*complete)(struct job_run *run, struct policy *policy, struct job_ending *ending);
    enum problem given_up; /* of a job that ended its workers again and again */
    bool waits; /* for memory or disk as long as it takes, because giving up would lose what was
                   paid or learnt */
};

/* The row of PLAN's algorithm's kind, or that of rehearsals. */
const struct run_kind *run_kind(const struct job_plan *plan);

/* Runs a training job: takes a result that was kept, or loads the data or opens the world and
 * trains; then completes the job. */
bool job_train(struct job_run *run, struct job_ending *ending);

#endif
