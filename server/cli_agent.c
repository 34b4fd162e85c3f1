/* `tacet agent`: agents of an aggregation as a process of their own, one for real or thousands for
 * an experiment. Flags here; one agent's report is in agent_life.c. */
#include "server/cli_agent.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/agent_crowd.h"
#include "server/http_out.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define MAX_AGENTS 1000000

static const char HELP[] =
    "usage: tacet agent --server URL --aggregation ID [flags]\n\n"
    "Plays in a world of its own, randomises the gradient on this machine, and sends the report.\n"
    "One agent's token is in TACET_TOKEN. With --agents N the process is N agents, for\n"
    "experiments: it makes them itself under the token of an admin in TACET_ADMIN_TOKEN.\n\n"
    "  --server URL             the service                                 TACET_SERVER\n"
    "  --aggregation ID         which aggregation to report to\n"
    "  --environment NAME       the agent's world (the aggregation's own)\n"
    "  --vary NAME=V[,V...]     a parameter of the world, drawn by each agent from these values;\n"
    "                           may be repeated, e.g. --vary gravity=9.7,9.8,9.9\n"
    "  --max-steps N            steps after which an episode is cut off (200)\n"
    "  --max-epsilon E          do not report where all reports of an agent cost more (no bound)\n"
    "  --agents N               how many agents this process is (1)\n"
    "  --concurrency N          how many of them at once (1)\n"
    "  --success S              end when the mean of 10 scores in a row reaches S\n"
    "  --seed N                 of the worlds; the noise is never seeded (drawn)\n"
    "  --json                   the summary as one JSON object\n\n"
    "An agent sends one report (as many as the aggregation asks for). What it has sent is spent,\n"
    "counted or not: a refused report is not made again from fresh noise.\n"
    "Scores stay in this process; they are not private on a terminal.\n";

struct options {
    const char *server, *aggregation, *environment;
    const char *vary[ENV_MAX_PARAMETERS];
    unsigned vary_count;
    uint64_t max_steps, agents, concurrency, seed;
    double max_epsilon, success; /* 0: none */
    bool json, help;
};

__attribute__((format(printf, 2, 3))) static int complain(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tacet agent: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

/* ---- flags */

static int read_count(const char *flag, const char *text, uint64_t least, uint64_t most,
                      uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long x = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || x < least || x > most)
        return complain(EXIT_USAGE, "%s: \"%s\" is not an integer from %" PRIu64 " to %" PRIu64,
                        flag, text, least, most);
    *out = x;
    return 0;
}

static int read_positive(const char *flag, const char *text, double *out)
{
    char *end = NULL;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(x) || x <= 0)
        return complain(EXIT_USAGE, "%s: \"%s\" is not a number above 0", flag, text);
    *out = x;
    return 0;
}

static int read_value(const char *flag, const char *text, struct options *o)
{
    if (strcmp(flag, "--server") == 0)
        o->server = text;
    else if (strcmp(flag, "--aggregation") == 0)
        o->aggregation = text;
    else if (strcmp(flag, "--environment") == 0)
        o->environment = text;
    else if (strcmp(flag, "--max-steps") == 0)
        return read_count(flag, text, 1, 1000000, &o->max_steps);
    else if (strcmp(flag, "--agents") == 0)
        return read_count(flag, text, 1, MAX_AGENTS, &o->agents);
    else if (strcmp(flag, "--concurrency") == 0)
        return read_count(flag, text, 1, AGENT_CROWD_THREADS, &o->concurrency);
    else if (strcmp(flag, "--seed") == 0)
        return read_count(flag, text, 0, UINT64_MAX, &o->seed);
    else if (strcmp(flag, "--max-epsilon") == 0)
        return read_positive(flag, text, &o->max_epsilon);
    else if (strcmp(flag, "--success") == 0)
        return read_positive(flag, text, &o->success);
    else if (strcmp(flag, "--vary") == 0 && o->vary_count < ENV_MAX_PARAMETERS)
        o->vary[o->vary_count++] = text;
    else
        return complain(EXIT_USAGE, "%s: no such flag; --help lists them", flag);
    return 0;
}

static int read_flags(int argc, char **argv, struct options *o)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            o->help = true;
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
            continue;
        }
        if (i + 1 >= argc)
            return complain(EXIT_USAGE, "%s: no such flag, or its value is missing", argv[i]);
        int status = read_value(argv[i], argv[i + 1], o);
        if (status != 0)
            return status;
        i++;
    }
    if (o->server == NULL)
        return complain(EXIT_USAGE, "--server is missing");
    if (o->aggregation == NULL || strlen(o->aggregation) > 40 ||
        strspn(o->aggregation, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(o->aggregation))
        return complain(EXIT_USAGE, "--aggregation is missing, or no id");
    return 0;
}

/* TEXT is NAME=V,V. */
static int read_variation(const struct env *env, const char *text, struct agent_variation *out)
{
    char name[64];
    const char *equals = strchr(text, '=');
    size_t length = equals == NULL ? 0 : (size_t)(equals - text);
    if (length == 0 || length >= sizeof name)
        return complain(EXIT_USAGE, "--vary: \"%s\" is not NAME=VALUE[,VALUE...]", text);
    memcpy(name, text, length);
    name[length] = '\0';
    out->parameter = env_parameter_index(env, name);
    if (out->parameter < 0)
        return complain(EXIT_USAGE, "--vary: %s has no parameter \"%s\"", env->name, name);
    const struct env_parameter *parameter = &env->parameters[out->parameter];
    const char *at = equals;
    do {
        char *end = NULL;
        double value = strtod(at + 1, &end);
        if (out->count == AGENT_CROWD_VALUES || end == at + 1 || (*end != ',' && *end != '\0') ||
            !(value >= parameter->min && value <= parameter->max))
            return complain(EXIT_USAGE, "--vary: %s wants at most %d numbers from %g to %g", name,
                            AGENT_CROWD_VALUES, parameter->min, parameter->max);
        out->value[out->count++] = value;
        at = end;
    } while (*at == ',');
    return 0;
}

/* ---- the aggregation */

static int open_door(const struct options *o, const char *token, struct http_out **out)
{
    const struct http_out_settings settings = {
        .base = o->server, .token = token, .patience_s = HTTP_OUT_PATIENCE_S};
    const char *problem = http_out_open(&settings, out);
    return problem == NULL ? 0 : complain(EXIT_USAGE, "--server: %s", problem);
}

/* TOKEN is one of an agent. */
static int learn_terms(const struct options *o, const char *token, struct agent_terms *terms)
{
    struct http_out *out = NULL;
    char path[80];
    struct http_out_answer answer;
    int status = open_door(o, token, &out);
    if (status != 0)
        return status;
    snprintf(path, sizeof path, "/v1/aggregations/%s", o->aggregation);
    const struct http_out_call call = {.method = "GET", .path = path};
    const char *problem = http_out_do(out, &call, &answer) == HTTP_OUT_OK
                              ? agent_terms_read(answer.body, answer.size, terms)
                              : answer.problem.text;
    if (problem != NULL)
        status = complain(EXIT_FAILED, "%s", problem);
    http_out_close(out);
    if (status == 0 && o->max_epsilon > 0 && terms->epsilon > o->max_epsilon)
        status = complain(EXIT_FAILED,
                          "an agent's reports would cost epsilon %g; --max-epsilon is %g. Nothing "
                          "was sent.",
                          terms->epsilon, o->max_epsilon);
    return status;
}

/* The terms are asked for with an agent's token: of the one agent, or of one made for it. */
static int begin(const struct options *o, struct agent_crowd_plan *plan)
{
    if (plan->admin == NULL)
        return learn_terms(o, plan->token, &plan->task.terms);
    struct http_out *admin = NULL;
    char token[256] = "", why[PROBLEM_LINE_SIZE] = "";
    int status = open_door(o, plan->admin, &admin);
    if (status == 0 && !agent_crowd_make(admin, 0, token, sizeof token, why, sizeof why))
        status = complain(EXIT_FAILED, "%s", why);
    http_out_close(admin);
    if (status == 0)
        status = learn_terms(o, token, &plan->task.terms);
    sodium_memzero(token, sizeof token);
    return status;
}

static int choose_world(const struct options *o, struct agent_crowd_plan *plan)
{
    const struct agent_terms *terms = &plan->task.terms;
    const char *name = o->environment != NULL ? o->environment : terms->environment;
    const struct env *env = env_find(name);
    if (env == NULL)
        return complain(EXIT_USAGE, "--environment: \"%s\" is not a world of this program", name);
    if (env->state_dim != terms->net.input || env->action_count != terms->net.actions)
        return complain(EXIT_FAILED, "%s does not fit the aggregation's dimensions", name);
    plan->task.env = env;
    for (unsigned i = 0; i < o->vary_count; i++) {
        int status = read_variation(env, o->vary[i], &plan->variation[plan->variations++]);
        if (status != 0)
            return status;
    }
    return 0;
}

static int tell(const struct agent_crowd_report *report, bool json)
{
    char success[24] = "null";
    if (report->first_success > 0)
        snprintf(success, sizeof success, "%" PRIu64, report->first_success);
    if (json)
        printf("{\"reported\":%" PRIu64 ",\"stale\":%" PRIu64 ",\"not_asked\":%" PRIu64
               ",\"version\":%" PRId64 ",\"mean_score\":%.17g,\"mean_of_last\":%.17g,"
               "\"first_success\":%s}\n",
               report->reported, report->stale, report->not_asked, report->version,
               report->mean_score, report->mean_recent, success);
    else
        printf("%" PRIu64 " reported, %" PRIu64 " too late, %" PRIu64
               " not asked; mean score %.1f, of the last %d %.1f; version %" PRId64 "\n",
               report->reported, report->stale, report->not_asked, report->mean_score,
               AGENT_CROWD_RECENT, report->mean_recent, report->version);
    return report->failure[0] == '\0' ? 0 : complain(EXIT_FAILED, "%s", report->failure);
}

static int check_tokens(const struct options *o, const struct agent_crowd_plan *plan)
{
    if (o->agents > 1 && plan->admin == NULL)
        return complain(EXIT_USAGE, "several agents need TACET_ADMIN_TOKEN, to be made");
    if (o->agents == 1 && plan->token == NULL)
        return complain(EXIT_USAGE, "TACET_TOKEN must hold the agent's token");
    return 0;
}

int cli_agent(int argc, char **argv)
{
    struct options options = {
        .server = getenv("TACET_SERVER"), .max_steps = 200, .agents = 1, .concurrency = 1};
    randombytes_buf(&options.seed, sizeof options.seed);
    int status = read_flags(argc, argv, &options);
    if (options.help) {
        fputs(HELP, stdout);
        return 0;
    }
    if (status != 0)
        return status;
    struct agent_crowd_plan plan = {
        .server = options.server,
        .token = getenv("TACET_TOKEN"),
        .admin = options.agents > 1 ? getenv("TACET_ADMIN_TOKEN") : NULL,
        .task = {.aggregation = options.aggregation, .max_steps = (uint32_t)options.max_steps},
        .agents = options.agents,
        .seed = options.seed,
        .threads = (unsigned)options.concurrency,
        .success = options.success};
    status = check_tokens(&options, &plan);
    if (status == 0)
        status = begin(&options, &plan);
    if (status == 0)
        status = choose_world(&options, &plan);
    if (status != 0)
        return status;
    struct agent_crowd_report report;
    agent_crowd_run(&plan, &report);
    return tell(&report, options.json);
}
