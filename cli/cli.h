/* What subcommands share: reading their flags, complaining, reading whole files. */
#ifndef TACET_CLI_CLI_H
#define TACET_CLI_CLI_H

#include "server/config.h"
#include "server/flags.h"

enum { CLI_GO_ON = -1, CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 }; /* exit codes from 0 on */

#define CLI_ERROR_SIZE 512

/* The subcommands. Each gets the arguments after its own name and gives the exit code. */
typedef int cli_command(int argc, char **argv);
cli_command cli_serve, cli_client, cli_experts, cli_agent, cli_student, cli_epsilon, cli_replay,
    cli_audit, cli_status, cli_doctor, cli_import, cli_export, cli_verify, cli_certificate, cli_key,
    cli_keys, cli_work, cli_migrate, cli_witness, cli_backup, cli_restore;

/* A row of a table of flags, and a member of its struct flags: MEMBER names the service's file of
 * settings, of which the subcommand takes those that it has. The subcommand frees found.file. */
#define CLI_FLAG_CONFIG(MEMBER)                                                                    \
    {                                                                                              \
        "config", AS_TEXT(MEMBER), NULL, "FILE", "file of settings of the server (tacet serve)",   \
            FLAG_FILE                                                                              \
    }
#define CLI_CONFIG_OF_SERVER .file_of = &config_flags

/* Reads ARGV into OPTIONS as flags_read does. CLI_GO_ON: the subcommand has its options. Otherwise
 * the exit code: the help was printed, or one line on standard error says what was wrong. */
int cli_read_flags(const struct flags *flags, int argc, char **argv, void *options,
                   struct flags_found *found);

/* Writes "PROGRAM: " and the formatted text as one line on standard error; control characters
 * become question marks. Returns STATUS. */
int cli_complain(const struct flags *flags, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads the file NAME ("-": standard input), at most MOST bytes, and adds a NUL that *out_size does
 * not count. The caller frees the bytes. NULL: ERROR holds a line. */
char *cli_read_file(const char *name, size_t most, size_t *out_size, char error[CLI_ERROR_SIZE]);

#endif
