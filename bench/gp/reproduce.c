/* reproduce-gp: Q-learning with functional noise, rebuilt, beside what it claims and what is true;
 * then the service's two releases at the same epsilon.
 *
 *   reproduce_gp --results FILE [--seeds N]     runs what FILE does not hold yet, appends
 *   reproduce_gp --results FILE --report DIR    writes DIR/gp-tables.md and plots
 *
 * A line of the file: cell, seed, final return, true epsilon's lower and upper bound, CPU seconds,
 * and the learning curve where there is one. A cell is skipped once its line is there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/gp/cells.h"
#include "bench/gp/report.h"

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether PATH has the line of CELL and SEED. */
static bool done(const char *path, const char *cell, unsigned seed)
{
    char line[1024], wanted[128];
    FILE *file = fopen(path, "r");
    bool found = false;
    int length = snprintf(wanted, sizeof wanted, "%s\t%u\t", cell, seed);
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, wanted, (size_t)length) == 0 && strchr(line, '\n') != NULL;
    if (file)
        fclose(file);
    return found;
}

static bool append(const char *path, const struct cell *cell, unsigned seed,
                   const struct cell_result *r, double seconds)
{
    FILE *file = fopen(path, "a");
    if (!file)
        return false;
    fprintf(file, "%s\t%u\t%.6g\t%.4g\t%.4g\t%.2f", cell->name, seed, r->final, r->true_low,
            r->true_high, seconds);
    for (int i = 0; i < METHODS_BLOCKS && r->has_curve; i++)
        fprintf(file, "%c%.5g", i ? ' ' : '\t', r->curve[i]);
    fprintf(file, "\n");
    return fclose(file) == 0;
}

static bool run_all(const char *path, unsigned seeds)
{
    size_t count;
    const struct cell *cells = cells_all(&count);
    for (size_t c = 0; c < count; c++)
        for (unsigned seed = 0; seed < seeds; seed++) {
            struct cell_result result;
            if (seed >= cells[c].seeds || done(path, cells[c].name, seed))
                continue;
            double before = cpu_seconds();
            if (!cell_run(&cells[c], seed, &result) ||
                !append(path, &cells[c], seed, &result, cpu_seconds() - before)) {
                fprintf(stderr, "reproduce_gp: %s failed\n", cells[c].name);
                return false;
            }
            printf("%-28s seed %2u: %8.3f  true epsilon [%.3g, %.3g]  %.1f s\n", cells[c].name,
                   seed, result.final, result.true_low, result.true_high, cpu_seconds() - before);
            fflush(stdout);
        }
    return true;
}

int main(int argc, char **argv)
{
    const char *results = NULL, *report = NULL;
    unsigned seeds = 10;
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--results") == 0)
            results = argv[i + 1];
        else if (strcmp(argv[i], "--report") == 0)
            report = argv[i + 1];
        else if (strcmp(argv[i], "--seeds") == 0)
            seeds = (unsigned)strtoul(argv[i + 1], NULL, 10);
    if (!results) {
        fprintf(stderr, "reproduce_gp --results FILE [--seeds N | --report DIR]\n");
        return 2;
    }
    return (report ? report_write(results, report) : run_all(results, seeds)) ? 0 : 1;
}
