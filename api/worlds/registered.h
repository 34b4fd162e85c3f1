/* Worlds that clients register: the text of a program, which one of the operator's runners runs
 * sealed (programs/sealed.h). Such a world serves the evaluation of policies alone. */
#ifndef TACET_API_WORLDS_REGISTERED_H
#define TACET_API_WORLDS_REGISTERED_H

#include "api/worlds/world_json.h"
#include "api/worlds/worlds.h"
#include "programs/limits.h"

#define REGISTERED_SOURCE_MAX PROGRAM_SOURCE_MAX
#define REGISTERED_SAID_SIZE  1024 /* of what a program wrote to its standard error, with NUL */

struct registered_text {
    const char *id, *runner, *source;
    const char *client; /* who registers it; of registered_try alone */
};

/* Starts the program and asks it what world it is; one at a time of a client and two in the whole
 * server, otherwise WORLD_BUSY. On WORLD_OK *OUT receives the world; free it with registered_close.
 * Otherwise DETAIL is as of world_json_description. SAID receives the first lines that the program
 * wrote to its standard error: printable ASCII, for the one who wrote the program alone. */
enum world_fault registered_try(const struct worlds *worlds, const struct registered_text *text,
                                const struct env **out, char detail[160],
                                char said[REGISTERED_SAID_SIZE]);

/* The world of TEXT, as its program described itself before: DESCRIPTION is what
 * registered_describe gave. NULL: it is none. Free with registered_close. WORLDS may be NULL. */
const struct env *registered_open(const struct worlds *worlds, const struct registered_text *text,
                                  const char *description);

/* WORLD's description of itself, of registered_try; the caller frees it. */
char *registered_describe(const struct env *world);

/* Whether WORLD is one that a client registered. */
bool registered_is(const struct env *world);

/* Frees a registered WORLD, which no world_run uses any more. NULL is fine. */
void registered_close(const struct env *world);

#endif
