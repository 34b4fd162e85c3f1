/* Any bytes on a connection to a whole server of this process: accept, framing, headers, bodies,
 * lanes and replies. In the input "{steward}" and the other roles stand for their tokens, and
 * "{dataset}" for the id of a dataset.
 *
 * Whatever comes, the first answer is HTTP/1.1 with a status that is not 500; the connection ends
 * when the client has hung up; and the server goes on. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/os/data_dir.h"
#include "server/os/log.h"
#include "server/server.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tokens.h"

/* The client hangs up after PATIENCE_MS, or sooner once there was an answer. Then the server hangs
 * after HANGS_MS: beside other programs this one hardly runs, and the library may miss that the
 * client hung up, until --idle-timeout. */
#define SENT_MAX    65536
#define PATIENCE_MS 10
#define HANGS_MS    600000

/* Kept between inputs, as libFuzzer wants it. */
static struct {
    struct config config;
    struct server *server;
    char data[100], token[FUZZ_ROLES][FUZZ_TOKEN_SIZE], dataset[40];
} service;

static size_t exchange(const uint8_t *data, size_t size, int patience_ms, char in[SENT_MAX]);

static void make_dataset(void)
{
    static const char request[] =
        "POST /v1/datasets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {steward}\r\n"
        "Content-Type: application/json\r\nContent-Length: 72\r\nConnection: close\r\n\r\n"
        "{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":1,\"delta\":0.1}}";
    static char in[SENT_MAX];
    size_t size = exchange((const uint8_t *)request, sizeof request - 1, HANGS_MS, in);
    in[size < SENT_MAX ? size : SENT_MAX - 1] = '\0';
    const char *id = strstr(in, "\"id\":\"");
    if (!id || sscanf(id + 6, "%39[a-z0-9_]", service.dataset) != 1) {
        fprintf(stderr, "%s\n", in);
        abort();
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char error[512] = "";
    struct flags_found found;
    (void)argc;
    (void)argv;
    signal(SIGPIPE, SIG_IGN);
    unsetenv("KEPT_LEDGERS"); /* the tests' own variable is no setting */
    log_set_level(LOG_LEVEL_ERROR);
    snprintf(service.data, sizeof service.data, "%s/data", fuzz_directory());
    fuzz_tokens_in(service.data, service.token);
    char *flags[] = {
        "--data",         service.data, "--listen",  "127.0.0.1:0", "--workers",      "1",
        "--pool-threads", "2",          "--confine", "off",         "--max-body",     "2K",
        "--max-upload",   "4K",         "--uploads", "2",           "--idle-timeout", "5"};
    if (!config_read(&service.config, sizeof flags / sizeof flags[0], flags, &found)) {
        fprintf(stderr, "%s\n", found.error);
        abort();
    }
    service.server = server_start(&service.config, NULL, error, sizeof error);
    if (!service.server) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
    make_dataset();
    return 0;
}

/* The input with tokens in their places, at most SENT_MAX bytes. */
static size_t put_tokens(const uint8_t *data, size_t size, char *out)
{
    size_t used = 0;
    while (size > 0 && used + FUZZ_TOKEN_SIZE < SENT_MAX) {
        static const char dataset[] = "{dataset}";
        if (size >= sizeof dataset - 1 && memcmp(data, dataset, sizeof dataset - 1) == 0) {
            used += (size_t)snprintf(out + used, FUZZ_TOKEN_SIZE, "%s", service.dataset);
            data += sizeof dataset - 1;
            size -= sizeof dataset - 1;
            continue;
        }
        int role = *data == '{' ? fuzz_token_role((const char *)data + 1, size - 1) : -1;
        if (role < 0) {
            out[used++] = (char)*data;
            data++;
            size--;
            continue;
        }
        size_t skipped = strlen(fuzz_roles[role]) + 2;
        used += (size_t)snprintf(out + used, FUZZ_TOKEN_SIZE, "%s", service.token[role]);
        data += skipped;
        size -= skipped;
    }
    return used;
}

static int connect_client(void)
{
    const char *port = strrchr(server_url(service.server), ':') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    /* Connections end at once, or the ports of this machine would run out. */
    const struct linger at_once = {.l_onoff = 1};
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (client < 0 || connect(client, (void *)&address, sizeof address) != 0) {
        perror("connect");
        abort();
    }
    return client;
}

static void check_answer(const char *bytes, size_t size, size_t sent)
{
    static const char version[] = "HTTP/1.1 ", broken[] = "HTTP/1.1 500";
    size_t seen = size < sizeof version - 1 ? size : sizeof version - 1;
    assert(sent > 0 || size == 0);
    assert(memcmp(bytes, version, seen) == 0);
    assert(size < sizeof broken - 1 || memcmp(bytes, broken, sizeof broken - 1) != 0);
}

/* Sends the input on a connection of its own and gives what came back. */
static size_t exchange(const uint8_t *data, size_t size, int patience_ms, char in[SENT_MAX])
{
    static char out[SENT_MAX];
    size_t left = put_tokens(data, size, out), sent = 0, received = 0;
    bool hung_up = false;
    int client = connect_client();
    for (;;) {
        struct pollfd wait = {client, (short)(POLLIN | (sent < left ? POLLOUT : 0)), 0};
        int patience = received > 0 ? patience_ms / 4 : patience_ms;
        int ready = poll(&wait, 1, hung_up ? HANGS_MS : patience);
        if (ready < 0) /* libFuzzer's alarm */
            continue;
        assert(ready > 0 || !hung_up);
        if (ready == 0) {
            shutdown(client, SHUT_WR);
            hung_up = true;
            left = sent;
            continue;
        }
        if (wait.revents & POLLOUT) {
            ssize_t n = send(client, out + sent, left - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            sent += n > 0 ? (size_t)n : 0;
            left = n > 0 ? left : sent;
        }
        if (wait.revents & (POLLIN | POLLHUP | POLLERR)) {
            char *at = in + received;
            ssize_t n = recv(client, at, SENT_MAX - received, MSG_DONTWAIT);
            if (n <= 0 && !(wait.revents & POLLOUT))
                break;
            received += n > 0 ? (size_t)n : 0;
            if (received == SENT_MAX)
                break;
        }
    }
    check_answer(in, received, sent);
    close(client);
    return received;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char in[SENT_MAX];
    (void)exchange(data, size, PATIENCE_MS, in);
    return 0;
}
