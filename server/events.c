/* DESIGN. One lock for the list and all streams. The ticker asks a stream for news without the
 * lock (that reads the database), and leaves the text in the stream, which holds one at a time. The
 * socket thread takes it out. A stream that is closed meanwhile is freed by the ticker.
 *
 * A suspended connection does not notice that its client is gone. While the ticker sleeps it
 * therefore watches all sockets for their other end's going. A client that vanished without a word
 * is found by the comment that a stream sends after it was silent for a while. */
#include "server/events.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "memory/memory.h"
#include "storage/db/db.h"

#define TICK_MS          1000
#define SILENT_TICKS_MAX 15

struct event_stream {
    struct events *hub;
    struct event_stream *next;
    struct api_events source;
    struct event_hooks hooks;
    bool closed;    /* nobody will take from it any more */
    bool over;      /* the source has ended, the client is gone, or we are stopping */
    bool suspended; /* the connection waits for us */
    unsigned silent_ticks;
    char *text; /* to be sent; NULL: nothing */
    size_t sent;
};

struct events {
    pthread_mutex_t lock;
    int changed; /* an eventfd: ends the ticker's sleep */
    pthread_t thread;
    struct app *app;
    struct db *db;
    struct metrics *metrics;
    struct event_stream *streams;
    unsigned count, limit; /* count: of those that are not closed */
    bool ending, stopping;
    struct pollfd *watched; /* the ticker's: changed, then a socket for each of the streams below */
    struct event_stream **watched_stream;
};

static void wake_ticker(struct events *events)
{
    eventfd_write(events->changed, 1);
}

static void free_stream(struct event_stream *stream)
{
    if (stream->source.free)
        stream->source.free(stream->source.context);
    free(stream->text);
    free(stream);
}

/* Removes STREAM from the list. The caller has the lock. */
static void unlink_stream(struct events *events, struct event_stream *stream)
{
    struct event_stream **link = &events->streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
}

static void drop_text(struct event_stream *stream)
{
    free(stream->text);
    stream->text = NULL;
    stream->sent = 0;
}

static void resume_if_due(struct event_stream *stream)
{
    if (stream->suspended && !stream->closed && (stream->text || stream->over)) {
        stream->suspended = false;
        stream->hooks.resume(stream->hooks.connection);
    }
}

/* As the source's next, of what is there to stay. An event that a failover may take back ends the
 * stream: its client comes again, and says which event it saw last. */
static bool ask_source(struct events *events, struct event_stream *stream, char **out)
{
    bool goes_on = stream->source.next(stream->source.context, events->app, events->db, out);
    if (!*out || db_settle(events->db) == DB_OK)
        return goes_on;
    free(*out);
    *out = NULL;
    return false;
}

/* Asks one stream's source for news. The lock is held, except while the source works. */
static void tick_stream(struct events *events, struct event_stream *stream)
{
    char *text;
    if (stream->text || stream->over || stream->closed)
        return;
    pthread_mutex_unlock(&events->lock);
    bool goes_on = ask_source(events, stream, &text);
    pthread_mutex_lock(&events->lock);
    if (!goes_on)
        stream->over = true;
    else if (!text && ++stream->silent_ticks >= SILENT_TICKS_MAX)
        text = memory_copy_text(": still here\n\n");
    if (text)
        stream->silent_ticks = 0;
    stream->text = text;
    resume_if_due(stream);
}

/* Sleeps for a tick, until it is woken, or until a client has gone. Streams stay in the list
 * meanwhile: only this thread removes them. */
static void sleep_a_tick(struct events *events)
{
    unsigned count = 0;
    eventfd_t ignored;
    events->watched[0] = (struct pollfd){.fd = events->changed, .events = POLLIN};
    for (struct event_stream *s = events->streams; s; s = s->next) {
        if (s->closed || s->over || count == events->limit)
            continue;
        events->watched_stream[count++] = s;
        events->watched[count] = (struct pollfd){.fd = s->hooks.handle, .events = POLLRDHUP};
    }
    pthread_mutex_unlock(&events->lock);
    int found = poll(events->watched, count + 1, TICK_MS);
    pthread_mutex_lock(&events->lock);
    if (found > 0 && events->watched[0].revents != 0)
        eventfd_read(events->changed, &ignored);
    for (unsigned i = 0; found > 0 && i < count; i++) {
        struct event_stream *stream = events->watched_stream[i];
        if (events->watched[i + 1].revents == 0 || stream->closed)
            continue;
        stream->over = true;
        drop_text(stream);
        resume_if_due(stream);
    }
}

static void *events_run(void *context)
{
    struct events *events = context;
    pthread_mutex_lock(&events->lock);
    while (!events->stopping) {
        struct event_stream *stream = events->streams;
        while (stream) {
            tick_stream(events, stream);
            /* Only this thread unlinks a stream, so its link is still good. */
            struct event_stream *following = stream->next;
            if (stream->closed) {
                unlink_stream(events, stream);
                free_stream(stream);
            }
            stream = following;
        }
        sleep_a_tick(events);
    }
    pthread_mutex_unlock(&events->lock);
    return NULL;
}

static void free_events(struct events *events)
{
    if (events->changed >= 0)
        close(events->changed);
    pthread_mutex_destroy(&events->lock);
    free(events->watched);
    free(events->watched_stream);
    free(events);
}

struct events *events_start(struct app *app, struct db *db, struct metrics *metrics, unsigned limit)
{
    struct events *events = memory_new(1, sizeof *events);
    events->app = app;
    events->db = db;
    events->metrics = metrics;
    events->limit = limit;
    events->watched = memory_new(limit + 1, sizeof *events->watched);
    events->watched_stream = memory_new(limit, sizeof(struct event_stream *));
    pthread_mutex_init(&events->lock, NULL);
    events->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (events->changed >= 0 && pthread_create(&events->thread, NULL, events_run, events) == 0)
        return events;
    free_events(events);
    return NULL;
}

struct event_stream *events_open(struct events *events, struct api_events *source,
                                 struct event_hooks hooks)
{
    pthread_mutex_lock(&events->lock);
    if (events->count >= events->limit || events->ending) {
        pthread_mutex_unlock(&events->lock);
        return NULL;
    }
    struct event_stream *stream = memory_new(1, sizeof *stream);
    stream->hub = events;
    stream->source = *source;
    stream->hooks = hooks;
    stream->next = events->streams;
    events->streams = stream;
    events->count++;
    *source = (struct api_events){0};
    metrics_add(events->metrics, METRICS_EVENT_STREAMS, 1);
    wake_ticker(events);
    pthread_mutex_unlock(&events->lock);
    return stream;
}

long event_stream_take(struct event_stream *stream, char *buffer, size_t size)
{
    struct events *events = stream->hub;
    pthread_mutex_lock(&events->lock);
    long result = stream->over ? -1 : 0;
    if (stream->text) {
        size_t rest = strlen(stream->text + stream->sent);
        size_t n = rest < size ? rest : size;
        memcpy(buffer, stream->text + stream->sent, n);
        stream->sent += n;
        if (n == rest)
            drop_text(stream);
        result = (long)n;
    } else if (!stream->over) {
        stream->hooks.suspend(stream->hooks.connection);
        stream->suspended = true;
    }
    pthread_mutex_unlock(&events->lock);
    return result;
}

void event_stream_close(struct event_stream *stream)
{
    struct events *events = stream->hub;
    pthread_mutex_lock(&events->lock);
    assert(!stream->suspended);
    stream->closed = true;
    events->count--;
    metrics_add(events->metrics, METRICS_EVENT_STREAMS, -1);
    /* Only the ticker removes streams from the list, because it may hold a link to a neighbour. */
    wake_ticker(events);
    pthread_mutex_unlock(&events->lock);
}

void events_end_all(struct events *events)
{
    pthread_mutex_lock(&events->lock);
    events->ending = true;
    for (struct event_stream *s = events->streams; s; s = s->next) {
        s->over = true;
        resume_if_due(s);
    }
    pthread_mutex_unlock(&events->lock);
}

void events_stop(struct events *events)
{
    if (!events)
        return;
    pthread_mutex_lock(&events->lock);
    events->stopping = true;
    wake_ticker(events);
    pthread_mutex_unlock(&events->lock);
    pthread_join(events->thread, NULL);
    while (events->streams) {
        struct event_stream *stream = events->streams;
        assert(stream->closed);
        unlink_stream(events, stream);
        free_stream(stream);
    }
    free_events(events);
}
