/* One connection at a time and one answer on each. A client has five seconds for its request, and
 * five for taking each piece of the answer. */
#include "server/metrics_door.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/api.h"
#include "memory/memory.h"
#include "server/os/clock.h"

#define PATIENCE_MS  5000
#define HEAD_BYTES   8192
#define READY        "/healthz/ready"
#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_door {
    struct app *app;
    struct db *db;
    int listening, stop;
    pthread_t thread;
};

/* Waits until HANDLE is ready for EVENTS. False: the time is up, or the server stops. */
static bool door_wait(const struct metrics_door *door, int handle, short events, int64_t until_ms)
{
    struct pollfd watched[] = {{.fd = handle, .events = events},
                               {.fd = door->stop, .events = POLLIN}};
    int64_t left_ms = until_ms - clock_now_us() / 1000;
    return left_ms > 0 && poll(watched, 2, (int)left_ms) > 0 && watched[1].revents == 0;
}

/* Reads the head of the request. False: it did not come whole. */
static bool door_read(const struct metrics_door *door, int handle, char head[HEAD_BYTES])
{
    int64_t until_ms = clock_now_us() / 1000 + PATIENCE_MS;
    size_t used = 0;
    head[0] = '\0';
    while (!strstr(head, "\r\n\r\n")) {
        if (used == HEAD_BYTES - 1 || !door_wait(door, handle, POLLIN, until_ms))
            return false;
        ssize_t n = recv(handle, head + used, HEAD_BYTES - 1 - used, MSG_DONTWAIT);
        if (n <= 0)
            return false;
        used += (size_t)n;
        head[used] = '\0';
    }
    return true;
}

static bool door_write(const struct metrics_door *door, int handle, const char *bytes, size_t size)
{
    while (size > 0) {
        if (!door_wait(door, handle, POLLOUT, clock_now_us() / 1000 + PATIENCE_MS))
            return false;
        ssize_t n = send(handle, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static void door_answer(const struct metrics_door *door, int handle, const char *status,
                        const char *type, const char *body, size_t size)
{
    char head[256];
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                     "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
                     status, type, size);
    if (door_write(door, handle, head, (size_t)n))
        door_write(door, handle, body, size);
    shutdown(handle, SHUT_WR);
}

static bool door_is_asked(const char *head, const char *path)
{
    size_t size = strlen(path);
    return strncmp(head, "GET ", 4) == 0 && strncmp(head + 4, path, size) == 0 &&
           (head[4 + size] == ' ' || head[4 + size] == '?');
}

static const char *no_header(void *context, const char *name)
{
    (void)context;
    (void)name;
    return NULL;
}

/* Answers as the service's own address does. */
static void door_say_ready(const struct metrics_door *door, int handle)
{
    struct api_reply reply = {.status = 0};
    const struct api_request request = {
        .method = "GET", .path = READY, .query = "", .header = no_header};
    api_serve(door->app, door->db, &request, &reply);
    door_answer(door, handle, reply.status == 200 ? "200 OK" : "503 Service Unavailable",
                reply.content_type, reply.static_body ? reply.static_body : reply.body,
                reply.body_size);
    api_reply_clear(&reply);
}

static void door_serve(const struct metrics_door *door, int handle)
{
    static const char nothing[] = "GET /metrics and GET " READY " are all that is here.\n";
    static const char none[] = "The metrics cannot be read now.\n";
    char head[HEAD_BYTES];
    size_t size = 0;
    if (!door_read(door, handle, head))
        return;
    if (door_is_asked(head, READY)) {
        door_say_ready(door, handle);
        return;
    }
    if (!door_is_asked(head, "/metrics")) {
        door_answer(door, handle, "404 Not Found", CONTENT_TYPE, nothing, sizeof nothing - 1);
        return;
    }
    char *text = api_metrics_text(door->app, door->db, &size);
    if (text)
        door_answer(door, handle, "200 OK", CONTENT_TYPE, text, size);
    else
        door_answer(door, handle, "503 Service Unavailable", CONTENT_TYPE, none, sizeof none - 1);
    free(text);
}

static void *door_run(void *context)
{
    const struct metrics_door *door = context;
    struct pollfd watched[] = {{.fd = door->listening, .events = POLLIN},
                               {.fd = door->stop, .events = POLLIN}};
    while (poll(watched, 2, -1) < 0 || watched[1].revents == 0) {
        int handle = accept4(door->listening, NULL, NULL, SOCK_CLOEXEC);
        if (handle < 0) {
            poll(&watched[1], 1, 100); /* no descriptor is free, say */
            continue;
        }
        door_serve(door, handle);
        close(handle);
    }
    return NULL;
}

struct metrics_door *metrics_door_start(struct app *app, struct db *db, int listen_socket)
{
    struct metrics_door *door = memory_new(1, sizeof *door);
    *door = (struct metrics_door){.app = app, .db = db, .listening = listen_socket};
    door->stop = eventfd(0, EFD_CLOEXEC);
    if (door->stop >= 0 && pthread_create(&door->thread, NULL, door_run, door) == 0)
        return door;
    if (door->stop >= 0)
        close(door->stop);
    free(door);
    return NULL;
}

void metrics_door_stop(struct metrics_door *door)
{
    if (!door)
        return;
    eventfd_write(door->stop, 1);
    pthread_join(door->thread, NULL);
    close(door->stop);
    free(door);
}
