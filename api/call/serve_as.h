/* Requests that the service makes itself, on behalf of a client that it knows: the very way of a
 * request from outside (roles, form, idempotency, transaction, ledger), but for the token. */
#ifndef TACET_API_CALL_SERVE_AS_H
#define TACET_API_CALL_SERVE_AS_H

#include "api/call/request.h"

/* As api_serve, with CLIENT ("cli_...") as the caller. A client that is unknown or revoked is
 * refused as one with a wrong token is. */
void api_serve_as(struct app *app, struct db *db, const char *client,
                  const struct api_request *request, struct api_reply *reply);

#endif
