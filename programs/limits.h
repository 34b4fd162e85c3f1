/* What a program of another may use. Within programs/, and for those that start one. */
#ifndef TACET_PROGRAMS_LIMITS_H
#define TACET_PROGRAMS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_SOURCE_MAX ((size_t)256 * 1024) /* bytes of a program that is sealed */

struct program_limits {
    uint64_t memory_bytes; /* of address space, for each process; 0: no limit */
    uint64_t cpu_s;        /* seconds of processor time, for each process; 0: no limit */
    uint64_t file_bytes;   /* length of a file that it writes; 0: no limit */
    uint64_t processes;    /* processes and threads at once, all together; 0: no limit */
    bool network;          /* it may open sockets */
    bool sealed; /* it is a stranger's: sealed.h. Then memory_bytes is also a limit of what
                  * all its processes have in memory together, and NETWORK is false */
};

#endif
