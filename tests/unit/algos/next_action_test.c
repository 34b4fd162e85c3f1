/* Whose best action at the next state a target of conservative Q-learning is of. */
#include <criterion/criterion.h>
#include <string.h>

#include "algos/offline/cql.h"
#include "algos/policy.h"
#include "tests/unit/algos/offline_kit.h"

enum { ACTIONS = 3 };
enum { ONLINE, TARGET };

/* One example, whose networks do not agree on what is best at its next state; gives the slope of
 * its action's value. */
static float slope(int who, bool terminated)
{
    const float online[ACTIONS] = {0.0F, 0.0F, 0.0F}, online_next[ACTIONS] = {1.0F, 3.0F, 2.0F};
    const float target_next[ACTIONS] = {0.75F, 0.25F, 0.5F};
    const uint16_t action = 2;
    const float reward = 0.125F;
    const uint8_t ends = terminated;
    float error[ACTIONS];
    const struct cql_rule rule = {.loss = {ACTIONS, 0.0F, 10.0F}, .discount = 0.5F};
    const struct trainer_rows rows = {.count = 1,
                                      .actions = &action,
                                      .rewards = &reward,
                                      .terminated = &ends,
                                      .online = online,
                                      .online_next = who == ONLINE ? online_next : NULL,
                                      .target_next = target_next,
                                      .error = error};
    cql_errors(&rule, &rows);
    cr_expect_eq(error[0], 0.0F);
    cr_expect_eq(error[1], 0.0F);
    return error[action];
}

Test(next_action, is_the_online_networks_or_the_targets_own)
{
    cr_expect_eq(slope(ONLINE, false), -(0.125F + 0.5F * 0.25F), "the target's value of action 1");
    cr_expect_eq(slope(TARGET, false), -(0.125F + 0.5F * 0.75F), "the target's value of action 0");
    cr_expect_eq(slope(ONLINE, true), -0.125F);
    cr_expect_eq(slope(TARGET, true), -0.125F);
}

/* What CQL learns with the target copied every INTERVAL steps, in whole numbers: the same bits
 * however many rows a network is asked about at once. */
static struct policy *learned(const struct dataset *data, double interval, double next_action,
                              size_t *parameters)
{
    struct kit kit;
    kit_init(&kit, "cql", MECHANISM_DPSGD, 40);
    kit_set(&kit, "steps", 200);
    kit_set(&kit, "arithmetic", 1);
    kit_set(&kit, "target_update_interval", interval);
    kit_set(&kit, "next_action", next_action);
    kit_plan(&kit);
    *parameters = kit.plan.parameter_count;
    return kit_train(&kit, data, 3);
}

Test(next_action, says_which_network_is_asked)
{
    struct dataset *data = kit_data(40, 9);
    for (int interval = 1; interval <= 50; interval += 49) {
        size_t parameters;
        struct policy *of_online = learned(data, interval, 0, &parameters);
        struct policy *of_target = learned(data, interval, 1, &parameters);
        bool same =
            memcmp(of_online->parameters, of_target->parameters, parameters * sizeof(float)) == 0;
        cr_expect_eq(same, interval == 1, "both networks are one if copied every step");
        policy_free(of_online);
        policy_free(of_target);
    }
    dataset_free(data);
}
