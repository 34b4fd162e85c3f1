/* The clocks of the process, and waiting by them. */
#ifndef TACET_SERVER_OS_CLOCK_H
#define TACET_SERVER_OS_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Milliseconds since the epoch: the clock that api/ is given. */
int64_t clock_now_ms(void);

/* Microseconds of the monotonic clock. */
int64_t clock_now_us(void);

/* A time MS milliseconds from now, for a condition of clock_condition_init. */
struct timespec clock_in_ms(int64_t ms);

/* Initialises a condition whose timed waits follow the monotonic clock. */
void clock_condition_init(pthread_cond_t *condition);

#endif
