/* Forty policies, good and bad. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/nn/initialize.h"
#include "bench/judge/school.h"
#include "memory/memory.h"

static void set_number(const struct algorithm *algorithm, struct algorithm_request *request,
                       const char *name, double value)
{
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    if (index < 0)
        memory_must(NULL);
    request->parameters.value[index] = (struct parameter_value){.number = {value}, .count = 1};
}

/* Trains as a job without privacy would. ALPHA below 0: the algorithm has none. */
static struct policy *train(const struct env *world, const struct dataset *data, const char *name,
                            uint32_t steps, double alpha, uint64_t seed)
{
    const struct algorithm *algorithm = memory_must((void *)algorithm_find(name));
    struct algorithm_request request = {.mechanism = MECHANISM_NONE,
                                        .discount = SCHOOL_DISCOUNT,
                                        .state_dim = data->state_dim,
                                        .action_count = data->action_count,
                                        .nominal_experts = data->expert_count,
                                        .seed = seed};
    struct algorithm_plan plan;
    struct policy *policy = NULL;
    const char *message = "";
    algorithm_defaults(algorithm, world->name, &request.parameters);
    set_number(algorithm, &request, "steps", steps);
    set_number(algorithm, &request, "hidden", 64);
    if (alpha >= 0.0)
        set_number(algorithm, &request, "alpha", alpha);
    const struct algorithm_run run = {.request = &request, .plan = &plan, .data = data};
    if (algorithm->plan(&request, &plan, &message) != ALGORITHM_OK ||
        algorithm->train(&run, &policy, &message) != ALGORITHM_OK) {
        fprintf(stderr, "%s: %s\n", name, message);
        exit(1);
    }
    return policy;
}

/* A network of random weights, for inputs as large as those of DATA. */
static struct policy *random_network(const struct dataset *data, uint64_t seed,
                                     enum policy_output output)
{
    const uint32_t dim = data->state_dim;
    const struct mlp_shape shape = {
        .input = dim, .layer_count = 2, .width = {64, data->action_count}};
    struct policy *policy = memory_must(policy_new(&shape, output));
    struct rng rng;
    rng_seed(&rng, seed, 0);
    mlp_initialize(&shape, &rng, 3.0, policy->parameters);
    uint64_t rows = data->transition_count + data->trajectory_count;
    for (uint32_t d = 0; d < dim; d++) {
        double mean = 0.0, square = 0.0;
        for (uint64_t r = 0; r < rows; r++)
            mean += (double)data->states[r * dim + d] / (double)rows;
        for (uint64_t r = 0; r < rows; r++)
            square += pow((double)data->states[r * dim + d] - mean, 2.0) / (double)rows;
        for (uint32_t j = 0; j < 64; j++) {
            policy->parameters[j * dim + d] /= (float)sqrt(square + 1e-9);
            policy->parameters[64 * dim + j] -= (float)mean * policy->parameters[j * dim + d];
        }
    }
    return policy;
}

static struct policy *constant(const struct dataset *data, unsigned action)
{
    const struct mlp_shape shape = {
        .input = data->state_dim, .layer_count = 1, .width = {data->action_count}};
    struct policy *policy = memory_must(policy_new(&shape, POLICY_ARGMAX));
    policy->parameters[(size_t)data->action_count * data->state_dim + action] = 1.0F;
    return policy;
}

/* Multiplies every weight by 1 and SHARE times a normal draw. */
static struct policy *policy_perturb(struct policy *policy, double share, uint64_t seed)
{
    size_t count = mlp_parameter_count(&policy->shape);
    struct rng rng;
    rng_seed(&rng, seed, 0);
    for (size_t i = 0; i < count; i++)
        policy->parameters[i] *= (float)(1.0 + share * rng_normal(&rng));
    return policy;
}

/* Multiplies the last layer: a negative FACTOR does what the network would not. */
static struct policy *policy_sharpen(struct policy *policy, double factor)
{
    size_t last = mlp_weight_offset(&policy->shape, policy->shape.layer_count - 1);
    for (size_t i = last; i < mlp_parameter_count(&policy->shape); i++)
        policy->parameters[i] *= (float)factor;
    return policy;
}

static struct policy *as_argmax(struct policy *policy)
{
    policy->output = POLICY_ARGMAX;
    return policy;
}

struct policy *school_policy(const struct env *world, unsigned index, const struct dataset *mine,
                             const struct dataset *judged, uint64_t seed, const char **kind)
{
    static const uint32_t steps[] = {30, 300, 3000};
    const char *bc = "behaviour_cloning";
    uint64_t own = 1000 * seed + index;
    unsigned i = index;
    if (i < 3)
        return *kind = "cloned", train(world, mine, bc, steps[i], -1, own);
    if (i < 6)
        return *kind = "cloned, best", as_argmax(train(world, mine, bc, steps[i - 3], -1, own));
    if (i < 9)
        return *kind = "cql 1", train(world, mine, "cql", steps[i - 6], 1, own);
    if (i < 12)
        return *kind = "cql 0.1", train(world, mine, "cql", steps[i - 9], 0.1, own);
    if (i < 14)
        return *kind = "bcq", train(world, mine, "bcq", steps[i - 11], -1, own);
    if (i < 18)
        return *kind = "overfitted", train(world, judged, "cql", 1000 * (i - 13), 0, own);
    if (i < 22)
        return *kind = "random", random_network(mine, own, i < 20 ? POLICY_ARGMAX : POLICY_SOFTMAX);
    if (i < 25)
        return *kind = "constant", constant(mine, i - 22);
    if (i < 28)
        return *kind = "perturbed",
               policy_perturb(train(world, mine, "cql", 1000, 0.1, own), 0.05 * (i - 24), own);
    if (i < 31)
        return *kind = "perturbed",
               policy_perturb(train(world, mine, bc, 1000, -1, own), 0.05 * (i - 27), own);
    if (i < 34)
        return *kind = "flattened",
               policy_sharpen(train(world, mine, bc, 1000, -1, own), 0.25 * (i - 30));
    if (i < 36)
        return *kind = "sharpened",
               policy_sharpen(train(world, mine, bc, 1000, -1, own), 2.0 * (i - 33));
    if (i < 38)
        return *kind = "reversed",
               policy_sharpen(train(world, mine, bc, 1000, -1, own), 0.5 * (35.0 - i));
    return *kind = "reversed values",
           policy_sharpen(train(world, mine, "cql", i == 38 ? 30 : 3000, 0.1, own), -1.0);
}
