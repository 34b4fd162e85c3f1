/* Ensembles: what is kept of the shards, and their mean.
 *
 * DESIGN. All members lie in one block of floats, which is also what checkpoints of the training
 * keep. A member stands for itself: how its outputs become a distribution is in its own record, so
 * that nothing of one shard's training decides how another's policy is read. */
#include "algos/release/ensemble.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/offline/shards.h"
#include "memory/memory.h"

#define MAGIC   UINT32_C(0x4e454354) /* "TCEN" */
#define VERSION 1
#define GRID    (INT64_C(1) << 40)
#define GROUP   16           /* states */
#define SLACK   (1.0 + 1e-9) /* the mean's last rounding, at SHARDS_MAX and 64 actions */

enum { KIND, THRESHOLD, PARAMETERS }; /* of a record; KIND: 0 for none, else 1 + policy_output */

static size_t record_size(const struct mlp_shape *shape)
{
    return PARAMETERS + mlp_parameter_count(shape);
}

bool ensemble_fits(const struct mlp_shape *shape, uint32_t count)
{
    return mlp_shape_valid(shape) && count >= 1 && count <= SHARDS_MAX &&
           mlp_parameter_count(shape) <= ENSEMBLE_PARAMETERS_MAX / count;
}

struct ensemble *ensemble_new(const struct mlp_shape *shape, uint32_t actions, uint32_t count)
{
    if (!ensemble_fits(shape, count) || actions < 2 || actions > ENSEMBLE_ACTIONS_MAX)
        return NULL;
    float *members = calloc(count * record_size(shape), sizeof *members);
    if (!members)
        return NULL;
    struct ensemble *ensemble = memory_new(1, sizeof *ensemble);
    *ensemble =
        (struct ensemble){.shape = *shape, .actions = actions, .count = count, .members = members};
    return ensemble;
}

void ensemble_free(struct ensemble *ensemble)
{
    if (!ensemble)
        return;
    sodium_memzero(ensemble->members,
                   ensemble->count * record_size(&ensemble->shape) * sizeof *ensemble->members);
    free(ensemble->members);
    free(ensemble);
}

static float *record_of(const struct ensemble *ensemble, uint32_t member)
{
    assert(member < ensemble->count);
    return ensemble->members + member * record_size(&ensemble->shape);
}

static bool same_shape(const struct mlp_shape *a, const struct mlp_shape *b)
{
    return a->input == b->input && a->layer_count == b->layer_count &&
           a->activation == b->activation &&
           memcmp(a->width, b->width, a->layer_count * sizeof a->width[0]) == 0;
}

void ensemble_take(void *context, uint32_t shard, const struct policy *policy,
                   const struct dataset *data)
{
    (void)data;
    struct ensemble *ensemble = context;
    float *record = record_of(ensemble, shard);
    size_t count = mlp_parameter_count(&ensemble->shape);
    memset(record, 0, record_size(&ensemble->shape) * sizeof *record);
    if (!policy || !same_shape(&policy->shape, &ensemble->shape) ||
        policy_action_count(policy) != ensemble->actions)
        return;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(policy->parameters[i]))
            return;
    record[KIND] = 1.0F + (float)policy->output;
    record[THRESHOLD] = policy->threshold;
    memcpy(record + PARAMETERS, policy->parameters, count * sizeof *record);
}

/* ---- the mean */

double ensemble_change(uint32_t count)
{
    return M_SQRT2 / count * SLACK;
}

/* P as integers that sum to GRID: what rounding leaves over goes to the largest. */
static void add_rounded(const double *p, uint32_t actions, int64_t *sums)
{
    int64_t rounded[ENSEMBLE_ACTIONS_MAX], left = GRID;
    uint32_t largest = 0;
    assert(actions > 0 && actions <= ENSEMBLE_ACTIONS_MAX);
    for (uint32_t a = 0; a < actions; a++) {
        rounded[a] = llrint(p[a] * (double)GRID);
        left -= rounded[a];
        largest = rounded[a] > rounded[largest] ? a : largest;
    }
    rounded[largest] += left;
    for (uint32_t a = 0; a < actions; a++)
        sums[a] += rounded[a];
}

/* Adds what MEMBER says at COUNT states to SUMS. */
static void add_member(const struct ensemble *ensemble, uint32_t member, const float *states,
                       uint32_t count, double temperature, int64_t sums[][ENSEMBLE_ACTIONS_MAX])
{
    float *record = record_of(ensemble, member);
    bool there = record[KIND] > 0.0F;
    const struct policy policy = {.shape = ensemble->shape,
                                  .output = (enum policy_output)(there ? record[KIND] - 1 : 0),
                                  .threshold = record[THRESHOLD],
                                  .parameters = record + PARAMETERS};
    uint32_t actions = ensemble->actions;
    for (uint32_t s = 0; s < count; s++) {
        const float *state = states + (size_t)s * ensemble->shape.input;
        double p[ENSEMBLE_ACTIONS_MAX];
        if (!there || !policy_probabilities(&policy, state, temperature, p))
            for (uint32_t a = 0; a < actions; a++)
                p[a] = 1.0 / actions;
        add_rounded(p, actions, sums[s]);
    }
}

void ensemble_probabilities(const struct ensemble *ensemble, const float *states, uint32_t count,
                            double temperature, double *probabilities)
{
    uint32_t actions = ensemble->actions;
    double all = (double)ensemble->count * (double)GRID;
    /* A member's numbers are read once for a group of states. */
    for (uint32_t first = 0, group; first < count; first += group) {
        int64_t sums[GROUP][ENSEMBLE_ACTIONS_MAX];
        group = count - first < GROUP ? count - first : GROUP;
        for (uint32_t s = 0; s < group; s++)
            memset(sums[s], 0, actions * sizeof sums[s][0]);
        for (uint32_t i = 0; i < ensemble->count; i++)
            add_member(ensemble, i, states + (size_t)first * ensemble->shape.input, group,
                       temperature, sums);
        for (uint32_t s = 0; s < group; s++)
            for (uint32_t a = 0; a < actions; a++)
                probabilities[(size_t)(first + s) * actions + a] = (double)sums[s][a] / all;
    }
}

/* ---- training */

enum algorithm_status ensemble_train(const struct algorithm *algorithm, uint32_t count,
                                     const struct algorithm_run *run, struct ensemble **out,
                                     const char **message)
{
    struct shards shards = {
        .algorithm = algorithm, .request = *run->request, .count = count, .take = ensemble_take};
    struct mlp_shape shape;
    uint64_t steps;
    *out = NULL;
    enum algorithm_status status = shards_plan(&shards, &steps, &shape, message);
    if (status != ALGORITHM_OK)
        return status;
    if (!ensemble_fits(&shape, count)) {
        *message = "the shards' networks have too many parameters together";
        return ALGORITHM_BAD_INPUT;
    }
    struct ensemble *ensemble = ensemble_new(&shape, run->request->action_count, count);
    if (!ensemble)
        return ALGORITHM_NO_MEMORY;
    shards.context = ensemble;
    shards.kept = ensemble->members;
    shards.kept_size = count * record_size(&shape) * sizeof *ensemble->members;
    status = shards_train(&shards, run, message);
    if (status == ALGORITHM_OK)
        *out = ensemble;
    else
        ensemble_free(ensemble);
    return status;
}

/* ---- bytes */

struct head {
    uint32_t magic, version, activation, input, layers, actions, count;
    uint32_t width[MLP_MAX_LAYERS];
};

unsigned char *ensemble_to_bytes(const struct ensemble *ensemble, size_t *out_size)
{
    const struct mlp_shape *shape = &ensemble->shape;
    struct head head = {.magic = MAGIC,
                        .version = VERSION,
                        .activation = (uint32_t)shape->activation,
                        .input = shape->input,
                        .layers = shape->layer_count,
                        .actions = ensemble->actions,
                        .count = ensemble->count};
    memcpy(head.width, shape->width, shape->layer_count * sizeof head.width[0]);
    size_t body = ensemble->count * record_size(shape) * sizeof *ensemble->members;
    unsigned char *bytes = checksum_room(sizeof head + body, out_size);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, ensemble->members, body);
    checksum_seal(bytes, sizeof head + body);
    return bytes;
}

/* Whether RECORD is of no policy, or of one of the ensemble's actions: a policy of two heads has
 * twice as many outputs. */
static bool record_fits(const struct ensemble *ensemble, const float *record)
{
    uint32_t outputs = ensemble->shape.width[ensemble->shape.layer_count - 1];
    bool two_heads = record[KIND] == 1.0F + (float)POLICY_BCQ;
    return record[KIND] == 0.0F || outputs == (two_heads ? 2 : 1) * ensemble->actions;
}

static bool record_valid(const float *record, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isfinite(record[i]))
            return false;
    return record[KIND] >= 0.0F && record[KIND] <= 1.0F + (float)POLICY_BCQ &&
           record[KIND] == truncf(record[KIND]);
}

struct ensemble *ensemble_from_bytes(const unsigned char *bytes, size_t size)
{
    struct head head;
    if (!bytes || size < sizeof head + sizeof(uint64_t) || size % sizeof(uint32_t) != 0)
        return NULL;
    memcpy(&head, bytes, sizeof head);
    if (head.magic != MAGIC || head.version != VERSION || head.activation > MLP_TANH ||
        head.layers < 1 || head.layers > MLP_MAX_LAYERS ||
        !checksum_holds(bytes, size - sizeof(uint64_t)))
        return NULL;
    struct mlp_shape shape = {.input = head.input,
                              .layer_count = head.layers,
                              .activation = (enum mlp_activation)head.activation};
    memcpy(shape.width, head.width, head.layers * sizeof shape.width[0]);
    struct ensemble *ensemble = ensemble_new(&shape, head.actions, head.count);
    if (!ensemble)
        return NULL;
    size_t record = record_size(&shape), body = head.count * record * sizeof *ensemble->members;
    bool good = size == sizeof head + body + sizeof(uint64_t);
    if (good)
        memcpy(ensemble->members, bytes + sizeof head, body);
    for (uint32_t i = 0; i < head.count && good; i++)
        good = record_valid(record_of(ensemble, i), record) &&
               record_fits(ensemble, record_of(ensemble, i));
    if (!good) {
        ensemble_free(ensemble);
        return NULL;
    }
    return ensemble;
}
