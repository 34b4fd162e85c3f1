/* Uploading trajectories: POST /v1/datasets/{id}/trajectories, NDJSON or a JSON array, plain, gzip
 * or zstd, in constant memory, all or nothing. */
#ifndef TACET_API_DATA_TRAJECTORIES_H
#define TACET_API_DATA_TRAJECTORIES_H

#include "api/call/call.h"

/* Reads the body and stages its trajectories, chunk by chunk, each in a transaction of its own. */
enum problem api_trajectories_prepare(struct call *call);

/* Makes what was staged part of the dataset, in one transaction. */
enum problem api_trajectories_upload(struct call *call);

#endif
