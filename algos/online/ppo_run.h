/* A run of PPO as a row of the table of algorithms has it: pulses, checkpoints, the policy at the
 * end; alone or with a guide. Within algos/online. */
#ifndef TACET_ALGOS_ONLINE_PPO_RUN_H
#define TACET_ALGOS_ONLINE_PPO_RUN_H

#include "algos/algorithm.h"
#include "algos/online/ppo.h"

/* What a student's run has beside PPO's own. */
struct ppo_companion {
    void *context;
    struct kickstart_guide guide;
    /* What it knows, behind the agent's bytes in every checkpoint; whoever asked frees it. */
    unsigned char *(*write)(void *context, size_t *out_size);
    /* Takes it back; false: damaged. */
    bool (*read)(void *context, const unsigned char *bytes, size_t size);
    /* Why the guide broke; ALGORITHM_OK: it did not. */
    enum algorithm_status (*broke)(void *context, const char **message);
    struct ppo *ppo; /* set by ppo_run, while it lasts */
};

/* Trains, from run->checkpoint where there is one, with the first PARAMETER_COUNT parameters as
 * what tells runs apart. COMPANION may be NULL. As algorithm.train. */
enum algorithm_status ppo_run(const struct algorithm_run *run, unsigned parameter_count,
                              struct ppo_companion *companion, struct policy **out_policy,
                              const char **message);

/* The run between two updates, or amid a roll-out, which is then played again: *OUT_SIZE bytes,
 * which the caller frees. */
unsigned char *ppo_run_bytes(const struct algorithm_run *run, unsigned parameter_count,
                             const struct ppo_companion *companion, const struct ppo *ppo,
                             size_t *out_size);

#endif
