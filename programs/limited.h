/* A shell within limits. Within programs/. */
#ifndef TACET_PROGRAMS_LIMITED_H
#define TACET_PROGRAMS_LIMITED_H

#include "programs/limits.h"

/* Makes this process the first to go when the machine's memory ends, if /proc is there. */
void limited_volunteer(void);

/* Becomes /bin/sh -c COMMAND, with 0, 1 and 2 as they are and no other descriptor, with signals as
 * in a fresh process, and within LIMITS. If a limit cannot be set, the process exits with 126. The
 * number of processes is limited here only for one that was sealed before. */
_Noreturn void limited_run(const char *command, const struct program_limits *limits);

#endif
