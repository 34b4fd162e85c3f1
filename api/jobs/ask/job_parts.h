/* The parts of a request and of its plan. The file named after a part reads it from the request
 * (_read, _fit), writes its plan as JSON (_json) and reads that back (_parse). Larger parts have
 * headers of their own. */
#ifndef TACET_API_JOBS_ASK_JOB_PARTS_H
#define TACET_API_JOBS_ASK_JOB_PARTS_H

#include <jansson.h>

#include "algos/algorithm.h"
#include "algos/offline/stage_plan.h"
#include "api/call/call.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/ask/job_plan.h"
#include "storage/datasets.h"

struct description;

/* ---- settings, by the algorithm's own table */

/* What defaults depend on. */
struct job_defaults {
    const char *world;               /* NULL: none in particular */
    const struct features *features; /* of the dataset; NULL: not described. They prevail */
};

/* Reads the parameters in OBJECT (NULL: none), which stands at PLACE of the body, and gathers
 * faults. Parameters that are left out get their defaults. */
void job_parameters_read(struct call *call, const char *place, const struct algorithm *algorithm,
                         struct job_defaults defaults, const json_t *object,
                         struct parameter_values *out);

/* ---- the scale of what a dataset's states hold (job_features.c). A plan keeps the ranges that it
 * was made with as {"low":[number of each coordinate],"high":[...]}; null: none */

/* Sets the features of PLAN to those that DATASET describes, or that the job named by the request's
 * "features" has released of it. Refuses a job that would spend a budget on numbers of unknown
 * scale: without features, world or scales of the request's own. PROBLEM_NONE, or a fault with its
 * pointer. */
enum problem job_features_fit(struct call *call, const struct job_members *members,
                              const struct dataset_row *dataset, struct job_plan *plan);

/* FEATURES (NULL: none) in the form above. New reference. */
json_t *job_features_json(const struct features *features);

/* Reads what job_features_json gave into OUT, which then owns them. False: JSON is malformed. */
bool job_features_parse(const json_t *json, struct job_plan *out);

/* ---- jobs that only evaluate an existing policy or Q-release. It must be one that may leave: any
 * other return would be a number that depends on private data */

/* Finds the policy or Q-release to play, which must be the caller's and may leave, and copies its
 * dimensions into the plan. */
enum problem job_play_fit(struct call *call, const struct job_members *members,
                          struct job_plan *plan);

/* ---- "i_understand":"not_private": required where a job trains without a mechanism on private
 * data (job_plan_is_unprotected), and refused elsewhere */

/* Checks the member's value UNDERSTOOD (NULL: not sent) for PLAN, whose dataset is known, and that
 * an unprotected job plays nowhere. PROBLEM_NONE, or a fault with its pointer. */
enum problem job_unprotected_fit(struct call *call, const char *understood,
                                 const struct job_plan *plan);

/* ---- "choose": the result of an offline job is the best of its own weights by play
 * (algos/offline/choice.h). A plan keeps it as
 *   {"environment","physics","candidates","episodes","max_episode_steps"}, or {} for none */

/* Reads OBJECT, at POINTER of a request, which says where and how long to play, into PLACE and OUT.
 * OUT comes in with the default episodes; the default length is the world's. "candidates" is
 * allowed only when OUT comes in with some. False: the faults are in the call. */
bool job_playing_read(struct call *call, const char *pointer, const json_t *object,
                      struct environment_choice *place, struct choice *out);

/* PROBLEM_NONE, or a fault at POINTER: the dimensions of WORLD differ from the plan's, which come
 * from SOURCE. */
enum problem job_playing_fit(struct call *call, const char *pointer, const struct job_world *world,
                             const char *source, const struct job_plan *plan);

/* Reads OBJECT (NULL: none) into OUT, whose algorithm is known, and gathers faults. A world that is
 * a program is a fault. */
void job_choose_read(struct call *call, const json_t *object, struct job_plan *out);

/* The plan's choice in the form above. New reference. */
json_t *job_choose_json(const struct job_plan *plan);

/* Reads what job_choose_json gave; false when JSON is malformed. */
bool job_choose_parse(const json_t *json, struct job_plan *out);

/* Sets OUT to the world to play in and fills PHYSICS[ENV_MAX_PARAMETERS]; OUT is all zero where
 * nothing is chosen. False: this server does not have the world any more. */
bool job_choose_place(const struct app *app, const struct job_plan *plan, double *physics,
                      struct choice_place *out);

/* ---- "judge": what is said of a released policy where nothing can be played.
 * {"dataset"}: a public dataset of the caller's (algos/offline/judge/judge.h). The policy may leave
 * and the dataset is public, so nobody's private data are used.
 * {"held_out","return_low","return_high","share"}: experts of the job's own dataset, whom the
 * training does not read (algos/offline/judge/held_out.h). A part of the job's price pays for it. A
 * plan keeps these as {"held_out",...,"noise_multiplier"}, or {} for none */

/* Reads the object at "/judge": the dataset's id into *OUT, held-out experts into PLAN, and gathers
 * faults. */
void job_judge_read(struct call *call, const json_t *object, const char **out,
                    struct job_plan *plan);

/* Checks the judge for PLAN, whose sizes are known, and which learns from DATASET (its id is "":
 * from none). ID is the dataset that judges, which becomes PLAN's judge; NULL: held-out experts
 * judge, and PLAN's nominal number of experts becomes that of the others. PROBLEM_NONE, or a fault
 * with its pointer. */
enum problem job_judge_fit(struct call *call, const char *id, const struct dataset_row *dataset,
                           struct job_plan *plan);

#define JOB_JUDGE_WARNING_SIZE 512

/* True when PLAN has so few held-out experts for their noise that their verdict would say next to
 * nothing; OUT is then a sentence that says so with both numbers. */
bool job_judge_unclear(const struct job_plan *plan, char out[JOB_JUDGE_WARNING_SIZE]);

/* The plan's judge by held-out experts in the form above. New reference. */
json_t *job_judge_json(const struct job_plan *plan);

/* Reads what job_judge_json gave into OUT and its price; false when JSON is malformed. NULL is {}.
 */
bool job_judge_parse(const json_t *json, struct job_plan *out);

/* ---- "audit":"job_...": the certificate shows what that audit of the caller's has shown. It
 * attacks made-up data, so that nothing is charged for it */

/* Checks the audit of that id for PLAN, whose noise is known, and sets PLAN's audit. PROBLEM_NONE,
 * or a fault with its pointer. */
enum problem job_audit_fit(struct call *call, const char *id, struct job_plan *plan);

/* Sets *OUT to what PLAN's audit attacked and showed (new reference), as certificates have it: null
 * where this version cannot read it. NULL: PLAN names none. False: the database failed. */
bool job_audit_find(struct db *db, const struct job_plan *plan, json_t **out);

/* ---- "shards": an ensemble, one policy for each shard of the dataset's experts, which stays in
 * the service and answers as a teacher of adjacency "expert" alone (algos/release/ensemble.h). Such
 * a job costs nothing, because it reveals nothing that depends on the data. Each answer is paid for
 */

/* Sets SHARDS of a request in OUT, and gathers faults for members that cannot be combined with
 * shards. BODY is the request. */
void job_shards_read(struct call *call, const json_t *body, int64_t shards, struct job_plan *out);

/* Turns the plan for one policy into the plan for all shards. An ensemble that no teacher could
 * answer from is refused. */
enum problem job_shards_fit(struct call *call, struct job_plan *plan);

/* What teachers of the ensemble can do with (EPSILON, DELTA): {"shards","change","teaching":[both
 * mechanisms for 100, 1000 and 10000 answers]}, as answer_estimate.h has it; teaching is empty
 * if a teacher cannot have this budget. New reference. */
json_t *job_shards_estimate(const struct job_plan *plan, double epsilon, double delta);

/* The sentence about the result of a job with shards. */
extern const char job_shards_note[];

/* ---- "rehearse":true: the job trains on made-up data (algos/advice/rehearsal.h) in place of the
 * dataset, of which only the public row is read, when the job is asked for. The job that is stored
 * has no dataset and no account */

/* Checks that what is sent in CALL's body can be rehearsed, sets OUT's rehearsal, and gathers
 * faults. OUT's algorithm and mechanism are known. */
void job_rehearsal_read(struct call *call, bool rehearse, struct job_plan *out);

/* Copies what a rehearsal needs of DATASET into PLAN. PROBLEM_NONE, or a fault with its pointer: it
 * is too large. */
enum problem job_rehearsal_fit(struct call *call, const struct dataset_row *dataset,
                               struct job_plan *plan);

/* The sentence about a rehearsal. */
extern const char job_rehearsal_note[];

/* ---- "teacher", "client": whom the job asks and who pays; run_teacher.c does the asking */

/* Reads "teacher" and "client" (NULL: not sent) of a request whose algorithm and mechanism are
 * known and whose world is chosen, and looks them up. PROBLEM_NONE, or a fault with its pointer. */
enum problem job_teacher_fit(struct call *call, const char *teacher, const char *client,
                             struct job_plan *plan);

/* {"id","client","unit",...}, or null where the job asks no teacher. Views, certificates and stored
 * plans have it. New reference. */
json_t *job_teacher_json(const struct job_plan *plan);

/* Reads what job_teacher_json gave; false: JSON is malformed. */
bool job_teacher_parse(const json_t *json, struct job_plan *out);

/* Estimates how many of the job's roll-outs the accounts can pay for now. *OUT_ASKING is
 * {"rollouts","rollouts_paid","states_paid"}, *OUT_COST the cost of the paid ones (new references).
 * The accounts that pay are added to ACCOUNTS. */
enum problem job_teacher_estimate(struct call *call, const struct job_plan *plan, json_t *accounts,
                                  json_t **out_cost, json_t **out_asking);

/* ---- the first of two stages ("selective_dpsgd", "consensus"). Its plan is public:
 *
 *   "stable":{"source":"rollouts","count","max_length","min_action_probability","accounting",
 *             "threshold" (in experts),"unanimous_length",...}
 *   "consensus":{"labels","noise" (in experts),"max_length","explore",
 *                "skill":{"low","high","power","episodes"} (algos/offline/skill_voices.h),...} */

/* Reads the members of PRIVACY (at "/privacy") that the request's mechanism has, epsilon and delta
 * among them, and gathers faults. LOGGED: a dataset has the rewards that a release protects. */
void job_privacy_read(struct call *call, const json_t *privacy, bool logged,
                      struct algorithm_request *out);

/* Checks that the dataset suits the first stage, and copies what that needs into the plan.
 * PROBLEM_NONE, or a fault with its pointer. */
enum problem job_stage_fit(struct call *call, const struct dataset_row *dataset,
                           struct job_plan *plan);

/* The plan of the first stage in the form above; an empty object where there is none. New
 * reference. */
json_t *job_stage_json(const struct job_plan *plan);

/* Reads what job_stage_json gave, including the price. The request's mechanism is known. */
bool job_stage_parse(const json_t *json, struct job_plan *out);

#define JOB_NETWORKS_MAX_BYTES ((size_t)1 << 30)

/* True when COUNT networks of BYTES stored bytes in total fit into a job's memory. This is checked
 * before a job is accepted, because a job that failed for it would have to pay. */
bool job_networks_fit(int64_t count, int64_t bytes);

/* ---- the declared states of a consensus job:
 *
 *   "grid":{"low":[number of each coordinate],"high":[...],"points":[...]}
 *   "grid":{"states":[[number of each coordinate], ...]} */

/* Reads CONSENSUS (at "/privacy/consensus"), an object with a member "grid", into the grid and the
 * number of labels of OUT; gathers faults. A list of states is in the call's arena. */
void job_stage_grid_read(struct call *call, const json_t *consensus, struct stage_request *out);

/* Checks that the grid suits the dataset and the algorithm. PROBLEM_NONE, or a fault with its
 * pointer. */
enum problem job_stage_grid_fit(struct call *call, const struct dataset_row *dataset,
                                const struct job_plan *plan);

/* How far apart the points of GRID are, a sentence for each feature of DESCRIPTION that is a
 * number, in its own unit: "map: every 35 mmHg, from 30 to 170". Null where there is no such grid
 * or no description (NULL). New reference. */
json_t *job_stage_grid_spacing(struct call *call, const struct consensus_grid *grid,
                               const struct description *description);

/* What of GRID's states lies outside of what DESCRIPTION declares, whose data therefore never were
 * there: at most 100 of {"pointer", "detail"}. None where there is no description (NULL) or no
 * grid. New reference. */
json_t *job_stage_grid_warnings(const struct consensus_grid *grid,
                                const struct description *description);

/* New reference; null where there is no grid. */
json_t *job_stage_grid_json(const struct consensus_grid *grid);

/* Reads what job_stage_grid_json gave. False: JSON is malformed. The caller always clears OUT with
 * job_stage_grid_clear. */
bool job_stage_grid_parse(const json_t *json, struct consensus_grid *out);

/* Frees a list of states. */
void job_stage_grid_clear(struct consensus_grid *grid);

#endif
