/* Small data, plans and runs of any offline algorithm. */
#ifndef TACET_TESTS_OFFLINE_KIT_H
#define TACET_TESTS_OFFLINE_KIT_H

#include "algos/algorithm.h"

enum { KIT_DIM = 3, KIT_ACTIONS = 3, KIT_LENGTH = 5 };

/* EXPERTS experts of one random trajectory each, from SEED; every other one is terminal. The caller
 * frees it. */
struct dataset *kit_data(uint32_t experts, uint64_t seed);

/* The data of expert WHICH of DATA alone. */
struct dataset *kit_expert(const struct dataset *data, uint32_t which);

/* The number that VALUES have for the parameter called NAME of ALGORITHM. */
double kit_number(const struct algorithm *algorithm, const struct parameter_values *values,
                  const char *name);

struct kit {
    const struct algorithm *algorithm;
    struct algorithm_request request;
    struct algorithm_plan plan;
};

/* A request for a network of one hidden layer of 6, batch 4, every expert of weight 1. */
void kit_init(struct kit *kit, const char *algorithm, enum algorithm_mechanism mechanism,
              uint32_t experts);
void kit_set(struct kit *kit, const char *parameter, double value);
bool kit_has(const struct kit *kit, const char *parameter);
void kit_plan(struct kit *kit);

/* Trains with noise from KEY; the caller frees the policy. */
struct policy *kit_train(const struct kit *kit, const struct dataset *data, uint8_t key);

/* Settings of one step of plain gradient descent at rate 1, every expert in the batch, next to no
 * noise; then kit_gradient gives the clipped sum of the experts of DATA, OUT[parameter_count]. */
void kit_one_step(struct kit *kit, double clip_norm);
void kit_gradient(const struct kit *kit, const struct dataset *data, double *out);

#endif
