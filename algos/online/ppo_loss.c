/* PPO's mathematics: advantages and the clipped surrogate. */
#include <assert.h>
#include <math.h>

#include "algos/online/ppo.h"

void ppo_advantages(uint32_t steps, uint32_t worlds, const float *reward, const float *value,
                    const float *next_value, const uint8_t *ended, double discount, double lambda,
                    float *advantage, float *target)
{
    for (uint32_t w = 0; w < worlds; w++) {
        double behind = 0.0;
        for (uint32_t t = steps; t-- > 0;) {
            size_t i = (size_t)t * worlds + w;
            double delta = reward[i] + discount * next_value[i] - value[i];
            behind = delta + (ended[i] ? 0.0 : discount * lambda * behind);
            advantage[i] = (float)behind;
            target[i] = (float)(behind + value[i]);
        }
    }
}

struct ppo_loss ppo_policy_loss(const float *logits, uint32_t actions, uint32_t action,
                                double old_log_probability, double advantage, double clip,
                                double entropy_bonus, float *gradient)
{
    assert(actions > 0 && actions <= ENV_MAX_ACTIONS && action < actions);
    double log_p[ENV_MAX_ACTIONS] = {0}, p[ENV_MAX_ACTIONS] = {0};
    double top = logits[0];
    for (uint32_t a = 1; a < actions; a++)
        top = logits[a] > top ? logits[a] : top;
    double sum = 0.0;
    for (uint32_t a = 0; a < actions; a++)
        sum += exp(logits[a] - top);
    double entropy = 0.0;
    for (uint32_t a = 0; a < actions; a++) {
        log_p[a] = logits[a] - top - log(sum);
        p[a] = exp(log_p[a]);
        entropy -= p[a] * log_p[a];
    }
    double ratio = exp(log_p[action] - old_log_probability);
    double clamped = ratio;
    if (ratio < 1.0 - clip)
        clamped = 1.0 - clip;
    else if (ratio > 1.0 + clip)
        clamped = 1.0 + clip;
    double plain = ratio * advantage, held = clamped * advantage;
    /* Where the clamped product is the smaller one, the loss does not depend on the ratio. */
    double slope = plain <= held ? plain : 0.0;
    for (uint32_t a = 0; a < actions; a++) {
        double chosen = a == action ? 1.0 : 0.0;
        gradient[a] =
            (float)(-slope * (chosen - p[a]) + entropy_bonus * p[a] * (log_p[a] + entropy));
    }
    return (struct ppo_loss){
        .loss = -(plain < held ? plain : held) - entropy_bonus * entropy,
        .ratio = ratio,
        .entropy = entropy,
    };
}
