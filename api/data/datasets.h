/* Datasets: the form of experts' data, their privacy budget, and their contents. Only its steward
 * sees all of a dataset; contributors see of every dataset what an upload needs (no counts). */
#ifndef TACET_API_DATA_DATASETS_H
#define TACET_API_DATA_DATASETS_H

#include "api/call/call.h"
#include "api/data/description.h"
#include "storage/datasets.h"

/* POST /v1/datasets (dataset_create.c) */
enum problem api_datasets_create(struct call *call);

/* GET /v1/datasets */
enum problem api_datasets_list(struct call *call);

/* GET /v1/datasets/{id} */
enum problem api_datasets_get(struct call *call);

/* PATCH /v1/datasets/{id}: changes for how many days an expert's data are kept. Who may do that may
 * also erase each of the experts. */
enum problem api_datasets_change(struct call *call);

/* The member "retention_days" of requests; OUT is an int64_t *. */
#define DATASET_RETENTION_FIELD(out)                                                               \
    field_optional(field_integer("retention_days", (out), 1, 36500))

/* DELETE /v1/datasets/{id} */
enum problem api_datasets_delete(struct call *call);

/* POST /v1/datasets/{id}:seal */
enum problem api_datasets_seal(struct call *call);

/* POST /v1/datasets/{id}:compose: opens an account that adds Renyi divergences with all that is
 * left of one that adds epsilons. */
enum problem api_datasets_compose(struct call *call);

/* PUT /v1/datasets/{id}/experts/{expert}/policy (experts.c): an expert's network, new or in place
 * of another. */
enum problem api_experts_put_policy(struct call *call);

/* POST /v1/datasets/{id}/trajectories (trajectories.c), NDJSON or a JSON array, plain, gzip or
 * zstd, in constant memory, all or nothing: reads the body and stages its trajectories, chunk by
 * chunk, each in a transaction of its own. */
enum problem api_trajectories_prepare(struct call *call);

/* Makes the staged trajectories part of the dataset, in one transaction. */
enum problem api_trajectories_upload(struct call *call);

/* DELETE .../experts/{expert} (expert_erase.c): makes all that was uploaded of it unreadable,
 * wherever copies are. */
enum problem api_experts_erase(struct call *call);

/* "private", "public". */
extern const char *const dataset_sensitivities[];

/* ROW as callers see it, but for its description; WITH_COUNTS: its owner does. New reference. */
json_t *dataset_json(const struct dataset_row *row, bool with_counts);

/* Adds the member "description" (NULL: null) to JSON of a dataset. */
void dataset_json_describe(json_t *json, const struct description *description);

/* Sets *OUT to the description of dataset ID, which the call frees at its end; NULL: it has none.
 * PROBLEM_NONE, or the database failed. */
enum problem dataset_describe(struct call *call, const char *id, struct description **out);

/* Sets *OUT to what of COUNT states, which stand at "/states", lies outside of what the description
 * of dataset ID declares: at most 100 of {"pointer", "detail"}; what was learned from it has never
 * seen the like. None without a description. New reference, NULL unless PROBLEM_NONE. */
enum problem dataset_states_warnings(struct call *call, const char *id, float *states,
                                     uint32_t count, json_t **out);

/* Whether FEATURE of STATE[dim] of DESCRIPTION lies outside of what is declared, clipped or not.
 * Then WARNINGS gets {"pointer": POINTER and the coordinate, "detail"}, unless it has 100. STATE
 * may be moved by the rounding of a text. */
bool dataset_feature_warns(const struct description *description, unsigned feature, float *state,
                           const char *pointer, json_t *warnings);

/* Checks that what was learned from dataset HERE can be used on dataset THERE, which stands at
 * POINTER of the body: the numbers of a state and the actions mean the same in both, as far as they
 * are described. A dataset that is not described fits one that is only where both name the same
 * world, and one that is not described either unless they name two worlds. PROBLEM_NONE, or a fault
 * at POINTER with the first difference (dataset_same.c). */
enum problem dataset_same_meaning(struct call *call, const char *pointer,
                                  const struct dataset_row *there, const struct dataset_row *here);

/* Whether the budget of DATASET covers all that was revealed of it: a boolean, or null where
 * nothing is private (DATASET public, or NULL). New reference. */
json_t *dataset_covered_json(const struct dataset_row *dataset);

/* Who an expert of DATASET (NULL: none) is, in its owner's words, as certificates repeat it; null
 * where it was not described. New reference. */
json_t *dataset_means_json(const struct dataset_row *dataset);

/* Sets *OUT to what certificates say of the states and actions of dataset ID ("": none): the
 * members row, features, outside and actions of its description, as they were declared. JSON null
 * where it was not described. New reference; NULL unless DB_OK. */
enum db_status dataset_certified_description(struct db *db, const char *id, json_t **out);

/* The sentence about a dataset that is not covered. */
extern const char dataset_uncovered_note[];

/* Finds the dataset {id} if the caller may see it; PROBLEM_NOT_FOUND otherwise. */
enum problem dataset_of_call(struct call *call, struct dataset_row *out);

/* Refuses SIZE further bytes of the caller's where they would not fit in what one client may
 * store. */
enum problem dataset_check_disk(struct call *call, size_t size);

/* Wipes, when the call ends, the networks in memory of the teachers over what was learned from
 * DATASET and is not released. */
void dataset_silence(struct call *call, const char *dataset);

/* The problem that VERDICT, which is not DATASET_OK, means for the caller. SEALED is the sentence
 * for a sealed dataset. */
enum problem dataset_refused(struct call *call, enum dataset_verdict verdict, const char *sealed);

/* Finds dataset ID if the calling steward owns it and it is not deleted. */
enum problem dataset_of_owner(struct call *call, const char *id, struct dataset_row *out);

#endif
