/* Many agents in one process, for experiments. Each thread runs one agent after another: it makes
 * the agent if it is not the first, gives the agent a world of its own and lets it report. */
#ifndef TACET_CLI_AGENT_CROWD_H
#define TACET_CLI_AGENT_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "api/wire/problem_line.h"
#include "cli/agent_life.h"

#define AGENT_CROWD_THREADS    64
#define AGENT_CROWD_VALUES     64
#define AGENT_CROWD_RECENT     10 /* scores whose mean is told */
#define AGENT_CROWD_TOKEN_SIZE 256

/* A parameter of the world that each agent draws from these values. */
struct agent_variation {
    int parameter; /* index in the world */
    double value[AGENT_CROWD_VALUES];
    unsigned count;
};

/* What the agents do. Texts are borrowed. */
struct agent_crowd_plan {
    const char *server, *ca_file; /* the latter: NULL for the system's */
    const char *token;            /* of the first agent */
    const char *admin;            /* makes the other agents; NULL: there is one agent */
    struct agent_task task;
    struct agent_variation variation[ENV_MAX_PARAMETERS];
    unsigned variations;
    uint64_t agents, seed;
    unsigned threads; /* 1 .. AGENT_CROWD_THREADS */
    double success;   /* stop at this mean of the last AGENT_CROWD_RECENT scores; 0: never */
};

/* The results of a run. */
struct agent_crowd_report {
    uint64_t reported, stale, not_asked; /* reports counted, too late; agents without one left */
    int64_t version;                     /* of the parameters, as last heard */
    double mean_score, mean_recent;      /* of all reports; of the last AGENT_CROWD_RECENT */
    uint64_t first_success;              /* reports until the mean reached success; 0: never */
    char failure[PROBLEM_LINE_SIZE];     /* why they stopped; "" for none */
};

/* Runs all agents to the end, with a progress bar on a terminal. */
void agent_crowd_run(const struct agent_crowd_plan *plan, struct agent_crowd_report *out);

struct http_out;

/* Makes a new agent through ADMIN, the connection of an admin, and stores its TOKEN[size]. False:
 * it was refused, and WHY has a line. */
bool agent_crowd_make(struct http_out *admin, uint64_t number, char *token, size_t size,
                      char why[PROBLEM_LINE_SIZE]);

#endif
