/* Groups to trajectories: the arrays of a group are read side by side. */
#include "cli/import_hdf5/minari_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/data/expert_names.h"
#include "cli/import/step_episode.h"
#include "cli/import_hdf5/hdf5_array.h"
#include "memory/memory.h"

enum member { OBSERVATIONS, ACTIONS, REWARDS, TERMINATIONS, TRUNCATIONS, MEMBER_COUNT };

static const char *const member_names[MEMBER_COUNT] = {"observations", "actions", "rewards",
                                                       "terminations", "truncations"};

struct minari_steps {
    struct import_source *source; /* borrowed */
    hid_t file;                   /* borrowed */
    struct step_episode steps;
    uint64_t episode, episodes; /* the next, and how many */
    struct hdf5_array arrays[MEMBER_COUNT];
    double *observation; /* owned */
    char group[40], expert[EXPERT_NAME_MAX + 2];
};

/* Counts the links that are named as episodes. */
static herr_t count_episode(hid_t place, const char *name, const H5L_info_t *info, void *context)
{
    uint64_t *count = context;
    (void)place;
    (void)info;
    *count += strncmp(name, "episode_", 8) == 0;
    return 0;
}

struct minari_steps *minari_steps_new(struct import_source *source, hid_t file)
{
    const struct import_request *request = &source->request;
    uint64_t episodes = 0;
    if (H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, count_episode, &episodes) < 0 ||
        episodes == 0) {
        import_failed(source,
                      "%s: there is neither an array \"observations\" nor a group \"episode_0\": "
                      "only files of D4RL and of Minari are read",
                      request->path);
        return NULL;
    }
    if (request->experts == IMPORT_EXPERTS_UNSAID) {
        import_failed(source,
                      "%s: say whose the episodes are, because privacy protects experts: "
                      "--experts-by ATTRIBUTE, --episodes-per-expert N or --expert-per-episode",
                      request->path);
        return NULL;
    }
    if (request->last_state >= 0) {
        import_failed(source, "%s: the episodes hold their last states: leave out --last-state",
                      request->path);
        return NULL;
    }
    struct minari_steps *steps = memory_new(1, sizeof *steps);
    steps->source = source;
    steps->file = file;
    steps->steps = step_episode_new(request);
    steps->episodes = episodes;
    steps->observation = memory_new(DESCRIPTION_DIM_MAX, sizeof(double));
    return steps;
}

void minari_steps_free(struct minari_steps *steps)
{
    if (!steps)
        return;
    step_episode_free(&steps->steps);
    free(steps->observation);
    free(steps);
}

/* ---- a group */

/* What is wrong with the shapes of the group's arrays: writes a sentence and gives the member's
 * name, or NULL. */
static const char *check_group(const struct minari_steps *steps, char detail[200])
{
    unsigned features = steps->source->request.description->feature_count;
    uint64_t rows = steps->arrays[ACTIONS].rows;
    for (unsigned m = 0; m < MEMBER_COUNT; m++) {
        const struct hdf5_array *array = &steps->arrays[m];
        uint32_t width = m == OBSERVATIONS ? features : 1;
        uint64_t wanted = rows + (m == OBSERVATIONS);
        detail[0] = '\0';
        if (!array->there)
            snprintf(detail, 200, "is missing");
        else if (array->is_text)
            snprintf(detail, 200, "holds texts, not numbers");
        else if (m == ACTIONS && array->width != 1)
            snprintf(detail, 200,
                     "are vectors of %" PRIu32 " numbers, which is not supported: an action is one "
                     "number, whole or cut into bins",
                     array->width);
        else if (array->width != width)
            snprintf(detail, 200, "must have %" PRIu32 " numbers in a row, not %" PRIu32, width,
                     array->width);
        else if (array->rows != wanted)
            snprintf(detail, 200,
                     "must have %" PRIu64 " rows, not %" PRIu64
                     ": one for each action, and one more of observations",
                     wanted, array->rows);
        else if (rows == 0)
            snprintf(detail, 200, "must have at least one row");
        if (detail[0] != '\0')
            return member_names[m];
    }
    return NULL;
}

static bool open_group(struct minari_steps *steps, hid_t group)
{
    char detail[200];
    for (unsigned m = 0; m < MEMBER_COUNT; m++) {
        const char *problem = hdf5_array_open(group, member_names[m], &steps->arrays[m]);
        if (!problem)
            continue;
        step_episode_fault(&steps->steps, 0, member_names[m], problem);
        return false;
    }
    const char *member = check_group(steps, detail);
    if (member)
        step_episode_fault(&steps->steps, 0, member, detail);
    return !member;
}

static void find_expert(struct minari_steps *steps, hid_t group)
{
    const struct import_request *request = &steps->source->request;
    const char *problem = NULL;
    if (request->experts == IMPORT_EXPERTS_BY_KEY)
        problem = hdf5_attribute(group, request->experts_key, steps->expert, sizeof steps->expert);
    else
        snprintf(steps->expert, sizeof steps->expert, "e%06" PRIu64,
                 steps->episode / request->episodes_per_expert);
    if (!problem)
        problem = expert_name_problem(steps->expert, strlen(steps->expert));
    if (problem)
        step_episode_fault(&steps->steps, 0, request->experts_key, problem);
}

/* Reads the next number of MEMBER; sets *BROKEN when it cannot. */
static double next_of(struct minari_steps *steps, enum member member, bool *broken)
{
    double number = 0;
    if (!*broken && !hdf5_array_next(&steps->arrays[member], &number)) {
        step_episode_fault(&steps->steps, 0, member_names[member], "is damaged");
        *broken = true;
    }
    return number;
}

/* Reads the mark of step NUMBER in MEMBER, likewise. */
static bool next_mark_of(struct minari_steps *steps, enum member member, uint64_t number,
                         bool *broken)
{
    double mark = next_of(steps, member, broken);
    if (mark != 0 && mark != 1)
        step_episode_fault(&steps->steps, number, member_names[member], "must be 0 or 1");
    return mark == 1;
}

static void read_group(struct minari_steps *steps)
{
    uint64_t rows = steps->arrays[ACTIONS].rows;
    bool broken = false;
    for (uint64_t t = 0; t <= rows && !broken; t++) {
        struct step_act act = {0};
        if (!hdf5_array_next(&steps->arrays[OBSERVATIONS], steps->observation)) {
            step_episode_fault(&steps->steps, t, member_names[OBSERVATIONS], "is damaged");
            return;
        }
        if (t < rows) {
            act.action = next_of(steps, ACTIONS, &broken);
            act.reward = next_of(steps, REWARDS, &broken);
            act.terminated = next_mark_of(steps, TERMINATIONS, t, &broken);
            act.truncated = next_mark_of(steps, TRUNCATIONS, t, &broken);
        }
        if (!broken)
            step_episode_add(&steps->steps, t, steps->observation, t < rows ? &act : NULL);
    }
    steps->source->rows += rows;
}

enum json_stream_status minari_steps_next(struct minari_steps *steps, struct trajectory *out,
                                          const char **out_expert)
{
    if (steps->episode == steps->episodes)
        return JSON_STREAM_END;
    snprintf(steps->group, sizeof steps->group, "episode_%" PRIu64, steps->episode);
    step_episode_begin(&steps->steps, steps->group, LAST_STATE_OWN_ROW, true);
    hid_t group = H5I_INVALID_HID;
    if (hdf5_has(steps->file, steps->group))
        group = H5Gopen2(steps->file, steps->group, H5P_DEFAULT);
    if (group < 0) {
        step_episode_fault(&steps->steps, 0, NULL,
                           "is missing or no group: episodes are numbered from 0 without gaps");
    } else {
        find_expert(steps, group);
        if (open_group(steps, group))
            read_group(steps);
        for (unsigned m = 0; m < MEMBER_COUNT; m++)
            hdf5_array_close(&steps->arrays[m]);
        H5Gclose(group);
    }
    steps->episode++;
    *out_expert = steps->expert;
    return step_episode_end(&steps->steps, out);
}
