/* DQN as a job, and its fixed buffer. Uniformly random actions fill it before the first update, so
 * its content depends on no weights. */
#ifndef TACET_ALGOS_ONLINE_DQN_BUFFER_H
#define TACET_ALGOS_ONLINE_DQN_BUFFER_H

#include "algos/algorithm.h"
#include "algos/data/dataset.h"
#include "algos/online/observation_privacy.h"

enum dqn_unit {
    DQN_TRANSITION, /* every transition is a slot of its own */
    DQN_USER,       /* every episode is a slot */
    DQN_NOBODY,     /* one slot for all, for runs that protect no record */
};

struct dqn_buffer_request {
    const struct env *world;
    const double *physics;
    enum dqn_unit unit;
    bool episodes;  /* SIZE counts episodes instead of transitions */
    uint32_t size;  /* number of transitions, or of episodes; at least 1 */
    uint32_t steps; /* step limit of an episode */
    uint64_t seed;  /* episode e draws from its stream 1 + e */

    const struct observation_bounds *bounds; /* NULL: observations are not noised; else each is
                                              * noised once */
    const struct dp_sgd_plan *plan;
    struct noise_source *noise;
};

/* Fills the buffer as a dataset with one expert for each slot. NULL: no memory, or the world broke
 * (*BROKE). The caller frees it. */
struct dataset *dqn_buffer_fill(const struct dqn_buffer_request *request, bool *broke);

/* Makes a checkpoint of the buffer's observations, which are noised only once, followed by the
 * bytes of INNER. *OUT_SIZE is its size. The caller frees it. */
unsigned char *dqn_buffer_keep(const struct dataset *data, const unsigned char *inner,
                               size_t inner_size, size_t *out_size);

/* Restores the observations in BYTES into DATA, a buffer of the same request, and gives the bytes
 * after them. False: BYTES are damaged; DATA is unchanged. */
bool dqn_buffer_restore(struct dataset *data, const unsigned char *bytes, size_t size,
                        const unsigned char **inner, size_t *inner_size);

/* Deep Q-learning (Mnih et al. 2015, with double-DQN targets), which plays while it learns
 * (dqn_play.h), or learns from a fixed buffer that is filled before the first update by uniformly
 * random actions.
 *
 *   y = reward_scale r + discount (1 - terminal) Qbar(s', argmax_b Q(s', b)),  loss = huber(Q(s, a)
 * - y)
 *
 * MECHANISM_DPSGD on a fixed buffer: the trainer of algos/offline on it. Unit: a transition, whose
 * slot is emptied, or a user, whose one episode is; every slot joins a step's batch with
 * probability batch_size / slots (Poisson), a user with one uniform transition; one clip over all
 * tensors. MECHANISM_LDP_OBSERVATIONS: every observation is noised once, then played by and learned
 * from without further noise. */
extern const struct algorithm dqn_algorithm;

#endif
