/* tacet epsilon: what a mechanism costs, by the accountants that the service charges by. */
#ifndef TACET_CLI_CLI_EPSILON_H
#define TACET_CLI_CLI_EPSILON_H

int cli_epsilon(int argc, char **argv);

#endif
