/* Audits of functions under Gaussian-process noise. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/functions/gaussian_process_features.h"
#include "algos/privacy/functions/gaussian_process_plan.h"
#include "algos/privacy/functions/gaussian_tree.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "tests/statistical/audit.h"

enum { ACTIONS = 2, BITS = 6, POINTS = 3 };

/* With the expert its shard says V everywhere, without it -V; the other shards say V. Asked at both
 * ends and in the middle. The statistic is the log-likelihood ratio but for a factor: of this
 * kernel the process is Markov, so its innovations are independent. */
static void constant(const void *context, uint32_t index, double *values)
{
    (void)index;
    for (int a = 0; a < ACTIONS; a++)
        values[a] = *(const double *)context;
}

static double path_answers(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct gaussian_process_plan *plan = mechanism;
    const struct gaussian_path_law law = {
        .beta = plan->beta, .sigma = plan->sigma, .bits = BITS, .dimensions = 1};
    double limit = plan->value_limit, mean = with ? limit : limit - 2.0 * limit / plan->shards;
    double keep = exp(-plan->beta / (POINTS - 1)), sum = 0.0;
    uint8_t key[GAUSSIAN_PATH_KEY_BYTES];
    noise_bytes(noise, key, sizeof key);
    const struct gaussian_lattice lattice =
        gaussian_tree_lattice(&law, ACTIONS, plan->sensitivity, limit);
    struct gaussian_tree *tree = gaussian_tree_new(&law, &lattice, key);
    cr_assert_not_null(tree);
    double before[ACTIONS] = {0};
    for (uint32_t i = 0; i < POINTS; i++) {
        double value[ACTIONS];
        gaussian_tree_release(tree, ACTIONS, i << (BITS - 1), constant, &mean, limit, value);
        for (uint32_t a = 0; a < ACTIONS; a++) {
            sum += i ? (value[a] - keep * before[a]) / (1.0 + keep) : value[a];
            before[a] = value[a];
        }
    }
    gaussian_tree_free(tree);
    return sum;
}

Test(audit, gaussian_path)
{
    struct gaussian_process_plan claimed = {.value_limit = 1.0,
                                            .lipschitz = 0.5,
                                            .shards = 4,
                                            .actions = ACTIONS,
                                            .bits = BITS,
                                            .epsilon = 2.0,
                                            .delta = 1e-5};
    cr_assert_null(gaussian_process_plan_complete(&claimed));
    struct gaussian_process_plan halved = claimed;
    const struct audit audit = {.name = AUDIT_GAUSSIAN_PATH,
                                .title = "gaussian path",
                                .epsilon = claimed.epsilon,
                                .delta = claimed.delta,
                                .claim = AUDIT_GAUSSIAN_DP,
                                .samples = 6000,
                                .statistic = path_answers};
    halved.sigma *= 0.5;
    audit_holds(&audit, &claimed);
    audit_exceeds(&audit, &halved, "half the noise");
}

enum { FEATURES = 5 };

struct features {
    double radius, sigma;
    uint32_t shards;
};

/* The expert turns its shard's weights round, to the far side of the ball. */
static double feature_weights(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct features *features = mechanism;
    double w[FEATURES], sum = 0.0;
    for (int i = 0; i < FEATURES; i++)
        w[i] = with ? 100.0 : -100.0;
    gaussian_features_project(w, FEATURES, features->radius);
    for (int i = 0; i < FEATURES; i++)
        w[i] /= features->shards;
    double apart = gaussian_features_sensitivity(features->radius, features->shards);
    gaussian_features_release(noise, w, FEATURES, features->radius, apart, features->sigma, w);
    for (int i = 0; i < FEATURES; i++)
        sum += w[i];
    return sum;
}

Test(audit, gaussian_features)
{
    const double delta = 1e-5, epsilon = 2.0;
    struct features claimed = {.radius = 3.0, .shards = 4};
    claimed.sigma = gaussian_dp_sigma(gaussian_features_sensitivity(claimed.radius, claimed.shards),
                                      epsilon, delta);
    struct features halved = claimed;
    const struct audit audit = {.name = AUDIT_GAUSSIAN_FEATURES,
                                .title = "gaussian features",
                                .epsilon = epsilon,
                                .delta = delta,
                                .claim = AUDIT_GAUSSIAN_DP,
                                .samples = 20000,
                                .statistic = feature_weights};
    halved.sigma *= 0.5;
    audit_holds(&audit, &claimed);
    audit_exceeds(&audit, &halved, "half the noise");
}
