/* Lines of results. */
#include "bench/local/results.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plot/lines.h"

#define HEAD "# experiment method setting seed epsilon time score length cpu_seconds\n"

static bool add(void *context, const char *line)
{
    struct results *results = context;
    struct result r = {.seed = 0};
    struct result *more = realloc(results->all, (results->count + 1) * sizeof *more);
    if (!more)
        return false;
    results->all = more;
    // NOLINTNEXTLINE(cert-err34-c): our own file
    bool good = sscanf(line, "%15s %23s %lf %" SCNu64 " %lf %lf %lf %" SCNu64 " %lf", r.experiment,
                       r.method, &r.setting, &r.seed, &r.epsilon, &r.time, &r.score, &r.length,
                       &r.cpu_seconds) == 9;
    if (good)
        results->all[results->count++] = r;
    return good;
}

bool results_load(const char *path, struct results *out)
{
    unsigned line;
    *out = (struct results){0};
    if (lines_each(path, add, out, &line))
        return true;
    fprintf(stderr, "%s: unreadable, or line %u is no result\n", path, line);
    results_free(out);
    return false;
}

void results_free(struct results *results)
{
    free(results->all);
    *results = (struct results){0};
}

void results_cell(const struct results *results, const char *experiment, const char *method,
                  double setting, struct result_cell *out)
{
    *out = (struct result_cell){.count = 0};
    for (size_t i = 0; i < results->count && out->count < RESULT_SEEDS; i++) {
        const struct result *r = &results->all[i];
        if (strcmp(r->experiment, experiment) != 0 || strcmp(r->method, method) != 0 ||
            r->setting != setting)
            continue;
        out->time[out->count] = r->time > 0.0 ? r->time : INFINITY;
        out->score[out->count++] = r->score;
        out->succeeded += r->time > 0.0;
        out->epsilon = r->epsilon;
        out->length = (double)r->length;
        out->cpu_seconds += r->cpu_seconds;
    }
}

unsigned results_settings(const struct results *results, const char *experiment, const char *method,
                          double out[RESULT_SETTINGS])
{
    unsigned count = 0;
    double last = -1.0;
    while (count < RESULT_SETTINGS) {
        double next = INFINITY;
        for (size_t i = 0; i < results->count; i++) {
            const struct result *r = &results->all[i];
            if (strcmp(r->experiment, experiment) == 0 && strcmp(r->method, method) == 0 &&
                r->setting > last && r->setting < next)
                next = r->setting;
        }
        if (isinf(next))
            break;
        out[count++] = last = next;
    }
    return count;
}

bool results_have(const char *path, const struct result *cell)
{
    struct results results;
    if (!results_load(path, &results))
        return true;
    bool have = false;
    for (size_t i = 0; i < results.count && !have; i++) {
        const struct result *r = &results.all[i];
        have = strcmp(r->experiment, cell->experiment) == 0 &&
               strcmp(r->method, cell->method) == 0 && r->setting == cell->setting &&
               r->seed == cell->seed;
    }
    results_free(&results);
    return have;
}

bool results_append(const char *path, const struct result *r)
{
    char line[LINES_BYTES];
    int size = snprintf(line, sizeof line,
                        "%s\t%s\t%g\t%" PRIu64 "\t%.6g\t%.0f\t%.6g\t%" PRIu64 "\t%.2f\n",
                        r->experiment, r->method, r->setting, r->seed, r->epsilon, r->time,
                        r->score, r->length, r->cpu_seconds);
    bool good = size > 0 && (size_t)size < sizeof line && lines_append(path, HEAD, line);
    if (!good)
        fprintf(stderr, "%s: cannot be written\n", path);
    return good;
}
