/* Results of replays as JSON, for rooms without JSON. */
#ifndef TACET_API_WIRE_REPLAY_JSON_H
#define TACET_API_WIRE_REPLAY_JSON_H

#include "api/wire/replay_file.h"

/* The object of one file on one line: NAME, its world, the tolerance (*TOLERANCE, or the world's
 * own when that is NULL) and results[file->count], those of cases with a reason unread. The
 * caller frees it. */
char *replay_json_of_file(const char *name, const struct replay_file *file,
                          const struct replay_result *results, const double *tolerance);

#endif
