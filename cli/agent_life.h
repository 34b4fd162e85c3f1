/* One agent of an aggregation: it plays an episode in its own world, randomises the gradient on
 * this machine, and sends the report. Nothing else that depends on the episode leaves this machine.
 */
#ifndef TACET_CLI_AGENT_LIFE_H
#define TACET_CLI_AGENT_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/wire/agent_messages.h"
#include "api/wire/problem_line.h"
#include "envs/env.h"

struct http_out;

/* The settings that all agents of this process share. Texts are borrowed. */
struct agent_task {
    const char *aggregation;
    struct agent_terms terms;
    const struct env *env; /* fits the terms */
    uint32_t max_steps;
};

/* One agent's memory, reused from agent to agent. */
struct agent_room {
    float *parameters;
    double *gradient;
    int64_t *report;
    void *world;
    struct a3c_episode episode;
};

/* Opens the world and allocates ROOM. False: the world does not open. The caller frees ROOM with
 * agent_room_clear, also after failure. */
bool agent_room_init(struct agent_room *room, const struct agent_task *task);

/* Frees what ROOM holds. */
void agent_room_clear(struct agent_room *room, const struct agent_task *task);

enum agent_end {
    AGENT_REPORTED,
    AGENT_STALE,     /* the parameters had moved on; what was sent is spent and was not counted */
    AGENT_NOT_ASKED, /* it has no report left, or the aggregation is closed: nothing was sent */
    AGENT_FAILED,    /* *why says so */
};

/* Makes one report for the agent whose token OUT carries, in a world with PHYSICS and RNG.
 * *out_score receives the episode's undiscounted return, which only the agent may see; *out_version
 * the version after the report. WHY receives a line after AGENT_FAILED. */
enum agent_end agent_report(struct http_out *out, const struct agent_task *task,
                            struct agent_room *room, const double *physics, struct rng *rng,
                            double *out_score, int64_t *out_version, char why[PROBLEM_LINE_SIZE]);

#endif
