/* Epsilon or delta of a composition, certified from both sides; the grid is found by itself. */
#ifndef TACET_ALGOS_PRIVACY_LAWS_PLD_CERTIFY_H
#define TACET_ALGOS_PRIVACY_LAWS_PLD_CERTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/privacy/laws/pld.h"
#include "algos/privacy/math/interval.h"
#include "algos/privacy/math/work.h"

/* How closely to look. */
struct pld_effort {
    double relative_gap;    /* stop when upper - lower <= relative_gap * upper, */
    double irrelevant;      /* or when upper <= irrelevant (another direction costs more), */
    unsigned max_log2_size; /* or when the window has 2^max_log2_size points (12 .. 26), */
    struct work *work;      /* or when this is done; NULL: it has no end. Borrowed */
};

/* Beyond 2^20 points a window is used only where a few frequencies suffice (pld_spectrum.h). */
#define PLD_MAX_LOG2_SIZE 26

struct pld_part {
    pld_mechanism mechanism;
    const void *parameters;
    uint64_t times; /* >= 1 */
    double quantum; /* the loss of its atoms, for which the grid makes a place; 0: it has none */
};

enum pld_figure { PLD_EPSILON, PLD_DELTA };

/* The interval of PART[COUNT], composed: of epsilon at the delta AT in (0, 1), or of delta at the
 * epsilon AT >= 0. The grid is refined until EFFORT is satisfied or nothing more can be done. A
 * mechanism beyond any grid gets [0, INFINITY], or [0, 1]. PLD_OK, PLD_NO_MEMORY, or
 * PLD_TOO_MUCH_WORK when the effort's work was done before any bound was found. */
enum pld_status pld_certify(const struct pld_part *part, size_t count, enum pld_figure figure,
                            double at, const struct pld_effort *effort,
                            struct privacy_interval *out);

#endif
