/* Experts' probabilities as whole numbers. */
#include "algos/offline/expert_voices.h"

#include <assert.h>
#include <math.h>

double expert_voices_floor(double min_probability)
{
    return floor(min_probability * VOICE_UNIT) / VOICE_UNIT;
}

/* Fills WEIGHTS as evenly as whole numbers allow; the first actions get the units that are left
 * over. */
static void even_weights(uint32_t actions, uint32_t unit, uint32_t *weights)
{
    for (uint32_t a = 0; a < actions; a++)
        weights[a] = unit / actions + (a < unit % actions);
}

void expert_voices_weights(const double *probabilities, uint32_t actions, double min_probability,
                           uint32_t unit, uint32_t *weights)
{
    assert(actions > 0 && min_probability >= 0.0 && min_probability * actions <= 1.0 + 1e-9);
    uint32_t least = (uint32_t)(min_probability * unit);
    uint32_t largest = 0;
    int64_t left = unit;
    for (uint32_t a = 0; a < actions; a++) {
        double p = probabilities[a];
        if (!(p >= 0.0 && p <= 1.0 + 1e-9)) {
            even_weights(actions, unit, weights);
            return;
        }
        weights[a] = (uint32_t)(fmin(p, 1.0) * unit);
        if (weights[a] < least)
            weights[a] = least;
        left -= weights[a];
        if (weights[a] > weights[largest])
            largest = a;
    }
    /* Rounding leaves at most one unit for each action; more is left when the probabilities did not
     * sum to 1. */
    int64_t rest = (int64_t)weights[largest] + left, most = (int64_t)unit / 1000 + actions;
    if (rest < (int64_t)least || left > most || left < -most) {
        even_weights(actions, unit, weights);
        return;
    }
    weights[largest] = (uint32_t)rest;
}
