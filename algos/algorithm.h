/* A learning algorithm as the rest of Tacet sees it: a row in a table
 * (algos/catalogue/algorithms.c). A new algorithm is one file that defines a struct algorithm, and
 * one line there. */
#ifndef TACET_ALGOS_ALGORITHM_H
#define TACET_ALGOS_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/choice_terms.h"
#include "algos/data/dataset.h"
#include "algos/data/features.h"
#include "algos/judge_terms.h"
#include "algos/parameters.h"
#include "algos/policy.h"
#include "algos/privacy/training/dp_sgd_plan.h"
#include "algos/q_terms.h"
#include "algos/stage_terms.h"
#include "algos/statement.h"
#include "algos/teacher_question.h"
#include "envs/env.h"

enum algorithm_mechanism {
    MECHANISM_NONE,      /* no privacy; the result is never released when the data are private */
    MECHANISM_DPSGD,     /* clipped gradients and Gaussian noise; the unit is the algorithm's */
    MECHANISM_SELECTIVE, /* stable prefixes, then plain steps on them and noisy ones on the data */
    MECHANISM_CONSENSUS, /* consensus labels, then plain steps on them */
    MECHANISM_GAUSSIAN_PROCESS, /* plain training on shards of experts, noise on their mean */
    MECHANISM_GAUSSIAN,         /* sums over experts with Gaussian noise */
    MECHANISM_LDP_OBSERVATIONS, /* the learner sees noised observations alone */
    MECHANISM_LOCAL_REPORTS,    /* the learner sees agents' randomised gradients alone */
    MECHANISM_TEACHER_ANSWERS,  /* the learner sees a teacher's noisy answers alone */
    MECHANISM_COUNT
};

/* "none", "dpsgd", "selective_dpsgd", "consensus", "gaussian_process", "gaussian",
 * "ldp_observations", "local_reports", "teacher_answers". */
const char *algorithm_mechanism_name(enum algorithm_mechanism mechanism);

/* The mechanism NAME of a job ("dpsgd"); -1 when unknown. */
int algorithm_mechanism_find(const char *name);

enum algorithm_status {
    ALGORITHM_OK,
    ALGORITHM_PAUSED, /* the pulse asked to stop; the last saved checkpoint continues it */
    ALGORITHM_CANCELLED,
    ALGORITHM_INFEASIBLE, /* the budget cannot pay one step */
    ALGORITHM_BAD_INPUT,  /* e.g. an empty dataset; the message says what is wrong (public facts
                           * only) */
    ALGORITHM_BAD_CHECKPOINT,
    ALGORITHM_BAD_DATA, /* stored data are damaged, or do not fit into memory */
    ALGORITHM_NO_RANDOMNESS,
    ALGORITHM_NO_MEMORY,
};

/* What a run is asked to be, all of it public. */
struct algorithm_request {
    enum algorithm_mechanism mechanism;
    struct parameter_values parameters;
    double epsilon, delta; /* requested; unused for MECHANISM_NONE */
    double discount;       /* of the dataset */
    uint32_t state_dim, action_count;
    const struct features *features; /* public ranges of the dataset's coordinates, state_dim of
                                      * them, which every learner normalises its inputs by; NULL:
                                      * none are known. Borrowed */
    uint32_t nominal_experts;        /* public number of experts; unused for MECHANISM_NONE */
    double plain_share;    /* share of a private run's steps that are plain steps on the released
                            * stable set (algos/offline/schedule.h); 0: all are noisy */
    bool force;            /* make a Q-release even if its noise exceeds its range */
    bool protects_rewards; /* a Q-release of unit reward (algos/release/reward_q.h) */
    struct stage_request stage;   /* the first stage; STAGE_NONE: none */
    struct judge_terms judge;     /* experts that judge instead of being learnt from */
    struct choice choice;         /* choice of the result by play; of offline algorithms */
    struct teacher_terms teacher; /* the teacher that MECHANISM_TEACHER_ANSWERS asks */
    uint64_t seed;                /* initial weights and other public coins */
    struct dp_sgd_work *work;     /* what planning may take; NULL: any work. Borrowed */
    struct mlp_shape played;      /* for ALGORITHM_EVALUATES: the shape of the network that is
                                   * played */
    uint32_t episodes;            /* for ALGORITHM_EVALUATES: how many episodes are played */

    /* The world to play in and its physics, for algorithms that play; else NULL. */
    const struct env *world;
    double world_parameters[ENV_MAX_PARAMETERS];
};

/* The (first) number of the parameter at INDEX of the algorithm's table. */
double algorithm_number(const struct algorithm_request *request, unsigned index);

/* The plan of a run. privacy.steps counts the noisy steps among total_steps: all of them when the
 * request's plain_share is 0. With MECHANISM_NONE, privacy is all zero. */
struct algorithm_plan {
    struct dp_sgd_plan privacy; /* of the whole run, including the price of a first stage */
    struct stage_plan stage;
    double judge_noise;     /* over the sensitivity, of the request's judge; 0: none. Its price is
                               privacy.before */
    struct q_terms release; /* of ALGORITHM_RELEASES_Q; privacy is then one Gaussian
                               release of noise sigma / sensitivity */
    uint64_t total_steps;
    struct mlp_shape shape;
    uint64_t parameter_count;
};

struct expert_policies;
struct q_release;

/* The answer to a pulse, which the trainer sends a few times a second; the answer must be quick. */
enum algorithm_pulse {
    PULSE_CONTINUE,
    PULSE_SAVE,           /* write a checkpoint, go on */
    PULSE_SAVE_AND_PAUSE, /* write a checkpoint, return ALGORITHM_PAUSED */
    PULSE_CANCEL,         /* return ALGORITHM_CANCELLED */
};
struct algorithm_hooks {
    void *context;
    enum algorithm_pulse (*pulse)(void *context, uint64_t steps_done);
    /* Makes the checkpoint durable; false stops the run with ALGORITHM_PAUSED. Bytes are borrowed.
     */
    bool (*save)(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size);
    /* Calls work(what, i) for every i below COUNT and returns when all calls have ended. The calls
     * may run in any order and on several threads, and the results must not depend on that. NULL:
     * the algorithm makes the calls in order. */
    void (*parallel)(void *context, void (*work)(void *what, uint32_t i), void *what,
                     uint32_t count);
    /* Loads the networks that the dataset's experts uploaded, each in its slot, the other slots
     * empty (algos/offline/expert_clones.h fills them); *out is the caller's. ALGORITHM_OK,
     * _PAUSED, _CANCELLED, _BAD_DATA or _NO_MEMORY. NULL where no expert has a network. */
    enum algorithm_status (*experts)(void *context, struct expert_policies **out);
    /* Asks the teacher about a batch of states: OUT_PROBABILITIES[count x actions]. ALGORITHM_OK:
     * the teacher answered or is silent. Else the run ends with _PAUSED, _CANCELLED, _NO_MEMORY, or
     * _BAD_INPUT with a message. NULL: there is no teacher. */
    enum algorithm_status (*ask_teacher)(void *context, const struct teacher_question *question,
                                         double *out_probabilities, struct teacher_told *out);
    /* Reports, before a pulse, the undiscounted mean return of recent episodes. Only algorithms
     * that play call it, with MECHANISM_NONE or _TEACHER_ANSWERS. NULL: nobody asks. */
    void (*show_return)(void *context, double mean_return);
    /* Reports one number of an algorithm that audits or asks a teacher, under a static NAME. A NAME
     * that was shown before gets the new VALUE. NULL: nobody looks. */
    void (*show_finding)(void *context, const char *name, double value);
    /* Takes over the RANGES of an ALGORITHM_MEASURES, which the receiver frees, once, at the end of
     * the run. NULL: nobody wants them. */
    void (*give_ranges)(void *context, struct features *ranges);
    /* Takes over the release of an ALGORITHM_RELEASES_Q, once, at the end of the run. NULL: nobody
     * wants it. */
    void (*give_release)(void *context, struct q_release *release, bool injected_noise);
};

/* One run. DATA is NULL for algorithms that need none. CHECKPOINT is NULL on a fresh start; it
 * holds weights, target, optimiser and step, so that continuing gives the same guarantee: steps
 * lost in a crash were never released. */
struct algorithm_run {
    const struct algorithm_request *request;
    const struct algorithm_plan *plan;
    const struct dataset *data;
    const struct dataset *stable; /* the released stable set, free to use; NULL without plain
                                   * steps */
    struct choice_place choice;   /* the world for the request's choice; all zero without a
                                   * choice */
    const unsigned char *checkpoint;
    size_t checkpoint_size;
    struct algorithm_hooks hooks;
    bool hides_divergence; /* a training from a dataset whose weights grow without bound gives the
                              policy that treats all actions alike, because a failure would tell of
                              the data */
    struct noise_source *noise; /* for tests only, and the policy then tells (injected_noise); NULL:
                                   the algorithm opens its own from the operating system */
};

/* What an algorithm takes and gives. For each kind, a job follows a row of api/jobs/ask/job_kind.c
 * and one of api/jobs/run/run_kind.c. */
enum algorithm_kind {
    ALGORITHM_LEARNS_FROM_DATA, /* takes a dataset, leaves a policy; heeds request.choice */
    ALGORITHM_LEARNS_BY_PLAY,   /* plays in request.world, leaves a policy. The world is public and
                                   nobody's data take part: with a mechanism its episodes stand for
                                   people's */
    ALGORITHM_RELEASES_Q,       /* trains others on shards of a dataset's experts, leaves a released
                                   Q-function (hooks.give_release) and no policy. With
                                   request.protects_rewards a world does for a dataset */
    ALGORITHM_MEASURES, /* takes a dataset, leaves ranges of its coordinates (hooks.give_ranges) and
                           no policy */
    ALGORITHM_AUDITS,   /* takes nothing, leaves numbers (hooks.show_finding) that are public and no
                           policy: *out_policy stays NULL */
    ALGORITHM_EVALUATES, /* trains nothing: what is there already, and may leave, is played where
                            the request's evaluation says. train is NULL */
    ALGORITHM_KINDS
};

/* What an algorithm learns from a dataset. */
enum algorithm_target {
    TARGET_ACTIONS, /* the experts' behaviour, from states and actions alone */
    TARGET_VALUES,  /* a Q-function, from rewards and next states too: the first outputs of the
                       policy, one an action, are its values, which gp_q_learning may release */
};

struct algorithm {
    const char *name;
    const char *summary;
    bool mechanisms[MECHANISM_COUNT];
    enum algorithm_kind kind;
    enum algorithm_target target; /* of ALGORITHM_LEARNS_FROM_DATA */
    const char *privacy_unit;     /* "expert"; "" where there is nothing to protect */
    const struct parameter_spec *parameters;
    unsigned parameter_count;
    const struct parameter_override *overrides; /* defaults that worlds have of their own */
    unsigned override_count;
    const struct parameter_later *later; /* so that runs that were planned before they came go on */
    unsigned later_count;

    /* Writes into the parameters of REQUEST, which has its world, what a run uses in their place,
     * so that whoever is shown them sees that. NULL: it uses all as they are. */
    void (*settle)(struct algorithm_request *request);

    /* Costs and shapes before anything runs; spends nothing, touches no data. On
     * ALGORITHM_BAD_INPUT *message is a static sentence. */
    enum algorithm_status (*plan)(const struct algorithm_request *request,
                                  struct algorithm_plan *out, const char **message);

    /* What a certificate says of a private run in the world of that name; request->world may be
     * NULL by then. NULL: it protects experts, in the words of api/jobs/run/job_certificate.c. */
    void (*describe)(const struct algorithm_request *request, const struct algorithm_plan *plan,
                     const char *world, struct statement *out);

    /* Trains; on ALGORITHM_OK *out_policy is the caller's. Messages as above, never derived from
     * private data. */
    enum algorithm_status (*train)(const struct algorithm_run *run, struct policy **out_policy,
                                   const char **message);
};

/* What a run means that was planned when ALGORITHM did not have its parameter at INDEX; NULL: there
 * is no such value, or the parameter was always there. */
const struct parameter_value *algorithm_before(const struct algorithm *algorithm, unsigned index);

/* The defaults of ALGORITHM in the world WORLD (NULL or "": those of any world). */
void algorithm_defaults(const struct algorithm *algorithm, const char *world,
                        struct parameter_values *out);

/* Puts the defaults that follow from FEATURES (NULL: none do) over OUT: of input_scale and
 * input_center, which then speak of normalised inputs, and of a Q-release's bounds. */
void algorithm_described_defaults(const struct algorithm *algorithm,
                                  const struct features *features, struct parameter_values *out);

#endif
