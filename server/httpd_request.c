/* A request from its head to its reply, on the one thread that runs libmicrohttpd.
 *
 * DESIGN. The library calls on_request again and again for one request: once with the headers, for
 * each piece of the body, at its end, and after each resume. exchange->stage says where we are.
 *
 *   NEW -> BODY -> WAITING -> reply          a lane works on a complete body
 *   NEW -> HELD -> STREAM -> WAITING -> ...  an upload: suspended until its body is wanted
 *   any -> DISCARD -> reply                  the answer is known before the body is over
 *   NEW -> OVER_RATE -> DISCARD -> reply     too many requests a second: 429 after a moment
 *
 * This version of the library can answer only before the body or after it. So an early answer
 * (too large, not allowed, overloaded) goes out at once when the client waits for "100 Continue" or
 * announces more than we care to discard; otherwise the rest is read and thrown away, which costs
 * no memory and lets every client see its answer.
 *
 * A connection is suspended before another thread can see its exchange, and after it is resumed
 * that thread touches nothing of the connection. */
#include <assert.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "server/head_check.h"
#include "server/httpd_hold.h"
#include "server/os/clock.h"
#include "server/tls/peer.h"

#define DISCARD_BYTES ((uint64_t)64 * 1024 * 1024) /* past a route's limit */

/* ---- refusals */

/* Sends the reply, which is ready, and closes the connection: no byte of a body is read. */
static enum MHD_Result reply_and_close(struct httpd *httpd, struct exchange *exchange)
{
    atomic_store(&exchange->reply_ready, true);
    exchange->must_close = exchange->unread = true;
    return httpd_send_reply(httpd, exchange);
}

/* Answers with a problem at the headers, when the end of the body is unknown or the caller is. */
static enum MHD_Result refuse_now(struct httpd *httpd, struct exchange *exchange, const char *slug,
                                  const char *detail)
{
    httpd_fill_problem(httpd, exchange, slug, detail);
    return reply_and_close(httpd, exchange);
}

/* Answers a known caller with a problem and uses no lane. The answer is sent after the rest of the
 * body has arrived. It is sent at once if the body is too long or the client waits to send it. */
static enum MHD_Result httpd_refuse(struct httpd *httpd, struct exchange *exchange,
                                    const char *slug, const char *detail)
{
    uint64_t most = exchange->route.max_body_bytes + DISCARD_BYTES;
    bool hopeless = exchange->announced != UINT64_MAX && exchange->announced > most;
    if (hopeless || exchange->expects_continue)
        return refuse_now(httpd, exchange, slug, detail);
    httpd_fill_problem(httpd, exchange, slug, detail);
    atomic_store(&exchange->reply_ready, true);
    exchange->stage = STAGE_DISCARD;
    return MHD_YES;
}

static const char OVERLOADED[] = "The server has more work than it can queue; come again soon.";

static const char OWN_OVERLOAD[] =
    "This client has as many requests waiting as one may have; come again soon.";

static void note_overload(struct httpd *httpd)
{
    metrics_add(httpd->settings.metrics, METRICS_OVERLOADED, 1);
}

/* A known client may ask again over the same connection, unless too many are held. */
static enum MHD_Result refuse_over_rate(struct httpd *httpd, struct exchange *exchange)
{
    if (exchange->client == 0)
        return refuse_now(httpd, exchange, "rate-limited",
                          "This address makes more requests a second without a valid token than "
                          "one may.");
    bool held = exchange->stage == STAGE_OVER_RATE;
    return (held ? httpd_refuse : refuse_now)(
        httpd, exchange, "rate-limited", "This client makes more requests a second than one may.");
}

/* False: the request is over its rate, and *out_result is what becomes of it. */
static bool within_rate(struct httpd *httpd, struct exchange *exchange, enum MHD_Result *out_result)
{
    if (httpd_within_rate(httpd, exchange))
        return true;
    note_overload(httpd);
    *out_result = MHD_YES;
    if (!httpd_hold(httpd, exchange))
        *out_result = refuse_over_rate(httpd, exchange);
    return false;
}

/* As refuse_now, for one who is not known. */
static enum MHD_Result refuse_stranger(struct httpd *httpd, struct exchange *exchange,
                                       const char *slug, const char *detail)
{
    enum MHD_Result result;
    if (within_rate(httpd, exchange, &result))
        return refuse_now(httpd, exchange, slug, detail);
    return result;
}

/* ---- headers */

struct head_reading {
    struct exchange *exchange;
    struct head_check check;
};

/* A token is kept once, in the exchange, which wipes it: the library frees its own memory as it is.
 */
static void wipe_token(const char *name, const char *value)
{
    if (strcasecmp(name, "Authorization") == 0)
        sodium_memzero((char *)(uintptr_t)value, strlen(value));
}

static enum MHD_Result keep_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)kind;
    struct head_reading *reading = context;
    struct exchange *exchange = reading->exchange;
    head_check_field(&reading->check, name, value);
    exchange->headers_lost = !exchange_add_header(exchange, name, value);
    wipe_token(name, value);
    return exchange->headers_lost ? MHD_NO : MHD_YES;
}

/* Keeps the headers. False: the head is not what RFC 9112 allows. */
static bool take_head(const struct httpd *httpd, struct exchange *exchange, const char *method,
                      const char *version)
{
    struct MHD_Connection *connection = exchange->connection;
    struct head_reading reading = {.exchange = exchange};
    const char *line[] = {method, exchange->uri_begin, exchange->uri_end, version};
    head_check_begin(&reading.check, httpd->parses_in_place, line);
    MHD_get_connection_values(connection, MHD_HEADER_KIND, keep_header, &reading);
    if (exchange->headers_lost)
        return true; /* what was not looked at decides nothing: the connection is closed */
    const union MHD_ConnectionInfo *head =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return head && head_check_end(&reading.check, method + head->header_size) &&
           head_is_target(exchange->request.path) && head_is_target(exchange->request.query) &&
           exchange_read_framing(exchange) &&
           !(reading.check.old && exchange->announced == UINT64_MAX);
}

static enum MHD_Result start_upload(struct httpd *httpd, struct exchange *exchange)
{
    struct lane *lane = httpd->settings.uploads;
    struct body_pipe_hooks hooks = {exchange->connection, httpd_suspend, httpd_resume};
    enum lane_answer answer = lane_reserve(lane, exchange, false);
    if (answer != LANE_RESERVED) {
        bool own = answer == LANE_SHARE_FULL;
        note_overload(httpd);
        return httpd_refuse(httpd, exchange, own ? "rate-limited" : "overloaded",
                            own ? "This client has as many uploads under way as one may have; "
                                  "come again soon."
                                : "As many uploads as allowed are under way; come again soon.");
    }
    metrics_add(httpd->settings.metrics, METRICS_UPLOADS, 1);
    exchange->pipe = body_pipe_new(hooks);
    exchange->request.reader.context = exchange->pipe;
    exchange->stage = STAGE_HELD;
    exchange->suspended_us = clock_now_us();
    body_pipe_hold(exchange->pipe);
    exchange_hold(exchange);
    lane_push(lane, exchange);
    return MHD_YES;
}

/* Finds out who asks. MHD_YES: the body may come, or the reply was sent, which MHD_NO cannot say.
 */
static enum MHD_Result admit_request(struct httpd *httpd, struct exchange *exchange)
{
    bool has_body = exchange->announced != 0;
    struct httpd_settings *settings = &httpd->settings;
    enum MHD_Result result;
    enum api_admission admission =
        api_admit(settings->app, settings->db, httpd->admitted, &exchange->request,
                  &exchange->client, exchange->caller, &exchange->reply);
    if (!within_rate(httpd, exchange, &result))
        return result;
    switch (admission) {
    case API_REFUSED: break;
    case API_PUBLIC:
        if (!exchange->route.open) /* a page in its place */
            exchange->route.lane = API_LANE_INLINE;
        if (!has_body)
            return MHD_YES;
        if (exchange->route.lane != API_LANE_INLINE)
            return refuse_now(httpd, exchange, "body-too-large", "This call takes no body.");
        api_serve(settings->app, settings->db, &exchange->request, &exchange->reply);
        break;
    case API_NEWCOMER: exchange->route.writes = true; __attribute__((fallthrough));
    case API_ADMITTED:
        if (guests_known(httpd->guests, httpd_guest(exchange->connection), exchange->client) !=
            GUEST_WELCOME)
            return refuse_now(httpd, exchange, "rate-limited",
                              "This client has as many connections as one may.");
        if (exchange->announced == UINT64_MAX ||
            exchange->announced <= exchange->route.max_body_bytes)
            return MHD_YES;
        return httpd_refuse(httpd, exchange, "body-too-large",
                            "The body is larger than this call allows.");
    }
    if (has_body)
        return reply_and_close(httpd, exchange);
    atomic_store(&exchange->reply_ready, true);
    exchange->stage = STAGE_DISCARD;
    return MHD_YES;
}

/* Sets the certificate of the request. Each connection's is verified once. */
static void take_certificate(const struct httpd *httpd, struct exchange *exchange,
                             struct guest *guest)
{
    struct guest_certificate *known = guest_certificate(guest);
    if (!httpd->settings.tls_client_ca)
        return;
    if (!known->looked) {
        const union MHD_ConnectionInfo *tls =
            MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        known->good = tls && peer_certificate(tls->tls_session, known->hash);
        known->looked = true;
    }
    if (!known->good)
        return;
    memcpy(exchange->certificate, known->hash, sizeof exchange->certificate);
    exchange->request.certificate = exchange->certificate;
}

/* Copies the client's address, because uploads may outlive their connection. */
static void take_address(struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return;
    memcpy(&exchange->from, address,
           address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof exchange->from);
    exchange->request.address = (const struct sockaddr *)&exchange->from;
}

static enum MHD_Result begin_request(struct httpd *httpd, struct exchange *exchange,
                                     struct MHD_Connection *connection, const char *method,
                                     const char *version)
{
    struct api_request *request = &exchange->request;
    exchange->connection = connection;
    exchange->resume = httpd_resume;
    exchange->account = &httpd->account;
    exchange->counted = true;
    metrics_add(httpd->settings.metrics, METRICS_REQUESTS_IN_FLIGHT, 1);
    strncpy(exchange->method, method, sizeof exchange->method - 1);
    request->method = exchange->method;
    exchange->route = api_route(httpd->settings.app, request->method, request->path);
    request->route = exchange->route.route;

    struct guest *guest = httpd_guest(connection);
    enum guest_welcome welcome = guests_head_came(httpd->guests, guest);
    exchange->address = guest_address(guest);
    take_address(exchange);
    take_certificate(httpd, exchange, guest);
    exchange->stage = STAGE_BODY;
    if (!take_head(httpd, exchange, method, version))
        return refuse_stranger(
            httpd, exchange, "bad-request",
            "The head of the request is not HTTP/1.1 as RFC 9112 writes it, or does "
            "not say where the body ends.");
    if (welcome == GUEST_SHARE_FULL)
        return refuse_now(httpd, exchange, "rate-limited",
                          "This address has as many connections as one may.");
    if (welcome == GUEST_ALL_FULL)
        return refuse_now(httpd, exchange, "overloaded", "All connections are taken.");
    if (atomic_load(&httpd->draining))
        return refuse_now(httpd, exchange, "shutting-down", "The server is shutting down.");
    if (strlen(request->path) + strlen(request->query) > EXCHANGE_URI_BYTES)
        return refuse_stranger(httpd, exchange, "uri-too-long", "The address is over 8 KiB.");
    if (exchange->headers_lost)
        return refuse_stranger(httpd, exchange, "headers-too-large", "The headers are over 8 KiB.");
    enum MHD_Result result = admit_request(httpd, exchange);
    if (!exchange->answered && exchange->stage == STAGE_BODY &&
        exchange->route.lane == API_LANE_STREAM)
        return start_upload(httpd, exchange);
    return result;
}

/* ---- bodies */

/* Continues an upload that was resumed for the first time: either a reader wants its body, or the
 * upload was answered without being read. */
static enum MHD_Result after_hold(struct httpd *httpd, struct exchange *exchange)
{
    if (!body_pipe_is_done(exchange->pipe)) {
        exchange->stage = STAGE_STREAM;
        return MHD_YES;
    }
    if (exchange->expects_continue) {
        exchange->must_close = true;
        return httpd_send_reply(httpd, exchange);
    }
    exchange->stage = STAGE_DISCARD;
    return MHD_YES;
}

static enum MHD_Result take_streamed(struct exchange *exchange, const char *bytes, size_t *size)
{
    if (exchange->received + *size > exchange->route.max_body_bytes) {
        exchange->too_large = true;
        exchange->stage = STAGE_DISCARD;
        body_pipe_break(exchange->pipe);
        return MHD_YES;
    }
    size_t taken = body_pipe_write(exchange->pipe, bytes, *size);
    exchange->received += taken;
    *size -= taken;
    if (*size > 0)
        exchange->suspended_us = clock_now_us();
    return MHD_YES;
}

static enum MHD_Result take_body(struct httpd *httpd, struct exchange *exchange, const char *bytes,
                                 size_t *size)
{
    if (exchange_is_slow(exchange, &httpd->settings.pace))
        return MHD_NO;
    if (exchange->stage == STAGE_STREAM)
        return take_streamed(exchange, bytes, size);
    size_t arrived = *size;
    uint64_t limit = exchange->route.max_body_bytes;
    *size = 0;
    exchange->received += arrived;
    if (exchange->stage == STAGE_DISCARD)
        return exchange->received <= limit + DISCARD_BYTES ? MHD_YES : MHD_NO;
    exchange->expects_continue = false; /* the client is sending */
    if (exchange->received > limit)
        return httpd_refuse(httpd, exchange, "body-too-large",
                            "The body is larger than this call allows.");
    enum exchange_room room = exchange_add_body(exchange, bytes, arrived);
    if (room == EXCHANGE_ROOM)
        return MHD_YES;
    note_overload(httpd);
    if (room == EXCHANGE_ALL_FULL)
        return httpd_refuse(httpd, exchange, "overloaded", OVERLOADED);
    return httpd_refuse(httpd, exchange, "rate-limited",
                        "The bodies of this client or address fill their share of the memory.");
}

static struct lane *lane_of(const struct httpd_settings *settings, enum api_lane lane)
{
    switch (lane) {
    case API_LANE_POOL: return settings->pool;
    case API_LANE_PLAN: return settings->plans;
    case API_LANE_STREAM: return settings->uploads;
    case API_LANE_BATCH:
    case API_LANE_INLINE: break;
    }
    return settings->batch;
}

/* Hands a request whose body is complete in memory to its lane. */
static enum MHD_Result dispatch_request(struct httpd *httpd, struct exchange *exchange)
{
    struct httpd_settings *settings = &httpd->settings;
    if (exchange->route.lane == API_LANE_INLINE) {
        api_serve(settings->app, settings->db, &exchange->request, &exchange->reply);
        atomic_store(&exchange->reply_ready, true);
        return httpd_send_reply(httpd, exchange);
    }
    if (exchange->route.quick &&
        api_serve_quick(settings->app, &exchange->request, &exchange->reply)) {
        atomic_store(&exchange->reply_ready, true);
        return httpd_send_reply(httpd, exchange);
    }
    struct lane *lane = lane_of(settings, exchange->route.lane);
    enum lane_answer answer = LANE_FULL;
    /* When the pool is half full, a heavy request goes to the batch like any other. */
    if (exchange->route.may_be_heavy && api_is_heavy(settings->app, &exchange->request))
        answer = lane_reserve(settings->pool, exchange, true);
    if (answer == LANE_RESERVED)
        lane = settings->pool;
    else
        answer = lane_reserve(lane, exchange, false);
    if (answer != LANE_RESERVED) {
        bool own = answer == LANE_SHARE_FULL;
        note_overload(httpd);
        httpd_fill_problem(httpd, exchange, own ? "rate-limited" : "overloaded",
                           own ? OWN_OVERLOAD : OVERLOADED);
        atomic_store(&exchange->reply_ready, true);
        return httpd_send_reply(httpd, exchange);
    }
    exchange->stage = STAGE_WAITING;
    httpd_suspend(exchange->connection);
    exchange_hold(exchange);
    lane_push(lane, exchange);
    return MHD_YES;
}

static enum MHD_Result end_of_body(struct httpd *httpd, struct exchange *exchange)
{
    if (exchange->stage == STAGE_BODY)
        return dispatch_request(httpd, exchange);
    if (!exchange->pipe || body_pipe_end(exchange->pipe))
        return httpd_send_reply(httpd, exchange);
    exchange->stage = STAGE_WAITING;
    return MHD_YES;
}

enum MHD_Result httpd_on_request(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *bytes,
                                 size_t *size, void **request_context)
{
    struct httpd *httpd = context;
    struct exchange *exchange = *request_context;
    (void)url;
    if (exchange->suspended_us != 0) {
        exchange->started_us += clock_now_us() - exchange->suspended_us;
        exchange->suspended_us = 0;
    }
    switch (exchange->stage) {
    case STAGE_NEW: return begin_request(httpd, exchange, connection, method, version);
    case STAGE_HELD: return after_hold(httpd, exchange);
    case STAGE_OVER_RATE: return refuse_over_rate(httpd, exchange);
    case STAGE_WAITING: return httpd_send_reply(httpd, exchange);
    case STAGE_BODY:
    case STAGE_DISCARD:
    case STAGE_STREAM: break;
    }
    return *size > 0 ? take_body(httpd, exchange, bytes, size) : end_of_body(httpd, exchange);
}
