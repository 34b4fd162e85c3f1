/* Labels and the episodes that ask for them.
 *
 * DESIGN. Reading the experts' weights is what a label costs, so CONSENSUS_LANES episodes go on
 * side by side and all of them that need a label are answered in one pass over the experts. The
 * student is a behaviour clone (expert_clones.h) of what was released, as if it were an expert's.
 *
 * Arithmetic. Policies are whole numbers of 2^-16, centred by |A| w - 2^16, summed as integers and
 * noised by round(N(0, s^2)): the sum is a whole number, so what is released is the continuous
 * Gaussian mechanism, rounded. No floating point stands between data and release. */
#include "algos/offline/consensus.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/expert_clones.h"
#include "algos/privacy/noise/noise.h"
#include "algos/privacy/noise/noise_lattice.h"
#include "memory/memory.h"

/* The student's share of the steps after the first round that are not explored. */
#define STUDENT_SHARE 0.5

/* ---- labels */

void consensus_sums(const struct consensus_plan *plan, const struct expert_voices *voices,
                    struct noise_source *noise, const float *states, uint32_t count,
                    double *scratch, int64_t *sums)
{
    uint32_t actions = voices->action_count, weights[ENV_MAX_ACTIONS];
    memset(sums, 0, (size_t)count * actions * sizeof *sums);
    for (uint32_t first = 0; first < voices->slots; first += CONSENSUS_EXPERTS) {
        uint32_t left = voices->slots - first;
        uint32_t experts = left < CONSENSUS_EXPERTS ? left : CONSENSUS_EXPERTS;
        voices->probabilities(voices->context, first, experts, states, count, scratch);
        for (uint32_t e = 0; e < experts; e++) {
            if (!voices->present(voices->context, first + e))
                continue;
            for (uint32_t s = 0; s < count; s++) {
                const double *row = scratch + ((size_t)e * count + s) * actions;
                expert_voices_weights(row, actions, 0.0, CONSENSUS_UNIT, weights);
                for (uint32_t a = 0; a < actions; a++)
                    sums[s * actions + a] +=
                        (int64_t)actions * weights[a] - (int64_t)CONSENSUS_UNIT;
            }
        }
    }
    for (uint32_t i = 0; i < count * actions; i++)
        sums[i] += noise_lattice_gaussian(noise, plan->lattice_scale);
}

uint32_t consensus_label(const int64_t *sums, uint32_t actions)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < actions; a++)
        best = sums[a] > sums[best] ? a : best;
    return best;
}

/* ---- episodes */

struct lane {
    void *state;
    struct rng rng; /* the world's, and of what is explored: public coins */
    float *states;  /* of the labelled steps that follow one another */
    uint16_t *actions;
    float *rewards;
    uint32_t length, age; /* of these, and of the episode */
    bool labelled;        /* this step */
    uint32_t action;
};

struct party {
    const struct consensus_run *run;
    struct lane lane[CONSENSUS_LANES];
    double parameters[ENV_MAX_PARAMETERS];
    float *asked; /* states of this round */
    double *scratch;
    int64_t *sums;
    uint32_t left;          /* labels */
    uint32_t round;         /* that is being played, from 0 */
    struct policy *student; /* NULL in the first round */
    struct dataset_builder *released;
};

static bool lane_put_state(const struct party *p, struct lane *lane, const double *observation)
{
    size_t dim = p->run->voices->state_dim;
    float *state = lane->states + lane->length * dim;
    for (size_t i = 0; i < dim; i++) {
        state[i] = (float)observation[i];
        if (!isfinite(state[i]))
            return false;
    }
    return true;
}

static bool lane_start(const struct party *p, struct lane *lane)
{
    double observation[ENV_MAX_STATE_DIM];
    lane->length = lane->age = 0;
    return p->run->env->reset(lane->state, p->parameters, &lane->rng, observation) &&
           lane_put_state(p, lane, observation);
}

/* Hands over the labelled steps that follow one another without a break. */
static void lane_hand_over(struct party *p, uint32_t number, bool terminated)
{
    struct lane *lane = &p->lane[number];
    const struct trajectory labelled = {.length = lane->length,
                                        .terminated = terminated,
                                        .truncated = !terminated,
                                        .states = lane->states,
                                        .actions = lane->actions,
                                        .rewards = lane->rewards};
    if (lane->length > 0)
        (void)dataset_builder_add(p->released, &labelled);
    size_t dim = p->run->voices->state_dim;
    memmove(lane->states, lane->states + lane->length * dim, dim * sizeof *lane->states);
    lane->length = 0;
}

/* True when the lane's step needs a label; else chooses the lane's action. */
static bool wants_label(struct party *p, struct lane *lane)
{
    const struct expert_voices *voices = p->run->voices;
    const float *state = lane->states + lane->length * voices->state_dim;
    float values[ENV_MAX_ACTIONS];
    bool explores = rng_uniform(&lane->rng) < p->run->explore;
    if (!explores && p->student && rng_uniform(&lane->rng) < STUDENT_SHARE &&
        policy_values(p->student, state, values)) {
        lane->action = policy_best_action(values, voices->action_count);
        return false;
    }
    lane->action = rng_below(&lane->rng, voices->action_count);
    return !explores;
}

/* Chooses every lane's action. Asks the experts while labels are left. */
static void choose_actions(struct party *p)
{
    const struct expert_voices *voices = p->run->voices;
    uint32_t actions = voices->action_count, asked = 0;
    size_t dim = voices->state_dim;
    for (uint32_t i = 0; i < CONSENSUS_LANES; i++) {
        struct lane *lane = &p->lane[i];
        lane->labelled = wants_label(p, lane) && asked < p->left;
        if (lane->labelled)
            memcpy(p->asked + dim * asked++, lane->states + lane->length * dim,
                   dim * sizeof *p->asked);
    }
    if (asked > 0)
        consensus_sums(p->run->plan, voices, p->run->noise, p->asked, asked, p->scratch, p->sums);
    p->left -= asked;
    for (uint32_t i = 0, next = 0; i < CONSENSUS_LANES; i++)
        if (p->lane[i].labelled)
            p->lane[i].action = consensus_label(p->sums + (size_t)actions * next++, actions);
}

static enum algorithm_status lane_step(struct party *p, uint32_t number)
{
    struct lane *lane = &p->lane[number];
    double observation[ENV_MAX_STATE_DIM];
    struct env_outcome outcome =
        p->run->env->step(lane->state, p->parameters, lane->action, &lane->rng, observation);
    if (outcome.failed || !isfinite((float)outcome.reward))
        return ALGORITHM_BAD_INPUT;
    if (lane->labelled) {
        lane->actions[lane->length] = (uint16_t)lane->action;
        lane->rewards[lane->length++] = (float)outcome.reward;
    } else {
        lane_hand_over(p, number, false); /* what came before the step that is explored */
    }
    if (!lane_put_state(p, lane, observation))
        return ALGORITHM_BAD_INPUT;
    lane->age++;
    if (!outcome.terminated && lane->age < p->run->max_length)
        return ALGORITHM_OK;
    lane_hand_over(p, number, outcome.terminated);
    return lane_start(p, lane) ? ALGORITHM_OK : ALGORITHM_BAD_INPUT;
}

static bool add_again(void *context, const struct trajectory *one)
{
    return dataset_builder_add(context, one);
}

/* Trains a student on all labels so far. The collection of released labels continues. */
static enum algorithm_status student_learn(struct party *p)
{
    const struct expert_voices *voices = p->run->voices;
    const struct clone_settings settings = clone_defaults();
    struct dataset *so_far = dataset_builder_finish(p->released);
    p->released = dataset_builder_new(voices->state_dim, voices->action_count, 1);
    if (!so_far)
        return ALGORITHM_NO_MEMORY;
    (void)dataset_each_trajectory(so_far, add_again, p->released);
    if (so_far->transition_count > 0) {
        policy_free(p->student);
        p->student = expert_clone(&settings, so_far, 0, 0.0, p->run->seed);
    }
    dataset_free(so_far);
    return ALGORITHM_OK;
}

static enum algorithm_status step_all_lanes(struct party *p)
{
    if (p->run->goes_on && !p->run->goes_on(p->run->context))
        return ALGORITHM_CANCELLED;
    enum algorithm_status status = ALGORITHM_OK;
    choose_actions(p);
    for (uint32_t i = 0; status == ALGORITHM_OK && i < CONSENSUS_LANES; i++)
        status = lane_step(p, i);
    return status;
}

static enum algorithm_status play_rounds(struct party *p)
{
    const struct consensus_run *run = p->run;
    uint32_t labels = run->plan->labels;
    enum algorithm_status status = ALGORITHM_OK;
    for (p->round = 0; status == ALGORITHM_OK && p->round < run->rounds; p->round++) {
        uint64_t end = (uint64_t)labels * (p->round + 1) / run->rounds;
        if (p->round > 0 && labels - p->left < end)
            status = student_learn(p);
        while (status == ALGORITHM_OK && labels - p->left < end)
            status = step_all_lanes(p);
        for (uint32_t i = 0; status == ALGORITHM_OK && i < CONSENSUS_LANES; i++)
            lane_hand_over(p, i, false);
    }
    return status;
}

/* False: the world gave no state to start from. */
static bool open_lane(struct party *p, struct lane *lane)
{
    size_t steps = p->run->max_length, dim = p->run->voices->state_dim;
    lane->state = memory_must(env_open(p->run->env));
    lane->states = memory_new((steps + 1) * dim, sizeof *lane->states);
    lane->actions = memory_new(steps, sizeof *lane->actions);
    lane->rewards = memory_new(steps, sizeof *lane->rewards);
    rng_seed(&lane->rng, noise_u64(p->run->noise), 0);
    return lane_start(p, lane);
}

static bool party_open(struct party *p)
{
    const struct expert_voices *voices = p->run->voices;
    size_t actions = voices->action_count;
    p->asked = memory_new((size_t)CONSENSUS_LANES * voices->state_dim, sizeof *p->asked);
    p->scratch =
        memory_new((size_t)CONSENSUS_EXPERTS * CONSENSUS_LANES * actions, sizeof *p->scratch);
    p->sums = memory_new(CONSENSUS_LANES * actions, sizeof *p->sums);
    p->released = dataset_builder_new(voices->state_dim, voices->action_count, 1);
    env_defaults(p->run->env, p->parameters);
    for (uint32_t i = 0; i < CONSENSUS_LANES; i++)
        if (!open_lane(p, &p->lane[i]))
            return false;
    return true;
}

static void party_close(struct party *p)
{
    for (uint32_t i = 0; i < CONSENSUS_LANES; i++) {
        env_close(p->run->env, p->lane[i].state);
        free(p->lane[i].states);
        free(p->lane[i].actions);
        free(p->lane[i].rewards);
    }
    free(p->asked);
    free(p->scratch);
    free(p->sums);
    dataset_builder_free(p->released);
    policy_free(p->student);
    free(p);
}

enum algorithm_status consensus_release(const struct consensus_run *run,
                                        struct dataset **out_released, const char **message)
{
    assert(run->plan->action_count == run->voices->action_count && run->max_length > 0);
    assert(run->explore >= 0.0 && run->explore < 1.0 && run->rounds > 0);
    *message = "";
    if (run->env->state_dim != run->voices->state_dim ||
        run->env->action_count != run->voices->action_count) {
        *message = "the world's sizes are not those of the experts' policies";
        return ALGORITHM_BAD_INPUT;
    }
    struct party *p = memory_new(1, sizeof *p);
    p->run = run;
    p->left = run->plan->labels;
    enum algorithm_status status = party_open(p) ? play_rounds(p) : ALGORITHM_BAD_INPUT;
    if (status == ALGORITHM_BAD_INPUT)
        *message = "the world broke while the experts' consensus was played in it";
    if (status == ALGORITHM_OK) {
        *out_released = dataset_builder_finish(p->released);
        p->released = NULL;
        status = *out_released ? ALGORITHM_OK : ALGORITHM_NO_MEMORY;
    }
    party_close(p);
    return status;
}
