/* The attack on the trainer, and what its scores prove. */
#include "algos/offline/membership_audit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "algos/nn/optimizer.h"
#include "algos/privacy/math/special.h"
#include "memory/memory.h"

enum { DIM = 2, ACTIONS = 2, CANARY = 0, CANDIDATES = 4 };

struct membership_attack {
    const struct algorithm *algorithm;
    struct algorithm_request request;
    struct algorithm_plan plan;
    struct dataset *data[2]; /* [with the canary] */
    size_t weights;
    double *start; /* where the policy ends without canary and noise; owned, as is ALONG */
    double *along; /* from there to where the canary moves it */
};

/* ---- the worlds */

/* CANDIDATE: -1 without a canary, else which of CANDIDATES it is: on one side of zero or the other,
 * with one action or the other. */
static struct dataset *make_world(uint32_t experts, int candidate)
{
    const float side = candidate & 1 ? -1.0F : 1.0F, reward = 1e6F;
    const float states[2 * DIM] = {side * 100.0F, side * -70.0F, 0.0F, 0.0F};
    const uint16_t action = (uint16_t)((candidate & 2) != 0);
    const struct trajectory trajectory = {.expert = CANARY,
                                          .length = 1,
                                          .terminated = true,
                                          .states = states,
                                          .actions = &action,
                                          .rewards = &reward};
    struct dataset_builder *builder = dataset_builder_new(DIM, ACTIONS, experts);
    if (candidate >= 0)
        (void)dataset_builder_add(builder, &trajectory);
    return memory_must(dataset_builder_finish(builder));
}

/* Plain gradient descent in small steps from a small network, and the last weights: what the noise
 * hides is not smoothed away, and nothing but the canary's clipped gradient speaks. */
static void set_parameters(struct membership_attack *attack,
                           const struct membership_settings *settings)
{
    const struct {
        const char *name;
        double value;
    } values[] = {{"hidden", 4},
                  {"learning_rate", 1e-3},
                  {"final_rate_fraction", 1},
                  {"optimizer", OPTIMIZER_SGD},
                  {"momentum", 0},
                  {"batch_size", 1},
                  {"clip_norm", 0.25},
                  {"steps", settings->steps},
                  {"noise_multiplier", settings->noise_multiplier},
                  {"average_decay", 0},
                  {"full_weight_transitions", 1},
                  {"input_scale", 1},
                  {"arithmetic", settings->in_float ? 0 : 1}};
    const struct algorithm *algorithm = attack->algorithm;
    algorithm_defaults(algorithm, NULL, &attack->request.parameters);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        int index =
            parameters_index(algorithm->parameters, algorithm->parameter_count, values[i].name);
        if (index >= 0)
            attack->request.parameters.value[index] =
                (struct parameter_value){.number = {values[i].value}, .count = 1};
    }
}

static enum algorithm_status attack_train(const struct membership_attack *attack,
                                          const struct algorithm_plan *plan, bool with,
                                          struct noise_source *noise, struct policy **out,
                                          const char **message)
{
    const struct algorithm_run run = {
        .request = &attack->request, .plan = plan, .data = attack->data[with], .noise = noise};
    return attack->algorithm->train(&run, out, message);
}

/* A run in which every expert joins every step, almost without noise; the clip norm is CLIP times
 * the plan's. */
static enum algorithm_status train_quietly(const struct membership_attack *attack, bool with,
                                           double clip, double *weights, const char **message)
{
    struct algorithm_plan quiet = attack->plan;
    struct policy *policy = NULL;
    quiet.privacy.noise_multiplier = 1e-9 / clip;
    quiet.privacy.clip_norm *= clip;
    quiet.privacy.sampling_rate = 1.0;
    quiet.privacy.rounded_draws = 0; /* in float: the lattice has no noise so small */
    enum algorithm_status status = attack_train(attack, &quiet, with, NULL, &policy, message);
    if (status != ALGORITHM_OK)
        return status;
    for (size_t i = 0; i < attack->weights; i++)
        weights[i] = (double)policy->parameters[i];
    policy_free(policy);
    return ALGORITHM_OK;
}

/* Uses this canary from here on, and computes its direction ALONG. *MOVE is how far it moves the
 * policy at CLIP. */
static enum algorithm_status put_canary(struct membership_attack *attack, int candidate,
                                        double clip, double *move, const char **message)
{
    dataset_free(attack->data[true]);
    attack->data[true] = make_world(attack->request.nominal_experts, candidate);
    enum algorithm_status status = train_quietly(attack, true, clip, attack->along, message);
    if (status != ALGORITHM_OK)
        return status;
    double square = 0.0;
    for (size_t i = 0; i < attack->weights; i++) {
        attack->along[i] -= attack->start[i];
        square += attack->along[i] * attack->along[i];
    }
    *move = isfinite(square) ? sqrt(square) : 0.0;
    return ALGORITHM_OK;
}

/* Which canary is absurd depends on the first weights, which the attacker knows: one whose action
 * the network is sure of already has no gradient at all. The one that moves it most without a clip.
 */
static enum algorithm_status attack_aim(struct membership_attack *attack, const char **message)
{
    double move = 0.0, most = 0.0;
    int best = 0;
    enum algorithm_status status = train_quietly(attack, false, 1.0, attack->start, message);
    for (int c = 0; c < CANDIDATES && status == ALGORITHM_OK; c++) {
        status = put_canary(attack, c, 1e6, &move, message);
        best = move > most ? c : best;
        most = fmax(most, move);
    }
    if (status == ALGORITHM_OK)
        status = put_canary(attack, best, 1.0, &move, message);
    if (status == ALGORITHM_OK && !(move > 0.0)) {
        *message = "the canary does not move this algorithm";
        return ALGORITHM_BAD_INPUT;
    }
    return status;
}

static bool in_range(const struct membership_settings *settings)
{
    return settings->experts >= 1 && settings->experts <= 1000 && settings->steps >= 1 &&
           settings->steps <= 1000 && settings->algorithm->kind == ALGORITHM_LEARNS_FROM_DATA &&
           settings->algorithm->mechanisms[MECHANISM_DPSGD];
}

/* The plan is the accountant's own: noise and steps are given, and an epsilon that both fit. */
static enum algorithm_status attack_prepare(struct membership_attack *attack,
                                            const struct membership_settings *settings,
                                            const char **message)
{
    attack->algorithm = settings->algorithm;
    attack->request = (struct algorithm_request){.mechanism = MECHANISM_DPSGD,
                                                 .epsilon = 1e4,
                                                 .delta = settings->delta,
                                                 .discount = 0.9,
                                                 .state_dim = DIM,
                                                 .action_count = ACTIONS,
                                                 .nominal_experts = settings->experts,
                                                 .seed = settings->seed,
                                                 .work = settings->work};
    set_parameters(attack, settings);
    enum algorithm_status status =
        attack->algorithm->plan(&attack->request, &attack->plan, message);
    if (status != ALGORITHM_OK)
        return status;
    attack->weights = attack->plan.parameter_count;
    attack->data[false] = make_world(settings->experts, -1);
    attack->start = memory_new(attack->weights, sizeof *attack->start);
    attack->along = memory_new(attack->weights, sizeof *attack->along);
    return attack_aim(attack, message);
}

enum algorithm_status membership_attack_new(const struct membership_settings *settings,
                                            struct membership_attack **out, const char **message)
{
    if (!in_range(settings)) {
        *message = "an offline algorithm with DP-SGD, 1 to 1000 experts and 1 to 1000 steps";
        return ALGORITHM_BAD_INPUT;
    }
    struct membership_attack *attack = memory_new(1, sizeof *attack);
    enum algorithm_status status = attack_prepare(attack, settings, message);
    if (status != ALGORITHM_OK) {
        membership_attack_free(attack);
        return status;
    }
    *out = attack;
    return ALGORITHM_OK;
}

void membership_attack_free(struct membership_attack *attack)
{
    if (!attack)
        return;
    dataset_free(attack->data[false]);
    dataset_free(attack->data[true]);
    free(attack->start);
    free(attack->along);
    free(attack);
}

const struct dp_sgd_plan *membership_attack_claim(const struct membership_attack *attack)
{
    return &attack->plan.privacy;
}

const struct mlp_shape *membership_attack_shape(const struct membership_attack *attack)
{
    return &attack->plan.shape;
}

const char *const membership_sabotages[] = {[MEMBERSHIP_SOUND] = "nothing",
                                            [MEMBERSHIP_HALF_NOISE] = "noise",
                                            [MEMBERSHIP_NO_CLIP] = "clip",
                                            [MEMBERSHIP_DOUBLE_CLIP] = "wide_clip",
                                            [MEMBERSHIP_SABOTAGES] = NULL};

void membership_sabotage_plan(enum membership_sabotage sabotage, struct dp_sgd_plan *plan)
{
    const double wide = sabotage == MEMBERSHIP_NO_CLIP ? 1000.0 : 2.0;
    if (sabotage == MEMBERSHIP_HALF_NOISE)
        plan->noise_multiplier *= 0.5;
    if (sabotage == MEMBERSHIP_NO_CLIP || sabotage == MEMBERSHIP_DOUBLE_CLIP) {
        plan->clip_norm *= wide;
        plan->noise_multiplier /= wide;
    }
}

enum algorithm_status membership_attack_run(const struct membership_attack *attack,
                                            enum membership_sabotage sabotage, bool with,
                                            struct noise_source *noise, double *score)
{
    struct algorithm_plan plan = attack->plan;
    struct policy *policy = NULL;
    const char *message = NULL;
    membership_sabotage_plan(sabotage, &plan.privacy);
    enum algorithm_status status = attack_train(attack, &plan, with, noise, &policy, &message);
    if (status != ALGORITHM_OK)
        return status;
    double sum = 0.0;
    for (size_t i = 0; i < attack->weights; i++)
        sum += ((double)policy->parameters[i] - attack->start[i]) * attack->along[i];
    policy_free(policy);
    *score = isnan(sum) ? INFINITY : sum; /* weights that are not finite are a score too */
    return ALGORITHM_OK;
}

/* ---- what scores prove */

/* A lower bound of the probability of an event seen HITS times in TRIALS, wrong with probability at
 * most TAIL (Clopper and Pearson). */
static double rate_lower_bound(uint32_t hits, uint32_t trials, double tail)
{
    double low = 0.0, high = 1.0;
    if (hits == 0)
        return 0.0;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (incomplete_beta(hits, trials - hits + 1.0, middle) < tail)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int compare_scores(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint32_t scores_below(const double *sorted, uint32_t count, double threshold)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sorted[middle] < threshold)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct event {
    double threshold;
    bool below;  /* {score < threshold}, else {score >= threshold} */
    bool likely; /* with the canary */
};

/* Counts in sorted SCORES[world] how often EVENT happens in the world where it is to be likely, and
 * in the other. */
static void count_event(double *const scores[2], uint32_t count, const struct event *event,
                        uint32_t hits[2])
{
    for (int other = 0; other < 2; other++) {
        const double *of = scores[other ? !event->likely : event->likely];
        uint32_t below = scores_below(of, count, event->threshold);
        hits[other] = event->below ? below : count - below;
    }
}

/* An estimate of epsilon from the counts, some deviations to the safe side. A choice needs no
 * proof. */
static double event_merit(const uint32_t hits[2], uint32_t count, double delta)
{
    double n = count, p = hits[0] / n, q = hits[1] / n;
    p -= 4.0 * sqrt(p * (1.0 - p) / n);
    q += 4.0 * sqrt(q * (1.0 - q) / n) + 12.0 / n;
    return p > delta ? log((p - delta) / q) : -INFINITY;
}

static struct event choose_event(double *const scores[2], uint32_t count, double delta)
{
    struct event best = {0};
    double most = -INFINITY;
    for (uint32_t i = 0; i < 2 * count; i++) {
        for (int kind = 0; kind < 4; kind++) {
            const struct event event = {.threshold = scores[i % 2][i / 2],
                                        .below = (kind & 1) != 0,
                                        .likely = (kind & 2) != 0};
            uint32_t hits[2];
            count_event(scores, count, &event, hits);
            double value = event_merit(hits, count, delta);
            if (value > most) {
                most = value;
                best = event;
            }
        }
    }
    return best;
}

struct membership_finding membership_lower_bound(double *with, double *without, uint32_t count,
                                                 double delta, double false_alarm)
{
    const uint32_t half = count / 2;
    struct membership_finding finding = {.counted = half};
    if (half == 0)
        return finding;
    double *first[2] = {without, with}, *second[2] = {without + half, with + half};
    for (int world = 0; world < 2; world++) {
        qsort(first[world], half, sizeof(double), compare_scores);
        qsort(second[world], half, sizeof(double), compare_scores);
    }
    const struct event event = choose_event(first, half, delta);
    uint32_t hits[2];
    count_event(second, half, &event, hits);
    finding.p = hits[0];
    finding.q = hits[1];
    double p = rate_lower_bound(hits[0], half, false_alarm / 2.0);
    double q = 1.0 - rate_lower_bound(half - hits[1], half, false_alarm / 2.0);
    if (p > delta)
        finding.epsilon = fmax(0.0, log((p - delta) / q));
    return finding;
}
