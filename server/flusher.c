/* Replies wait here for the disk.
 *
 * DESIGN. Batches arrive in the order of their commits and leave in it: whatever is here when the
 * disk is free shares one sync. A batch that only read may have seen one that is not on disk yet,
 * so it waits its turn as well; it needs no sync of its own. If a sync fails, what is durable is
 * unknown, and the process stops without another reply. */
#include "server/flusher.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/log.h"

struct flusher {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct exchange *oldest, *newest;
    unsigned count;
    bool wrote, stopping;
    struct db_flusher *disk;
    struct lane *lane;
    pthread_t thread;
};

/* Everything that is here; NULL when there will be no more. */
static struct exchange *take(struct flusher *flusher, unsigned *out_count, bool *out_wrote)
{
    pthread_mutex_lock(&flusher->lock);
    while (flusher->oldest == NULL && !flusher->stopping)
        pthread_cond_wait(&flusher->arrived, &flusher->lock);
    struct exchange *list = flusher->oldest;
    *out_count = flusher->count;
    *out_wrote = flusher->wrote;
    flusher->oldest = flusher->newest = NULL;
    flusher->count = 0;
    flusher->wrote = false;
    pthread_mutex_unlock(&flusher->lock);
    return list;
}

static void *flusher_run(void *context)
{
    struct flusher *flusher = context;
    unsigned count = 0;
    bool wrote = false;
    struct exchange *list;
    while ((list = take(flusher, &count, &wrote)) != NULL) {
        if (wrote && !db_flush(flusher->disk)) {
            log_event(LOG_LEVEL_ERROR, "database-broken",
                      "note=\"the log may or may not be on disk; stopping without answering\"");
            _exit(1);
        }
        lane_release(flusher->lane, count);
        while (list != NULL) {
            struct exchange *rest = list->next;
            exchange_finish(list);
            list = rest;
        }
    }
    return NULL;
}

struct flusher *flusher_start(struct db_flusher *disk, struct lane *lane)
{
    struct flusher *flusher = malloc(sizeof *flusher);
    if (flusher == NULL)
        return NULL;
    *flusher = (struct flusher){.disk = disk, .lane = lane};
    pthread_mutex_init(&flusher->lock, NULL);
    pthread_cond_init(&flusher->arrived, NULL);
    if (pthread_create(&flusher->thread, NULL, flusher_run, flusher) != 0) {
        pthread_cond_destroy(&flusher->arrived);
        pthread_mutex_destroy(&flusher->lock);
        free(flusher);
        return NULL;
    }
    return flusher;
}

void flusher_push(struct flusher *flusher, struct exchange *list, unsigned count, bool wrote)
{
    struct exchange *last = list;
    while (last->next != NULL)
        last = last->next;
    pthread_mutex_lock(&flusher->lock);
    if (flusher->newest != NULL)
        flusher->newest->next = list;
    else
        flusher->oldest = list;
    flusher->newest = last;
    flusher->count += count;
    flusher->wrote = flusher->wrote || wrote;
    pthread_cond_signal(&flusher->arrived);
    pthread_mutex_unlock(&flusher->lock);
}

void flusher_stop(struct flusher *flusher)
{
    if (flusher == NULL)
        return;
    pthread_mutex_lock(&flusher->lock);
    flusher->stopping = true;
    pthread_cond_signal(&flusher->arrived);
    pthread_mutex_unlock(&flusher->lock);
    pthread_join(flusher->thread, NULL);
    pthread_cond_destroy(&flusher->arrived);
    pthread_mutex_destroy(&flusher->lock);
    db_flusher_free(flusher->disk);
    free(flusher);
}
