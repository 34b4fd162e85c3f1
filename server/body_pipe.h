/* A bounded buffer between the socket thread, which writes a body as it arrives, and a pool thread,
 * which reads it: the socket waits when it is full, so that an upload of any size needs 256 KiB.
 *
 * DESIGN. The writer never blocks. It keeps the bytes that do not fit and suspends ("holds") its
 * connection itself, under the lock, before the reader can see it. The reader resumes a held
 * connection when it has made room, when it reads for the first time (a body is not asked for
 * before somebody wants it), and when it is done. One writer, one reader. */
#ifndef TACET_SERVER_BODY_PIPE_H
#define TACET_SERVER_BODY_PIPE_H

#include <stdbool.h>
#include <stddef.h>

#define BODY_PIPE_BYTES ((size_t)256 * 1024)

struct body_pipe;

struct body_pipe_hooks { /* called with the pipe's lock held; must not call the pipe */
    void *context;
    void (*suspend)(void *context);
    void (*resume)(void *context);
};

/* Makes an empty pipe whose connection is not held. */
struct body_pipe *body_pipe_new(struct body_pipe_hooks hooks);

/* NULL is fine. */
void body_pipe_free(struct body_pipe *pipe);

/* ---- writer */

/* Suspends the connection until the reader wants bytes or is done. */
void body_pipe_hold(struct body_pipe *pipe);

/* Writes as many bytes as fit and returns their count; when that is less than SIZE, the connection
 * is held. When the reader is done, all bytes count as written and are dropped. */
size_t body_pipe_write(struct body_pipe *pipe, const void *bytes, size_t size);

/* Ends the body as complete. True: the reader is done; false: the connection is held until the
 * reader is done. */
bool body_pipe_end(struct body_pipe *pipe);

/* Ends the body as incomplete: the reader gets the bytes that arrived and then -1. */
void body_pipe_break(struct body_pipe *pipe);

/* True when the reader is done. */
bool body_pipe_is_done(struct body_pipe *pipe);

/* ---- reader */

/* Blocks until bytes arrive. Returns how many it read, 0 at the end, -1 when the body was
 * incomplete. */
long body_pipe_read(struct body_pipe *pipe, unsigned char *buffer, size_t size);

/* The reader wants no more bytes. A held connection is resumed. */
void body_pipe_done(struct body_pipe *pipe);

#endif
