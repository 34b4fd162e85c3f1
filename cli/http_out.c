/* HTTP out, by libcurl, of the subcommands. What the service calls is in server/os/outgoing.c.
 *
 * DESIGN. attempt_call() makes one exchange, judge_answer() classifies its result, and
 * http_out_do() repeats as long as the class is AGAIN. The pause doubles from a quarter of a second
 * to half a minute and is drawn from its upper half, so that many clients of one server that fell
 * over do not come back in step. Patience is counted from the first failure of a call; a transfer
 * may take any time while bytes move. */
#include "cli/http_out.h"

#include <curl/curl.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "memory/buffer.h"
#include "memory/memory.h"
#include "server/os/clock.h"
#include "server/server.h"

#define ANSWER_MAX       ((size_t)16 << 20)
#define URL_SIZE         2048
#define CONNECT_S        15L
#define STALLED_S        300L
#define FIRST_PATIENCE_S 5
#define PAUSE_FIRST_S    0.25
#define PAUSE_MOST_S     30.0

struct http_out {
    CURL *curl;
    char *base; /* without a slash at its end */
    char *bearer;
    char *ca_file;
    unsigned patience_s;
    void (*waiting)(void *context, const char *why, double seconds);
    void *context;
    bool met;                  /* the server has answered */
    char why[CURL_ERROR_SIZE]; /* the library's own words on a failure; "": none */
    struct buffer body;
};

enum judgement { GOOD, FINAL, AGAIN };

/* ---- opening */

static bool is_visible(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

/* The part of BASE after "http://" or "https://"; NULL: BASE begins with neither. */
static const char *authority_of(const char *base)
{
    if (strncasecmp(base, "http://", 7) == 0)
        return base + 7;
    return strncasecmp(base, "https://", 8) == 0 ? base + 8 : NULL;
}

static const char *check_settings(const struct http_out_settings *settings)
{
    const char *authority = authority_of(settings->base);
    if (!authority)
        return "the address must begin with http:// or https://";
    size_t host = strcspn(authority, "/");
    if (host == 0 || !is_visible(settings->base) || strpbrk(settings->base, "?#") ||
        strlen(settings->base) > URL_SIZE / 2)
        return "the address must be http[s]://host[:port][/prefix]";
    if (memchr(authority, '@', host))
        return "the address contains a user name: use a token instead";
    if (settings->token && settings->token[0] == '\0')
        return "the token is empty: TACET_TOKEN has to have one";
    if (settings->token && (!is_visible(settings->token) || strlen(settings->token) > URL_SIZE / 2))
        return "the token contains characters that are never part of a token";
    return NULL;
}

const char *http_out_open(const struct http_out_settings *settings, struct http_out **out)
{
    const char *wrong = check_settings(settings);
    if (wrong)
        return wrong;
    /* libcurl counts these calls: each needs its curl_global_cleanup. */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return "the HTTP library could not be started";
    struct http_out *fresh = memory_new(1, sizeof *fresh);
    size_t length = strlen(settings->base);
    while (length > 0 && settings->base[length - 1] == '/')
        length--;
    fresh->base = memory_format("%.*s", (int)length, settings->base);
    fresh->patience_s = settings->patience_s;
    fresh->waiting = settings->waiting;
    fresh->context = settings->context;
    if (settings->ca_file)
        fresh->ca_file = memory_copy_text(settings->ca_file);
    if (settings->token)
        fresh->bearer = memory_format("Authorization: Bearer %s", settings->token);
    fresh->curl = memory_must(curl_easy_init());
    buffer_init(&fresh->body, ANSWER_MAX);
    *out = fresh;
    return NULL;
}

const char *http_out_open_simple(const char *base, const char *token, const char *ca_file,
                                 struct http_out **out)
{
    const struct http_out_settings settings = {
        .base = base, .token = token, .ca_file = ca_file, .patience_s = HTTP_OUT_PATIENCE_S};
    return http_out_open(&settings, out);
}

void http_out_close(struct http_out *out)
{
    if (!out)
        return;
    curl_easy_cleanup(out->curl);
    if (out->bearer)
        sodium_memzero(out->bearer, strlen(out->bearer));
    free(out->bearer);
    free(out->base);
    free(out->ca_file);
    buffer_clear(&out->body);
    free(out);
    curl_global_cleanup();
}

bool http_out_in_clear(const char *base)
{
    static const char *const near[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *authority = authority_of(base);
    if (!authority || strncasecmp(base, "https:", 6) == 0)
        return false;
    size_t host = authority[0] == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":/");
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
        if (strlen(near[i]) == host && strncasecmp(authority, near[i], host) == 0)
            return false;
    return true;
}

/* ---- one exchange */

static size_t keep_bytes(char *bytes, size_t one, size_t count, void *context)
{
    struct http_out *out = context;
    return buffer_add(&out->body, bytes, one * count) ? one * count : 0;
}

/* Appends "NAME: VALUE" (VALUE NULL: nothing; NAME "": VALUE is the line). */
static void add_header(struct curl_slist **list, const char *name, const char *value)
{
    if (!value)
        return;
    char *line = memory_format("%s%s%s", name, name[0] == '\0' ? "" : ": ", value);
    *list = memory_must(curl_slist_append(*list, line));
    free(line);
}

static struct curl_slist *make_headers(const struct http_out *out, const struct http_out_call *call)
{
    struct curl_slist *list = NULL;
    const char *type = call->content_type ? call->content_type : "application/json";
    add_header(&list, "", out->bearer);
    add_header(&list, "Idempotency-Key", call->key);
    add_header(&list, "Content-Type", call->body ? type : NULL);
    add_header(&list, "Content-Encoding", call->content_encoding);
    add_header(&list, "", call->header);
    return list;
}

static void set_body(CURL *curl, const struct http_out_call *call)
{
    bool get = strcmp(call->method, "GET") == 0;
    if (!call->body && get)
        return;
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     (curl_off_t)(!call->body ? 0 : call->body_size));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, !call->body ? "" : call->body);
}

/* True when CALL is idempotent. */
static bool call_is_repeatable(const struct http_out_call *call)
{
    return call->key || strcmp(call->method, "POST") != 0;
}

/* Sets up the handle for CALL. False: address and path together are too long. */
static bool set_up(struct http_out *out, const struct http_out_call *call,
                   struct curl_slist *headers)
{
    CURL *curl = out->curl;
    char url[URL_SIZE];
    int length = snprintf(url, sizeof url, "%s%s", out->base, call->path);
    if (length < 0 || (size_t)length >= sizeof url)
        return false;
    curl_easy_reset(curl); /* keeps the connection */
    out->why[0] = '\0';
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, out->why);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "tacet/" TACET_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, STALLED_S);
    /* On a dead kept connection libcurl itself repeats the request, so only a repeatable call may
     * use one. */
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, call_is_repeatable(call) ? 0L : 1L);
    if (out->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, out->ca_file);
    if (strncasecmp(out->base, "http:", 5) == 0 && !http_out_in_clear(out->base))
        curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* it is this machine: no proxy should see it */
    set_body(curl, call);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    return true;
}

static CURLcode attempt_call(struct http_out *out, const struct http_out_call *call)
{
    struct curl_slist *headers = make_headers(out, call);
    buffer_clear(&out->body);
    CURLcode code = set_up(out, call, headers) ? curl_easy_perform(out->curl) : CURLE_URL_MALFORMAT;
    /* The list is freed below, and the handle keeps a pointer to it. */
    curl_easy_setopt(out->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    return code;
}

const char *http_out_header(struct http_out *out, const char *name)
{
    struct curl_header *header = NULL;
    if (curl_easy_header(out->curl, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return NULL;
    return header->value;
}

/* ---- what to make of it */

static enum judgement judge_failure(struct http_out *out, const struct http_out_call *call,
                                    CURLcode code, struct http_out_answer *answer)
{
    struct problem_line *problem = &answer->problem;
    bool distrusted = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
    const char *why = curl_easy_strerror(code), *advice = "";
    if (distrusted && out->why[0] != '\0')
        why = out->why;
    if (distrusted)
        advice = out->ca_file ? " (by the certificates of --ca-file)"
                              : ": --ca-file FILE names the certificates to trust";
    snprintf(problem->text, sizeof problem->text, "%s: %s%s", out->base,
             out->body.failed ? "the answer is too large" : why, advice);
    switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return AGAIN; /* nothing was sent */
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE: return call_is_repeatable(call) ? AGAIN : FINAL;
    default: return FINAL; /* a certificate, an answer that is not HTTP, ... */
    }
}

static enum judgement judge_answer(struct http_out *out, const struct http_out_call *call,
                                   struct http_out_answer *answer)
{
    curl_easy_getinfo(out->curl, CURLINFO_RESPONSE_CODE, &answer->http);
    answer->body = out->body.bytes ? out->body.bytes : "";
    answer->size = out->body.size;
    answer->replayed = http_out_header(out, "Idempotency-Replayed") != NULL;
    out->met = true;
    if (answer->http >= 200 && answer->http < 300) {
        answer->problem = (struct problem_line){0};
        return GOOD;
    }
    problem_line_read(answer->http, answer->body, answer->size, &answer->problem);
    switch (answer->http) {
    case 429: /* with these two the server says that it did nothing */
    case 503: return AGAIN;
    case 408:
    case 425:
    case 502:
    case 504: return call_is_repeatable(call) ? AGAIN : FINAL;
    default: return FINAL;
    }
}

/* Seconds until the next attempt: those of the back-off or of the server's Retry-After, whichever
 * is more. */
static double pause_length(struct http_out *out, unsigned attempts, long http)
{
    double longest = PAUSE_FIRST_S;
    for (unsigned i = 1; i < attempts && longest < PAUSE_MOST_S; i++)
        longest *= 2;
    longest = longest < PAUSE_MOST_S ? longest : PAUSE_MOST_S;
    double drawn = longest * (0.5 + randombytes_uniform(1U << 16) / 131072.0);
    curl_off_t asked = 0;
    if (http > 0)
        curl_easy_getinfo(out->curl, CURLINFO_RETRY_AFTER, &asked);
    return (double)asked > drawn ? (double)asked : drawn;
}

static void sleep_for(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

enum http_out_status http_out_do(struct http_out *out, const struct http_out_call *call,
                                 struct http_out_answer *answer)
{
    double failing_since = -1;
    *answer = (struct http_out_answer){.body = ""};
    for (;;) {
        answer->http = 0;
        answer->attempts++;
        CURLcode code = attempt_call(out, call);
        enum judgement judged = code == CURLE_OK ? judge_answer(out, call, answer)
                                                 : judge_failure(out, call, code, answer);
        if (judged == GOOD)
            return HTTP_OUT_OK;
        enum http_out_status failed = answer->http > 0 ? HTTP_OUT_REFUSED : HTTP_OUT_UNREACHABLE;
        if (judged == FINAL)
            return failed;
        unsigned patience =
            out->met || out->patience_s < FIRST_PATIENCE_S ? out->patience_s : FIRST_PATIENCE_S;
        double now = (double)clock_now_us() * 1e-6,
               pause = pause_length(out, answer->attempts, answer->http);
        failing_since = failing_since < 0 ? now : failing_since;
        if (now + pause - failing_since > patience)
            return failed;
        if (out->waiting)
            out->waiting(out->context, answer->problem.text, pause);
        sleep_for(pause);
    }
}

enum http_out_status http_out_get(struct http_out *out, const char *path,
                                  struct http_out_answer *answer)
{
    return http_out_do(out, &(struct http_out_call){.method = "GET", .path = path}, answer);
}

void http_out_key(int64_t ms, unsigned char bytes[HTTP_OUT_KEY_BYTES], char out[HTTP_OUT_KEY_SIZE])
{
    char hex[2 * HTTP_OUT_KEY_BYTES + 1];
    for (int i = 0; i < 6; i++)
        bytes[i] = (unsigned char)(ms >> (40 - 8 * i));
    bytes[6] = (unsigned char)(0x70 | (bytes[6] & 0x0f));
    bytes[8] = (unsigned char)(0x80 | (bytes[8] & 0x3f));
    sodium_bin2hex(hex, sizeof hex, bytes, HTTP_OUT_KEY_BYTES);
    snprintf(out, HTTP_OUT_KEY_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
}

enum http_out_status http_out_post(struct http_out *out, const char *path, const char *body,
                                   struct http_out_answer *answer)
{
    char key[HTTP_OUT_KEY_SIZE];
    unsigned char bytes[HTTP_OUT_KEY_BYTES];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    randombytes_buf(bytes, sizeof bytes);
    http_out_key((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, bytes, key);
    const struct http_out_call call = {
        .method = "POST", .path = path, .key = key, .body = body, .body_size = strlen(body)};
    return http_out_do(out, &call, answer);
}
