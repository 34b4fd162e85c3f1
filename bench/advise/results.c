/* Lines of outcomes, and the scale of quality. */
#include "bench/advise/results.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plot/lines.h"
#include "envs/env.h"

#define HEAD                                                                                       \
    "# world experts epsilon method algorithm size seed signal mean_return random_return "         \
    "cpu_seconds\n"

static bool outcome_parse(const char *line, struct outcome *r)
{
    *r = (struct outcome){.epsilon = 0};
    // NOLINTNEXTLINE(cert-err34-c): our own file
    return sscanf(line, "%23s %" SCNu32 " %lf %23s %31s %" SCNu32 " %" SCNu64 " %lf %lf %lf %lf",
                  r->world, &r->experts, &r->epsilon, r->method, r->algorithm, &r->size, &r->seed,
                  &r->signal, &r->mean_return, &r->random_return, &r->cpu_seconds) == 11;
}

static bool outcome_add(void *context, const char *line)
{
    struct outcomes *outcomes = context;
    struct outcome *more = realloc(outcomes->all, (outcomes->count + 1) * sizeof *more);
    if (!more)
        return false;
    outcomes->all = more;
    bool good = outcome_parse(line, &outcomes->all[outcomes->count]);
    outcomes->count += good;
    return good;
}

bool outcomes_load(const char *path, struct outcomes *out)
{
    unsigned line = 0;
    *out = (struct outcomes){0};
    if (lines_each(path, outcome_add, out, &line))
        return true;
    fprintf(stderr, "%s:%u: unreadable\n", path, line);
    outcomes_free(out);
    return false;
}

void outcomes_free(struct outcomes *outcomes)
{
    free(outcomes->all);
    *outcomes = (struct outcomes){0};
}

/* The same but for the seed. */
static bool outcome_alike(const struct outcome *a, const struct outcome *b)
{
    return strcmp(a->world, b->world) == 0 && strcmp(a->method, b->method) == 0 &&
           strcmp(a->algorithm, b->algorithm) == 0 && a->experts == b->experts &&
           a->size == b->size && a->epsilon == b->epsilon;
}

bool outcomes_have(const struct outcomes *outcomes, const struct outcome *run)
{
    for (size_t i = 0; i < outcomes->count; i++)
        if (outcome_alike(&outcomes->all[i], run) && outcomes->all[i].seed == run->seed)
            return true;
    return false;
}

bool outcomes_append(const char *path, const struct outcome *r)
{
    char line[LINES_BYTES];
    int size =
        snprintf(line, sizeof line,
                 "%s\t%" PRIu32 "\t%g\t%s\t%s\t%" PRIu32 "\t%" PRIu64 "\t%.5g\t%.6g\t%.6g\t%.2f\n",
                 r->world, r->experts, r->epsilon, r->method, r->algorithm, r->size, r->seed,
                 r->signal, r->mean_return, r->random_return, r->cpu_seconds);
    return size > 0 && (size_t)size < sizeof line && lines_append(path, HEAD, line);
}

static void add_alike(const struct outcomes *outcomes, const struct outcome *run, double *sum,
                      double *count)
{
    for (size_t k = 0; k < outcomes->count; k++) {
        if (outcome_alike(&outcomes->all[k], run)) {
            *sum += outcomes->all[k].mean_return;
            ++*count;
        }
    }
}

static double best_among(const struct outcomes *some, const struct outcomes *others,
                         const char *world)
{
    double best = NAN;
    for (size_t i = 0; i < some->count; i++) {
        const struct outcome *r = &some->all[i];
        if (strcmp(r->world, world) != 0 || strcmp(r->method, "none") != 0)
            continue;
        double sum = 0, count = 0;
        add_alike(some, r, &sum, &count);
        if (others)
            add_alike(others, r, &sum, &count);
        best = fmax(best, sum / count);
    }
    return best;
}

double outcomes_best(const struct outcomes *outcomes, const char *world)
{
    const struct outcomes *others = outcomes->beside;
    double best = best_among(outcomes, others, world);
    return others ? fmax(best, best_among(others, outcomes, world)) : best;
}

double outcomes_quality(const struct outcomes *outcomes, const struct outcome *run)
{
    const struct env *world = env_find(run->world);
    double best = outcomes_best(outcomes, run->world);
    double random = world ? world->random_return : NAN;
    return (run->mean_return - random) / (best - random);
}
