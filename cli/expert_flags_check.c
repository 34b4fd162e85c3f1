/* Flags of `tacet experts` that need one another or exclude one another, and what follows from
 * them.
 */
#include "cli/expert_flags_check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/deflate.h"
#include "cli/cli.h"

/* Steps of one expert: its lines are held in memory, about 60 bytes a step in CartPole. */
#define MAX_STEPS_IN_ALL 2000000

/* A flag that was given, or NULL, by name. */
struct given {
    const char *name;
    bool given;
};

static int complain_unless_none(const struct given *flags, size_t count, const char *rule)
{
    for (size_t i = 0; i < count; i++)
        if (flags[i].given)
            return expert_complain(EXPERT_USAGE, "--%s %s", flags[i].name, rule);
    return 0;
}

static int check_from(const struct expert_options *o)
{
    const struct given others[] = {{"output", o->output}, {"policies", o->policies},
                                   {"select", o->select}, {"compress", o->compress},
                                   {"upload", o->upload}, {"state", o->state}};
    if (!o->report && !o->plot)
        return expert_complain(EXPERT_USAGE, "--from needs --report or --plot");
    return complain_unless_none(others, sizeof others / sizeof others[0],
                                "makes nothing with --from, which only reads");
}

static int check_upload(const struct expert_options *o)
{
    const struct given of_upload[] = {{"token", o->token[0] != '\0'},
                                      {"token-file", o->token_file},
                                      {"ca-file", o->ca_file},
                                      {"dataset", o->dataset},
                                      {"name", o->name},
                                      {"epsilon", !isnan(o->epsilon)},
                                      {"delta", !isnan(o->delta)},
                                      {"seal", o->seal}};
    const struct given of_new[] = {
        {"name", o->name}, {"epsilon", !isnan(o->epsilon)}, {"delta", !isnan(o->delta)}};
    if (!o->upload)
        return complain_unless_none(of_upload, sizeof of_upload / sizeof of_upload[0],
                                    "goes with --upload");
    if (o->dataset)
        return complain_unless_none(of_new, sizeof of_new / sizeof of_new[0],
                                    "is of a new dataset: leave it out with --dataset");
    if (isnan(o->epsilon))
        return expert_complain(EXPERT_USAGE,
                               "--upload makes a dataset, whose budget only you can choose: give "
                               "--epsilon (and --delta), or --dataset ID");
    if (o->epsilon <= 0)
        return expert_complain(EXPERT_USAGE, "--epsilon: %g is not positive", o->epsilon);
    if (o->delta <= 0 || o->delta >= 1)
        return expert_complain(EXPERT_USAGE, "--delta: %g is not between 0 and 1", o->delta);
    if (!(o->min_action_probability > 0))
        return expert_complain(EXPERT_USAGE, "--min-action-probability: a dataset's is above 0");
    for (const char *c = o->name; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return expert_complain(EXPERT_USAGE, "--name has a control character");
    return 0;
}

static int check_encoding(struct expert_options *o)
{
    enum inflate_encoding ending = o->output ? deflate_of_ending(o->output) : INFLATE_IDENTITY;
    o->encoding = ending;
    if (!o->compress)
        return 0;
    bool none = strcmp(o->compress, "none") == 0, gzip = strcmp(o->compress, "gzip") == 0;
    if (!none && !gzip && strcmp(o->compress, "zstd") != 0)
        return expert_complain(EXPERT_USAGE, "--compress: \"%s\" is not gzip, zstd or none",
                               o->compress);
    o->encoding = none ? INFLATE_IDENTITY : gzip ? INFLATE_GZIP : INFLATE_ZSTD;
    if (ending != INFLATE_IDENTITY && ending != o->encoding)
        return expert_complain(EXPERT_USAGE, "--compress %s does not fit the ending of --output %s",
                               o->compress, o->output);
    return 0;
}

static int check_select(struct expert_options *o)
{
    bool moments = o->select && strcmp(o->select, "moments") == 0;
    o->chosen = moments ? EXPERTS_MOMENTS : EXPERTS_TOP;
    if (!o->select || moments || strcmp(o->select, "top") == 0)
        return 0;
    return expert_complain(EXPERT_USAGE, "--select: \"%s\" is not top or moments", o->select);
}

/* The same file for two purposes would be damaged by both. */
static int check_files(const struct expert_options *o)
{
    const struct given files[] = {
        {"output", true}, {"policies", true}, {"state", true}, {"report", true}, {"plot", true}};
    const char *const paths[] = {o->output, o->policies, o->state, o->report, o->plot};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (size_t k = i + 1; k < sizeof paths / sizeof paths[0]; k++)
            if (paths[i] && paths[k] && paths[i][0] != '\0' && strcmp(paths[i], paths[k]) == 0)
                return expert_complain(EXPERT_USAGE, "--%s and --%s are the same file",
                                       files[i].name, files[k].name);
    return 0;
}

static int read_token_file(struct expert_options *o)
{
    FILE *file = fopen(o->token_file, "r");
    if (!file)
        return expert_complain(EXPERT_FAILED, "cannot read %s: %s", o->token_file, strerror(errno));
    bool got = fgets(o->token, sizeof o->token, file) != NULL;
    fclose(file);
    o->token[got ? strcspn(o->token, "\r\n") : 0] = '\0';
    if (o->token[0] == '\0')
        return expert_complain(EXPERT_FAILED, "%s: its first line holds no token", o->token_file);
    return 0;
}

static int find_token(struct expert_options *o)
{
    if (!o->upload || o->token[0] != '\0')
        return 0;
    if (o->token_file)
        return read_token_file(o);
    const char *value = getenv("TACET_TOKEN");
    if (!value || value[0] == '\0')
        return expert_complain(EXPERT_USAGE, "--upload needs a token: set TACET_TOKEN or give "
                                             "--token-file FILE");
    if (strlen(value) >= sizeof o->token)
        return expert_complain(EXPERT_USAGE, "TACET_TOKEN: too long for a token");
    snprintf(o->token, sizeof o->token, "%s", value);
    return 0;
}

int expert_flags_check(struct expert_options *o)
{
    int status = o->from ? check_from(o) : 0;
    if (status == 0)
        status = check_upload(o);
    if (status == 0)
        status = check_select(o);
    if (status == 0)
        status = check_encoding(o);
    if (status == 0)
        status = check_files(o);
    return status == 0 ? find_token(o) : status;
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
    return expert_complain(
        EXPERT_USAGE, "--environment: no experts are known for \"%s\", only for: %s", name, known);
}

int expert_flags_request(struct expert_options *o, struct expert_request *out)
{
    const struct env *env = env_find(o->environment);
    const struct expert_population *population = env ? experts_find(env) : NULL;
    if (!population)
        return complain_of_world(o->environment);
    double p = o->min_action_probability;
    if (p < 0.0 || p * env->action_count > 1.0)
        return expert_complain(EXPERT_USAGE, "--min-action-probability: %g is not from 0 to 1/%u",
                               p, env->action_count);
    if (o->max_steps == 0)
        o->max_steps = experts_episode_steps(population);
    if (o->trajectories * o->max_steps > MAX_STEPS_IN_ALL)
        return expert_complain(EXPERT_USAGE, "--trajectories times --max-steps is more than %d",
                               MAX_STEPS_IN_ALL);
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
    return 0;
}

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

char *expert_flags_line(const struct expert_options *o)
{
    char *line = NULL;
    const char *encoding = deflate_name(o->encoding);
    int length =
        asprintf(&line,
                 "version=%s environment=%s experts=%" PRIu64 " trajectories=%" PRIu64
                 " max-steps=%" PRIu64 " min-action-probability=%.17g seed=%" PRIu64
                 " select=%s compress=%s policies=%s upload=%s "
                 "dataset=%s epsilon=%.17g delta=%.17g output=%s name=%s",
                 TACET_VERSION, o->environment, o->experts, o->trajectories, o->max_steps,
                 o->min_action_probability, o->seed, o->chosen == EXPERTS_TOP ? "top" : "moments",
                 encoding ? encoding : "none", or_dash(o->policies), or_dash(o->upload),
                 or_dash(o->dataset), o->epsilon, o->delta, or_dash(o->output), or_dash(o->name));
    for (char *c = line; length > 0 && *c; c++)
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    return length < 0 ? NULL : line;
}
