/* `tacet audit`: attacks the trainer on made-up data and says what epsilon that proves. */
#ifndef TACET_CLI_CLI_AUDIT_H
#define TACET_CLI_CLI_AUDIT_H

/* ARGV holds what follows the subcommand's name. Gives the exit status: 0 when the certificate
 * stands; 1 when the bound exceeds it, or something failed, after one line on standard error; 2 for
 * a bad flag, likewise. */
int cli_audit(int argc, char **argv);

#endif
