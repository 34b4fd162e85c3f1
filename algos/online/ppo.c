/* PPO: an agent's life and its updates. The roll-out is in ppo_play.c, the losses in ppo_loss.c.
 *
 * Design: policy and value share one flat vector, so one norm clips both and one Adam moves both.
 * Advantages are normalised within each minibatch. All memory is taken in ppo_new. */
#include "algos/online/ppo.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/orthogonal.h"
#include "algos/online/ppo_state.h"

struct ppo_settings ppo_defaults(void)
{
    return (struct ppo_settings){
        .hidden_count = 2,
        .hidden = {64, 64},
        .activation = MLP_TANH,
        .worlds = 4,
        .steps = 128,
        .epochs = 4,
        .minibatch = 128,
        .step_limit = 500,
        .discount = 0.99,
        .lambda = 0.95,
        .clip = 0.2,
        .entropy_bonus = 0.01,
        .value_weight = 0.5,
        .max_gradient_norm = 0.5,
        .reward_scale = 1.0,
    };
}

static struct mlp_shape shape_of(const struct ppo_settings *s, const struct env *env,
                                 uint32_t outputs)
{
    struct mlp_shape shape = {
        .input = env->state_dim, .layer_count = s->hidden_count + 1, .activation = s->activation};
    for (uint32_t l = 0; l < s->hidden_count; l++)
        shape.width[l] = s->hidden[l];
    shape.width[s->hidden_count] = outputs;
    return shape;
}

static bool within(double x, double low, double high)
{
    return x >= low && x <= high; /* false for NaN */
}

const char *ppo_settings_problem(const struct ppo_settings *s, const struct env *env)
{
    if (s->hidden_count >= MLP_MAX_LAYERS)
        return "too many hidden layers";
    struct mlp_shape shape = shape_of(s, env, env->action_count);
    if (!mlp_shape_valid(&shape))
        return "a hidden layer's width is out of range";
    if (s->worlds == 0 || s->worlds > PPO_MAX_WORLDS || s->steps == 0 || s->steps > PPO_MAX_STEPS ||
        (uint64_t)s->worlds * s->steps > PPO_MAX_TRANSITION)
        return "worlds and steps of a roll-out are out of range";
    if (s->minibatch == 0 || s->minibatch > s->worlds * s->steps || s->minibatch > BATCH_MAX_ROWS)
        return "a minibatch must not be larger than a roll-out";
    if (s->epochs == 0 || s->epochs > 1000 || s->step_limit == 0)
        return "epochs and the step limit must be positive";
    if (!within(s->discount, 0.0, 1.0) || !within(s->lambda, 0.0, 1.0) ||
        !within(s->clip, 1e-6, 1.0))
        return "discount, lambda and clip must be within 0 and 1";
    if (!within(s->entropy_bonus, 0.0, 1e6) || !within(s->value_weight, 0.0, 1e6) ||
        !within(s->max_gradient_norm, 1e-9, 1e9) || !within(s->reward_scale, 1e-9, 1e9))
        return "a weight, norm or scale is out of range";
    return NULL;
}

void ppo_free(struct ppo *ppo)
{
    if (!ppo)
        return;
    free(ppo->weights);
    free(ppo->gradient);
    optimizer_clear(&ppo->adam);
    batch_free(ppo->acting);
    batch_free(ppo->improving);
    batch_free(ppo->judging);
    free(ppo->scratch);
    free(ppo->world);
    for (uint32_t w = 0; ppo->instances && w < ppo->settings.worlds; w++)
        env_close(ppo->env, ppo->instances[w]);
    free(ppo->instances);
    free(ppo->rollout.states);
    free(ppo->rollout.actions);
    free(ppo->rollout.log_probability);
    free(ppo->rollout.reward);
    free(ppo->rollout.value);
    free(ppo->rollout.next_value);
    free(ppo->rollout.ended);
    free(ppo->rollout.advantage);
    free(ppo->rollout.target);
    free(ppo->order);
    free(ppo);
}

static bool allocate_rollout(struct ppo *ppo)
{
    const struct ppo_settings *s = &ppo->settings;
    struct ppo_rollout *r = &ppo->rollout;
    size_t n = (size_t)s->worlds * s->steps, visited = n + s->worlds;
    r->states = calloc(visited * ppo->env->state_dim, sizeof *r->states);
    r->actions = calloc(n, sizeof *r->actions);
    r->log_probability = calloc(n, sizeof *r->log_probability);
    r->reward = calloc(n, sizeof *r->reward);
    r->value = calloc(visited, sizeof *r->value);
    r->next_value = calloc(n, sizeof *r->next_value);
    r->ended = calloc(n, sizeof *r->ended);
    r->advantage = calloc(n, sizeof *r->advantage);
    r->target = calloc(n, sizeof *r->target);
    ppo->order = calloc(n, sizeof *ppo->order);
    if (!r->states || !r->actions || !r->log_probability || !r->reward || !r->value ||
        !r->next_value || !r->ended || !r->advantage || !r->target || !ppo->order)
        return false;
    for (size_t i = 0; i < n; i++)
        ppo->order[i] = (uint32_t)i;
    return true;
}

static bool allocate(struct ppo *ppo)
{
    const struct ppo_settings *s = &ppo->settings;
    const struct optimizer_settings adam = {
        .kind = OPTIMIZER_ADAM, .momentum = 0.9, .beta2 = 0.999, .epsilon = 1e-5};
    ppo->weights = calloc(ppo->count, sizeof *ppo->weights);
    ppo->gradient = calloc(ppo->count, sizeof *ppo->gradient);
    ppo->acting = batch_new(&ppo->policy_shape, s->worlds);
    ppo->improving = batch_new(&ppo->policy_shape, s->minibatch);
    ppo->judging = batch_new(&ppo->value_shape, s->minibatch);
    ppo->scratch = calloc(mlp_scratch_count(&ppo->value_shape) + 1, sizeof *ppo->scratch);
    ppo->world = calloc(s->worlds, sizeof *ppo->world);
    ppo->instances = calloc(s->worlds, sizeof *ppo->instances);
    for (uint32_t w = 0; ppo->instances && w < s->worlds; w++) {
        ppo->instances[w] = env_open(ppo->env);
        if (!ppo->instances[w])
            return false;
    }
    return optimizer_init(&ppo->adam, &adam, ppo->count) && ppo->weights && ppo->gradient &&
           ppo->acting && ppo->improving && ppo->judging && ppo->scratch && ppo->world &&
           ppo->instances && allocate_rollout(ppo);
}

struct ppo *ppo_new(const struct ppo_settings *settings, const struct env *env,
                    const double *parameters, const struct rng *rng)
{
    assert(!ppo_settings_problem(settings, env));
    struct ppo *ppo = calloc(1, sizeof *ppo);
    if (!ppo)
        return NULL;
    ppo->settings = *settings;
    ppo->env = env;
    ppo->rng = *rng;
    memcpy(ppo->physics, parameters, env->parameter_count * sizeof *parameters);
    ppo->policy_shape = shape_of(settings, env, env->action_count);
    ppo->value_shape = shape_of(settings, env, 1);
    ppo->policy_count = mlp_parameter_count(&ppo->policy_shape);
    ppo->count = ppo->policy_count + mlp_parameter_count(&ppo->value_shape);
    const double hidden_gain = sqrt(2.0);
    if (!allocate(ppo) ||
        !orthogonal_initialize(&ppo->policy_shape, &ppo->rng, hidden_gain, 0.01, ppo->weights) ||
        !orthogonal_initialize(&ppo->value_shape, &ppo->rng, hidden_gain, 1.0,
                               ppo->weights + ppo->policy_count)) {
        ppo_free(ppo);
        return NULL;
    }
    for (uint32_t w = 0; w < settings->worlds; w++)
        ppo_begin_episode(ppo, w);
    return ppo;
}

/* Fisher and Yates. */
static void shuffle(uint32_t *order, uint32_t n, struct rng *rng)
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
    double entropy, clipped, kl;
    uint64_t count;
};

/* Mean and one over the deviation of the minibatch's advantages. */
static void standardise(const struct ppo *ppo, const uint32_t *rows, uint32_t n, double *mean,
                        double *scale)
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

/* Adds to GRADIENT that of the minibatch's mean policy loss. */
static void policy_gradient(struct ppo *ppo, const uint32_t *rows, uint32_t n,
                            struct update_sums *sums)
{
    const struct ppo_settings *s = &ppo->settings;
    const struct ppo_rollout *r = &ppo->rollout;
    uint32_t actions = ppo->env->action_count;
    double mean, scale;
    standardise(ppo, rows, n, &mean, &scale);
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
        sums->entropy += loss.entropy;
        sums->clipped += fabs(loss.ratio - 1.0) > s->clip;
        sums->kl += loss.ratio - 1.0 - log(loss.ratio);
    }
    sums->count += n;
    batch_backward(ppo->improving, ppo->weights, n);
    batch_gradient_add(ppo->improving, n, ppo->gradient);
}

/* Adds to GRADIENT that of the minibatch's mean value_weight / 2 (value - target)^2. */
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

static void improve(struct ppo *ppo, const uint32_t *rows, uint32_t n, double learning_rate,
                    struct update_sums *sums)
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

static double mean_recent_return(const struct ppo *ppo)
{
    uint64_t n = ppo->episodes < PPO_RECENT ? ppo->episodes : PPO_RECENT;
    double sum = 0.0;
    for (uint64_t i = 0; i < n; i++)
        sum += ppo->recent[i];
    return n > 0 ? sum / (double)n : 0.0;
}

bool ppo_update(struct ppo *ppo, double learning_rate, struct ppo_report *out)
{
    const struct ppo_settings *s = &ppo->settings;
    struct ppo_rollout *r = &ppo->rollout;
    uint32_t n = s->worlds * s->steps;
    struct update_sums sums = {0};
    ppo_play(ppo);
    if (ppo->failed)
        return false;
    ppo_advantages(s->steps, s->worlds, r->reward, r->value, r->next_value, r->ended, s->discount,
                   s->lambda, r->advantage, r->target);
    for (uint32_t epoch = 0; epoch < s->epochs; epoch++) {
        shuffle(ppo->order, n, &ppo->rng);
        for (uint32_t first = 0; first < n; first += s->minibatch) {
            uint32_t rows = n - first < s->minibatch ? n - first : s->minibatch;
            improve(ppo, ppo->order + first, rows, learning_rate, &sums);
        }
    }
    double count = (double)sums.count;
    *out = (struct ppo_report){
        .transitions = ppo->transitions,
        .episodes = ppo->episodes,
        .mean_return = mean_recent_return(ppo),
        .entropy = sums.entropy / count,
        .clip_fraction = sums.clipped / count,
        .kl = sums.kl / count,
    };
    return true;
}

const struct mlp_shape *ppo_policy_shape(const struct ppo *ppo)
{
    return &ppo->policy_shape;
}

const float *ppo_policy_parameters(const struct ppo *ppo)
{
    return ppo->weights;
}
