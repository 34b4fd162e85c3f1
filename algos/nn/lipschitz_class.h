/* The public class that a released function is forced into: every output within [-value_limit,
 * value_limit], and moving at most LIPSCHITZ (2-norm) per unit of input on the cube [0, 1]^input.
 * A guarantee that rests on the class holds however the function was trained; both numbers must be
 * declared, never computed from the data. */
#ifndef TACET_ALGOS_NN_LIPSCHITZ_CLASS_H
#define TACET_ALGOS_NN_LIPSCHITZ_CLASS_H

struct lipschitz_class {
    double lipschitz;   /* from 1e-6 to 1e12 */
    double value_limit; /* from 1e-12 to 1e12 */
};

/* NULL when both numbers are in range, else a sentence that says which is not. */
const char *lipschitz_class_problem(const struct lipschitz_class *class);

#endif
