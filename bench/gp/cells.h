/* What is run: one cell is one method in one setting. */
#ifndef TACET_BENCH_GP_CELLS_H
#define TACET_BENCH_GP_CELLS_H

#include "bench/gp/baselines.h"
#include "bench/gp/methods.h"

enum cell_kind { CELL_METHOD, CELL_AUDIT, CELL_RELEASE, CELL_BASELINE };

struct cell {
    const char *name; /* without tabs; its key in the file of results */
    const char *says; /* in the report */
    enum cell_kind kind;
    unsigned seeds;
    /* METHOD and AUDIT; sigma 0: what the method claims CLAIMED for */
    enum method method;
    double sigma;
    uint32_t per_path;
    double claimed; /* epsilon at METHODS_DELTA; 0: none is claimed */
    /* RELEASE and BASELINE */
    const char *world; /* "line", "cartpole" */
    bool rewards;      /* unit reward, on line in the world; else expert */
    double reward_scale;
    enum baseline baseline;
};

struct cell_result {
    double final, true_low, true_high; /* NaN where there is none */
    bool has_curve;
    double curve[METHODS_BLOCKS];
};

const struct cell *cells_all(size_t *count);

/* False: no memory, or a setting that does not fit. */
bool cell_run(const struct cell *cell, unsigned seed, struct cell_result *out);

/* The noise that CELL's method has. */
double cell_sigma(const struct cell *cell);

#endif
