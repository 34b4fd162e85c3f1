/* The trainer's memory between steps, and its byte form: the checkpoint. Within algos/offline, but
 * for audits. */
#ifndef TACET_ALGOS_OFFLINE_TRAINER_STATE_H
#define TACET_ALGOS_OFFLINE_TRAINER_STATE_H

#include "algos/nn/optimizer.h"
#include "algos/offline/dp_trainer.h"
#include "envs/rng.h"

struct trainer_state {
    uint64_t steps_done;
    size_t count;       /* parameters of the network */
    float *online;      /* owned */
    float *target;      /* owned; NULL unless the rule bootstraps */
    float *average;     /* owned; NULL unless weights are averaged */
    float *best;        /* owned; NULL unless the result is chosen (choice.h): the best so far */
    uint32_t judged;    /* candidates so far */
    double best_return; /* NaN: none could be played */
    struct optimizer optimizer;
    struct rng rng; /* batches of plain steps */
};

/* A fresh start from the request's public seed. Free with trainer_state_clear. */
void trainer_state_init(struct trainer_state *out, const struct trainer_settings *settings,
                        uint64_t seed);

/* Frees the vectors; all is zero afterwards. */
void trainer_state_clear(struct trainer_state *state);

/* What a run is, as one number: a checkpoint of another run is refused by it. */
uint64_t trainer_fingerprint(const struct algorithm_run *run);

/* The checkpoint, *OUT_SIZE bytes, which the caller frees. */
unsigned char *trainer_state_to_bytes(const struct trainer_state *state, uint64_t fingerprint,
                                      size_t *out_size);

/* Copies the online weights of the checkpoint BYTES of any run to WEIGHTS[COUNT] (for audits).
 * False: damage, another version, or another number of weights. */
bool trainer_state_weights(const unsigned char *bytes, size_t size, size_t count, float *weights);

/* Fills STATE, which trainer_state_init made for the same settings. False, with STATE as it was:
 * damage, another version, another run, more steps than TOTAL_STEPS. */
bool trainer_state_from_bytes(struct trainer_state *state, uint64_t fingerprint,
                              uint64_t total_steps, const unsigned char *bytes, size_t size);

#endif
