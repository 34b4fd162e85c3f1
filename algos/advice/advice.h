/* What a private training is likely to be worth, before anything is spent, from public numbers
 * alone: candidates for a purpose, their plans, and the outcomes of measured runs whose noise was
 * like theirs.
 *
 * Quality is on a scale on which 0 is random play and 1 the best run without privacy in the same
 * world. Nothing here reads data, and nothing here is a guarantee: what was measured in some worlds
 * need not hold in another (docs/results/advice.md says how well it does). */
#ifndef TACET_ALGOS_ADVICE_ADVICE_H
#define TACET_ALGOS_ADVICE_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/algorithm.h"

/* ---- what is asked about */

/* What is to come of it. */
enum advice_want {
    ADVICE_WANT_POLICY,  /* a policy to have */
    ADVICE_WANT_TEACHER, /* a teacher of shards of experts, to ask: of unit expert */
    ADVICE_WANT_RELEASE, /* a Q-function to ask for ever */
};

/* Public facts of a dataset or of a plan to collect one. */
struct advice_facts {
    enum advice_want want;
    uint32_t experts;              /* nominal, at least 2 */
    uint32_t state_dim;            /* numbers of a state */
    uint32_t action_count;         /* at least 2 */
    uint32_t max_episode_steps;    /* of a trajectory */
    double discount;               /* of the dataset */
    double min_action_probability; /* of any action of any expert; 0: unknown */
    double epsilon, delta;         /* what a job may cost */
    const struct env *world;       /* a built-in world that may be played in; NULL: there is none */
    const double *low, *high;      /* public bounds of a state's numbers; NULL: unknown */
    const struct consensus_grid *grid; /* what experts may be asked at; NULL: a regular grid within
                                          the bounds. Borrowed */
    struct dp_sgd_work *work;          /* what planning may take; NULL: any work. Borrowed */
};

enum advice_method {
    ADVICE_DPSGD,     /* noisy steps */
    ADVICE_LINEAR,    /* noisy steps of a model without hidden layers */
    ADVICE_SELECTIVE, /* stable prefixes first, then plain and noisy steps: needs a world */
    ADVICE_CONSENSUS, /* consensus labels at played states: needs a world */
    ADVICE_GRID,      /* consensus labels at a grid of declared states: needs bounds */
    ADVICE_SHARDS,    /* plain training on shards, noise on answers about their mean */
    ADVICE_RELEASE,   /* plain training on shards, noise on their mean: needs bounds */
    ADVICE_METHODS
};

/* "dpsgd", "linear", "selective_dpsgd", "consensus", "grid", "shards", "q_release". */
const char *advice_method_name(enum advice_method method);

/* The number of the method NAME among those that were measured; -1: there is none. */
int advice_method_find(const char *name);

/* ---- candidates (candidates.c) */

/* A job that could be asked for. SIZE is the width of the one hidden layer (dpsgd), the number of
 * labels (consensus), or that of shards; 0: the default. */
struct advice_candidate {
    enum advice_method method;
    const struct algorithm *algorithm;
    uint32_t size;
};

/* Candidate number I of those that suit FACTS; false past the last. */
bool advice_candidate(const struct advice_facts *facts, unsigned i, struct advice_candidate *out);

#define ADVICE_GRID_STATES 1000u /* of a grid at most */

/* Lists the states of a grid within the bounds of FACTS in which categories are whole: of the
 * WIDTH[d] coordinates from d on, where they are more than one, each state has 1 in one and 0 in
 * the others; WIDTH[d] of a number is 1. STATES[ADVICE_GRID_STATES x state_dim] becomes part of
 * *OUT. False: even two points of each number are too many states, or a state has too many numbers.
 */
bool advice_grid_list(const struct advice_facts *facts, const uint32_t *width, double *states,
                      struct consensus_grid *out);

/* The request that CANDIDATE is, ready to be planned. A grid is in request.stage.grid. */
void advice_request(const struct advice_facts *facts, const struct advice_candidate *candidate,
                    struct algorithm_request *out);

/* ---- the signal of a plan, and the method that it is of (signal.c) */

/* How large what a plan learns is beside its noise:
 *   dpsgd, linear
 *              R = batch_size sqrt(steps) / (noise_multiplier sqrt(parameter_count)): how far all
 *              steps together can move the weights, over how far their noise moves them;
 *   selective  R of its noisy steps;
 *   consensus  experts / noise: all votes, over the deviation of a count of votes;
 *   q_release  1 / noise_to_range.
 * NAN: the plan has no noise, or is of no measured method; *OUT_METHOD is then not set. */
double advice_signal(const struct algorithm_request *request, const struct algorithm_plan *plan,
                     enum advice_method *out_method);

/* The signal of a teacher of so many SHARDS: 1 / sigma of answers, of which the budget pays
 * ADVICE_ANSWERS. 0: it pays no such number. Takes some ten milliseconds. */
double advice_teaching_signal(const struct advice_facts *facts, uint32_t shards);
#define ADVICE_ANSWERS 1000

/* ---- the outlook (outlook.c) */

/* A measured run. */
struct advice_run {
    const char *world, *algorithm;
    enum advice_method method;
    uint32_t experts;
    double epsilon, signal, quality;
};

/* The runs that ship with the program (runs.c, which `make advise-table` writes). */
extern const struct advice_run advice_runs[];
extern const unsigned advice_run_count;

enum advice_verdict {
    ADVICE_UNKNOWN,  /* nothing like it was measured */
    ADVICE_HOPELESS, /* expected to be no better than random play, or than what is learned where
                        there is next to nothing but noise; nor is the best of ten such runs */
    ADVICE_WEAK,
    ADVICE_GOOD, /* from ADVICE_GOOD_FROM on, and nine of ten are better than random play; not by a
                    coarse grid (advice_grid_is_coarse) */
};

/* "unknown", "hopeless", "weak", "good". */
const char *advice_verdict_name(enum advice_verdict verdict);

/* Expected quality. The margin is above random play and above runs of noise alone. */
#define ADVICE_GOOD_FROM   0.6
#define ADVICE_WEAK_MARGIN 0.1

struct advice_outlook {
    double expected, low, high; /* quality: the mean, and what nine of ten such runs lie above and
                                   below; NAN where nothing was measured */
    double runs;                /* measured runs nearby, each as much as it is like this one */
    bool measured;              /* the signal lies within what was measured */
    enum advice_verdict verdict;
};

/* What measured runs of METHOD and ALGORITHM say of a run of that SIGNAL in WORLD ("" or one that
 * was not measured: any). WITHOUT, if not NULL, names a world whose runs are left out. */
void advice_look(enum advice_method method, const char *algorithm, const char *world,
                 const char *without, double signal, struct advice_outlook *out);

/* Whether REQUEST asks votes at a grid of fewer than five points of a number, in a WORLD that was
 * not measured. The measured grids have as few, in ranges that their data fill. Elsewhere data may
 * lie between two points: such a plan is never called good. */
bool advice_grid_is_coarse(const struct algorithm_request *request, const char *world);

/* The outlook of a plan of ALGORITHM; unknown where it has no signal. Of far fewer steps or labels
 * than were measured it is never said that they are enough, though they may be hopeless. */
void advice_look_at(const struct algorithm_request *request, const struct algorithm_plan *plan,
                    const char *algorithm, const char *world, struct advice_outlook *out);

/* ---- ranking (rank.c) */

#define ADVICE_RANKED_MAX 24

/* A candidate with a plan. */
struct advice_ranked {
    struct advice_candidate candidate;
    struct algorithm_request request;
    double signal;
    struct advice_outlook outlook;
};

/* Plans the candidates for FACTS, of ALGORITHM and MECHANISM alone where those are given (NULL and
 * -1: any), and puts those that have a plan in order, the best expectation first, hopeless ones
 * last. Returns their number. */
unsigned advice_rank(const struct advice_facts *facts, const struct algorithm *algorithm,
                     int mechanism, struct advice_ranked out[ADVICE_RANKED_MAX]);

/* ---- how much would be enough (enough.c) */

struct advice_enough {
    uint32_t experts; /* the least at the same budget, from ADVICE_LEAST_EXPERTS on; 0: not even
                         ADVICE_MOST_EXPERTS, or a thousand for each expert of a batch */
    double epsilon;   /* the least with the same experts; 0: not even ADVICE_MOST_EPSILON */
};

#define ADVICE_LEAST_EXPERTS 30u /* the fewest of any measured run: fewer were never enough */
#define ADVICE_MOST_EXPERTS  100000u
#define ADVICE_MOST_EPSILON  20.0

/* Looks for what REQUEST of ALGORITHM in WORLD would need for a verdict of at least VERDICT, to
 * a tenth. It makes some eight plans. */
void advice_enough(const struct algorithm *algorithm, const struct algorithm_request *request,
                   const char *world, enum advice_verdict verdict, struct advice_enough *out);

#endif
