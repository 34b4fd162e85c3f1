/* The keeper: a process that starts other people's programs for this one.
 *
 * A process that has confined itself can start nothing that is not as confined, and a process with
 * many threads cannot fork well. So the keeper is forked first, while there is one thread, wipes
 * what is secret in its memory, and takes orders over a socket. Each program gets a warden
 * (warden.h), which ends it. When this process ends, however it ends, so do the keeper and all
 * programs. */
#ifndef TACET_PROGRAMS_KEEPER_H
#define TACET_PROGRAMS_KEEPER_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/limits.h"

#define KEEPER_COMMAND_MAX ((size_t)131071) /* bytes: what Linux takes as one argument */

struct keeper;

/* Forks the keeper; the caller is the only thread of its process. The keeper wipes its copies of
 * SECRET[size], which the caller still needs, and of the environment, because programs of the same
 * user may read its memory. NULL: no process or socket could be had. End with keeper_end.
 * NAMESPACES false: without namespaces, as on a system that has none; for tests. */
struct keeper *keeper_start(bool namespaces, void *secret, size_t size);

/* Asks for a program. ENDS are its standard input, output and error, its warden's control, and its
 * source or -1 (warden.h); they stay the caller's. Any thread may call. False: the keeper is gone,
 * or COMMAND is too long. */
bool keeper_order(const struct keeper *keeper, const char *command,
                  const struct program_limits *limits, const int ends[5]);

/* Ends the keeper and waits for it. Programs end when their wardens are told to. NULL is fine. */
void keeper_end(struct keeper *keeper);

#endif
