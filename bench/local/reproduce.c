/* make reproduce-local: locally private gradient collection beside the tables of Ono and Takahashi
 * 2020 (arXiv 2001.11718), and REINFORCE and DQN against noise, with its epsilon. See
 * docs/results/collection-settings.md and online-settings.md for the protocol and what was run.
 *
 * Runs are gone through seed by seed, so that one that is stopped early has all cells with fewer
 * seeds; finished ones are lines of the results file and are not run again. With --report nothing
 * is run: the file is turned into tables and plots. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/local/learner.h"
#include "bench/local/methods.h"
#include "bench/local/report.h"
#include "bench/local/results.h"
#include "bench/local/trial.h"

#define SETTINGS 16

struct options {
    const char *experiments, *methods; /* comma-separated; methods NULL: all */
    double settings[SETTINGS];
    unsigned setting_count; /* 0: those of the experiment */
    uint64_t seeds, submissions;
    const char *results, *report;
};

static const char usage[] =
    "reproduce_local [--experiments collection,central,local] [--only METHOD,...]\n"
    "  [--settings X,...] [--seeds 20] [--submissions 90000] [--results FILE]\n"
    "  [--report DIRECTORY]\n"
    "Methods of collection: plain, privunit, signs, laplace, plain_critic, privunit_critic,\n"
    "signs_printed, laplace_printed, plain_tutorial, signs_tutorial, laplace_tutorial; else\n"
    "reinforce, reinforce_20, dqn, dqn_random. A setting is an epsilon, or with central a noise "
    "multiplier; 0\n"
    "is without noise.\n";

/* True when NAME is one of the comma-separated WORDS, or there are none. */
static bool among(const char *words, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = words; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return words == NULL;
}

static bool number(const char *text, double low, double high, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= low && *out <= high;
}

static bool read_settings(char *text, struct options *o)
{
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ","))
        if (o->setting_count == SETTINGS ||
            !number(word, 0.0, 1000.0, &o->settings[o->setting_count++]))
            return false;
    return o->setting_count > 0;
}

static bool read_option(int which, char *text, struct options *o)
{
    double value = 0.0;
    switch (which) {
    case 'x': o->experiments = text; return true;
    case 'm': o->methods = text; return true;
    case 'e': return read_settings(text, o);
    case 's': return number(text, 1, 1000, &value) && (double)(o->seeds = (uint64_t)value) == value;
    case 'n':
        return number(text, TRIAL_HORIZON, 1e7, &value) &&
               (double)(o->submissions = (uint64_t)value) == value;
    case 'r': o->results = text; return true;
    case 'o': o->report = text; return true;
    default: return false;
    }
}

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"experiments", required_argument, NULL, 'x'}, {"only", required_argument, NULL, 'm'},
        {"settings", required_argument, NULL, 'e'},    {"seeds", required_argument, NULL, 's'},
        {"submissions", required_argument, NULL, 'n'}, {"results", required_argument, NULL, 'r'},
        {"report", required_argument, NULL, 'o'},      {0}};
    int which;
    while ((which = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (!read_option(which, optarg, o))
            return false;
    return optind == argc;
}

static bool keep(const struct options *o, const struct result *r)
{
    fprintf(stderr, "%s %s at %g, seed %" PRIu64 ": success %.0f, score %.3g, %.1f s\n",
            r->experiment, r->method, r->setting, r->seed, r->time, r->score, r->cpu_seconds);
    return results_append(o->results, r);
}

static bool collect(const struct options *o, const struct method *method, struct result *r)
{
    struct algorithm_request request;
    struct trial_result trial;
    if (results_have(o->results, r))
        return true;
    if (!method_request(method, r->setting, r->seed, &request) ||
        !trial_run(&request, o->submissions, &trial))
        return false;
    r->epsilon = r->setting;
    r->time = (double)trial.first_success;
    r->score = trial.area;
    r->length = trial.submissions;
    r->cpu_seconds = trial.cpu_seconds;
    return keep(o, r);
}

static bool learn(const struct options *o, const struct learner *learner,
                  enum algorithm_mechanism mechanism, struct result *r)
{
    struct learner_result learned;
    if (results_have(o->results, r))
        return true;
    if (!learner_run(learner, mechanism, r->setting, r->seed, &learned))
        return false;
    r->epsilon = learned.epsilon;
    r->time = (double)learned.solved;
    r->score = learned.mean_return;
    r->length = learned.length;
    r->cpu_seconds = learned.cpu_seconds;
    return keep(o, r);
}

static bool run_collection(const struct options *o, uint64_t seed)
{
    static const double epsilons[] = {1, 2, 5, 10};
    const double *setting = o->setting_count > 0 ? o->settings : epsilons;
    unsigned count = o->setting_count > 0 ? o->setting_count : 4;
    for (unsigned m = 0; m < method_count; m++) {
        for (unsigned e = 0; e < (methods[m].randomiser ? count : 1); e++) {
            struct result r = {.experiment = "collection", .seed = seed};
            snprintf(r.method, sizeof r.method, "%s", methods[m].name);
            r.setting = methods[m].randomiser ? setting[e] : 0.0;
            if (among(o->methods, r.method) && !collect(o, &methods[m], &r))
                return false;
        }
    }
    return true;
}

static bool run_learners(const struct options *o, bool local, uint64_t seed)
{
    static const double multipliers[] = {0, 0.25, 0.5, 1, 2, 4, 8};
    static const double epsilons[] = {0, 2, 5, 10, 20, 50, 100};
    const double *setting = o->setting_count > 0 ? o->settings : local ? epsilons : multipliers;
    unsigned count = o->setting_count > 0 ? o->setting_count : 7;
    for (unsigned a = 0; a < learner_count; a++) {
        for (unsigned e = 0; e < count; e++) {
            struct result r = {.setting = setting[e], .seed = seed};
            snprintf(r.experiment, sizeof r.experiment, "%s", local ? "local" : "central");
            snprintf(r.method, sizeof r.method, "%s", learners[a].name);
            if (among(o->methods, r.method) &&
                !learn(o, &learners[a], local ? MECHANISM_LDP_OBSERVATIONS : MECHANISM_DPSGD, &r))
                return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options o = {.experiments = "collection,central,local",
                        .seeds = 20,
                        .submissions = TRIAL_MOST,
                        .results = "docs/results/local.tsv"};
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    if (o.report)
        return report_write(o.results, o.report) ? 0 : 1;
    bool good = true;
    for (uint64_t seed = 1; good && seed <= o.seeds; seed++) {
        if (among(o.experiments, "collection"))
            good = run_collection(&o, seed);
        if (good && among(o.experiments, "central"))
            good = run_learners(&o, false, seed);
        if (good && among(o.experiments, "local"))
            good = run_learners(&o, true, seed);
    }
    return good ? 0 : 1;
}
