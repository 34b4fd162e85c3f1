/* The collector's step. */
#include "algos/online/gradient_collection.h"

#include <assert.h>
#include <math.h>

double collection_explore(const struct collection_exploration *exploration, uint64_t reports)
{
    return fmax(0.0, exploration->start - exploration->decay * (double)reports);
}

void collection_update(const struct actor_critic *net, float *parameters, const double *sum,
                       uint32_t reports, double learning_rate)
{
    assert(reports > 0);
    size_t count = actor_critic_count(net);
    for (size_t i = 0; i < count; i++) {
        double step = isfinite(sum[i]) ? learning_rate * (sum[i] / reports) : 0.0;
        double moved = (double)parameters[i] - step;
        moved = fmin(fmax(moved, -COLLECTION_PARAMETER_BOUND), COLLECTION_PARAMETER_BOUND);
        parameters[i] = (float)moved;
    }
}
