/* Reads an upload that is a table: CSV with a header, one row per step, by the member "table" of
 * the dataset's description, in memory bounded by the longest episode. A faulty row is reported
 * with its line (the header's is 1) and its column, and reading goes on after it. */
#ifndef TACET_API_DATA_TABLE_STREAM_H
#define TACET_API_DATA_TABLE_STREAM_H

#include "api/data/description.h"
#include "api/data/json_stream.h"
#include "api/data/table_values.h"

struct table_stream;

/* Makes a stream that reads bytes from READER and reports faults to FAULTS; the pointer of a fault
 * is "/COLUMN", or "" for the row as a whole. DESCRIPTION has a table and is borrowed. TALLY
 * (borrowed, may be NULL) counts what is met. The caller frees the stream with table_stream_free.
 */
struct table_stream *table_stream_new(const struct description *description,
                                      uint32_t max_episode_steps, struct byte_reader reader,
                                      struct json_stream_faults faults, struct table_tally *tally);

/* Frees the stream. NULL is fine. */
void table_stream_free(struct table_stream *stream);

/* The next trajectory, as json_stream_next gives it. JSON_STREAM_FAULTY: faults were reported;
 * their episode is skipped, but its other rows are still checked. */
enum json_stream_status table_stream_next(struct table_stream *stream, struct trajectory *out,
                                          const char **out_expert);

/* Columns of the header that mean nothing to the description, names joined by ", ", cut to SIZE - 1
 * bytes; "" before the header was read. For the owner's own eyes. */
const char *table_stream_ignored(const struct table_stream *stream);

/* Rows below the header that were read. */
uint64_t table_stream_rows(const struct table_stream *stream);

#endif
