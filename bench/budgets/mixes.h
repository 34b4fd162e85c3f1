/* Jobs that one account may be asked for, at random. */
#ifndef TACET_BENCH_BUDGETS_MIXES_H
#define TACET_BENCH_BUDGETS_MIXES_H

#include "algos/privacy/laws/mechanism.h"
#include "envs/rng.h"

#define MIX_KINDS 4
#define MIX_JOBS  100000
#define EXPERTS   3000 /* of every job */

/* A DP-SGD job in exact arithmetic: what happens, and what it costs by itself. */
struct budget_job {
    struct composition plan; /* job_clear */
    double sampling_rate, noise_multiplier;
    uint64_t steps;
    double epsilon, delta;
};

/* The job of STEPS steps with batches of BATCH experts whose noise costs EPSILON at DELTA, after a
 * first stage that costs STAGE of epsilon (0: none). False: no noise is enough. */
bool job_find(double epsilon, double delta, uint32_t batch, uint64_t steps, double stage,
              struct budget_job *out);

/* Frees what JOB holds. */
void job_clear(struct budget_job *job);

/* What an account is asked for. */
struct mix {
    double epsilon, delta; /* of the account */
    struct budget_job job[MIX_KINDS];
    unsigned kinds;
    unsigned char *order; /* MIX_JOBS kinds, as they are asked for; owned */
};

/* One kind alone. */
bool mix_of(double epsilon, double delta, const struct budget_job *job, struct mix *out);

/* Epsilon 1 .. 20, delta 1e-8 .. 1e-5, and up to four kinds in random order. Each costs a
 * twentieth to a third of epsilon at a tenth of delta, with batches of 10 .. 900 experts and 50 ..
 * 20,000 steps. One in ten is one release of everybody, and one in four has a first stage.
 * False: a kind has no noise, or memory ran short. */
bool mix_draw(struct rng *rng, struct mix *out);

/* Frees what MIX holds. */
void mix_clear(struct mix *mix);

#endif
