/* The byte form of trajectories: there and back, and every kind of damage refused. */
#include "algos/data/trajectory.h"

#include <criterion/criterion.h>
#include <stdalign.h>
#include <string.h>

enum { DIM = 3, LENGTH = 5, ROOM = 256 };

static const float states[(LENGTH + 1) * DIM] = {0.5F, -1.0F, 2.0F, 3.0F, 4.0F, 5.0F,
                                                 6.0F, 7.0F,  8.0F, 9.0F, -0.0F};
static const uint16_t actions[LENGTH] = {0, 1, 2, 65535, 4};
static const float rewards[LENGTH] = {1.0F, 0.0F, -1.0F, 2.5F, 1e-20F};

static struct trajectory sample(void)
{
    return (struct trajectory){.expert = 7,
                               .length = LENGTH,
                               .terminated = true,
                               .states = states,
                               .actions = actions,
                               .rewards = rewards};
}

Test(trajectory, record_gives_back_what_was_written)
{
    alignas(4) unsigned char bytes[ROOM];
    struct trajectory in = sample(), out;
    size_t size = trajectory_record_size(LENGTH, DIM);
    cr_assert_eq(size, 16 + sizeof states + sizeof rewards + 12);
    trajectory_record_write(&in, DIM, bytes);
    cr_assert_eq(trajectory_record_read(bytes, sizeof bytes, DIM, &out), size);
    cr_assert_eq(out.expert, 7);
    cr_assert_eq(out.length, LENGTH);
    cr_assert(out.terminated && !out.truncated);
    cr_assert_eq(memcmp(out.states, states, sizeof states), 0);
    cr_assert_eq(memcmp(out.actions, actions, sizeof actions), 0);
    cr_assert_eq(memcmp(out.rewards, rewards, sizeof rewards), 0);
}

Test(trajectory, records_are_equal_bytes_for_equal_trajectories)
{
    unsigned char first[ROOM], second[ROOM];
    memset(first, 0xaa, sizeof first);
    memset(second, 0x55, sizeof second);
    struct trajectory in = sample();
    trajectory_record_write(&in, DIM, first);
    trajectory_record_write(&in, DIM, second);
    cr_assert_eq(memcmp(first, second, trajectory_record_size(LENGTH, DIM)), 0);
}

Test(trajectory, any_changed_byte_is_noticed)
{
    alignas(4) unsigned char bytes[ROOM];
    struct trajectory in = sample(), out;
    size_t size = trajectory_record_size(LENGTH, DIM);
    trajectory_record_write(&in, DIM, bytes);
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1 << bit);
            cr_assert_eq(trajectory_record_read(bytes, size, DIM, &out), 0, "byte %zu", i);
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    }
    cr_assert_eq(trajectory_record_read(bytes, size, DIM, &out), size);
}

Test(trajectory, cut_records_and_other_dimensions_are_refused)
{
    alignas(4) unsigned char bytes[ROOM];
    struct trajectory in = sample(), out;
    size_t size = trajectory_record_size(LENGTH, DIM);
    trajectory_record_write(&in, DIM, bytes);
    for (size_t cut = 0; cut < size; cut++)
        cr_assert_eq(trajectory_record_read(bytes, cut, DIM, &out), 0);
    cr_assert_eq(trajectory_record_read(bytes, size, DIM - 1, &out), 0);
    cr_assert_eq(trajectory_record_read(bytes, size, DIM + 1, &out), 0);
}

Test(trajectory, sizes_that_do_not_fit_in_memory_are_zero)
{
    cr_assert_eq(trajectory_record_size(UINT32_MAX, UINT32_MAX), 0);
    cr_assert_gt(trajectory_record_size(UINT32_MAX, 1), (size_t)UINT32_MAX * 8);
    cr_assert_eq(trajectory_record_size(3, 2) % 4, 0);
    cr_assert_eq(trajectory_record_size(4, 2) % 4, 0);
}
