/* Aggregations: shared parameters that agents improve by locally randomised reports. The service
 * never sees a gradient. */
#ifndef TACET_API_REPORTS_AGGREGATIONS_H
#define TACET_API_REPORTS_AGGREGATIONS_H

#include <jansson.h>

#include "algos/online/actor_critic.h"
#include "algos/privacy/local/local_mechanism.h"
#include "api/call/call.h"
#include "storage/aggregations.h"

/* POST /v1/aggregations, outside of the transaction: finds the mechanism's constants. */
enum problem api_aggregations_prepare(struct call *call);

/* POST /v1/aggregations: stores it. */
enum problem api_aggregations_create(struct call *call);

/* GET /v1/aggregations */
enum problem api_aggregations_list(struct call *call);

/* GET /v1/aggregations/{id} */
enum problem api_aggregations_get(struct call *call);

/* POST /v1/aggregations/{id}:close */
enum problem api_aggregations_close(struct call *call);

/* GET /v1/aggregations/{id}/parameters (aggregation_parameters.c) */
enum problem api_aggregations_parameters(struct call *call);

/* POST /v1/aggregations/{id}/submissions (submissions.c) */
enum problem api_aggregations_submit(struct call *call);

/* An aggregation with the scheme of its reports. */
struct aggregation {
    struct aggregation_row row;
    struct actor_critic net;
    struct local_scheme scheme; /* of one report */
};

/* Finds the aggregation {id} if the caller may see it: its steward, and every agent. */
enum problem aggregation_of_call(struct call *call, struct aggregation *out);

/* "open" or "closed". */
const char *aggregation_state(const struct aggregation *a);

/* Loads the present parameters into the call's arena. NULL: *out_status is the failure. */
float *aggregation_load_parameters(struct call *call, const struct aggregation *a,
                                   enum db_status *out_status);

/* The public seed of CLIENT's report of that NUMBER. It is fixed before any gradient is known. */
void aggregation_report_seed(const char *aggregation, const char *client, int64_t number,
                             unsigned char out[LOCAL_SEED_SIZE]);

/* The stored form of a scheme. Its constants, which take a search, are thus found only once. */
#define AGGREGATION_SCHEME_NUMBERS (3 + LOCAL_CONSTANTS)

#endif
