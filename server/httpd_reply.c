/* Sends replies: bodies and events, with their log lines and counters. */
#include "server/httpd_reply.h"

#include <assert.h>
#include <sys/eventfd.h>

#include "memory/memory.h"
#include "server/os/clock.h"

#define EVENT_BLOCK_BYTES 8192
#define HSTS              "max-age=31536000" /* a year */

void httpd_suspend(void *connection)
{
    MHD_suspend_connection(connection);
}

void httpd_wake(struct httpd *httpd)
{
    if (!atomic_exchange(&httpd->woken, true))
        eventfd_write(httpd->wake, 1);
}

/* The library wakes only a thread of its own. */
void httpd_resume(void *connection)
{
    struct httpd *httpd = guest_host(httpd_guest(connection));
    MHD_resume_connection(connection);
    httpd_wake(httpd);
}

struct guest *httpd_guest(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

static ssize_t read_event_stream(void *context, uint64_t position, char *buffer, size_t size)
{
    (void)position;
    long n = event_stream_take(context, buffer, size);
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

static void close_events(void *context)
{
    event_stream_close(context);
}

/* NULL: the exchange's reply is a refusal now. */
static struct MHD_Response *event_response(struct httpd *httpd, struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct event_hooks hooks = {exchange->connection, info->connect_fd, httpd_suspend,
                                httpd_resume};
    exchange->streams = shares_take(&httpd->clients, exchange->client, SHARE_STREAMS, 1);
    if (!exchange->streams) {
        httpd_fill_problem(httpd, exchange, "rate-limited",
                           "This client follows as many event streams as one may.");
        return NULL;
    }
    struct event_stream *stream =
        events_open(httpd->settings.events, &exchange->reply.events, hooks);
    if (!stream) {
        httpd_fill_problem(httpd, exchange, "overloaded", "Too many event streams are open.");
        return NULL;
    }
    return memory_must(MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENT_BLOCK_BYTES,
                                                         read_event_stream, stream, close_events));
}

/* Gives the reply's body away to the response. */
static struct MHD_Response *body_response(struct api_reply *reply)
{
    if (!reply->body) {
        const char *text = reply->static_body ? reply->static_body : "";
        size_t size = reply->static_body ? reply->body_size : 0;
        return MHD_create_response_from_buffer(size, (void *)text, MHD_RESPMEM_PERSISTENT);
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->body_size, reply->body, MHD_RESPMEM_MUST_FREE);
    if (response)
        reply->body = NULL;
    return response;
}

void httpd_fill_problem(struct httpd *httpd, struct exchange *exchange, const char *slug,
                        const char *detail)
{
    api_reply_clear(&exchange->reply);
    exchange->reply = (struct api_reply){0};
    api_problem_reply_to(httpd->settings.app, slug, detail, &exchange->request, &exchange->reply);
}

static void note_reply(struct httpd *httpd, const struct exchange *exchange)
{
    const struct httpd_settings *settings = &httpd->settings;
    int64_t now_us = clock_now_us();
    int64_t us = now_us - exchange->begun_us;
    int status = exchange->reply.status;
    uint64_t shown = METRICS_UNTIMED;
    if (exchange->route.timed)
        shown = us > 0 ? (uint64_t)us : 0;
    metrics_request(settings->metrics, exchange->route.pattern, status, shown);
    if (exchange->reply.problem)
        metrics_problem(settings->metrics, exchange->reply.problem);
    if (status == 202 && settings->accepted)
        settings->accepted(settings->accepted_context);
    request_log_reply(&httpd->log, exchange, now_us);
}

static void add_rate_headers(struct MHD_Response *response, const struct exchange *exchange)
{
    char text[RATES_HEADER_BYTES];
    if (!exchange->rates)
        return;
    rates_header(exchange->rates, exchange->left, text);
    MHD_add_response_header(response, "RateLimit", text);
    if (exchange->reply.status != 429)
        return;
    rates_policy_header(exchange->rates, text);
    MHD_add_response_header(response, "RateLimit-Policy", text);
}

enum MHD_Result httpd_send_reply(struct httpd *httpd, struct exchange *exchange)
{
    struct api_reply *reply = &exchange->reply;
    struct MHD_Response *response = NULL;
    assert(atomic_load(&exchange->reply_ready) && !exchange->answered);
    if (exchange->too_large)
        httpd_fill_problem(httpd, exchange, "body-too-large", "The upload is larger than allowed.");
    if (reply->events.next)
        response = event_response(httpd, exchange);
    struct guest *guest = httpd_guest(exchange->connection);
    if (response)
        guests_stream(httpd->guests, guest);
    if (!response) {
        guests_answer(httpd->guests, guest, reply->body_size, exchange->unread);
        response = body_response(reply);
    }
    if (!response)
        return MHD_NO;
    exchange->answered = true;
    if (reply->content_type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    for (unsigned i = 0; i < reply->header_count; i++)
        MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
    add_rate_headers(response, exchange);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (httpd->settings.tls_cert)
        MHD_add_response_header(response, "Strict-Transport-Security", HSTS);
    if (exchange->must_close || httpd->stalled_us != 0 || atomic_load(&httpd->draining))
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    note_reply(httpd, exchange);
    enum MHD_Result result =
        MHD_queue_response(exchange->connection, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    return result;
}
