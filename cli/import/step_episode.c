/* Steps to an episode. */
#include "cli/import/step_episode.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct step_episode step_episode_new(const struct import_request *request)
{
    return (struct step_episode){
        .request = request, .episode = episode_new(request->description->dim, request->max_steps)};
}

void step_episode_free(struct step_episode *steps)
{
    episode_free(&steps->episode);
}

void step_episode_begin(struct step_episode *steps, const char *group,
                        enum description_last_state rule, bool says_truncated)
{
    steps->group = group;
    steps->broken = false;
    episode_begin(&steps->episode, rule, says_truncated);
}

void step_episode_fault(struct step_episode *steps, uint64_t number, const char *name,
                        const char *detail)
{
    char pointer[300];
    bool both = steps->group[0] != '\0' && name;
    snprintf(pointer, sizeof pointer, "%s%s%s", steps->group, both ? ", " : "", name ? name : "");
    steps->broken = true;
    steps->request->faults.report(steps->request->faults.context, number, pointer, detail);
}

/* Brings OBSERVATION into STATE. */
static void step_state(struct step_episode *steps, uint64_t number, const double *observation,
                       float *state)
{
    const struct description *description = steps->request->description;
    const float *previous = steps->episode.rows > 0 ? state - description->dim : NULL;
    char detail[DESCRIPTION_FAULT_SIZE];
    memset(state, 0, description->dim * sizeof *state);
    for (unsigned f = 0; f < description->feature_count; f++)
        if (!table_value_number(description, f, observation[f], previous, state,
                                steps->request->tally, detail))
            step_episode_fault(steps, number, description->features[f].name, detail);
}

static void step_read_act(struct step_episode *steps, uint64_t number, const struct step_act *act,
                          struct episode_row *row)
{
    const struct import_request *request = steps->request;
    char detail[DESCRIPTION_FAULT_SIZE];
    row->acts = true;
    row->terminated = act->terminated;
    row->truncated = act->truncated;
    if (!table_action_number(request->description, act->action, &row->action, request->tally,
                             detail))
        step_episode_fault(steps, number, "actions", detail);
    if (fabs(act->reward) <= FLT_MAX)
        row->reward = (float)act->reward;
    else
        step_episode_fault(steps, number, "rewards", "is no number that a 32-bit float can hold");
}

void step_episode_add(struct step_episode *steps, uint64_t number, const double *observation,
                      const struct step_act *act)
{
    struct episode_row row = {0};
    const char *problem;
    float *state = episode_next_state(&steps->episode, &problem);
    steps->last = number;
    if (!state) {
        if (!steps->broken)
            step_episode_fault(steps, number, NULL, problem);
        return;
    }
    step_state(steps, number, observation, state);
    if (act)
        step_read_act(steps, number, act, &row);
    problem = episode_add(&steps->episode, &row);
    if (problem && !steps->broken)
        step_episode_fault(steps, number, NULL, problem);
}

enum json_stream_status step_episode_end(struct step_episode *steps, struct trajectory *out)
{
    if (steps->broken)
        return JSON_STREAM_FAULTY;
    const char *problem = episode_end(&steps->episode, out);
    if (!problem)
        return JSON_STREAM_TRAJECTORY;
    step_episode_fault(steps, steps->last, NULL, problem);
    return JSON_STREAM_FAULTY;
}
