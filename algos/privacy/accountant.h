/* Epsilon of a mechanism run n times, certified from both sides; the grid is found by itself. */
#ifndef TACET_ALGOS_PRIVACY_ACCOUNTANT_H
#define TACET_ALGOS_PRIVACY_ACCOUNTANT_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/privacy/pld.h"

struct accountant_interval {
    double lower, upper; /* the least epsilon lies between; upper may be INFINITY */
};

#define ACCOUNTANT_MAX_LOG2_SIZE 20 /* window of at most 2^20 points: 0.2 s, 120 MB */

/* The interval of MECHANISM, with its PARAMETERS, run TIMES >= 1 at DELTA in (0, 1). The window is
 * doubled until upper - lower <= RELATIVE_GAP * upper or 2^max_log2_size points are reached (12 ..
 * ACCOUNTANT_MAX_LOG2_SIZE). False when memory is short. */
bool accountant_epsilon(pld_mechanism mechanism, const void *parameters, uint64_t times,
                        double delta, double relative_gap, unsigned max_log2_size,
                        struct accountant_interval *out);

#endif
