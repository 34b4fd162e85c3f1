/* Releases and their sizes. */
#include "bench/offline/ablation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "algos/offline/stable_prefix.h"
#include "algos/privacy/noise/noise_source.h"

#define EPSILON_SHARE 0.75
#define DELTA_SHARE   0.9

static bool release(const struct population *p, const struct sparse_vector_plan *plan,
                    const struct expert_voices *voices, struct noise_source *noise,
                    uint64_t *transitions)
{
    const struct stable_prefix_run run = {
        .plan = plan, .voices = voices, .source = STABLE_ROLLOUTS, .env = p->env, .noise = noise};
    struct dataset *released = NULL;
    const char *message = "";
    if (stable_prefix_release(&run, &released, &message) != ALGORITHM_OK) {
        fprintf(stderr, "%s: %s\n", p->env->name, message);
        return false;
    }
    *transitions = released->transition_count;
    dataset_free(released);
    return true;
}

static bool one(const struct population *p, const struct expert_voices *voices, double epsilon,
                uint32_t trajectories, enum sparse_vector_accounting accounting, FILE *file)
{
    const struct stage_request request = {.kind = STAGE_STABLE,
                                          .epsilon_share = EPSILON_SHARE,
                                          .delta_share = DELTA_SHARE,
                                          .max_length = p->episode_steps,
                                          .source = STABLE_ROLLOUTS,
                                          .runs = trajectories,
                                          .min_probability = POPULATION_FLOOR,
                                          .accounting = accounting};
    struct stage_plan plan;
    struct composition_part price;
    const char *message = "", *name = sparse_vector_accounting_name(accounting);
    uint64_t transitions = 0, sum = 0;
    enum algorithm_status status = stage_plan_make(&request, epsilon, 1.0 / p->experts, p->experts,
                                                   p->env->action_count, &plan, &price, &message);
    if (status == ALGORITHM_INFEASIBLE) {
        return fprintf(file, "%s\t%g\t%" PRIu32 "\t%" PRIu32 "\t%s\t0\t0\t0\t0\n", p->env->name,
                       epsilon, p->experts, trajectories, name) > 0;
    }
    struct noise_source *noise = status == ALGORITHM_OK ? noise_source_new("ablation") : NULL;
    bool good = noise != NULL;
    for (int draw = 0; good && draw < ABLATION_DRAWS; draw++) {
        good = release(p, &plan.stable, voices, noise, &transitions);
        sum += transitions;
    }
    noise_source_free(noise);
    return good &&
           fprintf(file, "%s\t%g\t%" PRIu32 "\t%" PRIu32 "\t%s\t1\t%.6g\t%.6g\t%.6g\n",
                   p->env->name, epsilon, p->experts, trajectories, name, plan.stable.threshold,
                   plan.stable.composed_epsilon, (double)sum / ABLATION_DRAWS) > 0;
}

bool ablation_run(const struct population *p, const char *path)
{
    static const double epsilons[] = {5, 7.5, 10};
    static const uint32_t trajectories[] = {5, 25, 100};
    struct expert_policies *policies = population_policies(p);
    FILE *file = fopen(path, "a");
    bool good = policies && file;
    const struct expert_voices voices =
        good ? expert_policies_voices(policies) : (struct expert_voices){0};
    if (good && ftell(file) == 0)
        fputs("# world epsilon experts trajectories thresholds feasible threshold "
              "certified_epsilon mean_transitions\n",
              file);
    for (int e = 0; good && e < 3; e++) {
        for (int t = 0; good && t < 3; t++) {
            good = one(p, &voices, epsilons[e], trajectories[t], SPARSE_VECTOR_SHARP, file) &&
                   one(p, &voices, epsilons[e], trajectories[t], SPARSE_VECTOR_PAPER, file) &&
                   fflush(file) == 0;
        }
    }
    if (file && fclose(file) != 0)
        good = false;
    expert_policies_free(policies);
    if (!good)
        fprintf(stderr, "%s: no memory, or cannot be written\n", path);
    return good;
}
