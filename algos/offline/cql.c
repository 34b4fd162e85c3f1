/* Discrete conservative Q-learning. For a transition (s, a, r, s', terminal):
 *
 *   y    = reward_scale r + discount (1 - terminal) Qbar(s', argmax_b Q(s', b))
 *   loss = alpha (logsumexp_b Q(s, b) - Q(s, a)) + huber(Q(s, a) - y)
 *   dloss/dQ(s, b) = alpha softmax(Q(s, .))_b + [b = a] (clamp(Q(s, a) - y, -h, h) - alpha)
 *
 * with Qbar the target network and h Huber's threshold (van Hasselt et al. 2016; Kumar et al. 2020;
 * the loss as d3rlpy's DiscreteCQL computes it, where h = 1). That is double DQN; with next_action
 * target the argmax is Qbar's own, as in plain DQN, and the online network is not asked at s': a
 * forward less. A trajectory cut by a step limit is not terminal: it bootstraps.
 *
 * How large alpha may be: the value of an action that experts prefer settles up to alpha above its
 * target, where the two slopes balance, and the next target is that value. A state in which one can
 * stay is so worth up to alpha / (1 - discount) for nothing, and a reward for ending an episode is
 * not seen unless reward_scale makes it larger than that. */
#include "algos/offline/cql.h"

#include <string.h>

#include "algos/offline/offline.h"

enum { P_ALPHA = OFFLINE_VALUE_COUNT, P_NEXT_ACTION, P_COUNT };

enum { NEXT_ONLINE, NEXT_TARGET };
static const char *const next_actions[] = {"online", "target", NULL};

static const struct parameter_spec specs[P_COUNT] = {
    OFFLINE_PARAMETERS, OFFLINE_VALUE_PARAMETERS,
    [P_ALPHA] = {"alpha", PARAMETER_REAL, PARAMETER_ONE(1), 0, 1000, NULL, "",
                 "Weight of the conservative term, beside scaled rewards; the larger, the closer "
                 "to the experts."},
    [P_NEXT_ACTION] = {"next_action", PARAMETER_CHOICE, PARAMETER_ONE(NEXT_ONLINE), 0, 1,
                       next_actions, "",
                       "Which network chooses the action at the next state whose value the target "
                       "network gives: the online network (double DQN), or the target network "
                       "itself (plain DQN, a quarter less work)."}};

/* Found on 300 Acrobot experts (mean return without noise -127 at 0.3 and -162 at 1, at epsilon 10
 * -104 and -127) and 300 of HIV, where cloning the mixture of experts earns next to nothing.
 * Smaller still is better without noise and lost in it. The conservative term shifts each target by
 * up to alpha, so rewards have to be larger than that: those of hiv are, scaled, up to 0.5. In
 * lunar_lander 1 made staying in the air worth 370 where the data earn 6 (-115 to -335); 0.1 earned
 * -33, 0.03 228 (48 experts, without noise).
 *
 * Scales of cartpole by coordinate: at epsilon 10 a mean return of 696 with these and of 221 with
 * 10 for all (300 experts, three runs; without noise 537 and 383). Ten times these suit 3,000
 * experts and 40,000 steps (two runs: 962, with these 649), and are worse with few. */
static const struct parameter_override overrides[] = {
    OFFLINE_OVERRIDES,
    OFFLINE_VALUE_OVERRIDES,
    {"cartpole", OFFLINE_INPUT_SCALE, {{0.25, 0.3, 6, 0.3}, 4}},
    {"acrobot", P_ALPHA, PARAMETER_ONE(0.3)},
    {"hiv", OFFLINE_REWARD_SCALE, PARAMETER_ONE(1e-8)},
    {"hiv", P_ALPHA, PARAMETER_ONE(0.1)},
    {"lunar_lander", P_ALPHA, PARAMETER_ONE(0.03)}};

static const struct offline_kind kind = {.parameters = specs,
                                         .parameter_count = P_COUNT,
                                         .outputs_per_action = 1,
                                         .learns_values = true,
                                         .asks_online_next = true,
                                         .output = POLICY_Q};

float cql_loss(const struct cql_loss *loss, const float *q, uint32_t action, float y,
               float *gradient)
{
    float difference = q[action] - y, conservative = 0.0F;
    if (loss->alpha > 0.0F)
        conservative = offline_softmax(q, loss->actions, loss->alpha, gradient) - q[action];
    else
        memset(gradient, 0, loss->actions * sizeof *gradient);
    gradient[action] += offline_huber_slope(difference, loss->huber) - loss->alpha;
    return loss->alpha * conservative + offline_huber(difference, loss->huber);
}

void cql_errors(const void *context, const struct trainer_rows *rows)
{
    const struct cql_rule *cql = context;
    const uint32_t actions = cql->loss.actions;
    const float *judge = rows->online_next ? rows->online_next : rows->target_next;
    for (uint32_t i = 0; i < rows->count; i++) {
        size_t row = (size_t)i * actions;
        uint32_t best = policy_best_action(judge + row, actions);
        float y = offline_target(rows, i, best, actions, cql->discount);
        (void)cql_loss(&cql->loss, rows->online + row, rows->actions[i], y, rows->error + row);
    }
}

static enum algorithm_status cql_plan(const struct algorithm_request *request,
                                      struct algorithm_plan *out, const char **message)
{
    return offline_plan(&kind, request, out, message);
}

static enum algorithm_status cql_train(const struct algorithm_run *run, struct policy **out_policy,
                                       const char **message)
{
    const struct algorithm_request *request = run->request;
    const struct cql_rule cql = {.loss = {.actions = request->action_count,
                                          .alpha = (float)algorithm_number(request, P_ALPHA),
                                          .huber = (float)algorithm_number(request, OFFLINE_HUBER)},
                                 .discount = (float)request->discount};
    struct offline_kind asked = kind;
    asked.asks_online_next = algorithm_number(request, P_NEXT_ACTION) == NEXT_ONLINE;
    return offline_train(&asked, run, cql_errors, &cql, out_policy, message);
}

static const struct parameter_later later[] = {OFFLINE_LATER,
                                               {P_NEXT_ACTION, PARAMETER_ONE(NEXT_ONLINE)}};

const struct algorithm cql_algorithm = {
    .name = "cql",
    .summary = "Conservative Q-learning from logged trajectories (double DQN targets).",
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
    .plan = cql_plan,
    .train = cql_train,
};
