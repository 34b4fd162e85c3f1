/* The warden of one program: starts it within its limits, and ends all that came of it. Within
 * programs/.
 *
 * The control is a socket. One byte comes when the program has started. When its
 * other end is shut or closed, the warden kills every process that descends from the program,
 * whatever group, session or parent it has by now, and exits: then the control ends here too. */
#ifndef TACET_PROGRAMS_WARDEN_H
#define TACET_PROGRAMS_WARDEN_H

#include <stdbool.h>

#include "programs/limits.h"

/* Whether this system lets a process without privileges make namespaces of its own. */
bool warden_has_namespaces(void);

#define WARDEN_ENDS 5 /* descriptors of an order, with the source of a program that is sealed */

/* The bytes that a warden says. */
#define WARDEN_STARTED 's'
#define WARDEN_REFUSED 'r' /* the system cannot seal the program, so nothing was started */

/* The life of a warden, in a process of its own: runs COMMAND under /bin/sh with ENDS as standard
 * input, output and error, and listens to the control, ENDS[3]. With NAMESPACES the program has its
 * own numbers of processes, network and shared memory. A program that is sealed must have them, and
 * ENDS[4] is its source; of others ENDS[4] is -1. */
_Noreturn void warden_run(const char *command, const struct program_limits *limits,
                          const int ends[WARDEN_ENDS], bool namespaces);

#endif
