/* `tacet experts`: trains a population of experts (algos/online/experts.h) on every core and writes
 * what they did in the upload format, one trajectory a line. */
#ifndef TACET_CLI_CLI_EXPERTS_H
#define TACET_CLI_CLI_EXPERTS_H

/* ARGV holds what follows the subcommand's name: flags from index 0 on. Returns the exit status: 0;
 * 1 when something failed, after one line on standard error; 2 for a bad flag, likewise. */
int cli_experts(int argc, char **argv);

#endif
