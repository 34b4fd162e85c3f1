/* Replays recorded episodes and checks that a world still does what was recorded, here or
 * elsewhere. Every step starts from the recorded state before it, so that rounding does not add up.
 * Where a world's state cannot be set, the episode is played from its start. */
#ifndef TACET_ENVS_REPLAY_H
#define TACET_ENVS_REPLAY_H

#include "envs/env.h"

#define REPLAY_MAX_NUMBERS 16

/* How to replay a world. The functions are for replay.c. */
struct replay_world {
    const struct env *env;
    const char *references[3]; /* names of the world in reference implementations; NULL ends the
                                * list */
    unsigned numbers;          /* numbers in a recorded state, <= REPLAY_MAX_NUMBERS */
    unsigned start_numbers;    /* numbers in a recorded start, <= REPLAY_MAX_NUMBERS */
    unsigned chance_numbers;   /* recorded random numbers of a step; 0: none are recorded */
    bool chance_needed;        /* it must be recorded */
    bool from_start;           /* states cannot be set */
    double tolerance; /* bound of the largest error; where played from_start, bound in the first
                       * steps */
    const char *error_meaning; /* what an error is */

    /* NULL: a start is a state, which PLACE takes. */
    bool (*begin)(void *state, const double *parameters, const double *start);
    bool (*place)(void *state, const double *numbers);
    struct env_outcome (*step)(void *state, const double *parameters, unsigned action,
                               const double *chance, double *numbers);
    double (*error)(const double *seen, const double *wanted);
    double (*tolerance_at)(size_t step);                         /* NULL: .tolerance always */
    double (*reward_tolerance)(double tolerance, double reward); /* NULL: 0 */
};

/* All replays; *COUNT receives their number. */
const struct replay_world *replay_all(unsigned *count);

/* The replay of the world NAME, by our name or a reference's; NULL: there is none. */
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
    double error; /* the largest error, INFINITY when a number is not finite */
    size_t error_step;
    double reward_error; /* the largest difference of rewards */
    size_t reward_step;
    size_t flags_step; /* the first step whose flags differ; 0: none */
    bool states_agree, rewards_agree, flags_agree;
};

enum replay_status {
    REPLAY_DONE,

    REPLAY_NO_SUCH_STATE, /* a start, state or parameter does not belong to this world */
};

/* Plays RECORDED again. States agree when every error is within *TOLERANCE. TOLERANCE NULL: the
 * world's own. */
enum replay_status replay_run(const struct replay_world *world, const struct replay_case *recorded,
                              const double *tolerance, struct replay_result *out);

#endif
