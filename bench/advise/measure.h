/* One measured run: a candidate of the advisor, asked for, planned, trained and played as a job
 * would be. */
#ifndef TACET_BENCH_ADVISE_MEASURE_H
#define TACET_BENCH_ADVISE_MEASURE_H

#include "algos/advice/advice.h"
#include "bench/advise/results.h"
#include "bench/offline/population.h"

/* A population, and a clone of each of its experts: logged data come without networks. */
struct school {
    struct population *population;
    struct policy **clones; /* one for each expert; NULL until one is needed */
    double low[ENV_MAX_STATE_DIM], high[ENV_MAX_STATE_DIM]; /* of states in the world */
    uint32_t episodes; /* that a policy plays; MEASURE_EPISODES unless set otherwise */
    uint32_t choose;   /* moments of a training, of which the best by play is taken; 0: the last */
};

/* Loads EXPERTS of POPULATION (its seed) in WORLD, by the cache. False after a line on standard
 * error; else for school_close. */
bool school_open(const char *world, uint64_t population, uint32_t experts, const char *cache,
                 struct school *out);
/* Frees what school_open made. */
void school_close(struct school *school);

/* What is known in public of a dataset of SCHOOL with a budget of EPSILON. */
struct advice_facts school_facts(const struct school *school, double epsilon);

/* The return of the noisy answers of a teacher of CANDIDATE's shards, of which the budget in FACTS
 * pays ADVICE_ANSWERS; *OUT_SIGNAL is theirs, 0 where it pays no such number. NAN: it failed. */
double measure_teacher(struct school *school, const struct advice_facts *facts,
                       const struct advice_candidate *candidate,
                       const struct algorithm_request *request, double *out_signal);

/* The return of the released Q-function of PLAN. NAN: it failed. */
double measure_release(struct school *school, const struct algorithm *algorithm,
                       const struct algorithm_request *request, const struct algorithm_plan *plan);

/* Fills in the world, the number of experts and the mean return of SCHOOL's logged trajectories. */
void measure_behaviour(const struct school *school, struct outcome *out);

#define MEASURE_EPISODES 100

/* Trains CANDIDATE and plays the result; without privacy where FACTS has no epsilon. Public coins
 * are those of SEED, experts and epsilon. Fills everything in OUT from signal on. False after a
 * line on standard error. */
bool measure_candidate(struct school *school, const struct advice_facts *facts,
                       const struct advice_candidate *candidate, uint64_t seed,
                       struct outcome *out);

#endif
