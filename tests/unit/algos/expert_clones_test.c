/* Behaviour clones: they learn, and each from its own expert alone. */
#include "algos/offline/expert_clones.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/initialize.h"

enum { EXPERTS = 6, STATE_DIM = 3, ACTIONS = 3, LENGTH = 50, NOBODY = UINT32_MAX };
static const double least = 0.05;
static const struct algorithm_hooks no_hooks = {0};

/* Fast settings where quality is not what is tested. */
static const struct clone_settings small = {
    .hidden_layers = 2, .hidden_width = 16, .steps = 40, .batch_size = 32, .learning_rate = 0.02};

/* The policy that the expert called NAME has in truth. */
static struct policy *truth_of(uint64_t name)
{
    const struct mlp_shape shape = {
        .input = STATE_DIM, .layer_count = 2, .width = {8, ACTIONS}, .activation = MLP_TANH};
    struct policy *policy = policy_new(&shape, name % 2 ? POLICY_ARGMAX : POLICY_SOFTMAX);
    struct rng rng;
    cr_assert_not_null(policy);
    rng_seed(&rng, 50 + name, 0);
    mlp_initialize(&shape, &rng, 3.0, policy->parameters);
    return policy;
}

/* States are independent normal numbers times (1, 10, 0.01); actions are the expert's. What is
 * drawn depends on its name and on SALT. */
static void add_trajectories(struct dataset_builder *builder, uint32_t slot, uint64_t name,
                             uint32_t trajectories, uint64_t salt)
{
    static const double scale[STATE_DIM] = {1.0, 10.0, 0.01};
    struct expert_policies *truth = expert_policies_new(1, STATE_DIM, ACTIONS, least);
    cr_assert(truth && expert_policies_take(truth, 0, truth_of(name)));
    struct rng rng;
    rng_seed(&rng, name, salt);
    for (uint32_t t = 0; t < trajectories; t++) {
        float states[(LENGTH + 1) * STATE_DIM], rewards[LENGTH] = {0};
        uint16_t actions[LENGTH];
        for (uint32_t i = 0; i < (LENGTH + 1) * STATE_DIM; i++)
            states[i] = (float)(scale[i % STATE_DIM] * rng_normal(&rng));
        for (uint32_t i = 0; i < LENGTH; i++) {
            /* the network sees numbers of order 1 */
            float seen[STATE_DIM];
            double p[ACTIONS], u = rng_uniform(&rng);
            for (uint32_t d = 0; d < STATE_DIM; d++)
                seen[d] = (float)((double)states[i * STATE_DIM + d] / scale[d]);
            expert_policies_probabilities(truth, 0, 1, seen, 1, p);
            for (actions[i] = 0; actions[i] + 1 < ACTIONS && u >= p[actions[i]]; actions[i]++)
                u -= p[actions[i]];
        }
        const struct trajectory trajectory = {.expert = slot,
                                              .length = LENGTH,
                                              .truncated = true,
                                              .states = states,
                                              .actions = actions,
                                              .rewards = rewards};
        cr_assert(dataset_builder_add(builder, &trajectory));
    }
    expert_policies_free(truth);
}

/* Experts named 0 .. EXPERTS - 1, without MISSING (those after it move up a slot); CHANGED has
 * other data; the one named 4 has none. */
static struct dataset *population(uint32_t missing, uint32_t changed)
{
    uint32_t slots = missing == NOBODY ? EXPERTS : EXPERTS - 1, slot = 0;
    struct dataset_builder *builder = dataset_builder_new(STATE_DIM, ACTIONS, slots);
    cr_assert_not_null(builder);
    for (uint32_t name = 0; name < EXPERTS; name++) {
        if (name == missing)
            continue;
        if (name != 4)
            add_trajectories(builder, slot, name, 2 + name, name == changed ? 1 : 0);
        slot++;
    }
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    return data;
}

static struct expert_policies *clones_of(const struct dataset *data,
                                         const struct clone_settings *settings,
                                         const struct algorithm_hooks *hooks)
{
    struct expert_policies *clones =
        expert_policies_new(data->expert_count, STATE_DIM, ACTIONS, least);
    cr_assert_not_null(clones);
    cr_assert_eq(expert_clones_fill(clones, data, settings, 9, hooks, 0), ALGORITHM_OK);
    return clones;
}

/* Weights by what they do at some states, bit by bit. */
static bool same_expert(const struct expert_policies *a, uint32_t slot_a,
                        const struct expert_policies *b, uint32_t slot_b)
{
    enum { STATES = 40 };
    float states[STATES * STATE_DIM];
    double p[STATES * ACTIONS], q[STATES * ACTIONS];
    struct rng rng;
    rng_seed(&rng, 77, 0);
    for (uint32_t i = 0; i < STATES * STATE_DIM; i++)
        states[i] = (float)rng_normal(&rng);
    expert_policies_probabilities(a, slot_a, 1, states, STATES, p);
    expert_policies_probabilities(b, slot_b, 1, states, STATES, q);
    return memcmp(p, q, sizeof p) == 0;
}

Test(expert_clones, the_gradient_is_that_of_the_mixed_likelihood)
{
    const float outputs[ACTIONS] = {0.4F, -1.1F, 0.9F};
    for (uint32_t action = 0; action < ACTIONS; action++) {
        for (int mixed = 0; mixed < 2; mixed++) {
            float floor = mixed ? 0.1F : 0.0F, gradient[ACTIONS], ignored[ACTIONS];
            float loss = clone_loss(outputs, ACTIONS, action, floor, gradient);
            double sum = 0.0;
            for (uint32_t b = 0; b < ACTIONS; b++)
                sum += exp((double)outputs[b]);
            double p = (1.0 - 3.0 * (double)floor) * exp((double)outputs[action]) / sum;
            cr_assert_float_eq(loss, -log(p + (double)floor), 1e-6);
            for (uint32_t b = 0; b < ACTIONS; b++) {
                float moved[ACTIONS];
                memcpy(moved, outputs, sizeof moved);
                moved[b] += 0.01F;
                double up = (double)clone_loss(moved, ACTIONS, action, floor, ignored);
                moved[b] -= 0.02F;
                double down = (double)clone_loss(moved, ACTIONS, action, floor, ignored);
                cr_assert_float_eq(gradient[b], (up - down) / 0.02, 2e-4);
            }
        }
    }
}

Test(expert_clones, nothing_is_learned_where_the_floor_leaves_no_choice)
{
    const float outputs[2] = {3.0F, -1.0F};
    float gradient[2];
    cr_assert_float_eq(clone_loss(outputs, 2, 1, 0.5F, gradient), log(2.0), 1e-6);
    cr_assert_eq(gradient[0], 0.0F);
    cr_assert_eq(gradient[1], 0.0F);
}

/* Both kinds of expert; the distance is far below that of the uniform policy (0.45 and more). */
Test(expert_clones, a_clone_plays_as_its_expert_does)
{
    enum { STATES = 400 };
    const struct clone_settings settings = clone_defaults();
    for (uint64_t name = 0; name < 2; name++) {
        struct dataset_builder *builder = dataset_builder_new(STATE_DIM, ACTIONS, 1);
        cr_assert_not_null(builder);
        add_trajectories(builder, 0, name, 80, 0);
        struct dataset *data = dataset_builder_finish(builder);
        cr_assert_not_null(data);
        struct expert_policies *clone = clones_of(data, &settings, &no_hooks);
        struct expert_policies *truth = expert_policies_new(1, STATE_DIM, ACTIONS, least);
        cr_assert(truth && expert_policies_take(truth, 0, truth_of(name)));
        double apart = 0.0, uniform = 0.0;
        struct rng rng;
        rng_seed(&rng, 31, 0);
        for (uint32_t s = 0; s < STATES; s++) {
            float seen[STATE_DIM], state[STATE_DIM];
            double p[ACTIONS], q[ACTIONS];
            for (uint32_t d = 0; d < STATE_DIM; d++)
                seen[d] = (float)rng_normal(&rng);
            memcpy(state, seen, sizeof state);
            state[1] *= 10.0F;
            state[2] *= 0.01F;
            expert_policies_probabilities(truth, 0, 1, seen, 1, p);
            expert_policies_probabilities(clone, 0, 1, state, 1, q);
            for (uint32_t a = 0; a < ACTIONS; a++) {
                apart += fabs(p[a] - q[a]) / (2.0 * STATES);
                uniform += fabs(p[a] - 1.0 / ACTIONS) / (2.0 * STATES);
            }
        }
        cr_expect_lt(apart, 0.08, "expert %u: %g", (unsigned)name, apart);
        cr_expect_gt(uniform, 0.2);
        expert_policies_free(truth);
        expert_policies_free(clone);
        dataset_free(data);
    }
}

Test(expert_clones, one_experts_data_move_its_own_clone_alone)
{
    struct dataset *data = population(NOBODY, NOBODY), *other = population(NOBODY, 2);
    struct expert_policies *clones = clones_of(data, &small, &no_hooks);
    struct expert_policies *changed = clones_of(other, &small, &no_hooks);
    for (uint32_t e = 0; e < EXPERTS; e++)
        cr_assert_eq(same_expert(clones, e, changed, e), e != 2, "expert %u", e);
    expert_policies_free(clones);
    expert_policies_free(changed);
    dataset_free(data);
    dataset_free(other);
}

/* Without an expert those after it have other numbers, and the same clones. */
Test(expert_clones, an_expert_who_is_not_there_moves_nobody)
{
    struct dataset *data = population(NOBODY, NOBODY), *without = population(1, NOBODY);
    struct expert_policies *clones = clones_of(data, &small, &no_hooks);
    struct expert_policies *fewer = clones_of(without, &small, &no_hooks);
    for (uint32_t e = 0; e + 1 < EXPERTS; e++)
        cr_assert(same_expert(clones, e < 1 ? e : e + 1, fewer, e), "slot %u", e);
    expert_policies_free(clones);
    expert_policies_free(fewer);
    dataset_free(data);
    dataset_free(without);
}

Test(expert_clones, an_uploaded_network_is_kept_and_nothing_gives_the_uniform_policy)
{
    struct dataset *data = population(NOBODY, NOBODY);
    struct expert_policies *clones = expert_policies_new(EXPERTS, STATE_DIM, ACTIONS, least);
    struct expert_policies *truth = expert_policies_new(1, STATE_DIM, ACTIONS, least);
    cr_assert(clones && truth);
    cr_assert(expert_policies_take(clones, 3, truth_of(3)));
    cr_assert(expert_policies_take(truth, 0, truth_of(3)));
    cr_assert_eq(expert_clones_fill(clones, data, &small, 9, &no_hooks, 0), ALGORITHM_OK);
    cr_assert(same_expert(clones, 3, truth, 0));
    for (uint32_t e = 0; e < EXPERTS; e++)
        cr_assert_eq(expert_policies_has(clones, e), e != 4);
    size_t given = expert_policies_bytes(truth), each = clone_bytes(&small, STATE_DIM, ACTIONS);
    cr_assert_eq(expert_policies_bytes(clones), given + (EXPERTS - 2) * each);
    const float state[STATE_DIM] = {1.0F, 2.0F, 3.0F};
    double p[ACTIONS];
    expert_policies_probabilities(clones, 4, 1, state, 1, p);
    for (uint32_t a = 0; a < ACTIONS; a++)
        cr_assert_eq(p[a], 1.0 / ACTIONS);
    expert_policies_free(clones);
    expert_policies_free(truth);
    dataset_free(data);
}

/* ---- threads */

struct crew {
    void (*work)(void *what, uint32_t i);
    void *what;
    uint32_t count;
    atomic_uint next;
};

static void *crew_member(void *context)
{
    struct crew *crew = context;
    for (uint32_t i = atomic_fetch_add(&crew->next, 1); i < crew->count;
         i = atomic_fetch_add(&crew->next, 1))
        crew->work(crew->what, i);
    return NULL;
}

static void on_threads(void *context, void (*work)(void *what, uint32_t i), void *what,
                       uint32_t count)
{
    enum { THREADS = 3 };
    (void)context;
    struct crew crew = {.work = work, .what = what, .count = count};
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, crew_member, &crew), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

Test(expert_clones, threads_change_no_bit)
{
    /* wide enough for the library's matrix products */
    const struct clone_settings wide = {.hidden_layers = 2,
                                        .hidden_width = 64,
                                        .steps = 40,
                                        .batch_size = 64,
                                        .learning_rate = 0.02};
    const struct algorithm_hooks hooks = {.parallel = on_threads};
    struct dataset *data = population(NOBODY, NOBODY);
    struct expert_policies *clones = clones_of(data, &wide, &no_hooks);
    struct expert_policies *parallel = clones_of(data, &wide, &hooks);
    for (uint32_t e = 0; e < EXPERTS; e++)
        cr_assert(same_expert(clones, e, parallel, e), "expert %u", e);
    expert_policies_free(clones);
    expert_policies_free(parallel);
    dataset_free(data);
}

/* ---- stopping, and data that no one should have */

static enum algorithm_pulse answer(void *context, uint64_t steps_done)
{
    cr_assert_eq(steps_done, 17);
    return *(const enum algorithm_pulse *)context;
}

Test(expert_clones, a_pulse_stops_it)
{
    enum algorithm_pulse pulse = PULSE_SAVE_AND_PAUSE;
    const struct algorithm_hooks hooks = {.context = &pulse, .pulse = answer};
    struct dataset *data = population(NOBODY, NOBODY);
    struct expert_policies *clones = expert_policies_new(EXPERTS, STATE_DIM, ACTIONS, least);
    cr_assert_not_null(clones);
    cr_assert_eq(expert_clones_fill(clones, data, &small, 9, &hooks, 17), ALGORITHM_PAUSED);
    pulse = PULSE_CANCEL;
    cr_assert_eq(expert_clones_fill(clones, data, &small, 9, &hooks, 17), ALGORITHM_CANCELLED);
    pulse = PULSE_SAVE;
    cr_assert_eq(expert_clones_fill(clones, data, &small, 9, &hooks, 17), ALGORITHM_OK);
    cr_assert(expert_policies_has(clones, 0));
    expert_policies_free(clones);
    dataset_free(data);
}

/* One such expert must not end the work for all, and what it plays is a policy still. */
Test(expert_clones, wild_states_harm_nobody_else)
{
    struct dataset *data = population(NOBODY, NOBODY), *wild = population(NOBODY, NOBODY);
    for (uint64_t i = wild->expert_transitions[1]; i < wild->expert_transitions[2]; i++) {
        float *state = wild->states + wild->state_row[i] * STATE_DIM;
        state[0] = i % 2 ? FLT_MAX : -FLT_MAX;
        state[1] = 5.0F; /* always the same */
        state[2] = i % 3 ? FLT_MIN : 0.0F;
    }
    struct expert_policies *clones = clones_of(data, &small, &no_hooks);
    struct expert_policies *beside = clones_of(wild, &small, &no_hooks);
    for (uint32_t e = 0; e < EXPERTS; e++)
        cr_assert(e == 1 || same_expert(clones, e, beside, e), "expert %u", e);
    const float state[STATE_DIM] = {1.0F, -FLT_MAX, 0.0F};
    double p[ACTIONS], sum = 0.0;
    expert_policies_probabilities(beside, 1, 1, state, 1, p);
    for (uint32_t a = 0; a < ACTIONS; a++) {
        cr_assert_geq(p[a], least);
        sum += p[a];
    }
    cr_assert_float_eq(sum, 1.0, 1e-12);
    expert_policies_free(clones);
    expert_policies_free(beside);
    dataset_free(data);
    dataset_free(wild);
}

/* ---- a whole run */

struct shelf {
    enum algorithm_status status;
    uint32_t slots;
};

static enum algorithm_status fetch(void *context, struct expert_policies **out)
{
    const struct shelf *shelf = context;
    if (shelf->status != ALGORITHM_OK)
        return shelf->status;
    *out = expert_policies_new(shelf->slots, STATE_DIM, ACTIONS, least);
    cr_assert(*out && expert_policies_take(*out, 3, truth_of(3)));
    return ALGORITHM_OK;
}

Test(expert_clones, a_run_gets_networks_and_clones_as_voices)
{
    struct shelf shelf = {ALGORITHM_OK, EXPERTS};
    struct dataset *data = population(NOBODY, NOBODY);
    const struct algorithm_request request = {.seed = 9};
    const struct algorithm_run run = {
        .request = &request, .data = data, .hooks = {.context = &shelf, .experts = fetch}};
    struct expert_policies *all = NULL, *clones = clones_of(data, &small, &no_hooks);
    cr_assert_eq(expert_clones_all(&run, &small, 0, &all), ALGORITHM_OK);
    struct expert_voices voices = expert_policies_voices(all);
    cr_assert(voices.slots == EXPERTS && voices.state_dim == STATE_DIM);
    cr_assert(voices.action_count == ACTIONS && voices.min_probability == least);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        cr_assert_eq(voices.present(voices.context, e), e != 4);
        cr_assert_eq(same_expert(all, e, clones, e), e != 3, "expert %u", e);
        const float state[STATE_DIM] = {1.0F, 2.0F, 3.0F};
        double p[ACTIONS], q[ACTIONS];
        voices.probabilities(voices.context, e, 1, state, 1, p);
        expert_policies_probabilities(all, e, 1, state, 1, q);
        cr_assert_arr_eq(p, q, sizeof p);
    }
    expert_policies_free(all);
    expert_policies_free(clones);
    shelf.slots = EXPERTS + 1;
    cr_assert_eq(expert_clones_all(&run, &small, 0, &all), ALGORITHM_BAD_DATA);
    shelf.status = ALGORITHM_CANCELLED;
    cr_assert_eq(expert_clones_all(&run, &small, 0, &all), ALGORITHM_CANCELLED);
    dataset_free(data);
}
