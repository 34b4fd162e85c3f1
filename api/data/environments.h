/* Worlds: those that the server has, and those that clients register. */
#ifndef TACET_API_DATA_ENVIRONMENTS_H
#define TACET_API_DATA_ENVIRONMENTS_H

#include <jansson.h>

#include "api/call/call.h"
#include "storage/environments.h"

/* GET /v1/environments: all that the caller may name. */
enum problem api_environments_list(struct call *call);

/* Reads the request for a new world and tries its program. */
enum problem api_environments_prepare(struct call *call);

/* POST /v1/environments */
enum problem api_environments_create(struct call *call);

/* DELETE /v1/environments/{id} */
enum problem api_environments_delete(struct call *call);

/* The registered world ROW as JSON, with the member "refused" where its stored description cannot
 * be read. New reference, or NULL: the database failed. */
json_t *environment_row_json(struct call *call, const struct environment_row *row);

#endif
