/* The parts of a request and of its plan: each is read (_read, _fit) by the file of its name, which
 * writes and reads what the plan keeps of it (_json, _parse). Parts whose plan is more than JSON
 * have headers of their own. */
#ifndef TACET_API_JOBS_ASK_JOB_PARTS_H
#define TACET_API_JOBS_ASK_JOB_PARTS_H

#include <jansson.h>

#include "algos/algorithm.h"
#include "algos/offline/stage_plan.h"
#include "api/call/call.h"
#include "api/jobs/ask/job_kind.h"
#include "api/jobs/ask/job_plan.h"
#include "storage/datasets.h"

/* ---- settings, by the algorithm's own table */

/* Reads OBJECT (NULL: none), which stands at PLACE of the body, and gathers faults. What it leaves
 * out has the default of WORLD (NULL: of any). */
void job_parameters_read(struct call *call, const char *place, const struct algorithm *algorithm,
                         const char *world, const json_t *object, struct parameter_values *out);

/* ---- playing what is there: jobs that train nothing and give an evaluation. Only what may leave
 * is played: a return of anything else would be a number that depends on private data */

/* Finds what is to be played, which is the caller's and may leave, and takes its sizes into the
 * plan. */
enum problem job_play_fit(struct call *call, const struct job_members *members,
                          struct job_plan *plan);

/* ---- "choose": the result of an offline job is the best of its own weights by play
 * (algos/offline/choice.h). A plan keeps it as
 *   {"environment","physics","candidates","episodes","max_episode_steps"}, or {} for none */

/* Reads OBJECT, at POINTER of a request, which says where and how long to play, into PLACE and OUT;
 * what it leaves out is OUT's, or the world's. Where OUT has candidates it may say their number.
 * False: the faults are in the call. */
bool job_playing_read(struct call *call, const char *pointer, const json_t *object,
                      struct environment_choice *place, struct choice *out);

/* PROBLEM_NONE, or a fault at POINTER: the sizes of WORLD are not those of the plan, which come
 * from SOURCE. */
enum problem job_playing_fit(struct call *call, const char *pointer, const struct job_world *world,
                             const char *source, const struct job_plan *plan);

/* Reads OBJECT, or nothing when it is NULL, into OUT, whose algorithm is known, and gathers faults:
 * of a world that is a program among them. */
void job_choose_read(struct call *call, const json_t *object, struct job_plan *out);

/* The plan's, as above. New reference. */
json_t *job_choose_json(const struct job_plan *plan);

/* Reads what job_choose_json gave; false when it did not. */
bool job_choose_parse(const json_t *json, struct job_plan *out);

/* The world to play in, with PHYSICS[ENV_MAX_PARAMETERS] filled; all zero where nothing is chosen.
 * False: this server does not have the world any more. */
bool job_choose_place(const struct app *app, const struct job_plan *plan, double *physics,
                      struct choice_place *out);

/* ---- "judge":{"dataset"}: a released policy is judged from a public dataset of the caller's,
 * where nothing can be played, by fitted Q evaluation (algos/offline/fitted_q.h). What is judged
 * may leave, and what judges it is public: nobody's private data take part */

/* Reads the object at "/judge" into *OUT, the dataset's id, and gathers faults. */
void job_judge_read(struct call *call, const json_t *object, const char **out);

/* Checks the dataset of that id for PLAN, whose sizes are known, and sets PLAN's judge.
 * PROBLEM_NONE, or a fault with its pointer. */
enum problem job_judge_fit(struct call *call, const char *id, struct job_plan *plan);

/* ---- "shards": an ensemble, one policy for each shard of the dataset's experts, which stays in
 * the service and answers as a teacher of adjacency "expert" alone (algos/release/ensemble.h). Such
 * a job costs nothing: nothing that depends on the data leaves by it. Every answer is paid for */

/* Takes SHARDS of a request, and gathers the faults of members that have no meaning beside it.
 * BODY is the request. */
void job_shards_read(struct call *call, const json_t *body, int64_t shards, struct job_plan *out);

/* Makes a plan for one policy that of all; an ensemble that could not be asked is refused. */
enum problem job_shards_fit(struct call *call, struct job_plan *plan);

/* What teachers of the ensemble can do with (EPSILON, DELTA): {"shards","change","teaching":[both
 * mechanisms for 100, 1000 and 10000 answers]}, as answer_estimate.h has it; teaching is empty
 * where that is no budget. New reference. */
json_t *job_shards_estimate(const struct job_plan *plan, double epsilon, double delta);

/* The sentence about such a job's result. */
extern const char job_shards_note[];

/* ---- "teacher", "client": who is asked; asking is run_teacher.c */

/* Reads "teacher" and "client" (NULL: not sent) of a request whose algorithm and mechanism are
 * known and whose world is chosen, and looks them up. PROBLEM_NONE, or a fault with its pointer. */
enum problem job_teacher_fit(struct call *call, const char *teacher, const char *client,
                             struct job_plan *plan);

/* {"id","client","unit",...}, or null where nobody is asked: for views, certificates and stored
 * plans. New reference. */
json_t *job_teacher_json(const struct job_plan *plan);

/* Reads what job_teacher_json gave; false: it is not that. */
bool job_teacher_parse(const json_t *json, struct job_plan *out);

/* What all its roll-outs would cost and how many of them the accounts can pay for as they are now:
 * {"rollouts","rollouts_paid","states_paid"}, with the cost of those in *OUT_COST (a new reference)
 * and the payer's and the teacher's account added to ACCOUNTS. */
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

/* What the first stage needs of the dataset, and takes from it. PROBLEM_NONE, or a fault with its
 * pointer. */
enum problem job_stage_fit(struct call *call, const struct dataset_row *dataset,
                           struct job_plan *plan);

/* The plan of the first stage as above; an object without either where there is none. New
 * reference. */
json_t *job_stage_json(const struct job_plan *plan);

/* Reads what job_stage_json gave, the price included. The request's mechanism is known. */
bool job_stage_parse(const json_t *json, struct job_plan *out);

#define JOB_NETWORKS_MAX_BYTES ((size_t)1 << 30)

/* Whether COUNT networks of so many stored BYTES fit into a job's memory: asked before a job is
 * taken on, for one that ends for it has to pay. */
bool job_networks_fit(int64_t count, int64_t bytes);

/* ---- the declared states of a consensus job:
 *
 *   "grid":{"low":[number of each coordinate],"high":[...],"points":[...]}
 *   "grid":{"states":[[number of each coordinate], ...]} */

/* Reads CONSENSUS (at "/privacy/consensus"), an object with a member "grid", into the grid and the
 * number of labels of OUT; gathers faults. A list of states is in the call's arena. */
void job_stage_grid_read(struct call *call, const json_t *consensus, struct stage_request *out);

/* What the grid needs of the dataset and the algorithm. PROBLEM_NONE, or a fault with its pointer.
 */
enum problem job_stage_grid_fit(struct call *call, const struct dataset_row *dataset,
                                const struct job_plan *plan);

/* New reference; null where there is no grid. */
json_t *job_stage_grid_json(const struct consensus_grid *grid);

/* Reads what job_stage_grid_json gave. False: it did not; OUT is for job_stage_grid_clear either
 * way. */
bool job_stage_grid_parse(const json_t *json, struct consensus_grid *out);

/* Frees a list of states. */
void job_stage_grid_clear(struct consensus_grid *grid);

#endif
