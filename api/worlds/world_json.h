/* The messages between the server and a world's program: one line of JSON each way, as
 * docs/worlds.md specifies. This file converts between bytes and numbers and knows no process. */
#ifndef TACET_API_WORLDS_WORLD_JSON_H
#define TACET_API_WORLDS_WORLD_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envs/env.h"

#define WORLD_PROTOCOL     1
#define WORLD_QUESTION_MAX 4096 /* bytes of a question with its newline */

/* Everything that can be wrong with a world's program. Each has a sentence in world_fault_text. */
enum world_fault {
    WORLD_OK,
    /* of the process */
    WORLD_NOT_STARTED,
    WORLD_NOT_SEALED,
    WORLD_NO_RUNNER,
    WORLD_BUSY,
    WORLD_LATE,
    WORLD_ENDED,
    WORLD_TOO_LONG,
    WORLD_OUT_OF_TURN,
    /* of an answer */
    WORLD_NOT_JSON,
    WORLD_BAD_MEMBERS,
    WORLD_BAD_LENGTH,
    WORLD_BAD_NUMBER,
    WORLD_REPORTED,
    WORLD_CHANGED,
    /* of the whole */
    WORLD_SLOW,
    WORLD_TOO_MANY,
    /* not the program's */
    WORLD_STOPPED,
    WORLD_FAULTS
};

/* The end of a sentence that begins with "The world's program": "did not answer in time". Static;
 * nothing of what the program wrote is in it. */
const char *world_fault_text(enum world_fault fault);

/* A world as its program describes it. */
struct world_facts {
    uint32_t state_dim, action_count, max_episode_steps, parameter_count;
    double random_return; /* NAN: it did not say */
    struct world_parameter_facts {
        double value, min, max;
        char name[32], unit[32], meaning[168];
    } parameters[ENV_MAX_PARAMETERS];
};

/* FACTS as the JSON that world_json_description reads; the caller frees it. */
char *world_json_facts(const struct world_facts *facts);

/* Whether A and B describe the same world. */
bool world_facts_equal(const struct world_facts *a, const struct world_facts *b);

/* ---- questions; each gives its bytes in OUT, newline included */

/* Asks the program what world it is. */
size_t world_json_ask_description(char out[WORLD_QUESTION_MAX]);

/* Asks to begin an episode. PARAMETERS are in the order of FACTS; SEED is below 2^53. */
size_t world_json_ask_reset(const struct world_facts *facts, uint32_t instance, uint64_t seed,
                            const double *parameters, char out[WORLD_QUESTION_MAX]);

/* Asks for one step of INSTANCE. */
size_t world_json_ask_step(uint32_t instance, unsigned action, char out[WORLD_QUESTION_MAX]);

/* ---- answers; on anything but WORLD_OK the output is not to be used */

/* Reads a description. DETAIL receives a sentence for the operator that names the bad member. */
enum world_fault world_json_description(const char *line, size_t size, struct world_facts *out,
                                        char detail[160]);

/* Reads the answer to a reset into OBSERVATION[state_dim]. */
enum world_fault world_json_observation(const char *line, size_t size, unsigned state_dim,
                                        double *observation);

/* Reads the answer to a step into OBSERVATION[state_dim] and OUT. */
enum world_fault world_json_step(const char *line, size_t size, unsigned state_dim,
                                 double *observation, struct env_outcome *out);

#endif
