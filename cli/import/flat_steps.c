/* Flat arrays to trajectories. An episode ends where any array that marks ends is true, and where
 * the arrays end: to leave out one that is there could make episodes of two experts one. */
#include "cli/import/flat_steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

static const char *const flat_names[FLAT_ARRAY_COUNT] = {
    [FLAT_OBSERVATIONS] = "observations",
    [FLAT_ACTIONS] = "actions",
    [FLAT_REWARDS] = "rewards",
    [FLAT_TERMINALS] = "terminals",
    [FLAT_TERMINATIONS] = "terminations",
    [FLAT_TIMEOUTS] = "timeouts",
    [FLAT_TRUNCATIONS] = "truncations",
    [FLAT_EPISODE_ENDS] = "episode_terminals",
    [FLAT_NEXT_OBSERVATIONS] = "next_observations",
};

struct flat_steps {
    struct import_source *source; /* borrowed */
    struct flat_arrays arrays;
    struct step_episode steps;
    enum description_last_state rule;
    uint64_t row, episodes;
    double *observation, *last; /* owned: a row of each kind */
    char expert[EXPERT_NAME_MAX + 2];
};

/* ---- shapes */

const char *flat_name(const struct import_request *request, enum flat_array which)
{
    if (which == FLAT_EXPERTS)
        return request->experts_key;
    if (which != FLAT_ENDS_BY)
        return flat_names[which];
    bool names_array = request->ends_by && strcmp(request->ends_by, "terminals") != 0;
    return names_array ? request->ends_by : NULL;
}

static bool flat_check_width(struct import_source *source, const struct flat_arrays *arrays,
                             enum flat_array which)
{
    uint32_t width = arrays->of[which].width;
    unsigned features = source->request.description->feature_count;
    const char *path = source->request.path, *name = flat_name(&source->request, which);
    if (which == FLAT_OBSERVATIONS || which == FLAT_NEXT_OBSERVATIONS)
        return width == features ||
               import_failed(source,
                             "%s: %s have %" PRIu32 " numbers in a row, and the description has %u "
                             "features (a category is one number, its index)",
                             path, name, width, features);
    if (width == 1)
        return true;
    if (which == FLAT_ACTIONS)
        return import_failed(source,
                             "%s: actions are vectors of %" PRIu32 " numbers, which is not "
                             "supported: an action is one number, whole or cut into bins "
                             "(docs/own-data.md)",
                             path, width);
    return import_failed(source, "%s: %s must have one number for each step, not %" PRIu32, path,
                         name, width);
}

static bool flat_check_shapes(struct import_source *source, const struct flat_arrays *arrays)
{
    uint64_t rows = arrays->of[FLAT_OBSERVATIONS].rows;
    for (unsigned a = 0; a < FLAT_ARRAY_COUNT; a++) {
        const char *name = flat_name(&source->request, a);
        bool needed =
            a < FLAT_TERMINALS || (a == FLAT_TERMINALS && !arrays->of[FLAT_TERMINATIONS].there);
        if (!arrays->of[a].there && needed)
            return import_failed(source, "%s: there is no array \"%s\"", source->request.path,
                                 name);
        if (!arrays->of[a].there)
            continue;
        if (arrays->of[a].rows != rows)
            return import_failed(source,
                                 "%s: %s have %" PRIu64 " rows and observations %" PRIu64
                                 ": all arrays must have one row for each step",
                                 source->request.path, name, arrays->of[a].rows, rows);
        if (!flat_check_width(source, arrays, a))
            return false;
    }
    return rows > 0 || import_failed(source, "%s: the arrays have no rows", source->request.path);
}

static bool flat_check_experts(struct import_source *source, const struct flat_arrays *arrays)
{
    const struct import_request *request = &source->request;
    if (request->experts == IMPORT_EXPERTS_UNSAID)
        return import_failed(source,
                             "%s: say whose the episodes are, because privacy protects experts: "
                             "--experts-by ARRAY, --episodes-per-expert N or --expert-per-episode",
                             request->path);
    if (request->experts == IMPORT_EXPERTS_BY_KEY && !arrays->of[FLAT_EXPERTS].there)
        return import_failed(source, "%s: --experts-by: there is no array \"%s\"", request->path,
                             request->experts_key);
    return true;
}

/* Without an array for them, episodes that a limit ended run into one another. */
static bool flat_check_ends(struct import_source *source, const struct flat_arrays *arrays)
{
    const struct import_request *request = &source->request;
    bool known = request->ends_by;
    for (unsigned a = FLAT_TIMEOUTS; a <= FLAT_ENDS_BY; a++)
        known = known || arrays->of[a].there;
    if (flat_name(request, FLAT_ENDS_BY) && !arrays->of[FLAT_ENDS_BY].there)
        return import_failed(source, "%s: --ends-by: there is no array \"%s\"", request->path,
                             request->ends_by);
    if (known)
        return true;
    return import_failed(source,
                         "%s: there is no array \"timeouts\", so an episode that did not terminate "
                         "would become one with the next: say --ends-by terminals if every episode "
                         "but the last terminated, or name an array by --ends-by ARRAY that is 1 "
                         "at the last step of each episode",
                         request->path);
}

/* Finds the rule for the last state. */
static bool find_rule(struct import_source *source, const struct flat_arrays *arrays,
                      enum description_last_state *out)
{
    const struct import_request *request = &source->request;
    int rule = request->last_state;
    if (arrays->of[FLAT_NEXT_OBSERVATIONS].there) {
        *out = LAST_STATE_OWN_ROW;
        return rule < 0 || import_failed(source,
                                         "%s: next_observations hold the last states: leave out "
                                         "--last-state",
                                         request->path);
    }
    if (rule < 0 && request->description->has_table)
        rule = (int)request->description->table.last_state;
    if (rule < 0 || rule == LAST_STATE_OWN_ROW)
        return import_failed(source,
                             "%s: there are no next_observations, so the states after the last "
                             "actions are not there: say by --last-state repeat, drop or "
                             "repeat_or_drop what is to become of them",
                             request->path);
    *out = (enum description_last_state)rule;
    return true;
}

struct flat_steps *flat_steps_new(struct import_source *source, const struct flat_arrays *arrays)
{
    enum description_last_state rule = LAST_STATE_DROP;
    if (!flat_check_shapes(source, arrays) || !flat_check_experts(source, arrays) ||
        !flat_check_ends(source, arrays) || !find_rule(source, arrays, &rule))
        return NULL;
    struct flat_steps *steps = memory_new(1, sizeof *steps);
    steps->source = source;
    steps->arrays = *arrays;
    steps->rule = rule;
    steps->steps = step_episode_new(&source->request);
    steps->observation = memory_new(arrays->of[FLAT_OBSERVATIONS].width, sizeof(double));
    steps->last = memory_new(arrays->of[FLAT_OBSERVATIONS].width, sizeof(double));
    return steps;
}

void flat_steps_free(struct flat_steps *steps)
{
    if (!steps)
        return;
    step_episode_free(&steps->steps);
    free(steps->observation);
    free(steps->last);
    free(steps);
}

/* ---- a step */

/* What the next row holds beside observations. */
struct flat_row {
    struct step_act act;
    char expert[EXPERT_NAME_MAX + 2];
};

/* Reads a number of WHICH; 0 where the array is not there. */
static bool next_number(struct flat_steps *steps, enum flat_array which, double *out)
{
    *out = 0;
    return !steps->arrays.of[which].there || steps->arrays.next(steps->arrays.context, which, out);
}

static bool next_mark(struct flat_steps *steps, enum flat_array which, bool *out)
{
    double mark;
    if (!next_number(steps, which, &mark))
        return false;
    *out = mark == 1;
    if (mark != 0 && mark != 1)
        step_episode_fault(&steps->steps, steps->row, flat_name(&steps->source->request, which),
                           "must be 0 or 1");
    return true;
}

/* Reads whether an array from FIRST to LAST marks the next row. */
static bool next_end(struct flat_steps *steps, enum flat_array first, enum flat_array last,
                     bool *out)
{
    bool mark;
    *out = false;
    for (unsigned a = first; a <= last; a++) {
        if (!next_mark(steps, a, &mark))
            return false;
        *out = *out || mark;
    }
    return true;
}

/* Reads the expert of the next row, or makes one from the number of the episode. */
static bool next_expert(struct flat_steps *steps, char out[EXPERT_NAME_MAX + 2])
{
    const struct import_request *request = &steps->source->request;
    const struct flat_arrays *arrays = &steps->arrays;
    double number;
    if (request->experts == IMPORT_EXPERTS_OF_EPISODES) {
        snprintf(out, EXPERT_NAME_MAX + 2, "e%06" PRIu64,
                 steps->episodes / request->episodes_per_expert);
        return true;
    }
    if (arrays->of[FLAT_EXPERTS].is_text)
        return arrays->next_name(arrays->context, out);
    if (!arrays->next(arrays->context, FLAT_EXPERTS, &number))
        return false;
    snprintf(out, EXPERT_NAME_MAX + 2, "%.0f", number + 0.0); /* -0 is 0 */
    if (!(fabs(number) < 0x1p53 && number == floor(number)))
        step_episode_fault(&steps->steps, steps->row, request->experts_key,
                           "must be a whole number or a text");
    return true;
}

/* Checks the expert of a row, which is the episode's first when FIRST. */
static void flat_check_expert(struct flat_steps *steps, const char *expert, bool first)
{
    const char *key = steps->source->request.experts_key;
    const char *problem = expert_name_problem(expert, strlen(expert));
    if (problem && first)
        step_episode_fault(&steps->steps, steps->row, key, problem);
    if (first)
        snprintf(steps->expert, sizeof steps->expert, "%s", expert);
    else if (strcmp(expert, steps->expert) != 0 && !steps->steps.broken)
        step_episode_fault(&steps->steps, steps->row, key,
                           "changes within an episode: is the end of one not marked in terminals "
                           "or timeouts?");
}

/* Reads the next row. False: a read failed. */
static bool next_row(struct flat_steps *steps, struct flat_row *row)
{
    const struct flat_arrays *arrays = &steps->arrays;
    return arrays->next(arrays->context, FLAT_OBSERVATIONS, steps->observation) &&
           (!arrays->of[FLAT_NEXT_OBSERVATIONS].there ||
            arrays->next(arrays->context, FLAT_NEXT_OBSERVATIONS, steps->last)) &&
           next_number(steps, FLAT_ACTIONS, &row->act.action) &&
           next_number(steps, FLAT_REWARDS, &row->act.reward) &&
           next_end(steps, FLAT_TERMINALS, FLAT_TERMINATIONS, &row->act.terminated) &&
           next_end(steps, FLAT_TIMEOUTS, FLAT_ENDS_BY, &row->act.truncated) &&
           next_expert(steps, row->expert);
}

enum json_stream_status flat_steps_next(struct flat_steps *steps, struct trajectory *out,
                                        const char **out_expert)
{
    uint64_t rows = steps->arrays.of[FLAT_OBSERVATIONS].rows;
    struct flat_row row;
    bool first = true;
    if (steps->row == rows)
        return JSON_STREAM_END;
    step_episode_begin(&steps->steps, "", steps->rule, false);
    do {
        if (!next_row(steps, &row))
            return JSON_STREAM_GONE;
        flat_check_expert(steps, row.expert, first);
        step_episode_add(&steps->steps, steps->row, steps->observation, &row.act);
        steps->row++;
        steps->source->rows = steps->row;
        first = false;
    } while (!row.act.terminated && !row.act.truncated && steps->row < rows);
    if (steps->arrays.of[FLAT_NEXT_OBSERVATIONS].there)
        step_episode_add(&steps->steps, steps->row - 1, steps->last, NULL);
    steps->episodes++;
    *out_expert = steps->expert;
    return step_episode_end(&steps->steps, out);
}
