/* Reading one trajectory of an upload; json_stream.c finds where each begins. */
#ifndef TACET_API_DATA_JSON_TRAJECTORY_H
#define TACET_API_DATA_JSON_TRAJECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/data/expert_names.h"
#include "api/data/json_stream.h"
#include "api/json/json_scan.h"

/* The trajectory in hand. */
struct json_trajectory {
    struct json_scan *scan; /* borrowed */
    struct json_stream_shape shape;
    struct json_stream_faults faults;
    bool in_array;
    uint64_t element; /* of the array, for pointers */
    uint64_t start;   /* the line where it begins */

    /* what was read */
    bool faulty;
    bool rows_faulty;  /* states that were no list of states: their number says nothing */
    bool lists_faulty; /* likewise actions or rewards */
    unsigned seen;     /* members, one bit each */
    uint32_t rows, actions_count, rewards_count;
    bool terminated, truncated;
    char expert[EXPERT_NAME_MAX + 2];
    float *states; /* owned; room for max_episode_steps + 1 */
    float *rewards;
    uint16_t *actions;
};

/* Allocates for the longest trajectory that SHAPE allows. False: no memory. */
bool json_trajectory_open(struct json_trajectory *hand, struct json_scan *scan,
                          const struct json_stream_shape *shape, struct json_stream_faults faults);

/* Gives the room back. */
void json_trajectory_close(struct json_trajectory *hand);

/* Reads the object that comes next. False when it is not JSON (the scan has the fault); else
 * HAND->faulty says whether anything was reported. */
bool json_trajectory_read(struct json_trajectory *hand);

/* Reports DETAIL about the trajectory as a whole. */
void json_trajectory_fault(struct json_trajectory *hand, const char *detail);

#endif
