/* Lines of results. */
#include "bench/offline/results.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plot/lines.h"

#define HEAD                                                                                       \
    "# world algorithm method epsilon seed experts trajectories options feasible "                 \
    "certified_epsilon "                                                                           \
    "steps noisy_steps noise_multiplier threshold mean_return std_return random_return "           \
    "cpu_seconds\n"

static bool parse(const char *line, struct result *r)
{
    *r = (struct result){.epsilon = 0};
    // NOLINTNEXTLINE(cert-err34-c): our own file
    return sscanf(line,
                  "%23s %31s %23s %lf %" SCNu64 " %" SCNu32 " %" SCNu32 " %399s %d %lf %" SCNu64
                  " %" SCNu64 " %lf %lf %lf %lf %lf %lf",
                  r->world, r->algorithm, r->method, &r->epsilon, &r->seed, &r->experts,
                  &r->trajectories, r->options, &r->feasible, &r->certified_epsilon, &r->steps,
                  &r->noisy_steps, &r->noise_multiplier, &r->threshold, &r->mean_return,
                  &r->std_return, &r->random_return, &r->cpu_seconds) == 18;
}

static bool add(void *context, const char *line)
{
    struct results *results = context;
    struct result *more = realloc(results->all, (results->count + 1) * sizeof *more);
    if (!more)
        return false;
    results->all = more;
    bool good = parse(line, &results->all[results->count]);
    results->count += good;
    return good;
}

bool results_load(const char *path, struct results *out, unsigned *line)
{
    *out = (struct results){0};
    bool good = lines_each(path, add, out, line);
    if (!good)
        results_free(out);
    return good;
}

void results_free(struct results *results)
{
    free(results->all);
    *results = (struct results){0};
}

bool results_have(const struct results *results, const struct result *cell)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct result *r = &results->all[i];
        if (strcmp(r->world, cell->world) == 0 && strcmp(r->algorithm, cell->algorithm) == 0 &&
            strcmp(r->method, cell->method) == 0 && r->epsilon == cell->epsilon &&
            r->seed == cell->seed && r->experts == cell->experts &&
            r->trajectories == cell->trajectories && strcmp(r->options, cell->options) == 0)
            return true;
    }
    return false;
}

bool results_append(const char *path, const struct result *r)
{
    char line[LINES_BYTES];
    int size =
        snprintf(line, sizeof line,
                 "%s\t%s\t%s\t%g\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t%s\t%d\t%.6g\t%" PRIu64
                 "\t%" PRIu64 "\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t%.2f\n",
                 r->world, r->algorithm, r->method, r->epsilon, r->seed, r->experts,
                 r->trajectories, r->options, r->feasible, r->certified_epsilon, r->steps,
                 r->noisy_steps, r->noise_multiplier, r->threshold, r->mean_return, r->std_return,
                 r->random_return, r->cpu_seconds);
    return size > 0 && (size_t)size < sizeof line && lines_append(path, HEAD, line);
}
