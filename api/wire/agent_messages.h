/* Reads a server's answers about an aggregation for an agent, and writes the agent's messages.
 * Every number from outside is checked before its use, because the agent's privacy depends on the
 * settings. */
#ifndef TACET_API_WIRE_AGENT_MESSAGES_H
#define TACET_API_WIRE_AGENT_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/online/actor_critic.h"
#include "algos/privacy/local/local_mechanism.h"

/* The settings of an aggregation as an agent needs them. */
struct agent_terms {
    char environment[64]; /* "" for none */
    bool open;
    struct actor_critic net;
    struct local_scheme scheme; /* made here from the terms, never taken over */
    struct a3c_settings loss;
    double epsilon; /* of all the agent's reports */
    int64_t submissions_per_agent;
};

/* Reads GET /v1/aggregations/{id}. NULL, or a sentence (static) that says what is not right. */
const char *agent_terms_read(const char *body, size_t size, struct agent_terms *out);

/* The present parameters. */
struct agent_parameters {
    int64_t version, reports_left;
    bool open;
    double exploration;
    unsigned char seed[LOCAL_SEED_SIZE];
};

/* Reads GET /v1/aggregations/{id}/parameters; PARAMETERS[count] of TERMS' network. As above. */
const char *agent_parameters_read(const char *body, size_t size, const struct agent_terms *terms,
                                  struct agent_parameters *out, float *parameters);

/* The body of a submission of REPORT[report_length], made under VERSION. The caller frees it. */
char *agent_submission_write(const struct local_scheme *scheme, int64_t version,
                             const int64_t *report);

/* Reads the version from the answer to a submission; 0 when the answer is malformed. */
int64_t agent_version_read(const char *body, size_t size);

#endif
