/* The clocks of the process. */
#include "server/os/clock.h"

static int64_t clock_read_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_now_ms(void)
{
    return clock_read_us(CLOCK_REALTIME) / 1000;
}

int64_t clock_now_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

struct timespec clock_in_ms(int64_t ms)
{
    int64_t us = clock_now_us() + ms * 1000;
    return (struct timespec){.tv_sec = (time_t)(us / 1000000), .tv_nsec = us % 1000000 * 1000};
}

void clock_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}
