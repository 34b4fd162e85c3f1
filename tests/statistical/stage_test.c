/* Audits of the two first stages by the functions that jobs call: the noisy sums behind consensus
 * labels, and a whole release of stable prefixes, played in a tiny world. */
#include <criterion/criterion.h>

#include "algos/offline/consensus.h"
#include "algos/offline/stable_prefix.h"
#include "tests/statistical/audit.h"

enum { MOST = 5 };

/* Experts who take action 1 with a probability of their own, whatever the state. */
struct crowd {
    double one[MOST];
    bool absent[MOST];
    uint32_t slots;
};

static bool present(const void *context, uint32_t expert)
{
    return !((const struct crowd *)context)->absent[expert];
}

static void probabilities(const void *context, uint32_t first, uint32_t count, const float *states,
                          uint32_t state_count, double *out)
{
    const struct crowd *crowd = context;
    (void)states;
    for (uint32_t e = first; e < first + count; e++) {
        for (uint32_t s = 0; s < state_count; s++) {
            *out++ = 1.0 - crowd->one[e];
            *out++ = crowd->one[e];
        }
    }
}

static struct expert_voices voices_of(const struct crowd *crowd, double floor_probability)
{
    return (struct expert_voices){.context = crowd,
                                  .slots = crowd->slots,
                                  .state_dim = 1,
                                  .action_count = 2,
                                  .min_probability = floor_probability,
                                  .present = present,
                                  .probabilities = probabilities};
}

/* ---- consensus */

struct asking {
    struct consensus_plan plan;
    uint32_t canaries; /* slots of the expert in question: 1, or more where the unit is broken */
};

/* The canary is sure of action 1, two others are not; what tells is how far all sums lean. */
static double leaning(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct asking *asking = mechanism;
    struct crowd crowd = {.one = {0.5, 0.3, 1.0, 1.0, 1.0}, .slots = 2 + asking->canaries};
    double scratch[CONSENSUS_EXPERTS * CONSENSUS_LANES * 2], sum = 0.0;
    const float states[CONSENSUS_LANES] = {0};
    int64_t sums[CONSENSUS_LANES * 2];
    for (uint32_t i = 2; i < crowd.slots; i++)
        crowd.absent[i] = !with;
    const struct expert_voices voices = voices_of(&crowd, 0.0);
    consensus_sums(&asking->plan, &voices, noise, states, asking->plan.labels, scratch, sums);
    for (uint32_t i = 0; i < asking->plan.labels; i++)
        sum += (double)(sums[2 * i + 1] - sums[2 * i]);
    return sum;
}

Test(audit, consensus)
{
    struct asking asking = {.canaries = 1};
    cr_assert_eq(consensus_plan_make(CONSENSUS_LANES, 2, 2.0, 1e-2, &asking.plan), CONSENSUS_OK);
    const struct audit audit = {.name = AUDIT_CONSENSUS,
                                .title = "consensus labels",
                                .epsilon = 2.0,
                                .delta = 1e-2,
                                .claim = AUDIT_GAUSSIAN_DP,
                                .samples = 10000,
                                .statistic = leaning};
    struct asking loud = asking, twice = asking;
    loud.plan.lattice_scale /= 2;
    twice.canaries = 2;
    audit_holds(&audit, &asking);
    audit_exceeds(&audit, &loud, "half the noise");
    audit_exceeds(&audit, &twice, "an expert who is asked twice");
}

/* ---- stable prefixes */

enum { STEPS = 4, OTHERS = 3 };

static bool tiny_reset(void *state, const double *parameters, struct rng *rng, double *observation)
{
    (void)parameters, (void)rng;
    *(double *)state = 0.0;
    observation[0] = 0.0;
    return true;
}

static struct env_outcome tiny_step(void *state, const double *parameters, unsigned action,
                                    struct rng *rng, double *observation)
{
    double *steps = state;
    (void)parameters, (void)action, (void)rng;
    *steps += 1.0;
    observation[0] = *steps;
    return (struct env_outcome){.terminated = *steps >= STEPS};
}

static const struct env tiny = {.name = "tiny",
                                .state_dim = 1,
                                .action_count = 2,
                                .max_episode_steps = STEPS,
                                .state_size = sizeof(double),
                                .reset = tiny_reset,
                                .step = tiny_step};

/* Whether a trajectory of ones alone is released whole: nearly always the canary's own, because all
 * others take action 1 with the least probability. */
static double all_ones(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct sparse_vector_plan *plan = mechanism;
    double least = plan->request.min_probability;
    struct crowd crowd = {.one = {least, least, least, 1.0 - least}, .slots = OTHERS + 1};
    crowd.absent[OTHERS] = !with;
    const struct expert_voices voices = voices_of(&crowd, least);
    const struct stable_prefix_run run = {
        .plan = plan, .voices = &voices, .source = STABLE_ROLLOUTS, .env = &tiny, .noise = noise};
    struct dataset *released = NULL;
    const char *message = NULL;
    cr_assert_eq(stable_prefix_release(&run, &released, &message), ALGORITHM_OK);
    uint32_t ones = 0;
    for (uint64_t i = 0; i < released->transition_count; i++)
        ones += released->actions[i];
    bool whole = ones == STEPS && released->transition_count == STEPS;
    dataset_free(released);
    return whole;
}

/* One trajectory is drawn. As in the audit of the sparse vector by itself, half of the noise is not
 * found out at such counts; that the threshold protects the draw is. */
Test(audit, stable_prefixes)
{
    const struct sparse_vector_request request = {.experts = 20,
                                                  .epsilon = 2.0,
                                                  .delta = 1e-2,
                                                  .trajectories = 1,
                                                  .max_length = STEPS,
                                                  .min_probability = expert_voices_floor(0.1)};
    struct sparse_vector_plan plan;
    cr_assert_eq(sparse_vector_plan_make(&request, &plan), SPARSE_VECTOR_OK);
    struct sparse_vector_plan open = plan;
    const struct audit audit = {.name = AUDIT_STABLE_PREFIXES,
                                .title = "stable prefixes, a release",
                                .epsilon = plan.run_epsilon,
                                .delta = plan.run_delta,
                                .samples = 20000,
                                .statistic = all_ones};
    audit_holds(&audit, &plan);
    open.lattice.threshold = 0;
    audit_exceeds(&audit, &open, "a threshold of 0");
}
