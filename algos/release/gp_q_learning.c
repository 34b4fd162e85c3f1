/* Training on shards, forcing each function into the class, and the release.
 *
 * DESIGN. What is kept of the shards is one sum of vectors: values at knots or nodes, or
 * coefficients. Each is inside of the class before it is added, whatever network it came from, and
 * one that is missing counts as zero; so the mean moves by at most what the plan says when one
 * expert does. Nothing is drawn before all shards are in.
 *
 * Before that anything may be done to a shard's function with the shard's own data: features are
 * fitted at the states that its experts were in, because a network's values elsewhere are accidents
 * and a vector of given length has none to spare for them; and of advantages the mean over actions
 * is taken away, which is most of a value and chooses nothing. */
#include "algos/release/gp_q_learning.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/offline.h"
#include "algos/offline/shards.h"
#include "algos/privacy/functions/gaussian_process_features.h"
#include "algos/privacy/noise/noise_source.h"
#include "algos/release/knots.h"
#include "algos/release/q_release.h"
#include "algos/release/relu_features.h"
#include "memory/memory.h"

#define RIDGE          1e-3
#define POINTS_MINIMUM 1024

struct making {
    const struct q_terms *terms;
    size_t count;    /* numbers of one shard's function */
    double *sum;     /* of all so far */
    double *one;     /* of this shard */
    double *scratch; /* knots */
    size_t points;   /* where shards' functions are looked at: points x state_dim, of the cube */
    double *point;   /* for features they are this shard's own states */
    double *target;  /* points x actions: features */
    struct relu_features features;
};

/* ---- where functions are looked at */

static size_t numbers_kept(const struct q_terms *t, size_t points)
{
    return t->form == Q_FORM_FEATURES ? (size_t)t->features * t->action_count
                                      : points * t->action_count;
}

static size_t points_of(const struct q_terms *t)
{
    size_t points = 1;
    if (t->form == Q_FORM_PATH)
        return ((size_t)1 << t->knot_bits) + 1;
    if (t->form == Q_FORM_FEATURES)
        return 4 * (size_t)t->features > POINTS_MINIMUM ? 4 * (size_t)t->features : POINTS_MINIMUM;
    for (uint32_t i = 0; i < t->state_dim; i++)
        points *= t->knot_bits;
    return points;
}

/* Knots and nodes in their order, last coordinate fastest. */
static void place_public(struct making *m)
{
    const struct q_terms *t = m->terms;
    for (size_t k = 0; k < m->points; k++) {
        size_t rest = k;
        for (uint32_t i = t->state_dim; i-- > 0;) {
            double *x = &m->point[k * t->state_dim + i];
            if (t->form == Q_FORM_PATH) {
                *x = ldexp((double)k, -(int)t->knot_bits);
            } else {
                *x = (double)(rest % t->knot_bits) / (t->knot_bits - 1.0);
                rest /= t->knot_bits;
            }
        }
    }
}

/* States of the shard itself, evenly spread over its data; as many for every shard. */
static void place_own(struct making *m, const struct dataset *data)
{
    const struct q_terms *t = m->terms;
    for (size_t k = 0; k < m->points; k++) {
        uint64_t at = (uint64_t)((double)k / (double)m->points * (double)data->transition_count);
        const float *state = data->states + (size_t)data->state_row[at] * t->state_dim;
        for (uint32_t i = 0; i < t->state_dim; i++) {
            double x = ((double)state[i] - t->low[i]) / (t->high[i] - t->low[i]);
            m->point[k * t->state_dim + i] = isnan(x) ? 0.0 : fmin(fmax(x, 0.0), 1.0);
        }
    }
}

static void making_init(struct making *m, const struct q_terms *terms)
{
    *m = (struct making){.terms = terms, .points = points_of(terms)};
    m->count = numbers_kept(terms, m->points);
    m->sum = memory_new(m->count, sizeof *m->sum);
    m->one = memory_new(m->count, sizeof *m->one);
    m->scratch = memory_new(m->points, sizeof *m->scratch);
    m->point = memory_new(m->points * terms->state_dim, sizeof *m->point);
    m->target = memory_new(m->points * terms->action_count, sizeof *m->target);
    if (terms->form == Q_FORM_FEATURES)
        relu_features_init(&m->features, terms->state_dim, terms->features, terms->seed, true);
    else
        place_public(m);
}

static void wipe_numbers(double *numbers, size_t count)
{
    sodium_memzero(numbers, count * sizeof *numbers);
    free(numbers);
}

static void making_clear(struct making *m)
{
    wipe_numbers(m->sum, m->count);
    wipe_numbers(m->one, m->count);
    wipe_numbers(m->target, m->points * m->terms->action_count);
    wipe_numbers(m->scratch, m->points);
    wipe_numbers(m->point, m->points * m->terms->state_dim);
    relu_features_clear(&m->features);
}

/* ---- one shard */

/* OUT[points x actions]: the policy's values; NaN where the policy decides nothing. An action that
 * bcq does not allow may have a greater value than the action that the policy plays, although no
 * data support that value. Such a value is reflected to the same distance below the played action's
 * value, so that the arg-max is the action that the policy plays. */
static void look_at_points(const struct making *m, const struct policy *policy, double *out)
{
    const struct q_terms *t = m->terms;
    float state[ENV_MAX_STATE_DIM], values[2 * ENV_MAX_ACTIONS];
    for (size_t k = 0; k < m->points; k++) {
        for (uint32_t i = 0; i < t->state_dim; i++)
            state[i] =
                (float)(t->low[i] + m->point[k * t->state_dim + i] * (t->high[i] - t->low[i]));
        int played = policy_decide(policy, state, values);
        for (uint32_t a = 0; a < t->action_count; a++) {
            double value = (double)values[a];
            out[k * t->action_count + a] =
                played < 0 ? (double)NAN : value - 2.0 * fmax(value - (double)values[played], 0.0);
        }
    }
}

/* What the arg-max depends on: values less their mean over the actions. */
static void centre_values(const struct q_terms *t, double *values, size_t points)
{
    for (size_t k = 0; k < points; k++) {
        double mean = 0.0, *value = values + k * t->action_count;
        for (uint32_t a = 0; a < t->action_count; a++)
            mean += value[a] / t->action_count;
        for (uint32_t a = 0; a < t->action_count; a++)
            value[a] -= mean;
    }
}

static void take_shard(void *context, uint32_t shard, const struct policy *policy,
                       const struct dataset *data)
{
    struct making *m = context;
    const struct q_terms *t = m->terms;
    (void)shard;
    if (!policy)
        return; /* the function 0 */
    if (t->form == Q_FORM_FEATURES) {
        place_own(m, data);
        look_at_points(m, policy, m->target);
        if (t->advantages)
            centre_values(t, m->target, m->points);
        for (size_t k = 0; k < m->points * t->action_count; k++)
            m->target[k] = knots_clamp(m->target[k], 1e6 * t->value_limit);
        relu_features_fit(&m->features, m->point, m->target, m->points, t->action_count, RIDGE,
                          m->one);
        gaussian_features_project(m->one, m->count, t->value_limit);
    } else {
        look_at_points(m, policy, m->one);
        if (t->advantages)
            centre_values(t, m->one, m->points);
        const struct lipschitz_class class = {t->lipschitz, t->value_limit};
        if (t->form == Q_FORM_PATH)
            knots_enforce(m->one, t->knot_bits, t->action_count, &class, m->scratch);
        else
            for (size_t k = 0; k < m->count; k++)
                m->one[k] = knots_clamp(m->one[k], t->value_limit);
    }
    for (size_t k = 0; k < m->count; k++)
        m->sum[k] += m->one[k];
}

/* ---- the release */

/* The only place where noise is drawn. */
static struct q_release *draw_release(struct making *m, struct noise_source *noise)
{
    const struct q_terms *t = m->terms;
    for (size_t k = 0; k < m->count; k++)
        m->one[k] = m->sum[k] / t->shards;
    if (t->form == Q_FORM_PATH) {
        uint8_t key[GAUSSIAN_PATH_KEY_BYTES];
        noise_bytes(noise, key, sizeof key);
        struct q_release *path = q_release_path(t, m->one, key);
        sodium_memzero(key, sizeof key);
        return path;
    }
    gaussian_features_release(noise, m->one, m->count, t->value_limit, t->sensitivity, t->sigma,
                              m->one);
    if (t->form == Q_FORM_GRID)
        return q_release_grid(t, m->one);
    return q_release_features(
        t, relu_features_policy(&m->features, t->low, t->high, m->one, t->action_count));
}

void gp_q_give(const struct algorithm_run *run, struct q_release *made, bool injected_noise)
{
    if (run->hooks.give_release)
        run->hooks.give_release(run->hooks.context, made, injected_noise);
    else
        q_release_free(made);
}

static enum algorithm_status finish_release(struct making *m, const struct algorithm_run *run)
{
    struct noise_source *own = run->noise ? NULL : noise_source_new("gaussian process");
    struct noise_source *noise = run->noise ? run->noise : own;
    if (!noise)
        return ALGORITHM_NO_RANDOMNESS;
    bool injected = noise_source_is_injected(noise);
    struct q_release *made = draw_release(m, noise);
    noise_source_free(own);
    gp_q_give(run, made, injected);
    return ALGORITHM_OK;
}

static enum algorithm_status gp_q_train(const struct algorithm_run *run, struct policy **out_policy,
                                        const char **message)
{
    struct shards shards;
    struct making making;
    *out_policy = NULL;
    *message = "";
    if (run->request->protects_rewards)
        return gp_q_reward_train(run, message);
    if (!run->data || run->data->state_dim != run->request->state_dim ||
        run->data->action_count != run->request->action_count || !run->data->expert_keys) {
        *message = "the dataset's dimensions are not those of the request";
        return ALGORITHM_BAD_INPUT;
    }
    making_init(&making, &run->plan->release);
    gp_q_shards(run->request, &shards);
    shards.take = take_shard;
    shards.context = &making;
    shards.kept = making.sum;
    shards.kept_size = making.count * sizeof *making.sum;
    enum algorithm_status status = shards_train(&shards, run, message);
    if (status == ALGORITHM_OK)
        status = finish_release(&making, run);
    making_clear(&making);
    return status;
}

/* States of known worlds, with room for what untrained policies reach. */
static const struct parameter_override overrides[] = {
    {"cartpole", GP_Q_LOW, {{-2.4, -3, -0.21, -3}, 4}},
    {"cartpole", GP_Q_HIGH, {{2.4, 3, 0.21, 3}, 4}},
    {"cartpole", GP_Q_INPUT_SCALE, PARAMETER_ONE(10)},
    {"cartpole", GP_Q_FEATURES, PARAMETER_ONE(16)},
    {"acrobot", GP_Q_LOW, {{-1, -1, -1, -1, -13, -29}, 6}},
    {"acrobot", GP_Q_HIGH, {{1, 1, 1, 1, 13, 29}, 6}},
};

/* Values were all that was released. */
static const struct parameter_later later = {GP_Q_RELEASED, PARAMETER_ONE(0)};

const struct algorithm gp_q_learning_algorithm = {
    .name = "gp_q_learning",
    .summary = "Q-functions learned on shards of experts; their mean under Gaussian-process noise "
               "is released and may be asked for ever.",
    .mechanisms = {[MECHANISM_GAUSSIAN_PROCESS] = true},
    .kind = ALGORITHM_RELEASES_Q,
    .privacy_unit = "expert",
    .parameters = gp_q_parameters,
    .parameter_count = GP_Q_COUNT,
    .overrides = overrides,
    .override_count = sizeof overrides / sizeof overrides[0],
    .later = &later,
    .later_count = 1,
    .plan = gp_q_plan,
    .train = gp_q_train,
};
