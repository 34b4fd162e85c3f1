/* Private gradient collection with simulated agents (PGC-A3C; Ono and Takahashi 2020, arXiv
 * 2001.11718), for reproduction: what agents of an aggregation do over the network, one after the
 * other in this process. Each agent plays one episode in a world of its own (its gravity is drawn
 * from three), randomises the gradient of its loss, and is forgotten; the learner reads reports
 * alone and moves when its buffer is full. No report is ever stale: agents fetch the parameters
 * that their report moves.
 *
 * Unit: an agent with all that it did, neighbours: any two; every agent reports once, so the
 * guarantee is the report's own epsilon, for any number of agents. */
#ifndef TACET_ALGOS_ONLINE_PGC_A3C_H
#define TACET_ALGOS_ONLINE_PGC_A3C_H

#include "algos/algorithm.h"
#include "algos/online/gradient_collection.h"
#include "algos/privacy/local/local_mechanism.h"

struct pgc_settings {
    struct actor_critic net;
    struct a3c_settings loss;
    struct collection_exploration exploration;
    bool greedy;                /* agents that do not explore take the most probable action */
    struct local_scheme scheme; /* not read unless reports are private */
    bool private;
    uint32_t buffer;    /* reports in an update, at least 1 */
    uint32_t max_steps; /* step limit of an episode */
    double learning_rate;
    double gravity_spread; /* agents draw the world's gravity from three values this far apart; 0:
                            * the world's own */
    uint64_t seed;         /* agent number i draws from its stream 1 + i, first weights from 0 */
    const struct env *world;
    const double *physics;
    struct noise_source *noise; /* borrowed */
};

struct pgc {
    struct pgc_settings settings;
    uint64_t updates; /* updates done; times buffer: reports done */
    size_t count;
    float *parameters; /* owned, as are the rest */
    double *gradient, *estimate, *sum;
    int64_t *report;
    void *state; /* of the world */
    struct a3c_episode episode;
};

/* Makes a learner before its first update. False: the world did not open. Free with pgc_clear in
 * either case. */
bool pgc_init(struct pgc *pgc, const struct pgc_settings *settings);

/* Frees the learner. */
void pgc_clear(struct pgc *pgc);

/* Makes one update from a full buffer. SCORE (or NULL) receives each agent's undiscounted return,
 * which a real learner would not see. An output that is not finite counts as a gradient of zero.
 * False: the world broke. */
bool pgc_update(struct pgc *pgc, void (*score)(void *context, double score), void *context);

/* Reads the settings from REQUEST, whose parameters fit the algorithm's table; the caller sets the
 * noise later. Returns NULL and *OUT, or a sentence: the randomiser cannot be made. */
const char *pgc_settings_of(const struct algorithm_request *request, struct pgc_settings *out);

extern const struct algorithm pgc_a3c_algorithm;

#endif
