/* Lines of results. */
#include "bench/kickstart/results.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plot/lines.h"

#define HEAD                                                                                       \
    "# world variant seed transitions answers epsilon paper_epsilon noise radius alone_since "     \
    "teacher_return random_return level reached final_return cpu_seconds curve[40]\n"

static bool parse(void *context, const char *line)
{
    struct results *results = context;
    struct result *more = realloc(results->all, (results->count + 1) * sizeof *more);
    if (!more)
        return false;
    results->all = more;
    struct result *r = &more[results->count];
    int at = 0;
    *r = (struct result){.seed = 0};
    // NOLINTNEXTLINE(cert-err34-c): our own file
    if (sscanf(line,
               "%23s %31s %" SCNu64 " %" SCNu64 " %" SCNu64 " %lf %lf %lf %lf %" SCNu64
               " %lf %lf %lf %" SCNu64 " %lf %lf %n",
               r->world, r->variant, &r->seed, &r->transitions, &r->account.answers,
               &r->account.epsilon, &r->account.paper, &r->account.noise, &r->account.radius,
               &r->alone_since, &r->teacher_return, &r->random_return, &r->level, &r->reached,
               &r->final_return, &r->cpu_seconds, &at) != 16)
        return false;
    char *end = NULL;
    for (const char *text = line + at; *text != '\0'; text = end) {
        unsigned i = 0;
        for (; i < RESULT_POINTS; i++, text = end + (*end == ',')) {
            r->curve[i] = strtod(text, &end);
            if (end == text)
                return false;
        }
        if (*end != '\0')
            return false;
    }
    results->count++;
    return true;
}

bool results_load(const char *path, struct results *out)
{
    unsigned line;
    *out = (struct results){0};
    if (lines_each(path, parse, out, &line))
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

const struct result *results_find(const struct results *results, const char *world,
                                  const char *variant, uint64_t seed, uint64_t transitions)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct result *r = &results->all[i];
        if (r->seed == seed && r->transitions == transitions && strcmp(r->world, world) == 0 &&
            strcmp(r->variant, variant) == 0)
            return r;
    }
    return NULL;
}

bool results_append(const char *path, const struct result *r)
{
    char line[LINES_BYTES];
    int size = snprintf(
        line, sizeof line,
        "%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%.5g\t%.5g\t%.5g\t%.4g\t%" PRIu64
        "\t%.5g\t%.5g\t%.5g\t%" PRIu64 "\t%.5g\t%.2f\t",
        r->world, r->variant, r->seed, r->transitions, r->account.answers, r->account.epsilon,
        r->account.paper, r->account.noise, r->account.radius, r->alone_since, r->teacher_return,
        r->random_return, r->level, r->reached, r->final_return, r->cpu_seconds);
    for (unsigned i = 0; i < RESULT_POINTS && size > 0 && size < LINES_BYTES - 32; i++)
        size += snprintf(line + size, sizeof line - (size_t)size, "%.4g%s", r->curve[i],
                         i + 1 < RESULT_POINTS ? "," : "\n");
    return size > 0 && size < LINES_BYTES - 32 && lines_append(path, HEAD, line);
}
