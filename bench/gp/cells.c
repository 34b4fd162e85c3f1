/* The table of cells, and the service's algorithm run on two worlds. */
#include "bench/gp/cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/release/gp_q_learning.h"
#include "algos/release/q_play.h"

#define AUDIT_RUNS 1000
#define PLAYED     40

/* clang-format off */
#define BASELINE_CELL(prefix, suffix, epsilon, which, scale)                                                            \
    {.name = prefix suffix, .kind = CELL_BASELINE, .seeds = 10, .claimed = (epsilon), .world = "line", .baseline = (which), \
     .reward_scale = (scale)}

/* All methods at one true epsilon (of LSW_PUBLISHED: a claimed one), for neighbours' rewards that far apart. */
#define AT_REWARD(distance, epsilon)                                                                                     \
    {.name = "reward-" #distance "-eps" #epsilon, .kind = CELL_RELEASE, .seeds = 10, .claimed = (epsilon), .world = "line", \
     .rewards = true, .reward_scale = 1 / (distance)},                                                                    \
    BASELINE_CELL("lsw-", "reward-" #distance "-eps" #epsilon, epsilon, BASELINE_REWARD_LSW, 1 / (distance)),             \
    BASELINE_CELL("input-lsw-", "reward-" #distance "-eps" #epsilon, epsilon, BASELINE_INPUT_LSW, 1 / (distance)),        \
    BASELINE_CELL("input-network-", "reward-" #distance "-eps" #epsilon, epsilon, BASELINE_INPUT_NETWORK, 1 / (distance)), \
    BASELINE_CELL("dpsgd-", "reward-" #distance "-eps" #epsilon, epsilon, BASELINE_DPSGD, 1 / (distance))

/* The same for one of 3000 experts. */
#define AT_EXPERT(epsilon)                                                                                               \
    {.name = "expert-eps" #epsilon, .kind = CELL_RELEASE, .seeds = 10, .claimed = (epsilon), .world = "line"},             \
    BASELINE_CELL("lsw-", "expert-eps" #epsilon, epsilon, BASELINE_LSW, 1),                                               \
    BASELINE_CELL("published-", "expert-eps" #epsilon, epsilon, BASELINE_LSW_PUBLISHED, 1),                               \
    BASELINE_CELL("lsl-", "expert-eps" #epsilon, epsilon, BASELINE_LSL, 1),                                               \
    BASELINE_CELL("local-", "expert-eps" #epsilon, epsilon, BASELINE_LOCAL, 1)

static const struct cell cells[] = {
    {.name = "plain", .says = "no noise", .method = METHOD_PLAIN, .seeds = 10, .per_path = 1},
    {.name = "printed-0.2-fresh", .says = "Algorithm 1, sigma 0.2, a path an update", .method = METHOD_PRINTED, .seeds = 10, .sigma = 0.2, .per_path = 1},
    {.name = "printed-0.5-fresh", .says = "Algorithm 1, sigma 0.5, a path an update", .method = METHOD_PRINTED, .seeds = 10, .sigma = 0.5, .per_path = 1},
    {.name = "printed-1-fresh", .says = "Algorithm 1, sigma 1, a path an update", .method = METHOD_PRINTED, .seeds = 10, .sigma = 1, .per_path = 1},
    {.name = "printed-0.2-reused", .says = "Algorithm 1, sigma 0.2, a path for 50 updates", .method = METHOD_PRINTED, .seeds = 10, .sigma = 0.2, .per_path = 50},
    {.name = "printed-0.5-reused", .says = "Algorithm 1, sigma 0.5, a path for 50 updates", .method = METHOD_PRINTED, .seeds = 10, .sigma = 0.5, .per_path = 50},
    {.name = "printed-1-reused", .says = "Algorithm 1, sigma 1, a path for 50 updates", .method = METHOD_PRINTED, .seeds = 10, .sigma = 1, .per_path = 50},
    {.name = "printed-0.2-once", .says = "Algorithm 1, sigma 0.2, one path for all updates", .method = METHOD_PRINTED, .seeds = 10, .sigma = 0.2, .per_path = 500},
    {.name = "printed-0.5-once", .says = "Algorithm 1, sigma 0.5, one path for all updates", .method = METHOD_PRINTED, .seeds = 10, .sigma = 0.5, .per_path = 500},
    {.name = "printed-1-once", .says = "Algorithm 1, sigma 1, one path for all updates", .method = METHOD_PRINTED, .seeds = 10, .sigma = 1, .per_path = 500},
    {.name = "printed-eps0.9", .says = "Algorithm 1 at Theorem 5's sigma", .method = METHOD_PRINTED, .seeds = 10, .per_path = 1, .claimed = 0.9},
    {.name = "printed-eps0.45", .says = "Algorithm 1 at Theorem 5's sigma", .method = METHOD_PRINTED, .seeds = 10, .per_path = 1, .claimed = 0.45},
    {.name = "input-eps0.9", .says = "input perturbation, priced per reward", .method = METHOD_INPUT, .seeds = 10, .claimed = 0.9},
    {.name = "input-eps0.45", .says = "input perturbation, priced per reward", .method = METHOD_INPUT, .seeds = 10, .claimed = 0.45},
    {.name = "dpsgd-eps0.9", .says = "DP-SGD, priced per transition", .method = METHOD_DPSGD, .seeds = 10, .claimed = 0.9},
    {.name = "dpsgd-eps0.45", .says = "DP-SGD, priced per transition", .method = METHOD_DPSGD, .seeds = 10, .claimed = 0.45},
    AT_REWARD(1, 0.9),
    AT_REWARD(0.1, 0.9),
    AT_REWARD(0.01, 0.9),
    AT_REWARD(0.001, 0.9),
    AT_REWARD(1, 0.45),
    AT_REWARD(0.1, 0.45),
    AT_REWARD(0.01, 0.45),
    AT_REWARD(0.001, 0.45),
    AT_EXPERT(0.1),
    AT_EXPERT(0.45),
    AT_EXPERT(0.9),
    AT_EXPERT(3),
    BASELINE_CELL("", "lsw-expert-plain", INFINITY, BASELINE_LSW, 1),
    BASELINE_CELL("", "lsl-expert-plain", INFINITY, BASELINE_LSL, 1),
    BASELINE_CELL("", "local-expert-plain", INFINITY, BASELINE_LOCAL, 1),
    BASELINE_CELL("", "lsw-reward-plain", INFINITY, BASELINE_REWARD_LSW, 1),
    {.name = "pole-expert-eps100", .says = "our unit expert, 3000 experts, defaults", .kind = CELL_RELEASE, .seeds = 10, .claimed = 100, .world = "cartpole"},
    {.name = "pole-expert-eps10", .says = "our unit expert, 3000 experts, defaults", .kind = CELL_RELEASE, .seeds = 10, .claimed = 10, .world = "cartpole"},
    {.name = "pole-expert-eps3", .says = "our unit expert, 3000 experts, defaults", .kind = CELL_RELEASE, .seeds = 10, .claimed = 3, .world = "cartpole"},
    {.name = "pole-expert-eps0.9", .says = "our unit expert, 3000 experts, defaults", .kind = CELL_RELEASE, .seeds = 10, .claimed = 0.9, .world = "cartpole"},
    {.name = "pole-expert-eps0.45", .says = "our unit expert, 3000 experts, defaults", .kind = CELL_RELEASE, .seeds = 10, .claimed = 0.45, .world = "cartpole"},
    {.name = "pole-reward-1-eps0.9", .says = "our unit reward, neighbours within 1", .kind = CELL_RELEASE, .seeds = 10, .claimed = 0.9, .world = "cartpole", .rewards = true, .reward_scale = 1},
    {.name = "pole-reward-0.001-eps0.9", .says = "our unit reward, neighbours within 0.001", .kind = CELL_RELEASE, .seeds = 10, .claimed = 0.9, .world = "cartpole", .rewards = true, .reward_scale = 1000},
    {.name = "audit-printed-0.2-fresh", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .sigma = 0.2, .per_path = 1},
    {.name = "audit-printed-0.2-reused", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .sigma = 0.2, .per_path = 50},
    {.name = "audit-printed-0.2-once", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .sigma = 0.2, .per_path = 500},
    {.name = "audit-printed-0.5-fresh", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .sigma = 0.5, .per_path = 1},
    {.name = "audit-printed-0.5-reused", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .sigma = 0.5, .per_path = 50},
    {.name = "audit-printed-0.5-once", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .sigma = 0.5, .per_path = 500},
    {.name = "audit-printed-1-fresh", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .sigma = 1, .per_path = 1},
    {.name = "audit-printed-1-reused", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .sigma = 1, .per_path = 50},
    {.name = "audit-printed-1-once", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .sigma = 1, .per_path = 500},
    {.name = "audit-printed-eps0.9", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .per_path = 1, .claimed = 0.9},
    {.name = "audit-input-eps0.9", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_INPUT, .seeds = 1, .per_path = 1, .claimed = 0.9},
    {.name = "audit-dpsgd-eps0.9", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_DPSGD, .seeds = 1, .per_path = 1, .claimed = 0.9},
    {.name = "audit-printed-eps0.45", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_PRINTED, .seeds = 1, .per_path = 1, .claimed = 0.45},
    {.name = "audit-input-eps0.45", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_INPUT, .seeds = 1, .per_path = 1, .claimed = 0.45},
    {.name = "audit-dpsgd-eps0.45", .says = "audit", .kind = CELL_AUDIT, .method = METHOD_DPSGD, .seeds = 1, .per_path = 1, .claimed = 0.45},
};
/* clang-format on */

const struct cell *cells_all(size_t *count)
{
    *count = sizeof cells / sizeof cells[0];
    return cells;
}

double cell_sigma(const struct cell *cell)
{
    return cell->sigma > 0.0 || cell->method == METHOD_PLAIN
               ? cell->sigma
               : method_claimed_sigma(cell->method, cell->claimed);
}

static bool run_method(const struct cell *cell, unsigned seed, struct cell_result *out)
{
    struct method_result result;
    const struct method_run run = {.method = cell->method,
                                   .sigma = cell_sigma(cell),
                                   .per_path = cell->per_path,
                                   .seed = 1000 + seed};
    if (!method_run_one(&run, &result))
        return false;
    out->final = result.final;
    out->true_low = out->true_high = method_true_epsilon(cell->method, run.sigma);
    if (cell->method == METHOD_PLAIN)
        out->true_low = out->true_high = INFINITY;
    out->has_curve = true;
    memcpy(out->curve, result.curve, sizeof out->curve);
    return true;
}

/* ---- the service's algorithm */

static void set(struct algorithm_request *request, enum gp_q_parameter which, double value)
{
    request->parameters.value[which].number[0] = value;
}

static void settings_of(const struct cell *cell, const struct env *env,
                        struct algorithm_request *request)
{
    bool line = env == &line_world;
    algorithm_defaults(&gp_q_learning_algorithm, env->name, &request->parameters);
    if (line) { /* no default knows what advantages there are */
        set(request, GP_Q_HIDDEN, 16);
        set(request, GP_Q_KNOT_BITS, 6);
        set(request, GP_Q_REWARD_SCALE, 1);
        set(request, GP_Q_VALUE_LIMIT, 0.2);
        set(request, GP_Q_LIPSCHITZ, 0.6);
    }
    if (!cell->rewards)
        return;
    set(request, GP_Q_FEATURES, 64);
    request->protects_rewards = true;
    set(request, GP_Q_REWARD_SCALE, cell->reward_scale);
    set(request, GP_Q_BATCH_SIZE, 128);
    set(request, GP_Q_UPDATES, line ? 40 : 1000);
    set(request, GP_Q_RATE, line ? 3 : 8);
    set(request, GP_Q_ERROR_LIMIT, 1e5);
    set(request, GP_Q_DISCOUNT, line ? 0.5 : 0.95);
    set(request, GP_Q_VALUE_LIMIT, 2 * cell->reward_scale);
    set(request, GP_Q_RADIUS, 1e3 * cell->reward_scale);
    set(request, GP_Q_EXPLORATION, 0.3);
    request->force = true;
    request->world = env;
    env_defaults(env, request->world_parameters);
}

static void give(void *context, struct q_release *release, bool injected)
{
    struct q_release **out = context;
    (void)injected;
    *out = release;
}

static struct q_release *release_of(const struct algorithm_request *request,
                                    const struct dataset *data)
{
    struct algorithm_plan plan;
    const char *message = "";
    struct policy *policy = NULL;
    struct q_release *release = NULL;
    enum algorithm_status status = gp_q_learning_algorithm.plan(request, &plan, &message);
    const struct algorithm_run run = {.request = request,
                                      .plan = &plan,
                                      .data = data,
                                      .hooks = {.context = &release, .give_release = give}};
    if (status == ALGORITHM_OK)
        status = gp_q_learning_algorithm.train(&run, &policy, &message);
    if (status != ALGORITHM_OK)
        fprintf(stderr, "gp_q_learning: %s\n", message);
    return release;
}

static bool run_release(const struct cell *cell, unsigned seed, struct cell_result *out)
{
    const struct env *env = strcmp(cell->world, "line") == 0 ? &line_world : env_find(cell->world);
    double physics[ENV_MAX_PARAMETERS];
    struct policy_evaluation played;
    struct dataset *data = NULL;
    struct algorithm_request request = {.mechanism = MECHANISM_GAUSSIAN_PROCESS,
                                        .epsilon = cell->claimed,
                                        .delta = METHODS_DELTA,
                                        .discount = env == &line_world ? 0.5 : 0.99,
                                        .state_dim = env->state_dim,
                                        .action_count = env->action_count,
                                        .nominal_experts = 3000,
                                        .seed = 77 + seed};
    settings_of(cell, env, &request);
    if (!cell->rewards) /* 0.3: between what good and random policies get, so that values lie about
                           0 */
        data = env == &line_world ? line_experts(3000, 0.3, seed) : pole_experts(3000, seed);
    struct q_release *release = data || cell->rewards ? release_of(&request, data) : NULL;
    env_defaults(env, physics);
    bool good = release && q_release_evaluate(release, env, physics, PLAYED,
                                              env == &line_world ? LINE_STEPS : 200, seed, &played);
    out->final = good ? played.mean_return : NAN;
    out->true_low = out->true_high = cell->claimed;
    q_release_free(release);
    dataset_free(data);
    return good;
}

static bool run_baseline(const struct cell *cell, unsigned seed, struct cell_result *out)
{
    struct baseline_result result;
    const struct baseline_run run = {.baseline = cell->baseline,
                                     .epsilon = cell->claimed,
                                     .distance = 1.0 / cell->reward_scale,
                                     .seed = seed};
    bool good = baseline_run_one(&run, &result);
    out->final = result.final;
    out->true_high = result.epsilon;
    return good;
}

bool cell_run(const struct cell *cell, unsigned seed, struct cell_result *out)
{
    *out = (struct cell_result){.final = NAN, .true_low = NAN, .true_high = NAN};
    if (cell->kind == CELL_METHOD)
        return run_method(cell, seed, out);
    if (cell->kind == CELL_RELEASE)
        return run_release(cell, seed, out);
    if (cell->kind == CELL_BASELINE)
        return run_baseline(cell, seed, out);
    const struct method_run of = {.method = cell->method,
                                  .sigma = cell_sigma(cell),
                                  .per_path = cell->per_path,
                                  .seed = 50000};
    out->true_low = method_audit(&of, AUDIT_RUNS);
    return !isnan(out->true_low);
}
