/* Callers who show a token of an outside issuer (identity.h). The first call of a subject makes a
 * client for it, whose id is a keyed hash of issuer and subject: it is always the same one, and
 * nobody can compute it. */
#ifndef TACET_API_CALL_OUTSIDER_H
#define TACET_API_CALL_OUTSIDER_H

#include "api/call/call.h"

/* Checks TOKEN, a JWT, and fills call->caller; call->newcomer where it has no client yet. Refuses a
 * role that is not that of its client, and a client that was revoked. Needs the setting identity.
 * Only reads the database. */
enum problem outsider_check(struct call *call, const char *token);

/* Makes the client of call->newcomer, on a connection that may write. */
enum problem outsider_enroll(struct call *call);

#endif
