/* `tacet experts`: flags, files and progress. The work is in expert_crew.c, the text in
 * expert_lines.c. Standard output carries nothing but NDJSON. */
#include "server/cli_experts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/expert_crew.h"
#include "server/progress.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define MAX_EXPERTS      1000000 /* ids have six digits */
#define MAX_TRAJECTORIES 100000
/* Steps of one expert: its lines are held in memory, about 60 bytes a step in CartPole. */
#define MAX_STEPS_IN_ALL 2000000
#define OUTPUT_BUFFER    ((size_t)1 << 20)
#define DEFAULT_POLICIES "policies.ndjson"

struct options {
    const char *environment;
    const char *output;   /* NULL: standard output */
    const char *policies; /* NULL: none */
    uint64_t experts, trajectories, max_steps, seed, threads;
    double min_action_probability;
    bool help;
};

enum flag_kind { FLAG_TEXT, FLAG_FILE_OR_DEFAULT, FLAG_COUNT, FLAG_REAL };

struct flag {
    const char *name;
    enum flag_kind kind;
    size_t offset;        /* in struct options */
    uint64_t least, most; /* of a count */
    const char *value;    /* its name in the help */
    const char *meaning;
};

static const struct flag FLAGS[] = {
    {"environment", FLAG_TEXT, offsetof(struct options, environment), 0, 0, "NAME",
     "world that they play in (cartpole)"},
    {"experts", FLAG_COUNT, offsetof(struct options, experts), 1, MAX_EXPERTS, "N",
     "how many (300); each three share a training run"},
    {"trajectories", FLAG_COUNT, offsetof(struct options, trajectories), 1, MAX_TRAJECTORIES, "N",
     "episodes of each (20)"},
    {"max-steps", FLAG_COUNT, offsetof(struct options, max_steps), 1, EXPERTS_MAX_STEPS, "N",
     "steps after which an episode is truncated (200)"},
    {"min-action-probability", FLAG_REAL, offsetof(struct options, min_action_probability), 0, 0,
     "P", "probability of each action but the best (0.02)"},
    {"seed", FLAG_COUNT, offsetof(struct options, seed), 0, UINT64_MAX, "N",
     "the same seed gives the same bytes, whatever the threads (1)"},
    {"threads", FLAG_COUNT, offsetof(struct options, threads), 1, EXPERT_CREW_MAX_THREADS, "N",
     "threads (as many as cores)"},
    {"output", FLAG_TEXT, offsetof(struct options, output), 0, 0, "FILE",
     "where trajectories go (standard output)"},
    {"policies", FLAG_FILE_OR_DEFAULT, offsetof(struct options, policies), 0, 0, "[FILE]",
     "write the experts' networks too (" DEFAULT_POLICIES ")"},
};
#define FLAG_COUNT_ALL (sizeof FLAGS / sizeof FLAGS[0])

static void print_help(void)
{
    puts("usage: tacet experts [flags] > experts.ndjson\n\n"
         "Trains a population of different experts: PPO in worlds whose physics vary, stopped at\n"
         "different skills. They play in the usual world; every trajectory becomes one line as\n"
         "POST /v1/datasets/{id}/trajectories takes it.\n");
    for (size_t i = 0; i < FLAG_COUNT_ALL; i++)
        printf("  --%-22s %-7s %s\n", FLAGS[i].name, FLAGS[i].value, FLAGS[i].meaning);
    puts("  --help                           this text");
}

/* One line on standard error; gives the exit status. */
__attribute__((format(printf, 2, 3))) static int complain(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tacet experts: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

static int read_value(const struct flag *flag, const char *text, struct options *options)
{
    char *end = NULL;
    void *place = (char *)options + flag->offset;
    errno = 0;
    if (flag->kind == FLAG_COUNT) {
        unsigned long long x = strtoull(text, &end, 10);
        bool number = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
        if (!number || x < flag->least || x > flag->most)
            return complain(EXIT_USAGE,
                            "--%s: \"%s\" is not an integer from %" PRIu64 " to %" PRIu64,
                            flag->name, text, flag->least, flag->most);
        *(uint64_t *)place = x;
    } else if (flag->kind == FLAG_REAL) {
        double x = strtod(text, &end);
        if (end == text || *end != '\0' || !isfinite(x))
            return complain(EXIT_USAGE, "--%s: \"%s\" is not a number", flag->name, text);
        *(double *)place = x;
    } else {
        if (text[0] == '\0')
            return complain(EXIT_USAGE, "--%s: the value is empty", flag->name);
        *(const char **)place = text;
    }
    return 0;
}

static const struct flag *find_flag(const char *name, size_t length)
{
    for (size_t i = 0; i < FLAG_COUNT_ALL; i++) {
        if (strlen(FLAGS[i].name) == length && strncmp(FLAGS[i].name, name, length) == 0)
            return &FLAGS[i];
    }
    return NULL;
}

/* Reads argv[*i] and, where it has one, its value behind it. */
static int read_flag(int argc, char **argv, int *i, struct options *options)
{
    const char *argument = argv[*i];
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
        options->help = true;
        return 0;
    }
    if (strncmp(argument, "--", 2) != 0)
        return complain(EXIT_USAGE, "unexpected argument \"%s\" (try --help)", argument);
    const char *name = argument + 2, *equals = strchr(name, '=');
    const struct flag *flag = find_flag(name, equals ? (size_t)(equals - name) : strlen(name));
    if (!flag)
        return complain(EXIT_USAGE, "unknown flag \"%s\" (try --help)", argument);
    if (equals)
        return read_value(flag, equals + 1, options);
    bool more = *i + 1 < argc;
    if (flag->kind == FLAG_FILE_OR_DEFAULT && (!more || argv[*i + 1][0] == '-'))
        return read_value(flag, DEFAULT_POLICIES, options);
    if (!more)
        return complain(EXIT_USAGE, "--%s needs a value", flag->name);
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

/* No experts for NAME: for which worlds there are. */
static int complain_of_world(const char *name)
{
    char known[256] = "";
    unsigned count = 0;
    size_t used = 0;
    const struct env *const *worlds = env_all(&count);
    for (unsigned i = 0; i < count && used < sizeof known; i++)
        if (experts_find(worlds[i]))
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     used > 0 ? ", " : "", worlds[i]->name);
    return complain(EXIT_USAGE, "--environment: no experts are known for \"%s\", only for: %s",
                    name, known);
}

/* Checks what no single flag can, and fills the request. */
static int make_request(const struct options *options, struct expert_request *out)
{
    const struct env *env = env_find(options->environment);
    const struct expert_population *population = env ? experts_find(env) : NULL;
    if (!population)
        return complain_of_world(options->environment);
    double p = options->min_action_probability;
    if (p < 0.0 || p * env->action_count > 1.0)
        return complain(EXIT_USAGE, "--min-action-probability: %g is not from 0 to 1/%u", p,
                        env->action_count);
    if (options->trajectories * options->max_steps > MAX_STEPS_IN_ALL)
        return complain(EXIT_USAGE, "--trajectories times --max-steps is more than %d",
                        MAX_STEPS_IN_ALL);
    if (options->output && options->policies && strcmp(options->output, options->policies) == 0)
        return complain(EXIT_USAGE, "--output and --policies are the same file");
    *out = (struct expert_request){
        .env = env,
        .population = population,
        .seed = options->seed,
        .experts = options->experts,
        .trajectories = (uint32_t)options->trajectories,
        .max_steps = (uint32_t)options->max_steps,
        .min_action_probability = p,
        .policies = options->policies != NULL,
    };
    return 0;
}

/* A file being written. */
struct sink {
    const char *name;
    FILE *file; /* NULL: none */
};

static int sink_failed(const struct sink *sink)
{
    return complain(EXIT_FAILED, "cannot write %s: %s", sink->name, strerror(errno));
}

/* NAME NULL: standard output. */
static int sink_open(struct sink *sink, const char *name)
{
    *sink = (struct sink){name ? name : "standard output", stdout};
    if (name)
        sink->file = fopen(name, "w");
    if (!sink->file)
        return sink_failed(sink);
    setvbuf(sink->file, NULL, _IOFBF, OUTPUT_BUFFER);
    return 0;
}

static int sink_write(const struct sink *sink, const char *bytes, size_t size)
{
    if (!sink->file || fwrite(bytes, 1, size, sink->file) == size)
        return 0;
    return sink_failed(sink);
}

/* Closes; the last bytes can fail here. After an earlier failure (STATUS) it says nothing more. */
static int sink_close(struct sink *sink, int status)
{
    if (!sink->file)
        return status;
    int closed = sink->file == stdout ? fflush(stdout) : fclose(sink->file);
    sink->file = NULL;
    if (closed != 0 && status == 0)
        return sink_failed(sink);
    return status;
}

static int write_all(struct expert_crew *crew, uint64_t experts, const struct sink *lines,
                     const struct sink *policies)
{
    struct progress progress;
    struct expert_text text;
    const char *failure = NULL;
    uint64_t done = 0;
    int status = 0;
    progress_begin(&progress, "experts", experts);
    while (status == 0 && expert_crew_take(crew, &text, &failure)) {
        status = sink_write(lines, text.trajectories, text.trajectories_size);
        if (status == 0)
            status = sink_write(policies, text.policies, text.policies_size);
        done += text.experts;
        expert_text_clear(&text);
        progress_show(&progress, done);
    }
    progress_end(&progress, status == 0 && !failure);
    return failure ? complain(EXIT_FAILED, "%s", failure) : status;
}

static int train_and_write(const struct options *options, const struct expert_request *request,
                           const struct sink *lines, const struct sink *policies)
{
    struct expert_crew *crew = expert_crew_start(request, (unsigned)options->threads);
    if (!crew)
        return complain(EXIT_FAILED, "cannot start a thread: out of memory");
    int status = write_all(crew, request->experts, lines, policies);
    expert_crew_stop(crew);
    return status;
}

static int run(const struct options *options)
{
    struct expert_request request = {0};
    struct sink lines = {0}, policies = {0};
    int status = make_request(options, &request);
    if (status != 0)
        return status;
    status = sink_open(&lines, options->output);
    if (status == 0 && options->policies)
        status = sink_open(&policies, options->policies);
    if (status == 0)
        status = train_and_write(options, &request, &lines, &policies);
    status = sink_close(&lines, status);
    return sink_close(&policies, status);
}

int cli_experts(int argc, char **argv)
{
    struct options options = {
        .environment = "cartpole",
        .experts = 300,
        .trajectories = 20,
        .max_steps = 200,
        .seed = 1,
        .threads = core_count(),
        .min_action_probability = 0.02,
    };
    for (int i = 0; i < argc; i++) {
        int status = read_flag(argc, argv, &i, &options);
        if (status != 0)
            return status;
        if (options.help) {
            print_help();
            return 0;
        }
    }
    /* A reader that goes away is a failed write, which is reported, not a silent death. */
    signal(SIGPIPE, SIG_IGN);
    return run(&options);
}
