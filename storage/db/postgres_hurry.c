#include "storage/db/postgres_hurry.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "memory/memory.h"
#include "storage/db/postgres_open.h"

#define OPEN_S 1

struct postgres_opening {
    struct db_settings settings;
    char *location, *password; /* its own: an attempt may outlive the connection */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool runs, ended, left;
    /* What came of the attempt: */
    PGconn *handle;
    struct db_fault fault;
    enum db_status status;
};

struct postgres_opening *postgres_hurry_new(const struct db_settings *settings,
                                            const char *password)
{
    struct postgres_opening *opening = memory_new(1, sizeof *opening);
    pthread_condattr_t clock;
    opening->settings = *settings;
    opening->settings.location = opening->location = memory_copy_text(settings->location);
    opening->password = password ? memory_copy_text(password) : NULL;
    pthread_mutex_init(&opening->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&opening->changed, &clock);
    pthread_condattr_destroy(&clock);
    return opening;
}

static void opening_free(struct postgres_opening *opening)
{
    if (opening->runs)
        PQfinish(opening->handle);
    if (opening->password)
        sodium_memzero(opening->password, strlen(opening->password));
    sodium_memzero(opening->location, strlen(opening->location));
    free(opening->password);
    free(opening->location);
    pthread_cond_destroy(&opening->changed);
    pthread_mutex_destroy(&opening->lock);
    free(opening);
}

static void *open_aside(void *context)
{
    struct postgres_opening *opening = context;
    opening->status =
        postgres_open(&opening->settings, opening->password, &opening->handle, &opening->fault);
    pthread_mutex_lock(&opening->lock);
    bool left = opening->left;
    opening->ended = true;
    pthread_cond_signal(&opening->changed);
    pthread_mutex_unlock(&opening->lock);
    if (left)
        opening_free(opening);
    return NULL;
}

/* Whether the attempt ends until then. */
static bool ends_until(struct postgres_opening *opening, const struct timespec *until)
{
    int wait = 0;
    pthread_mutex_lock(&opening->lock);
    while (!opening->ended && wait == 0)
        wait = pthread_cond_timedwait(&opening->changed, &opening->lock, until);
    bool ended = opening->ended;
    pthread_mutex_unlock(&opening->lock);
    return ended;
}

enum db_status postgres_hurry_open(struct postgres_opening *opening, PGconn **out,
                                   struct db_fault *fault)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    snprintf(fault->text, sizeof fault->text, "PostgreSQL does not answer");
    if (!opening->runs) {
        opening->ended = false;
        opening->runs = pthread_create(&opening->thread, NULL, open_aside, opening) == 0;
        if (!opening->runs)
            return DB_FULL;
        until.tv_sec += OPEN_S; /* only who asks first waits */
    }
    if (!ends_until(opening, &until))
        return DB_FULL;
    pthread_join(opening->thread, NULL);
    opening->runs = false;
    *out = opening->handle;
    if (opening->status != DB_OK)
        *fault = opening->fault;
    return opening->status;
}

void postgres_hurry_free(struct postgres_opening *opening)
{
    if (!opening)
        return;
    pthread_t thread = opening->thread;
    bool runs = opening->runs;
    pthread_mutex_lock(&opening->lock);
    bool left = opening->left = runs && !opening->ended;
    pthread_mutex_unlock(&opening->lock);
    if (left) {
        pthread_detach(thread); /* the server may never answer */
        return;
    }
    if (runs)
        pthread_join(thread, NULL);
    opening_free(opening);
}

void postgres_await(PGconn *handle, int patience_ms)
{
    while (PQisBusy(handle)) {
        short unsent = PQflush(handle) > 0 ? POLLOUT : 0;
        struct pollfd watched = {.fd = PQsocket(handle), .events = POLLIN | unsent};
        int found = poll(&watched, 1, patience_ms);
        if (found < 0 && errno == EINTR)
            continue;
        if (found > 0 && PQconsumeInput(handle))
            continue;
        (void)shutdown(PQsocket(handle), SHUT_RDWR);
        return;
    }
}
