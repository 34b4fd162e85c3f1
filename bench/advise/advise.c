/* make advise-table: what the advisor's candidates are worth in worlds that can be played, from few
 * experts to many. Finished runs are lines of the results file and are not made again, so that a
 * run may be stopped at any time; small sizes come first. With --table the lines become the C table
 * that ships with the program. With --report the lines, of another population, become the page that
 * says how well that table predicts them. Both have one scale: runs without privacy of the lines
 * --beside count for its upper end, too. With --compare they become a table of private runs beside
 * those without privacy on the same data and beside what the experts earned. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/advise/measure.h"
#include "bench/advise/table.h"

#define WORDS       16
#define PLAIN_LEAST 60 /* experts: the best run without privacy is one of many */

struct options {
    char *worlds, *experts, *epsilons; /* comma-separated */
    const char *only;                  /* methods, comma-separated; NULL: all */
    uint64_t first_seed, seeds, population, episodes, choose;
    const char *results, *beside, *cache, *table, *report, *compare;
};

static const char usage[] =
    "advise [--environments cartpole,...] [--experts 30,...] [--epsilons 1,3,8]\n"
    "  [--seeds 2] [--first-seed 1] [--population 1] [--episodes 100] [--choose 20] [--only "
    "behaviour|none|dpsgd|linear|selective_dpsgd|consensus|grid|shards|q_release] [--results "
    "FILE] [--cache DIRECTORY]\n"
    "advise --table FILE | --report FILE | --compare FILE [--results FILE] [--beside FILE]\n";

/* Splits TEXT at commas, in place. */
static unsigned split_words(char *text, char *out[WORDS])
{
    unsigned count = 0;
    for (char *word = strtok(text, ","); word && count < WORDS; word = strtok(NULL, ","))
        out[count++] = word;
    return count;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {{"environments", required_argument, NULL, 'w'},
                                          {"experts", required_argument, NULL, 'n'},
                                          {"epsilons", required_argument, NULL, 'p'},
                                          {"seeds", required_argument, NULL, 's'},
                                          {"first-seed", required_argument, NULL, 'f'},
                                          {"population", required_argument, NULL, 'q'},
                                          {"episodes", required_argument, NULL, 'j'},
                                          {"choose", required_argument, NULL, 'h'},
                                          {"only", required_argument, NULL, 'm'},
                                          {"results", required_argument, NULL, 'r'},
                                          {"beside", required_argument, NULL, 'i'},
                                          {"cache", required_argument, NULL, 'c'},
                                          {"table", required_argument, NULL, 't'},
                                          {"report", required_argument, NULL, 'o'},
                                          {"compare", required_argument, NULL, 'b'},
                                          {0}};
    int which;
    while ((which = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (which) {
        case 'w': o->worlds = optarg; break;
        case 'n': o->experts = optarg; break;
        case 'p': o->epsilons = optarg; break;
        case 's': o->seeds = strtoull(optarg, NULL, 10); break;
        case 'f': o->first_seed = strtoull(optarg, NULL, 10); break;
        case 'q': o->population = strtoull(optarg, NULL, 10); break;
        case 'j': o->episodes = strtoull(optarg, NULL, 10); break;
        case 'h': o->choose = strtoull(optarg, NULL, 10); break;
        case 'm': o->only = optarg; break;
        case 'r': o->results = optarg; break;
        case 'i': o->beside = optarg; break;
        case 'c': o->cache = optarg; break;
        case 't': o->table = optarg; break;
        case 'o': o->report = optarg; break;
        case 'b': o->compare = optarg; break;
        default: return false;
        }
    }
    return optind == argc;
}

/* Whether METHOD is asked for. */
static bool is_asked(const struct options *o, const char *method)
{
    size_t size = strlen(method);
    for (const char *word = o->only; word; word = strchr(word, ',')) {
        word += *word == ',';
        if (strncmp(word, method, size) == 0 && (word[size] == ',' || word[size] == '\0'))
            return true;
    }
    return !o->only;
}

/* Writes down what the logged trajectories earned, unless the file has it. */
static bool run_behaviour(const struct options *o, const struct school *school)
{
    struct outcomes done;
    struct outcome r = {.method = "behaviour", .algorithm = "-"};
    if (!is_asked(o, r.method))
        return true;
    if (!outcomes_load(o->results, &done))
        return false;
    measure_behaviour(school, &r);
    bool have = outcomes_have(&done, &r);
    outcomes_free(&done);
    return have || outcomes_append(o->results, &r);
}

/* Makes one run, unless the file has it. */
static bool run_one(const struct options *o, struct school *school,
                    const struct advice_facts *facts, const struct advice_candidate *candidate,
                    uint64_t seed)
{
    struct outcomes done;
    struct outcome r = {.experts = facts->experts,
                        .size = candidate->size,
                        .epsilon = facts->epsilon,
                        .seed = seed};
    const char *method = facts->epsilon > 0 ? advice_method_name(candidate->method) : "none";
    snprintf(r.world, sizeof r.world, "%s", facts->world->name);
    snprintf(r.method, sizeof r.method, "%s", method);
    snprintf(r.algorithm, sizeof r.algorithm, "%s", candidate->algorithm->name);
    if (!is_asked(o, method))
        return true;
    if (!outcomes_load(o->results, &done))
        return false;
    bool have = outcomes_have(&done, &r);
    outcomes_free(&done);
    if (have)
        return true;
    if (!measure_candidate(school, facts, candidate, seed, &r))
        return false;
    fprintf(stderr, "%s %u experts epsilon %g %s %s %u: signal %.3g, %.1f (random %.1f), %.1f s\n",
            r.world, r.experts, r.epsilon, r.method, r.algorithm, r.size, r.signal, r.mean_return,
            r.random_return, r.cpu_seconds);
    return outcomes_append(o->results, &r);
}

/* All candidates at one epsilon; without privacy, each algorithm with its own network. */
static bool run_epsilon(const struct options *o, struct school *school, double epsilon,
                        uint64_t seed)
{
    struct advice_facts facts = school_facts(school, epsilon);
    struct advice_candidate candidate;
    for (int want = ADVICE_WANT_POLICY; want <= ADVICE_WANT_RELEASE; want++) {
        facts.want = (enum advice_want)want;
        for (unsigned i = 0; advice_candidate(&facts, i, &candidate); i++) {
            bool plain = candidate.method == ADVICE_DPSGD && candidate.size == 0;
            if (!(epsilon > 0) && (!plain || facts.experts < PLAIN_LEAST))
                continue;
            if (!run_one(o, school, &facts, &candidate, seed))
                return false;
        }
    }
    return true;
}

/* The experts are cloned once for all epsilons and seeds. */
static bool run_world(const struct options *o, const char *world, uint32_t experts)
{
    char epsilons[256];
    char *epsilon[WORDS];
    snprintf(epsilons, sizeof epsilons, "%s", o->epsilons);
    unsigned count = split_words(epsilons, epsilon);
    struct school school;
    if (!school_open(world, o->population, experts, o->cache, &school))
        return false;
    school.episodes = (uint32_t)o->episodes;
    school.choose = (uint32_t)o->choose;
    bool good = run_behaviour(o, &school);
    for (uint64_t seed = 0; good && seed < o->seeds; seed++)
        for (unsigned e = 0; good && e < count; e++)
            good = run_epsilon(o, &school, strtod(epsilon[e], NULL), o->first_seed + seed);
    school_close(&school);
    return good;
}

static bool run_all(const struct options *o)
{
    char *world[WORDS], *size[WORDS];
    unsigned worlds = split_words(o->worlds, world), sizes = split_words(o->experts, size);
    for (unsigned n = 0; n < sizes; n++)
        for (unsigned w = 0; w < worlds; w++)
            if (!run_world(o, world[w], (uint32_t)strtoul(size[n], NULL, 10)))
                return false;
    return true;
}

int main(int argc, char **argv)
{
    char worlds[] = "factory,ward,fund,cartpole,acrobot", experts[] = "30,60,120,300,1000";
    char epsilons[] = "0.1,1,3,8,0";
    struct options o = {.worlds = worlds,
                        .experts = experts,
                        .epsilons = epsilons,
                        .first_seed = 1,
                        .seeds = 2,
                        .population = 1,
                        .episodes = MEASURE_EPISODES,
                        .results = "docs/results/advice.tsv",
                        .cache = "."};
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    struct outcomes outcomes, beside = {0};
    if (!o.table && !o.report && !o.compare)
        return run_all(&o) ? 0 : 1;
    if (!outcomes_load(o.results, &outcomes) || (o.beside && !outcomes_load(o.beside, &beside)))
        return 1;
    outcomes.beside = &beside;
    bool good = (!o.table || table_write(&outcomes, o.table)) &&
                (!o.report || held_out_write(&outcomes, o.report)) &&
                (!o.compare || compare_write(&outcomes, o.compare));
    outcomes_free(&outcomes);
    outcomes_free(&beside);
    return good ? 0 : 1;
}
