/* The flags of `tacet experts`, and the checks between them. */
#ifndef TACET_CLI_EXPERT_FLAGS_H
#define TACET_CLI_EXPERT_FLAGS_H

#include "api/wire/inflate.h"
#include "cli/cli.h"
#include "cli/expert_crew.h"
#include "cli/upload_flags.h"

#define EXPERT_DEFAULT_POLICIES "policies.ndjson"

struct expert_options {
    /* texts point into argv; NULL: not given */
    const char *environment, *output, *state, *plot, *from;
    const char *policies; /* "": given without a file */
    const char *report;   /* "": given without a file: standard error */
    struct upload_options to;
    uint64_t experts, trajectories, max_steps, seed, threads;
    double min_action_probability;
    int compress, select;           /* -1: not given */
    enum inflate_encoding encoding; /* of the trajectories */
    enum experts_select chosen;     /* what select says */
};

/* Program, help and table. */
extern const struct flags expert_flags;

/* Reads argv, then TACET_TOKEN or the token's file where a token is needed, and checks conditions
 * between several flags. A token in argv is overwritten there, so that it does not stay in the list
 * of processes. CLI_GO_ON, or an exit code after the help or one line on standard error. The caller
 * wipes OUT->to.token. */
int expert_flags_read(int argc, char **argv, struct expert_options *out);

/* Makes the request from the flags. It asks for policies when a file or a server is to get them.
 * Sets options->max_steps to the world's limit where it was not given. CLI_GO_ON, or an exit code
 * after one line. */
int expert_flags_request(struct expert_options *options, struct expert_request *out);

/* Gives one line that identifies the run, so that different runs are not mixed: all flags that
 * determine the bytes or their destination, and the version, but no token. The caller frees it. */
char *expert_flags_line(const struct expert_options *options);

#endif
