/* Clients: who may call, made and revoked by an administrator. */
#ifndef TACET_API_BOOKS_CLIENTS_H
#define TACET_API_BOOKS_CLIENTS_H

#include "api/call/call.h"
#include "storage/client_tokens.h"

/* POST /v1/clients */
enum problem api_clients_create(struct call *call);

/* GET /v1/clients */
enum problem api_clients_list(struct call *call);

/* GET /v1/clients/{id} */
enum problem api_clients_get(struct call *call);

/* DELETE /v1/clients/{id} */
enum problem api_clients_revoke(struct call *call);

/* Finds the client {id} of CALL, where "me" is the caller. Only an administrator may name another
 * one. PROBLEM_NONE, PROBLEM_NOT_FOUND, or what the database gave. */
enum problem clients_named(struct call *call, struct client_row *out);

/* The JSON of CLIENT with its new token MADE, whose text TOKEN is null when TOKEN is NULL. */
json_t *clients_new_json(const struct client_row *client, const struct client_token *made,
                         const char *token);

#endif
