/* Who is asking. A token is "tct_<id>_<secret>": the id finds the client, the secret is 256 random
 * bits of which only a hash is stored. */
#ifndef TACET_API_CALL_AUTH_H
#define TACET_API_CALL_AUTH_H

#include <stddef.h>

#include "api/call/call.h"
#include "storage/db/id.h"

#define TOKEN_SIZE        160
#define TOKEN_SECRET_HASH 32

/* A new token for the client CLIENT_ID ("cli_..."): writes the text that is shown once and the hash
 * that is stored. */
void auth_token_new(const char *client_id, char token[TOKEN_SIZE],
                    unsigned char hash[TOKEN_SECRET_HASH]);

/* Reads the Authorization header, or else the TLS client certificate, fills call->caller and checks
 * that the route admits its role and the token's scopes. PROBLEM_NONE, PROBLEM_UNAUTHORIZED (with
 * WWW-Authenticate), PROBLEM_FORBIDDEN, PROBLEM_INSUFFICIENT_SCOPE, or what the database gave. */
enum problem auth_check(struct call *call);

/* Copies the id of the client that the Authorization HEADER (or NULL) claims to be, which is not
 * checked. False: it has no token of ours. */
bool auth_claims(const char *header, char id[ID_SIZE]);

/* Refuses with 401. WHY is a sentence about the token; NULL: there was none. */
enum problem auth_refuse(struct call *call, const char *why);

/* True when CALLER's role and scopes include ROUTE. */
bool auth_may(const struct caller *caller, const struct route *route);

/* As auth_check, but without a token: the service itself vouches for CLIENT. */
enum problem auth_known(struct call *call, const char *client);

#endif
