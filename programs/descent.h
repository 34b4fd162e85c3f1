/* Who descends from this process, as /proc tells it. Within programs/. */
#ifndef TACET_PROGRAMS_DESCENT_H
#define TACET_PROGRAMS_DESCENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Processes of a system that are looked at at once; what is missed is found later. */
#define DESCENT_MAX 32768

struct descent_process {
    pid_t pid, parent;
    uint32_t threads;
    uint64_t memory_bytes;
    bool dead; /* its first thread is */
    bool ours;
};

struct descent {
    size_t count;          /* descendants, those included that are dead but not yet waited for */
    uint64_t threads;      /* of all descendants together */
    uint64_t memory_bytes; /* that all have in memory; what several share counts for each */
    pid_t *pid;            /* [count] */
    struct descent_process *all;
};

/* Allocates the tables, which live as long as the process. */
void descent_open(struct descent *descent);

/* Finds all descendants that there are now. */
void descent_find(struct descent *descent);

#endif
