/* Recorded episodes, played again: does a world still do what was recorded, here or elsewhere?
 * Every step starts from the recorded state before it, so that rounding does not add up; where a
 * world's state cannot be set, the episode is played from its start. */
#ifndef TACET_ENVS_REPLAY_H
#define TACET_ENVS_REPLAY_H

#include "envs/env.h"

#define REPLAY_MAX_NUMBERS 16

/* How to replay a world. The functions are for replay.c. */
struct replay_world {
    const struct env *env;
    const char *references[3]; /* the worlds elsewhere that it is, up to a NULL */
    unsigned numbers;          /* of a recorded state, <= REPLAY_MAX_NUMBERS */
    unsigned start_numbers;    /* of a recorded start, likewise */
    unsigned chance_numbers;   /* of what chance gave a step, where that is recorded; 0: nothing */
    bool chance_needed;        /* it must be recorded */
    bool from_start;           /* states cannot be set */
    double tolerance; /* of the largest error; in the first steps where played from_start */
    const char *error_meaning; /* what an error is */

    /* NULL: a start is a state, for place. */
    bool (*begin)(void *state, const double *parameters, const double *start);
    bool (*place)(void *state, const double *numbers);
    struct env_outcome (*step)(void *state, const double *parameters, unsigned action,
                               const double *chance, double *numbers);
    double (*error)(const double *seen, const double *wanted);
    double (*tolerance_at)(size_t step);                         /* NULL: .tolerance always */
    double (*reward_tolerance)(double tolerance, double reward); /* NULL: 0 */
};

/* All of them; *count receives their number. */
const struct replay_world *replay_all(unsigned *count);

/* The world of that name, ours or a reference's; NULL: none. */
const struct replay_world *replay_find(const char *name);

/* One recorded episode of LENGTH steps; arrays are the owner's. */
struct replay_case {
    double parameters[ENV_MAX_PARAMETERS];
    uint32_t limit; /* steps after which the episode is truncated */
    size_t length;
    const double *start;     /* [start_numbers]; see each world in replay.c */
    const uint32_t *actions; /* [length], each < action_count */
    const double *chance;    /* [length * chance_numbers], or NULL */
    const double *states;    /* [length * numbers]: after each step */
    const double *rewards;   /* [length] */
    const bool *terminated;  /* [length] */
    const bool *truncated;   /* [length] */
};

/* Steps count from 1. */
struct replay_result {
    double error; /* the largest, INFINITY when a number is none */
    size_t error_step;
    double reward_error; /* the largest difference of a reward */
    size_t reward_step;
    size_t flags_step; /* the first whose flags differ; 0: none */
    bool states_agree, rewards_agree, flags_agree;
};

enum replay_status {
    REPLAY_DONE,
    REPLAY_NO_MEMORY,
    REPLAY_NO_SUCH_STATE, /* a start, state or parameter is none of this world */
};

/* Plays RECORDED again. States agree when every error is within *TOLERANCE, or within the world's
 * own when that is NULL. */
enum replay_status replay_run(const struct replay_world *world, const struct replay_case *recorded,
                              const double *tolerance, struct replay_result *out);

#endif
