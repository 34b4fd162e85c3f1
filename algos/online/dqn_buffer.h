/* The fixed buffer of DQN: filled before the first update by uniformly random actions, so that what
 * is in it depends on no weights. */
#ifndef TACET_ALGOS_ONLINE_DQN_BUFFER_H
#define TACET_ALGOS_ONLINE_DQN_BUFFER_H

#include "algos/algorithm.h"
#include "algos/data/dataset.h"
#include "algos/online/observation_privacy.h"

enum dqn_unit {
    DQN_TRANSITION, /* every transition is a slot of its own */
    DQN_USER,       /* every episode is one */
    DQN_NOBODY,     /* all in one slot, for runs that protect no record */
};

struct dqn_buffer_request {
    const struct env *world;
    const double *physics;
    enum dqn_unit unit;
    bool episodes;  /* SIZE counts episodes instead of transitions */
    uint32_t size;  /* at least 1 */
    uint32_t steps; /* an episode's at most */
    uint64_t seed;  /* episode e draws from its stream 1 + e */

    const struct observation_bounds *bounds; /* observations are noised, each once; NULL: not */
    const struct dp_sgd_plan *plan;
    struct noise_source *noise;
};

/* The buffer as a dataset, with as many experts as slots. NULL: no memory, or with *broke that the
 * world broke. The caller frees it. */
struct dataset *dqn_buffer_fill(const struct dqn_buffer_request *request, bool *broke);

/* A checkpoint that begins with the buffer's observations, which are noised once and for all: bytes
 * of INNER behind those of DATA, *OUT_SIZE in all. The caller frees them. */
unsigned char *dqn_buffer_keep(const struct dataset *data, const unsigned char *inner,
                               size_t inner_size, size_t *out_size);

/* Puts the observations of BYTES into DATA, a buffer of the same request, and gives what follows
 * them; false, with DATA as it was: damaged. */
bool dqn_buffer_restore(struct dataset *data, const unsigned char *bytes, size_t size,
                        const unsigned char **inner, size_t *inner_size);

/* Deep Q-learning (Mnih et al. 2015, with double-DQN targets) on a fixed buffer that is filled
 * before the first update by uniformly random actions.
 *
 *   y = reward_scale r + discount (1 - terminal) Qbar(s', argmax_b Q(s', b)),  loss = huber(Q(s, a)
 * - y)
 *
 * MECHANISM_DPSGD: the trainer of algos/offline on that buffer. Unit: a transition, whose slot is
 * emptied, or a user, whose one episode is; every slot joins a step's batch with probability
 * batch_size / slots (Poisson), a user with one uniform transition; one clip over all tensors.
 * A buffer that were refilled while it is learned from would not do: there a person's transitions
 * follow from weights that already know the earlier ones.
 * MECHANISM_LDP_OBSERVATIONS: every observation of the buffer is noised once, then learned from
 * without noise. */
extern const struct algorithm dqn_algorithm;

#endif
