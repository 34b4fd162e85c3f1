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
#ifndef TACET_ALGOS_ONLINE_DQN_H
#define TACET_ALGOS_ONLINE_DQN_H

#include "algos/algorithm.h"

extern const struct algorithm dqn_algorithm;

#endif
