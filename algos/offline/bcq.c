/* Discrete batch-constrained Q-learning with double-DQN targets ("Benchmarking batch deep
 * reinforcement learning algorithms", Fujimoto et al. 2019). One network with two heads gives
 * action values Q(s, .) and logits i(s, .) of what the experts do, G = softmax(i). For a transition
 * (s, a, r, s', terminal):
 *
 *   allowed(s') = {b : G(b|s') > threshold max G(.|s')}
 *   y    = reward_scale r + discount (1 - terminal) Qbar(s', argmax over allowed(s') of Q(s', .))
 *   loss = huber(Q(s, a) - y) + log sum_b exp i(s, b) - i(s, a) + logit_penalty mean_b i(s, b)^2
 *   dloss/dQ(s, b) = [b = a] clamp(Q(s, a) - y, -h, h)
 *   dloss/di(s, b) = softmax(i(s, .))_b - [b = a] + 2 logit_penalty i(s, b) / |A|
 *
 * DESIGN. The authors' program has two networks; d3rlpy shares the hidden layers, and so does this:
 * noise grows with the number of weights. Either way one example moves both heads, so one clip
 * covers both. The released policy is this network and the threshold (POLICY_BCQ): the best value
 * among the allowed actions is played. A trajectory cut by a step limit bootstraps. */
#include "algos/offline/bcq.h"

#include "algos/offline/offline.h"

enum { P_THRESHOLD = OFFLINE_VALUE_COUNT, P_LOGIT_PENALTY, P_COUNT };

static const struct parameter_spec specs[P_COUNT] = {
    OFFLINE_PARAMETERS, OFFLINE_VALUE_PARAMETERS,
    [P_THRESHOLD] = {"threshold", PARAMETER_REAL, PARAMETER_ONE(0.3), 0, 0.999, NULL, "",
                     "An action is allowed only if it is more than this many times as likely as "
                     "the likeliest action. The larger, the closer to the experts."},
    [P_LOGIT_PENALTY] = {"logit_penalty", PARAMETER_REAL, PARAMETER_ONE(0.01), 0, 100, NULL, "",
                         "Weight of the mean squared logit in the loss."}};

/* In hiv most experts do at first what leads nowhere: what the others do is a tenth as likely. And
 * nothing here holds values down: each copy of the target adds what the largest of several
 * uncertain values is too large by, which outgrows the discount; 20 copies reach far enough (300
 * experts).
 *
 * In lunar_lander values must move the layers that the two heads share: at a reward_scale of 0.05
 * the logits' slopes do, and what is learned of values is too coarse to choose by (mean return
 * without noise -117 to -524). And more actions must be allowed: what experts of every skill do
 * most often crashes (-238 to -305 where that alone is played). 48 experts: 182.
 *
 * Scales of cartpole by coordinate: at epsilon 10 a mean return of 507 with these and of 268 with
 * 10 for all (300 experts, three runs; without noise 512 and 672). */
static const struct parameter_override overrides[] = {
    OFFLINE_OVERRIDES,
    OFFLINE_VALUE_OVERRIDES,
    {"cartpole", OFFLINE_INPUT_SCALE, {{2.5, 3, 60, 3}, 4}},
    {"hiv", OFFLINE_REWARD_SCALE, PARAMETER_ONE(1e-7)},
    {"hiv", OFFLINE_TARGET_INTERVAL, PARAMETER_ONE(500)},
    {"hiv", P_THRESHOLD, PARAMETER_ONE(0.1)},
    {"lunar_lander", OFFLINE_REWARD_SCALE, PARAMETER_ONE(0.2)},
    {"lunar_lander", OFFLINE_HUBER, PARAMETER_ONE(20)},
    {"lunar_lander", P_THRESHOLD, PARAMETER_ONE(0.15)}};

static const struct offline_kind kind = {.parameters = specs,
                                         .parameter_count = P_COUNT,
                                         .outputs_per_action = 2,
                                         .learns_values = true,
                                         .asks_online_next = true,
                                         .output = POLICY_BCQ};

float bcq_loss(const struct bcq_loss *loss, const float *outputs, uint32_t action, float y,
               float *gradient)
{
    const uint32_t actions = loss->actions;
    const float *logits = outputs + actions;
    float *slopes = gradient + actions;
    float difference = outputs[action] - y, squares = 0.0F;
    for (uint32_t b = 0; b < actions; b++)
        gradient[b] = 0.0F;
    gradient[action] = offline_huber_slope(difference, loss->huber);
    float log_sum = offline_softmax(logits, actions, 1.0F, slopes);
    slopes[action] -= 1.0F;
    float share = loss->logit_penalty / (float)actions;
    for (uint32_t b = 0; b < actions; b++) {
        slopes[b] += 2.0F * share * logits[b];
        squares += logits[b] * logits[b];
    }
    return offline_huber(difference, loss->huber) + log_sum - logits[action] + share * squares;
}

struct bcq {
    struct bcq_loss loss;
    float discount, threshold;
};

static void bcq_errors(const void *context, const struct trainer_rows *rows)
{
    const struct bcq *bcq = context;
    const uint32_t actions = bcq->loss.actions;
    for (uint32_t i = 0; i < rows->count; i++) {
        size_t row = 2 * (size_t)i * actions;
        const float *next = rows->online_next + row;
        uint32_t best = policy_best_allowed(next, next + actions, actions, bcq->threshold);
        float y = offline_target(rows, i, best, actions, bcq->discount);
        (void)bcq_loss(&bcq->loss, rows->online + row, rows->actions[i], y, rows->error + row);
    }
}

static enum algorithm_status bcq_plan(const struct algorithm_request *request,
                                      struct algorithm_plan *out, const char **message)
{
    return offline_plan(&kind, request, out, message);
}

static enum algorithm_status bcq_train(const struct algorithm_run *run, struct policy **out_policy,
                                       const char **message)
{
    const struct algorithm_request *request = run->request;
    const struct bcq bcq = {
        .loss = {.actions = request->action_count,
                 .huber = (float)algorithm_number(request, OFFLINE_HUBER),
                 .logit_penalty = (float)algorithm_number(request, P_LOGIT_PENALTY)},
        .discount = (float)request->discount,
        .threshold = (float)algorithm_number(request, P_THRESHOLD)};
    struct offline_kind asked = kind;
    asked.threshold = bcq.threshold;
    return offline_train(&asked, run, bcq_errors, &bcq, out_policy, message);
}

static const struct parameter_later later[] = {OFFLINE_LATER};

const struct algorithm bcq_algorithm = {
    .name = "bcq",
    .summary = "Batch-constrained Q-learning from logged trajectories: the best value among the "
               "actions that the experts are likely to take.",
    .mechanisms = OFFLINE_MECHANISMS,
    .kind = ALGORITHM_LEARNS_FROM_DATA,
    .target = TARGET_VALUES,
    .privacy_unit = "expert",
    .parameters = specs,
    .parameter_count = P_COUNT,
    .overrides = overrides,
    .override_count = sizeof overrides / sizeof overrides[0],
    .later = later,
    .later_count = sizeof later / sizeof later[0],
    .plan = bcq_plan,
    .train = bcq_train,
};
