/* Flat arrays, as D4RL has them: all steps one after another, with marks where an episode ends. The
 * arrays come from NPZ or HDF5, row by row. */
#ifndef TACET_CLI_IMPORT_FLAT_STEPS_H
#define TACET_CLI_IMPORT_FLAT_STEPS_H

#include "api/data/expert_names.h"
#include "cli/import/step_episode.h"

enum flat_array {
    FLAT_OBSERVATIONS,
    FLAT_ACTIONS,
    FLAT_REWARDS,
    FLAT_TERMINALS, /* one of it and the next must be there */
    FLAT_TERMINATIONS,
    FLAT_TIMEOUTS, /* this and the next three mark ends, too; one must be there */
    FLAT_TRUNCATIONS,
    FLAT_EPISODE_ENDS,
    FLAT_ENDS_BY,           /* what request.ends_by names, unless that is "terminals" */
    FLAT_NEXT_OBSERVATIONS, /* it and the next may be missing */
    FLAT_EXPERTS,           /* of the name that is asked for */
    FLAT_ARRAY_COUNT,
};

/* The name of WHICH in a file. NULL: it has none. */
const char *flat_name(const struct import_request *request, enum flat_array which);

/* The arrays of a file that is open. */
struct flat_arrays {
    void *context;
    struct {
        bool there;
        bool is_text; /* FLAT_EXPERTS: names, not numbers */
        uint64_t rows;
        uint32_t width; /* numbers in a row */
    } of[FLAT_ARRAY_COUNT];
    /* Reads the next row of WHICH into OUT[width]. False: the context has noted why not. */
    bool (*next)(void *context, enum flat_array which, double *out);
    /* Reads the next row of FLAT_EXPERTS, of which IS_TEXT is true. */
    bool (*next_name)(void *context, char out[EXPERT_NAME_MAX + 2]);
};

struct flat_steps;

/* Begins to read ARRAYS, which are copied, as the request of SOURCE (borrowed) says. NULL: the
 * source's error says what is wrong with their shapes or the request. The caller frees the steps
 * with flat_steps_free. */
struct flat_steps *flat_steps_new(struct import_source *source, const struct flat_arrays *arrays);

/* Frees the steps. NULL is fine. */
void flat_steps_free(struct flat_steps *steps);

/* The next trajectory, as json_stream_next gives it. */
enum json_stream_status flat_steps_next(struct flat_steps *steps, struct trajectory *out,
                                        const char **out_expert);

#endif
