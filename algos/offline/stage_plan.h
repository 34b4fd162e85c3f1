/* Runs in two stages: first something is released of the experts (stable prefixes, or consensus
 * labels), then the algorithm trains, by plain steps on that and noisy ones on the data. This is
 * what the first stage is asked to be and what it will do and cost; the second is the
 * dp_sgd_plan's, which has the first one's price in `before`. */
#ifndef TACET_ALGOS_OFFLINE_STAGE_PLAN_H
#define TACET_ALGOS_OFFLINE_STAGE_PLAN_H

#include "algos/offline/consensus_grid.h"
#include "algos/offline/consensus_plan.h"
#include "algos/privacy/laws/mechanism.h"
#include "algos/privacy/training/sparse_vector.h"

enum stage_kind {
    STAGE_NONE,
    STAGE_STABLE,
    STAGE_CONSENSUS,
};

enum stable_source {
    STABLE_ROLLOUTS, /* the drawn expert's policy is played in Tacet's own world: everything that
                        the expert uploaded is protected */
    STABLE_LOGGED,   /* an uploaded trajectory of the drawn expert: protects its policy and not the
                        trajectory, which whoever knows it can recognise */
    STABLE_SOURCES
};
const char *stable_source_name(enum stable_source source); /* "rollouts", "logged" */

/* How much an expert's voice counts, by what it earns in Tacet's world (skill_voices.h). Public. */
struct skill_scale {
    double low, high;  /* returns that weigh nothing and 1 */
    double power;      /* of the weight between them; 0: nobody plays, all weigh alike */
    uint32_t episodes; /* of each expert, 1 .. SKILL_MAX_EPISODES */
};
#define SKILL_MAX_EPISODES 16

/* Public. */
struct stage_request {
    enum stage_kind kind;
    double epsilon_share, delta_share; /* of the budget, for this stage; in (0, 1] */
    uint32_t max_length;               /* steps of the longest trajectory; 1 with a grid */
    /* STAGE_STABLE */
    enum stable_source source;
    uint32_t runs;          /* trajectories that are drawn, T */
    double min_probability; /* of any action of any expert */
    enum sparse_vector_accounting accounting;
    /* STAGE_CONSENSUS */
    uint32_t labels;
    double explore;  /* share of steps that are random and bear no label */
    uint32_t rounds; /* of labels, between which a student learns to choose states */
    struct skill_scale skill;
    struct consensus_grid grid; /* declared states, LABELS of them, in place of played ones */
};

struct stage_plan {
    struct sparse_vector_plan stable; /* STAGE_STABLE */
    struct consensus_plan consensus;  /* STAGE_CONSENSUS */
};

/* Where the first stage has all of the budget, this much of it: figures of the composition of all
 * stages may lie above the first one's own by their rounding. */
#define STAGE_MOST_SHARE 0.999

enum stage_status {
    STAGE_OK,
    STAGE_BAD,        /* *message: a static sentence */
    STAGE_INFEASIBLE, /* the budget cannot pay it; *message likewise */
    STAGE_NO_MEMORY,
};

/* Plans REQUEST for a budget of EPSILON and DELTA over both stages. *OUT_BEFORE is its price, for
 * dp_sgd_plan.before (times 0 for STAGE_NONE). */
enum stage_status stage_plan_make(const struct stage_request *request, double epsilon, double delta,
                                  uint32_t nominal_experts, uint32_t action_count,
                                  struct stage_plan *out, struct composition_part *out_before,
                                  const char **message);

/* The price of a plan, as stage_plan_make gave it. */
struct composition_part stage_price(const struct stage_request *request,
                                    const struct stage_plan *plan);

#endif
