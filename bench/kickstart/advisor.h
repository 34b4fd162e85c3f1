/* The teacher of an experiment: a network, or the mean of many, behind a mechanism, with one
 * account that pays. It answers, prices and refuses as the service's teachers do (the same
 * mechanisms, bounds and filters), without the HTTP around it. */
#ifndef TACET_BENCH_KICKSTART_ADVISOR_H
#define TACET_BENCH_KICKSTART_ADVISOR_H

#include "algos/online/ppo.h"
#include "algos/policy.h"
#include "algos/privacy/noise/noise_source.h"
#include "algos/release/teacher.h"

#define ADVISOR_DELTA  1e-5
#define ADVISOR_BETA   0.05  /* an answer's radius holds it 19 times of 20, as in the service */
#define ADVISOR_CHANGE 0.002 /* lipschitz * radius of the observation adjacency */
#define ADVISOR_LEAST  0.1   /* eta */

/* Who is asked. POLICIES are borrowed; NULL ones play all actions alike. With one of them
 * neighbours are two observations whose distributions are at most ADVISOR_CHANGE apart; with
 * several they are two sets of experts, each expert in one of COUNT shards. */
struct advisor_source {
    struct policy *const *policies;
    uint32_t count;
    uint32_t actions, state_dim;
    double temperature; /* of their softmax */
};

struct advisor_terms {
    const struct teacher_mechanism *mechanism; /* NULL: the distribution itself, for nothing */
    double concentration; /* Dirichlet's at first; 0: what lets the budget last ANSWERS */
    double vanishing;     /* of it, at the start of each roll-out; it falls silent below 1/eta */
    double epsilon;       /* the budget at ADVISOR_DELTA; 0: no end but the schedule's */
    int64_t answers;      /* how many the budget should buy; without a mechanism: when it
                         falls silent */
    bool published;       /* Dirichlet answers as the paper gives them: of any concentration */
    bool random;          /* behind the budget: answers around the uniform distribution, which are
                             not marked, in place of silence */
};

struct advisor;

/* NULL: no memory, no randomness, or not one answer can be paid; *WHY then says which. */
struct advisor *advisor_new(const struct advisor_source *source, const struct advisor_terms *terms,
                            const char **why);
void advisor_free(struct advisor *advisor);

/* kickstart_guide.ask, once in each roll-out. */
enum kickstart_reply advisor_ask(void *advisor, float *states, uint32_t count,
                                 double *out_probabilities, double *out_radius);

/* What was told of the policy so far and what it cost: EPSILON certified, PAPER by equation (12)
 * with its own basic composition, both at ADVISOR_DELTA in all (NaN where there is no such formula,
 * infinite where nothing is protected). NOISE is the concentration or sigma of the first answer. */
struct advisor_account {
    uint64_t answers;
    double epsilon, paper, noise, radius;
};
struct advisor_account advisor_account_of(const struct advisor *advisor);

#endif
