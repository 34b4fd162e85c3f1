/* The three forms behind one interface, and their bytes.
 *
 * DESIGN. A state is scaled to the unit cube by the declared bounds and quantised before anything
 * else looks at it, so that two states of one cell are one point for mean and noise alike. */
#include "algos/release/q_release.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/privacy/functions/gaussian_tree.h"
#include "algos/release/knots.h"
#include "algos/release/relu_features.h"
#include "memory/memory.h"

#define GRID_MAX_VALUES ((size_t)1 << 22)
#define LEVEL_WORK      200 /* multiply-adds that take as long as the noise of a level of a path */
#define CORNER_WORK     4   /* the same of a coordinate of a grid's corner */

struct q_release {
    struct q_terms terms;
    struct gaussian_tree *tree;           /* Q_FORM_PATH */
    struct gaussian_lattice lattice;      /* its, for the bytes; a step of 0: none */
    struct gaussian_path *path;           /* Q_FORM_PATH of before the lattice */
    uint8_t key[GAUSSIAN_PATH_KEY_BYTES]; /* of tree or path, for the bytes */
    double *value;                        /* knots or grid; in locked memory for a path */
    size_t value_count;
    struct policy *network; /* Q_FORM_FEATURES */
};

static const char *const form_names[Q_FORMS] = {"path", "features", "grid"};

static const char *const unit_names[] = {"expert", "reward"};

const char *q_unit_name(enum q_unit unit)
{
    return unit_names[unit];
}

int q_unit_find(const char *name)
{
    for (int i = 0; i < (int)(sizeof unit_names / sizeof unit_names[0]); i++)
        if (strcmp(unit_names[i], name) == 0)
            return i;
    return -1;
}

const char *q_form_name(enum q_form form)
{
    return form_names[form];
}

int q_form_find(const char *name)
{
    for (int i = 0; i < Q_FORMS; i++)
        if (strcmp(form_names[i], name) == 0)
            return i;
    return -1;
}

/* ---- making */

static bool bounds_fit(const struct q_terms *t)
{
    if (t->state_dim < 1 || t->state_dim > ENV_MAX_STATE_DIM || t->action_count < 1 ||
        t->action_count > ENV_MAX_ACTIONS || !(t->value_limit > 0.0) || !(t->sigma > 0.0))
        return false;
    for (uint32_t i = 0; i < t->state_dim; i++)
        if (!isfinite(t->low[i]) || !isfinite(t->high[i]) || !(t->low[i] < t->high[i]) ||
            !isfinite(t->high[i] - t->low[i]))
            return false;
    return true;
}

/* The count of numbers that the form keeps; 0: the terms are out of range. */
static size_t numbers_of(const struct q_terms *t)
{
    if (t->form == Q_FORM_PATH)
        return t->state_dim == 1 && t->knot_bits <= KNOTS_MAX_BITS && t->bits >= t->knot_bits &&
                       t->bits <= GAUSSIAN_PATH_MAX_BITS
                   ? (((size_t)1 << t->knot_bits) + 1) * t->action_count
                   : 0;
    if (t->form == Q_FORM_FEATURES)
        return 0;
    size_t nodes = t->action_count;
    for (uint32_t i = 0; i < t->state_dim; i++) {
        if (t->knot_bits < 2 || nodes > GRID_MAX_VALUES / t->knot_bits)
            return 0;
        nodes *= t->knot_bits;
    }
    return nodes;
}

static struct q_release *new_release(const struct q_terms *terms, enum q_form form)
{
    if (terms->form != form || !bounds_fit(terms) || sodium_init() < 0)
        return NULL;
    struct q_release *release = memory_must(sodium_malloc(sizeof *release));
    memset(release, 0, sizeof *release);
    release->terms = *terms;
    return release;
}

/* False if a value is not finite, or if a value of a path is out of range. The values of a path
 * have no noise yet, so a mean of values or of advantages is at most 2 value_limit. */
static bool values_fit(const struct q_terms *t, const double *values, size_t count)
{
    double most = t->form == Q_FORM_PATH ? 2.0 * t->value_limit : INFINITY;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]) || fabs(values[i]) > most)
            return false;
    return true;
}

static bool keep_values(struct q_release *release, const double *values)
{
    release->value_count = numbers_of(&release->terms);
    if (release->value_count == 0 || !values_fit(&release->terms, values, release->value_count))
        return false;
    size_t size = release->value_count * sizeof *values;
    release->value =
        memory_must(release->terms.form == Q_FORM_PATH ? sodium_malloc(size) : malloc(size));
    memcpy(release->value, values, size);
    return true;
}

static struct gaussian_path_law law_of(const struct q_terms *t)
{
    return (struct gaussian_path_law){
        .beta = t->beta, .sigma = t->sigma, .bits = t->bits, .dimensions = 1};
}

/* LATTICE NULL: numbers as they were before there was one. */
static struct q_release *release_path(const struct q_terms *terms, const double *mean,
                                      const uint8_t key[GAUSSIAN_PATH_KEY_BYTES],
                                      const struct gaussian_lattice *lattice)
{
    struct q_release *release = new_release(terms, Q_FORM_PATH);
    const struct gaussian_path_law law = law_of(terms);
    if (!release)
        return NULL;
    bool fits = !gaussian_path_problem(&law) && keep_values(release, mean);
    if (fits && lattice && gaussian_tree_takes(&law, lattice, terms->value_limit)) {
        release->lattice = *lattice;
        release->tree = gaussian_tree_new(&law, lattice, key);
    } else if (fits && !lattice) {
        release->path = gaussian_path_new(&law, key);
    }
    if (!release->tree && !release->path) {
        q_release_free(release);
        return NULL;
    }
    memcpy(release->key, key, sizeof release->key);
    return release;
}

struct q_release *q_release_path(const struct q_terms *terms, const double *mean,
                                 const uint8_t key[GAUSSIAN_PATH_KEY_BYTES])
{
    const struct gaussian_path_law law = law_of(terms);
    uint32_t actions = terms->action_count;
    if (terms->form != Q_FORM_PATH || !bounds_fit(terms) || gaussian_path_problem(&law) ||
        !(terms->sensitivity > 0.0) || !gaussian_tree_fits(&law, actions, terms->sensitivity))
        return NULL;
    const struct gaussian_lattice lattice =
        gaussian_tree_lattice(&law, actions, terms->sensitivity, terms->value_limit);
    return release_path(terms, mean, key, &lattice);
}

struct q_release *q_release_features(const struct q_terms *terms, struct policy *network)
{
    struct q_release *release = new_release(terms, Q_FORM_FEATURES);
    bool fits = network && network->output == POLICY_Q &&
                network->shape.input == terms->state_dim && network->shape.layer_count == 2 &&
                network->shape.width[0] == terms->features &&
                network->shape.width[1] == terms->action_count;
    if (!release || !fits) {
        policy_free(network);
        q_release_free(release);
        return NULL;
    }
    release->network = network;
    return release;
}

struct q_release *q_release_grid(const struct q_terms *terms, const double *values)
{
    struct q_release *release = new_release(terms, Q_FORM_GRID);
    if (release && !keep_values(release, values)) {
        q_release_free(release);
        return NULL;
    }
    return release;
}

void q_release_free(struct q_release *release)
{
    if (!release)
        return;
    gaussian_tree_free(release->tree);
    gaussian_path_free(release->path);
    if (release->terms.form == Q_FORM_PATH)
        sodium_free(release->value);
    else
        free(release->value);
    policy_free(release->network);
    sodium_free(release); /* wipes */
}

const struct q_terms *q_release_terms(const struct q_release *release)
{
    return &release->terms;
}

const struct policy *q_release_network(const struct q_release *release)
{
    return release->network;
}

/* ---- asking */

size_t q_release_work(const struct q_release *release)
{
    const struct q_terms *t = &release->terms;
    if (t->form == Q_FORM_PATH)
        return (size_t)t->action_count * t->bits * LEVEL_WORK;
    if (t->form == Q_FORM_GRID)
        return ((size_t)1 << t->state_dim) * (t->state_dim * CORNER_WORK + t->action_count);
    return (size_t)t->features * (t->state_dim + t->action_count);
}

/* Scales STATE, which is within the bounds, to a point of the cube. */
static enum q_answer scale_state(const struct q_terms *t, const double *state, double *point,
                                 uint32_t *out_at)
{
    for (uint32_t i = 0; i < t->state_dim; i++) {
        bool outside = state[i] < t->low[i] || state[i] > t->high[i];
        if (!isfinite(state[i]) || (outside && !t->clamps)) {
            if (out_at)
                *out_at = i;
            return isfinite(state[i]) ? Q_OUTSIDE : Q_NOT_A_NUMBER;
        }
        double x = (state[i] - t->low[i]) / (t->high[i] - t->low[i]);
        point[i] = fmin(fmax(x, 0.0), 1.0);
    }
    return Q_ANSWERED;
}

/* The mean over shards at INDEX / 2^bits. */
static void release_mean_at(const void *context, uint32_t index, double *values)
{
    const struct q_release *release = context;
    const struct q_terms *t = &release->terms;
    knots_at(release->value, t->knot_bits, t->action_count, t->bits, index, values);
}

static void path_values(const struct q_release *release, const double *point, double *values)
{
    const struct q_terms *t = &release->terms;
    const struct gaussian_path_law law = {.bits = t->bits, .dimensions = 1};
    uint32_t index = 0;
    bool number = gaussian_path_quantise(&law, point, &index);
    assert(number);
    (void)number;
    double mean[ENV_MAX_ACTIONS];
    if (release->tree) {
        gaussian_tree_release(release->tree, t->action_count, index, release_mean_at, release,
                              t->value_limit, values);
        return;
    }
    release_mean_at(release, index, mean);
    gaussian_path_release_all(release->path, t->action_count, &index, mean, t->value_limit, values);
}

/* Interpolates multilinearly between the 2^n nodes around POINT. */
static void grid_values(const struct q_release *release, const double *point, double *values)
{
    const struct q_terms *t = &release->terms;
    uint32_t nodes = t->knot_bits, n = t->state_dim, below[ENV_MAX_STATE_DIM];
    double share[ENV_MAX_STATE_DIM];
    for (uint32_t i = 0; i < n; i++) {
        double x = point[i] * (nodes - 1);
        below[i] = (uint32_t)fmin(x, nodes - 2);
        share[i] = x - below[i];
    }
    memset(values, 0, t->action_count * sizeof *values);
    for (uint32_t corner = 0; corner < UINT32_C(1) << n; corner++) {
        double weight = 1.0;
        size_t node = 0;
        for (uint32_t i = 0; i < n; i++) {
            bool up = corner >> i & 1;
            weight *= up ? share[i] : 1.0 - share[i];
            node = node * nodes + below[i] + up;
        }
        for (uint32_t a = 0; weight > 0.0 && a < t->action_count; a++)
            values[a] += weight * release->value[node * t->action_count + a];
    }
}

/* The released network sees the raw state, moved to the bounds where that is asked for. */
static void network_values(const struct q_release *release, const double *point, double *values)
{
    const struct q_terms *t = &release->terms;
    const struct mlp_shape *shape = &release->network->shape;
    double state[ENV_MAX_STATE_DIM], hidden[RELU_FEATURES_MAX];
    const float *weight = release->network->parameters;
    const float *bias = weight + mlp_bias_offset(shape, 0);
    for (uint32_t i = 0; i < t->state_dim; i++)
        state[i] = t->low[i] + point[i] * (t->high[i] - t->low[i]);
    for (uint32_t h = 0; h < t->features; h++) {
        double x = bias[h];
        for (uint32_t i = 0; i < t->state_dim; i++)
            x += weight[(size_t)h * t->state_dim + i] * state[i];
        hidden[h] = fmax(x, 0.0);
    }
    const float *out = weight + mlp_weight_offset(shape, 1);
    for (uint32_t a = 0; a < t->action_count; a++) {
        values[a] = weight[mlp_bias_offset(shape, 1) + a];
        for (uint32_t h = 0; h < t->features; h++)
            values[a] += out[(size_t)a * t->features + h] * hidden[h];
    }
}

enum q_answer q_release_values(const struct q_release *release, const double *state, double *values,
                               uint32_t *out_at)
{
    double point[ENV_MAX_STATE_DIM];
    enum q_answer answer = scale_state(&release->terms, state, point, out_at);
    if (answer != Q_ANSWERED)
        return answer;
    if (release->terms.form == Q_FORM_PATH)
        path_values(release, point, values);
    else if (release->terms.form == Q_FORM_GRID)
        grid_values(release, point, values);
    else
        network_values(release, point, values);
    return Q_ANSWERED;
}

/* ---- bytes: key, values (doubles as they lie in memory), of a path its lattice, checksum; or a
 * policy's bytes. Paths that have no lattice are those of before: they keep their numbers. */

#define LATTICE_BYTES (sizeof(double) + sizeof(uint64_t))

unsigned char *q_release_to_bytes(const struct q_release *release, size_t *out_size)
{
    unsigned char *bytes = NULL;
    if (release->terms.form == Q_FORM_FEATURES)
        return policy_to_bytes(release->network, &bytes, out_size) ? bytes : memory_must(NULL);
    size_t values = release->value_count * sizeof *release->value;
    size_t body = sizeof release->key + values + (release->tree ? LATTICE_BYTES : 0);
    bytes = checksum_room(body, out_size);
    memcpy(bytes, release->key, sizeof release->key);
    memcpy(bytes + sizeof release->key, release->value, values);
    if (release->tree) {
        unsigned char *lattice = bytes + body - LATTICE_BYTES;
        memcpy(lattice, &release->lattice.step, sizeof release->lattice.step);
        memcpy(lattice + sizeof(double), &release->lattice.scale, sizeof release->lattice.scale);
    }
    checksum_seal(bytes, body);
    return bytes;
}

static struct q_release *path_from_bytes(const struct q_terms *terms, const unsigned char *bytes,
                                         size_t body, const double *values, size_t values_size)
{
    struct gaussian_lattice lattice;
    if (body == GAUSSIAN_PATH_KEY_BYTES + values_size)
        return release_path(terms, values, bytes, NULL);
    memcpy(&lattice.step, bytes + body - LATTICE_BYTES, sizeof lattice.step);
    memcpy(&lattice.scale, bytes + body - sizeof lattice.scale, sizeof lattice.scale);
    return release_path(terms, values, bytes, &lattice);
}

struct q_release *q_release_from_bytes(const struct q_terms *terms, const unsigned char *bytes,
                                       size_t size)
{
    if (terms->form == Q_FORM_FEATURES)
        return q_release_features(terms, policy_from_bytes(bytes, size));
    size_t values = numbers_of(terms) * sizeof(double);
    size_t body = GAUSSIAN_PATH_KEY_BYTES + values;
    if (terms->form == Q_FORM_PATH && size == body + LATTICE_BYTES + sizeof(uint64_t))
        body += LATTICE_BYTES;
    if (values == 0 || size != body + sizeof(uint64_t) || !checksum_holds(bytes, body) ||
        sodium_init() < 0)
        return NULL;
    double *copy = memory_must(sodium_malloc(values)); /* aligned, and wiped */
    memcpy(copy, bytes + GAUSSIAN_PATH_KEY_BYTES, values);
    struct q_release *release = terms->form == Q_FORM_PATH
                                    ? path_from_bytes(terms, bytes, body, copy, values)
                                    : q_release_grid(terms, copy);
    sodium_free(copy);
    return release;
}
