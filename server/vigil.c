/* The thread that answers counts and begins a vigil; a thread of the vigil's own, which is asleep
 * otherwise, looks whether it goes on and ends it. */
#include "server/vigil.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/log.h"

#define AWAKE    ((int32_t)0)  /* no wake-up at all */
#define NO_WISH  ((int32_t)-1) /* the kernel's PM_QOS_DEFAULT_VALUE */
#define NS_OF_US 1000L
#define US_OF_S  1000000

struct vigil {
    int device;
    struct metrics *metrics;
    pthread_t thread;
    /* of the thread that answers */
    int64_t window_begun_us;
    unsigned answers;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held, stopping, failed;
    bool busy; /* since the thread looked */
};

/* False: the kernel did not take it; errno says why. */
static bool tell_kernel(int device, int32_t latency_us)
{
    return write(device, &latency_us, sizeof latency_us) == sizeof latency_us;
}

/* The lock is held. A failure is logged once: it changes how fast we are, not what we do. */
static bool wish(struct vigil *vigil, int32_t latency_us)
{
    if (tell_kernel(vigil->device, latency_us))
        return true;
    if (!vigil->failed)
        log_event(LOG_LEVEL_WARN, "stay-awake-failed", "why=\"%s\"", strerror(errno));
    vigil->failed = true;
    return false;
}

static void hold(struct vigil *vigil)
{
    pthread_mutex_lock(&vigil->lock);
    vigil->busy = true;
    if (!vigil->held && !vigil->stopping && wish(vigil, AWAKE)) {
        vigil->held = true;
        metrics_add(vigil->metrics, METRICS_STAYING_AWAKE, 1);
        pthread_cond_signal(&vigil->changed);
    }
    pthread_mutex_unlock(&vigil->lock);
}

static void let_sleep(struct vigil *vigil)
{
    if (!vigil->held)
        return;
    metrics_add(vigil->metrics, METRICS_STAYING_AWAKE, -1); /* who sees the wish sees the count */
    wish(vigil, NO_WISH);
    vigil->held = false;
}

static void wait_for_quiet(struct vigil *vigil)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += VIGIL_QUIET_US % US_OF_S * NS_OF_US;
    until.tv_sec += VIGIL_QUIET_US / US_OF_S + until.tv_nsec / (US_OF_S * NS_OF_US);
    until.tv_nsec %= US_OF_S * NS_OF_US;
    vigil->busy = false;
    while (!vigil->stopping &&
           pthread_cond_timedwait(&vigil->changed, &vigil->lock, &until) != ETIMEDOUT)
        continue;
    if (!vigil->busy)
        let_sleep(vigil);
}

static void *vigil_run(void *context)
{
    struct vigil *vigil = context;
    pthread_mutex_lock(&vigil->lock);
    while (!vigil->stopping)
        if (vigil->held)
            wait_for_quiet(vigil);
        else
            pthread_cond_wait(&vigil->changed, &vigil->lock);
    let_sleep(vigil);
    pthread_mutex_unlock(&vigil->lock);
    return NULL;
}

static bool start_thread(struct vigil *vigil)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&vigil->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&vigil->lock, NULL);
    if (pthread_create(&vigil->thread, NULL, vigil_run, vigil) == 0)
        return true;
    pthread_cond_destroy(&vigil->changed);
    pthread_mutex_destroy(&vigil->lock);
    return false;
}

struct vigil *vigil_start(const char *device, struct metrics *metrics, char *error,
                          size_t error_size)
{
    struct vigil *vigil = calloc(1, sizeof *vigil);
    if (!vigil) {
        snprintf(error, error_size, "memory is short");
        return NULL;
    }
    vigil->metrics = metrics;
    vigil->device = open(device, O_WRONLY | O_CLOEXEC);
    if (vigil->device < 0)
        snprintf(error, error_size, "--stay-awake needs %s: %s", device, strerror(errno));
    else if (!tell_kernel(vigil->device, NO_WISH))
        snprintf(error, error_size, "--stay-awake: %s: %s", device, strerror(errno));
    else if (!start_thread(vigil))
        snprintf(error, error_size, "memory or threads are short");
    else
        return vigil;
    if (vigil->device >= 0)
        close(vigil->device);
    free(vigil);
    return NULL;
}

void vigil_note(struct vigil *vigil, int64_t now_us)
{
    if (!vigil)
        return;
    if (now_us - vigil->window_begun_us >= VIGIL_WINDOW_US) {
        vigil->window_begun_us = now_us;
        vigil->answers = 0;
    }
    if (++vigil->answers == VIGIL_ANSWERS)
        hold(vigil);
}

void vigil_stop(struct vigil *vigil)
{
    if (!vigil)
        return;
    pthread_mutex_lock(&vigil->lock);
    vigil->stopping = true;
    pthread_cond_signal(&vigil->changed);
    pthread_mutex_unlock(&vigil->lock);
    pthread_join(vigil->thread, NULL);
    pthread_cond_destroy(&vigil->changed);
    pthread_mutex_destroy(&vigil->lock);
    close(vigil->device);
    free(vigil);
}
