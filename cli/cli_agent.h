/* tacet agent: agents of an aggregation, as clients over HTTP. */
#ifndef TACET_CLI_CLI_AGENT_H
#define TACET_CLI_CLI_AGENT_H

int cli_agent(int argc, char **argv); /* as in cli.h */

#endif
