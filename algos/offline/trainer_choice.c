/* Candidates at play. One that is interrupted plays anew: its episodes are the same. */
#include "algos/offline/trainer_choice.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "algos/offline/choice.h"
#include "algos/offline/trainer_input.h"
#include "memory/memory.h"

void trainer_choice_init(struct trainer_choice *out, const struct trainer_settings *settings,
                         const struct choice_place *place)
{
    assert(settings->choice && place->world);
    *out = (struct trainer_choice){.settings = settings, .place = place};
    out->candidate = memory_must(policy_new(&settings->rule.shape, settings->output));
    out->candidate->threshold = settings->threshold;
}

void trainer_choice_clear(struct trainer_choice *choice)
{
    policy_free(choice->candidate);
    *choice = (struct trainer_choice){0};
}

bool trainer_choice_play(struct trainer_choice *choice, struct trainer_state *state, uint32_t due)
{
    const struct choice *asked = choice->settings->choice;
    const float *weights = state->average ? state->average : state->online;
    float *parameters = choice->candidate->parameters;
    if (choice->score.episodes == 0) {
        memcpy(parameters, weights, state->count * sizeof *parameters);
        trainer_input_fold(choice->settings, parameters);
    }
    enum choice_verdict verdict =
        choice_play(asked, choice->candidate, choice->place, &choice->score);
    if (verdict == CHOICE_BROKEN)
        return false;
    bool played = verdict == CHOICE_PLAYED;
    if (played && choice->score.episodes < asked->episodes)
        return true;
    double mean = choice->score.sum / asked->episodes;
    if (played && isfinite(mean) && !(state->best_return > mean)) {
        memcpy(state->best, weights, state->count * sizeof *weights);
        state->best_return = mean;
    }
    choice->score = (struct choice_score){0};
    state->judged = due;
    return true;
}

float *trainer_take_result(const struct trainer_settings *settings, struct trainer_state *state)
{
    float **from = state->average ? &state->average : &state->online;
    if (settings->choice && isnan(state->best_return))
        return NULL;
    if (settings->choice)
        from = &state->best;
    float *result = *from;
    trainer_input_fold(settings, result);
    for (size_t i = 0; i < state->count; i++)
        if (!isfinite(result[i]))
            return NULL;
    *from = NULL;
    return result;
}
