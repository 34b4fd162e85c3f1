/* Opens the listening socket, so that a port in use gets a sentence; the library says only NULL. */
#include "server/os/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN_BACKLOG 1024

/* Splits "HOST:PORT"; an IPv6 host is in brackets, which BARE goes without. */
static bool split_address(const char *address, char *host, char *bare, size_t size,
                          const char **out_port)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || (size_t)(colon - address) >= size)
        return false;
    size_t length = (size_t)(colon - address);
    memcpy(host, address, length);
    host[length] = '\0';
    bool bracketed = host[0] == '[' && host[length - 1] == ']';
    if (!bracketed && strchr(host, ':'))
        return false;
    snprintf(bare, size, "%.*s", (int)(bracketed ? length - 2 : length), host + bracketed);
    char *end = NULL;
    long port = strtol(colon + 1, &end, 10);
    if (colon[1] == '\0' || *end != '\0' || port < 0 || port > 65535)
        return false;
    *out_port = colon + 1;
    return true;
}

static int bind_first(const struct addrinfo *list)
{
    int saved = EADDRNOTAVAIL;
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        int handle = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        int on = 1;
        if (handle >= 0 && setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
            bind(handle, a->ai_addr, a->ai_addrlen) == 0 && listen(handle, LISTEN_BACKLOG) == 0)
            return handle;
        saved = errno;
        if (handle >= 0)
            close(handle);
    }
    errno = saved;
    return -1;
}

static void look_at_name(int handle, struct listen_socket *out)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } name;
    socklen_t size = sizeof name;
    memset(&name, 0, sizeof name);
    if (getsockname(handle, &name.any, &size) != 0)
        return;
    bool six = name.any.sa_family == AF_INET6;
    out->port = ntohs(six ? name.six.sin6_port : name.four.sin_port);
    out->local = six ? IN6_IS_ADDR_LOOPBACK(&name.six.sin6_addr)
                     : ntohl(name.four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool listen_open(const char *flag, const char *address, struct listen_socket *out, char *error,
                 size_t error_size)
{
    struct listen_socket opened = {.handle = -1};
    char bare[sizeof opened.host];
    const char *port = NULL;
    if (!split_address(address, opened.host, bare, sizeof bare, &port)) {
        snprintf(error, error_size, "--%s: \"%s\" is not HOST:PORT", flag, address);
        return false;
    }
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    int status = getaddrinfo(bare, port, &hints, &list);
    if (status != 0) {
        snprintf(error, error_size, "--%s: %s: %s", flag, address, gai_strerror(status));
        return false;
    }
    opened.handle = bind_first(list);
    freeaddrinfo(list);
    if (opened.handle < 0) {
        snprintf(error, error_size, "cannot listen on %s: %s%s", address, strerror(errno),
                 errno == EADDRINUSE ? " (is another tacet running with this configuration?)" : "");
        return false;
    }
    look_at_name(opened.handle, &opened);
    *out = opened;
    return true;
}
