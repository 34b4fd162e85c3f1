/* A dataset as columns, in memory or in mapped files: built from trajectories, then read-only and
 * shared by threads. Transitions are grouped by expert, so that one expert's are a range. */
#ifndef TACET_ALGOS_DATA_DATASET_H
#define TACET_ALGOS_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/data/data_column.h"
#include "algos/data/trajectory.h"

enum dataset_column {
    DATASET_STATES,
    DATASET_STATE_ROW,
    DATASET_ACTIONS,
    DATASET_REWARDS,
    DATASET_TERMINATED,
    DATASET_COLUMNS
};

struct dataset {
    uint32_t state_dim, action_count;
    uint32_t expert_count;
    uint64_t trajectory_count, transition_count;
    float *states;       /* (transition_count + trajectory_count) x state_dim */
    uint64_t *state_row; /* transition -> row of s in states; s' is the next row */
    uint16_t *actions;   /* transition */
    float *rewards;      /* transition */
    uint8_t *terminated; /* transition: 1 when s' is terminal (truncation is not termination) */
    uint64_t *expert_transitions; /* expert_count + 1 bounds: expert e owns [e], [e+1) */
    uint64_t *expert_keys;        /* a hash of each expert's identity alone, whatever its position;
                                   * malloc'ed and set by whoever knows the names, else NULL */
    struct data_column columns[DATASET_COLUMNS]; /* what the pointers above point into, where a
                                                  * builder made them */
};

/* Collects trajectories in any order. */
struct dataset_builder;

/* A builder without trajectories, for states of STATE_DIM numbers, actions below ACTION_COUNT and
 * EXPERT_COUNT slots; an expert may stay without data. Free with dataset_builder_finish or _free.
 */
struct dataset_builder *dataset_builder_new(uint32_t state_dim, uint32_t action_count,
                                            uint32_t expert_count);
/* The same for a dataset like DATA, with at most its trajectories. In files where DATA is, and then
 * all the room for them is taken: a growing file would take half as much more. */
struct dataset_builder *dataset_builder_beside(const struct dataset *data);

/* Lets the columns be files without a name in DIRECTORY, which is borrowed for the life of the
 * dataset and of those beside it; before the first trajectory. */
void dataset_builder_use_files(struct dataset_builder *builder, const char *directory);

/* Takes room for so many transitions and trajectories in all, so that a lack of it shows before
 * anything is read. Without it the builder grows. False: no memory, or no room on the disk; nothing
 * is added any more. */
bool dataset_builder_reserve(struct dataset_builder *builder, uint64_t transitions,
                             uint64_t trajectories);

/* Bytes that building a dataset of that size takes, at most, and 24 for each expert; UINT64_MAX:
 * too many to count. */
uint64_t dataset_bytes(uint32_t state_dim, uint64_t transitions, uint64_t trajectories);

/* Copies the trajectory. False, with nothing added: an expert or action is out of range, or no
 * memory or room; after the latter nothing is added any more and dataset_builder_finish fails. */
bool dataset_builder_add(struct dataset_builder *builder, const struct trajectory *trajectory);

/* Frees a builder that is not to be finished; takes NULL. */
void dataset_builder_free(struct dataset_builder *builder);

/* Turns the builder into a dataset, which the caller frees with dataset_free. NULL: no memory,
 * or no room on the disk. The builder is freed either way. */
struct dataset *dataset_builder_finish(struct dataset_builder *builder);

/* Frees a dataset with its columns and its expert_keys; takes NULL. */
void dataset_free(struct dataset *dataset);

/* True where TRANSITION is the first of its trajectory. A trajectory's last state has a row of its
 * own, so the rows of two trajectories never follow without a gap. */
bool dataset_starts_trajectory(const struct dataset *dataset, uint64_t transition);

/* Shows every trajectory with a step, expert by expert, as a borrowed view. EACH returns false to
 * stop; the result is then false. */
bool dataset_each_trajectory(const struct dataset *dataset,
                             bool (*each)(void *context, const struct trajectory *trajectory),
                             void *context);

#endif
