/* What consensus labels cost (consensus.h): the plan that the accountant and the sampler share. */
#ifndef TACET_ALGOS_OFFLINE_CONSENSUS_PLAN_H
#define TACET_ALGOS_OFFLINE_CONSENSUS_PLAN_H

#include <stdint.h>

#include "algos/stage_terms.h"

#define CONSENSUS_UNIT       (UINT32_C(1) << 16) /* lattice units that are a probability of 1 */
#define CONSENSUS_MAX_LABELS 1000000u

enum consensus_status {
    CONSENSUS_OK,
    CONSENSUS_BAD,          /* labels 1 .. CONSENSUS_MAX_LABELS, actions 2 .. ENV_MAX_ACTIONS,
                               epsilon in (0, 1000], delta in (0, 1/2] */
    CONSENSUS_OUT_OF_REACH, /* the noise would be above 2^16/|A| experts */
};

/* Finds the least noise at which LABELS labels are (epsilon, delta)-private. Writes *OUT on success
 * only. */
enum consensus_status consensus_plan_make(uint32_t labels, uint32_t action_count, double epsilon,
                                          double delta, struct consensus_plan *out);

/* ---- declared states */

/* Consensus labels at declared states: a grid, or a list, that somebody wrote down before any data
 * were read. Nothing is played, so no world is needed. The next state is not known; the labels
 * therefore serve an algorithm that reads states and actions alone. consensus_grid_release does it;
 * mechanism, unit and price are those of consensus.h. */
#define CONSENSUS_GRID_MAX_POINTS 1000u /* of one number of a state */
#define CONSENSUS_GRID_MAX_STATES 4096u /* of a list */

/* The number of states of GRID. 0: GRID is invalid, because dims, a number of points, the product
 * (at most CONSENSUS_MAX_LABELS) or the length of the list is out of bounds, because low is above
 * high, or because a number is not finite as float32. */
uint32_t consensus_grid_size(const struct consensus_grid *grid);

/* Writes state number INDEX (below consensus_grid_size) to out[dims]. States of a regular grid are
 * numbered with the last coordinate varying fastest. */
void consensus_grid_state(const struct consensus_grid *grid, uint32_t index, float *out);

/* Writes the different values of coordinate D in the list of GRID to out[grid->count], in order.
 * Returns their number. */
uint32_t consensus_list_values(const struct consensus_grid *grid, uint32_t d, double *out);

#endif
