/* Reads an upload: trajectories as NDJSON (one to a line) or as one JSON array, whichever the first
 * byte says, in memory bounded by the longest trajectory that the dataset declares. A faulty
 * trajectory is reported, and reading goes on after it.
 *
 * A trajectory is {"expert","states":[[...] x (T+1)],"actions":[...] x T,"rewards":[...] x
 * T,"terminated","truncated"}, members in any order, all required, no others. */
#ifndef TACET_API_DATA_JSON_STREAM_H
#define TACET_API_DATA_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/data/trajectory.h"
#include "api/data/description.h"
#include "api/json/byte_reader.h"

struct json_stream_shape {
    uint32_t state_dim, action_count;
    uint32_t max_episode_steps;
    const struct description *description; /* that states are held to, of STATE_DIM coordinates;
                                            * NULL: none. Outlives the stream */
};

/* Called for each fault. POINTER leads into the line's object, or into the whole array
 * ("/17/states/3"). Both texts live for the call only. */
struct json_stream_faults {
    void *context;
    void (*report)(void *context, uint64_t line, const char *pointer, const char *detail);
};

enum json_stream_status {
    JSON_STREAM_TRAJECTORY, /* *out holds one */
    JSON_STREAM_FAULTY,     /* one was faulty and is skipped; its faults were reported */
    JSON_STREAM_END,
    JSON_STREAM_GONE, /* the reader failed */
};

struct json_stream;

/* Makes a stream that reads bytes from READER and reports faults to FAULTS. NULL: no memory for the
 * longest trajectory. The caller frees it with json_stream_free. */
struct json_stream *json_stream_new(const struct json_stream_shape *shape,
                                    struct byte_reader reader, struct json_stream_faults faults);

/* Frees the stream. NULL is fine. */
void json_stream_free(struct json_stream *stream);

/* The next trajectory. OUT (its number of the expert is 0) and *out_expert point into the stream
 * until the next call. Numbers are the float32 nearest to the text. */
enum json_stream_status json_stream_next(struct json_stream *stream, struct trajectory *out,
                                         const char **out_expert);

#endif
