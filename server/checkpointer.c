/* IDLE -> WANTED (the log is long) -> CAUGHT_UP (the thread is done) -> IDLE (the writer's turn).
 */
#include "server/checkpointer.h"

#include <pthread.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "server/database.h"
#include "storage/db/db_log.h"

#define LONG_LOG  4000 /* blocks: 16 MB */
#define SHORT_LOG 200  /* blocks: a millisecond or two of the writer's time */
#define PASSES    6

enum state { IDLE, WANTED, CAUGHT_UP, STOPPING };

struct checkpointer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum state state;
    struct db *db;
    pthread_t thread;
};

static void catch_up(struct db *db)
{
    size_t left = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        enum db_status status = db_checkpoint(db, &left);
        database_stop_if_broken(db);
        if (status != DB_OK || left <= SHORT_LOG)
            return;
    }
}

static void *checkpointer_run(void *context)
{
    struct checkpointer *checkpointer = context;
    pthread_mutex_lock(&checkpointer->lock);
    while (checkpointer->state != STOPPING) {
        if (checkpointer->state != WANTED) {
            pthread_cond_wait(&checkpointer->changed, &checkpointer->lock);
            continue;
        }
        pthread_mutex_unlock(&checkpointer->lock);
        catch_up(checkpointer->db);
        pthread_mutex_lock(&checkpointer->lock);
        if (checkpointer->state == WANTED)
            checkpointer->state = CAUGHT_UP;
    }
    pthread_mutex_unlock(&checkpointer->lock);
    return NULL;
}

struct checkpointer *checkpointer_start(struct db *db)
{
    struct checkpointer *checkpointer = memory_new(1, sizeof *checkpointer);
    *checkpointer = (struct checkpointer){.state = IDLE, .db = db};
    pthread_mutex_init(&checkpointer->lock, NULL);
    pthread_cond_init(&checkpointer->changed, NULL);
    if (pthread_create(&checkpointer->thread, NULL, checkpointer_run, checkpointer) != 0) {
        pthread_cond_destroy(&checkpointer->changed);
        pthread_mutex_destroy(&checkpointer->lock);
        free(checkpointer);
        return NULL;
    }
    return checkpointer;
}

bool checkpointer_tend(struct checkpointer *checkpointer, size_t blocks)
{
    if (blocks < LONG_LOG)
        return false;
    pthread_mutex_lock(&checkpointer->lock);
    bool mine = checkpointer->state == CAUGHT_UP;
    if (mine) {
        checkpointer->state = IDLE;
    } else if (checkpointer->state == IDLE) {
        checkpointer->state = WANTED;
        pthread_cond_signal(&checkpointer->changed);
    }
    pthread_mutex_unlock(&checkpointer->lock);
    return mine;
}

void checkpointer_stop(struct checkpointer *checkpointer)
{
    if (!checkpointer)
        return;
    pthread_mutex_lock(&checkpointer->lock);
    checkpointer->state = STOPPING;
    pthread_cond_signal(&checkpointer->changed);
    pthread_mutex_unlock(&checkpointer->lock);
    pthread_join(checkpointer->thread, NULL);
    pthread_cond_destroy(&checkpointer->changed);
    pthread_mutex_destroy(&checkpointer->lock);
    free(checkpointer);
}
