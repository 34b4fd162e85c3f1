/* What the bare servers share: the reply, JSON of some hundred bytes, which is a third of a
 * teacher's answer, and how they say where they listen. */
#ifndef TACET_BENCH_BARE_REPLY_H
#define TACET_BENCH_BARE_REPLY_H

#include <microhttpd.h>
#include <stdio.h>

/* Queues it on CONNECTION; what the library says of that. */
static inline enum MHD_Result bare_reply(struct MHD_Connection *connection)
{
    static char text[] =
        "{\"query\":\"qry_0000000000000000\",\"probabilities\":[0.500000,0.500000],"
        "\"concentration\":20,\"cost\":{\"epsilon\":0.001,\"delta\":0}}\n";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

/* Says on standard output which port DAEMON listens on, and waits for the end of standard input. */
static inline void bare_wait(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    printf("%u\n", info->port);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
}

#endif
