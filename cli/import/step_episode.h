/* Steps of arrays become an episode: observations hold the description's features, in their order
 * and units; faults are reported by the step's number. */
#ifndef TACET_CLI_IMPORT_STEP_EPISODE_H
#define TACET_CLI_IMPORT_STEP_EPISODE_H

#include "api/data/episode.h"
#include "cli/import/import_source.h"

struct step_episode {
    const struct import_request *request; /* borrowed */
    struct episode episode;
    const char *group; /* "episode_3", which precedes a fault's column; "" for none */
    uint64_t last;     /* number of the last step */
    bool broken;       /* a fault was reported */
};

/* An episode without steps. The caller frees it with step_episode_free. */
struct step_episode step_episode_new(const struct import_request *request);

/* Frees the rows. */
void step_episode_free(struct step_episode *steps);

/* Begins the next episode. GROUP (borrowed) is the name of its group in the file. */
void step_episode_begin(struct step_episode *steps, const char *group,
                        enum description_last_state rule, bool says_truncated);

/* What a step has beside its observation. */
struct step_act {
    double action, reward;
    bool terminated, truncated;
};

/* Adds step NUMBER: OBSERVATION has a number for each feature. ACT is NULL for the state after the
 * last action. */
void step_episode_add(struct step_episode *steps, uint64_t number, const double *observation,
                      const struct step_act *act);

/* Reports a fault of step NUMBER; NAME may be NULL. */
void step_episode_fault(struct step_episode *steps, uint64_t number, const char *name,
                        const char *detail);

/* Ends the episode: JSON_STREAM_TRAJECTORY with *OUT, or JSON_STREAM_FAULTY. */
enum json_stream_status step_episode_end(struct step_episode *steps, struct trajectory *out);

#endif
