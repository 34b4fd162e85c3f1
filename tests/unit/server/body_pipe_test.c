/* The buffer between a socket and a reader, with a connection that is only counted: it may be
 * written to only while it is not suspended. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/body_pipe.h"

struct connection {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool suspended;
    unsigned suspensions, resumes;
};

static void suspend(void *context)
{
    struct connection *connection = context;
    pthread_mutex_lock(&connection->lock);
    cr_assert(!connection->suspended, "suspended twice");
    connection->suspended = true;
    connection->suspensions++;
    pthread_mutex_unlock(&connection->lock);
}

static void resume(void *context)
{
    struct connection *connection = context;
    pthread_mutex_lock(&connection->lock);
    cr_assert(connection->suspended, "resumed while it runs");
    connection->suspended = false;
    connection->resumes++;
    pthread_cond_signal(&connection->changed);
    pthread_mutex_unlock(&connection->lock);
}

static void wait_until_resumed(struct connection *connection)
{
    pthread_mutex_lock(&connection->lock);
    while (connection->suspended)
        pthread_cond_wait(&connection->changed, &connection->lock);
    pthread_mutex_unlock(&connection->lock);
}

static struct connection *new_connection(void)
{
    struct connection *connection = calloc(1, sizeof *connection);
    cr_assert_not_null(connection);
    pthread_mutex_init(&connection->lock, NULL);
    pthread_cond_init(&connection->changed, NULL);
    return connection;
}

static struct body_pipe *new_pipe(struct connection *connection)
{
    struct body_pipe *pipe = body_pipe_new((struct body_pipe_hooks){connection, suspend, resume});
    cr_assert_not_null(pipe);
    return pipe;
}

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 131 + (i >> 8));
}

struct reading {
    struct body_pipe *pipe;
    size_t step;   /* bytes a read asks for */
    size_t enough; /* stops after so many */
    size_t total;
    long last;
    bool same;
};

static void *read_all(void *context)
{
    struct reading *reading = context;
    unsigned char *buffer = malloc(reading->step);
    cr_assert_not_null(buffer);
    reading->same = true;
    while (reading->total < reading->enough &&
           (reading->last = body_pipe_read(reading->pipe, buffer, reading->step)) > 0) {
        for (long i = 0; i < reading->last; i++)
            reading->same &= buffer[i] == byte_at(reading->total + (size_t)i);
        reading->total += (size_t)reading->last;
    }
    free(buffer);
    body_pipe_done(reading->pipe);
    return NULL;
}

/* Sends SIZE bytes as the socket thread would; gives what was taken. */
static void write_all(struct connection *connection, struct body_pipe *pipe, size_t size)
{
    unsigned char bytes[5000];
    size_t sent = 0;
    while (sent < size) {
        size_t n = size - sent < sizeof bytes ? size - sent : sizeof bytes;
        for (size_t i = 0; i < n; i++)
            bytes[i] = byte_at(sent + i);
        for (size_t taken = 0; taken < n;) {
            wait_until_resumed(connection);
            taken += body_pipe_write(pipe, bytes + taken, n - taken);
        }
        sent += n;
    }
    wait_until_resumed(connection);
}

static void transfer(size_t size, size_t step)
{
    struct connection *connection = new_connection();
    struct body_pipe *pipe = new_pipe(connection);
    struct reading reading = {.pipe = pipe, .step = step, .enough = SIZE_MAX};
    pthread_t reader;
    body_pipe_hold(pipe);
    cr_assert_eq(pthread_create(&reader, NULL, read_all, &reading), 0);
    write_all(connection, pipe, size);
    if (!body_pipe_end(pipe))
        wait_until_resumed(connection);
    cr_expect(body_pipe_is_done(pipe));
    pthread_join(reader, NULL);
    cr_expect_eq(reading.total, size);
    cr_expect_eq(reading.last, 0);
    cr_expect(reading.same);
    cr_expect_eq(connection->suspensions, connection->resumes);
    body_pipe_free(pipe);
    free(connection);
}

Test(body_pipe, every_byte_passes_in_order)
{
    transfer(0, 100);
    transfer(1, 100);
    transfer(BODY_PIPE_BYTES, 4096);
    transfer(3000001, 1000);
    transfer(3000001, 777777);
}

Test(body_pipe, a_full_pipe_holds_the_socket)
{
    struct connection *connection = new_connection();
    struct body_pipe *pipe = new_pipe(connection);
    static unsigned char bytes[BODY_PIPE_BYTES + 10];
    cr_expect_eq(body_pipe_write(pipe, bytes, sizeof bytes), BODY_PIPE_BYTES);
    cr_expect(connection->suspended);
    cr_expect_eq(body_pipe_read(pipe, bytes, 10), 10);
    cr_expect(connection->suspended, "ten bytes of room are not worth a resume");
    cr_expect_eq(body_pipe_read(pipe, bytes, BODY_PIPE_BYTES), BODY_PIPE_BYTES - 10);
    cr_expect(!connection->suspended);
    body_pipe_free(pipe);
    free(connection);
}

Test(body_pipe, a_body_that_breaks_off_is_no_body)
{
    struct connection *connection = new_connection();
    struct body_pipe *pipe = new_pipe(connection);
    unsigned char bytes[8] = "abc";
    body_pipe_write(pipe, bytes, 3);
    body_pipe_break(pipe);
    cr_expect_eq(body_pipe_read(pipe, bytes, sizeof bytes), 3);
    cr_expect_eq(body_pipe_read(pipe, bytes, sizeof bytes), -1);
    cr_expect_eq(body_pipe_read(pipe, bytes, sizeof bytes), -1);
    body_pipe_done(pipe);
    body_pipe_free(pipe);
    free(connection);
}

Test(body_pipe, what_nobody_reads_is_swallowed)
{
    struct connection *connection = new_connection();
    struct body_pipe *pipe = new_pipe(connection);
    struct reading reading = {.pipe = pipe, .step = 100, .enough = 1000};
    pthread_t reader;
    body_pipe_hold(pipe);
    cr_assert_eq(pthread_create(&reader, NULL, read_all, &reading), 0);
    write_all(connection, pipe, 3000000);
    pthread_join(reader, NULL);
    cr_expect(body_pipe_end(pipe), "the reader is done");
    cr_expect(!connection->suspended);
    body_pipe_free(pipe);
    free(connection);
}
