/* The model of who made the data: one clone of all experts of a part together. */
#include "algos/offline/judge/behaviour.h"

#include <math.h>

#include "algos/offline/expert_clones.h"

#define BLOCK 1024 /* states between two pulses */

/* A dataset of one expert, who has the trajectories of all folds but FOLD. NULL: no memory. */
static struct dataset *behaviour_part(const struct logged *logged, uint8_t fold)
{
    const struct dataset *data = logged->data;
    struct dataset_builder *builder = dataset_builder_new(data->state_dim, data->action_count, 1);
    const char *directory = data->columns[DATASET_STATES].directory;
    dataset_builder_use_files(builder, directory);
    if (directory)
        (void)dataset_builder_reserve(builder, data->transition_count, data->trajectory_count);
    for (uint32_t i = 0; i < logged->trajectory_count; i++) {
        const struct logged_trajectory *one = &logged->trajectory[i];
        const struct trajectory trajectory = {.length = one->length,
                                              .terminated = true,
                                              .states = data->states + data->state_row[one->first] *
                                                                           data->state_dim,
                                              .actions = data->actions + one->first,
                                              .rewards = data->rewards + one->first};
        if (one->unit % LOGGED_FOLDS != fold)
            (void)dataset_builder_add(builder, &trajectory);
    }
    return dataset_builder_finish(builder);
}

enum algorithm_status behaviour_model(const struct logged *logged, uint8_t fold, uint64_t seed,
                                      const struct judge_pulse *pulse, float *out,
                                      const char **message)
{
    static const struct clone_settings settings = {.hidden_layers = 2,
                                                   .hidden_width = 64,
                                                   .steps = 1500,
                                                   .batch_size = 128,
                                                   .learning_rate = 0.01};
    const uint32_t dim = logged->data->state_dim, actions = logged->data->action_count;
    const double floor = fmin(BEHAVIOUR_FLOOR, 0.5 / actions);
    struct dataset *part = behaviour_part(logged, fold);
    if (!part)
        return ALGORITHM_NO_MEMORY;
    struct policy *clone = expert_clone(&settings, part, 0, floor, seed);
    enum algorithm_status status = ALGORITHM_OK;
    dataset_free(part);
    for (uint64_t r = 0; status == ALGORITHM_OK && r < logged->row_count; r++) {
        double p[MLP_MAX_WIDTH];
        if (r % BLOCK == 0 && !judge_goes_on(pulse))
            status = ALGORITHM_CANCELLED;
        else if (!policy_probabilities(clone, logged->data->states + r * dim, 1.0, p)) {
            *message = "the model of who made the data has no finite outputs";
            status = ALGORITHM_BAD_INPUT;
        }
        for (uint32_t a = 0; status == ALGORITHM_OK && a < actions; a++)
            out[r * actions + a] = (float)((1.0 - actions * floor) * p[a] + floor);
    }
    policy_free(clone);
    return status;
}
