/* Changes of what has revisions: If-Match with the ETag of the one that was read. */
#ifndef TACET_API_CALL_REVISION_H
#define TACET_API_CALL_REVISION_H

#include "api/call/call.h"

/* Adds REVISION to the answer as its ETag. */
void revision_show(struct call *call, int64_t revision);

/* Refuses the change of WHAT ("budget") unless If-Match names REVISION, the present one: 428
 * without the header, 412 with another revision. */
enum problem revision_check(struct call *call, const char *what, int64_t revision);

#endif
