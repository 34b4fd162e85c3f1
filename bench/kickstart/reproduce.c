/* make reproduce-kickstart: students with and without help, and what the help cost, beside the
 * figures of Gohari et al. 2021 (arXiv 2102.09599). See docs/results/kickstart.md.
 *
 * Runs are gone through seed by seed, so that one that is stopped early has all variants with fewer
 * seeds; finished ones are lines of the results file and are not run again. With --report nothing
 * is run: the file is turned into tables and plots. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kickstart/ensembles.h"
#include "bench/kickstart/life.h"
#include "bench/kickstart/report.h"

struct options {
    char *worlds, *only; /* comma-separated; ONLY NULL: all variants */
    unsigned long first, seeds;
    const char *results, *cache, *report;
};

static const char usage[] =
    "reproduce_kickstart [--environments cartpole,acrobot] [--only VARIANT,...] [--seeds 10]\n"
    "  [--first-seed 1] [--results FILE] [--cache DIRECTORY] [--report DIRECTORY]\n";

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {{"environments", required_argument, NULL, 'w'},
                                          {"only", required_argument, NULL, 'o'},
                                          {"seeds", required_argument, NULL, 's'},
                                          {"first-seed", required_argument, NULL, 'f'},
                                          {"results", required_argument, NULL, 'r'},
                                          {"cache", required_argument, NULL, 'c'},
                                          {"report", required_argument, NULL, 'p'},
                                          {0}};
    int which;
    while ((which = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (which) {
        case 'w': o->worlds = optarg; break;
        case 'o': o->only = optarg; break;
        case 's': o->seeds = strtoul(optarg, NULL, 10); break;
        case 'f': o->first = strtoul(optarg, NULL, 10); break;
        case 'r': o->results = optarg; break;
        case 'c': o->cache = optarg; break;
        case 'p': o->report = optarg; break;
        default: return false;
        }
    }
    return optind == argc && o->seeds >= 1 && o->seeds <= 1000;
}

/* Whether WORD is one of the comma-separated LIST (NULL: all are). */
static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return list == NULL;
}

static bool wanted(const struct options *o, const struct results *done, const char *world,
                   const struct variant *variant, uint64_t seed)
{
    return listed(o->only, variant->name) &&
           !results_find(done, world, variant->name, seed, life_transitions(world));
}

/* Bit I: some variant asks ensemble I. */
static unsigned needs_ensembles(const struct options *o, const struct results *done,
                                const char *world)
{
    unsigned needs = 0;
    for (unsigned v = 0; v < variant_count; v++) {
        for (uint64_t seed = o->first; seed < o->first + o->seeds; seed++)
            for (unsigned i = 0; i < SCHOOL_SHARDS; i++)
                if (variants[v].shards == ensembles_shards[i] &&
                    wanted(o, done, world, &variants[v], seed))
                    needs |= 1u << i;
    }
    return needs;
}

static bool run_world(const struct options *o, const struct results *done, const char *world)
{
    struct school *school = school_open(world, o->cache, needs_ensembles(o, done, world));
    bool good = school != NULL;
    for (uint64_t seed = o->first; good && seed < o->first + o->seeds; seed++) {
        for (unsigned v = 0; good && v < variant_count; v++) {
            const struct variant *variant = &variants[v];
            struct result r;
            if (!wanted(o, done, world, variant, seed) ||
                (variant->shards > 1 && !school_ensemble_of(school, variant->shards)))
                continue;
            good = life_run(school, variant, seed, &r) && results_append(o->results, &r);
            if (!good)
                fprintf(stderr, "%s %s seed %llu: broken off\n", world, variant->name,
                        (unsigned long long)seed);
            else
                fprintf(stderr, "%s %s seed %llu: level at %llu, %.1f in the end, epsilon %.3g\n",
                        world, variant->name, (unsigned long long)seed,
                        (unsigned long long)r.reached, r.final_return, r.account.epsilon);
        }
    }
    school_free(school);
    return good;
}

static bool run(const struct options *o)
{
    struct results done;
    if (!results_load(o->results, &done))
        return false;
    bool good = true;
    for (char *world = strtok(o->worlds, ","); good && world; world = strtok(NULL, ","))
        good = run_world(o, &done, world);
    results_free(&done);
    return good;
}

int main(int argc, char **argv)
{
    char worlds[] = "cartpole,acrobot";
    struct options o = {.worlds = worlds,
                        .first = 1,
                        .seeds = 10,
                        .results = "docs/results/kickstart.tsv",
                        .cache = "."};
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    if (o.report)
        return report_write(o.results, o.report) ? 0 : 1;
    return run(&o) ? 0 : 1;
}
