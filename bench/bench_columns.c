/* Data larger than memory: a dataset of so many transitions (100 million, or the argument) is built
 * and trained on in memory, then in files of $BENCH_DIR (/tmp) by a process that may have a quarter
 * of it as memory of its own (RLIMIT_DATA, which the system's page cache does not count). States
 * have the four numbers of cart-pole; what they are does not matter here. Each kind is a process,
 * and they take turns. "Own" is the peak of resident memory that is not of a file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "algos/catalogue/algorithms.h"
#include "envs/rng.h"

#define LEAST_MEMORY (UINT64_C(256) << 20) /* for the program itself */

enum { LENGTH = 200, TRAJECTORIES = 50, STATE_DIM = 4, TURNS = 3, STEPS = 1000 };

static void die(const char *what)
{
    fprintf(stderr, "bench_columns: %s\n", what);
    exit(1);
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* MiB of this process's memory that is not of a file. */
static double own_memory(void)
{
    char line[128];
    double kib = 0.0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = strtod(line + 8, NULL);
    if (status)
        fclose(status);
    return kib / 1024;
}

static struct dataset *make_data(uint64_t transitions, const char *directory, double *out_peak)
{
    uint64_t count = transitions / LENGTH;
    uint32_t experts = (uint32_t)((count + TRAJECTORIES - 1) / TRAJECTORIES);
    struct dataset_builder *builder = dataset_builder_new(STATE_DIM, 2, experts);
    struct rng rng;
    rng_seed(&rng, 1, 0);
    if (directory)
        dataset_builder_use_files(builder, directory);
    if (!dataset_builder_reserve(builder, transitions, count))
        die("no room");
    for (uint64_t i = 0; i < count; i++) {
        static float states[(LENGTH + 1) * STATE_DIM], rewards[LENGTH];
        static uint16_t actions[LENGTH];
        for (int j = 0; j < (LENGTH + 1) * STATE_DIM; j++)
            states[j] = (float)(rng_next(&rng) >> 40) * 0x1p-23F - 1.0F;
        for (int j = 0; j < LENGTH; j++) {
            rewards[j] = 1.0F;
            actions[j] = (uint16_t)(rng_next(&rng) >> 63);
        }
        const struct trajectory one = {.expert = (uint32_t)(i * 7 % experts),
                                       .length = LENGTH,
                                       .truncated = true,
                                       .states = states,
                                       .actions = actions,
                                       .rewards = rewards};
        if (!dataset_builder_add(builder, &one))
            die("no room");
    }
    double peak = own_memory();
    struct dataset *data = dataset_builder_finish(builder);
    if (!data)
        die("no room");
    *out_peak = own_memory() > peak ? own_memory() : peak;
    return data;
}

static void set(const struct algorithm *algorithm, struct algorithm_request *request,
                const char *name, double first, double second, uint32_t count)
{
    int index = parameters_index(algorithm->parameters, algorithm->parameter_count, name);
    if (index < 0)
        die("a parameter is gone");
    request->parameters.value[index] = (struct parameter_value){{first, second}, count};
}

/* Trains with DP-SGD as a job does by default, and prints the speed. */
static void train(const char *name, const struct dataset *data, uint64_t steps, bool shown)
{
    const struct algorithm *algorithm = algorithm_find(name);
    struct algorithm_request request = {.mechanism = MECHANISM_DPSGD,
                                        .epsilon = 1000,
                                        .delta = 1e-5,
                                        .discount = 0.99,
                                        .state_dim = STATE_DIM,
                                        .action_count = 2,
                                        .nominal_experts = data->expert_count,
                                        .seed = 1};
    struct algorithm_plan plan;
    struct policy *policy = NULL;
    const char *message = "";
    if (!algorithm)
        die("an algorithm is gone");
    parameters_defaults(algorithm->parameters, algorithm->parameter_count, &request.parameters);
    set(algorithm, &request, "hidden", 256, 256, 2);
    set(algorithm, &request, "batch_size", 128, 0, 1);
    set(algorithm, &request, "steps", (double)steps, 0, 1);
    set(algorithm, &request, "noise_multiplier", 20, 0, 1);
    if (algorithm->plan(&request, &plan, &message) != ALGORITHM_OK)
        die(message);
    const struct algorithm_run job = {.request = &request, .plan = &plan, .data = data};
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    if (algorithm->train(&job, &policy, &message) != ALGORITHM_OK)
        die(message);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = seconds(CLOCK_MONOTONIC) - wall;
    policy_free(policy);
    if (shown)
        printf("    %-18s %5.0f steps a second, %5.0f per CPU second\n", name, (double)steps / wall,
               (double)steps / cpu);
}

static void measure(uint64_t transitions, const char *directory)
{
    static const char *const names[] = {"cql", "bcq", "behaviour_cloning"};
    uint64_t bytes = dataset_bytes(STATE_DIM, transitions, transitions / LENGTH);
    const uint64_t most = bytes / 4 > LEAST_MEMORY ? bytes / 4 : LEAST_MEMORY;
    const struct rlimit quarter = {most, most};
    double peak, start = seconds(CLOCK_MONOTONIC);
    if (directory && setrlimit(RLIMIT_DATA, &quarter) != 0)
        die("no limit");
    struct dataset *data = make_data(transitions, directory, &peak);
    printf("  %s: built in %.1f s, own memory %.0f MiB at most\n",
           directory ? "in files, by a process of a quarter as much memory" : "in memory",
           seconds(CLOCK_MONOTONIC) - start, peak);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        train(names[i], data, STEPS / 4, false); /* pages are mapped, places of the cache taken */
        train(names[i], data, STEPS, true);
    }
    if (directory)
        printf("    own memory at the end %.0f MiB\n", own_memory());
    dataset_free(data);
}

int main(int argc, char **argv)
{
    const char *directory = getenv("BENCH_DIR") ? getenv("BENCH_DIR") : "/tmp";
    uint64_t transitions = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_C(100000000);
    printf("%" PRIu64 " transitions, %.0f MiB while they are built\n", transitions,
           (double)dataset_bytes(STATE_DIM, transitions, transitions / LENGTH) / 0x1p20);
    for (int turn = 0; turn < 2 * TURNS; turn++) {
        int status = 1;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            setvbuf(stdout, NULL, _IOLBF, 0);
            measure(transitions, turn % 2 == 0 ? NULL : directory);
            fflush(stdout);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            die("a turn failed");
    }
    return 0;
}
