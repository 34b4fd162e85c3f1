/* Flags of a subcommand: one table that drives reading and help. */
#ifndef TACET_CLI_CLI_FLAGS_H
#define TACET_CLI_CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_FAILED = 1, CLI_USAGE = 2 }; /* exit codes */

enum cli_flag_kind {
    CLI_TEXT,   /* const char *, into argv */
    CLI_ID,     /* likewise: letters, digits and _, at most 40 of them */
    CLI_TEXTS,  /* struct cli_texts: may be repeated */
    CLI_COUNT,  /* uint64_t within LEAST and MOST */
    CLI_NUMBER, /* double within LOW and HIGH */
    CLI_SWITCH, /* bool; takes no value */
};

#define CLI_TEXTS_MAX 16
struct cli_texts {
    const char *text[CLI_TEXTS_MAX];
    unsigned count;
};

struct cli_flag {
    const char *name; /* without its dashes */
    enum cli_flag_kind kind;
    size_t offset; /* of its place in the subcommand's options */
    uint64_t least, most;
    double low, high;
    const char *value;   /* its name in the help; "" for a switch */
    const char *meaning; /* "\n" begins another line */
};

struct cli_flags {
    const char *program; /* "tacet student" */
    const struct cli_flag *table;
    size_t count;
};

/* Reads argv into OPTIONS: 0, or CLI_USAGE after one line on standard error. --help or -h ends it
 * with *out_help. */
int cli_flags_read(const struct cli_flags *flags, int argc, char **argv, void *options,
                   bool *out_help);

/* Whether a value stands behind argv[i]: none begins with "--", which a flag does. */
bool cli_value_follows(int argc, char **argv, int i);

/* The table on standard output. */
void cli_flags_help(const struct cli_flags *flags);

/* One line on standard error; gives STATUS. */
int cli_complain(const struct cli_flags *flags, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
