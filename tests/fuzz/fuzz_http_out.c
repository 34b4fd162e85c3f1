/* Any bytes as what a server answers to a subcommand's call, on a real connection of this machine:
 * the first byte chooses the call, or that the bytes
 * are the server's address and a token. Whatever comes, there is one answer, one line about a
 * refusal, and the token is in neither. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/http_out.h"
#include "tests/fuzz/fuzz.h"

#define TOKEN      "tct_fuzz_0123456789"
#define ANSWER_MAX 65536

/* Kept between inputs, as libFuzzer wants it. */
static struct {
    int listening;
    char base[64];
    pthread_mutex_t lock;
    uint8_t data[ANSWER_MAX]; /* what is answered */
    size_t size;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Reads the request's head, answers, and waits until the client hangs up. */
static void serve_one(int client)
{
    char bytes[4096];
    static uint8_t data[ANSWER_MAX]; /* the client may be gone before all of it is sent */
    size_t used = 0, sent = 0;
    pthread_mutex_lock(&server.lock);
    size_t size = server.size;
    memcpy(data, server.data, size);
    pthread_mutex_unlock(&server.lock);
    while (used < sizeof bytes - 1 && !memmem(bytes, used, "\r\n\r\n", 4)) {
        ssize_t got = recv(client, bytes + used, sizeof bytes - 1 - used, 0);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    while (sent < size) {
        ssize_t n = send(client, data + sent, size - sent, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    shutdown(client, SHUT_WR);
    while (recv(client, bytes, sizeof bytes, 0) > 0)
        continue;
    close(client);
}

static void *serve_all(void *unused)
{
    for (;;) {
        int client = accept(server.listening, NULL, NULL);
        if (client >= 0)
            serve_one(client);
    }
    return unused;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    pthread_t thread;
    (void)argc;
    (void)argv;
    server.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server.listening, (void *)&address, size) != 0 || listen(server.listening, 64) != 0 ||
        getsockname(server.listening, (void *)&address, &size) != 0 ||
        pthread_create(&thread, NULL, serve_all, NULL) != 0)
        abort();
    pthread_detach(thread);
    snprintf(server.base, sizeof server.base, "http://127.0.0.1:%u", ntohs(address.sin_port));
    return 0;
}

/* The bytes as an address and, behind a NUL, a token. */
static void open_any(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size, true);
    size_t first = strlen(text);
    struct http_out_settings settings = {
        .base = text, .token = first < size ? text + first + 1 : NULL, .ca_file = text};
    struct http_out *out = NULL;
    const char *wrong = http_out_open(&settings, &out);
    assert(wrong == NULL || out == NULL);
    (void)http_out_in_clear(text);
    if (!wrong)
        http_out_close(out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct http_out_call calls[] = {
        {.method = "GET", .path = "/v1/datasets"},
        {.method = "POST", .path = "/v1/jobs", .key = "k", .body = "{}", .body_size = 2},
        {.method = "POST", .path = "/v1/jobs:estimate", .body = "{}", .body_size = 2},
        {.method = "PUT", .path = "/v1/x", .header = "If-Match: \"1\"", .body = "", .body_size = 0},
    };
    uint8_t which = fuzz_byte(&data, &size);
    if (which >= 128) {
        open_any(data, size);
        return 0;
    }
    struct http_out_settings settings = {.base = server.base, .token = TOKEN, .patience_s = 0};
    struct http_out *out = NULL;
    struct http_out_answer answer;
    pthread_mutex_lock(&server.lock);
    server.size = size < ANSWER_MAX ? size : ANSWER_MAX;
    memcpy(server.data, data, server.size);
    pthread_mutex_unlock(&server.lock);
    assert(!http_out_open(&settings, &out));
    enum http_out_status status = http_out_do(out, &calls[which % 4], &answer);
    assert(strlen(answer.problem.text) < sizeof answer.problem.text);
    assert((status == HTTP_OUT_OK) == (answer.http >= 200 && answer.http < 300));
    assert(status == HTTP_OUT_OK || answer.problem.text[0] != '\0');
    for (const char *c = answer.problem.text; *c != '\0'; c++)
        assert((unsigned char)*c >= ' ');
    assert(answer.body[answer.size] == '\0' && answer.size <= size);
    (void)http_out_header(out, "ETag");
    http_out_close(out);
    return 0;
}
