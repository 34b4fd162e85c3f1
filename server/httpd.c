/* Starts and stops libmicrohttpd, and answers its callbacks; httpd_request.c serves the requests.
 */
#include "server/httpd.h"

#include <assert.h>
#include <microhttpd.h>
#include <poll.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "memory/memory.h"
#include "server/exchange.h"
#include "server/httpd_hold.h"
#include "server/httpd_reply.h"
#include "server/os/clock.h"
#include "server/request_log.h"
#include "server/tls/tls_keys.h"

/* Memory of a connection: it must hold the headers and one piece of a body. libmicrohttpd clears
 * all of it between requests. */
#define CONNECTION_MEMORY_BYTES ((size_t)16 * 1024)
#define REQUEST_ID_BYTES        12 /* of its hash */
#define OLD_TLS                 ":-VERS-SSL3.0:-VERS-TLS1.0:-VERS-TLS1.1"
#define STALL_MOST_MS           500
#define IN_PLACE_VERSION        "0.9.75" /* of the library, which lays a head out as head_check.h says */

/* "req_" and 24 hexadecimal digits: SipHash of a counter under a key of this process. Nobody can
 * read the number of requests from it, and it needs no system call. */
static void request_id_draw(struct httpd *httpd, char out[4 + 2 * REQUEST_ID_BYTES + 1])
{
    unsigned char hash[crypto_shorthash_siphashx24_BYTES];
    uint64_t number = atomic_fetch_add(&httpd->requests, 1);
    crypto_shorthash_siphashx24(hash, (const unsigned char *)&number, sizeof number,
                                httpd->request_key);
    memcpy(out, "req_", 4);
    sodium_bin2hex(out + 4, 2 * REQUEST_ID_BYTES + 1, hash, REQUEST_ID_BYTES);
}

/* Sees the request line as it was sent, before the library decodes it. */
static void *on_request_line(void *context, const char *uri, struct MHD_Connection *connection)
{
    struct exchange *exchange = exchange_new(uri);
    exchange->uri_begin = uri;
    exchange->uri_end = uri + strlen(uri);
    (void)connection;
    request_id_draw(context, exchange->request.request_id);
    return exchange;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode why)
{
    struct httpd *httpd = context;
    struct exchange *exchange = *request_context;
    (void)why;
    guests_answered(httpd->guests, httpd_guest(connection));
    if (!exchange)
        return;
    *request_context = NULL;
    if (exchange->streams)
        shares_give(&httpd->clients, exchange->client, SHARE_STREAMS, 1);
    if (exchange->pipe) {
        body_pipe_break(exchange->pipe);
        metrics_add(httpd->settings.metrics, METRICS_UPLOADS, -1);
    }
    if (exchange->counted)
        metrics_add(httpd->settings.metrics, METRICS_REQUESTS_IN_FLIGHT, -1);
    exchange_let_go(exchange);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **guest,
                          enum MHD_ConnectionNotificationCode what)
{
    struct httpd *httpd = context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        guests_leave(httpd->guests, *guest);
        *guest = NULL;
        httpd->stalled_us = 0;
        return;
    }
    const union MHD_ConnectionInfo *tls =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (httpd->settings.tls_keys && tls)
        tls_keys_use(httpd->settings.tls_keys, tls->tls_session);
    int handle = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    *guest = guests_enter(
        httpd->guests, handle,
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
}

/* Sees the library's own messages, which may quote a request and are not repeated. After an accept
 * that failed for want of handles or memory the library takes no new connection until one has
 * ended. Where all stay busy none would, so the next answer ends its own; where there is no answer,
 * end_stall ends one. */
static void on_message(void *context, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static void on_message(void *context, const char *format, va_list arguments)
{
    struct httpd *httpd = context;
    (void)arguments;
    if (strstr(format, "suspending accept"))
        httpd->stalled_us = clock_now_us();
}

/* Paths stay as they were sent: the api decodes them. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

/* ---- the thread */

/* Milliseconds until there is something to do although nothing happens; -1: for ever. */
static int patience_ms(struct httpd *httpd)
{
    int held_ms = httpd_hold_ms(httpd);
    MHD_UNSIGNED_LONG_LONG due_ms;
    if (httpd->stalled_us != 0 && (held_ms < 0 || held_ms > STALL_MOST_MS))
        held_ms = STALL_MOST_MS;
    if (MHD_get_timeout(httpd->daemon, &due_ms) != MHD_YES)
        return held_ms;
    if (due_ms > INT32_MAX)
        due_ms = INT32_MAX;
    return held_ms >= 0 && held_ms < (int)due_ms ? held_ms : (int)due_ms;
}

/* Ends a connection where the library has taken none for a while. */
static void end_stall(struct httpd *httpd)
{
    int64_t now_us = httpd->stalled_us != 0 ? clock_now_us() : 0;
    if (now_us - httpd->stalled_us < STALL_MOST_MS * 1000)
        return;
    guests_end_one(httpd->guests);
    httpd->stalled_us = now_us; /* and waits as long again */
}

/* Refuses new connections from now on. */
static void stop_listening(struct httpd *httpd)
{
    MHD_socket listening = MHD_quiesce_daemon(httpd->daemon);
    if (listening != MHD_INVALID_SOCKET)
        close(listening);
    httpd->listens = false;
}

/* Waits for the library's epoll, then has the library look at it without waiting. The library's own
 * thread would wait by itself, but version 0.9.75 makes a mistake there: where exactly as many
 * events have come as it takes at once (128), it waits for more before it serves them, perhaps for
 * ever. */
static void *httpd_run(void *context)
{
    struct httpd *httpd = context;
    int events = MHD_get_daemon_info(httpd->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct pollfd watched[] = {{.fd = events, .events = POLLIN},
                               {.fd = httpd->wake, .events = POLLIN}};
    eventfd_t count;
    while (!atomic_load(&httpd->stopping)) {
        int wait_ms = patience_ms(httpd);
        if (wait_ms != 0 && poll(watched, 2, wait_ms) > 0 && watched[1].revents != 0) {
            eventfd_read(httpd->wake, &count);
            atomic_store(&httpd->woken, false);
        }
        if (httpd->listens && atomic_load(&httpd->draining))
            stop_listening(httpd);
        httpd_hold_end(httpd, !httpd->listens);
        end_stall(httpd);
        bool stalled = httpd->stalled_us != 0;
        MHD_run(httpd->daemon);
        if (stalled && httpd->stalled_us == 0)
            MHD_run(httpd->daemon); /* it listens again at the beginning of a round */
    }
    return NULL;
}

static bool start_thread(struct httpd *httpd)
{
    httpd->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    httpd->listens = true;
    return httpd->wake >= 0 && pthread_create(&httpd->thread, NULL, httpd_run, httpd) == 0;
}

/* ---- life */

/* At least 1. */
static uint64_t quarter_of(uint64_t whole)
{
    return whole < 8 ? 1 : whole / 4;
}

/* A client may have a quarter of the memory for bodies, or what one largest body needs while it
 * grows, but at most half; an address may have three quarters. */
static void init_shares(struct httpd *httpd)
{
    const struct httpd_settings *settings = &httpd->settings;
    uint64_t all = settings->max_buffered_bytes, bytes = 2 * settings->max_body_bytes;
    if (bytes > all / 2)
        bytes = all / 2;
    if (bytes < all / 4)
        bytes = all / 4;
    const uint64_t client[SHARE_THINGS] = {settings->connections_per_client, bytes,
                                           quarter_of(settings->event_streams)};
    const uint64_t address[SHARE_THINGS] = {settings->connections_per_ip, all - all / 4, 0};
    shares_init(&httpd->clients, client);
    shares_init(&httpd->addresses, address);
    httpd->account.most = all;
    httpd->account.clients = &httpd->clients;
    httpd->account.addresses = &httpd->addresses;
}

static bool start_guests(struct httpd *httpd)
{
    const struct httpd_settings *settings = &httpd->settings;
    struct guests_settings guests = {
        .places = settings->connections,
        .head_timeout_s = settings->head_timeout_s,
        .idle_timeout_s = settings->idle_timeout_s,
        .answer_timeout_s = (unsigned)settings->pace.patience_s,
        .least_rate = settings->pace.least_rate,
        .addresses = settings->connections_per_ip > 0 ? &httpd->addresses : NULL,
        .clients = &httpd->clients,
        .host = httpd,
    };
    httpd->guests = guests_start(&guests);
    return httpd->guests != NULL;
}

struct httpd *httpd_start(const struct httpd_settings *settings, int listen_socket, char *error,
                          size_t error_size)
{
    struct httpd *httpd = memory_new(1, sizeof *httpd);
    httpd->settings = *settings;
    httpd->wake = -1;
    init_shares(httpd);
    rates_init(&httpd->client_rates, "client", settings->client_rate);
    rates_init(&httpd->address_rates, "address", settings->address_rate);
    if (!start_guests(httpd)) {
        snprintf(error, error_size, "no more threads can be started");
        httpd_free(httpd);
        return NULL;
    }
    httpd->log.every = settings->access_log;
    httpd->admitted = api_admitted_new();
    httpd->parses_in_place = strcmp(MHD_get_version(), IN_PLACE_VERSION) == 0;
    randombytes_buf(httpd->request_key, sizeof httpd->request_key);
    bool tls = settings->tls_cert != NULL;
    char priorities[1024];
    int length = snprintf(priorities, sizeof priorities, "%s%s", settings->tls_priorities, OLD_TLS);
    if (length >= (int)sizeof priorities) {
        snprintf(error, error_size, "--tls-priorities: is over 900 bytes long");
        httpd_free(httpd);
        return NULL;
    }
    struct MHD_OptionItem tls_options[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, priorities},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->tls_cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->tls_key},
        {settings->tls_client_ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
         (void *)settings->tls_client_ca},
        {MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    httpd->daemon = MHD_start_daemon(
        flags | (tls ? MHD_USE_TLS : 0), 0, NULL, NULL, httpd_on_request, httpd,
        MHD_OPTION_EXTERNAL_LOGGER, on_message, httpd, /* first: it hears of the others */
        MHD_OPTION_LISTEN_SOCKET, listen_socket, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_MEMORY_BYTES, MHD_OPTION_CONNECTION_LIMIT,
        settings->connections + settings->connections / 8 + 8, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, httpd, MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_timeout_s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, httpd, MHD_OPTION_URI_LOG_CALLBACK,
        on_request_line, httpd, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, httpd->parses_in_place ? 0 : 1, MHD_OPTION_ARRAY,
        tls ? tls_options : &tls_options[4], MHD_OPTION_END);
    if (!httpd->daemon) {
        snprintf(
            error, error_size,
            tls ? "the web server did not start: is the certificate in "
                  "--tls-cert and its key in --tls-key, both in PEM, as "
                  "those of --tls-client-ca, and does GnuTLS know the words in --tls-priorities?"
                : "the web server did not start");
        httpd_free(httpd);
        return NULL;
    }
    if (start_thread(httpd))
        return httpd;
    snprintf(error, error_size, "no more threads can be started");
    MHD_quiesce_daemon(httpd->daemon);
    MHD_stop_daemon(httpd->daemon);
    httpd_free(httpd);
    return NULL;
}

void httpd_drain(struct httpd *httpd)
{
    atomic_store(&httpd->draining, true);
    httpd_wake(httpd);
}

void httpd_stop(struct httpd *httpd)
{
    if (!httpd)
        return;
    atomic_store(&httpd->stopping, true);
    httpd_wake(httpd);
    pthread_join(httpd->thread, NULL);
    httpd_hold_end(httpd, true);
    MHD_stop_daemon(httpd->daemon);
    request_log_end(&httpd->log);
}

void httpd_free(struct httpd *httpd)
{
    if (!httpd)
        return;
    guests_stop(httpd->guests);
    shares_clear(&httpd->clients);
    shares_clear(&httpd->addresses);
    if (httpd->wake >= 0)
        close(httpd->wake);
    free(httpd->admitted);
    free(httpd);
}
