/* Collects the rows of a table into one trajectory. There is always room for one more row: the
 * state that "repeat" adds. */
#include "api/data/episode.h"
#include "memory/wipe.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64

struct episode episode_new(uint32_t dim, uint32_t max_steps)
{
    return (struct episode){.dim = dim, .max_steps = max_steps};
}

void episode_free(struct episode *episode)
{
    wipe_free(episode->states);
    wipe_free(episode->rewards);
    wipe_free(episode->actions);
}

void episode_begin(struct episode *episode, enum description_last_state rule, bool says_truncated)
{
    episode->rule = rule;
    episode->says_truncated = says_truncated;
    episode->rows = episode->steps = 0;
    episode->terminated = episode->truncated = false;
}

/* ARRAY with SIZE bytes; as it was where there is no memory, and *GOOD is false. */
static void *episode_resize(void *array, size_t size, bool *good)
{
    void *fresh = wipe_resize(array, size);
    if (fresh)
        return fresh;
    *good = false;
    return array;
}

/* Makes room for ROWS rows and one more. */
static bool episode_reserve(struct episode *episode, uint32_t rows)
{
    if (rows < episode->room)
        return true;
    size_t room = episode->room > 0 ? 2 * (size_t)episode->room : FIRST_ROOM;
    bool good = room <= UINT32_MAX;
    episode->states = episode_resize(episode->states, room * episode->dim * sizeof(float), &good);
    episode->rewards = episode_resize(episode->rewards, room * sizeof(float), &good);
    episode->actions = episode_resize(episode->actions, room * sizeof(uint16_t), &good);
    if (!good)
        return false;
    episode->room = (uint32_t)room;
    return true;
}

float *episode_next_state(struct episode *episode, const char **out_problem)
{
    *out_problem = "makes the episode longer than max_episode_steps allows";
    if (episode->rows > episode->max_steps)
        return NULL;
    *out_problem = "makes the episode longer than the memory allows";
    if (!episode_reserve(episode, episode->rows + 1))
        return NULL;
    *out_problem = NULL;
    return episode->states + (size_t)episode->rows * episode->dim;
}

const char *episode_add(struct episode *episode, const struct episode_row *row)
{
    if (episode->steps < episode->rows)
        return "follows a row without an action, which must be the episode's last";
    if (row->acts && episode->terminated)
        return "follows a row that says that the episode has terminated";
    if (row->acts && episode->truncated)
        return "follows a row that says that the episode is truncated";
    if (!row->acts && episode->rule != LAST_STATE_OWN_ROW)
        return "has no action and no reward: with \"last_state\":\"own_row\" such a row holds the "
               "state after the last action";
    if (!row->acts && episode->rows == 0)
        return "has no action and no reward, and is the episode's first: such a row comes last. "
               "Are "
               "the rows sorted by time?";
    if (row->acts) {
        episode->actions[episode->steps] = row->action;
        episode->rewards[episode->steps] = row->reward;
        episode->steps++;
    }
    episode->rows++;
    episode->terminated |= row->terminated;
    episode->truncated |= row->truncated;
    return NULL;
}

/* The rule of an episode with a rule for each of two kinds. */
static enum description_last_state rule_of(const struct episode *episode)
{
    if (episode->rule != LAST_STATE_REPEAT_OR_DROP)
        return episode->rule;
    return episode->terminated ? LAST_STATE_REPEAT : LAST_STATE_DROP;
}

/* Makes rows one more than steps. NULL, or a sentence. */
static const char *episode_find_last(struct episode *episode)
{
    size_t row = episode->dim * sizeof(float);
    switch (rule_of(episode)) {
    case LAST_STATE_REPEAT:
        if (!episode->terminated)
            return "is the last of an episode that has not terminated: its last state cannot be "
                   "repeated; \"last_state\":\"drop\" drops its last action instead, and "
                   "\"repeat_or_drop\" does so where an episode has not terminated";
        if (episode->steps > episode->max_steps)
            return "makes the episode longer than max_episode_steps allows";
        memcpy(episode->states + (size_t)episode->rows * episode->dim,
               episode->states + (size_t)(episode->rows - 1) * episode->dim, row);
        episode->rows++;
        return NULL;
    case LAST_STATE_DROP:
        if (episode->steps < 2)
            return "is the only one of its episode: \"last_state\":\"drop\" leaves no action of it";
        episode->steps--;
        episode->terminated = false;
        return NULL;
    default:
        if (episode->rows == episode->steps)
            return "is the last of its episode and has an action: with "
                   "\"last_state\":\"own_row\" a row without action and reward must follow, with "
                   "the state after it";
        return NULL;
    }
}

const char *episode_end(struct episode *episode, struct trajectory *out)
{
    if (episode->says_truncated && !episode->terminated && !episode->truncated)
        return "is the last of an episode that is neither terminated nor truncated: is something "
               "cut off?";
    const char *problem = episode_find_last(episode);
    if (problem)
        return problem;
    *out = (struct trajectory){.length = episode->steps,
                               .terminated = episode->terminated,
                               .truncated = !episode->terminated,
                               .states = episode->states,
                               .actions = episode->actions,
                               .rewards = episode->rewards};
    return NULL;
}
