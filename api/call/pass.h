/* Passes: a caller who was checked a moment ago, and asked a thing whose answer is a function of
 * that thing alone, may ask it again for a second without the database. Such a question draws,
 * debits and stores nothing; the database would only tell who asks and whether the thing still
 * answers. The database is asked again after that second, when the caller's token expires, and
 * after any token or client was revoked or any thing ended on this server. Another server on the
 * same database notices either within a second. A pass is good from the commit on of the batch that
 * made it: until then a failover may take back what the batch has read.
 *
 * The committer's thread makes passes, and it revokes clients and ends things. The socket's thread
 * uses passes. */
#ifndef TACET_API_CALL_PASS_H
#define TACET_API_CALL_PASS_H

#include "api/call/call.h"

struct pass {
    const struct route *route;
    struct caller caller;
    const void *thing; /* on loan: what may be asked */
    size_t body_most;  /* bytes of a question that is soon answered; others take their lane */
    void (*give_back)(const struct app *app, const void *thing);
};

/* The most multiply-adds of an answer by a pass: a millisecond, since the socket's thread serves
 * nobody else meanwhile. */
#define PASS_WORK_MAX 500000

struct passes;

/* A table without passes. passes_free takes it back. */
struct passes *passes_new(void);

/* Gives back all loans of PASSES and frees PASSES. NULL is fine. */
void passes_free(const struct app *app, struct passes *passes);

/* Keeps THING, a loan, for repeats of CALL's request with bodies of at most BODY_MOST bytes, so
 * that a repeat need not be checked or opened again. The pass owns the loan: GIVE_BACK ends it, at
 * once where no pass can be made. */
void pass_put(struct call *call, const void *thing, size_t body_most,
              void (*give_back)(const struct app *app, const void *thing));

/* The pass of REQUEST, or NULL. It is held for this thread alone until pass_return. */
const struct pass *pass_take(struct app *app, const struct api_request *request, int64_t now_ms);

/* Ends what pass_take began. */
void pass_return(struct app *app);

/* The batch that made the last passes has ended. Unless it is GOOD, all passes end. */
void pass_settle(struct app *app, bool good);

/* Ends all passes: a token or a client was revoked, or a thing has ended. */
void pass_end_all(struct app *app);

#endif
