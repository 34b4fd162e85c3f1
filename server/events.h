/* Event streams: one thread asks each open stream once a second what is due, and lets the socket
 * thread send it. A stream without news costs one suspended connection and no thread. */
#ifndef TACET_SERVER_EVENTS_H
#define TACET_SERVER_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "server/metrics.h"

struct events;
struct event_stream;

/* Starts the thread, with DB for itself. At most LIMIT streams. NULL: no thread can be started. */
struct events *events_start(struct app *app, struct db *db, struct metrics *metrics,
                            unsigned limit);

struct event_hooks { /* called with the hub's lock held */
    void *connection;
    int handle; /* its socket: watched for the other end's going */
    void (*suspend)(void *connection);
    void (*resume)(void *connection);
};

/* Takes SOURCE on success (source->next becomes NULL). NULL: too many streams, or stopping. */
struct event_stream *events_open(struct events *events, struct api_events *source,
                                 struct event_hooks hooks);

/* Gives the socket thread the next bytes. Returns their count; 0: none now, the connection was
 * suspended and will be resumed; -1: the stream is over. */
long event_stream_take(struct event_stream *stream, char *buffer, size_t size);

/* Tells that the connection is closed or the whole stream was sent. The hub frees the stream. */
void event_stream_close(struct event_stream *stream);

/* Lets all streams end after they have sent the bytes they hold. New streams are refused. */
void events_end_all(struct events *events);

/* Ends the thread and frees; all streams were closed before. NULL is fine. */
void events_stop(struct events *events);

#endif
