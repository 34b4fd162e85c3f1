/* Public random features for Q-functions of several coordinates: phi_i(s) = relu(w_i . s + b_i),
 * drawn from a public seed and scaled so that ||phi(s)|| <= 1 on the cube [0, 1]^n. A function
 * Q_a = c_a . phi is then a perceptron of one hidden layer whose first layer is public, so what is
 * released is an ordinary network.
 *
 * The first n + 1 features are the constant and the coordinates; the others have hinges through
 * uniform points of the cube, in uniform directions. */
#ifndef TACET_ALGOS_RELEASE_RELU_FEATURES_H
#define TACET_ALGOS_RELEASE_RELU_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/policy.h"

#define RELU_FEATURES_MAX 1024

struct relu_features {
    uint32_t input;  /* n, 1 .. ENV_MAX_STATE_DIM */
    uint32_t count;  /* n + 1 .. RELU_FEATURES_MAX */
    float *weight;   /* count x input, then count biases: as a layer of a network; owned */
    float *offset;   /* [count]: phi_i = relu(w_i . s + b_i) - offset_i; owned */
    double *scratch; /* scratch of relu_features_fit; owned */
};

/* The constant feature of centred features, as a share of the coordinates' greatest value. */
#define RELU_FEATURES_CONSTANT 0.3F

/* COUNT features of INPUT coordinates from SEED, the same on every machine. CENTRED: coordinates
 * are about the middle of the cube, 2 s_j - 1, and the constant is small. Of a vector of given
 * length over these, little goes into a constant that others take away again, so noise on it leaves
 * more of its function. Free with relu_features_clear. */
void relu_features_init(struct relu_features *features, uint32_t input, uint32_t count,
                        uint64_t seed, bool centred);

/* Frees FEATURES' arrays and wipes the scratch; takes features that are all zero. */
void relu_features_clear(struct relu_features *features);

/* Writes PHI[count] at STATE[input], a point of the cube; ||phi|| <= 1. */
void relu_features_at(const struct relu_features *features, const double *state, double *phi);

/* Fits COEFFICIENTS[actions x count] to TARGETS[points x actions] at STATES[points x input], points
 * of the cube. The fit minimises the mean squared error plus RIDGE > 0 times the squared norm of
 * the coefficients (ridge regression by normal equations). */
void relu_features_fit(struct relu_features *features, const double *states, const double *targets,
                       size_t points, uint32_t actions, double ridge, double *coefficients);

/* Makes the network, of output POLICY_Q, whose outputs at a raw state x are coefficients . phi((x -
 * low) / (high - low)). LOW[input] is below HIGH[input]. The caller owns it. */
struct policy *relu_features_policy(const struct relu_features *features, const double *low,
                                    const double *high, const double *coefficients,
                                    uint32_t actions);

#endif
