/* make reproduce-offline: expert-level private offline learning beside the figures of Sharma et al.
 * 2025 (arXiv 2411.13598). See docs/results/offline.md for the protocol and what was run.
 *
 * Cells are gone through seed by seed, so that a run that is stopped early has all of them with
 * fewer seeds; finished ones are lines of the results file and are not run again. With --report
 * nothing is run: the file is turned into the tables and plots. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "bench/offline/ablation.h"
#include "bench/offline/cell.h"
#include "bench/offline/report.h"
#include "bench/offline/results.h"

#define WORDS 12
/* Ten runs of ten episodes. */
#define EPISODES 100

struct options {
    char *worlds; /* comma-separated, as are the next */
    const char *algorithms, *methods, *epsilons;
    uint32_t experts, trajectories, episodes;
    uint64_t first_seed, seeds, steps, population;
    const char *results, *cache, *report;
    bool ablation, import;
    enum population_spread spread;
    struct cell_setting settings[CELL_SETTINGS];
    unsigned setting_count;
};

static const char usage[] =
    "reproduce_offline [--environments cartpole,acrobot] [--algorithms cql,bcq]\n"
    "  [--only none,dpsgd,selective,selective_paper,consensus] [--epsilons 2.5,5,7.5,10]\n"
    "  [--experts 3000] [--trajectories 20] [--first-seed 1] [--seeds 3] [--steps N] [--set "
    "NAME=VALUE[:VALUE...] ...]\n"
    "  [--population SEED] [--episodes 100] [--results FILE] [--cache DIRECTORY] [--ablation]\n"
    "  [--spread narrow|wide] [--report DIRECTORY]\n"
    "reproduce_offline --import --environments WORLD [--population SEED] [--cache DIRECTORY] < "
    "NETWORKS\n";

/* Splits TEXT at commas, in place. */
static unsigned words(char *text, char *out[WORDS])
{
    unsigned count = 0;
    for (char *word = strtok(text, ","); word && count < WORDS; word = strtok(NULL, ","))
        out[count++] = word;
    return count;
}

static bool number(const char *text, double low, double high, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= low && *out <= high;
}

static bool read_setting(const char *text, struct options *o)
{
    if (o->setting_count == CELL_SETTINGS)
        return false;
    const char *end = cell_setting_read(text, &o->settings[o->setting_count++]);
    return end && *end == '\0';
}

static bool read_spread(const char *text, struct options *o)
{
    bool narrow = strcmp(text, "narrow") == 0;
    o->spread = narrow ? SPREAD_NARROW : SPREAD_WIDE;
    return narrow || strcmp(text, "wide") == 0;
}

static bool read_option(int which, char *text, struct options *o)
{
    double value = 0.0;
    switch (which) {
    case 'w': o->worlds = text; return true;
    case 'g': o->algorithms = text; return true;
    case 'm': o->methods = text; return true;
    case 'p': o->epsilons = text; return true;
    case 'n': return number(text, 1, 1e6, &value) && (o->experts = (uint32_t)value) == value;
    case 't': return number(text, 1, 1e4, &value) && (o->trajectories = (uint32_t)value) == value;
    case 'j': return number(text, 1, 1e6, &value) && (o->episodes = (uint32_t)value) == value;
    case 's': return number(text, 1, 1000, &value) && (double)(o->seeds = (uint64_t)value) == value;
    case 'f':
        return number(text, 1, 1e9, &value) && (double)(o->first_seed = (uint64_t)value) == value;
    case 'k': return number(text, 1, 1e7, &value) && (double)(o->steps = (uint64_t)value) == value;
    case 'q':
        return number(text, 1, 1e9, &value) && (double)(o->population = (uint64_t)value) == value;
    case 'e': return read_setting(text, o);
    case 'd': return read_spread(text, o);
    case 'r': o->results = text; return true;
    case 'c': o->cache = text; return true;
    case 'o': o->report = text; return true;
    case 'i': o->import = true; return true;
    case 'a': o->ablation = true; return true;
    default: return false;
    }
}

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {{"environments", required_argument, NULL, 'w'},
                                          {"algorithms", required_argument, NULL, 'g'},
                                          {"only", required_argument, NULL, 'm'},
                                          {"epsilons", required_argument, NULL, 'p'},
                                          {"experts", required_argument, NULL, 'n'},
                                          {"trajectories", required_argument, NULL, 't'},
                                          {"seeds", required_argument, NULL, 's'},
                                          {"first-seed", required_argument, NULL, 'f'},
                                          {"steps", required_argument, NULL, 'k'},
                                          {"population", required_argument, NULL, 'q'},
                                          {"set", required_argument, NULL, 'e'},
                                          {"episodes", required_argument, NULL, 'j'},
                                          {"results", required_argument, NULL, 'r'},
                                          {"cache", required_argument, NULL, 'c'},
                                          {"report", required_argument, NULL, 'o'},
                                          {"spread", required_argument, NULL, 'd'},
                                          {"ablation", no_argument, NULL, 'a'},
                                          {"import", no_argument, NULL, 'i'},
                                          {0}};
    int which;
    while ((which = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (!read_option(which, optarg, o))
            return false;
    return optind == argc;
}

/* What distinguishes this run's settings from the defaults, as one word. */
static bool describe(const struct options *o, char out[RESULT_WORD])
{
    size_t size = 0;
    out[0] = '\0';
    if (o->population != 1)
        size += (size_t)snprintf(out, RESULT_WORD, "population=%" PRIu64, o->population);
    if (o->spread != SPREAD_ALL)
        size += (size_t)snprintf(out + size, RESULT_WORD - size, "%sspread=%s", size > 0 ? "," : "",
                                 o->spread == SPREAD_NARROW ? "narrow" : "wide");
    if (o->episodes != EPISODES)
        size += (size_t)snprintf(out + size, RESULT_WORD - size, "%sepisodes=%" PRIu32,
                                 size > 0 ? "," : "", o->episodes);
    if (o->steps > 0)
        size += (size_t)snprintf(out + size, RESULT_WORD - size, "%ssteps=%" PRIu64,
                                 size > 0 ? "," : "", o->steps);
    for (unsigned i = 0; i < o->setting_count && size < RESULT_WORD; i++) {
        const struct cell_setting *setting = &o->settings[i];
        size += (size_t)snprintf(out + size, RESULT_WORD - size, "%s%s", size > 0 ? "," : "",
                                 setting->name);
        for (unsigned j = 0; j < setting->value.count && size < RESULT_WORD; j++)
            size += (size_t)snprintf(out + size, RESULT_WORD - size, "%c%g", j > 0 ? ':' : '=',
                                     setting->value.number[j]);
    }
    if (size == 0)
        snprintf(out, RESULT_WORD, "-");
    return size < RESULT_WORD;
}

static bool run_one(const struct options *o, const struct cell *cell)
{
    struct results done;
    unsigned line;
    struct result r = {.epsilon = cell->epsilon,
                       .seed = cell->seed,
                       .experts = cell->population->experts,
                       .trajectories = o->trajectories,
                       .random_return = cell->population->random_return};
    snprintf(r.world, sizeof r.world, "%s", cell->population->env->name);
    snprintf(r.algorithm, sizeof r.algorithm, "%s", cell->algorithm->name);
    snprintf(r.method, sizeof r.method, "%s", cell->method->name);
    if (!describe(o, r.options) || !results_load(o->results, &done, &line)) {
        fprintf(stderr, "%s: unreadable\n", o->results);
        return false;
    }
    bool have = results_have(&done, &r);
    results_free(&done);
    struct cell_result result;
    if (have)
        return true;
    if (!cell_run(cell, &result))
        return false;
    r.feasible = result.feasible;
    r.certified_epsilon = result.epsilon;
    r.steps = result.steps;
    r.noisy_steps = result.noisy_steps;
    r.noise_multiplier = result.noise_multiplier;
    r.threshold = result.threshold;
    r.mean_return = result.played.mean_return;
    r.std_return = result.played.std_return;
    r.cpu_seconds = result.cpu_seconds;
    fprintf(stderr, "%s %s %s epsilon %g seed %llu: %s%s%.1f\n", r.world, r.algorithm, r.method,
            r.epsilon, (unsigned long long)r.seed, result.reason, result.feasible ? "" : "; ",
            r.mean_return);
    return results_append(o->results, &r);
}

/* All cells of a population with one seed and method; without privacy there is one epsilon. */
static bool run_method(const struct options *o, struct cell *cell, char *const algorithms[],
                       unsigned algorithm_count, char *const epsilons[], unsigned epsilon_count)
{
    bool private = cell->method->mechanism != MECHANISM_NONE;
    for (unsigned a = 0; a < algorithm_count; a++) {
        cell->algorithm = algorithm_find(algorithms[a]);
        if (!cell->algorithm || !cell->algorithm->mechanisms[cell->method->mechanism]) {
            fprintf(stderr, "%s: no such algorithm, or not with this method\n", algorithms[a]);
            return false;
        }
        for (unsigned e = 0; e < (private ? epsilon_count : 1); e++) {
            cell->epsilon = 0.0;
            if (private && !number(epsilons[e], 1e-3, 1000, &cell->epsilon)) {
                fprintf(stderr, "%s: no epsilon\n", epsilons[e]);
                return false;
            }
            if (!run_one(o, cell))
                return false;
        }
    }
    return true;
}

static bool run_world(const struct options *o, const struct population *population)
{
    char algorithms[256], methods[256], epsilons[256];
    char *algorithm[WORDS], *method[WORDS], *epsilon[WORDS];
    snprintf(algorithms, sizeof algorithms, "%s", o->algorithms);
    snprintf(methods, sizeof methods, "%s", o->methods);
    snprintf(epsilons, sizeof epsilons, "%s", o->epsilons);
    unsigned algorithm_count = words(algorithms, algorithm), method_count = words(methods, method);
    unsigned epsilon_count = words(epsilons, epsilon);
    struct cell cell = {.population = population,
                        .steps = o->steps,
                        .episodes = o->episodes,
                        .setting_count = o->setting_count};
    memcpy(cell.settings, o->settings, sizeof cell.settings);
    for (cell.seed = o->first_seed; cell.seed - o->first_seed < o->seeds; cell.seed++) {
        for (unsigned m = 0; m < method_count; m++) {
            cell.method = cell_method_find(method[m]);
            if (!cell.method) {
                fprintf(stderr, "%s: no such method\n", method[m]);
                return false;
            }
            if (!run_method(o, &cell, algorithm, algorithm_count, epsilon, epsilon_count))
                return false;
        }
    }
    return true;
}

static bool run(const struct options *o)
{
    char *world[WORDS];
    unsigned count = words(o->worlds, world);
    for (unsigned w = 0; w < count; w++) {
        struct population *population =
            population_load(world[w], o->population, o->experts, o->trajectories, o->cache);
        bool good = population && population_keep(population, o->spread) &&
                    (o->ablation ? ablation_run(population, o->results) : run_world(o, population));
        population_free(population);
        if (!good)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    char worlds[] = "cartpole,acrobot";
    struct options o = {.worlds = worlds,
                        .algorithms = "cql,bcq",
                        .methods = "none,dpsgd,selective,consensus",
                        .epsilons = "2.5,5,7.5,10",
                        .experts = 3000,
                        .trajectories = 20,
                        .episodes = EPISODES,
                        .first_seed = 1,
                        .seeds = 3,
                        .population = 1,
                        .results = "docs/results/offline.tsv",
                        .cache = "."};
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    if (o.report)
        return report_write(o.results, o.report) ? 0 : 1;
    if (o.import)
        return population_import(stdin, o.worlds, o.population, o.cache) ? 0 : 1;
    return run(&o) ? 0 : 1;
}
