/* The checkpoint of a run in two stages: what was released, then the trainer's own. Within
 * algos/offline. */
#ifndef TACET_ALGOS_OFFLINE_STAGE_STATE_H
#define TACET_ALGOS_OFFLINE_STAGE_STATE_H

#include "algos/algorithm.h"

/* What a staged run is, as one number. */
uint64_t stage_fingerprint(const struct algorithm_run *run);

/* The released set as the beginning of every checkpoint: *OUT_SIZE bytes, which the caller frees.
 */
unsigned char *stage_state_to_bytes(const struct dataset *released, uint64_t fingerprint,
                                    size_t *out_size);

/* Reads it back to *OUT_RELEASED, which the caller frees. *OUT_USED is where the trainer's own
 * checkpoint begins, perhaps at the end: then it has none yet. False: damaged, another version or
 * another run. */
bool stage_state_from_bytes(uint64_t fingerprint, const unsigned char *bytes, size_t size,
                            struct dataset **out_released, size_t *out_used);

#endif
