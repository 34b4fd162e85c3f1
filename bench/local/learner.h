/* One run of REINFORCE or DQN in CartPole under noise, and how soon what it learns solves it: when
 * 25 test episodes of a policy on the way earn 475 on average (a test is played in the public
 * simulator and decides nothing). */
#ifndef TACET_BENCH_LOCAL_LEARNER_H
#define TACET_BENCH_LOCAL_LEARNER_H

#include "algos/algorithm.h"

#define LEARNER_TESTS  25
#define LEARNER_SOLVED 475.0
#define LEARNER_DELTA  1e-5

struct learner {
    const char *name, *label;
    const struct algorithm *algorithm;
    unsigned batch; /* REINFORCE: episodes to an update, of which there are 1000 */
    bool fixed;     /* DQN: on a fixed buffer of random play; else it plays while it learns */
};
extern const struct learner learners[];
extern const unsigned learner_count;

struct learner_result {
    double epsilon;     /* certified; of one observation where those are noised */
    double mean_return; /* of the last policy, 100 episodes of at most 500 steps */
    uint64_t solved;    /* episodes until then, in steps of 25 updates, or of 100 of DQN. On a fixed
                           buffer: 1000 or 2000 updates, whose policy solves it. 0: none */
    uint64_t length;    /* episodes, or updates on a fixed buffer */
    double cpu_seconds;
};

/* MECHANISM_DPSGD with the noise multiplier SETTING, MECHANISM_LDP_OBSERVATIONS with the epsilon
 * SETTING of an observation, or without noise where SETTING is 0; else as a job has it by default.
 * False after a line on standard error. */
bool learner_run(const struct learner *learner, enum algorithm_mechanism mechanism, double setting,
                 uint64_t seed, struct learner_result *out);

#endif
