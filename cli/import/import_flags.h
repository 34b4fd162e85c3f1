/* The flags of `tacet import`, and the checks between them. */
#ifndef TACET_CLI_IMPORT_IMPORT_FLAGS_H
#define TACET_CLI_IMPORT_IMPORT_FLAGS_H

#include "api/wire/inflate.h"
#include "cli/import/import_source.h"
#include "cli/upload_flags.h"

struct import_options {
    const char *path;                 /* the file */
    const char *description, *output; /* NULL: not given */
    struct upload_options to;
    bool dry_run, expert_per_episode, accept_erased;
    const char *experts_by, *ends_by; /* NULL: not given */
    uint64_t episodes_per_expert;     /* 0: not given */
    int last_state;                   /* -1: not given */
    uint64_t max_steps;               /* 0: not given */
    uint64_t nominal_experts;         /* 0: not given */
    double discount;                  /* NAN: not given */
    enum inflate_encoding encoding;   /* of the output */
};

/* Program, help and table. */
extern const struct flags import_flags;

/* Reads argv and a token, and checks what goes together. CLI_GO_ON, or an exit code after the help
 * or one line. The caller wipes OUT->to.token. */
int import_flags_read(int argc, char **argv, struct import_options *out);

#endif
