/* The flags of `tacet experts`: one table that drives reading, checking and help. */
#ifndef TACET_CLI_EXPERT_FLAGS_H
#define TACET_CLI_EXPERT_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/wire/inflate.h"
#include "cli/expert_crew.h"

#define EXPERT_TOKEN_SIZE       512
#define EXPERT_DEFAULT_POLICIES "policies.ndjson"

enum { EXPERT_FAILED = 1, EXPERT_USAGE = 2 }; /* exit codes */

struct expert_options {
    /* texts point into argv; NULL: not given */
    const char *environment, *output, *compress, *state, *plot, *from, *select;
    const char *policies; /* "": given without a file */
    const char *report;   /* "": given without a file: standard error */
    const char *upload, *token_file, *ca_file, *dataset, *name;
    char token[EXPERT_TOKEN_SIZE]; /* wherever it came from; "" without an upload */
    uint64_t experts, trajectories, max_steps, seed, threads, patience;
    double min_action_probability;
    double epsilon, delta; /* NAN: not given */
    bool seal, help;
    enum inflate_encoding encoding; /* of the trajectories */
    enum experts_select chosen;     /* what select says */
};

/* Reads argv, then TACET_TOKEN or the token's file where one is needed, and checks what no single
 * flag can. A token in argv is overwritten there, so that it does not stay in the list of
 * processes. 0, or an exit code after one line on standard error. OUT is wiped by
 * expert_flags_clear. */
int expert_flags_read(int argc, char **argv, struct expert_options *out);
void expert_flags_clear(struct expert_options *options);

/* The request that the flags make; its policies are wanted for a file or a server. 0 or an exit
 * code, likewise. Fills in options->max_steps where it was left to the world. */
int expert_flags_request(struct expert_options *options, struct expert_request *out);

/* One line that tells apart runs that must not be mixed: everything that makes bytes or says where
 * they go, and the version; no token. malloc'ed; NULL: no memory. */
char *expert_flags_line(const struct expert_options *options);

void expert_flags_help(void);

/* One line on standard error; gives STATUS. */
int expert_complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
