/* Any bytes as what storage keeps in a form of bytes. The first byte chooses the form, the second
 * whether the checksum at the end is made to hold, so that the reader behind it is reached.
 *
 * What is read is written as the same bytes, and its numbers are those of its kind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "algos/data/dataset.h"
#include "algos/offline/stage_state.h"
#include "algos/offline/trainer_state.h"
#include "algos/online/online_run.h"
#include "algos/online/ppo.h"
#include "algos/release/ensemble.h"
#include "algos/release/q_release.h"
#include "tests/fuzz/fuzz.h"

#define FINGERPRINT 7
#define TOTAL_STEPS 100

static void read_policy(const unsigned char *bytes, size_t size)
{
    struct policy *policy = policy_from_bytes(bytes, size);
    unsigned char *again;
    size_t again_size;
    if (!policy)
        return;
    assert(policy_action_count(policy) >= 1);
    assert(policy_to_bytes(policy, &again, &again_size));
    assert(again_size == size && memcmp(again, bytes, size) == 0);
    free(again);
    policy_free(policy);
}

static void read_ensemble(const unsigned char *bytes, size_t size)
{
    struct ensemble *ensemble = ensemble_from_bytes(bytes, size);
    static const float state[MLP_MAX_WIDTH] = {0};
    double probabilities[ENSEMBLE_ACTIONS_MAX], sum = 0;
    size_t again_size;
    if (!ensemble)
        return;
    ensemble_probabilities(ensemble, state, 1, 1.0, probabilities);
    for (uint32_t a = 0; a < ensemble->actions; a++)
        sum += probabilities[a];
    assert(fabs(sum - 1.0) < 1e-6);
    unsigned char *again = ensemble_to_bytes(ensemble, &again_size);
    assert(again_size == size); /* widths of layers that are not there are not read */
    free(again);
    ensemble_free(ensemble);
}

static void read_release(unsigned form, const unsigned char *bytes, size_t size)
{
    struct q_terms terms = {.form = (enum q_form)(form % Q_FORMS),
                            .action_count = 2,
                            .low = {-3, -3},
                            .high = {5, 5},
                            .clamps = true,
                            .shards = 100,
                            .value_limit = 1,
                            .lipschitz = 4,
                            .bits = 20,
                            .knot_bits = 2,
                            .features = 3,
                            .beta = 4,
                            .sensitivity = 0.05,
                            .sigma = 0.1};
    static const double states[2][2] = {{0.3, 0.2}, {1e9, -1e9}};
    double values[2];
    size_t again_size;
    terms.state_dim = terms.form == Q_FORM_PATH ? 1 : 2;
    struct q_release *release = q_release_from_bytes(&terms, bytes, size);
    if (!release)
        return;
    for (int i = 0; i < 2; i++)
        assert(q_release_values(release, states[i], values, NULL) == Q_ANSWERED);
    unsigned char *again = q_release_to_bytes(release, &again_size);
    assert(again_size == size);
    if (terms.form != Q_FORM_GRID) /* a grid has no key: what stands in its place is not read */
        assert(memcmp(again, bytes, size) == 0);
    free(again);
    q_release_free(release);
}

static void read_trainer(unsigned how, const unsigned char *bytes, size_t size)
{
    const struct mlp_shape shape = {.input = 2, .layer_count = 1, .width = {2}};
    struct trainer_settings settings = {
        .rule = {.shape = shape, .target_outputs = how & 1U ? 2 : 0},
        .optimizer = {.kind = how & 2U ? OPTIMIZER_ADAM : OPTIMIZER_SGD, .beta2 = 0.9},
        .average_decay = how & 4U ? 0.9 : 0};
    struct trainer_state state;
    size_t again_size;
    trainer_state_init(&state, &settings, 1);
    float *weights = malloc(state.count * sizeof *weights);
    bool known = trainer_state_weights(bytes, size, state.count, weights);
    if (trainer_state_from_bytes(&state, FINGERPRINT, TOTAL_STEPS, bytes, size)) {
        assert(state.steps_done <= TOTAL_STEPS && known);
        unsigned char *again = trainer_state_to_bytes(&state, FINGERPRINT, &again_size);
        assert(again_size == size && memcmp(again, bytes, size - 16) == 0);
        free(again);
    }
    free(weights);
    trainer_state_clear(&state);
}

static void read_stage(const unsigned char *bytes, size_t size)
{
    struct dataset *released = NULL;
    size_t used = 0, again_size;
    if (!stage_state_from_bytes(FINGERPRINT, bytes, size, &released, &used))
        return;
    assert(used <= size);
    free(stage_state_to_bytes(released, FINGERPRINT, &again_size));
    assert(again_size <= used);
    dataset_free(released);
}

static void read_online(const unsigned char *bytes, size_t size)
{
    uint64_t updates = 0, step = 0;
    float vectors[2][5] = {{0}};
    size_t again_size;
    struct online_memory memory = {&updates, &step, 5, {vectors[0], vectors[1], NULL}};
    if (!online_from_bytes(&memory, FINGERPRINT, TOTAL_STEPS, bytes, size))
        return;
    assert(updates <= TOTAL_STEPS);
    free(online_to_bytes(&memory, FINGERPRINT, &again_size));
    assert(again_size == size);
}

static void read_ppo(const unsigned char *bytes, size_t size)
{
    const struct env *env = env_find("cartpole");
    struct ppo_settings settings = ppo_defaults();
    double parameters[ENV_MAX_PARAMETERS];
    struct rng rng;
    size_t again_size;
    settings.hidden_count = 0;
    settings.worlds = 1;
    settings.steps = settings.minibatch = 2;
    env_defaults(env, parameters);
    rng_seed(&rng, 1, 0);
    struct ppo *ppo = ppo_new(&settings, env, parameters, &rng);
    assert(ppo);
    if (ppo_from_bytes(ppo, FINGERPRINT, bytes, size)) {
        free(ppo_to_bytes(ppo, FINGERPRINT, &again_size));
        assert(again_size == size);
        (void)ppo_report_of(ppo);
    }
    ppo_free(ppo);
}

static void read_records(uint32_t state_dim, const unsigned char *bytes, size_t size)
{
    struct trajectory one;
    while (size > 0) {
        size_t used = trajectory_record_read(bytes, size, state_dim, &one);
        if (used == 0)
            return;
        assert(used <= size && used == trajectory_record_size(one.length, state_dim));
        unsigned char *again = malloc(used);
        trajectory_record_write(&one, state_dim, again);
        free(again);
        bytes += used;
        size -= used;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t form = fuzz_byte(&data, &size), seal = fuzz_byte(&data, &size);
    unsigned char *bytes = fuzz_copy(data, size, false);
    if (seal % 4 != 0 && size > sizeof(uint64_t) && size % 4 == 0)
        checksum_seal(bytes, size - sizeof(uint64_t));
    switch (form % 8) {
    case 0: read_policy(bytes, size); break;
    case 1: read_ensemble(bytes, size); break;
    case 2: read_release(form / 8U, bytes, size); break;
    case 3: read_trainer(form / 8U, bytes, size); break;
    case 4: read_stage(bytes, size); break;
    case 5: read_online(bytes, size); break;
    case 6: read_ppo(bytes, size); break;
    default: read_records(1 + form / 8U % 4, bytes, size);
    }
    free(bytes);
    return 0;
}
