/* The flags of `tacet experts`. What flags mean together is in expert_flags_check.c. */
#include "cli/expert_flags.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_flags.h"
#include "cli/expert_flags_check.h"
#include "cli/http_out.h"

#define MAX_EXPERTS      1000000 /* ids have six digits */
#define MAX_TRAJECTORIES 100000
#define MAX_PATIENCE     86400

enum flag_kind { FLAG_TEXT, FLAG_TEXT_OR_BARE, FLAG_SECRET, FLAG_COUNT, FLAG_REAL, FLAG_SWITCH };

struct flag {
    const char *name;
    enum flag_kind kind;
    size_t offset;        /* in struct expert_options */
    uint64_t least, most; /* of a count */
    const char *value;    /* its name in the help */
    const char *meaning;
};

#define AT(MEMBER) offsetof(struct expert_options, MEMBER)

/* clang-format off */
static const struct flag FLAGS[] = {
    {"environment", FLAG_TEXT, AT(environment), 0, 0, "NAME", "world that they play in (cartpole)"},
    {"experts", FLAG_COUNT, AT(experts), 1, MAX_EXPERTS, "N", "how many (300); each three share a training run"},
    {"trajectories", FLAG_COUNT, AT(trajectories), 1, MAX_TRAJECTORIES, "N", "episodes of each (20)"},
    {"max-steps", FLAG_COUNT, AT(max_steps), 1, EXPERTS_MAX_STEPS, "N", "steps after which an episode is truncated (the world's own)"},
    {"select", FLAG_TEXT, AT(select), 0, 0, "HOW", "a training run's experts: its top three, or an early, a middle and the best of its moments (top)"},
    {"min-action-probability", FLAG_REAL, AT(min_action_probability), 0, 0, "P", "probability of each action but the best (0.02)"},
    {"seed", FLAG_COUNT, AT(seed), 0, UINT64_MAX, "N", "the same seed gives the same bytes, whatever the threads (1)"},
    {"threads", FLAG_COUNT, AT(threads), 1, EXPERT_CREW_MAX_THREADS, "N", "threads (as many as cores)"},
    {"output", FLAG_TEXT, AT(output), 0, 0, "FILE", "where trajectories go (standard output); a killed run is gone on with by the same command"},
    {"compress", FLAG_TEXT, AT(compress), 0, 0, "HOW", "gzip, zstd or none (by FILE's ending: .gz, .zst)"},
    {"policies", FLAG_TEXT_OR_BARE, AT(policies), 0, 0, "[FILE]", "write or upload the experts' networks too (" EXPERT_DEFAULT_POLICIES ")"},
    {"state", FLAG_TEXT, AT(state), 0, 0, "FILE", "what is finished, for going on (beside the output)"},
    {"upload", FLAG_TEXT, AT(upload), 0, 0, "URL", "send them to a Tacet server"},
    {"token", FLAG_SECRET, AT(token), 0, 0, "TOKEN", "a steward's; better in TACET_TOKEN or a file: others can see flags for a moment"},
    {"token-file", FLAG_TEXT, AT(token_file), 0, 0, "FILE", "the token is this file's first line"},
    {"ca-file", FLAG_TEXT, AT(ca_file), 0, 0, "FILE", "certificates (PEM) to trust instead of the system's"},
    {"dataset", FLAG_TEXT, AT(dataset), 0, 0, "ID", "upload to this dataset instead of a new one"},
    {"name", FLAG_TEXT, AT(name), 0, 0, "NAME", "of the new dataset (ENVIRONMENT-experts)"},
    {"epsilon", FLAG_REAL, AT(epsilon), 0, 0, "E", "budget of the new dataset, for each expert; required for one"},
    {"delta", FLAG_REAL, AT(delta), 0, 0, "D", "budget of the new dataset (1e-5)"},
    {"seal", FLAG_SWITCH, AT(seal), 0, 0, "", "seal the dataset when all is there"},
    {"retry-for", FLAG_COUNT, AT(patience), 0, MAX_PATIENCE, "S", "seconds for which a server may be away (300)"},
    {"report", FLAG_TEXT_OR_BARE, AT(report), 0, 0, "[FILE]", "how good they are, in numbers (standard error; JSON if FILE ends in .json)"},
    {"plot", FLAG_TEXT, AT(plot), 0, 0, "FILE", "how good they are, as a picture (SVG)"},
    {"from", FLAG_TEXT, AT(from), 0, 0, "FILE", "report on and plot these trajectories (NDJSON, gzip, zstd) instead of training"},
};
/* clang-format on */
#define FLAG_COUNT_ALL (sizeof FLAGS / sizeof FLAGS[0])

void expert_flags_help(void)
{
    puts("usage: tacet experts [flags] > experts.ndjson\n"
         "       tacet experts --upload URL --epsilon E [flags]\n"
         "       tacet experts --report [--plot FILE] --from FILE\n\n"
         "Trains a population of different experts: PPO in worlds whose physics vary, stopped at\n"
         "different skills. They play in the usual world; every trajectory becomes one line as\n"
         "POST /v1/datasets/{id}/trajectories takes it.\n");
    for (size_t i = 0; i < FLAG_COUNT_ALL; i++)
        printf("  --%-22s %-7s %s\n", FLAGS[i].name, FLAGS[i].value, FLAGS[i].meaning);
    puts("  --help                           this text");
}

int expert_complain(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tacet experts: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

static int read_count(const struct flag *flag, const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long x = strtoull(text, &end, 10);
    bool number = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    if (!number || x < flag->least || x > flag->most)
        return expert_complain(EXPERT_USAGE,
                               "--%s: \"%s\" is not an integer from %" PRIu64 " to %" PRIu64,
                               flag->name, text, flag->least, flag->most);
    *out = x;
    return 0;
}

static int read_real(const struct flag *flag, const char *text, double *out)
{
    char *end = NULL;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(x))
        return expert_complain(EXPERT_USAGE, "--%s: \"%s\" is not a number", flag->name, text);
    *out = x;
    return 0;
}

/* Takes the token and leaves crosses where it stood. */
static int read_secret(const struct flag *flag, char *text, char *out)
{
    size_t length = strlen(text);
    if (length < EXPERT_TOKEN_SIZE)
        memcpy(out, text, length + 1);
    memset(text, 'x', length);
    if (length >= EXPERT_TOKEN_SIZE)
        return expert_complain(EXPERT_USAGE, "--%s: too long for a token", flag->name);
    return 0;
}

static int read_value(const struct flag *flag, char *text, struct expert_options *options)
{
    void *place = (char *)options + flag->offset;
    if (flag->kind == FLAG_COUNT)
        return read_count(flag, text, place);
    if (flag->kind == FLAG_REAL)
        return read_real(flag, text, place);
    if (flag->kind == FLAG_SWITCH)
        return expert_complain(EXPERT_USAGE, "--%s takes no value", flag->name);
    if (text[0] == '\0')
        return expert_complain(EXPERT_USAGE, "--%s: the value is empty", flag->name);
    if (flag->kind == FLAG_SECRET)
        return read_secret(flag, text, place);
    *(const char **)place = text;
    return 0;
}

static const struct flag *find_flag(const char *name, size_t length)
{
    for (size_t i = 0; i < FLAG_COUNT_ALL; i++)
        if (strlen(FLAGS[i].name) == length && strncmp(FLAGS[i].name, name, length) == 0)
            return &FLAGS[i];
    return NULL;
}

/* Reads argv[*i] and, where it has one, its value behind it. */
static int read_flag(int argc, char **argv, int *i, struct expert_options *options)
{
    char *argument = argv[*i];
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
        options->help = true;
        return 0;
    }
    if (strncmp(argument, "--", 2) != 0)
        return expert_complain(EXPERT_USAGE, "unexpected argument \"%s\" (try --help)", argument);
    char *name = argument + 2, *equals = strchr(name, '=');
    const struct flag *flag = find_flag(name, equals ? (size_t)(equals - name) : strlen(name));
    if (!flag)
        return expert_complain(EXPERT_USAGE, "unknown flag \"%s\" (try --help)", argument);
    if (equals)
        return read_value(flag, equals + 1, options);
    if (flag->kind == FLAG_SWITCH) {
        *(bool *)((char *)options + flag->offset) = true;
        return 0;
    }
    if (flag->kind == FLAG_TEXT_OR_BARE && (*i + 1 >= argc || argv[*i + 1][0] == '-')) {
        *(const char **)((char *)options + flag->offset) = "";
        return 0;
    }
    if (!cli_value_follows(argc, argv, *i))
        return expert_complain(EXPERT_USAGE, "--%s needs a value", flag->name);
    return read_value(flag, argv[++*i], options);
}

static unsigned core_count(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return 1;
    int count = CPU_COUNT(&cores);
    if (count < 1)
        return 1;
    return count < EXPERT_CREW_MAX_THREADS ? (unsigned)count : EXPERT_CREW_MAX_THREADS;
}

int expert_flags_read(int argc, char **argv, struct expert_options *out)
{
    *out = (struct expert_options){
        .environment = "cartpole",
        .experts = 300,
        .trajectories = 20,
        .seed = 1,
        .threads = core_count(),
        .patience = HTTP_OUT_PATIENCE_S,
        .min_action_probability = 0.02,
        .epsilon = NAN,
        .delta = NAN,
    };
    for (int i = 0; i < argc; i++) {
        int status = read_flag(argc, argv, &i, out);
        if (status != 0 || out->help)
            return status;
    }
    return expert_flags_check(out);
}

void expert_flags_clear(struct expert_options *options)
{
    sodium_memzero(options->token, sizeof options->token);
}
