/* Grouping by expert, whatever the order of arrival. */
#include "algos/data/dataset.h"

#include <criterion/criterion.h>
#include <math.h>

enum { DIM = 2, MOST = 50 };

/* A trajectory whose numbers tell where they come from: state t is (tag, t), action t % 3. */
static bool add(struct dataset_builder *builder, uint32_t expert, uint32_t length, float tag,
                bool terminated)
{
    float states[(MOST + 1) * DIM], rewards[MOST];
    uint16_t actions[MOST];
    for (uint32_t t = 0; t <= length; t++) {
        states[t * DIM] = tag;
        states[t * DIM + 1] = (float)t;
    }
    for (uint32_t t = 0; t < length; t++) {
        actions[t] = (uint16_t)(t % 3);
        rewards[t] = tag * 100.0F + (float)t;
    }
    struct trajectory trajectory = {.expert = expert,
                                    .length = length,
                                    .terminated = terminated,
                                    .truncated = !terminated,
                                    .states = states,
                                    .actions = actions,
                                    .rewards = rewards};
    return dataset_builder_add(builder, &trajectory);
}

Test(dataset, transitions_are_grouped_by_expert)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 3, 4);
    cr_assert_not_null(builder);
    cr_assert(add(builder, 2, 3, 1.0F, true));
    cr_assert(add(builder, 0, 2, 2.0F, false));
    cr_assert(add(builder, 2, 1, 3.0F, false));
    cr_assert(add(builder, 3, 50, 4.0F, true));
    cr_assert(add(builder, 0, 0, 5.0F, true));
    struct dataset *d = dataset_builder_finish(builder);
    cr_assert_not_null(d);
    cr_assert_eq(d->trajectory_count, 5);
    cr_assert_eq(d->transition_count, 56);
    const uint64_t bounds[] = {0, 2, 2, 6, 56};
    for (int e = 0; e <= 4; e++)
        cr_assert_eq(d->expert_transitions[e], bounds[e]);
    const float tags[] = {2, 2, 1, 1, 1, 3, 4};
    const float times[] = {0, 1, 0, 1, 2, 0, 0};
    const bool ends[] = {false, false, false, false, true, false, false};
    for (int i = 0; i < 7; i++) {
        const float *s = d->states + d->state_row[i] * DIM;
        cr_assert_eq(s[0], tags[i]);
        cr_assert_eq(s[1], times[i]);
        cr_assert_eq(s[DIM], tags[i], "the next row is the next state");
        cr_assert_eq(s[DIM + 1], times[i] + 1.0F);
        cr_assert_eq(d->actions[i], (uint16_t)times[i] % 3);
        cr_assert_eq(d->rewards[i], tags[i] * 100.0F + times[i]);
        cr_assert_eq(d->terminated[i], ends[i]);
    }
    cr_assert_eq(d->terminated[55], 1);
    cr_assert_eq(d->terminated[54], 0);
    dataset_free(d);
}

Test(dataset, many_arrivals_are_all_kept)
{
    enum { EXPERTS = 13, TRAJECTORIES = 1000 };
    struct dataset_builder *builder = dataset_builder_new(DIM, 3, EXPERTS);
    cr_assert_not_null(builder);
    uint64_t expected[EXPERTS] = {0};
    for (uint32_t i = 0; i < TRAJECTORIES; i++) {
        uint32_t expert = i * 7 % EXPERTS, length = i % MOST;
        cr_assert(add(builder, expert, length, (float)expert, false));
        expected[expert] += length;
    }
    struct dataset *d = dataset_builder_finish(builder);
    cr_assert_not_null(d);
    for (uint32_t e = 0; e < EXPERTS; e++) {
        cr_assert_eq(d->expert_transitions[e + 1] - d->expert_transitions[e], expected[e]);
        for (uint64_t i = d->expert_transitions[e]; i < d->expert_transitions[e + 1]; i++)
            cr_assert_eq(d->states[d->state_row[i] * DIM], (float)e);
    }
    dataset_free(d);
}

Test(dataset, what_does_not_fit_is_refused_and_changes_nothing)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 2, 1);
    cr_assert_not_null(builder);
    cr_assert(add(builder, 0, 2, 1.0F, true));
    cr_assert_not(add(builder, 1, 2, 1.0F, true), "no such expert");
    cr_assert_not(add(builder, 0, 3, 1.0F, true), "its third action is 2 of 2");
    struct dataset *d = dataset_builder_finish(builder);
    cr_assert_not_null(d);
    cr_assert_eq(d->transition_count, 2);
    cr_assert_eq(d->trajectory_count, 1);
    dataset_free(d);
}

Test(dataset, nothing_makes_an_empty_dataset)
{
    struct dataset *d = dataset_builder_finish(dataset_builder_new(DIM, 2, 0));
    cr_assert_not_null(d);
    cr_assert_eq(d->transition_count, 0);
    cr_assert_eq(d->expert_transitions[0], 0);
    dataset_free(d);
    dataset_free(NULL);
    dataset_builder_free(NULL);
}
