/* The clock of measurements on a shared machine. */
#ifndef TACET_BENCH_CPU_CLOCK_H
#define TACET_BENCH_CPU_CLOCK_H

#include <time.h>

/* CPU time of the whole process so far. */
static inline double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
