/* PPO's update: epochs of minibatches over a roll-out.
 *
 * Design: policy and value share one flat vector, so one norm clips both and one Adam moves both.
 * Advantages are normalised within each minibatch. */
#include <math.h>
#include <string.h>

#include "algos/online/ppo_state.h"

/* Fisher and Yates. */
static void shuffle_order(uint32_t *order, uint32_t n, struct rng *rng)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = rng_below(rng, i);
        uint32_t swapped = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swapped;
    }
}

/* Sums over an update's transitions, for the report. */
struct update_sums {
    double entropy, kl;
    uint64_t count;
};

/* Mean and one over the deviation of the minibatch's advantages. */
static void standardise_advantages(const struct ppo *ppo, const uint32_t *rows, uint32_t n,
                                   double *mean, double *scale)
{
    double sum = 0.0, squares = 0.0;
    for (uint32_t k = 0; k < n; k++)
        sum += ppo->rollout.advantage[rows[k]];
    *mean = sum / n;
    for (uint32_t k = 0; k < n; k++) {
        double d = ppo->rollout.advantage[rows[k]] - *mean;
        squares += d * d;
    }
    *scale = 1.0 / (sqrt(squares / n) + 1e-8);
}

/* Adds the gradient of the minibatch's mean policy loss to GRADIENT. */
static void policy_gradient(struct ppo *ppo, const uint32_t *rows, uint32_t n,
                            struct update_sums *sums)
{
    const struct ppo_settings *s = &ppo->settings;
    const struct ppo_rollout *r = &ppo->rollout;
    uint32_t actions = ppo->env->action_count;
    double mean, scale;
    standardise_advantages(ppo, rows, n, &mean, &scale);
    const float *logits = batch_forward(ppo->improving, ppo->weights, n);
    float *error = batch_output_error(ppo->improving);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = rows[k];
        float *row = error + (size_t)k * actions;
        double old = r->log_probability[i];
        struct ppo_loss loss =
            ppo_policy_loss(logits + (size_t)k * actions, actions, r->actions[i], old,
                            (r->advantage[i] - mean) * scale, s->clip, s->entropy_bonus, row);
        for (uint32_t a = 0; a < actions; a++)
            row[a] /= (float)n;
        ppo_follow(ppo, i, logits + (size_t)k * actions, 1.0 / n, row);
        sums->entropy += loss.entropy;
        sums->kl += loss.ratio - 1.0 - log(loss.ratio);
    }
    sums->count += n;
    batch_backward(ppo->improving, ppo->weights, n);
    batch_gradient_add(ppo->improving, n, ppo->gradient);
}

/* Adds the gradient of the minibatch's mean value_weight / 2 (value - target)^2 to GRADIENT. */
static void value_gradient(struct ppo *ppo, const uint32_t *rows, uint32_t n)
{
    const float *weights = ppo->weights + ppo->policy_count;
    const float *value = batch_forward(ppo->judging, weights, n);
    float *error = batch_output_error(ppo->judging);
    float weight = (float)(ppo->settings.value_weight / n);
    for (uint32_t k = 0; k < n; k++)
        error[k] = weight * (value[k] - ppo->rollout.target[rows[k]]);
    batch_backward(ppo->judging, weights, n);
    batch_gradient_add(ppo->judging, n, ppo->gradient + ppo->policy_count);
}

static void clip_gradient(struct ppo *ppo)
{
    double squares = 0.0;
    for (size_t i = 0; i < ppo->count; i++)
        squares += (double)ppo->gradient[i] * ppo->gradient[i];
    double norm = sqrt(squares);
    if (norm <= ppo->settings.max_gradient_norm)
        return;
    float factor = (float)(ppo->settings.max_gradient_norm / norm);
    for (size_t i = 0; i < ppo->count; i++)
        ppo->gradient[i] *= factor;
}

static void improve_minibatch(struct ppo *ppo, const uint32_t *rows, uint32_t n,
                              double learning_rate, struct update_sums *sums)
{
    size_t dim = ppo->env->state_dim;
    for (uint32_t k = 0; k < n; k++) {
        const float *state = ppo->rollout.states + rows[k] * dim;
        memcpy(batch_input(ppo->improving) + k * dim, state, dim * sizeof(float));
        memcpy(batch_input(ppo->judging) + k * dim, state, dim * sizeof(float));
    }
    memset(ppo->gradient, 0, ppo->count * sizeof *ppo->gradient);
    policy_gradient(ppo, rows, n, sums);
    value_gradient(ppo, rows, n);
    clip_gradient(ppo);
    optimizer_step(&ppo->adam, ppo->weights, ppo->gradient, learning_rate);
}

double ppo_mean_return(const struct ppo *ppo)
{
    uint64_t n = ppo->episodes < PPO_RECENT ? ppo->episodes : PPO_RECENT;
    double sum = 0.0;
    for (uint64_t i = 0; i < n; i++)
        sum += ppo->recent[i];
    return n > 0 ? sum / (double)n : 0.0;
}

/* What was seen so far holds for the next roll-out. The value network's outputs are in normalised
 * rewards: its last layer follows a change of their scale, and its opinion stays the same (van
 * Hasselt et al. 2016, arXiv 1602.07714). */
static void freeze_scales(struct ppo *ppo)
{
    const struct ppo_settings *s = &ppo->settings;
    bool normalizes = s->normalize_observations || s->normalize_rewards;
    if (normalizes && ppo->transitions == 0)
        ppo_play(ppo);
    double change = ppo_reward_factor(ppo, &ppo->seen) / ppo_reward_factor(ppo, &ppo->frozen);
    bool first = ppo->frozen.returns.count < 2.0; /* nothing learned yet */
    uint32_t last = ppo->value_shape.layer_count - 1;
    size_t begin = ppo->policy_count + mlp_weight_offset(&ppo->value_shape, last);
    for (size_t i = begin; s->normalize_rewards && !first && i < ppo->count; i++)
        ppo->weights[i] *= (float)change;
    ppo->frozen = ppo->seen;
}

bool ppo_update(struct ppo *ppo, double learning_rate, struct ppo_report *out)
{
    const struct ppo_settings *s = &ppo->settings;
    struct ppo_rollout *r = &ppo->rollout;
    uint32_t n = s->worlds * s->steps;
    struct update_sums sums = {0};
    freeze_scales(ppo);
    ppo_play(ppo);
    if (!ppo->failed)
        ppo_ask(ppo);
    if (ppo->failed)
        return false;
    ppo_advantages(s->steps, s->worlds, r->reward, r->value, r->next_value, r->ended, s->discount,
                   s->lambda, r->advantage, r->target);
    for (uint32_t epoch = 0; epoch < s->epochs; epoch++) {
        shuffle_order(ppo->order, n, &ppo->rng);
        for (uint32_t first = 0; first < n; first += s->minibatch) {
            uint32_t rows = n - first < s->minibatch ? n - first : s->minibatch;
            improve_minibatch(ppo, ppo->order + first, rows, learning_rate, &sums);
        }
    }
    ppo->updates++;
    double count = (double)sums.count;
    ppo->report = (struct ppo_report){
        .transitions = ppo->transitions,
        .episodes = ppo->episodes,
        .mean_return = ppo_mean_return(ppo),
        .entropy = sums.entropy / count,
        .kl = sums.kl / count,
    };
    *out = ppo->report;
    return true;
}
