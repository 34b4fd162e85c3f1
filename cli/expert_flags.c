/* The flags of `tacet experts`, and the checks between them. */
#include "cli/expert_flags.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/deflate.h"
#include "cli/expert_output.h"
#include "memory/memory.h"
#include "server/server.h"

#define MAX_EXPERTS      1000000 /* ids have six digits */
#define MAX_TRAJECTORIES 100000

static const char *const ENCODINGS[] = {"gzip", "zstd", "none", NULL};
static const enum inflate_encoding ENCODING_OF[] = {INFLATE_GZIP, INFLATE_ZSTD, INFLATE_IDENTITY};
static const char *const SELECTIONS[] = {"top", "moments", NULL};

#define FLAG_OPTIONS struct expert_options

static const struct flag TABLE[] = {
    {"environment", AS_TEXT(environment), "cartpole", "NAME", "world that they play in", 0},
    {"experts", AS_COUNT(experts, 1, MAX_EXPERTS), "300", "N",
     "how many; three experts come from one training run", 0},
    {"trajectories", AS_COUNT(trajectories, 1, MAX_TRAJECTORIES), "20", "N", "episodes of each", 0},
    {"max-steps", AS_COUNT(max_steps, 1, EXPERTS_MAX_STEPS), NULL, "N",
     "steps after which an episode is truncated (the world's own)", 0},
    {"select", AS_CHOICE(select, SELECTIONS), NULL, "HOW",
     "top: a training run's three best experts; moments: an early, a middle and the best of its "
     "moments (top)",
     0},
    {"min-action-probability", AS_NUMBER(min_action_probability, 0, 1), "0.02", "P",
     "probability of each action but the best", 0},
    {"seed", AS_COUNT(seed, 0, UINT64_MAX), "1", "N",
     "the same seed gives the same bytes for any number of threads", 0},
    {"threads", AS_COUNT(threads, 1, EXPERT_CREW_MAX_THREADS), NULL, "N",
     "threads (as many as cores)", 0},
    {"output", AS_TEXT(output), NULL, "FILE",
     "where trajectories go (standard output); the same command continues where a killed run ended",
     0},
    {"compress", AS_CHOICE(compress, ENCODINGS), NULL, "HOW",
     "gzip, zstd or none (by FILE's ending: .gz, .zst)", 0},
    {"policies", AS_BARE_TEXT(policies), NULL, "[FILE]",
     "write or upload the experts' networks too (" EXPERT_DEFAULT_POLICIES ")", 0},
    {"state", AS_TEXT(state), NULL, "FILE",
     "records what is finished, so that a run can continue (next to the output)", 0},
    UPLOAD_FLAG_ROWS(to, "them", "ENVIRONMENT-experts"),
    {"report", AS_BARE_TEXT(report), NULL, "[FILE]",
     "how good they are, in numbers (standard error; JSON if FILE ends in .json)", 0},
    {"plot", AS_TEXT(plot), NULL, "FILE", "how good they are, as a picture (SVG)", 0},
    {"from", AS_TEXT(from), NULL, "FILE",
     "report on and plot these trajectories (NDJSON, gzip, zstd) instead of training", 0},
};

const struct flags expert_flags = {
    .program = "tacet experts",
    .usage =
        "usage: tacet experts [flags] > experts.ndjson\n"
        "       tacet experts --upload URL --epsilon E [flags]\n"
        "       tacet experts --report [--plot FILE] --from FILE\n\n"
        "Trains a population of different experts: PPO in worlds whose physics vary, stopped "
        "at\n"
        "different skills. They play in the usual world; every trajectory becomes one line as\n"
        "POST /v1/datasets/{id}/trajectories takes it.\n\n",
    FLAG_TABLE(TABLE),
};

/* Steps of one expert: its lines are held in memory, about 60 bytes a step in CartPole. */
#define MAX_STEPS_IN_ALL 2000000

static int check_from(const struct expert_options *o)
{
    const struct upload_given others[] = {
        {"output", o->output},          {"policies", o->policies}, {"select", o->select >= 0},
        {"compress", o->compress >= 0}, {"upload", o->to.url},     {"state", o->state}};
    if (!o->report && !o->plot)
        return cli_complain(&expert_flags, CLI_USAGE, "--from needs --report or --plot");
    return upload_flags_none(&expert_flags, others, sizeof others / sizeof others[0],
                             "makes nothing with --from, which only reads");
}

static int check_upload(const struct expert_options *o)
{
    int status = upload_flags_check(&expert_flags, &o->to);
    if (status == 0 && o->to.url && !o->to.dataset && !(o->min_action_probability > 0))
        return cli_complain(&expert_flags, CLI_USAGE,
                            "--min-action-probability: a dataset's is above 0");
    return status;
}

static int check_encoding(struct expert_options *o)
{
    enum inflate_encoding ending = o->output ? deflate_of_ending(o->output) : INFLATE_IDENTITY;
    o->encoding = o->compress < 0 ? ending : ENCODING_OF[o->compress];
    if (ending == INFLATE_IDENTITY || ending == o->encoding)
        return 0;
    return cli_complain(&expert_flags, CLI_USAGE,
                        "--compress %s does not fit the ending of --output %s",
                        ENCODINGS[o->compress], o->output);
}

/* Refuses flags that name one file for two purposes. */
static int check_files(const struct expert_options *o)
{
    const struct upload_given files[] = {{"output", true}, {"policies", true}, {"state", true},
                                         {"report", true}, {"plot", true},     {"from", true}};
    const char *const paths[] = {o->output, o->policies, o->state, o->report, o->plot, o->from};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (size_t k = i + 1; k < sizeof paths / sizeof paths[0]; k++)
            if (paths[i] && paths[k] && paths[i][0] != '\0' &&
                expert_output_is_same(paths[i], paths[k]))
                return cli_complain(&expert_flags, CLI_USAGE, "--%s and --%s are the same file",
                                    files[i].name, files[k].name);
    return 0;
}

static int check_together(struct expert_options *o)
{
    int status = o->from ? check_from(o) : 0;
    o->chosen = o->select == 1 ? EXPERTS_MOMENTS : EXPERTS_TOP;
    if (status == 0)
        status = check_upload(o);
    if (status == 0)
        status = check_encoding(o);
    if (status == 0)
        status = check_files(o);
    if (status == 0)
        status = upload_flags_token(&expert_flags, &o->to);
    return status == 0 ? CLI_GO_ON : status;
}

static unsigned usable_cores(void)
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
    struct flags_found found;
    *out = (struct expert_options){.threads = usable_cores(),
                                   .compress = -1,
                                   .select = -1,
                                   .to = {.epsilon = NAN, .delta = NAN}};
    int status = cli_read_flags(&expert_flags, argc, argv, out, &found);
    return status == CLI_GO_ON ? check_together(out) : status;
}

/* Complains that world NAME has no experts, and lists the worlds that have. */
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
    return cli_complain(&expert_flags, CLI_USAGE,
                        "--environment: no experts are known for \"%s\", only for: %s", name,
                        known);
}

int expert_flags_request(struct expert_options *o, struct expert_request *out)
{
    const struct env *env = env_find(o->environment);
    const struct expert_population *population = env ? experts_find(env) : NULL;
    if (!population)
        return complain_of_world(o->environment);
    double p = o->min_action_probability;
    if (p < 0.0 || p * env->action_count > 1.0)
        return cli_complain(&expert_flags, CLI_USAGE,
                            "--min-action-probability: %g is not from 0 to 1/%u", p,
                            env->action_count);
    if (o->max_steps == 0)
        o->max_steps = experts_episode_steps(population);
    if (o->trajectories * o->max_steps > MAX_STEPS_IN_ALL)
        return cli_complain(&expert_flags, CLI_USAGE,
                            "--trajectories times --max-steps is more than %d", MAX_STEPS_IN_ALL);
    *out = (struct expert_request){
        .env = env,
        .population = population,
        .select = o->chosen,
        .seed = o->seed,
        .experts = o->experts,
        .trajectories = (uint32_t)o->trajectories,
        .max_steps = (uint32_t)o->max_steps,
        .min_action_probability = p,
        .policies = o->policies,
        .encoding = o->encoding,
    };
    return CLI_GO_ON;
}

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

char *expert_flags_line(const struct expert_options *o)
{
    const char *encoding = deflate_name(o->encoding);
    char *line =
        memory_format("version=%s environment=%s experts=%" PRIu64 " trajectories=%" PRIu64
                      " max-steps=%" PRIu64 " min-action-probability=%.17g seed=%" PRIu64
                      " select=%s compress=%s policies=%s upload=%s "
                      "dataset=%s epsilon=%.17g delta=%.17g output=%s name=%s",
                      TACET_VERSION, o->environment, o->experts, o->trajectories, o->max_steps,
                      o->min_action_probability, o->seed, SELECTIONS[o->chosen == EXPERTS_MOMENTS],
                      encoding ? encoding : "none", or_dash(o->policies), or_dash(o->to.url),
                      or_dash(o->to.dataset), o->to.epsilon, o->to.delta, or_dash(o->output),
                      or_dash(o->to.name));
    for (char *c = line; *c != '\0'; c++)
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    return line;
}
