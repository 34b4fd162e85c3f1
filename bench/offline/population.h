/* A population of experts and its data, as `tacet experts` makes them, for measurements. The
 * trained networks are kept in a file; trajectories are played again, which is quick and gives the
 * same bytes. */
#ifndef TACET_BENCH_OFFLINE_POPULATION_H
#define TACET_BENCH_OFFLINE_POPULATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "algos/data/dataset.h"
#include "algos/offline/expert_policies.h"
#include "algos/online/experts.h"
#include "algos/policy.h"
#include "envs/env.h"

#define POPULATION_FLOOR 0.02 /* probability of every action but the best */

struct population {
    const struct env *env;
    enum experts_select select;
    uint64_t seed;
    uint32_t experts, trajectories;
    uint32_t episode_steps;    /* longest trajectory in the data */
    uint32_t evaluation_steps; /* longest episode when a policy is judged */
    struct policy **policies;  /* experts */
    struct dataset *data;
    double random_return; /* mean of 100 episodes of at most evaluation_steps with random actions */
};

/* Which experts of a population are kept. Both thirds have nearly the same mean return: NARROW are
 * those in the middle of the order by return, WIDE is every third of that order. */
enum population_spread { SPREAD_ALL, SPREAD_NARROW, SPREAD_WIDE };

/* The experts that offline learning was measured with: where whole training runs are dear, the best
 * moments of shorter ones. */
enum experts_select population_usual_select(const char *world);

/* Loads the networks from CACHE/NAME.experts (NAME-SEED.experts when SEED is not 1, and with "-top"
 * or "-moments" behind NAME when SELECT is not the usual one), and trains and adds those that are
 * missing; then plays. NULL after a line on standard error. */
struct population *population_load_selected(const char *world, enum experts_select select,
                                            uint64_t seed, uint32_t experts, uint32_t trajectories,
                                            const char *cache);

/* The same with the usual ones. */
struct population *population_load(const char *world, uint64_t seed, uint32_t experts,
                                   uint32_t trajectories, const char *cache);
void population_free(struct population *population);

/* Keeps the third of the experts that SPREAD names, by the mean return of their trajectories, and
 * plays anew with those (all are kept with SPREAD_ALL). Writes how many are left, the mean and the
 * standard deviation of their returns to standard error. False: no memory. */
bool population_keep(struct population *population, enum population_spread spread);

/* Makes the cache's file of the networks that IN holds, as `tacet experts --policies` writes them,
 * unpacked, with its usual selection: HIV and LunarLander, whose experts take hours, need not be
 * trained twice. False after a line on standard error. */
bool population_import(FILE *in, const char *world, uint64_t seed, const char *cache);

/* Copies of the networks, mixed to the floor; the caller frees them. NULL: no memory. */
struct expert_policies *population_policies(const struct population *population);

/* The same of POLICIES, one for each expert: clones, for example. */
struct expert_policies *population_copies(const struct population *population,
                                          struct policy *const *policies);

#endif
