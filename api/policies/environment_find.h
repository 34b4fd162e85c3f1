/* Worlds by what requests and plans call them: the name of one that is built in or the operator's,
 * or the id of one that a client registered. */
#ifndef TACET_API_POLICIES_ENVIRONMENT_FIND_H
#define TACET_API_POLICIES_ENVIRONMENT_FIND_H

#include "api/call/call.h"
#include "envs/env.h"

/* Sets *OUT to the world that NAME, which stands at POINTER in the body, is to the caller; it lives
 * as long as the call. A registered one is known to the stewards of its project alone. */
enum problem environment_find(struct call *call, const char *pointer, const char *name,
                              const struct env **out);

/* The world NAME for a worker, whoever owns it; give it back with environment_release. DB_NONE:
 * this server has no such world. */
enum db_status environment_take(const struct app *app, struct db *db, const char *name,
                                const struct env **out);

/* Frees what environment_take gave. NULL is fine. */
void environment_release(const struct env *env);

#endif
