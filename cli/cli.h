/* The subcommands. Each gets the arguments after its own name and gives the exit code: 0, 1 when it
 * failed, 2 when it was called wrongly. */
#ifndef TACET_CLI_CLI_H
#define TACET_CLI_CLI_H

#include <stdint.h>

#define TACET_VERSION "0.1.0"

int cli_serve(int argc, char **argv);
int cli_client(int argc, char **argv);

/* Milliseconds since the epoch: the clock that lower rooms are given. */
int64_t cli_now_ms(void);

#endif
