/* The limit of the web library on this machine: a bare reply of some hundred bytes, one poll
 * thread, nothing else. Prints its port; ends when its standard input does. */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>

#include "bench/bare_reply.h"

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *size, void **request)
{
    static char seen;
    (void)context;
    (void)url;
    (void)method;
    (void)version;
    (void)body;
    if (*request == NULL) {
        *request = &seen;
        return MHD_YES;
    }
    if (*size > 0) {
        *size = 0;
        return MHD_YES;
    }
    return bare_reply(connection);
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_CONNECTION_LIMIT, 1024u, MHD_OPTION_END);
    if (daemon == NULL)
        return 1;
    bare_wait(daemon);
    MHD_stop_daemon(daemon);
    return 0;
}
