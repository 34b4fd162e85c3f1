/* Epsilon of a mechanism run n times, certified from both sides; the grid is found by itself. */
#ifndef TACET_ALGOS_PRIVACY_PLD_CERTIFY_H
#define TACET_ALGOS_PRIVACY_PLD_CERTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/interval.h"
#include "algos/privacy/pld.h"

/* How closely to look. */
struct pld_effort {
    double relative_gap;    /* stop when upper - lower <= relative_gap * upper, */
    double irrelevant;      /* or when upper <= irrelevant (another direction costs more), */
    unsigned max_log2_size; /* or when the window has 2^max_log2_size points (12 .. 20) */
};

#define PLD_MAX_LOG2_SIZE 20 /* window of at most 2^20 points: 0.2 s, 120 MB */

/* The interval of MECHANISM, with its PARAMETERS, run TIMES >= 1 at DELTA in (0, 1). The window is
 * doubled until EFFORT is satisfied. False when memory is short or the mechanism is beyond any
 * grid.
 */
bool pld_certify(pld_mechanism mechanism, const void *parameters, uint64_t times, double delta,
                 const struct pld_effort *effort, struct privacy_interval *out);

#endif
