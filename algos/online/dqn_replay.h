/* The replay buffer of a DQN that plays while it learns: the episodes of the users who came last,
 * as a dataset that changes in place. The oldest user leaves when one more comes, so who is in it
 * follows from how many have come and from no episode's content or length. */
#ifndef TACET_ALGOS_ONLINE_DQN_REPLAY_H
#define TACET_ALGOS_ONLINE_DQN_REPLAY_H

#include "algos/data/dataset.h"

struct dqn_replay {
    struct dataset data; /* what is learned from: a view into the columns below. Its slots are the
                          * users, the oldest first, and then empty ones; or one slot for all */
    uint32_t capacity;   /* users */
    uint64_t users;      /* who have come so far */
    uint32_t *lengths;   /* of the episode of user n: [n % capacity]; owned */

    /* Columns with room for all of that and more, so that they seldom move; owned. */
    uint64_t room, state_room, first; /* transitions, states; where the view begins */
    float *states;
    uint64_t *state_row;
    uint16_t *actions;
    float *rewards;
    uint8_t *terminated;
};

struct dqn_replay_size {
    uint32_t state_dim, action_count;
    uint32_t capacity; /* users that are kept */
    uint32_t steps;    /* the most of an episode */
    bool one_slot;     /* all transitions are in one slot of the dataset; else each user's in its
                        * own */
};

/* The bytes that a replay buffer of SIZE takes; its part of a checkpoint takes fewer. */
size_t dqn_replay_bytes(const struct dqn_replay_size *size);

/* An empty buffer. Free with dqn_replay_clear. */
void dqn_replay_init(struct dqn_replay *replay, const struct dqn_replay_size *size);

/* Frees the columns; takes a buffer that is all zero. */
void dqn_replay_clear(struct dqn_replay *replay);

/* Adds the episode of the next user, of 1 to the most steps; the oldest leaves if all slots are
 * taken. EPISODE is copied, and its expert is not read. */
void dqn_replay_add(struct dqn_replay *replay, const struct trajectory *episode);

/* A checkpoint of the buffer, followed by the bytes of INNER: the episodes were played by weights
 * that are gone, or seen through noise that is drawn only once. *OUT_SIZE is its size. The caller
 * frees it. */
unsigned char *dqn_replay_keep(const struct dqn_replay *replay, const unsigned char *inner,
                               size_t inner_size, size_t *out_size);

/* Fills an empty REPLAY from BYTES, and gives the bytes after it. False: BYTES are damaged or of a
 * buffer of another size; REPLAY is unchanged. */
bool dqn_replay_restore(struct dqn_replay *replay, const unsigned char *bytes, size_t size,
                        const unsigned char **inner, size_t *inner_size);

#endif
