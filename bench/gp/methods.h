/* The ways of learning in the one-dimensional world, and what each claims and truly guarantees
 * about the reward function. */
#ifndef TACET_BENCH_GP_METHODS_H
#define TACET_BENCH_GP_METHODS_H

#include "bench/gp/line.h"

#define METHODS_DELTA  1e-4
#define METHODS_BLOCKS 20 /* of a learning curve, five episodes each */

/* Deep Q-learning on line, 100 episodes, an update from every ten steps: 500 of them. */
enum method {
    METHOD_PLAIN,   /* no noise */
    METHOD_PRINTED, /* Algorithm 1: a path of SIGMA, PER_PATH updates to a path */
    METHOD_INPUT,   /* each reward with noise SIGMA */
    METHOD_DPSGD,   /* clipped gradients, noise SIGMA clip on a batch's sum */
};

struct method_run {
    enum method method;
    double sigma;
    uint32_t per_path;
    double reward_shift; /* a neighbouring world's rewards, for audits; 0 */
    uint64_t seed;
};

struct method_result {
    double curve[METHODS_BLOCKS]; /* mean return of episodes, exploration included */
    double final;                 /* of the greedy policy of the returned weights, 40 episodes */
    double level;                 /* their mean value over states and actions */
};

/* False: no memory. */
bool method_run_one(const struct method_run *run, struct method_result *out);

/* The sigma that METHOD claims EPSILON for at METHODS_DELTA: of Theorem 5 at L = 1 and the least k
 * that its condition allows; of one reward; of one transition. */
double method_claimed_sigma(enum method method, double epsilon);

/* What SIGMA truly costs at METHODS_DELTA where neighbours are reward functions 1 apart everywhere:
 * in closed form for INPUT and DPSGD (500 releases and their 5000 rewards, or 20 clips an update);
 * NaN for PRINTED, which has no closed form: see method_audit. */
double method_true_epsilon(enum method method, double sigma);

/* A lower bound of the true epsilon of PRINTED from RUNS returned weights in each of two worlds
 * whose rewards are 1 apart: their mean value against a threshold that other runs chose, Clopper
 * and Pearson at 97.5 % on either side. NaN: no memory. */
double method_audit(double sigma, uint32_t per_path, uint32_t runs, uint64_t seed);

#endif
