/* The table of settings. Where they come from: docs/results/offline-settings.md. */
#include "bench/offline/tuned.h"

#include <assert.h>
#include <string.h>

#define SELECTIVE "stable_count=5 stable_share=0.5"
#define ACROBOT_BCQ                                                                                \
    "threshold=0.95 huber_threshold=0.1 average_decay=0.9999 clip_norm=0.3 hidden=32"
#define LANDER                                                                                     \
    "steps=5000 return_low=-200 return_high=200 return_power=8 transitions_per_expert=16 "         \
    "hidden=24 learning_rate=0.003 clip_norm=0.1 average_decay=0.9997 "                            \
    "input_scale=4:2:4:4:6:4:0.5:0.5"
#define LANDER_BCQ "reward_scale=0.5 huber_threshold=10 threshold=0.3"
#define ANY        1e9 /* more than any epsilon */

/* NULL: all of them. Later rows are applied after earlier ones. */
static const struct {
    double least, most; /* epsilons for which the row holds; a method without privacy has 0 */
    const char *world, *algorithm, *method;
    const char *settings; /* as cell_setting_read takes them, a space between two */
} rows[] = {
    {0, ANY, "cartpole", NULL, NULL, "steps=40000"},
    {0, ANY, "cartpole", NULL, "none", "input_scale=10"},
    {0, ANY, "cartpole", "cql", "none", "alpha=0.05"},
    {0, ANY, "cartpole", NULL, "dpsgd", "input_scale=2.5:3:60:3"},
    {0, ANY, "cartpole", "bcq", "dpsgd",
     "threshold=0.999 logit_penalty=0.1 huber_threshold=0.1 average_decay=0.9999 clip_norm=0.3 "
     "weight_power=8"},
    {0, ANY, "cartpole", NULL, "selective", "input_scale=2.5:3:60:3 plain_share=0.02 " SELECTIVE},
    {0, ANY, "cartpole", "bcq", "selective",
     "threshold=0.999 logit_penalty=0.1 huber_threshold=0.1 average_decay=0.9999 clip_norm=0.3 "
     "weight_power=8 plain_share=0.004"},
    {0, ANY, "cartpole", NULL, "selective_paper",
     "input_scale=2.5:3:60:3 plain_share=0.1 " SELECTIVE},
    {0, ANY, "cartpole", NULL, "consensus",
     "input_scale=10 labels=5000 label_length=1000 explore=0.3 skill_high=1000 skill_power=8 "
     "candidates=100 candidate_episodes=100"},
    {0, ANY, "cartpole", "cql", "consensus", "alpha=0.2"},
    {0, ANY, "cartpole", "bcq", "consensus", "skill_power=6"},
    /* At a small budget noise makes labels unsure: cql explores by itself, and there are too few
     * voices but for those of lucky experts too. */
    {0, 5, "cartpole", "cql", "consensus", "explore=0.1"},
    {0, 4.9, "cartpole", NULL, "consensus", "skill_episodes=4 candidate_episodes=20"},
    /* And a large one pays for fewer voices: those of better experts. */
    {10, ANY, "cartpole", "cql", "consensus", "skill_power=16"},
    {0, ANY, "acrobot", NULL, NULL, "steps=40000"},
    {0, ANY, "acrobot", NULL, "none", "return_power=0"},
    {0, ANY, "acrobot", "cql", "none", "alpha=0.05"},
    {0, ANY, "acrobot", NULL, "consensus", "return_power=0"},
    {0, ANY, "acrobot", "cql", "dpsgd", "alpha=1"},
    {0, ANY, "acrobot", "bcq", "dpsgd", ACROBOT_BCQ},
    {0, ANY, "acrobot", "cql", "selective", "alpha=1"},
    {0, ANY, "acrobot", "cql", "consensus", "alpha=1"},
    {0, ANY, "acrobot", NULL, "selective", "plain_share=0.02 " SELECTIVE},
    {0, ANY, "acrobot", "bcq", "selective", ACROBOT_BCQ},
    {0, ANY, "acrobot", NULL, "selective_paper", SELECTIVE},
    {0, ANY, "hiv", NULL, "none", "input_center=3 input_scale=1 return_power=0"},
    {0, ANY, "hiv", NULL, "dpsgd", "steps=40000"},
    {0, ANY, "hiv", NULL, "selective", "steps=40000 plain_share=0.02 " SELECTIVE},
    {0, ANY, "hiv", "cql", "dpsgd", "alpha=1 transitions_per_expert=8"},
    {0, ANY, "hiv", "bcq", "dpsgd", "threshold=0.95"},
    {0, ANY, "hiv", "cql", "selective", "alpha=1 transitions_per_expert=8"},
    {0, ANY, "hiv", "bcq", "selective", "threshold=0.95"},
    {0, ANY, "hiv", NULL, "consensus",
     "input_center=3 input_scale=1 return_power=0 labels=2000 skill_high=1e9 skill_power=1 "
     "skill_episodes=4"},
    {0, ANY, "hiv", "cql", "consensus", "alpha=1"},
    {0, ANY, "hiv", "bcq", "consensus", "threshold=0.95"},
    {0, ANY, "lunar_lander", NULL, "dpsgd", LANDER},
    {0, ANY, "lunar_lander", "cql", "dpsgd", "alpha=0.1"},
    {0, ANY, "lunar_lander", "bcq", "dpsgd", LANDER_BCQ},
    {0, ANY, "lunar_lander", NULL, "selective", LANDER " plain_share=0.02 " SELECTIVE},
    {0, ANY, "lunar_lander", "cql", "selective", "alpha=0.1"},
    {0, ANY, "lunar_lander", "bcq", "selective", LANDER_BCQ},
    {0, ANY, "lunar_lander", NULL, "consensus",
     "labels=3000 label_length=1000 explore=0.3 skill_low=-200 skill_high=300 skill_power=8 "
     "skill_episodes=4"},
    {0, ANY, "lunar_lander", "cql", "consensus", "alpha=1"},
    {0, ANY, "lunar_lander", "bcq", "consensus", "threshold=0.95"},
};

static bool fits(const char *wanted, const char *name)
{
    return !wanted || strcmp(wanted, name) == 0;
}

static unsigned add_settings(const char *text, struct cell_setting *out, unsigned count)
{
    while (*text != '\0') {
        assert(count < CELL_SETTINGS);
        text = cell_setting_read(text, &out[count++]);
        assert(text);
        text += strspn(text, " ");
    }
    return count;
}

unsigned tuned_settings(const struct cell *cell, struct cell_setting out[CELL_SETTINGS])
{
    unsigned count = 0;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        bool holds = cell->epsilon >= rows[r].least && cell->epsilon <= rows[r].most;
        if (holds && fits(rows[r].world, cell->population->env->name) &&
            fits(rows[r].algorithm, cell->algorithm->name) &&
            fits(rows[r].method, cell->method->name))
            count = add_settings(rows[r].settings, out, count);
    }
    return count;
}
