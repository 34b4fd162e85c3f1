/* Passes: who has just asked a released Q-function, with which token, may ask it again for a second
 * without the database. An answer is a function of the release alone, nothing is drawn, debited or
 * stored; what the database has to say is only who asks and whether the release still answers. It
 * is asked again when the second is over, and by the very next question after a client was revoked
 * or a release ended here; another server on the same database hears of that within the second.
 *
 * Passes are made on the committer's thread, which also revokes and ends, and used on the socket's.
 */
#ifndef TACET_API_RELEASES_Q_PASS_H
#define TACET_API_RELEASES_Q_PASS_H

#include "algos/release/q_release.h"
#include "api/call/call.h"

struct q_pass {
    const struct route *route;
    struct caller caller;
    const struct q_release *release;
};

struct q_passes;
struct q_passes *q_passes_new(void); /* NULL: no memory */
/* Gives back what passes have borrowed of the shelf of APP, which is still there. Takes NULL. */
void q_passes_free(const struct app *app, struct q_passes *passes);

/* The caller of CALL, whose token and path were found good, may ask its release again. Does nothing
 * when that cannot be. */
void q_pass_put(struct call *call, const char *release_id);

/* The pass of REQUEST, or NULL; it is nobody else's until q_pass_return. */
const struct q_pass *q_pass_take(struct app *app, const struct api_request *request,
                                 int64_t now_ms);
void q_pass_return(struct app *app);

/* Ends all passes: a client was revoked, or a release has ended. */
void q_pass_end_all(struct app *app);

#endif
