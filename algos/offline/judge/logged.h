/* Logged trajectories as a judge reads them: who is drawn, what came of each, and what the judged
 * policy would have done at every state.
 *
 * What is judged is the discounted return within HORIZON steps, the longest logged trajectory. What
 * would follow a record's end counts nothing, so that a policy's value and the logged returns
 * compare. */
#ifndef TACET_ALGOS_OFFLINE_JUDGE_LOGGED_H
#define TACET_ALGOS_OFFLINE_JUDGE_LOGGED_H

#include "algos/algorithm.h"
#include "algos/data/dataset.h"
#include "algos/policy.h"

#define LOGGED_FOLDS       5
#define LOGGED_MAX_HORIZON 1000 /* later steps count nothing, in the data and in the judgement */
#define LOGGED_MIN_EXPERTS 10   /* with fewer of them, trajectories are the unit */

/* Asked now and then; false ends the work. GOES_ON may be NULL. */
struct judge_pulse {
    bool (*goes_on)(void *context);
    void *context;
};

/* False: the caller wants an end. */
bool judge_goes_on(const struct judge_pulse *pulse);

struct logged_trajectory {
    uint64_t first;  /* transition */
    uint32_t length; /* at most the horizon */
    uint32_t unit;   /* whom it is drawn with */
    double value;    /* discounted return of its steps */
};

struct logged {
    const struct dataset *data; /* borrowed */
    double discount;
    uint32_t horizon, trajectory_count, unit_count;
    bool by_expert; /* a unit is an expert's trajectories; else one trajectory */
    uint64_t row_count;
    struct logged_trajectory *trajectory; /* owned, as are all below */
    uint8_t *fold; /* transition: 0 .. LOGGED_FOLDS - 1, of its unit; LOGGED_FOLDS: is not read */
    uint8_t *over; /* transition: 1 where nothing follows: the end, or a record's before HORIZON */
    float *target; /* state x action: the judged policy */
    float *center; /* state_dim: mean of each number */
    float *factor; /* state_dim: one over its deviation; 0 where it has none */
    double lowest, highest; /* of the trajectories' values */
    double least, most;     /* of discounted returns from any step on */
    double spread;          /* their standard deviation */
};

/* Reads DATA, which must outlive OUT, and asks POLICY at every state. ALGORITHM_OK: OUT is for
 * logged_clear. _BAD_INPUT with a static *MESSAGE (sizes that do not fit, fewer than LOGGED_FOLDS
 * units, outputs or numbers that are not finite), _CANCELLED or _NO_MEMORY: nothing is to clear. */
enum algorithm_status logged_read(const struct dataset *data, double discount,
                                  const struct policy *policy, const struct judge_pulse *pulse,
                                  struct logged *out, const char **message);

/* Frees what OUT owns. */
void logged_clear(struct logged *logged);

/* Writes to INPUT[state_dim] the state of that ROW, each number centred and scaled. */
void logged_input(const struct logged *logged, uint64_t row, float *input);

#endif
