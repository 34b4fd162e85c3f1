/* The listening socket: reads HOST:PORT, binds, and tells which port it got. */
#ifndef TACET_SERVER_OS_LISTEN_H
#define TACET_SERVER_OS_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

struct listen_socket {
    int handle;     /* the caller closes it */
    char host[128]; /* as the user wrote it, IPv6 in brackets: for the URL */
    bool local;     /* no other machine can connect */
    unsigned port;  /* the one that was taken when port 0 was asked for */
};

/* Opens ADDRESS ("127.0.0.1:8080", "[::1]:0", "localhost:8080"), the value of the setting FLAG.
 * False: ERROR holds a sentence, and *out is untouched. */
bool listen_open(const char *flag, const char *address, struct listen_socket *out, char *error,
                 size_t error_size);

#endif
