/* tacet: one program, a table of subcommands. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "server/server.h"

static cli_command main_help, main_version;

static const struct {
    const char *name;
    cli_command *run;
    const char *summary;
} COMMANDS[] = {
    {"serve", cli_serve, "run the service on a data directory"},
    {"work", cli_work, "run jobs beside the servers of a PostgreSQL database"},
    {"migrate", cli_migrate, "move a service from SQLite to PostgreSQL"},
    {"key", cli_key, "bring the signing key to another server, or follow it by a new one"},
    {"status", cli_status, "say what a running service is doing"},
    {"doctor", cli_doctor, "look at what a service needs, and say what to do"},
    {"client", cli_client, "make a client and print its token"},
    {"experts", cli_experts, "train simulated experts and write their trajectories"},
    {"import", cli_import, "turn a table or arrays into trajectories, and upload them"},
    {"agent", cli_agent, "report to an aggregation, randomised on this machine"},
    {"student", cli_student, "learn in a world of its own and ask a teacher"},
    {"epsilon", cli_epsilon, "say what a mechanism costs, or how much noise a budget asks for"},
    {"replay", cli_replay, "compare recorded episodes with our worlds"},
    {"audit", cli_audit, "attack the trainer and say what epsilon that proves"},
    {"export", cli_export, "write what an auditor needs who has no access"},
    {"verify", cli_verify, "check an export without access to the service"},
    {"certificate", cli_certificate, "check a certificate without a server"},
    {"keys", cli_keys, "encrypt the keys of private data under a new master key"},
    {"backup", cli_backup, "back up a service, encrypted, while it runs"},
    {"restore", cli_restore, "restore a backup, and spend what may have been spent after it"},
    {"witness", cli_witness, "cosign the log of a service's ledger"},
    {"help", main_help, "this list, or the help of the command named after it"},
    {"version", main_version, "print the version"},
};
#define COMMAND_COUNT (sizeof COMMANDS / sizeof COMMANDS[0])

static void print_commands(FILE *out)
{
    fprintf(out, "tacet releases reinforcement-learning policies under differential privacy.\n\n"
                 "usage: tacet COMMAND [flags]\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-11s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    fprintf(out, "\nEvery command has --help.\n");
}

static int run_command(const char *name, int argc, char **argv)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, COMMANDS[i].name) == 0)
            return COMMANDS[i].run(argc, argv);
    fprintf(stderr, "tacet: no command \"%s\"; tacet help lists them\n", name);
    return 2;
}

/* `tacet help serve` is `tacet serve --help`. */
static int main_help(int argc, char **argv)
{
    char flag[] = "--help";
    char *help[] = {flag, NULL};
    if (argc > 0 && argv[0][0] != '-')
        return run_command(argv[0], 1, help);
    print_commands(stdout);
    return 0;
}

static int main_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("tacet %s\n", TACET_VERSION);
    return 0;
}

int main(int argc, char **argv)
{
    if (sodium_init() < 0) {
        fprintf(stderr, "tacet: the system's randomness is not available\n");
        return 1;
    }
    if (argc < 2) {
        print_commands(stderr);
        return 2;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    return run_command(name, argc - 2, argv + 2);
}
