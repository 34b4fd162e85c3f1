/* Steps per second of offline algorithms at batch 128 and hidden (256, 256), private and plain in
 * the same run, beside this machine's matrix products of the same shapes.
 *
 * 4,096 experts have 5 transitions each. The private batch is 128 of them in expectation: like the
 * plain one, but its size varies. The target is copied every 1,000 steps, so that its values are
 * kept (algos/offline/target_cache.h), or every 100, when that does not pay. "Of one network": the
 * target's own best action at s' (plain DQN), as peers are usually measured. The kinds take turns,
 * so that a noisy machine disturbs all alike; medians are printed.
 *
 * Last, two such trainings on two threads beside one alone, by the wall clock: that is how the
 * service's workers use two cores. And one training that two threads share, beside the same alone.
 * Both need idle cores. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "algos/catalogue/algorithms.h"
#include "algos/nn/matrix.h"
#include "envs/rng.h"
#include "server/helpers.h"

enum {
    EXPERTS = 4096,
    LENGTH = 5,
    STATE_DIM = 4,
    BATCH = 128,
    HIDDEN = 256,
    STEPS = 1000,
    TURNS = 5
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

static void set(const struct algorithm *algorithm, struct algorithm_request *request,
                const char *name, struct parameter_value value)
{
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    if (index < 0)
        die("a parameter is gone");
    request->parameters.value[index] = value;
}

static void share_out(void *context, void (*work)(void *what, uint32_t i), void *what,
                      uint32_t count)
{
    helpers_run(context, work, what, count);
}

/* Steps per second of one run of STEPS steps, which HELPERS (NULL: none) share. */
static double run(const struct algorithm *algorithm, const struct algorithm_request *request,
                  const struct dataset *data, struct helpers *helpers)
{
    struct algorithm_plan plan;
    struct policy *policy = NULL;
    const char *message = "";
    if (algorithm->plan(request, &plan, &message) != ALGORITHM_OK || plan.total_steps != STEPS)
        die(message);
    struct algorithm_run job = {.request = request, .plan = &plan, .data = data};
    job.hooks.context = helpers;
    job.hooks.parallel = helpers ? share_out : NULL;
    double start = seconds();
    if (algorithm->train(&job, &policy, &message) != ALGORITHM_OK)
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

static void forward(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                    float *c)
{
    matrix_times_transposed(rows, inner, columns, a, b, c, NULL);
}

static void backward(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                     float *c)
{
    matrix_times(rows, inner, columns, a, b, c, NULL);
}

static void weight(size_t rows, size_t inner, size_t columns, const float *a, const float *b,
                   float *c)
{
    matrix_transposed_times(rows, inner, columns, a, b, c, false);
}

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

/* ---- the kinds of runs */

struct kind {
    const char *label, *algorithm;
    double interval; /* between copies of the target; 0: there is none */
    double rates[TURNS];
    enum algorithm_mechanism mechanism;
    bool exact, plain_dqn;
};

static struct algorithm_request request_of(const struct kind *kind, const struct algorithm *a)
{
    struct algorithm_request request = {.mechanism = kind->mechanism,
                                        .epsilon = 1000,
                                        .delta = 1e-5,
                                        .discount = 0.99,
                                        .state_dim = STATE_DIM,
                                        .action_count = 2,
                                        .nominal_experts = EXPERTS,
                                        .seed = 1};
    parameters_defaults(a->parameters, a->parameter_count, &request.parameters);
    set(a, &request, "hidden", (struct parameter_value){{HIDDEN, HIDDEN}, 2});
    set(a, &request, "batch_size", (struct parameter_value){{BATCH}, 1});
    set(a, &request, "steps", (struct parameter_value){{STEPS}, 1});
    set(a, &request, "noise_multiplier", (struct parameter_value){{20}, 1});
    set(a, &request, "arithmetic", (struct parameter_value){{kind->exact}, 1});
    if (kind->plain_dqn)
        set(a, &request, "next_action", (struct parameter_value){{1}, 1});
    if (kind->interval > 0)
        set(a, &request, "target_update_interval", (struct parameter_value){{kind->interval}, 1});
    return request;
}

static double ratio(const struct kind *of, const struct kind *to)
{
    double ratios[TURNS];
    for (int t = 0; t < TURNS; t++)
        ratios[t] = of->rates[t] / to->rates[t];
    return median(ratios, TURNS);
}

/* ---- jobs side by side */

struct job {
    const struct kind *kind;
    const struct dataset *data;
};

static void *work(void *context)
{
    const struct job *job = context;
    const struct algorithm *algorithm = algorithm_find(job->kind->algorithm);
    const struct algorithm_request request = request_of(job->kind, algorithm);
    (void)run(algorithm, &request, job->data, NULL);
    return NULL;
}

static double wall(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Steps per second of COUNT jobs together, a thread each. */
static double side_by_side(struct job *job, int count)
{
    pthread_t threads[2];
    double start = wall();
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, job) != 0)
            die("no thread");
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return count * STEPS / (wall() - start);
}

static void print_jobs(const struct kind *kind, const struct dataset *data)
{
    struct job job = {kind, data};
    double alone[TURNS], both[TURNS], ratios[TURNS];
    for (int t = 0; t < TURNS; t++) {
        alone[t] = side_by_side(&job, 1);
        both[t] = side_by_side(&job, 2);
        ratios[t] = both[t] / alone[t];
    }
    printf("  %s: one job %.0f, two side by side %.0f steps per second by the clock: %.2f times "
           "(target: 1.90, on idle cores)\n",
           kind->label, median(alone, TURNS), median(both, TURNS), median(ratios, TURNS));
}

/* Steps per second by the clock of one job with and without a helper, in turn. */
static void print_shared(const struct kind *kind, const struct dataset *data)
{
    const struct algorithm *algorithm = algorithm_find(kind->algorithm);
    const struct algorithm_request request = request_of(kind, algorithm);
    struct helpers *helpers = helpers_start(1);
    double rates[2][TURNS], ratios[TURNS];
    for (int t = 0; t < TURNS; t++) {
        for (int h = 0; h < 2; h++) {
            double start = wall();
            (void)run(algorithm, &request, data, h == 1 ? helpers : NULL);
            rates[h][t] = STEPS / (wall() - start);
        }
        ratios[t] = rates[1][t] / rates[0][t];
    }
    helpers_stop(helpers);
    printf("  %s: on one thread %.0f, shared by two %.0f steps per second by the clock: %.2f times "
           "(target: 1.80, on idle cores)\n",
           kind->label, median(rates[0], TURNS), median(rates[1], TURNS), median(ratios, TURNS));
}

int main(void)
{
    struct kind kinds[] = {
        {"cql, not private", "cql", 1000, {0}, MECHANISM_NONE, false, false},
        {"cql, dpsgd", "cql", 1000, {0}, MECHANISM_DPSGD, false, false},
        {"cql, not private, no target kept", "cql", 100, {0}, MECHANISM_NONE, false, false},
        {"cql, dpsgd, no target kept", "cql", 100, {0}, MECHANISM_DPSGD, false, false},
        {"bcq, not private", "bcq", 1000, {0}, MECHANISM_NONE, false, false},
        {"bcq, dpsgd", "bcq", 1000, {0}, MECHANISM_DPSGD, false, false},
        {"cql, dpsgd, exact arithmetic", "cql", 1000, {0}, MECHANISM_DPSGD, true, false},
        {"cql of one network, not private", "cql", 1000, {0}, MECHANISM_NONE, false, true},
        {"cql of one network, dpsgd", "cql", 1000, {0}, MECHANISM_DPSGD, false, true},
        {"behaviour_cloning, dpsgd", "behaviour_cloning", 0, {0}, MECHANISM_DPSGD, false, false},
        {"bcq, dpsgd, exact arithmetic", "bcq", 1000, {0}, MECHANISM_DPSGD, true, false},
        {"behaviour_cloning, dpsgd, exact arithmetic",
         "behaviour_cloning",
         0,
         {0},
         MECHANISM_DPSGD,
         true,
         false},
    };
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    struct dataset *data = make_data();
    for (int t = 0; t < TURNS; t++) {
        for (int k = 0; k < KINDS; k++) {
            const struct algorithm *algorithm = algorithm_find(kinds[k].algorithm);
            if (!algorithm)
                die("an algorithm is gone");
            const struct algorithm_request request = request_of(&kinds[k], algorithm);
            kinds[k].rates[t] = run(algorithm, &request, data, NULL);
        }
    }
    printf("batch %d, hidden (%d, %d), one thread, median of %d turns\n", BATCH, HIDDEN, HIDDEN,
           TURNS);
    double kept = ratio(&kinds[0], &kinds[1]), asked = ratio(&kinds[2], &kinds[3]);
    double bcq = ratio(&kinds[4], &kinds[5]), exact = ratio(&kinds[1], &kinds[6]);
    double one = ratio(&kinds[7], &kinds[8]);
    for (int k = 0; k < KINDS; k++)
        printf("  %-42s %6.0f steps per CPU second\n", kinds[k].label,
               median(kinds[k].rates, TURNS));
    printf(
        "  a dpsgd step costs %.2f plain ones (no target kept: %.2f; bcq: %.2f; one network: %.2f; "
        "target: at most 1.30)\n",
        kept, asked, bcq, one);
    printf("  a step in exact arithmetic costs %.2f in float\n", exact);
    printf("  forward product        %8.1f GFLOP/s (256 x 256 by 256 x 256)\n",
           gflops(forward, 2 * BATCH, HIDDEN, HIDDEN));
    printf("  backward product       %8.1f GFLOP/s (128 x 256 by 256 x 256)\n",
           gflops(backward, BATCH, HIDDEN, HIDDEN));
    printf("  weight product         %8.1f GFLOP/s (256 x 128 by 128 x 256)\n",
           gflops(weight, HIDDEN, BATCH, HIDDEN));
    print_jobs(&kinds[1], data);
    print_shared(&kinds[6], data);
    print_shared(&kinds[10], data);
    print_shared(&kinds[11], data);
    print_shared(&kinds[1], data);
    print_shared(&kinds[0], data);
    dataset_free(data);
    return 0;
}
