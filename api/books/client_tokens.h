/* The tokens of a client: made anew by the client itself or an administrator. "me" as {id} is the
 * caller. */
#ifndef TACET_API_BOOKS_CLIENT_TOKENS_H
#define TACET_API_BOOKS_CLIENT_TOKENS_H

#include "api/call/call.h"
#include "storage/client_tokens.h"

/* POST /v1/clients/{id}:rotate */
enum problem api_client_tokens_rotate(struct call *call);

/* GET /v1/clients/{id}/tokens */
enum problem api_client_tokens_list(struct call *call);

/* DELETE /v1/clients/{id}/tokens/{token} */
enum problem api_client_tokens_end(struct call *call);

/* What may be shown of TOKEN: its number (null for 0), scopes and times. */
json_t *client_token_json(const struct client_token *token);

/* PROBLEM_INSUFFICIENT_SCOPE: the caller would give a scope that its token lacks. */
enum problem client_scopes_refuse(struct call *call);

/* Reads the member "scopes" of a body, the array LIST, into *OUT, which stays as it is with LIST
 * NULL. PROBLEM_VALIDATION, or PROBLEM_INSUFFICIENT_SCOPE where *OUT then has a scope that the
 * calling token lacks. */
enum problem client_scopes_read(struct call *call, const json_t *list, uint32_t *out);

#endif
