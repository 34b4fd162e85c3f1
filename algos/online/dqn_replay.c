/* The columns of the buffer, and its byte form, little endian:
 *
 *   u64 magic  u64 users so far  u64 users kept  u64 transitions
 *   f32 states  f32 rewards  u32 lengths of the kept users, oldest first
 *   u16 actions  u8 ends   (padding)   u64 checksum of all before   INNER
 *
 * New episodes are written behind the last. When the room ends, what is kept moves to the front:
 * with a quarter more room than the longest episodes need, a transition moves four times at most
 * before it leaves. */
#include "algos/online/dqn_replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/checksum.h"
#include "memory/memory.h"

#define MAGIC UINT64_C(0x31594c5051444354) /* "TCDQPLY1" */

struct header {
    uint64_t magic, users, kept, transitions;
};

static uint64_t most_transitions(const struct dqn_replay_size *size)
{
    return (uint64_t)size->capacity * size->steps;
}

static uint64_t spare_room(const struct dqn_replay_size *size)
{
    return most_transitions(size) / 4 + size->steps + 1;
}

static uint32_t slot_count(const struct dqn_replay_size *size)
{
    return size->one_slot ? 1 : size->capacity;
}

size_t dqn_replay_bytes(const struct dqn_replay_size *size)
{
    uint64_t room = most_transitions(size) + spare_room(size), states = room + size->capacity;
    size_t each = sizeof(uint64_t) + sizeof(uint16_t) + sizeof(float) + sizeof(uint8_t);
    return room * each + states * size->state_dim * sizeof(float) +
           size->capacity * (sizeof(uint32_t) + sizeof(uint64_t));
}

void dqn_replay_init(struct dqn_replay *replay, const struct dqn_replay_size *size)
{
    assert(size->capacity > 0 && size->steps > 0);
    uint64_t room = most_transitions(size) + spare_room(size), states = room + size->capacity;
    *replay = (struct dqn_replay){
        .data = {.state_dim = size->state_dim,
                 .action_count = size->action_count,
                 .expert_count = slot_count(size)},
        .capacity = size->capacity,
        .room = room,
        .state_room = states,
        .lengths = memory_new(size->capacity, sizeof(uint32_t)),
        .states = memory_new(states * size->state_dim, sizeof(float)),
        .state_row = memory_new(room, sizeof(uint64_t)),
        .actions = memory_new(room, sizeof(uint16_t)),
        .rewards = memory_new(room, sizeof(float)),
        .terminated = memory_new(room, sizeof(uint8_t)),
    };
    replay->data.states = replay->states;
    replay->data.expert_transitions =
        memory_new((size_t)replay->data.expert_count + 1, sizeof(uint64_t));
}

void dqn_replay_clear(struct dqn_replay *replay)
{
    free(replay->lengths);
    free(replay->states);
    free(replay->state_row);
    free(replay->actions);
    free(replay->rewards);
    free(replay->terminated);
    free(replay->data.expert_transitions);
    *replay = (struct dqn_replay){0};
}

/* ---- the view */

static uint32_t kept_users(const struct dqn_replay *replay)
{
    return replay->users < replay->capacity ? (uint32_t)replay->users : replay->capacity;
}

/* The length of the episode of the kept user in place I, the oldest first. */
static uint32_t length_at(const struct dqn_replay *replay, uint32_t i)
{
    uint64_t user = replay->users - kept_users(replay) + i;
    return replay->lengths[user % replay->capacity];
}

/* Points the view at what is kept, which are TRANSITIONS from FIRST on. */
static void show_kept(struct dqn_replay *replay, uint64_t first, uint64_t transitions)
{
    struct dataset *data = &replay->data;
    uint32_t kept = kept_users(replay);
    uint64_t end = 0;
    replay->first = first;
    data->state_row = replay->state_row + first;
    data->actions = replay->actions + first;
    data->rewards = replay->rewards + first;
    data->terminated = replay->terminated + first;
    data->trajectory_count = kept;
    data->transition_count = transitions;
    for (uint32_t i = 0; i < data->expert_count && data->expert_count > 1; i++) {
        end += i < kept ? length_at(replay, i) : 0;
        data->expert_transitions[i + 1] = end;
    }
    data->expert_transitions[data->expert_count] = transitions;
}

/* The first free row of the states. */
static uint64_t states_end(const struct dqn_replay *replay)
{
    uint64_t count = replay->data.transition_count;
    return count == 0 ? 0 : replay->data.state_row[count - 1] + 2;
}

/* Moves what is kept to the front of the columns. */
static void move_front(struct dqn_replay *replay)
{
    const struct dataset *data = &replay->data;
    uint64_t count = data->transition_count, row = count == 0 ? 0 : data->state_row[0];
    size_t dim = data->state_dim;
    memmove(replay->states, replay->states + row * dim,
            (states_end(replay) - row) * dim * sizeof(float));
    memmove(replay->state_row, data->state_row, count * sizeof(uint64_t));
    memmove(replay->actions, data->actions, count * sizeof(uint16_t));
    memmove(replay->rewards, data->rewards, count * sizeof(float));
    memmove(replay->terminated, data->terminated, count * sizeof(uint8_t));
    for (uint64_t i = 0; i < count; i++)
        replay->state_row[i] -= row;
    show_kept(replay, 0, count);
}

void dqn_replay_add(struct dqn_replay *replay, const struct trajectory *episode)
{
    struct dataset *data = &replay->data;
    size_t dim = data->state_dim;
    uint32_t length = episode->length, leaves = 0;
    assert(length > 0);
    if (kept_users(replay) == replay->capacity)
        leaves = length_at(replay, 0);
    if (replay->first + data->transition_count + length > replay->room ||
        states_end(replay) + length + 1 > replay->state_room)
        move_front(replay);
    uint64_t at = replay->first + data->transition_count, row = states_end(replay);
    assert(at + length <= replay->room && row + length + 1 <= replay->state_room);
    memcpy(replay->states + row * dim, episode->states, ((size_t)length + 1) * dim * sizeof(float));
    memcpy(replay->actions + at, episode->actions, length * sizeof(uint16_t));
    memcpy(replay->rewards + at, episode->rewards, length * sizeof(float));
    for (uint32_t t = 0; t < length; t++) {
        replay->state_row[at + t] = row + t;
        replay->terminated[at + t] = t + 1 == length && episode->terminated;
    }
    replay->lengths[replay->users++ % replay->capacity] = length;
    show_kept(replay, replay->first + leaves, data->transition_count + length - leaves);
}

/* ---- keeping */

/* The columns' places in the byte form of a buffer. */
struct places {
    size_t states, rewards, lengths, actions, terminated, end;
};

static struct places places_of(const struct header *header, size_t dim)
{
    struct places p = {.states = sizeof *header};
    p.rewards = p.states + (header->transitions + header->kept) * dim * sizeof(float);
    p.lengths = p.rewards + header->transitions * sizeof(float);
    p.actions = p.lengths + header->kept * sizeof(uint32_t);
    p.terminated = p.actions + header->transitions * sizeof(uint16_t);
    p.end = checksum_padded(p.terminated + header->transitions);
    return p;
}

unsigned char *dqn_replay_keep(const struct dqn_replay *replay, const unsigned char *inner,
                               size_t inner_size, size_t *out_size)
{
    const struct dataset *data = &replay->data;
    const struct header header = {MAGIC, replay->users, kept_users(replay), data->transition_count};
    const struct places p = places_of(&header, data->state_dim);
    unsigned char *bytes = memory_new(1, p.end + sizeof(uint64_t) + inner_size);
    memcpy(bytes, &header, sizeof header);
    if (header.transitions > 0) {
        const float *states = data->states + data->state_row[0] * data->state_dim;
        memcpy(bytes + p.states, states, p.rewards - p.states);
        memcpy(bytes + p.rewards, data->rewards, p.lengths - p.rewards);
        memcpy(bytes + p.actions, data->actions, p.terminated - p.actions);
        memcpy(bytes + p.terminated, data->terminated, header.transitions);
    }
    for (uint32_t i = 0; i < header.kept; i++) {
        uint32_t length = length_at(replay, i);
        memcpy(bytes + p.lengths + i * sizeof length, &length, sizeof length);
    }
    checksum_seal(bytes, p.end);
    memcpy(bytes + p.end + sizeof(uint64_t), inner, inner_size);
    *out_size = p.end + sizeof(uint64_t) + inner_size;
    return bytes;
}

/* Whether BYTES are a buffer that fits into REPLAY, whose header is HEADER. */
static bool bytes_fit(const struct dqn_replay *replay, const struct header *header,
                      const unsigned char *bytes, size_t size)
{
    uint64_t most = replay->capacity, sum = 0;
    if (header->magic != MAGIC || header->kept > most || header->transitions > replay->room ||
        header->kept != (header->users < most ? header->users : most))
        return false;
    const struct places p = places_of(header, replay->data.state_dim);
    if (size < p.end + sizeof(uint64_t) || !checksum_holds(bytes, p.end))
        return false;
    for (uint32_t i = 0; i < header->kept; i++) {
        uint32_t length;
        memcpy(&length, bytes + p.lengths + i * sizeof length, sizeof length);
        if (length == 0)
            return false;
        sum += length;
    }
    return sum == header->transitions && header->transitions + header->kept <= replay->state_room;
}

bool dqn_replay_restore(struct dqn_replay *replay, const unsigned char *bytes, size_t size,
                        const unsigned char **inner, size_t *inner_size)
{
    struct header header;
    assert(replay->users == 0);
    if (size < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    if (!bytes_fit(replay, &header, bytes, size))
        return false;
    const struct places p = places_of(&header, replay->data.state_dim);
    memcpy(replay->states, bytes + p.states, p.rewards - p.states);
    memcpy(replay->rewards, bytes + p.rewards, p.lengths - p.rewards);
    memcpy(replay->actions, bytes + p.actions, p.terminated - p.actions);
    memcpy(replay->terminated, bytes + p.terminated, header.transitions);
    replay->users = header.users;
    uint64_t at = 0;
    for (uint32_t i = 0; i < header.kept; i++) {
        uint64_t user = header.users - header.kept + i;
        uint32_t *length = &replay->lengths[user % replay->capacity];
        memcpy(length, bytes + p.lengths + i * sizeof *length, sizeof *length);
        for (uint32_t t = 0; t < *length; t++, at++)
            replay->state_row[at] = at + i;
    }
    show_kept(replay, 0, header.transitions);
    *inner = bytes + p.end + sizeof(uint64_t);
    *inner_size = size - p.end - sizeof(uint64_t);
    return true;
}
