/* Lines of results. */
#include "bench/offline/results.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024
#define CUT            " (cut)\n" /* ends a line that a killed run left unfinished */
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
                  "%23s %31s %23s %lf %" SCNu64 " %" SCNu32 " %" SCNu32 " %191s %d %lf %" SCNu64
                  " %" SCNu64 " %lf %lf %lf %lf %lf %lf",
                  r->world, r->algorithm, r->method, &r->epsilon, &r->seed, &r->experts,
                  &r->trajectories, r->options, &r->feasible, &r->certified_epsilon, &r->steps,
                  &r->noisy_steps, &r->noise_multiplier, &r->threshold, &r->mean_return,
                  &r->std_return, &r->random_return, &r->cpu_seconds) == 18;
}

bool results_load(const char *path, struct results *out, unsigned *line)
{
    char text[LINE_MAX_BYTES];
    *out = (struct results){0};
    *line = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return access(path, F_OK) != 0;
    bool good = true;
    for (unsigned number = 1; good && fgets(text, sizeof text, file); number++) {
        if (text[0] == '#' || !strchr(text, '\n') || strstr(text, CUT))
            continue;
        struct result *more = realloc(out->all, (out->count + 1) * sizeof *more);
        good = more != NULL;
        if (good) {
            out->all = more;
            good = parse(text, &out->all[out->count]);
            *line = good ? 0 : number;
            out->count += good;
        }
    }
    fclose(file);
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

/* A line that a killed run left without its end is ended first: it is no result, and stays none. */
static bool write_line(int file, const char *line, size_t size)
{
    off_t end = lseek(file, 0, SEEK_END);
    char last = '\n';
    if (end > 0 && pread(file, &last, 1, end - 1) != 1)
        return false;
    if (end == 0 && write(file, HEAD, sizeof HEAD - 1) != (ssize_t)(sizeof HEAD - 1))
        return false;
    if (last != '\n' && write(file, CUT, sizeof CUT - 1) != (ssize_t)(sizeof CUT - 1))
        return false;
    return write(file, line, size) == (ssize_t)size && fsync(file) == 0;
}

bool results_append(const char *path, const struct result *r)
{
    char line[LINE_MAX_BYTES];
    int size =
        snprintf(line, sizeof line,
                 "%s\t%s\t%s\t%g\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t%s\t%d\t%.6g\t%" PRIu64
                 "\t%" PRIu64 "\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t%.2f\n",
                 r->world, r->algorithm, r->method, r->epsilon, r->seed, r->experts,
                 r->trajectories, r->options, r->feasible, r->certified_epsilon, r->steps,
                 r->noisy_steps, r->noise_multiplier, r->threshold, r->mean_return, r->std_return,
                 r->random_return, r->cpu_seconds);
    int file = open(path, O_RDWR | O_APPEND | O_CREAT, 0644);
    if (file < 0)
        return false;
    bool good = size > 0 && (size_t)size < sizeof line && write_line(file, line, (size_t)size);
    return close(file) == 0 && good;
}
