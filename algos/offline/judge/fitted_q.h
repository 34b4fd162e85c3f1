/* Judging a policy without a simulator: fitted Q evaluation (Le, Voloshin and Yue 2019, "Batch
 * policy learning under constraints", algorithm 3) and the value of initial states that it gives.
 *
 * For transitions (s, a, r, s', terminal) of whoever played them,
 *   Q_0 = 0,  Q_k+1 = argmin sum (Q(s, a) - r - discount (1 - terminal) sum_b pi(b|s') Q_k(s',
 * b))^2 and the value of pi is the mean of sum_b pi(b|s) Q_K(s, b) over first states s of
 * trajectories that the fit has not seen. A trajectory cut by a step limit is not terminal: the
 * value is that of play without the limit.
 *
 * It is an estimate, by a network, about actions that the data may hardly hold: it can be far off,
 * above all where the policy differs from who made the data. The held-out residual is told beside
 * it, and a simulator's return is worth more wherever there is one.
 *
 * PRIVACY. The result is a function of the data: they must be public, or have been released. */
#ifndef TACET_ALGOS_OFFLINE_JUDGE_FITTED_Q_H
#define TACET_ALGOS_OFFLINE_JUDGE_FITTED_Q_H

#include "algos/algorithm.h"
#include "algos/data/dataset.h"
#include "algos/policy.h"

struct fitted_q_settings {
    uint32_t hidden_layers, hidden_width; /* ReLU; as mlp.h bounds them */
    uint32_t iterations;                  /* K */
    uint32_t steps;                       /* of Adam in each iteration */
    uint32_t batch_size;                  /* 1 .. BATCH_MAX_ROWS */
    double learning_rate;
    double discount;     /* 0 .. 1 */
    double reward_scale; /* > 0: the fit works best on values of order 1; the result is scaled
                          * back */
    const struct features *features; /* that states are normalised by; NULL: none */
    double input_scale;              /* > 0: factor of the states, behind that */
    uint32_t hold_out; /* every HOLD_OUT-th trajectory is kept out of the fit; at least 2 */
};

/* Two layers of 64, 60 iterations of 200 steps, scales 1, every fifth trajectory held out. */
struct fitted_q_settings fitted_q_defaults(double discount);

struct fitted_q_result {
    double value;          /* discounted, of held-out first states */
    double standard_error; /* of that mean over the first states; it leaves out the error of the
                            * fit */
    double residual;       /* root mean square of Q - target over held-out transitions */
    uint64_t starts, held_out_transitions;
};

/* Evaluates POLICY (softmax: as drawn; else the action it plays). ALGORITHM_OK, or _BAD_INPUT with
 * a static *message (sizes that do not fit, too few trajectories, numbers that are not finite),
 * _CANCELLED (GOES_ON, asked after every iteration and every thousand states, said so; NULL:
 * nobody is asked) or _NO_MEMORY. A function of its arguments to the bit on one machine. */
enum algorithm_status fitted_q_evaluate(const struct fitted_q_settings *settings,
                                        const struct policy *policy, const struct dataset *data,
                                        uint64_t seed, bool (*goes_on)(void *context),
                                        void *context, struct fitted_q_result *out,
                                        const char **message);

#endif
