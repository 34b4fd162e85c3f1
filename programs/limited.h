/* A shell within limits. Within programs/. */
#ifndef TACET_PROGRAMS_LIMITED_H
#define TACET_PROGRAMS_LIMITED_H

#include "programs/limits.h"

/* Becomes /bin/sh -c COMMAND, with 0, 1 and 2 as they are and no other descriptor, with signals as
 * in a fresh process, and within LIMITS. If a limit cannot be set, the process exits with 126. The
 * number of processes is not limited here. */
_Noreturn void limited_run(const char *command, const struct program_limits *limits);

#endif
