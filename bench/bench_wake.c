/* How long a thread takes to wake another on a second processor that has nothing to do: as the
 * machine is, and while it is told that no processor may sleep (tacet serve --stay-awake). Where
 * the first is much the longer, a loaded service gains by the second. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "server/vigil.h"

#define WAKES  3000
#define GAP_US 100.0

struct sleeper {
    int event;
    atomic_int wakes;
    double woken_us[WAKES];
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void stay_on(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *sleeper_run(void *context)
{
    struct sleeper *sleeper = context;
    uint64_t value;
    stay_on(1);
    for (int i = 0; i < WAKES && read(sleeper->event, &value, sizeof value) == sizeof value; i++) {
        sleeper->woken_us[i] = now_us();
        atomic_store(&sleeper->wakes, i + 1);
    }
    return NULL;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const char *name)
{
    static const uint64_t one = 1;
    struct sleeper sleeper = {.event = eventfd(0, 0)};
    double latency_us[WAKES], spent_us = 0;
    pthread_t thread;
    if (sleeper.event < 0 || pthread_create(&thread, NULL, sleeper_run, &sleeper) != 0) {
        fprintf(stderr, "bench_wake: no thread or no descriptor\n");
        exit(1);
    }
    stay_on(0);
    for (int i = 0; i < WAKES; i++) {
        for (double until = now_us() + GAP_US; now_us() < until;)
            continue;
        double begun = now_us();
        if (write(sleeper.event, &one, sizeof one) != sizeof one)
            exit(1);
        spent_us += now_us() - begun;
        while (atomic_load(&sleeper.wakes) == i)
            continue;
        latency_us[i] = sleeper.woken_us[i] - begun;
    }
    pthread_join(thread, NULL);
    close(sleeper.event);
    qsort(latency_us, WAKES, sizeof latency_us[0], by_size);
    printf("%-42s %8.0f %8.0f %8.0f %10.1f\n", name, latency_us[WAKES / 2],
           latency_us[WAKES * 9 / 10], latency_us[WAKES * 99 / 100], spent_us / WAKES);
}

int main(void)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        printf("one processor: it cannot wake another\n");
        return 0;
    }
    printf("%-42s %8s %8s %8s %10s\n", "waking an idle processor, us", "p50", "p90", "p99",
           "the waker");
    measure("as the machine is");
    static const int32_t awake = 0;
    int device = open(VIGIL_DEVICE, O_WRONLY | O_CLOEXEC);
    if (device < 0 || write(device, &awake, sizeof awake) != sizeof awake)
        printf("%s cannot be written to here\n", VIGIL_DEVICE);
    else
        measure("no processor may sleep (--stay-awake)");
    if (device >= 0)
        close(device);
    return 0;
}
