/* tacet audit: flags to an attack (algos/offline/membership_audit.h), scores of both worlds, and
 * what they prove. It reads no database: nobody's data take part. */
#include "cli/cli_audit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/offline/membership_audit.h"
#include "cli/cli_flags.h"
#include "cli/epsilon_lines.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define FALSE_ALARM 1e-6

static const char *const SABOTAGES[MEMBERSHIP_SABOTAGES] = {
    [MEMBERSHIP_SOUND] = "nothing",
    [MEMBERSHIP_HALF_NOISE] = "noise",
    [MEMBERSHIP_NO_CLIP] = "clip",
};

enum number { EXPERTS, STEPS, NOISE, DELTA, RUNS, NUMBER_COUNT };

static const struct {
    const char *name, *meaning;
    double usual, min, max;
    bool whole;
} NUMBERS[NUMBER_COUNT] = {
    [EXPERTS] = {"experts", "each joins a step with probability 1 / experts", 2, 1, 1000, true},
    [STEPS] = {"steps", "noisy steps of one training", 2, 1, 1000, true},
    [NOISE] = {"noise-multiplier", "noise deviation over the clip norm", 1, 0.05, 1000, false},
    [DELTA] = {"delta", "at which epsilon is told", 0.01, 1e-12, 0.5, false},
    [RUNS] = {"runs", "trainings in each of the two worlds", 20000, 2, 10000000, true},
};

struct options {
    const char *algorithm;
    enum membership_sabotage sabotage;
    double number[NUMBER_COUNT];
    bool json, help;
};

static int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int complain(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tacet audit: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

static int print_help(void)
{
    puts("usage: tacet audit [flags]\n\n"
         "Trains a policy with DP-SGD many times, on made-up data with and without one absurd\n"
         "expert, guesses from each policy which it was, and prints the lower bound of epsilon\n"
         "that the guesses prove, beside the epsilon that a certificate would state. Exit code 1\n"
         "when the bound exceeds it: then the guarantee does not hold.\n\n"
         "  --algorithm         NAME  cql, bcq or behaviour_cloning (cql)\n"
         "  --break             NAME  nothing, noise (half of it) or clip (none): the bound must\n"
         "                            then exceed the certificate (nothing)");
    for (int i = 0; i < NUMBER_COUNT; i++)
        printf("  --%-17s N     %s (%g)\n", NUMBERS[i].name, NUMBERS[i].meaning, NUMBERS[i].usual);
    puts("  --json                    print one JSON object\n"
         "  --help                    this text");
    return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
}

/* ---- flags */

static int read_number(const char *name, const char *text, struct options *out)
{
    for (int i = 0; i < NUMBER_COUNT; i++) {
        if (strcmp(name, NUMBERS[i].name) != 0)
            continue;
        char *end = NULL;
        double value = strtod(text, &end);
        bool number = end != text && *end == '\0';
        if (!number || !(value >= NUMBERS[i].min && value <= NUMBERS[i].max) ||
            (NUMBERS[i].whole && value != floor(value)))
            return complain(EXIT_USAGE, "--%s must be %s from %g to %g", name,
                            NUMBERS[i].whole ? "a whole number" : "a number", NUMBERS[i].min,
                            NUMBERS[i].max);
        out->number[i] = value;
        return 0;
    }
    return complain(EXIT_USAGE, "--%s: no such flag; --help lists them", name);
}

static int read_break(const char *text, struct options *out)
{
    for (int i = 0; i < MEMBERSHIP_SABOTAGES; i++) {
        if (strcmp(text, SABOTAGES[i]) == 0) {
            out->sabotage = (enum membership_sabotage)i;
            return 0;
        }
    }
    return complain(EXIT_USAGE, "--break must be nothing, noise or clip");
}

static int read_flags(int argc, char **argv, struct options *out)
{
    *out = (struct options){.algorithm = "cql"};
    for (int i = 0; i < NUMBER_COUNT; i++)
        out->number[i] = NUMBERS[i].usual;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            out->help = true;
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0) {
            out->json = true;
            continue;
        }
        if (strncmp(argv[i], "--", 2) != 0)
            return complain(EXIT_USAGE, "%s: flags begin with --; --help lists them", argv[i]);
        const char *name = argv[i] + 2;
        if (!cli_value_follows(argc, argv, i))
            return complain(EXIT_USAGE, "--%s: a value must follow", name);
        const char *value = argv[++i];
        int status = 0;
        if (strcmp(name, "algorithm") == 0)
            out->algorithm = value;
        else if (strcmp(name, "break") == 0)
            status = read_break(value, out);
        else
            status = read_number(name, value, out);
        if (status != 0)
            return status;
    }
    return 0;
}

/* ---- the attack */

/* COUNT scores of either world; false: the training failed. */
static bool collect(const struct membership_attack *attack, enum membership_sabotage sabotage,
                    double *scores[2], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (int with = 0; with < 2; with++)
            if (membership_attack_run(attack, sabotage, with != 0, NULL, &scores[with][i]) !=
                ALGORITHM_OK)
                return false;
    }
    return true;
}

static int report(const struct options *options, const struct dp_sgd_plan *claim,
                  const struct membership_finding *found)
{
    struct epsilon_lines lines = {0};
    epsilon_lines_text(&lines, "algorithm", options->algorithm, "trained by its own trainer");
    epsilon_lines_text(&lines, "broken", SABOTAGES[options->sabotage], "on purpose");
    epsilon_lines_upper(&lines, "epsilon_certified", claim->epsilon, "what a certificate states");
    epsilon_lines_lower(&lines, "epsilon_shown", found->epsilon,
                        "lower bound that the attack proves");
    epsilon_lines_number(&lines, "delta", claim->delta, "of both");
    epsilon_lines_number(&lines, "likely", found->p, "times the event was seen where it is likely");
    epsilon_lines_number(&lines, "unlikely", found->q, "times it was seen in the other world");
    epsilon_lines_number(&lines, "counted", found->counted, "runs of each world that were counted");
    epsilon_lines_number(&lines, "false_alarm", FALSE_ALARM,
                         "chance that a true claim is exceeded");
    if (!epsilon_lines_print(&lines, options->json))
        return complain(EXIT_FAILED, "standard output cannot be written");
    if (found->epsilon > claim->epsilon)
        return complain(EXIT_FAILED, "the bound exceeds the certificate: the guarantee does not "
                                     "hold");
    return 0;
}

static int judge(const struct options *options, const struct membership_attack *attack)
{
    const uint32_t runs = (uint32_t)options->number[RUNS];
    const struct dp_sgd_plan *claim = membership_attack_claim(attack);
    double *scores[2] = {calloc(runs, sizeof(double)), calloc(runs, sizeof(double))};
    int status = 0;
    if (!scores[0] || !scores[1]) {
        status = complain(EXIT_FAILED, "out of memory");
    } else if (!collect(attack, options->sabotage, scores, runs)) {
        status = complain(EXIT_FAILED, "the training failed");
    } else {
        struct membership_finding found =
            membership_lower_bound(scores[1], scores[0], runs, claim->delta, FALSE_ALARM);
        status = report(options, claim, &found);
    }
    free(scores[0]);
    free(scores[1]);
    return status;
}

int cli_audit(int argc, char **argv)
{
    struct options options;
    int status = read_flags(argc, argv, &options);
    if (status != 0)
        return status;
    if (options.help)
        return print_help();
    const struct algorithm *algorithm = algorithm_find(options.algorithm);
    if (!algorithm || !algorithm->needs_dataset || !algorithm->mechanisms[MECHANISM_DPSGD])
        return complain(EXIT_USAGE, "--algorithm must be one that trains on a dataset by DP-SGD");
    const struct membership_settings settings = {.algorithm = algorithm,
                                                 .experts = (uint32_t)options.number[EXPERTS],
                                                 .steps = (uint32_t)options.number[STEPS],
                                                 .noise_multiplier = options.number[NOISE],
                                                 .delta = options.number[DELTA],
                                                 .seed = 1};
    struct membership_attack *attack = NULL;
    const char *message = NULL;
    enum algorithm_status prepared = membership_attack_new(&settings, &attack, &message);
    if (prepared == ALGORITHM_NO_MEMORY)
        return complain(EXIT_FAILED, "out of memory");
    if (prepared != ALGORITHM_OK)
        return complain(EXIT_FAILED, "no such training can be planned%s%s", message ? ": " : "",
                        message ? message : "");
    status = judge(&options, attack);
    membership_attack_free(attack);
    return status;
}
