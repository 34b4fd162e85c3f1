/* What a program of another may use. Within programs/, and for those that start one. */
#ifndef TACET_PROGRAMS_LIMITS_H
#define TACET_PROGRAMS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct program_limits {
    uint64_t memory_bytes; /* of address space, for each process; 0: no limit */
    uint64_t cpu_s;        /* seconds of processor time, for each process; 0: no limit */
    uint64_t file_bytes;   /* length of a file that it writes; 0: no limit */
    uint64_t processes;    /* processes and threads at once, all together; 0: no limit */
    bool network;          /* it may open sockets */
};

#endif
