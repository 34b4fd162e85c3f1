/* PrivUnit with the best cap for its dimension and epsilon. */
#include "algos/privacy/local/local_cap.h"

/* The mean as a function of the edge has its maximum where both are equal. */
static double best_edge(uint32_t dimension, double epsilon)
{
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 100 && high - low > 1e-15 * high; i++) {
        double middle = 0.5 * (low + high);
        if (local_cap_mean(dimension, epsilon, middle) > middle)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void privunit_prepare(struct local_scheme *scheme)
{
    local_cap_prepare(scheme,
                      best_edge(scheme->parameters.dimension + 1, scheme->parameters.epsilon));
}

const struct local_mechanism local_privunit = {
    .name = "privunit",
    .norm = "l2",
    .problem = local_cap_problem,
    .prepare = privunit_prepare,
    .randomise = local_cap_randomise,
    .decode = local_cap_decode,
    .squared_error = local_cap_squared_error,
};
