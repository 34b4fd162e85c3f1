/* DQN as published (Mnih et al. 2015): it plays while it learns, by epsilon-greedy actions, and
 * learns from the episodes of the users who came last (dqn_replay.h).
 *
 * In rounds, whose numbers are all public: so many users play one episode each by the present
 * weights, then so many updates follow. Before the first round some users play by random actions
 * (exploring_share 0: by the first weights and a share of them). An action is uniformly random with
 * a probability that falls linearly with the updates, from 1 to a final share; else it is the best
 * by the online network.
 *
 * MECHANISM_DPSGD: unit: a user with its episode; neighbours: the episode is emptied, and the
 * user's turn stays. Episodes of other users depend on it through the noised weights alone, and a
 * user is in the buffer for dqn_rounds_uses updates at most: so the run costs each user so many
 * Poisson-subsampled Gaussian steps, composed adaptively, however many users there are. Rounds
 * count users and not steps of the world, because the length of an episode is the user's. Proof:
 * docs/proofs/playing_users.md. */
#ifndef TACET_ALGOS_ONLINE_DQN_PLAY_H
#define TACET_ALGOS_ONLINE_DQN_PLAY_H

#include "algos/offline/dp_trainer.h"
#include "algos/online/dqn_replay.h"
#include "algos/online/observation_privacy.h"

struct dqn_rounds {
    uint32_t random_users;  /* who play before the first update; at least 1 */
    uint32_t round_users;   /* of each later round */
    uint32_t round_updates; /* that follow */
    uint32_t kept_users;    /* in the buffer; at least RANDOM_USERS and ROUND_USERS */
};

/* How many users have played before update UPDATE, counted from 0. */
uint64_t dqn_rounds_users(const struct dqn_rounds *rounds, uint64_t update);

/* The most of UPDATES updates that one user is in the buffer for. */
uint64_t dqn_rounds_uses(const struct dqn_rounds *rounds, uint64_t updates);

/* The share of random actions: from 1 before the first update it falls linearly to FINAL at UPDATES
 * updates and stays there. */
double dqn_exploration(double final, double updates, uint64_t update);

struct dqn_play_request {
    const struct algorithm_run *run; /* of the whole job */
    const struct mlp_shape *shape;
    struct dqn_rounds rounds;
    double final_exploration, exploring_updates;
    uint32_t steps; /* the most of an episode */

    const struct observation_bounds *bounds; /* NULL: observations are not noised; else each is
                                              * noised once, and the player sees no other */
    struct noise_source *noise;
};

/* A player and its buffer: the feed of a trainer. */
struct dqn_player {
    const struct dqn_play_request *request;
    struct dqn_replay replay; /* its data are the trainer's */
    struct trainer_feed feed; /* whose context is the player */
    void *state;              /* of the world */
    float *states, *rewards, *scratch;
    uint16_t *actions;
};

/* Prepares OUT, which must not move. ALGORITHM_OK or _NO_MEMORY. REQUEST is borrowed. Free with
 * dqn_player_clear, also after a failure. */
enum algorithm_status dqn_player_init(struct dqn_player *out,
                                      const struct dqn_play_request *request);

/* Frees what it holds; takes a player that is all zero. */
void dqn_player_clear(struct dqn_player *player);

#endif
