/* A ring with one lock and one condition; see body_pipe.h for its design. */
#include "server/body_pipe.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "memory/wipe.h"

struct body_pipe {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct body_pipe_hooks hooks;
    size_t head; /* of the oldest byte */
    size_t used;
    bool held;   /* the connection is suspended and waits for us */
    bool ended;  /* no more will be written */
    bool broken; /* and the body is not complete */
    bool done;   /* no more will be read */
    unsigned char bytes[BODY_PIPE_BYTES];
};

struct body_pipe *body_pipe_new(struct body_pipe_hooks hooks)
{
    struct body_pipe *pipe = memory_bytes(sizeof *pipe);
    pthread_mutex_init(&pipe->lock, NULL);
    pthread_cond_init(&pipe->arrived, NULL);
    pipe->hooks = hooks;
    pipe->head = pipe->used = 0;
    pipe->held = pipe->ended = pipe->broken = pipe->done = false;
    return pipe;
}

void body_pipe_free(struct body_pipe *pipe)
{
    if (!pipe)
        return;
    pthread_cond_destroy(&pipe->arrived);
    pthread_mutex_destroy(&pipe->lock);
    wipe_free(pipe);
    wipe_stack();
}

/* Suspends the connection. The caller has the lock. */
static void pipe_hold(struct body_pipe *pipe)
{
    assert(!pipe->held);
    pipe->hooks.suspend(pipe->hooks.context);
    pipe->held = true;
}

static void pipe_let_go(struct body_pipe *pipe)
{
    if (!pipe->held)
        return;
    pipe->held = false;
    pipe->hooks.resume(pipe->hooks.context);
}

void body_pipe_hold(struct body_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    pipe_hold(pipe);
    pthread_mutex_unlock(&pipe->lock);
}

size_t body_pipe_write(struct body_pipe *pipe, const void *bytes, size_t size)
{
    pthread_mutex_lock(&pipe->lock);
    assert(!pipe->ended);
    size_t room = BODY_PIPE_BYTES - pipe->used;
    size_t taken = size < room ? size : room;
    if (pipe->done) {
        pthread_mutex_unlock(&pipe->lock);
        return size;
    }
    size_t tail = (pipe->head + pipe->used) % BODY_PIPE_BYTES;
    size_t first = taken < BODY_PIPE_BYTES - tail ? taken : BODY_PIPE_BYTES - tail;
    memcpy(pipe->bytes + tail, bytes, first);
    memcpy(pipe->bytes, (const unsigned char *)bytes + first, taken - first);
    pipe->used += taken;
    if (taken < size)
        pipe_hold(pipe);
    pthread_cond_signal(&pipe->arrived);
    pthread_mutex_unlock(&pipe->lock);
    return taken;
}

bool body_pipe_end(struct body_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    pipe->ended = true;
    bool done = pipe->done;
    if (!done)
        pipe_hold(pipe);
    pthread_cond_signal(&pipe->arrived);
    pthread_mutex_unlock(&pipe->lock);
    return done;
}

void body_pipe_break(struct body_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    pipe->ended = true;
    pipe->broken = true;
    pthread_cond_signal(&pipe->arrived);
    pthread_mutex_unlock(&pipe->lock);
}

bool body_pipe_is_done(struct body_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    bool done = pipe->done;
    pthread_mutex_unlock(&pipe->lock);
    return done;
}

long body_pipe_read(struct body_pipe *pipe, unsigned char *buffer, size_t size)
{
    pthread_mutex_lock(&pipe->lock);
    while (pipe->used == 0 && !pipe->ended) {
        pipe_let_go(pipe);
        pthread_cond_wait(&pipe->arrived, &pipe->lock);
    }
    size_t taken = size < pipe->used ? size : pipe->used;
    size_t first = taken < BODY_PIPE_BYTES - pipe->head ? taken : BODY_PIPE_BYTES - pipe->head;
    memcpy(buffer, pipe->bytes + pipe->head, first);
    memcpy(buffer + first, pipe->bytes, taken - first);
    pipe->head = (pipe->head + taken) % BODY_PIPE_BYTES;
    pipe->used -= taken;
    bool broken = pipe->broken;
    /* Resume the connection when the pipe is half empty. After the end it stays held until the
     * reply is ready. */
    if (!pipe->ended && pipe->used <= BODY_PIPE_BYTES / 2)
        pipe_let_go(pipe);
    pthread_mutex_unlock(&pipe->lock);
    return taken == 0 && broken ? -1 : (long)taken;
}

void body_pipe_done(struct body_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    pipe->done = true;
    pipe_let_go(pipe);
    pthread_mutex_unlock(&pipe->lock);
}
