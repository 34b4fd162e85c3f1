/* A Unix socket behind a network that delays: delayed_socket LISTEN CONNECT MICROSECONDS
 *
 * What arrives at LISTEN leaves for CONNECT, and back, MICROSECONDS later in each direction. One
 * thread for each direction of a connection reads, sleeps and writes, so bytes that come meanwhile
 * wait longer: right for a question and its answer, too slow for a stream. It ends when it is
 * killed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct way {
    int from, to;
    long delay_us;
};

static int open_socket(const char *path, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(out->sun_path, sizeof out->sun_path, "%s", path);
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static void *carry_bytes(void *context)
{
    struct way way = *(struct way *)context;
    char bytes[65536];
    ssize_t size;
    free(context);
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    while ((size = read(way.from, bytes, sizeof bytes)) > 0) {
        nanosleep(&(struct timespec){.tv_nsec = way.delay_us * 1000}, NULL);
        for (ssize_t sent = 0, more; sent < size; sent += more)
            if ((more = send(way.to, bytes + sent, (size_t)(size - sent), MSG_NOSIGNAL)) < 0)
                more = size; /* the other end is gone */
    }
    shutdown(way.to, SHUT_WR);
    return NULL;
}

static void start_way(int from, int to, long delay_us)
{
    struct way *way = malloc(sizeof *way);
    pthread_t thread;
    if (!way)
        abort();
    *way = (struct way){from, to, delay_us};
    if (pthread_create(&thread, NULL, carry_bytes, way) != 0)
        abort();
    pthread_detach(thread);
}

int main(int argc, char **argv)
{
    struct sockaddr_un here, there;
    if (argc != 4)
        return 2;
    int listener = open_socket(argv[1], &here);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(listener, 64) != 0) {
        perror(argv[1]);
        return 1;
    }
    for (;;) {
        int client = accept(listener, NULL, NULL), server = open_socket(argv[2], &there);
        if (client < 0 || connect(server, (struct sockaddr *)&there, sizeof there) != 0) {
            perror(argv[2]);
            return 1;
        }
        start_way(client, server, atol(argv[3]));
        start_way(server, client, atol(argv[3]));
    }
}
