/* A one-run audit of the algorithms that play (algos/offline/one_run_audit.h is that of the
 * others): many canaries in one training, each there or not by a fair coin, through the algorithm's
 * own plan and train.
 *
 * A canary is an episode in a world that is made for it (canary_world.h). The attacker knows the
 * world, its chance and the first weights, sees the later weights, and guesses which canaries were
 * there from how far the weight of each canary's direction moved. No one's data take part. */
#ifndef TACET_ALGOS_ONLINE_PLAY_AUDIT_H
#define TACET_ALGOS_ONLINE_PLAY_AUDIT_H

#include "algos/algorithm.h"
#include "algos/offline/membership_audit.h"
#include "algos/offline/one_run_bound.h"

enum play_audit_way {
    PLAY_AUDIT_DQN,       /* it plays while it learns; 128 canaries come in each round, and stay for
                           * two. The weights at the end of every round are seen */
    PLAY_AUDIT_DQN_FIXED, /* its buffer is filled first, with 256 canaries. The policy is seen */
    PLAY_AUDIT_REINFORCE, /* 256 canaries in each update. The weights after every update are seen */
    PLAY_AUDIT_REINFORCE_LATER, /* 128 canaries in each update. What the next update moves is added
                                 * to what theirs moves, so that an episode which enters both is
                                 * found */
    PLAY_AUDIT_WAYS
};

struct play_audit_settings {
    enum play_audit_way way;
    bool exact;           /* the arithmetic */
    bool sampled;         /* of dqn: a step takes a quarter of the buffer, else all of it */
    uint32_t rounds;      /* of dqn: with new canaries; of reinforce: updates; 2 .. 64, even. 1 on a
                           * fixed buffer */
    uint32_t round_steps; /* of dqn, 1 .. 10000; of reinforce 1 */
    double noise_multiplier; /* 0.05 .. 1e6 */
    double delta;            /* 1e-50 .. 0.5 */
    uint64_t seed;           /* of the first weights and of the users' chance */
};

struct play_attack;

/* The settings of the audits that come with Tacet: noise multiplier 1.5 and delta
 * 1e-5. */
struct play_audit_settings play_audit_usual(enum play_audit_way way, bool exact, bool sampled);

/* The name of the algorithm that is attacked in that way. */
const char *play_audit_algorithm(enum play_audit_way way);

/* Plans the training and finds its first weights. On ALGORITHM_OK the caller frees *OUT with
 * play_attack_free. Other results: as struct algorithm's plan and train. */
enum algorithm_status play_attack_new(const struct play_audit_settings *settings,
                                      struct play_attack **out, const char **message);

/* Frees the attack; takes NULL. */
void play_attack_free(struct play_attack *attack);

/* The claim under audit. */
const struct dp_sgd_plan *play_attack_claim(const struct play_attack *attack);

/* Tosses the canaries' coins (COINS), trains once and counts the right guesses. NOISE NULL: the
 * system's noise; else NOISE (tests). */
enum algorithm_status play_attack_run(const struct play_attack *attack,
                                      enum membership_sabotage sabotage, struct rng *coins,
                                      struct noise_source *noise, struct one_run_guesses *out);

#endif
