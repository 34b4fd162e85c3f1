/* Questions that the service itself asks a teacher on behalf of a known client. They use the
 * routes' own rows and handlers, and so the same roles, form, idempotency, transaction and ledger
 * as a request from outside. Only the token is missing. */
#ifndef TACET_API_TEACHERS_TEACHER_ASK_H
#define TACET_API_TEACHERS_TEACHER_ASK_H

#include "api/call/request.h"

struct teacher_ask {
    const char *client;  /* "cli_...", who asks and pays */
    const char *teacher; /* the id */
    const char *key;     /* of idempotency */
    const char *job;     /* the id, for which it is asked */
    const char *worker;  /* who has the job; once somebody else has it, the answer is 409 */
};

/* POST /v1/teachers/{id}/queries with BODY, a NUL-terminated JSON text. A client that is unknown or
 * revoked is refused as one with a wrong token is. Outside of any transaction. *reply is the
 * caller's to clear. */
void teacher_query(struct app *app, struct db *db, const struct teacher_ask *ask, const char *body,
                   struct api_reply *reply);

/* POST /v1/teachers/{id}/rollouts; as teacher_query. */
void teacher_begin_rollout(struct app *app, struct db *db, const struct teacher_ask *ask,
                           struct api_reply *reply);

#endif
