/* Logged data by made-up experts of the example worlds, policies good and bad that were made from
 * such data, and what a policy is truly worth. */
#ifndef TACET_BENCH_JUDGE_SCHOOL_H
#define TACET_BENCH_JUDGE_SCHOOL_H

#include "algos/data/dataset.h"
#include "algos/policy.h"
#include "envs/env.h"

#define SCHOOL_DISCOUNT 0.97
#define SCHOOL_POLICIES 40

/* Trajectories of EXPERTS experts, each with rules of its own, who now and then do something else.
 * The world is ward, fund or factory. */
struct dataset *school_log(const struct env *world, uint32_t experts, uint32_t trajectories,
                           uint64_t seed);

/* The mean discounted return of those experts, and of POLICY (NULL: of fresh experts), within the
 * world's usual limit; *ERROR is its standard error. */
double school_truth(const struct env *world, const struct policy *policy, uint64_t seed,
                    double *error);

/* Policy number INDEX (below SCHOOL_POLICIES), of a kind named in *KIND. MINE are the data that it
 * is learnt from, JUDGED those of the judge, which only adversarial ones may read. */
struct policy *school_policy(const struct env *world, unsigned index, const struct dataset *mine,
                             const struct dataset *judged, uint64_t seed, const char **kind);

#endif
