/* Learning curves of PPO: make curves, or build/release/curves WORLD [SEEDS] [PARAMETER=VALUE ...].
 * Trains with the parameters that a job would have in that world, from SEEDS seeds (5), and plays
 * the policy of every twentieth of the way in EPISODES episodes of new start states. Prints median
 * and quartiles of the mean returns over the seeds, and the median CPU time and wall time of the
 * training so far. Every seed is a process of its own, so that the clock of a process tells its CPU
 * time; as many run at a time as there are cores, so that none waits for another's turn. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "algos/online/ppo_algorithm.h"
#include "algos/policy.h"

enum { POINTS = 20, SEEDS = 5, SEEDS_MAX = 99, EPISODES = 50 };

struct point {
    double transitions, mean_return, seconds, wall;
};

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, "curves: %s\n", what);
    return 1;
}

/* How POLICY of PPO plays by now; false: it does not. */
static bool measure(const struct ppo *ppo, const struct algorithm_request *request,
                    struct policy *policy, struct point *out)
{
    struct ppo_settings settings = ppo_settings_of(request);
    struct policy_evaluation played;
    if (!ppo_write_policy(ppo, policy->parameters) ||
        !policy_evaluate(policy, request->world, request->world_parameters, EPISODES,
                         settings.step_limit, UINT64_C(20260101), &played))
        return false;
    out->mean_return = played.mean_return;
    return true;
}

static bool train(const struct algorithm_request *request, const struct algorithm_plan *plan,
                  struct point *points)
{
    struct ppo_settings settings = ppo_settings_of(request);
    struct rng rng;
    rng_seed(&rng, request->seed, 0);
    struct ppo *ppo = ppo_new(&settings, request->world, request->world_parameters, &rng);
    struct policy *policy = policy_new(&plan->shape, POLICY_SOFTMAX);
    bool good = ppo != NULL && policy != NULL;
    double seconds = 0.0, wall = 0.0;
    for (uint64_t u = 0, p = 0; good && u < plan->total_steps; u++) {
        struct ppo_report report;
        double before = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
        double since = clock_seconds(CLOCK_MONOTONIC);
        good = ppo_update(ppo, ppo_learning_rate(request, u, plan->total_steps), &report);
        seconds += clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
        wall += clock_seconds(CLOCK_MONOTONIC) - since;
        while (good && p < POINTS && (u + 1) * POINTS >= (p + 1) * plan->total_steps) {
            points[p] = (struct point){
                .transitions = (double)report.transitions, .seconds = seconds, .wall = wall};
            good = measure(ppo, request, policy, &points[p++]);
        }
    }
    policy_free(policy);
    ppo_free(ppo);
    return good;
}

/* Waits for one child; true when it went well. */
static bool one_ended(void)
{
    int status;
    return wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int core_count(void)
{
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/* As many seeds side by side as there are cores; POINTS is memory that children share. False: one
 * of them failed. */
static bool train_all(const struct algorithm_request *request, const struct algorithm_plan *plan,
                      struct point (*points)[POINTS], int seeds)
{
    int begun = 0, running = 0, good = 0, cores = core_count();
    for (; begun < seeds; begun++, running++) {
        for (; running >= cores; running--)
            good += one_ended();
        pid_t child = fork();
        if (child < 0)
            break;
        if (child == 0) {
            struct algorithm_request mine = *request;
            mine.seed = (uint64_t)begun + 1;
            _exit(train(&mine, plan, points[begun]) ? 0 : 1);
        }
    }
    for (; running > 0; running--)
        good += one_ended();
    return good == seeds;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Quantile of sorted values, between neighbours. */
static double quantile(const double *sorted, int count, double at)
{
    double place = at * (count - 1);
    int below = (int)place;
    int above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

static void print(const char *world, struct point (*points)[POINTS], int seeds)
{
    printf("%s, %d seeds, %d episodes each\n", world, seeds, EPISODES);
    printf("%12s %12s %12s %12s %12s %12s\n", "transitions", "lower", "median", "upper", "CPU s",
           "wall s");
    for (int p = 0; p < POINTS; p++) {
        double returns[SEEDS_MAX] = {0}, seconds[SEEDS_MAX] = {0}, wall[SEEDS_MAX] = {0};
        for (int s = 0; s < seeds; s++) {
            returns[s] = points[s][p].mean_return;
            seconds[s] = points[s][p].seconds;
            wall[s] = points[s][p].wall;
        }
        qsort(returns, (size_t)seeds, sizeof *returns, ascending);
        qsort(seconds, (size_t)seeds, sizeof *seconds, ascending);
        qsort(wall, (size_t)seeds, sizeof *wall, ascending);
        printf("%12.0f %12.6g %12.6g %12.6g %12.2f %12.2f\n", points[0][p].transitions,
               quantile(returns, seeds, 0.25), quantile(returns, seeds, 0.5),
               quantile(returns, seeds, 0.75), quantile(seconds, seeds, 0.5),
               quantile(wall, seeds, 0.5));
    }
    printf("at the end:");
    for (int s = 0; s < seeds; s++)
        printf(" %.6g (%.1f s CPU, %.1f s wall)", points[s][POINTS - 1].mean_return,
               points[s][POINTS - 1].seconds, points[s][POINTS - 1].wall);
    printf("\n");
}

/* TEXT is name=value; a choice is its index, a list one width or several with commas. */
static bool set_parameter(const char *text, struct parameter_values *values)
{
    char name[64];
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals - text >= (long)sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    int index = parameters_index(ppo_algorithm.parameters, ppo_algorithm.parameter_count, name);
    if (index < 0)
        return false;
    struct parameter_value value = {.count = 0};
    for (const char *at = equals; *at != '\0' && value.count < PARAMETER_LIST_MAX;) {
        char *end;
        value.number[value.count++] = strtod(at + 1, &end);
        if (end == at + 1 || (*end != ',' && *end != '\0'))
            return false;
        at = end;
    }
    values->value[index] = value;
    return parameters_check(&ppo_algorithm.parameters[index], &value) == PARAMETER_FITS;
}

int main(int count, char **words)
{
    struct algorithm_request request = {.mechanism = MECHANISM_NONE};
    request.world = count > 1 ? env_find(words[1]) : NULL;
    int seeds = count > 2 ? (int)strtol(words[2], NULL, 10) : SEEDS;
    if (request.world == NULL || seeds < 1 || seeds > SEEDS_MAX)
        return fail("usage: curves WORLD [SEEDS] [PARAMETER=VALUE ...]");
    env_defaults(request.world, request.world_parameters);
    algorithm_defaults(&ppo_algorithm, request.world->name, &request.parameters);
    for (int i = 3; i < count; i++)
        if (!set_parameter(words[i], &request.parameters))
            return fail(words[i]);
    struct algorithm_plan plan;
    const char *message = NULL;
    if (ppo_algorithm.plan(&request, &plan, &message) != ALGORITHM_OK)
        return fail(message);
    struct point(*points)[POINTS] = mmap(NULL, sizeof *points * SEEDS_MAX, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (points == MAP_FAILED)
        return fail("no memory");
    if (!train_all(&request, &plan, points, seeds))
        return fail("the training ended early");
    print(request.world->name, points, seeds);
    return 0;
}
