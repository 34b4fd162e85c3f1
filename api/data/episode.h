/* Puts the rows of one episode together to a trajectory, by the declared rule for its last state.
 * Tables and arrays go through it alike. */
#ifndef TACET_API_DATA_EPISODE_H
#define TACET_API_DATA_EPISODE_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/data/trajectory.h"
#include "api/data/description.h"

struct episode {
    uint32_t dim, max_steps;
    enum description_last_state rule;
    bool says_truncated; /* the data say which episodes are truncated */
    uint32_t rows, steps;
    bool terminated, truncated;
    uint32_t room; /* rows */
    float *states; /* owned, as are the next two */
    float *rewards;
    uint16_t *actions;
};

/* What a row has beside its state. */
struct episode_row {
    bool acts; /* it has an action and a reward */
    uint16_t action;
    float reward;
    bool terminated, truncated;
};

/* An episode without rows, of states of DIM coordinates and at most MAX_STEPS actions. The caller
 * frees it with episode_free. */
struct episode episode_new(uint32_t dim, uint32_t max_steps);

/* Frees the rows. */
void episode_free(struct episode *episode);

/* Forgets the rows and begins an episode under RULE. SAYS_TRUNCATED: an episode that ends neither
 * terminated nor truncated is refused. Otherwise every episode not terminated is truncated. */
void episode_begin(struct episode *episode, enum description_last_state rule, bool says_truncated);

/* Where the next row's state goes, DIM floats; the last row's is just before it. NULL: there are
 * too many rows already, or no memory for more; *out_problem is the sentence. */
float *episode_next_state(struct episode *episode, const char **out_problem);

/* Adds the row whose state was written to episode_next_state. NULL, or a sentence that says why it
 * cannot follow; it is not added then. */
const char *episode_add(struct episode *episode, const struct episode_row *row);

/* Ends the episode, which has rows. NULL: *OUT holds it, pointing into EPISODE until the next call;
 * else a sentence. */
const char *episode_end(struct episode *episode, struct trajectory *out);

#endif
