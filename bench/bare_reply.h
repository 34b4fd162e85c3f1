/* The reply of the bare servers: of the size of a teacher's answer, and nothing else. */
#ifndef TACET_BENCH_BARE_REPLY_H
#define TACET_BENCH_BARE_REPLY_H

#include <microhttpd.h>

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

#endif
