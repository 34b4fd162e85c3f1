/* `tacet agent`: agents of an aggregation as a process of their own, one for real or thousands for
 * an experiment. Flags here; one agent's report is in agent_life.c. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agent_crowd.h"
#include "cli/cli.h"
#include "cli/http_out.h"

#define MAX_AGENTS 1000000

struct agent_options {
    const char *server, *ca_file, *aggregation, *environment;
    struct flag_list vary;
    uint64_t max_steps, agents, concurrency, seed;
    double max_epsilon, success; /* 0: none */
    bool json;
};

#define FLAG_OPTIONS struct agent_options

static const struct flag TABLE[] = {
    {"server", AS_ANY_TEXT(server), NULL, "URL", "the service", FLAG_REQUIRED | FLAG_ENVIRONMENT},
    HTTP_OUT_FLAG_CA(ca_file),
    {"aggregation", AS_ID(aggregation), NULL, "ID", "which aggregation to report to",
     FLAG_REQUIRED},
    {"environment", AS_ANY_TEXT(environment), NULL, "NAME",
     "the agent's world (the aggregation's own)", 0},
    {"vary", AS_LIST(vary, ENV_MAX_PARAMETERS), NULL, "NAME=V[,V...]",
     "a parameter of the world, drawn by each agent from these values; may be repeated, e.g. "
     "--vary "
     "gravity=9.7,9.8,9.9",
     0},
    {"max-steps", AS_COUNT(max_steps, 1, 1000000), "200", "N",
     "steps after which an episode is cut off", 0},
    {"max-epsilon", AS_NUMBER(max_epsilon, 0, FLAG_UNBOUNDED), NULL, "E",
     "do not report if all reports of an agent would cost more (no bound)", FLAG_ABOVE},
    {"agents", AS_COUNT(agents, 1, MAX_AGENTS), "1", "N", "how many agents this process is", 0},
    {"concurrency", AS_COUNT(concurrency, 1, AGENT_CROWD_THREADS), "1", "N",
     "how many of them at once", 0},
    {"success", AS_NUMBER(success, 0, FLAG_UNBOUNDED), NULL, "S",
     "end when the mean of 10 scores in a row reaches S", FLAG_ABOVE},
    {"seed", AS_COUNT(seed, 0, UINT64_MAX), NULL, "N",
     "seed of the worlds; the noise is never seeded (drawn)", 0},
    {"json", AS_SWITCH(json), NULL, "", "the summary as one JSON object", 0},
};

static const struct flags FLAGS = {
    .program = "tacet agent",
    .usage = "usage: tacet agent --server URL --aggregation ID [flags]\n\n"
             "Plays in a world of its own, randomises the gradient on this machine, and sends the "
             "report.\n"
             "One agent's token is in TACET_TOKEN. With --agents N the process is N agents, for\n"
             "experiments: it makes them itself under the token of an admin in "
             "TACET_ADMIN_TOKEN.\n\n",
    FLAG_TABLE(TABLE),
    .notes = "An agent sends one report (as many as the aggregation asks for). What it has sent is "
             "spent,\n"
             "counted or not: a refused report is not made again from fresh noise.\n"
             "Scores stay in this process; they are not private on a terminal.\n",
};

/* Reads TEXT, which is NAME=V,V,.... */
static int read_variation(const struct env *env, const char *text, struct agent_variation *out)
{
    char name[64];
    const char *equals = strchr(text, '=');
    size_t length = !equals ? 0 : (size_t)(equals - text);
    if (length == 0 || length >= sizeof name)
        return cli_complain(&FLAGS, CLI_USAGE, "--vary: \"%s\" is not NAME=VALUE[,VALUE...]", text);
    memcpy(name, text, length);
    name[length] = '\0';
    out->parameter = env_parameter_index(env, name);
    if (out->parameter < 0)
        return cli_complain(&FLAGS, CLI_USAGE, "--vary: %s has no parameter \"%s\"", env->name,
                            name);
    const struct env_parameter *parameter = &env->parameters[out->parameter];
    const char *at = equals;
    do {
        char *end = NULL;
        double value = strtod(at + 1, &end);
        if (out->count == AGENT_CROWD_VALUES || end == at + 1 || (*end != ',' && *end != '\0') ||
            !(value >= parameter->min && value <= parameter->max))
            return cli_complain(&FLAGS, CLI_USAGE,
                                "--vary: %s wants at most %d numbers from %g to %g", name,
                                AGENT_CROWD_VALUES, parameter->min, parameter->max);
        out->value[out->count++] = value;
        at = end;
    } while (*at == ',');
    return 0;
}

/* ---- the aggregation */

static int agent_open_door(const struct agent_options *o, const char *token, struct http_out **out)
{
    const char *problem = http_out_open_simple(o->server, token, o->ca_file, out);
    return !problem ? 0 : cli_complain(&FLAGS, CLI_USAGE, "--server: %s", problem);
}

/* Reads the aggregation's terms with TOKEN, the token of an agent. */
static int learn_terms(const struct agent_options *o, const char *token, struct agent_terms *terms)
{
    struct http_out *out = NULL;
    char path[80];
    struct http_out_answer answer;
    int status = agent_open_door(o, token, &out);
    if (status != 0)
        return status;
    snprintf(path, sizeof path, "/v1/aggregations/%s", o->aggregation);
    const char *problem = http_out_get(out, path, &answer) == HTTP_OUT_OK
                              ? agent_terms_read(answer.body, answer.size, terms)
                              : answer.problem.text;
    if (problem)
        status = cli_complain(&FLAGS, CLI_FAILED, "%s", problem);
    http_out_close(out);
    if (status == 0 && o->max_epsilon > 0 && terms->epsilon > o->max_epsilon)
        status =
            cli_complain(&FLAGS, CLI_FAILED,
                         "an agent's reports would cost epsilon %g; --max-epsilon is %g. Nothing "
                         "was sent.",
                         terms->epsilon, o->max_epsilon);
    return status;
}

/* Asks for the terms with the token of the first agent, which TOKEN[size] gets if it is made. */
static int find_terms(const struct agent_options *o, struct agent_crowd_plan *plan, char *token,
                      size_t size)
{
    struct http_out *admin = NULL;
    char why[PROBLEM_LINE_SIZE] = "";
    int status = 0;
    if (plan->admin) {
        plan->token = token;
        status = agent_open_door(o, plan->admin, &admin);
        if (status == 0 && !agent_crowd_make(admin, 0, token, size, why))
            status = cli_complain(&FLAGS, CLI_FAILED, "%s", why);
        http_out_close(admin);
    }
    return status == 0 ? learn_terms(o, plan->token, &plan->task.terms) : status;
}

static int choose_world(const struct agent_options *o, struct agent_crowd_plan *plan)
{
    const struct agent_terms *terms = &plan->task.terms;
    const char *name = o->environment ? o->environment : terms->environment;
    const struct env *env = env_find(name);
    if (!env)
        return cli_complain(&FLAGS, CLI_USAGE,
                            "--environment: \"%s\" is not a world of this program", name);
    if (env->state_dim != terms->net.input || env->action_count != terms->net.actions)
        return cli_complain(&FLAGS, CLI_FAILED, "%s does not fit the aggregation's dimensions",
                            name);
    plan->task.env = env;
    for (unsigned i = 0; i < o->vary.count; i++) {
        int status = read_variation(env, o->vary.text[i], &plan->variation[plan->variations++]);
        if (status != 0)
            return status;
    }
    return 0;
}

static int agent_print_report(const struct agent_crowd_report *report, bool json)
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
    return report->failure[0] == '\0' ? 0 : cli_complain(&FLAGS, CLI_FAILED, "%s", report->failure);
}

static int check_tokens(const struct agent_options *o, const struct agent_crowd_plan *plan)
{
    if (o->agents > 1 && !plan->admin)
        return cli_complain(&FLAGS, CLI_USAGE, "several agents need TACET_ADMIN_TOKEN, to be made");
    if (o->agents == 1 && !plan->token)
        return cli_complain(&FLAGS, CLI_USAGE, "TACET_TOKEN must hold the agent's token");
    return 0;
}

int cli_agent(int argc, char **argv)
{
    struct agent_options options = {.json = false};
    struct flags_found found;
    randombytes_buf(&options.seed, sizeof options.seed);
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    struct agent_crowd_plan plan = {
        .server = options.server,
        .ca_file = options.ca_file,
        .token = getenv("TACET_TOKEN"),
        .admin = options.agents > 1 ? getenv("TACET_ADMIN_TOKEN") : NULL,
        .task = {.aggregation = options.aggregation, .max_steps = (uint32_t)options.max_steps},
        .agents = options.agents,
        .seed = options.seed,
        .threads = (unsigned)options.concurrency,
        .success = options.success};
    struct agent_crowd_report report;
    char token[AGENT_CROWD_TOKEN_SIZE] = "";
    status = check_tokens(&options, &plan);
    if (status == 0)
        status = find_terms(&options, &plan, token, sizeof token);
    if (status == 0)
        status = choose_world(&options, &plan);
    if (status == 0) {
        agent_crowd_run(&plan, &report);
        status = agent_print_report(&report, options.json);
    }
    sodium_memzero(token, sizeof token);
    return status;
}
