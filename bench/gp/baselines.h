/* What was there before functional noise, at an epsilon that is true: private policy evaluation and
 * input perturbation in the one-dimensional world, for the units that the service's own releases
 * have. docs/results/gp.md says what each protects. */
#ifndef TACET_BENCH_GP_BASELINES_H
#define TACET_BENCH_GP_BASELINES_H

#include "bench/gp/methods.h"
#include "bench/gp/private_returns.h"

/* The first four protect one of BASELINE_EXPERTS experts, who play an episode each at random. The
 * others protect the reward function: neighbours are DISTANCE apart at most, rewards are clipped to
 * [0, 1/2], states and actions are public. Where least squares learn, the policy is greedy for the
 * estimated values of random play: one step of policy iteration, which in this world is enough. */
enum baseline {
    BASELINE_LSW,           /* least squares of mean returns, noise by a smooth bound */
    BASELINE_LSW_PUBLISHED, /* the same with the constants of Balle, Gomrokchi and Precup */
    BASELINE_LSL,           /* regularised least squares of all returns, noise by a smooth bound */
    BASELINE_LOCAL,         /* each expert gives one perturbed step */
    BASELINE_REWARD_LSW,    /* least squares of mean returns, noise on the coefficients */
    BASELINE_INPUT_LSW,     /* noise on all rewards, then least squares of mean returns */
    BASELINE_INPUT_NETWORK, /* noise on all rewards, then the network of methods.h */
    BASELINE_DPSGD,         /* DP-SGD of methods.h, priced for the reward function */
};

#define BASELINE_EXPERTS  3000
#define BASELINE_EPISODES 100 /* of the unit reward: as many as those of methods.h */
#define BASELINE_CELLS    10  /* of the state */

struct baseline_run {
    enum baseline baseline;
    double epsilon;  /* at METHODS_DELTA; of BASELINE_LSW_PUBLISHED: what its constants claim;
                      * INFINITY: no noise (not of the networks) */
    double distance; /* of neighbours' rewards, > 0; units of reward only */
    uint64_t seed;   /* of data, play and noise (but for the networks' noise) */
};

#define BASELINE_NUMBERS 4

struct baseline_result {
    double number[BASELINE_NUMBERS]; /* what is released, with its noise; not of the networks:
                                      * coefficients of orthonormal features, or two means and 0 */
    double final;                    /* mean return of the greedy policy, 40 episodes */
    double sigma;                    /* deviation of the noise on each number that has noise */
    double epsilon;                  /* true, at most; INFINITY: no noise */
};

/* False: no memory, or no randomness. */
bool baseline_run_one(const struct baseline_run *run, struct baseline_result *out);

/* Places and features of the line, without a trajectory: place 2 cell + action, and for each action
 * a constant and a slope. Returns are discounted by half. */
void baseline_returns(struct private_returns *out);

/* What a claim of EPSILON by BASELINE_LSW_PUBLISHED truly is at METHODS_DELTA, at most. */
double baseline_published_epsilon(double epsilon);

#endif
