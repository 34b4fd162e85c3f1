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
    bool unplayed; /* final is not wanted */
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
 * infinite for PRINTED, where no bound holds for all rewards: two states of a batch that are close
 * together have all but the same noise, and their rewards may be 2 apart
 * (docs/proofs/gaussian_process.md). */
double method_true_epsilon(enum method method, double sigma);

/* The sigma of INPUT and DPSGD that truly costs EPSILON at METHODS_DELTA for those neighbours. */
double method_true_sigma(enum method method, double epsilon);

/* Of PRINTED where neighbours' rewards differ by one constant, at most 1: an upper bound. A
 * constant reward c is what paths lower by c / (1 - discount) would be, everywhere and for both
 * actions, and choices do not see those; so the weights are a function of paths that are so far
 * apart in the kernel's norm. It needs a world without terminal states, as line is. */
double method_constant_epsilon(double sigma, uint32_t per_path);

/* Of PRINTED with the same rate, discount and updates, exactly, in a world of one state and one
 * action with a value of one weight: a lower bound of what it guarantees in all worlds. A path then
 * is one normal z, and an update b <- b - rate ((1 - discount) (b + z) - r). */
double method_single_state_epsilon(double sigma, uint32_t per_path);

/* A lower bound of the true epsilon of OF's method from RUNS returned weights in each of two worlds
 * whose rewards are 1 apart: their mean value against a threshold that the first half chose,
 * counted on the second, Clopper and Pearson at 97.5 % on either side (membership_lower_bound).
 * NaN: no memory. */
double method_audit(const struct method_run *of, uint32_t runs);

#endif
