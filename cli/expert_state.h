/* The progress of a run of `tacet experts`, in a small file beside its output. The same command
 * then resumes where a killed run ended.
 *
 * The file is text, one fact to a line, only ever appended to: a run that is killed while it writes
 * leaves a torn last line, which is cut off. A "done" line is written after its setting is on disk
 * and acknowledged by the server. A lock excludes a second run at the same time. */
#ifndef TACET_CLI_EXPERT_STATE_H
#define TACET_CLI_EXPERT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPERT_STATE_FILES        2 /* trajectories, policies */
#define EXPERT_STATE_DATASET_SIZE 80
#define EXPERT_STATE_ERROR_SIZE   1024

struct expert_state {
    const char *path;                        /* borrowed; NULL: nothing is kept on disk */
    int handle;                              /* -1: none */
    bool resumed;                            /* an earlier run had begun */
    uint64_t settings;                       /* finished: 0 .. settings - 1 */
    uint64_t offset[EXPERT_STATE_FILES];     /* bytes of each output file that these made */
    char dataset[EXPERT_STATE_DATASET_SIZE]; /* on the server; "" until known */
    double *returns;                         /* of the experts so far, owned */
    size_t experts, room;
    char error[EXPERT_STATE_ERROR_SIZE]; /* why the last function failed: one line */
};

enum expert_state_status {
    EXPERT_STATE_OK,
    EXPERT_STATE_OTHER_RUN, /* the file is that of other flags, or of a run that goes on now */
    EXPERT_STATE_FAILED,    /* disk, or a damaged file */
};

/* Reads the state file PATH or makes it; with PATH NULL the state is in memory only. FLAGS is one
 * line, without line feeds, that identifies the run. The caller closes STATE with
 * expert_state_close, also after a failure. */
enum expert_state_status expert_state_open(struct expert_state *state, const char *path,
                                           const char *flags);

/* Stores the id of the dataset to which the run uploads. */
bool expert_state_dataset(struct expert_state *state, const char *id);

/* Stores that one more setting is finished, with the present sizes of the output files and the
 * returns of the setting's EXPERTS (at least 1). */
bool expert_state_add(struct expert_state *state, const uint64_t offset[EXPERT_STATE_FILES],
                      const double *returns, size_t experts);

/* Removes the file, because the run is complete. */
void expert_state_finish(struct expert_state *state);

/* Closes the file, which stays. */
void expert_state_close(struct expert_state *state);

#endif
