/* The audit's trainings, what is seen of them, and guesses. */
#include "algos/online/play_audit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/optimizer.h"
#include "algos/offline/trainer_state.h"
#include "algos/online/canary_world.h"
#include "algos/online/dqn_buffer.h"
#include "algos/online/dqn_parameters.h"
#include "algos/online/online_run.h"
#include "algos/online/reinforce.h"
#include "memory/memory.h"

#define GUESSED      0.05 /* of the canaries on either side */
#define LEAST_NOISE  1e-9
#define ADAM_BETA    0.9  /* of reinforce: of the first moment */
#define MOVED_BY_DQN 0.01 /* what a training moves a weight by at most, about */

enum {
    SIDE = CANARY_WORLD_SIDE,
    DIRECTIONS = SIDE * SIDE,
    USERS = CANARY_WORLD_USERS,
    FINGERPRINT_AT = 8, /* in a checkpoint (online_run.h) */
    MOST_STEPS = 10000  /* of a round */
};

/* ---- settings */

struct play_attack {
    struct play_audit_settings settings;
    const struct algorithm *algorithm;
    struct algorithm_request request; /* whose coins are CANARY_NOBODY */
    struct algorithm_plan plan;
    uint32_t canaries;
    uint32_t stay; /* rounds whose moves are looked at for one canary */
    float *start;  /* the first weights; owned */
};

static const struct algorithm *const attacked[PLAY_AUDIT_WAYS] = {
    [PLAY_AUDIT_DQN] = &dqn_algorithm,
    [PLAY_AUDIT_DQN_FIXED] = &dqn_algorithm,
    [PLAY_AUDIT_REINFORCE] = &reinforce_algorithm,
    [PLAY_AUDIT_REINFORCE_LATER] = &reinforce_algorithm,
};

struct play_audit_settings play_audit_usual(enum play_audit_way way, bool exact, bool sampled)
{
    static const uint32_t rounds[PLAY_AUDIT_WAYS] = {8, 1, 4, 8},
                          steps[PLAY_AUDIT_WAYS] = {10, 20, 1, 1};
    return (struct play_audit_settings){.way = way,
                                        .exact = exact,
                                        .sampled = sampled,
                                        .rounds = rounds[way],
                                        .round_steps = sampled ? steps[way] : 1,
                                        .noise_multiplier = 1.5,
                                        .delta = 1e-5,
                                        .seed = 1};
}

static bool way_is_reinforce(enum play_audit_way way)
{
    return attacked[way] == &reinforce_algorithm;
}

const char *play_audit_algorithm(enum play_audit_way way)
{
    return attacked[way]->name;
}

struct setting {
    const char *name;
    double value;
};

static struct parameter_value *setting_of(struct play_attack *attack, const char *name)
{
    const struct algorithm *algorithm = attack->algorithm;
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    return &attack->request.parameters.value[index];
}

static void put_settings(struct play_attack *attack, const struct setting *settings, size_t count)
{
    setting_of(attack, "hidden")->count = 0; /* linear */
    for (size_t i = 0; i < count; i++)
        *setting_of(attack, settings[i].name) =
            (struct parameter_value){.number = {settings[i].value}, .count = 1};
}

/* Plain gradient descent in steps so small that no gradient turns on the way. Whoever returns
 * nothing weighs nothing. */
static void set_dqn(struct play_attack *attack)
{
    const struct play_audit_settings *asked = &attack->settings;
    const bool plays = asked->way == PLAY_AUDIT_DQN;
    const double batch = asked->sampled ? USERS / 4 : USERS;
    const double steps = asked->round_steps * (plays ? asked->rounds + 1.0 : 1.0), clip = 0.25;
    const double moves = steps * batch / USERS + asked->noise_multiplier * sqrt(steps);
    const struct setting settings[] = {
        {"play", plays ? DQN_PLAYS_GREEDY : DQN_PLAYS_RANDOM},
        {"unit", DQN_USER},
        {"buffer", USERS},
        {"random_users", USERS / 2},
        {"round_users", USERS / 2},
        {"round_updates", asked->round_steps},
        {"final_exploration", 1},
        {"steps", steps},
        {"batch_size", batch},
        {"clip_norm", clip},
        {"learning_rate", fmin(10.0, MOVED_BY_DQN * batch / (moves * clip))},
        {"final_rate_fraction", 1},
        {"optimizer", OPTIMIZER_SGD},
        {"momentum", 0},
        {"average_decay", 0},
        {"return_low", 0},
        {"return_high", 1},
        {"return_power", 1},
        {"input_scale", 1},
        {"noise_multiplier", asked->noise_multiplier},
        {"arithmetic", asked->exact}};
    double *world = attack->request.world_parameters;
    put_settings(attack, settings, sizeof settings / sizeof settings[0]);
    world[CANARY_WAVE_USERS] = plays ? USERS / 2.0 : USERS;
    world[CANARY_WAVES_APART] = attack->stay = plays ? 2 : 1;
}

/* Noisy sums so small beside what Adam adds to its denominator that a step is proportional to its
 * first moment. */
static void set_reinforce(struct play_attack *attack)
{
    const struct play_audit_settings *asked = &attack->settings;
    const double stay = asked->way == PLAY_AUDIT_REINFORCE_LATER ? 2 : 1;
    const double steps = asked->rounds + stay - 1.0, users = USERS / stay;
    const struct setting settings[] = {{"episodes", steps * users},
                                       {"episodes_per_update", users},
                                       {"clip_norm", 1e-6},
                                       {"learning_rate", 1e-3},
                                       {"noise_multiplier", asked->noise_multiplier},
                                       {"arithmetic", asked->exact}};
    put_settings(attack, settings, sizeof settings / sizeof settings[0]);
    attack->request.world_parameters[CANARY_EPISODE_STEPS] = 2;
    attack->request.world_parameters[CANARY_WAVE_USERS] = users;
    attack->request.world_parameters[CANARY_WAVES_APART] = attack->stay = (uint32_t)stay;
}

static const char *play_audit_problem(const struct play_audit_settings *asked)
{
    bool even =
        asked->rounds % 2 == 0 && asked->rounds >= 2 && asked->rounds <= CANARY_WORLD_ROUNDS;
    if (asked->way == PLAY_AUDIT_DQN_FIXED ? asked->rounds != 1 : !even)
        return "2 to 64 rounds, an even number, or 1 on a fixed buffer";
    if (asked->round_steps < 1 || asked->round_steps > MOST_STEPS ||
        (way_is_reinforce(asked->way) && asked->round_steps > 1))
        return "a round has 1 to 10,000 steps, or 1 of reinforce";
    return NULL;
}

static enum algorithm_status play_prepare(struct play_attack *attack, const char **message)
{
    const struct play_audit_settings *asked = &attack->settings;
    *message = play_audit_problem(asked);
    if (*message)
        return ALGORITHM_BAD_INPUT;
    attack->algorithm = attacked[asked->way];
    attack->request = (struct algorithm_request){.mechanism = MECHANISM_DPSGD,
                                                 .epsilon = 1e4,
                                                 .delta = asked->delta,
                                                 .discount = 0.9,
                                                 .state_dim = SIDE,
                                                 .action_count = SIDE,
                                                 .seed = asked->seed,
                                                 .world = &canary_world};
    env_defaults(&canary_world, attack->request.world_parameters);
    algorithm_defaults(attack->algorithm, NULL, &attack->request.parameters);
    if (way_is_reinforce(asked->way))
        set_reinforce(attack);
    else
        set_dqn(attack);
    attack->canaries = asked->rounds * DIRECTIONS / attack->stay;
    attack->request.world_parameters[CANARY_COUNT] = attack->canaries;
    return attack->algorithm->plan(&attack->request, &attack->plan, message);
}

/* ---- trainings */

/* The weights that an attacker sees: the first, and those at the end of each round. */
struct sighting {
    const struct play_attack *attack;
    size_t count;
    uint32_t rows, next; /* rows in all; rows filled so far */
    float *weights;      /* a row for each; owned */
};

static struct sighting sighting_new(const struct play_attack *attack)
{
    const struct play_audit_settings *asked = &attack->settings;
    struct sighting seen = {.attack = attack, .count = attack->plan.parameter_count, .next = 1};
    seen.rows = 1 + (uint32_t)(attack->plan.total_steps / asked->round_steps);
    seen.weights = memory_new(seen.rows * seen.count, sizeof *seen.weights);
    if (attack->start)
        memcpy(seen.weights, attack->start, seen.count * sizeof *seen.weights);
    return seen;
}

static float *sighting_row(const struct sighting *seen, uint32_t row)
{
    return seen->weights + row * seen->count;
}

static enum algorithm_pulse ask_for_weights(void *context, uint64_t steps_done)
{
    const struct sighting *seen = context;
    bool due = steps_done == (uint64_t)seen->next * seen->attack->settings.round_steps;
    return due ? PULSE_SAVE : PULSE_CONTINUE;
}

/* Reads the weights of a checkpoint of reinforce. */
static bool see_reinforce(const struct sighting *seen, float *weights, const unsigned char *bytes,
                          size_t size)
{
    uint64_t updates, optimizer_step, fingerprint;
    float *moments = memory_new(2 * seen->count, sizeof *moments);
    const struct online_memory memory = {.updates = &updates,
                                         .optimizer_step = &optimizer_step,
                                         .count = seen->count,
                                         .vector = {weights, moments, moments + seen->count}};
    memcpy(&fingerprint, bytes + FINGERPRINT_AT, sizeof fingerprint);
    bool read = online_from_bytes(&memory, fingerprint, seen->rows, bytes, size);
    free(moments);
    return read;
}

/* Reads the weights behind the buffer in a checkpoint of dqn. */
static bool see_dqn(const struct sighting *seen, float *weights, const unsigned char *bytes,
                    size_t size)
{
    const struct dqn_replay_size room = {
        .state_dim = SIDE, .action_count = SIDE, .capacity = USERS, .steps = 2};
    struct dqn_replay replay;
    const unsigned char *inner;
    size_t inner_size;
    dqn_replay_init(&replay, &room);
    bool read = dqn_replay_restore(&replay, bytes, size, &inner, &inner_size) &&
                trainer_state_weights(inner, inner_size, seen->count, weights);
    dqn_replay_clear(&replay);
    return read;
}

static bool see_weights(void *context, uint64_t steps_done, const unsigned char *bytes, size_t size)
{
    struct sighting *seen = context;
    float *row = sighting_row(seen, seen->next++);
    (void)steps_done;
    return way_is_reinforce(seen->attack->settings.way) ? see_reinforce(seen, row, bytes, size)
                                                        : see_dqn(seen, row, bytes, size);
}

/* Trains by PLAN with these COINS. SEEN has room for all rows. */
static enum algorithm_status play_train(const struct play_attack *attack,
                                        const struct algorithm_plan *plan, uint32_t coins,
                                        struct noise_source *noise, struct sighting *seen)
{
    struct algorithm_request request = attack->request;
    request.world_parameters[CANARY_COINS] = coins;
    struct algorithm_run run = {.request = &request, .plan = plan, .noise = noise};
    struct policy *policy = NULL;
    const char *message;
    run.hooks =
        (struct algorithm_hooks){.context = seen, .pulse = ask_for_weights, .save = see_weights};
    enum algorithm_status status = attack->algorithm->train(&run, &policy, &message);
    if (status != ALGORITHM_OK)
        return status;
    assert(seen->next == seen->rows - 1); /* each round ends with a pulse */
    memcpy(sighting_row(seen, seen->rows - 1), policy->parameters,
           seen->count * sizeof *seen->weights);
    policy_free(policy);
    return ALGORITHM_OK;
}

/* The first weights: what a training without canaries and almost without noise returns. */
static enum algorithm_status find_start(struct play_attack *attack)
{
    struct algorithm_plan quiet = attack->plan;
    struct sighting seen = sighting_new(attack);
    quiet.privacy.noise_multiplier = LEAST_NOISE;
    quiet.privacy.rounded_draws = 0; /* in float: the lattice has no noise so small */
    enum algorithm_status status = play_train(attack, &quiet, CANARY_NOBODY, NULL, &seen);
    attack->start = memory_new(seen.count, sizeof *attack->start);
    memcpy(attack->start, sighting_row(&seen, seen.rows - 1), seen.count * sizeof(float));
    free(seen.weights);
    return status;
}

enum algorithm_status play_attack_new(const struct play_audit_settings *settings,
                                      struct play_attack **out, const char **message)
{
    struct play_attack *attack = memory_new(1, sizeof *attack);
    attack->settings = *settings;
    enum algorithm_status status = play_prepare(attack, message);
    if (status == ALGORITHM_OK)
        status = find_start(attack);
    if (status != ALGORITHM_OK) {
        play_attack_free(attack);
        return status;
    }
    *out = attack;
    return ALGORITHM_OK;
}

void play_attack_free(struct play_attack *attack)
{
    if (!attack)
        return;
    free(attack->start);
    free(attack);
}

const struct dp_sgd_plan *play_attack_claim(const struct play_attack *attack)
{
    return &attack->plan.privacy;
}

/* ---- guesses */

/* How far a round moved the weight AT. A step of Adam is here proportional to its first moment,
 * m_t / (1 - beta^t), so the moves of two updates give what the later one added to it: m_t - beta
 * m_(t-1). */
static double round_move(const struct sighting *seen, uint32_t round, size_t at)
{
    const double beta = way_is_reinforce(seen->attack->settings.way) ? ADAM_BETA : 0.0;
    double begin = sighting_row(seen, round)[at], end = sighting_row(seen, round + 1)[at];
    double before = round > 0 ? begin - (double)sighting_row(seen, round - 1)[at] : 0.0;
    return (end - begin) * (1.0 - pow(beta, round + 1.0)) -
           before * (beta - pow(beta, round + 1.0));
}

/* How far each canary's direction moved while the canary was looked for. */
static void find_scores(const struct play_attack *attack, const struct sighting *seen,
                        double *scores)
{
    const uint32_t width = SIDE / attack->stay;
    for (uint32_t canary = 0; canary < attack->canaries; canary++) {
        const uint32_t coordinate = canary / SIDE % SIDE;
        const uint32_t wave = canary / DIRECTIONS * attack->stay + coordinate / width;
        const size_t at = (size_t)(canary % SIDE) * SIDE + coordinate;
        double sum = 0.0;
        for (uint32_t i = 0; i < attack->stay; i++)
            sum += round_move(seen, wave + i, at);
        scores[canary] = isfinite(sum) ? sum : 0.0;
    }
}

enum algorithm_status play_attack_run(const struct play_attack *attack,
                                      enum membership_sabotage sabotage, struct rng *coins,
                                      struct noise_source *noise, struct one_run_guesses *out)
{
    struct algorithm_plan plan = attack->plan;
    struct sighting seen = sighting_new(attack);
    const uint32_t tossed = rng_below(coins, CANARY_NOBODY);
    membership_sabotage_plan(sabotage, &plan.privacy);
    enum algorithm_status status = play_train(attack, &plan, tossed, noise, &seen);
    if (status == ALGORITHM_OK) {
        double *scores = memory_new(attack->canaries, sizeof *scores);
        bool *there = memory_new(attack->canaries, sizeof *there);
        find_scores(attack, &seen, scores);
        for (uint32_t i = 0; i < attack->canaries; i++)
            there[i] = canary_world_there(tossed, i);
        one_run_guess(scores, there, attack->canaries, GUESSED, out);
        free(scores);
        free(there);
    }
    free(seen.weights);
    return status;
}
