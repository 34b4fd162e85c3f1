/* Training by (noisy) gradients on a dataset: everything that algorithms share. An algorithm says
 * what its network gives and what the gradient of one example's loss is; batches, clipping, noise,
 * optimiser, target network, checkpoints and pulses are here, once.
 *
 * A run is a schedule of steps of two kinds. A noisy step takes its batch and its noise from the
 * plan and from nothing else (algos/privacy/training/dp_sgd_plan.h): each expert slot of the run's
 * data joins with the plan's rate, each chosen expert gives one uniformly drawn transition, or
 * several, and its gradient over the whole network, or the mean of theirs, is clipped once. An
 * empty batch is a step of noise. A plain step is the mean of BATCH_SIZE uniform transitions: of
 * all the data with MECHANISM_NONE, else of the run's stable set, which was released before
 * (algos/offline/schedule.h says which steps those are; without a stable transition they move
 * nothing).
 *
 * When the plan says that its draws are rounded Gaussians, noisy steps are computed in whole
 * numbers (whole_numbers must be set): each example's gradient depends on that example and the
 * weights alone, to the bit, and is rounded to a lattice before it is added.
 *
 * With a feed the data grow between the steps (dqn, which plays while it learns). An expert is then
 * in some of the steps only, and the plan's noisy steps are the most that one expert can be in:
 * docs/proofs/playing_users.md.
 *
 * Experts weigh min(1, transitions / full_weight_transitions)^weight_power. At power 1 the loss is
 * the mean over transitions; at 0 an expert whose episodes end at once counts as much as a good
 * one; above 1 long episodes count more. With return_power they also weigh as the place of their
 * mean return between return_low and return_high says. In a noisy step the weight multiplies the
 * clipped gradient: it is at most 1 and made of public numbers and the expert's own data, so one
 * expert's share of the sum stays within the clip norm. With MECHANISM_NONE transitions are weighed
 * so that the loss is the same. Stable transitions weigh alike: whose they are is not known.
 */
#ifndef TACET_ALGOS_OFFLINE_DP_TRAINER_H
#define TACET_ALGOS_OFFLINE_DP_TRAINER_H

#include "algos/algorithm.h"
#include "algos/nn/mlp.h"
#include "algos/nn/optimizer.h"

/* Number of examples in one chunk; larger batches are summed chunk by chunk. */
#define TRAINER_CHUNK_ROWS 256

/* So many transitions of an expert may be one example. */
#define TRAINER_GROUP_MOST 64

/* Some examples of a batch. The networks' outputs are row major. */
struct trainer_rows {
    uint32_t count;
    const uint16_t *actions;
    const float *rewards; /* times reward_scale */
    const uint8_t *terminated;
    const float *online;      /* at s: count x outputs */
    const float *online_next; /* at s': count x outputs; NULL unless the rule asks for it */
    const float *target_next; /* target network at s': count x target_outputs; NULL unless the rule
                                 bootstraps */
    float *error;             /* output: d loss of the example / d online, count x outputs */
};

/* What an algorithm tells the trainer. There is one network: an algorithm with two heads (BCQ) has
 * both among its outputs, so that one clip covers all that an example moves. */
struct trainer_rule {
    struct mlp_shape shape;
    uint32_t target_outputs; /* 0: the rule does not bootstrap. Else the rule reads this many
                              * first outputs of a target network at s' */
    bool asks_online_next;   /* the rule also reads the online network's outputs at s' */
    void (*errors)(const void *context, const struct trainer_rows *rows);
    const void *context;
};

/* Data that grow while they are learned from. The feed owns the run's data and changes them
 * between steps. The number of expert slots does not change. */
struct trainer_feed {
    void *context;
    uint64_t uses; /* one expert is among the data in at most so many steps: the plan counts them */
    /* Whether something is to be added before step STEPS_DONE. */
    bool (*is_due)(void *context, uint64_t steps_done);
    /* Adds a part of what is due. WEIGHTS are those after STEPS_DONE steps, for unscaled states. */
    enum algorithm_status (*add)(void *context, uint64_t steps_done, const float *weights,
                                 const char **message);
};

enum trainer_rate_schedule { RATE_CONSTANT, RATE_LINEAR, RATE_COSINE };

struct trainer_settings {
    struct trainer_rule rule;
    struct optimizer_settings optimizer;
    double learning_rate;
    enum trainer_rate_schedule rate_schedule;
    double final_rate_fraction;      /* share of the learning rate at the last step; not for
                                      * RATE_CONSTANT */
    uint64_t warmup_steps;           /* the rate grows linearly over this many steps */
    double polyak_tau;               /* > 0: target += tau (online - target) after every step */
    uint64_t target_update_interval; /* else: the target network is copied every so many steps */
    double average_decay; /* > 0: the result is an exponential average of the weights (free: it is
                             post-processing); else the last weights */
    double reward_scale;
    /* How a state becomes an input (trainer_input.h): one number for all coordinates, or one for
     * each, of what FEATURES (NULL: nothing) have normalised. */
    struct parameter_value input_scale, input_center;
    const struct features *features;
    uint64_t full_weight_transitions;             /* at least 1 */
    double weight_power;                          /* 0: all experts weigh 1 */
    double return_low, return_high, return_power; /* power 0: returns weigh nothing */
    uint32_t transitions_per_expert;              /* of a noisy step: 1 .. TRAINER_GROUP_MOST */
    uint32_t batch_size;             /* of a plain step; the expected size of a noisy step's
                                      * batch */
    const struct trainer_feed *feed; /* NULL: the data stay as they are */
    const struct choice *choice;     /* NULL: the result is the last weights, or their average */
    enum policy_output output;       /* how a candidate's outputs are played */
    float threshold;                 /* of POLICY_BCQ */
    bool whole_numbers;              /* the plan's noisy steps are computed in whole numbers */
    bool forgets_targets;            /* for tests: recomputes target values at every step */
};

/* The learning rate of step DONE (counted from 0) of TOTAL. */
double trainer_learning_rate(const struct trainer_settings *settings, uint64_t done,
                             uint64_t total);

/* Trains by RUN's plan, data, checkpoint, hooks and noise. On ALGORITHM_OK it gives the network's
 * parameters, which the caller frees. Other results and *MESSAGE: as in algorithm.h. */
enum algorithm_status trainer_run(const struct algorithm_run *run,
                                  const struct trainer_settings *settings, float **out_parameters,
                                  const char **message);

#endif
