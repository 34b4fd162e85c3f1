/* A run's result chosen by play (algos/offline/choice.h): what is asked for, and where it plays. */
#ifndef TACET_ALGOS_CHOICE_TERMS_H
#define TACET_ALGOS_CHOICE_TERMS_H

#include <stdint.h>

#include "envs/env.h"

#define CHOICE_MAX_CANDIDATES 100

/* What of it is public: which weights play, and how often. */
struct choice {
    uint32_t candidates; /* 0: the last weights are the result */
    uint32_t episodes;   /* that each plays */
    uint32_t max_steps;  /* of an episode */
};

/* Where the candidates play: in a built-in world. (A program would see weights that may be lost in
 * a crash and never released.) Borrowed. */
struct choice_place {
    const struct env *world;
    const double *physics; /* as env_defaults fills them; NULL: the world has none */
};

#endif
