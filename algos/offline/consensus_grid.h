/* Consensus labels at declared states: a grid, or a list, that somebody wrote down before any data
 * were read, so that nothing is played and no world is needed. What follows a state is not known
 * then: the labels serve an algorithm that reads states and actions alone. Mechanism, unit and
 * price are those of consensus.h, whose consensus_grid_release does it. */
#ifndef TACET_ALGOS_OFFLINE_CONSENSUS_GRID_H
#define TACET_ALGOS_OFFLINE_CONSENSUS_GRID_H

#include <stdint.h>

#include "algos/stage_terms.h"

#define CONSENSUS_GRID_MAX_POINTS 1000u /* of one number of a state */
#define CONSENSUS_GRID_MAX_STATES 4096u /* of a list */

/* How many states there are; 0 when dims, a number of points, the product (at most
 * CONSENSUS_MAX_LABELS) or the length of the list is out of bounds, low is above high, or a number
 * is not finite as float32. */
uint32_t consensus_grid_size(const struct consensus_grid *grid);

/* State number INDEX (below the size), of a grid the last coordinate changing first: out[dims]. */
void consensus_grid_state(const struct consensus_grid *grid, uint32_t index, float *out);

#endif
