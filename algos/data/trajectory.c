/* The byte form of a trajectory, little endian, all fields 4-byte aligned so that a reader can
 * point into it:
 *
 *   u32 expert   u32 length   u32 flags (1 terminated, 2 truncated)   u32 checksum
 *   f32 states[(length + 1) * state_dim]   f32 rewards[length]   u16 actions[length], padded to 4
 *
 * The checksum covers the other header words and everything after the header. */
#include "algos/data/trajectory.h"

#include <assert.h>
#include <string.h>

#include "algos/data/checksum.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte forms are little endian");

enum { HEADER_SIZE = 16, FLAG_TERMINATED = 1, FLAG_TRUNCATED = 2 };

struct header {
    uint32_t expert, length, flags, checksum;
};
_Static_assert(sizeof(struct header) == HEADER_SIZE, "four words");

static size_t states_size(uint32_t length, uint32_t state_dim)
{
    return ((size_t)length + 1) * state_dim * sizeof(float);
}

static size_t actions_size(uint32_t length)
{
    return ((size_t)length * sizeof(uint16_t) + 3) & ~(size_t)3;
}

size_t trajectory_record_size(uint32_t length, uint32_t state_dim)
{
    size_t states;
    if (__builtin_mul_overflow(((size_t)length + 1) * sizeof(float), state_dim, &states))
        return 0;
    size_t rest = HEADER_SIZE + (size_t)length * sizeof(float) + actions_size(length);
    size_t size;
    return __builtin_add_overflow(states, rest, &size) ? 0 : size;
}

static uint32_t record_checksum(const struct header *header, const unsigned char *body, size_t size)
{
    uint64_t hash = checksum_words(CHECKSUM_START, header, HEADER_SIZE - sizeof(uint32_t));
    hash = checksum_words(hash, body, size);
    return (uint32_t)(hash ^ (hash >> 32));
}

void trajectory_record_write(const struct trajectory *trajectory, uint32_t state_dim,
                             unsigned char *bytes)
{
    size_t size = trajectory_record_size(trajectory->length, state_dim);
    assert(size > 0);
    uint32_t length = trajectory->length;
    struct header header = {.expert = trajectory->expert, .length = length};
    header.flags = (trajectory->terminated ? FLAG_TERMINATED : 0U) |
                   (trajectory->truncated ? FLAG_TRUNCATED : 0U);
    unsigned char *next = bytes + HEADER_SIZE;
    memcpy(next, trajectory->states, states_size(length, state_dim));
    next += states_size(length, state_dim);
    if (length > 0) {
        memcpy(next, trajectory->rewards, (size_t)length * sizeof(float));
        next += (size_t)length * sizeof(float);
        memset(next + actions_size(length) - sizeof(uint32_t), 0, sizeof(uint32_t));
        memcpy(next, trajectory->actions, (size_t)length * sizeof(uint16_t));
    }
    header.checksum = record_checksum(&header, bytes + HEADER_SIZE, size - HEADER_SIZE);
    memcpy(bytes, &header, HEADER_SIZE);
}

size_t trajectory_record_read(const unsigned char *bytes, size_t size, uint32_t state_dim,
                              struct trajectory *out)
{
    assert((uintptr_t)bytes % sizeof(uint32_t) == 0);
    struct header header;
    if (size < HEADER_SIZE)
        return 0;
    memcpy(&header, bytes, HEADER_SIZE);
    if (header.flags > (FLAG_TERMINATED | FLAG_TRUNCATED))
        return 0;
    size_t record = trajectory_record_size(header.length, state_dim);
    if (record == 0 || record > size)
        return 0;
    const unsigned char *body = bytes + HEADER_SIZE;
    if (record_checksum(&header, body, record - HEADER_SIZE) != header.checksum)
        return 0;
    const unsigned char *rewards = body + states_size(header.length, state_dim);
    *out = (struct trajectory){
        .expert = header.expert,
        .length = header.length,
        .terminated = header.flags & FLAG_TERMINATED,
        .truncated = header.flags & FLAG_TRUNCATED,
        .states = (const float *)(const void *)body,
        .rewards = (const float *)(const void *)rewards,
        .actions =
            (const uint16_t *)(const void *)(rewards + (size_t)header.length * sizeof(float)),
    };
    return record;
}
