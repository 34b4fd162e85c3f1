/* The table of settings. Where they come from: docs/results/offline.md. */
#include "bench/offline/tuned.h"

#include <string.h>

#define MOST 8

/* NULL: all of them. Later rows are applied after earlier ones. */
static const struct {
    const char *world, *algorithm, *method;
    struct cell_setting settings[MOST]; /* up to one without a name */
} rows[] = {
    {"cartpole", NULL, NULL, {{"steps", 40000}}},
    {"cartpole", "cql", "none", {{"alpha", 0.05}}},
    {"cartpole", NULL, "dpsgd", {{"weight_power", 8}}},
    {"cartpole",
     NULL,
     "selective",
     {{"weight_power", 8}, {"stable_count", 5}, {"stable_share", 0.5}, {"plain_share", 0.1}}},
    {"cartpole",
     NULL,
     "selective_paper",
     {{"weight_power", 8}, {"stable_count", 5}, {"stable_share", 0.5}, {"plain_share", 0.1}}},
    {"cartpole",
     NULL,
     "consensus",
     {{"labels", 5000},
      {"label_length", 1000},
      {"explore", 0.3},
      {"skill_high", 1000},
      {"skill_power", 8},
      {"candidates", 100},
      {"candidate_episodes", 100}}},
    {"cartpole", "cql", "consensus", {{"alpha", 0.2}}},
    {"cartpole", "bcq", "consensus", {{"skill_power", 6}}},
    {"hiv",
     NULL,
     "consensus",
     {{"labels", 2000}, {"skill_high", 1e9}, {"skill_power", 1}, {"skill_episodes", 4}}},
    {"lunar_lander",
     NULL,
     "consensus",
     {{"labels", 3000},
      {"label_length", 1000},
      {"skill_low", -200},
      {"skill_high", 300},
      {"skill_power", 4}}},
    {"hiv", "cql", "consensus", {{"alpha", 1}}},
    {"hiv", "bcq", "consensus", {{"threshold", 0.95}}},
    {"lunar_lander", "cql", "consensus", {{"alpha", 1}}},
    {"lunar_lander", "bcq", "consensus", {{"threshold", 0.95}}},
    {"acrobot", NULL, NULL, {{"steps", 40000}}},
    {"acrobot", "cql", "none", {{"alpha", 0.05}}},
    {"acrobot", "cql", "consensus", {{"alpha", 1}}},
    {"acrobot", NULL, "selective", {{"stable_count", 5}, {"stable_share", 0.5}}},
    {"acrobot", NULL, "selective_paper", {{"stable_count", 5}, {"stable_share", 0.5}}},
};

static bool fits(const char *wanted, const char *name)
{
    return !wanted || strcmp(wanted, name) == 0;
}

/* CartPole's labels at a small budget, where noise makes them unsure. */
static unsigned low_budget(const struct cell *cell, struct cell_setting out[CELL_SETTINGS],
                           unsigned count)
{
    if (!fits("cartpole", cell->population->env->name) || !fits("consensus", cell->method->name) ||
        cell->epsilon > 5.0 || count + 3 > CELL_SETTINGS)
        return count;
    if (fits("cql", cell->algorithm->name))
        out[count++] = (struct cell_setting){"explore", 0.1}; /* they explore by themselves */
    if (cell->epsilon >= 5.0)
        return count;
    /* More voices, of lucky experts too: there are too few others for the noise. */
    out[count++] = (struct cell_setting){"skill_episodes", 4};
    out[count++] = (struct cell_setting){"candidate_episodes", 20};
    return count;
}

/* And at a large one, which pays for fewer voices: those of better experts. */
static unsigned high_budget(const struct cell *cell, struct cell_setting out[CELL_SETTINGS],
                            unsigned count)
{
    if (!fits("cartpole", cell->population->env->name) || !fits("consensus", cell->method->name) ||
        !fits("cql", cell->algorithm->name) || cell->epsilon < 10.0 || count == CELL_SETTINGS)
        return count;
    out[count++] = (struct cell_setting){"skill_power", 16};
    return count;
}

unsigned tuned_settings(const struct cell *cell, struct cell_setting out[CELL_SETTINGS])
{
    unsigned count = 0;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        if (!fits(rows[r].world, cell->population->env->name) ||
            !fits(rows[r].algorithm, cell->algorithm->name) ||
            !fits(rows[r].method, cell->method->name))
            continue;
        for (int i = 0; i < MOST && rows[r].settings[i].name && count < CELL_SETTINGS; i++)
            out[count++] = rows[r].settings[i];
    }
    count = low_budget(cell, out, count);
    return high_budget(cell, out, count);
}
