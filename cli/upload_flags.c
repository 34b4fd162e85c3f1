/* Flags of an upload. */
#include "cli/upload_flags.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int upload_flags_none(const struct flags *flags, const struct upload_given *given, size_t count,
                      const char *rule)
{
    for (size_t i = 0; i < count; i++)
        if (given[i].given)
            return cli_complain(flags, CLI_USAGE, "--%s %s", given[i].name, rule);
    return 0;
}

int upload_flags_check(const struct flags *flags, const struct upload_options *o)
{
    const struct upload_given of_upload[] = {{"token", o->token[0] != '\0'},
                                             {"token-file", o->token_file},
                                             {"ca-file", o->ca_file},
                                             {"dataset", o->dataset},
                                             {"name", o->name},
                                             {"epsilon", !isnan(o->epsilon)},
                                             {"delta", !isnan(o->delta)},
                                             {"seal", o->seal}};
    const struct upload_given of_new[] = {
        {"name", o->name}, {"epsilon", !isnan(o->epsilon)}, {"delta", !isnan(o->delta)}};
    if (!o->url)
        return upload_flags_none(flags, of_upload, sizeof of_upload / sizeof of_upload[0],
                                 "goes with --upload");
    if (o->dataset)
        return upload_flags_none(flags, of_new, sizeof of_new / sizeof of_new[0],
                                 "is of a new dataset: leave it out with --dataset");
    if (isnan(o->epsilon))
        return cli_complain(flags, CLI_USAGE,
                            "--upload makes a dataset, whose budget only you can choose: give "
                            "--epsilon (and --delta), or --dataset ID");
    for (const char *c = o->name; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return cli_complain(flags, CLI_USAGE, "--name has a control character");
    return 0;
}

static int upload_read_token(const struct flags *flags, struct upload_options *o)
{
    FILE *file = fopen(o->token_file, "r");
    if (!file)
        return cli_complain(flags, CLI_FAILED, "cannot read %s: %s", o->token_file,
                            strerror(errno));
    bool got = fgets(o->token, sizeof o->token, file) != NULL;
    fclose(file);
    o->token[got ? strcspn(o->token, "\r\n") : 0] = '\0';
    if (o->token[0] == '\0')
        return cli_complain(flags, CLI_FAILED, "%s: its first line holds no token", o->token_file);
    return 0;
}

int upload_flags_token(const struct flags *flags, struct upload_options *o)
{
    if (!o->url || o->token[0] != '\0')
        return 0;
    if (o->token_file)
        return upload_read_token(flags, o);
    const char *value = getenv("TACET_TOKEN");
    if (!value || value[0] == '\0')
        return cli_complain(flags, CLI_USAGE,
                            "--upload needs a token: set TACET_TOKEN or give "
                            "--token-file FILE");
    if (strlen(value) >= sizeof o->token)
        return cli_complain(flags, CLI_USAGE, "TACET_TOKEN: too long for a token");
    snprintf(o->token, sizeof o->token, "%s", value);
    return 0;
}
