#include "server/webhooks/webhook_post.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "memory/memory.h"
#include "server/os/outgoing.h"

#define POST_MOST_S  10L
#define ANSWER_BYTES 4096 /* of an answer; what is beyond is not waited for */

/* For libcurl: throws bytes away, and ends a long answer. */
static size_t drop_bytes(char *bytes, size_t one, size_t count, void *context)
{
    size_t *seen = context;
    (void)bytes;
    (void)one;
    *seen += count;
    return *seen > ANSWER_BYTES ? 0 : count;
}

static struct curl_slist *post_headers(const struct webhook_post *post)
{
    char line[200];
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    snprintf(line, sizeof line, "webhook-id: %s", post->id);
    headers = curl_slist_append(headers, line);
    snprintf(line, sizeof line, "webhook-timestamp: %" PRId64, post->seconds);
    headers = curl_slist_append(headers, line);
    snprintf(line, sizeof line, "webhook-signature: %s", post->signature);
    return curl_slist_append(headers, line);
}

static void post_message(const char *address, const struct webhook_post *post,
                         struct webhook_outcome *out)
{
    long status = 0;
    size_t seen = 0;
    CURL *curl = memory_must(curl_easy_init());
    struct curl_slist *headers = memory_must(post_headers(post));
    curl_easy_setopt(curl, CURLOPT_URL, address);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "tacet");
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, POST_MOST_S);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &seen);
    if (strncasecmp(address, "http://", 7) == 0) /* this machine: no proxy should see it */
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    *out = (struct webhook_outcome){.number = post->number};
    bool answered = code == CURLE_OK || (code == CURLE_WRITE_ERROR && seen > ANSWER_BYTES);
    out->taken = answered && status / 100 == 2;
    if (out->taken)
        return;
    if (answered)
        snprintf(out->why, sizeof out->why, "the answer is %ld, and not 2xx", status);
    else
        snprintf(out->why, sizeof out->why, "%s",
                 curl_easy_strerror(code)); /* its longer texts have the address */
}

static void post_for_ever(const void *context)
{
    const char *address = context;
    struct webhook_post post;
    struct webhook_outcome outcome;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    while (recv(OUTGOING_SOCKET, &post, sizeof post, 0) == (ssize_t)sizeof post) {
        post_message(address, &post, &outcome);
        if (send(OUTGOING_SOCKET, &outcome, sizeof outcome, MSG_NOSIGNAL) < 0)
            return;
    }
}

void webhook_post_run(const char *address, int socket)
{
    static const struct webhook_outcome died = {
        .why = "the process that sends it has ended and is started again"};
    outgoing_run("tacet-webhooks", socket, post_for_ever, address, &died, sizeof died);
}
