/* The trainer's result, perhaps chosen among its own weights (choice.h). Within algos/offline. */
#ifndef TACET_ALGOS_OFFLINE_TRAINER_CHOICE_H
#define TACET_ALGOS_OFFLINE_TRAINER_CHOICE_H

#include "algos/offline/choice.h"
#include "algos/offline/trainer_state.h"

struct trainer_choice {
    const struct trainer_settings *settings;
    const struct choice_place *place;
    struct policy *candidate; /* owned; has its weights while it plays */
    struct choice_score score;
};

/* PLACE and SETTINGS, which ask for a choice, are borrowed. Free with trainer_choice_clear. */
void trainer_choice_init(struct trainer_choice *out, const struct trainer_settings *settings,
                         const struct choice_place *place);

/* Frees the candidate; takes a choice that is all zero. */
void trainer_choice_clear(struct trainer_choice *choice);

/* Plays STATE's result so far for a fraction of a second. When it has played all its episodes, or
 * cannot be played, STATE has judged DUE candidates and keeps it if it is the best. False: no
 * memory, and nothing was judged. */
bool trainer_choice_play(struct trainer_choice *choice, struct trainer_state *state, uint32_t due);

/* The run's result, reading plain states: the best candidate where it is chosen, else the
 * average or the last weights. The caller frees it. NULL: it is not finite, or no candidate could
 * be played. */
float *trainer_take_result(const struct trainer_settings *settings, struct trainer_state *state);

#endif
