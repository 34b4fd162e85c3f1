/* A thin layer on libcurl: one handle, one call after another. */
#include "tests/http/http_client.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct http_client {
    CURL *curl;
    char base[64];
};

struct text {
    char *bytes;
    size_t size;
};

struct upload {
    const char *from;
    size_t left;
};

struct http_client *http_client_new(const struct server_process *server)
{
    struct http_client *client = calloc(1, sizeof *client);
    cr_assert_not_null(client);
    client->curl = curl_easy_init();
    cr_assert_not_null(client->curl);
    http_client_move(client, server);
    return client;
}

void http_client_move(struct http_client *client, const struct server_process *server)
{
    snprintf(client->base, sizeof client->base, "%s", server->base);
}

void http_client_free(struct http_client *client)
{
    curl_easy_cleanup(client->curl);
    free(client);
}

static size_t append(char *bytes, size_t one, size_t count, void *context)
{
    struct text *text = context;
    char *larger = realloc(text->bytes, text->size + one * count + 1);
    cr_assert_not_null(larger);
    memcpy(larger + text->size, bytes, one * count);
    text->bytes = larger;
    text->size += one * count;
    text->bytes[text->size] = '\0';
    return one * count;
}

static size_t feed(char *out, size_t one, size_t count, void *context)
{
    struct upload *upload = context;
    size_t n = one * count < upload->left ? one * count : upload->left;
    memcpy(out, upload->from, n);
    upload->from += n;
    upload->left -= n;
    return n;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
    char line[4096];
    snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(list, line);
    cr_assert_not_null(longer);
    return longer;
}

static struct curl_slist *headers_of(const struct http_call *call)
{
    struct curl_slist *list = NULL;
    char bearer[2048];
    if (call->token != NULL) {
        snprintf(bearer, sizeof bearer, "Bearer %s", call->token);
        list = add_header(list, "Authorization", bearer);
    }
    if (call->body != NULL)
        list = add_header(list, "Content-Type",
                          call->content_type != NULL ? call->content_type : "application/json");
    if (call->key != NULL)
        list = add_header(list, "Idempotency-Key", call->key);
    if (call->chunked)
        list = add_header(list, "Transfer-Encoding", "chunked");
    if (call->no_expect)
        list = curl_slist_append(list, "Expect:");
    if (call->header != NULL)
        list = curl_slist_append(list, call->header);
    return list;
}

static void set_body(CURL *curl, const struct http_call *call, struct upload *upload)
{
    upload->from = call->body;
    upload->left = call->body_size > 0 ? call->body_size : strlen(call->body);
    if (call->chunked) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, feed);
        curl_easy_setopt(curl, CURLOPT_READDATA, upload);
        return;
    }
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)upload->left);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body);
}

struct http_answer http_do(struct http_client *client, const struct http_call *call)
{
    struct http_answer answer = {0};
    struct text body = {0}, headers = {0};
    struct upload upload = {0};
    char url[512];
    CURL *curl = client->curl;
    struct curl_slist *list = headers_of(call);
    snprintf(url, sizeof url, "%s%s", client->base, call->path);
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, call->patience_ms);
    /* On an old connection the library would ask twice where no answer comes. */
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, call->patience_ms > 0 ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    if (call->body != NULL)
        set_body(curl, call, &upload);
    if (strcmp(call->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &headers);
    /* A killed server may have sent a part of its answer: that is none. */
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    curl_slist_free_all(list);
    answer.body = body.bytes != NULL ? body.bytes : strdup("");
    answer.size = body.size;
    answer.headers = headers.bytes != NULL ? headers.bytes : strdup("");
    answer.json = json_loadb(answer.body, answer.size, JSON_DECODE_ANY, NULL);
    return answer;
}

void http_answer_clear(struct http_answer *answer)
{
    json_decref(answer->json);
    free(answer->body);
    free(answer->headers);
    *answer = (struct http_answer){0};
}

const char *http_header(const struct http_answer *answer, const char *name)
{
    static _Thread_local char value[512];
    size_t length = strlen(name);
    for (const char *line = answer->headers; line != NULL && *line != '\0';) {
        const char *end = strstr(line, "\r\n");
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            const char *from = line + length + 1 + strspn(line + length + 1, " ");
            snprintf(value, sizeof value, "%.*s", (int)(end != NULL ? end - from : 0), from);
            return value;
        }
        line = end != NULL ? end + 2 : NULL;
    }
    return NULL;
}

const char *http_text(const struct http_answer *answer, const char *member)
{
    const char *text = json_string_value(json_object_get(answer->json, member));
    return text != NULL ? text : "";
}

struct http_answer http_expect(struct http_client *client, long status,
                               const struct http_call *call)
{
    struct http_answer answer = http_do(client, call);
    cr_assert_eq(answer.status, status, "%s %s: expected %ld, got %ld: %s", call->method,
                 call->path, status, answer.status, answer.body);
    return answer;
}

int raw_connect(const struct server_process *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(handle, 0);
    cr_assert_eq(connect(handle, (struct sockaddr *)&address, sizeof address), 0);
    return handle;
}

bool raw_send_bytes(int handle, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = send(handle, bytes, size, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

bool raw_send(int handle, const char *text)
{
    return raw_send_bytes(handle, text, strlen(text));
}

size_t raw_receive(int handle, char *out, size_t size, bool whole)
{
    size_t used = 0;
    out[0] = '\0';
    while (used + 1 < size && (whole || strstr(out, "\r\n\r\n") == NULL)) {
        ssize_t n = recv(handle, out + used, size - 1 - used, 0);
        if (n <= 0)
            break;
        used += (size_t)n;
        out[used] = '\0';
    }
    return used;
}
