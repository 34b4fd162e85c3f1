/* The batches of the trainer's steps. Within algos/offline. */
#ifndef TACET_ALGOS_OFFLINE_TRAINER_DRAW_H
#define TACET_ALGOS_OFFLINE_TRAINER_DRAW_H

#include "algos/offline/dp_trainer.h"
#include "envs/rng.h"

struct trainer_draw {
    const struct dataset *data; /* of the last batch */
    uint32_t count;             /* rows in it */
    uint32_t group;             /* rows of one expert in it, side by side: one example */
    uint32_t per_expert;        /* GROUP of a batch of experts */
    uint64_t *transitions;      /* rows of DATA; owned */
    float *weights;             /* what each row's gradient is multiplied by; owned */
    uint32_t *chosen;           /* expert slots; owned */
    float *expert_weights;      /* of the run's experts; owned */
};

/* The bytes that trainer_draw_init takes. */
size_t trainer_draw_bytes(const struct trainer_settings *settings, const struct dataset *data);

/* The weights of DATA's experts, and room for any batch of the run. Free with
 * trainer_draw_clear. */
void trainer_draw_init(struct trainer_draw *draw, const struct trainer_settings *settings,
                       const struct dataset *data);

/* Computes the weights again, after DATA have changed. */
void trainer_draw_weigh(struct trainer_draw *draw, const struct trainer_settings *settings,
                        const struct dataset *data);

/* Frees the room; takes one that is all zero. */
void trainer_draw_clear(struct trainer_draw *draw);

/* settings->transitions_per_expert uniform transitions, each drawn anew, of each of the run's
 * experts (DATA) that PLAN draws. Weights are at most 1 over their number: gradients sum to a
 * weighed mean. */
void trainer_draw_experts(struct trainer_draw *draw, const struct dp_sgd_plan *plan,
                          struct noise_source *noise, const struct dataset *data);

/* settings->batch_size uniform transitions; WEIGHED: by expert, and DATA must be that of
 * trainer_draw_init. DATA has one transition at least. */
void trainer_draw_transitions(struct trainer_draw *draw, const struct trainer_settings *settings,
                              struct rng *rng, const struct dataset *data, bool weighed);

#endif
