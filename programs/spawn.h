/* A process with three pipes, fenced in as child.h says. Within programs/. */
#ifndef TACET_PROGRAMS_SPAWN_H
#define TACET_PROGRAMS_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Our ends are non-blocking and closed on exec; -1 where there is none. */
struct spawned {
    pid_t pid; /* process id of the shell, and its process group */
    int to;    /* its standard input: we write */
    int to_far;
    int from;   /* its standard output: we read */
    int errors; /* its standard error: we read */
};

/* Runs COMMAND under /bin/sh. A limit of 0 is none. False: nothing was started. */
bool spawn(const char *command, uint64_t memory_bytes, uint64_t cpu_s, struct spawned *out);

/* Closes the program's input: the program then reads its end. */
void spawned_close_input(struct spawned *process);

/* Kills the process group, closes everything, and waits for the shell so that no zombie stays. */
void spawned_kill(struct spawned *process);

#endif
