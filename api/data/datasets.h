/* Datasets: what experts' data look like, what may be spent on them, and what is in them. A
 * steward's own datasets are its alone; contributors see what they need for an upload (no counts)
 * of every dataset. */
#ifndef TACET_API_DATA_DATASETS_H
#define TACET_API_DATA_DATASETS_H

#include "api/call/call.h"
#include "storage/datasets.h"

/* POST /v1/datasets */
enum problem api_datasets_create(struct call *call);

/* GET /v1/datasets */
enum problem api_datasets_list(struct call *call);

/* GET /v1/datasets/{id} */
enum problem api_datasets_get(struct call *call);

/* DELETE /v1/datasets/{id} */
enum problem api_datasets_delete(struct call *call);

/* POST /v1/datasets/{id}:seal */
enum problem api_datasets_seal(struct call *call);

/* GET /v1/datasets/{id}/budget */
enum problem api_datasets_budget(struct call *call);

/* The dataset that {id} names, when the caller may know of it; PROBLEM_NOT_FOUND otherwise. */
enum problem dataset_of_call(struct call *call, struct dataset_row *out);

/* The dataset ID when the calling steward owns it, and it is not deleted. */
enum problem dataset_of_owner(struct call *call, const char *id, struct dataset_row *out);

#endif
