/* A process with three pipes, fenced in as child.h says. Within programs/. */
#ifndef TACET_PROGRAMS_SPAWN_H
#define TACET_PROGRAMS_SPAWN_H

#include <stddef.h>

#include "programs/keeper.h"

/* Our ends are non-blocking and closed on exec; -1 where there is none. */
struct spawned {
    int control; /* its warden's (warden.h) */
    int to;      /* its standard input: we write */
    int to_far;
    int from;   /* its standard output: we read */
    int errors; /* its standard error: we read */
};

enum spawn_status {
    SPAWN_DONE,
    SPAWN_FAILED,  /* a process, pipe or descriptor could not be had */
    SPAWN_REFUSED, /* it was to be sealed, and the system cannot do that */
};

/* Runs COMMAND under /bin/sh. SOURCE[source_size], of at most PROGRAM_SOURCE_MAX bytes, is of one
 * that LIMITS seal, and NULL for others. Anything but SPAWN_DONE: nothing was started. */
enum spawn_status spawn(const struct keeper *keeper, const char *command, const char *source,
                        size_t source_size, const struct program_limits *limits,
                        struct spawned *out);

/* Closes the program's input: the program then reads its end. */
void spawned_close_input(struct spawned *process);

/* Has the program killed with all that descends from it, waits for that, and closes everything. */
void spawned_kill(struct spawned *process);

#endif
