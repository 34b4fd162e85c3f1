/* tacet audit: flags to an attack (algos/offline/membership_audit.h), scores of both worlds, and
 * what they prove. It reads no database: nobody's data take part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/catalogue/algorithms.h"
#include "algos/offline/membership_audit.h"
#include "cli/audit_all.h"
#include "cli/cli.h"
#include "cli/epsilon_lines.h"
#include "memory/memory.h"

struct audit_options {
    const char *algorithm;
    int sabotage; /* enum membership_sabotage */
    double experts, steps, noise_multiplier, delta, runs, effort;
    bool all, json;
};

#define FLAG_OPTIONS struct audit_options

static const struct flag TABLE[] = {
    {"algorithm", AS_ANY_TEXT(algorithm), "cql", "NAME", "cql, bcq or behaviour_cloning", 0},
    {"break", AS_CHOICE(sabotage, membership_sabotages), "nothing", "NAME",
     "nothing, noise (half of it), clip (none) or wide_clip (twice as wide): the bound must then "
     "exceed the certificate",
     0},
    {"experts", AS_WHOLE(experts, 1, 1000), "2", "N",
     "each joins a step with probability 1 / experts", 0},
    {"steps", AS_WHOLE(steps, 1, 1000), "2", "N", "noisy steps of one training", 0},
    {"noise-multiplier", AS_NUMBER(noise_multiplier, 0.05, 1000), "1", "X",
     "noise deviation over the clip norm", 0},
    {"delta", AS_NUMBER(delta, 1e-12, 0.5), "0.01", "X", "delta at which epsilon is stated", 0},
    {"runs", AS_WHOLE(runs, 2, 10000000), "20000", "N", "trainings in each of the two worlds", 0},
    {"all", AS_SWITCH(all), NULL, "",
     "every noise and every such algorithm, as a table; takes minutes; can be combined with "
     "--break, --effort and --json",
     0},
    {"effort", AS_NUMBER(effort, 1e-4, 1), "1", "X", "with --all: share of its draws and trainings",
     0},
    {"json", AS_SWITCH(json), NULL, "", "print one JSON object; with --all one for each row", 0},
};

static const struct flags FLAGS = {
    .program = "tacet audit",
    .usage =
        "usage: tacet audit [flags]\n\n"
        "Trains a policy with DP-SGD many times, on made-up data with and without one absurd\n"
        "expert, guesses from each policy which it was, and prints the lower bound of epsilon\n"
        "that the guesses prove, beside the epsilon that a certificate would state. Exit code "
        "1\n"
        "when the bound exceeds it: then the guarantee does not hold.\n\n",
    FLAG_TABLE(TABLE),
};

/* ---- the attack */

/* Computes COUNT scores in each of the two worlds; false: the training failed. */
static bool collect_scores(const struct membership_attack *attack,
                           enum membership_sabotage sabotage, double *scores[2], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (int with = 0; with < 2; with++)
            if (membership_attack_run(attack, sabotage, with != 0, NULL, &scores[with][i]) !=
                ALGORITHM_OK)
                return false;
    }
    return true;
}

static int report_finding(const struct audit_options *options, const struct dp_sgd_plan *claim,
                          const struct membership_finding *found)
{
    struct epsilon_lines lines = {0};
    epsilon_lines_text(&lines, "algorithm", options->algorithm, "trained by its own trainer");
    epsilon_lines_text(&lines, "broken", membership_sabotages[options->sabotage], "on purpose");
    epsilon_lines_number(&lines, EPSILON_UPPER, "epsilon_certified", claim->epsilon,
                         "what a certificate states");
    epsilon_lines_number(&lines, EPSILON_LOWER, "epsilon_shown", found->epsilon,
                         "lower bound that the attack proves");
    epsilon_lines_number(&lines, EPSILON_EXACT, "delta", claim->delta, "of both");
    epsilon_lines_number(&lines, EPSILON_EXACT, "likely", found->p,
                         "times the event was seen where it is likely");
    epsilon_lines_number(&lines, EPSILON_EXACT, "unlikely", found->q,
                         "times it was seen in the other world");
    epsilon_lines_number(&lines, EPSILON_EXACT, "counted", found->counted,
                         "runs of each world that were counted");
    epsilon_lines_number(&lines, EPSILON_EXACT, "false_alarm", AUDIT_ALGORITHM_FALSE_ALARM,
                         "chance that a true claim is exceeded");
    if (!epsilon_lines_print(&lines, options->json))
        return cli_complain(&FLAGS, CLI_FAILED, "standard output cannot be written");
    if (found->epsilon > claim->epsilon)
        return cli_complain(&FLAGS, CLI_FAILED,
                            "the bound exceeds the certificate: the guarantee does not "
                            "hold");
    return 0;
}

static int judge_attack(const struct audit_options *options, const struct membership_attack *attack)
{
    const uint32_t runs = (uint32_t)options->runs;
    const struct dp_sgd_plan *claim = membership_attack_claim(attack);
    double *scores[2] = {memory_new(runs, sizeof(double)), memory_new(runs, sizeof(double))};
    int status = CLI_FAILED;
    if (collect_scores(attack, (enum membership_sabotage)options->sabotage, scores, runs)) {
        struct membership_finding found = membership_lower_bound(
            scores[1], scores[0], runs, claim->delta, AUDIT_ALGORITHM_FALSE_ALARM);
        status = report_finding(options, claim, &found);
    } else {
        cli_complain(&FLAGS, CLI_FAILED, "the training failed");
    }
    free(scores[0]);
    free(scores[1]);
    return status;
}

static int judge_everything(const struct audit_options *options)
{
    switch (audit_everything((enum membership_sabotage)options->sabotage, options->effort,
                             options->json)) {
    case AUDIT_ALL_STANDS: return 0;
    case AUDIT_ALL_REFUTED:
        return cli_complain(&FLAGS, CLI_FAILED, "a claim is refuted: the guarantee does not hold");
    case AUDIT_ALL_FAILED: break;
    }
    return cli_complain(&FLAGS, CLI_FAILED, "a training failed, or there was no randomness");
}

/* Refuses a GIVEN flag that would be ignored. */
static int refuse_ignored(uint64_t given, bool all)
{
    for (size_t i = 0; i < FLAGS.count; i++) {
        const char *name = TABLE[i].name;
        bool of_both =
            strcmp(name, "all") == 0 || strcmp(name, "break") == 0 || strcmp(name, "json") == 0;
        bool of_all = strcmp(name, "effort") == 0;
        if ((given >> i & 1) && !of_both && of_all != all)
            return cli_complain(&FLAGS, CLI_USAGE, "--%s %s", name,
                                all ? "does nothing with --all" : "goes with --all");
    }
    return CLI_GO_ON;
}

int cli_audit(int argc, char **argv)
{
    struct audit_options options = {.json = false};
    struct flags_found found;
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status == CLI_GO_ON)
        status = refuse_ignored(found.given, options.all);
    if (status != CLI_GO_ON)
        return status;
    if (options.all)
        return judge_everything(&options);
    const struct algorithm *algorithm = algorithm_find(options.algorithm);
    if (!algorithm || algorithm->kind != ALGORITHM_LEARNS_FROM_DATA ||
        !algorithm->mechanisms[MECHANISM_DPSGD])
        return cli_complain(&FLAGS, CLI_USAGE,
                            "--algorithm must be one that trains on a dataset by DP-SGD");
    const struct membership_settings settings = {.algorithm = algorithm,
                                                 .experts = (uint32_t)options.experts,
                                                 .steps = (uint32_t)options.steps,
                                                 .noise_multiplier = options.noise_multiplier,
                                                 .delta = options.delta,
                                                 .seed = 1};
    struct membership_attack *attack = NULL;
    const char *message = NULL;
    if (membership_attack_new(&settings, &attack, &message) != ALGORITHM_OK)
        return cli_complain(&FLAGS, CLI_FAILED, "no such training can be planned: %s",
                            message ? message : "memory or numbers do not allow it");
    status = judge_attack(&options, attack);
    membership_attack_free(attack);
    return status;
}
