/* Passes: a caller who was checked a moment ago, and asked a thing whose answer is a function of
 * that thing alone, may ask it again for a second without the database. Nothing is drawn, debited
 * or stored by such a question; the database would only say who asks and whether the thing still
 * answers. It is asked again when the second is over, and by the next question after a client was
 * revoked or a thing ended here. Another server on the same database hears of that within the
 * second.
 *
 * Passes are made on the committer's thread, which also revokes and ends, and used on the socket's
 * thread. */
#ifndef TACET_API_CALL_PASS_H
#define TACET_API_CALL_PASS_H

#include "api/call/call.h"

struct pass {
    const struct route *route;
    struct caller caller;
    const void *thing; /* on loan: what may be asked */
    void (*give_back)(const struct app *app, const void *thing);
};

struct passes;

/* A table without passes. passes_free takes it back. */
struct passes *passes_new(void);

/* Gives back everything that PASSES have on loan, and frees them. NULL is fine. */
void passes_free(const struct app *app, struct passes *passes);

/* The caller of CALL, whose token and path were found good, may ask THING again. THING is a loan
 * that the pass takes over: it ends with GIVE_BACK, at once where no pass can be made. */
void pass_put(struct call *call, const void *thing,
              void (*give_back)(const struct app *app, const void *thing));

/* The pass of REQUEST, or NULL. It is held for this thread alone until pass_return. */
const struct pass *pass_take(struct app *app, const struct api_request *request, int64_t now_ms);

/* Ends what pass_take began. */
void pass_return(struct app *app);

/* Ends all passes: a client was revoked, or a thing has ended. */
void pass_end_all(struct app *app);

#endif
