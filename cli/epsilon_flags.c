/* Reading the flags of `tacet epsilon`. */
#include "cli/epsilon_flags.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_flags.h"

enum { EXIT_USAGE = 2 };

#define LARGEST 1e300

struct flag {
    const char *name, *meaning;
    double min, max;
    bool whole, above_min, below_max; /* above_min: min itself is out of range */
};

static const struct flag FLAGS[FLAG_COUNT] = {
    [FLAG_SAMPLING_RATE] = {"sampling-rate", "chance of a unit to join a step (Poisson)", 0, 1,
                            false, true, false},
    [FLAG_NOISE_MULTIPLIER] = {"noise-multiplier", "standard deviation over clipping norm", 0,
                               LARGEST, false, true, false},
    [FLAG_SENSITIVITY] = {"sensitivity", "how far neighbours' values lie apart", 0, LARGEST, false,
                          true, false},
    [FLAG_SIGMA] = {"sigma", "standard deviation of the noise", 0, LARGEST, false, true, false},
    [FLAG_SCALE] = {"scale", "scale of the Laplace noise", 0, LARGEST, false, true, false},
    [FLAG_EACH_EPSILON] = {"each-epsilon", "epsilon of one run", 0, LARGEST, false, false, false},
    [FLAG_EACH_DELTA] = {"each-delta", "delta of one run", 0, 1, false, false, true},
    [FLAG_ACTIONS] = {"actions", "number of actions", 2, 64, true, false, false},
    [FLAG_CONCENTRATION] = {"concentration", "k of Dir(k p)", 0, LARGEST, false, true, false},
    [FLAG_MIN_PROBABILITY] = {"min-probability", "least probability of an action", 0, 0.5, false,
                              true, false},
    [FLAG_EXPERTS] = {"experts", "number of experts", 1, 1e9, true, false, false},
    [FLAG_TRAJECTORIES] = {"trajectories", "runs of the sparse vector", 1, 1e9, true, false, false},
    [FLAG_MAX_LENGTH] = {"max-length", "steps of the longest trajectory", 1, 1e9, true, false,
                         false},
    [FLAG_STEPS] = {"steps", "how many times it runs", 1, 1e12, true, false, false},
    [FLAG_DELTA] = {"delta", "delta at which epsilon is told", 0, 1, false, true, true},
    [FLAG_EPSILON] = {"epsilon", "instead of --delta: epsilon at which delta is told", 0, 1e6,
                      false, false, false},
    [FLAG_TARGET_EPSILON] = {"target-epsilon", "with --find: the epsilon to stay within", 0, 1e6,
                             false, true, false},
};

int epsilon_complain(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tacet epsilon: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

int epsilon_complain_of(const char *sentence)
{
    char name[40];
    size_t size = strcspn(sentence, " ");
    snprintf(name, sizeof name, "%.*s", (int)size, sentence);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    if (epsilon_flag_find(name) == FLAG_COUNT)
        return epsilon_complain(EXIT_USAGE, "--mechanism: %s", sentence);
    return epsilon_complain(EXIT_USAGE, "--%s:%s", name, sentence + size);
}

const char *epsilon_flag_name(enum epsilon_flag flag)
{
    return FLAGS[flag].name;
}

enum epsilon_flag epsilon_flag_find(const char *name)
{
    for (unsigned i = 0; i < FLAG_COUNT; i++)
        if (strcmp(FLAGS[i].name, name) == 0)
            return (enum epsilon_flag)i;
    return FLAG_COUNT;
}

void epsilon_flags_help(void)
{
    for (unsigned i = 0; i < FLAG_COUNT; i++)
        printf("  --%-17s %-6s %s\n", FLAGS[i].name, FLAGS[i].whole ? "N" : "X", FLAGS[i].meaning);
}

static int complain_of_range(const struct flag *flag, const char *text)
{
    const char *kind = flag->whole ? "an integer" : "a number";
    const char *low = flag->above_min ? "above" : "of at least";
    if (flag->max == LARGEST)
        return epsilon_complain(EXIT_USAGE, "--%s: \"%s\" is not %s %s %g", flag->name, text, kind,
                                low, flag->min);
    return epsilon_complain(EXIT_USAGE, "--%s: \"%s\" is not %s %s %g and %s %g", flag->name, text,
                            kind, low, flag->min, flag->below_max ? "below" : "at most", flag->max);
}

static int read_number(enum epsilon_flag which, const char *text, struct epsilon_options *options)
{
    const struct flag *flag = &FLAGS[which];
    char *end = NULL;
    /* strtod also knows hexadecimal, "inf" and leading blanks, which nobody means here. */
    bool plain = text[0] != '\0' && strspn(text, "0123456789+-.eE") == strlen(text);
    double x = plain ? strtod(text, &end) : 0.0;
    bool number = plain && end != text && *end == '\0';
    bool high = flag->above_min ? x > flag->min : x >= flag->min;
    bool low = flag->below_max ? x < flag->max : x <= flag->max;
    if (!number || !high || !low || (flag->whole && x != floor(x)))
        return complain_of_range(flag, text);
    if (options->given & FLAG_BIT(which))
        return epsilon_complain(EXIT_USAGE, "--%s is given twice", flag->name);
    options->given |= FLAG_BIT(which);
    options->value[which] = x;
    return 0;
}

static int read_text(const char *name, const char *text, const char **out)
{
    if (text[0] == '\0')
        return epsilon_complain(EXIT_USAGE, "--%s: the value is empty", name);
    if (*out)
        return epsilon_complain(EXIT_USAGE, "--%s is given twice", name);
    *out = text;
    return 0;
}

static int read_value(const char *name, const char *value, struct epsilon_options *out)
{
    const char **text = strcmp(name, "mechanism") == 0 ? &out->mechanism
                        : strcmp(name, "events") == 0  ? &out->events
                        : strcmp(name, "find") == 0    ? &out->find
                                                       : NULL;
    enum epsilon_flag flag = epsilon_flag_find(name);
    if (!text && flag == FLAG_COUNT)
        return epsilon_complain(EXIT_USAGE, "--%s: no such flag; --help lists them", name);
    if (!value)
        return epsilon_complain(EXIT_USAGE, "--%s: a value must follow", name);
    return text ? read_text(name, value, text) : read_number(flag, value, out);
}

int epsilon_flags_read(int argc, char **argv, struct epsilon_options *out)
{
    *out = (struct epsilon_options){0};
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i], *equals = strchr(argument, '=');
        char name[40];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            out->help = true;
            return 0;
        }
        if (strcmp(argument, "--json") == 0) {
            out->json = true;
            continue;
        }
        if (strncmp(argument, "--", 2) != 0)
            return epsilon_complain(EXIT_USAGE, "%s: no such argument; --help lists flags",
                                    argument);
        size_t size = equals ? (size_t)(equals - argument - 2) : strlen(argument + 2);
        snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : sizeof name - 1),
                 argument + 2);
        const char *value = equals                             ? equals + 1
                            : cli_value_follows(argc, argv, i) ? argv[i + 1]
                                                               : NULL;
        int status = read_value(name, value, out);
        if (status != 0)
            return status;
        i += !equals;
    }
    return 0;
}

int epsilon_flags_check(const struct epsilon_options *options, unsigned needs, unsigned may,
                        const char *of)
{
    for (unsigned i = 0; i < FLAG_COUNT; i++) {
        bool given = options->given & FLAG_BIT(i);
        if (given && !((needs | may) & FLAG_BIT(i)))
            return epsilon_complain(EXIT_USAGE, "--%s: is not a flag of %s", FLAGS[i].name, of);
        if (!given && (needs & FLAG_BIT(i)))
            return epsilon_complain(EXIT_USAGE, "--%s is missing: %s needs it", FLAGS[i].name, of);
    }
    return 0;
}
