/* The flags of `tacet epsilon`. */
#include "cli/epsilon_flags.h"

#include <stdio.h>
#include <string.h>

#include "cli/epsilon_mechanisms.h"

#define FLAG_OPTIONS            struct epsilon_options
#define NUMBER(FLAG, LOW, HIGH) AS_NUMBER(value[FLAG], LOW, HIGH), NULL, "X"
#define WHOLE(FLAG, LOW, HIGH)  AS_WHOLE(value[FLAG], LOW, HIGH), NULL, "N"

static const struct flag TABLE[] = {
    [FLAG_SAMPLING_RATE] = {"sampling-rate", NUMBER(FLAG_SAMPLING_RATE, 0, 1),
                            "probability that a unit joins a step (Poisson)", FLAG_ABOVE},
    [FLAG_NOISE_MULTIPLIER] = {"noise-multiplier", NUMBER(FLAG_NOISE_MULTIPLIER, 0, FLAG_UNBOUNDED),
                               "standard deviation over clipping norm", FLAG_ABOVE},
    [FLAG_SENSITIVITY] = {"sensitivity", NUMBER(FLAG_SENSITIVITY, 0, FLAG_UNBOUNDED),
                          "how far neighbours' values lie apart", FLAG_ABOVE},
    [FLAG_SIGMA] = {"sigma", NUMBER(FLAG_SIGMA, 0, FLAG_UNBOUNDED),
                    "standard deviation of the noise", FLAG_ABOVE},
    [FLAG_SCALE] = {"scale", NUMBER(FLAG_SCALE, 0, FLAG_UNBOUNDED), "scale of the Laplace noise",
                    FLAG_ABOVE},
    [FLAG_EACH_EPSILON] = {"each-epsilon", NUMBER(FLAG_EACH_EPSILON, 0, FLAG_UNBOUNDED),
                           "epsilon of one run", 0},
    [FLAG_EACH_DELTA] = {"each-delta", NUMBER(FLAG_EACH_DELTA, 0, 1), "delta of one run",
                         FLAG_BELOW},
    [FLAG_ACTIONS] = {"actions", WHOLE(FLAG_ACTIONS, 2, 64), "number of actions", 0},
    [FLAG_CONCENTRATION] = {"concentration", NUMBER(FLAG_CONCENTRATION, 0, FLAG_UNBOUNDED),
                            "k of Dir(k p)", FLAG_ABOVE},
    [FLAG_MIN_PROBABILITY] = {"min-probability", NUMBER(FLAG_MIN_PROBABILITY, 0, 0.5),
                              "least probability of an action", FLAG_ABOVE},
    [FLAG_EXPERTS] = {"experts", WHOLE(FLAG_EXPERTS, 1, 1e9), "number of experts", 0},
    [FLAG_TRAJECTORIES] = {"trajectories", WHOLE(FLAG_TRAJECTORIES, 1, 1e9),
                           "runs of the sparse vector", 0},
    [FLAG_MAX_LENGTH] = {"max-length", WHOLE(FLAG_MAX_LENGTH, 1, 1e9),
                         "steps of the longest trajectory", 0},
    [FLAG_STEPS] = {"steps", WHOLE(FLAG_STEPS, 1, 1e12), "how many times it runs", 0},
    [FLAG_DELTA] = {"delta", NUMBER(FLAG_DELTA, 0, 1), "delta at which epsilon is stated",
                    FLAG_ABOVE | FLAG_BELOW},
    [FLAG_EPSILON] = {"epsilon", NUMBER(FLAG_EPSILON, 0, 1e6),
                      "instead of --delta: epsilon at which delta is computed", 0},
    [FLAG_TARGET_EPSILON] = {"target-epsilon", NUMBER(FLAG_TARGET_EPSILON, 0, 1e6),
                             "with --find: the epsilon to stay within", FLAG_ABOVE},
    {"mechanism", AS_TEXT(mechanism), NULL, "NAME", "one of the list above", 0},
    {"find", AS_TEXT(find), NULL, "NAME", "solve for noise-multiplier (sigma, scale) or steps", 0},
    {"events", AS_TEXT(events), NULL, "FILE",
     "a tree of DpEvents in JSON, or an array of them; - reads standard input", 0},
    {"json", AS_SWITCH(json), NULL, "", "print one JSON object", 0},
};

const struct flags epsilon_flags = {
    .program = "tacet epsilon",
    .usage = "usage: tacet epsilon --mechanism NAME [flags] --delta D\n       tacet epsilon "
             "--events FILE --delta D\n\nSays what a mechanism costs, with certified upper and "
             "lower bounds, by the accountants\nthat the service uses.\n\n",
    .more = epsilon_mechanisms_help,
    FLAG_TABLE(TABLE),
    .once = true,
};

int epsilon_complain_of(const char *sentence)
{
    char name[40];
    size_t size = strcspn(sentence, " ");
    snprintf(name, sizeof name, "%.*s", (int)size, sentence);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    if (epsilon_flag_find(name) == EPSILON_FLAGS)
        return cli_complain(&epsilon_flags, CLI_USAGE, "--mechanism: %s", sentence);
    return cli_complain(&epsilon_flags, CLI_USAGE, "--%s:%s", name, sentence + size);
}

const char *epsilon_flag_name(enum epsilon_flag flag)
{
    return TABLE[flag].name;
}

enum epsilon_flag epsilon_flag_find(const char *name)
{
    unsigned flag = 0;
    while (flag < EPSILON_FLAGS && strcmp(TABLE[flag].name, name) != 0)
        flag++;
    return (enum epsilon_flag)flag;
}

int epsilon_flags_check(const struct epsilon_options *options, unsigned needs, unsigned may,
                        const char *of)
{
    for (unsigned i = 0; i < EPSILON_FLAGS; i++) {
        bool given = options->given & FLAG_BIT(i);
        if (given && !((needs | may) & FLAG_BIT(i)))
            return cli_complain(&epsilon_flags, CLI_USAGE, "--%s: is not a flag of %s",
                                TABLE[i].name, of);
        if (!given && (needs & FLAG_BIT(i)))
            return cli_complain(&epsilon_flags, CLI_USAGE, "--%s is missing: %s needs it",
                                TABLE[i].name, of);
    }
    return 0;
}
