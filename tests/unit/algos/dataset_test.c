/* Grouping by expert, whatever the order of arrival. */
#include "algos/data/dataset.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/algos/offline_kit.h"

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

/* ---- columns in files */

/* Trajectories of several experts, in no order. DIRECTORY: of the files; NULL: in memory. */
static struct dataset_builder *some(const char *directory)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 3, 7);
    if (directory)
        dataset_builder_use_files(builder, directory);
    for (uint32_t i = 0; i < 500; i++)
        cr_assert(add(builder, i * 5 % 7, i % MOST, (float)i, i % 3 == 0));
    return builder;
}

static void expect_equal(const struct dataset *a, const struct dataset *b)
{
    static const size_t sizes[DATASET_COLUMNS] = {DIM * sizeof(float), sizeof(uint64_t),
                                                  sizeof(uint16_t), sizeof(float), 1};
    cr_assert_eq(a->transition_count, b->transition_count);
    cr_assert_eq(a->trajectory_count, b->trajectory_count);
    cr_assert_arr_eq(a->expert_transitions, b->expert_transitions,
                     (a->expert_count + 1) * sizeof *a->expert_transitions);
    for (int i = 0; i < DATASET_COLUMNS; i++) {
        uint64_t rows = a->transition_count + (i == DATASET_STATES ? a->trajectory_count : 0);
        cr_assert_eq(a->columns[i].size, rows * sizes[i], "column %d", i);
        cr_assert_eq(b->columns[i].size, a->columns[i].size, "column %d", i);
        cr_assert_arr_eq(a->columns[i].items, b->columns[i].items, a->columns[i].size);
    }
}

static unsigned count_entries(const char *directory)
{
    unsigned count = 0;
    DIR *open = opendir(directory);
    cr_assert_not_null(open);
    for (const struct dirent *entry; (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

Test(dataset, columns_in_files_are_those_in_memory_and_have_no_names)
{
    char directory[] = "/tmp/tacet-columns-XXXXXX";
    cr_assert_not_null(mkdtemp(directory));
    struct dataset *memory = dataset_builder_finish(some(NULL));
    struct dataset_builder *builder = some(directory);
    cr_expect_eq(count_entries(directory), 0);
    struct dataset *files = dataset_builder_finish(builder);
    cr_assert(memory && files);
    expect_equal(memory, files);
    for (int i = 0; i < DATASET_COLUMNS; i++) {
        struct stat stat;
        cr_assert_eq(fstat(files->columns[i].file, &stat), 0);
        cr_expect_eq(stat.st_mode & 07777, 0600);
        cr_expect_eq(stat.st_nlink, 0);
        cr_expect_eq((size_t)stat.st_size, files->columns[i].size);
    }
    struct dataset *beside = dataset_builder_finish(dataset_builder_beside(files));
    cr_assert_not_null(beside);
    cr_expect_str_eq(beside->columns[DATASET_STATES].directory, directory);
    cr_expect_eq(count_entries(directory), 0);
    dataset_free(beside);
    dataset_free(files);
    dataset_free(memory);
    cr_assert_eq(rmdir(directory), 0);
}

/* Files may have 64 KiB: as if the disk had no more. */
Test(dataset, a_disk_without_room_is_noticed_while_room_is_taken)
{
    const struct rlimit little = {1 << 16, 1 << 16};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    struct dataset_builder *builder = dataset_builder_new(DIM, 3, 7);
    dataset_builder_use_files(builder, "/tmp");
    cr_expect_not(dataset_builder_reserve(builder, 1 << 20, 1));
    cr_expect_not(add(builder, 0, 1, 0.0F, true), "nothing is added any more");
    cr_expect_null(dataset_builder_finish(builder));
    builder = dataset_builder_new(DIM, 3, 7);
    dataset_builder_use_files(builder, "/tmp");
    bool good = true;
    for (uint32_t i = 0; good && i < 1000; i++)
        good = add(builder, 0, MOST, 0.0F, true);
    cr_expect_not(good);
    cr_expect_null(dataset_builder_finish(builder));
    builder = dataset_builder_new(DIM, 3, 7);
    dataset_builder_use_files(builder, "/tmp/there-is-no-such-directory");
    cr_expect_not(add(builder, 0, 1, 0.0F, true));
    cr_expect_null(dataset_builder_finish(builder));
}

/* Also of a copy, however little of the data goes into it. */
Test(dataset, a_copy_takes_the_room_of_all_data_at_once)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 3, 7);
    dataset_builder_use_files(builder, "/tmp");
    for (uint32_t i = 0; i < 1000; i++)
        cr_assert(add(builder, 0, MOST, 0.0F, true));
    struct dataset *data = dataset_builder_finish(builder);
    cr_assert_not_null(data);
    const rlim_t half = data->columns[DATASET_STATES].size / 2;
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){half, half}), 0);
    builder = dataset_builder_beside(data);
    cr_expect_not(add(builder, 0, 1, 0.0F, true));
    cr_expect_null(dataset_builder_finish(builder));
    dataset_free(data);
}

Test(dataset, room_that_was_taken_is_enough_and_what_is_left_goes_back)
{
    struct dataset_builder *builder = dataset_builder_new(DIM, 3, 7);
    cr_assert(dataset_builder_reserve(builder, 10 * MOST, 20));
    for (uint32_t i = 0; i < 5; i++)
        cr_assert(add(builder, i, MOST, 1.0F, true));
    struct dataset *d = dataset_builder_finish(builder);
    cr_assert_not_null(d);
    cr_expect_eq(d->columns[DATASET_STATES].size, 5 * (MOST + 1) * DIM * sizeof(float));
    dataset_free(d);
    cr_expect_eq(dataset_bytes(4, UINT64_MAX / 2, 1), UINT64_MAX);
    cr_expect_not(dataset_builder_reserve(builder = dataset_builder_new(DIM, 3, 7), UINT64_MAX, 2));
    dataset_builder_free(builder);
}

static bool copy_one(void *context, const struct trajectory *one)
{
    return dataset_builder_add(context, one);
}

Test(dataset, training_from_files_gives_the_bits_of_training_from_memory)
{
    static const char *const algorithms[] = {"cql", "bcq", "behaviour_cloning"};
    struct dataset *memory = kit_data(12, 3);
    struct dataset_builder *builder = dataset_builder_new(KIT_DIM, KIT_ACTIONS, 12);
    dataset_builder_use_files(builder, "/tmp");
    cr_assert(dataset_each_trajectory(memory, copy_one, builder));
    struct dataset *files = dataset_builder_finish(builder);
    cr_assert_not_null(files);
    for (int i = 0; i < 3; i++) {
        struct kit kit;
        kit_init(&kit, algorithms[i], MECHANISM_DPSGD, 12);
        kit_set(&kit, "steps", 30);
        kit_plan(&kit);
        struct policy *a = kit_train(&kit, memory, 5), *b = kit_train(&kit, files, 5);
        cr_expect_arr_eq(a->parameters, b->parameters,
                         kit.plan.parameter_count * sizeof *a->parameters, "%s", algorithms[i]);
        policy_free(a);
        policy_free(b);
    }
    dataset_free(files);
    dataset_free(memory);
}
