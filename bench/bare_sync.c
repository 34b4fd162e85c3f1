/* The limit of a reply that must be on disk before it leaves, on this machine: the web library's
 * bare reply behind a group sync and nothing else. One poll thread suspends each connection, one
 * thread writes and syncs some pages for whoever waits and lets them all go on. No question is
 * read, nothing is computed, charged or stored.
 *
 *   bare_sync FILE     prints its port; ends when its standard input does
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bare_reply.h"

#define SYNCED_BYTES ((size_t)40 * 1024) /* what a batch of queries adds to the log */
#define FILE_BYTES   ((size_t)16 * 1024 * 1024)

struct waiting {
    struct MHD_Connection *connection;
    struct waiting *next;
    bool synced;
};

struct desk {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct waiting *first;
    int file;
    char *pages;
};

static void wait_at(struct desk *desk, struct waiting *request, struct MHD_Connection *connection)
{
    request->connection = connection;
    MHD_suspend_connection(connection);
    pthread_mutex_lock(&desk->lock);
    request->next = desk->first;
    desk->first = request;
    pthread_cond_signal(&desk->arrived);
    pthread_mutex_unlock(&desk->lock);
}

static void *sync_run(void *context)
{
    struct desk *desk = context;
    for (size_t at = 0;; at = at + 2 * SYNCED_BYTES > FILE_BYTES ? 0 : at + SYNCED_BYTES) {
        pthread_mutex_lock(&desk->lock);
        while (desk->first == NULL)
            pthread_cond_wait(&desk->arrived, &desk->lock);
        struct waiting *all = desk->first;
        desk->first = NULL;
        pthread_mutex_unlock(&desk->lock);
        if (pwrite(desk->file, desk->pages, SYNCED_BYTES, (off_t)at) != (ssize_t)SYNCED_BYTES ||
            fdatasync(desk->file) != 0) {
            perror("bare_sync");
            exit(1);
        }
        while (all != NULL) {
            struct waiting *rest = all->next;
            all->synced = true;
            MHD_resume_connection(all->connection);
            all = rest;
        }
    }
    return NULL;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *size, void **request_context)
{
    struct waiting *request = *request_context;
    (void)url;
    (void)method;
    (void)version;
    (void)body;
    if (request == NULL) {
        *request_context = calloc(1, sizeof *request);
        return *request_context != NULL ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        *size = 0;
        return MHD_YES;
    }
    if (!request->synced) {
        wait_at(context, request, connection);
        return MHD_YES;
    }
    return bare_reply(connection);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode why)
{
    (void)context;
    (void)connection;
    (void)why;
    free(*request_context);
    *request_context = NULL;
}

/* As long as the log is when it is used again from its start, so that no write makes it longer. */
static bool fill(struct desk *desk)
{
    for (size_t at = 0; at + SYNCED_BYTES <= FILE_BYTES; at += SYNCED_BYTES)
        if (pwrite(desk->file, desk->pages, SYNCED_BYTES, (off_t)at) != (ssize_t)SYNCED_BYTES)
            return false;
    return fsync(desk->file) == 0;
}

int main(int argc, char **argv)
{
    struct desk desk = {.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    pthread_t thread;
    desk.file = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    desk.pages = calloc(1, SYNCED_BYTES);
    if (desk.file < 0 || desk.pages == NULL || !fill(&desk) ||
        pthread_create(&thread, NULL, sync_run, &desk) != 0) {
        perror("bare_sync FILE");
        free(desk.pages);
        return 1;
    }
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
                         answer, &desk, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
                         1024u, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
    if (daemon == NULL)
        return 1;
    bare_wait(daemon);
    _exit(0); /* connections may still be suspended */
}
