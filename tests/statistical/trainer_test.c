/* Audits of the real trainer: each offline algorithm for a few private steps, with an expert or
 * without its data (algos/offline/membership_audit.h); the attacker sees the policy alone. */
#include <criterion/criterion.h>

#include "algos/catalogue/algorithms.h"
#include "algos/offline/membership_audit.h"
#include "tests/statistical/audit.h"

struct attacker {
    const struct membership_attack *attack;
    enum membership_sabotage sabotage;
};

static double policy_seen(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct attacker *attacker = mechanism;
    double score = 0.0;
    cr_assert_eq(membership_attack_run(attacker->attack, attacker->sabotage, with, noise, &score),
                 ALGORITHM_OK);
    return score;
}

/* One of two experts joins a step on average. */
static void audit_trainer(const char *name, enum audit_name number, const char *title,
                          uint32_t samples)
{
    const struct membership_settings settings = {.algorithm = algorithm_find(name),
                                                 .experts = 2,
                                                 .steps = 2,
                                                 .noise_multiplier = 1.0,
                                                 .delta = 1e-2,
                                                 .seed = 3};
    struct membership_attack *attack = NULL;
    const char *message = "";
    cr_assert_eq(membership_attack_new(&settings, &attack, &message), ALGORITHM_OK, "%s", message);
    const struct dp_sgd_plan *claim = membership_attack_claim(attack);
    cr_assert_eq(claim->steps, 2);
    const struct audit audit = {
        .name = number,
        .title = title,
        .epsilon = claim->epsilon,
        .delta = claim->delta,
        .claim = AUDIT_PROFILE,
        .run = {.kind = MECHANISM_SUBSAMPLED_GAUSSIAN,
                .gaussian = {claim->sampling_rate, claim->noise_multiplier}},
        .times = claim->steps,
        .samples = samples,
        .statistic = policy_seen};
    const struct attacker sound = {attack, MEMBERSHIP_SOUND};
    const struct attacker loud = {attack, MEMBERSHIP_HALF_NOISE};
    const struct attacker wide = {attack, MEMBERSHIP_NO_CLIP};
    struct audit trap = audit;
    trap.samples /= 4;
    audit_holds(&audit, &sound);
    audit_exceeds(&audit, &loud, "half the noise");
    audit_exceeds(&trap, &wide, "a missing clip");
    membership_attack_free(attack);
}

Test(audit, trainer)
{
    audit_trainer("cql", AUDIT_TRAINER, "trainer, 2 steps", 8000);
}

Test(audit, trainer_of_two_heads)
{
    audit_trainer("bcq", AUDIT_TRAINER_BCQ, "bcq, 2 steps", 4000);
}

Test(audit, trainer_without_values)
{
    audit_trainer("behaviour_cloning", AUDIT_TRAINER_CLONING, "cloning, 2 steps", 4000);
}
