/* Training by (noisy) gradients on a dataset: everything that algorithms share. An algorithm says
 * which networks it has and what the gradient of one example's loss is; batches, clipping, noise,
 * optimiser, target network, checkpoints and pulses are here, once.
 *
 * With MECHANISM_DPSGD the batch and the noise of every step come from the plan and from nothing
 * else (algos/privacy/dp_sgd_plan.h): each expert slot joins with the plan's rate, each chosen
 * expert gives one uniformly drawn transition, its gradient is clipped over all networks jointly.
 * An empty batch is a step of noise. With MECHANISM_NONE a batch is BATCH_SIZE uniform transitions.
 *
 * Experts weigh min(1, transitions / full_weight_transitions)^weight_power. At power 1 the loss is
 * the mean over transitions; at 0 an expert whose episodes end at once counts as much as a good
 * one; above 1 long episodes count more. With DP-SGD the weight multiplies the clipped gradient: it
 * is at most 1 and made of public numbers and the expert's own data, so one expert's share of the
 * sum stays within the clip norm. Without privacy transitions are weighed so that the loss is the
 * same.
 */
#ifndef TACET_ALGOS_OFFLINE_DP_TRAINER_H
#define TACET_ALGOS_OFFLINE_DP_TRAINER_H

#include "algos/algorithm.h"
#include "algos/nn/mlp.h"
#include "algos/nn/optimizer.h"

#define TRAINER_MAX_NETWORKS 2
/* Examples worked on at once; larger batches are summed in chunks. */
#define TRAINER_CHUNK_ROWS 256

/* Some examples of a batch. Arrays of networks' values are COUNT x outputs, row major. */
struct trainer_rows {
    uint32_t count;
    const uint16_t *actions;
    const float *rewards; /* times reward_scale */
    const uint8_t *terminated;
    const float *online[TRAINER_MAX_NETWORKS];      /* at s */
    const float *online_next[TRAINER_MAX_NETWORKS]; /* at s'; NULL unless uses_next */
    const float
        *target_next[TRAINER_MAX_NETWORKS]; /* target network at s'; NULL unless uses_next */
    float *error[TRAINER_MAX_NETWORKS];     /* to be written: d loss of that example / d online */
};

/* What an algorithm is to the trainer. */
struct trainer_rule {
    uint32_t network_count;
    struct mlp_shape shape[TRAINER_MAX_NETWORKS];
    bool uses_next; /* it bootstraps: needs values at s' and a target network */
    void (*errors)(const void *context, const struct trainer_rows *rows);
    const void *context;
};

struct trainer_settings {
    struct trainer_rule rule;
    struct optimizer_settings optimizer;
    double learning_rate;
    double final_rate_fraction;      /* the rate falls linearly to this part of itself */
    double polyak_tau;               /* > 0: target += tau (online - target) after every step */
    uint64_t target_update_interval; /* else: the target is a copy made every so many steps */
    double average_decay; /* > 0: the result is an exponential average of the weights (free: it is
                             post-processing); else the last weights */
    double reward_scale;
    double input_scale; /* states are multiplied by it while training; the result has it in its
                           first  layer's weights */
    uint64_t full_weight_transitions; /* at least 1 */
    double weight_power;              /* 0: all experts weigh 1 */
    uint32_t batch_size;              /* MECHANISM_NONE */
};

/* Trains from RUN (its plan, data, checkpoint, hooks and noise) and on ALGORITHM_OK gives the
 * networks' parameters one after the other; the caller frees them. Other results and *message as
 * in algorithm.h. */
enum algorithm_status trainer_run(const struct algorithm_run *run,
                                  const struct trainer_settings *settings, float **out_parameters,
                                  const char **message);

#endif
