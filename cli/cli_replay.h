/* `tacet replay`: recorded episodes against our worlds. 0 when all agree, 1 when one does not. */
#ifndef TACET_CLI_CLI_REPLAY_H
#define TACET_CLI_CLI_REPLAY_H

int cli_replay(int argc, char **argv);

#endif
