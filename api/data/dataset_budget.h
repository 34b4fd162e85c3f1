/* The budget of a dataset: how much its experts may be exposed by all releases together, and how
 * the account adds up what each release costs.
 *
 * By "basic" accounting, epsilons and deltas add up. By "renyi" the Renyi divergences of one order
 * add up, which lets many small releases cost far less (docs/proofs/budgets.md). */
#ifndef TACET_API_DATA_DATASET_BUDGET_H
#define TACET_API_DATA_DATASET_BUDGET_H

#include <jansson.h>
#include <stdint.h>

#include "api/call/call.h"
#include "storage/datasets.h"

struct dataset_budget {
    double epsilon, delta; /* as declared */
    double order;          /* of Renyi divergence; 0: basic */
    int64_t limit_units, limit_delta;
};

/* Reads OBJECT, {"epsilon","delta"[,"accounting","order","delta_share"]} at "/budget". Chooses what
 * is left out: basic accounting; by renyi the order that pays for most jobs, and a twentieth of
 * delta for releases with a delta of their own. What is wrong goes into the call's errors. */
void dataset_budget_read(struct call *call, const json_t *object, struct dataset_budget *out);

/* Reads OBJECT, {["order","delta_share"]}, for a budget of OUT->epsilon and OUT->delta by renyi,
 * and fills the rest of OUT in the same way. */
void dataset_budget_read_renyi(struct call *call, const json_t *object, struct dataset_budget *out);

/* Opens the account of BUDGET for RESOURCE: the dataset, or the account that this one continues.
 * Notes it in ROW, the dataset's. */
enum problem dataset_budget_open(struct call *call, const struct dataset_budget *budget,
                                 const char *resource, struct dataset_row *row);

#endif
