/* What an answer about the mean of many networks costs before anything is debited, drawn or sent:
 * the evaluation alone, one thread, CPU time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/nn/initialize.h"
#include "algos/release/ensemble.h"
#include "bench/cpu_clock.h"

#define SECONDS 0.5 /* of each figure */
#define STATES  16

static void need(bool good)
{
    if (good)
        return;
    fprintf(stderr, "bench_ensemble: no memory\n");
    exit(1);
}

static struct ensemble *make(uint32_t hidden, uint32_t count)
{
    const struct mlp_shape shape = {
        .input = 4, .layer_count = 2, .width = {hidden, 2}, .activation = MLP_RELU};
    struct ensemble *ensemble = ensemble_new(&shape, 2, count);
    struct policy *policy = policy_new(&shape, POLICY_SOFTMAX);
    struct rng rng;
    need(ensemble && policy);
    rng_seed(&rng, 1, hidden);
    for (uint32_t i = 0; i < count; i++) {
        mlp_initialize(&shape, &rng, 1.0, policy->parameters);
        ensemble_take(ensemble, i, policy, NULL);
    }
    policy_free(policy);
    return ensemble;
}

/* Microseconds a state. */
static double measure(const struct ensemble *ensemble, uint32_t states)
{
    float state[STATES][4];
    double p[2 * STATES], start = cpu_seconds(), passed = 0.0;
    uint64_t asked = 0;
    for (uint32_t s = 0; s < STATES; s++)
        for (uint32_t i = 0; i < 4; i++)
            state[s][i] = 0.01F * (float)(s + i) - 0.05F;
    while (passed < SECONDS) {
        ensemble_probabilities(ensemble, state[0], states, 0.2, p);
        asked += states;
        passed = cpu_seconds() - start;
    }
    return 1e6 * passed / (double)asked;
}

int main(void)
{
    static const uint32_t hidden[] = {32, 128}, shards[] = {10, 100, 1000};
    printf("mean of an ensemble, 4-hidden-2: us of CPU a state, alone and of %d\n", STATES);
    for (size_t h = 0; h < sizeof hidden / sizeof hidden[0]; h++) {
        for (size_t s = 0; s < sizeof shards / sizeof shards[0]; s++) {
            struct ensemble *ensemble = make(hidden[h], shards[s]);
            printf("  hidden %3u, %4u shards: %7.2f %7.2f\n", hidden[h], shards[s],
                   measure(ensemble, 1), measure(ensemble, STATES));
            ensemble_free(ensemble);
        }
    }
    return 0;
}
