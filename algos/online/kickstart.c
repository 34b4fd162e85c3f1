/* The pull of an answer. */
#include "algos/online/kickstart.h"

#include <assert.h>
#include <math.h>

#include "envs/env.h"

double kickstart_penalty(const float *logits, uint32_t actions, const double *answer,
                         double allowed, double weight, float *gradient)
{
    assert(actions > 0 && actions <= ENV_MAX_ACTIONS && allowed >= 0.0);
    double p[ENV_MAX_ACTIONS] = {0}, top = logits[0], sum = 0.0, squares = 0.0, mean = 0.0;
    for (uint32_t a = 1; a < actions; a++)
        top = logits[a] > top ? logits[a] : top;
    for (uint32_t a = 0; a < actions; a++)
        sum += p[a] = exp(logits[a] - top);
    for (uint32_t a = 0; a < actions; a++) {
        p[a] /= sum;
        squares += (p[a] - answer[a]) * (p[a] - answer[a]);
    }
    double distance = sqrt(squares);
    if (!(distance > allowed))
        return 0.0;
    for (uint32_t a = 0; a < actions; a++)
        mean += p[a] * (p[a] - answer[a]);
    for (uint32_t a = 0; a < actions; a++)
        gradient[a] += (float)(weight * p[a] * (p[a] - answer[a] - mean) / distance);
    return distance;
}
