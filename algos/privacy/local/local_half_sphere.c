/* The half of the sphere that the vector points to, or the other: Duchi, Jordan and Wainwright
 * 2018, 4.2.3. PrivUnit with its edge at 0. */
#include "algos/privacy/local/local_cap.h"

static void half_sphere_prepare(struct local_scheme *scheme)
{
    local_cap_prepare(scheme, 0.0);
}

const struct local_mechanism local_half_sphere = {
    .name = "half_sphere",
    .norm = "l2",
    .problem = local_cap_problem,
    .prepare = half_sphere_prepare,
    .randomise = local_cap_randomise,
    .decode = local_cap_decode,
    .squared_error = local_cap_squared_error,
};
