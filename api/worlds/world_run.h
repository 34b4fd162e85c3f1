/* One thread's use of a world. A built-in world needs nothing; a program gets a child process, from
 * the first instance that is opened until world_run_close. */
#ifndef TACET_API_WORLDS_WORLD_RUN_H
#define TACET_API_WORLDS_WORLD_RUN_H

#include <stdbool.h>

#include "api/worlds/world_json.h"
#include "api/worlds/worlds.h"

struct world_run;

/* GO_ON (or NULL) is called about once a second while a program is used or waited for; its false
 * ends the program. WORLD outlives the run. The caller frees it with world_run_close. */
struct world_run *world_run_open(const struct env *world, bool (*go_on)(void *context),
                                 void *context);

/* Ends the program, if there is one. No instance is open any more. NULL is fine. */
void world_run_close(struct world_run *run);

/* The world to play in. It and its instances live until world_run_close. */
const struct env *world_run_env(const struct world_run *run);

/* Why the world broke: the first reason, WORLD_OK for none. */
enum world_fault world_run_fault(const struct world_run *run);

/* True when the world is a program. */
bool world_run_is_program(const struct world_run *run);

#endif
