/* The public class that a released function is forced into: every output within [-value_limit,
 * value_limit], and moving at most LIPSCHITZ (2-norm) per unit of input on the cube [0, 1]^input.
 * A guarantee that rests on the class holds however the network was trained; both numbers must be
 * declared, never computed from the data. */
#ifndef TACET_ALGOS_NN_LIPSCHITZ_CLASS_H
#define TACET_ALGOS_NN_LIPSCHITZ_CLASS_H

#include "algos/nn/mlp.h"

struct lipschitz_class {
    double lipschitz;   /* from 1e-6 to 1e12 */
    double value_limit; /* from 1e-12 to 1e12 */
};

/* NULL when both numbers are in range, else a sentence that says which is not. */
const char *lipschitz_class_problem(const struct lipschitz_class *class);

/* Scales the layers of PARAMETERS, in place, so that lipschitz_mlp_bound gives at most LIMIT; a
 * network that does already is left alone. All layers share one factor c. For ReLU the bias of the
 * l-th layer is scaled by c^l, so that the function itself is multiplied by one number (the best
 * action of a Q-network stays the best); for tanh biases stay, for nothing is homogeneous. Gives
 * the certified bound afterwards, at most LIMIT; INFINITY (PARAMETERS untouched) when a parameter
 * is not finite; negative when memory is short: then PARAMETERS must not be used. */
double lipschitz_project(const struct mlp_shape *shape, float *parameters, double limit);

/* Inputs are clamped into [0, 1]; what is no number becomes 0. OUT may be X. */
void lipschitz_clamp_input(const double *x, double *out, size_t count);

/* Outputs are clamped into [-limit, limit], which moves no two further apart; what is no number
 * becomes 0. LIMIT > 0. */
void lipschitz_clamp_output(double *values, size_t count, double limit);

/* The whole released function at one INPUT[input]: clamp, forward in double and in one fixed order
 * of operations, clamp; OUTPUT[last width]. For PARAMETERS that lipschitz_project has put into the
 * class. SCRATCH[lipschitz_class_scratch_count doubles]. */
void lipschitz_class_evaluate(const struct lipschitz_class *class, const struct mlp_shape *shape,
                              const float *parameters, const double *input, double *output,
                              double *scratch);
size_t lipschitz_class_scratch_count(const struct mlp_shape *shape);

/* The class holds the network of real numbers; a computed one differs from it by rounding, which is
 * rough at the scale of neighbouring inputs and must be paid for
 * (algos/privacy/functions/gaussian_process_plan.h). An upper bound, over the whole cube, on the
 * 2-norm of that difference for lipschitz_class_evaluate, without the clamps. Large where biases
 * are: nothing else bounds those. A network above the error that was declared must count as the
 * function 0. INFINITY when a parameter is not finite; negative when memory is short. */
double lipschitz_class_error_bound(const struct mlp_shape *shape, const float *parameters);

#endif
