/* Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347) in any world, single
 * threaded: several copies of the world are played side by side, then the clipped surrogate is
 * improved by a few epochs of minibatches. Policy and value are two networks in one flat vector of
 * parameters, so that clipping and Adam are one loop.
 *
 * Observations and rewards may be normalised by what was seen in earlier roll-outs: throughout an
 * update the same mean and deviation hold. A first roll-out is then played for them alone. The
 * policy that is given out reads plain observations (normalizer_fold).
 *
 * No privacy here: what it makes is an expert, or a public agent. A run is a function of its
 * settings and its generator alone. */
#ifndef TACET_ALGOS_ONLINE_PPO_H
#define TACET_ALGOS_ONLINE_PPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/nn/mlp.h"
#include "envs/env.h"
#include "envs/rng.h"

#define PPO_MAX_WORLDS     1024
#define PPO_MAX_STEPS      65536      /* steps of one world in one roll-out */
#define PPO_MAX_TRANSITION (1U << 22) /* worlds * steps */

struct ppo_settings {
    uint32_t hidden_count; /* 0 .. MLP_MAX_LAYERS - 1, of policy and value alike */
    uint32_t hidden[MLP_MAX_LAYERS - 1];
    enum mlp_activation activation;
    uint32_t worlds;     /* copies played side by side */
    uint32_t steps;      /* steps of each world in a roll-out */
    uint32_t epochs;     /* passes over a roll-out */
    uint32_t minibatch;  /* transitions per gradient step; at most worlds * steps */
    uint32_t step_limit; /* episodes are truncated after this many steps */
    double discount;
    double lambda; /* of the generalised advantage estimate */
    double clip;   /* the ratio's trust interval is 1 +- clip */
    double entropy_bonus;
    double value_weight;
    double max_gradient_norm;    /* norm of the joint gradient of policy and value */
    double reward_scale;         /* factor of rewards inside of the agent; reports are in the
                                  * world's own rewards */
    bool normalize_observations; /* to mean 0 and deviation 1 */
    bool normalize_rewards;      /* so that discounted returns have deviation 1 */
};

/* CleanRL's defaults, a little smaller: tanh 64-64, 4 worlds x 128 steps, 4 epochs in minibatches
 * of 128, discount 0.99, lambda 0.95, clip 0.2, entropy bonus 0.01, value weight 0.5, norm 0.5;
 * nothing is normalised. */
struct ppo_settings ppo_defaults(void);

/* NULL when SETTINGS are usable in ENV, else a static sentence about what is not. */
const char *ppo_settings_problem(const struct ppo_settings *settings, const struct env *env);

/* The shape of the policy network with SETTINGS in ENV. */
struct mlp_shape ppo_settings_shape(const struct ppo_settings *settings, const struct env *env);

struct ppo;

/* A fresh agent with orthogonal weights (gain sqrt 2; 0.01 for the policy's output, 1 for the
 * value's) in worlds of those PARAMETERS (env_defaults order, copied). SETTINGS
 * must be usable. RNG is copied: weights, starts and actions are drawn from the copy. ENV must
 * outlive the agent. NULL: a world did not open. Free with ppo_free. */
struct ppo *ppo_new(const struct ppo_settings *settings, const struct env *env,
                    const double *parameters, const struct rng *rng);

/* Bounds the bytes that such an agent takes, including a checkpoint and a guide. */
size_t ppo_bytes(const struct ppo_settings *settings, const struct env *env);

/* Frees the agent; takes NULL. */
void ppo_free(struct ppo *ppo);

/* ---- a guide */

/* Kickstarting with answers that carry noise: what pulls a student towards a teacher, and how a
 * student asks. The objective is J(theta) - E[phi] over the states that were answered ("Privacy-
 * preserving kickstarting deep reinforcement learning with privacy-aware learners", arXiv
 * 2102.09599, eq. 17), with
 *   phi = |pi_theta(s) - answer|_2 where that exceeds lambda * radius, else 0.
 * The paper's radius (its Lemma 1) holds an answer less often than it says; the radius that an
 * answer is given with is used instead (teacher_error_radius). */

enum kickstart_reply {
    KICKSTART_ANSWERED,
    KICKSTART_SILENT, /* nobody pays for an answer; the guide is not asked again */
    KICKSTART_BROKEN, /* the run cannot continue; the guide's owner knows why */
};

/* A teacher that a student asks once in each roll-out. */
struct kickstart_guide {
    void *context;
    uint32_t questions; /* states per roll-out, at least 1 and at most the roll-out's transitions */
    double lambda;      /* >= 0; at 0 the student takes noise for advice ("unaware") */
    /* COUNT states [count x state_dim], as the world gives them -> distributions [count x actions]
     * and the radius that holds an answer's noise with the probability the teacher states. */
    enum kickstart_reply (*ask)(void *context, float *states, uint32_t count,
                                double *out_probabilities, double *out_radius);
};

/* phi of softmax(LOGITS[actions]) and ANSWER[actions]; adds WEIGHT * dphi/dlogits to GRADIENT. With
 * p the policy and g = (p - answer) / |p - answer|, dphi/dlogit_a = p_a (g_a - sum_b p_b g_b). */
double kickstart_penalty(const float *logits, uint32_t actions, const double *answer,
                         double allowed, double weight, float *gradient);

/* Sets GUIDE (copied; its context is borrowed). From now on every roll-out asks it about states
 * drawn uniformly from the roll-out, and the policy is improved towards J - E[phi] (above), until
 * the guide falls silent. Called at most once, before the first update. */
void ppo_set_guide(struct ppo *ppo, const struct kickstart_guide *guide);

/* What an update reports. */
struct ppo_report {
    uint64_t transitions; /* played since the beginning, in all worlds */
    uint64_t episodes;    /* ended since the beginning */
    double mean_return;   /* undiscounted, of the last PPO_RECENT ended episodes; 0 before any */
    double entropy;       /* of the policy, nats, mean over the update */
    double kl;            /* E[r - 1 - log r], from the roll-out's policy to the present one */
};
#define PPO_RECENT 20

/* Plays one roll-out and trains its epochs, with Adam at LEARNING_RATE, which the caller may
 * schedule. False: the world or the guide broke, and the agent cannot be used any more. */
bool ppo_update(struct ppo *ppo, double learning_rate, struct ppo_report *out);

/* The number of updates since the beginning, including those before a checkpoint. */
uint64_t ppo_updates(const struct ppo *ppo);

/* The shape of the policy network, whose outputs are logits; borrowed. */
const struct mlp_shape *ppo_policy_shape(const struct ppo *ppo);

/* Writes the policy network's PARAMETERS[mlp_parameter_count] for observations that are not
 * normalised. False: one of them is not finite, because the agent has diverged. */
bool ppo_write_policy(const struct ppo *ppo, float *parameters);

/* Encodes the agent between two updates, with FINGERPRINT, as *OUT_SIZE bytes; the caller frees
 * them. They leave out the worlds' states: a restored agent begins new episodes, so its history
 * differs from that of an agent that was never stored. */
unsigned char *ppo_to_bytes(const struct ppo *ppo, uint64_t fingerprint, size_t *out_size);

/* Restores PPO, which is new and has the same settings. False, with PPO unchanged: damage, another
 * version or another fingerprint. False, with PPO unusable: the world broke at the start of its
 * episodes. */
bool ppo_from_bytes(struct ppo *ppo, uint64_t fingerprint, const unsigned char *bytes, size_t size);

/* The report of the last update. A restored agent has only transitions, episodes and
 * mean_return. */
struct ppo_report ppo_report_of(const struct ppo *ppo);

/* Generalised advantage estimates (Schulman et al. 2016, arXiv 1506.02438, eq. 16) of STEPS x
 * WORLDS transitions, arrays in that order:
 *   delta = reward + discount next_value - value,  A_t = delta_t + discount lambda A_(t+1)
 * where A_(t+1) is dropped behind a step that ENDED its episode. NEXT_VALUE is 0 after termination
 * and the last observation's value after truncation. TARGET = A + value. */
void ppo_advantages(uint32_t steps, uint32_t worlds, const float *reward, const float *value,
                    const float *next_value, const uint8_t *ended, double discount, double lambda,
                    float *advantage, float *target);

/* What one transition's policy loss is made of. */
struct ppo_loss {
    double loss, ratio, entropy;
};

/* One transition's policy loss and its gradient with respect to LOGITS[actions] (Schulman et al.
 * 2017, eq. 7 and 9):
 *   -min(r A, clamp(r, 1 - clip, 1 + clip) A) - entropy_bonus H,  r = p(action) / exp(old_log) */
struct ppo_loss ppo_policy_loss(const float *logits, uint32_t actions, uint32_t action,
                                double old_log_probability, double advantage, double clip,
                                double entropy_bonus, float *gradient);

#endif
