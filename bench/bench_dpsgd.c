/* Steps per second of conservative Q-learning at batch 128 and hidden (256, 256), private and plain
 * in the same run, beside this machine's matrix products of the same shapes.
 *
 * The private batch is 128 of 4,096 experts in expectation: like the plain one, but its size
 * varies. The two kinds take turns, so that a noisy machine disturbs both alike; medians are
 * printed. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "algos/algorithm.h"
#include "algos/nn/matrix.h"
#include "envs/rng.h"

enum {
    EXPERTS = 4096,
    LENGTH = 40,
    STATE_DIM = 4,
    BATCH = 128,
    HIDDEN = 256,
    STEPS = 500,
    TURNS = 9
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_dpsgd: %s\n", what);
    exit(1);
}

/* One trajectory of random numbers for each expert; what is learned does not matter here. */
static struct dataset *make_data(void)
{
    struct dataset_builder *builder = dataset_builder_new(STATE_DIM, 2, EXPERTS);
    struct rng rng;
    rng_seed(&rng, 1, 0);
    for (uint32_t e = 0; builder && e < EXPERTS; e++) {
        float states[(LENGTH + 1) * STATE_DIM], rewards[LENGTH];
        uint16_t actions[LENGTH];
        for (int i = 0; i < (LENGTH + 1) * STATE_DIM; i++)
            states[i] = (float)rng_normal(&rng);
        for (int i = 0; i < LENGTH; i++) {
            rewards[i] = 1.0F;
            actions[i] = (uint16_t)rng_below(&rng, 2);
        }
        const struct trajectory trajectory = {.expert = e,
                                              .length = LENGTH,
                                              .terminated = true,
                                              .states = states,
                                              .actions = actions,
                                              .rewards = rewards};
        if (!dataset_builder_add(builder, &trajectory))
            die("no memory");
    }
    struct dataset *data = builder ? dataset_builder_finish(builder) : NULL;
    if (!data)
        die("no memory");
    return data;
}

static void set(const struct algorithm *cql, struct algorithm_request *request, const char *name,
                struct parameter_value value)
{
    int index = parameters_index(cql->parameters, cql->parameter_count, name);
    if (index < 0)
        die("a parameter is gone");
    request->parameters.value[index] = value;
}

/* Steps per second of one run of STEPS steps. */
static double run(const struct algorithm *cql, const struct algorithm_request *request,
                  const struct dataset *data)
{
    struct algorithm_plan plan;
    struct policy *policy = NULL;
    const char *message = "";
    if (cql->plan(request, &plan, &message) != ALGORITHM_OK || plan.total_steps != STEPS)
        die(message);
    const struct algorithm_run job = {.request = request, .plan = &plan, .data = data};
    double start = seconds();
    if (cql->train(&job, &policy, &message) != ALGORITHM_OK)
        die(message);
    double taken = seconds() - start;
    policy_free(policy);
    return STEPS / taken;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

typedef void product(size_t, size_t, size_t, const float *, const float *, float *);

static double gflops(product *multiply, size_t rows, size_t inner, size_t columns)
{
    enum { REPEATS = 400 };
    float *a = calloc(HIDDEN * HIDDEN, sizeof *a), *b = calloc(HIDDEN * HIDDEN, sizeof *b);
    float *c = calloc(HIDDEN * HIDDEN, sizeof *c);
    if (!a || !b || !c)
        die("no memory");
    double rates[TURNS];
    for (int t = 0; t < TURNS; t++) {
        double start = seconds();
        for (int i = 0; i < REPEATS; i++)
            multiply(rows, inner, columns, a, b, c);
        rates[t] = 2e-9 * REPEATS * (double)(rows * inner * columns) / (seconds() - start);
    }
    free(a);
    free(b);
    free(c);
    return median(rates, TURNS);
}

int main(void)
{
    const struct algorithm *cql = algorithm_find("cql");
    struct algorithm_request request = {.epsilon = 1000,
                                        .delta = 1e-5,
                                        .discount = 0.99,
                                        .state_dim = STATE_DIM,
                                        .action_count = 2,
                                        .nominal_experts = EXPERTS,
                                        .seed = 1};
    if (!cql)
        die("there is no cql");
    parameters_defaults(cql->parameters, cql->parameter_count, &request.parameters);
    set(cql, &request, "hidden", (struct parameter_value){{HIDDEN, HIDDEN}, 2});
    set(cql, &request, "batch_size", (struct parameter_value){{BATCH}, 1});
    set(cql, &request, "steps", (struct parameter_value){{STEPS}, 1});
    set(cql, &request, "noise_multiplier", (struct parameter_value){{20}, 1});
    struct dataset *data = make_data();
    double plain[TURNS], private[TURNS], ratio[TURNS];
    for (int t = 0; t < TURNS; t++) {
        request.mechanism = MECHANISM_NONE;
        plain[t] = run(cql, &request, data);
        request.mechanism = MECHANISM_DPSGD;
        private[t] = run(cql, &request, data);
        ratio[t] = plain[t] / private[t];
    }
    dataset_free(data);
    printf("cql, batch %d, hidden (%d, %d), one thread, median of %d turns\n", BATCH, HIDDEN,
           HIDDEN, TURNS);
    printf("  not private            %8.0f steps per CPU second\n", median(plain, TURNS));
    printf("  dpsgd                  %8.0f steps per CPU second\n", median(private, TURNS));
    printf("  a dpsgd step costs     %8.2f plain ones (target: at most 1.50)\n",
           median(ratio, TURNS));
    printf("  forward product        %8.1f GFLOP/s (256 x 256 by 256 x 256)\n",
           gflops(matrix_times_transposed, 2 * BATCH, HIDDEN, HIDDEN));
    printf("  backward product       %8.1f GFLOP/s (128 x 256 by 256 x 256)\n",
           gflops(matrix_times, BATCH, HIDDEN, HIDDEN));
    printf("  weight product         %8.1f GFLOP/s (256 x 128 by 128 x 256)\n",
           gflops(matrix_transposed_times_add, HIDDEN, BATCH, HIDDEN));
    return 0;
}
