/* One thread that accepts, reads a request to its declared end, answers and closes. */
#include "tests/unit/cli/fake_server.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_SIZE 65536

struct fake_server {
    int handle;
    char base[64];
    const char *const *answers;
    unsigned count;
    char *heard[FAKE_EXCHANGES];
    pthread_t thread;
};

/* Where the request in TEXT ends, by its Content-Length; 0: not yet known. */
static size_t request_end(const char *text)
{
    const char *head = strstr(text, "\r\n\r\n");
    if (head == NULL)
        return 0;
    const char *length = strcasestr(text, "Content-Length:");
    size_t body = length != NULL && length < head ? strtoul(length + 15, NULL, 10) : 0;
    return (size_t)(head + 4 - text) + body;
}

static char *read_request(int peer)
{
    char *text = calloc(1, REQUEST_SIZE);
    size_t used = 0, end = 0;
    while (text != NULL && used + 1 < REQUEST_SIZE && (end == 0 || used < end)) {
        ssize_t n = recv(peer, text + used, REQUEST_SIZE - 1 - used, 0);
        if (n <= 0)
            break;
        used += (size_t)n;
        end = request_end(text);
    }
    return text;
}

static void *serve(void *argument)
{
    struct fake_server *server = argument;
    while (server->answers[server->count] != NULL) {
        int peer = accept(server->handle, NULL, NULL);
        if (peer < 0)
            return NULL;
        server->heard[server->count] = read_request(peer);
        const char *answer = server->answers[server->count++];
        (void)!send(peer, answer, strlen(answer), MSG_NOSIGNAL);
        close(peer);
    }
    return NULL;
}

struct fake_server *fake_server_start(const char *const *answers)
{
    struct fake_server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    cr_assert_not_null(server);
    server->answers = answers;
    server->handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(server->handle, 0);
    cr_assert_eq(bind(server->handle, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(listen(server->handle, 8), 0);
    cr_assert_eq(getsockname(server->handle, (struct sockaddr *)&address, &size), 0);
    snprintf(server->base, sizeof server->base, "http://127.0.0.1:%u", ntohs(address.sin_port));
    cr_assert_eq(pthread_create(&server->thread, NULL, serve, server), 0);
    return server;
}

const char *fake_server_base(const struct fake_server *server)
{
    return server->base;
}

unsigned fake_server_stop(struct fake_server *server)
{
    shutdown(server->handle, SHUT_RDWR); /* wakes accept */
    pthread_join(server->thread, NULL);
    close(server->handle);
    return server->count;
}

const char *fake_server_heard(const struct fake_server *server, unsigned index)
{
    cr_assert_lt(index, server->count);
    return server->heard[index];
}

void fake_server_free(struct fake_server *server)
{
    for (unsigned i = 0; i < FAKE_EXCHANGES; i++)
        free(server->heard[i]);
    free(server);
}
