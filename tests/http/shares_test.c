/* No client and no address takes all connections, all memory for bodies or all event streams. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/http/http_client.h"

static struct server_process server;
static char student[160], other[160];

static void start(const char *flag, const char *value, const char *flag2, const char *value2,
                  const char *flag3, const char *value3)
{
    server_open(&server, "--idle-timeout", "3600", "--header-timeout", "3600", "--body-timeout",
                "3600", flag, value, flag2, value2, flag3, value3, NULL);
    server_token(&server, "student", student);
    server_token(&server, "student", other);
}

TestSuite(shares, .timeout = 600);

/* Asks on HANDLE, over a connection that is kept, and gives the status. */
static int ask(int handle, const char *token)
{
    char request[512], answer[16384];
    int status = 0;
    snprintf(request, sizeof request,
             "GET /v1/teachers HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n\r\n", token);
    raw_send(handle, request);
    raw_receive(handle, answer, sizeof answer, false);
    sscanf(answer, "HTTP/1.1 %d", &status);
    if (status == 429 || status == 503) {
        cr_expect_not_null(strstr(answer, "Retry-After: "), "%s", answer);
        cr_expect_not_null(strstr(answer, "Connection: close"), "%s", answer);
    }
    return status;
}

/* A connection from 127.0.0.2. */
static int connect_from_elsewhere(void)
{
    struct sockaddr_in from = {.sin_family = AF_INET}, to = from;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((unsigned short)server.port);
    int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(handle, 0);
    cr_assert_eq(bind(handle, (struct sockaddr *)&from, sizeof from), 0);
    cr_assert_eq(connect(handle, (struct sockaddr *)&to, sizeof to), 0);
    return handle;
}

static void close_all(const int *handles, int count)
{
    for (int i = 0; i < count; i++)
        close(handles[i]);
}

Test(shares, the_silent_make_room)
{
    enum { SILENT = 100 };
    int handles[SILENT];
    start("--connections", "16", "--connections-per-ip", "8", "--queue", "64");
    for (int i = 0; i < SILENT; i++) {
        handles[i] = raw_connect(&server);
        if (i % 10 == 0) {
            int handle = raw_connect(&server), elsewhere = connect_from_elsewhere();
            cr_expect_eq(ask(handle, student), 200, "after %d", i);
            cr_expect_eq(ask(elsewhere, other), 200, "after %d", i);
            close(handle);
            close(elsewhere);
        }
    }
    close_all(handles, SILENT);
    server_close(&server);
}

/* A connection with little room that asks for more than the system holds for it; the first byte has
 * come. */
static int ask_and_read_nothing(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)server.port)};
    int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 1024;
    char first;
    cr_assert_geq(handle, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_eq(setsockopt(handle, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
    cr_assert_eq(connect(handle, (struct sockaddr *)&to, sizeof to), 0);
    for (int i = 0; i < 30; i++)
        cr_assert(raw_send(handle, "GET /openapi.yaml HTTP/1.1\r\nHost: t\r\n\r\n"));
    cr_assert_eq(recv(handle, &first, 1, MSG_PEEK), 1);
    return handle;
}

Test(shares, the_deaf_make_room)
{
    enum { DEAF = 24 };
    int handles[DEAF];
    start("--connections", "16", "--connections-per-ip", "8", "--queue", "64");
    for (int i = 0; i < DEAF; i++) {
        handles[i] = ask_and_read_nothing();
        int handle = raw_connect(&server), elsewhere = connect_from_elsewhere();
        cr_expect_eq(ask(handle, student), 200, "after %d", i);
        cr_expect_eq(ask(elsewhere, other), 200, "after %d", i);
        close(handle);
        close(elsewhere);
    }
    close_all(handles, DEAF);
    server_close(&server);
}

Test(shares, an_address_has_its_share_of_connections)
{
    int handles[4];
    start("--connections", "16", "--connections-per-ip", "4", "--queue", "64");
    for (int i = 0; i < 4; i++) {
        handles[i] = raw_connect(&server);
        cr_expect_eq(ask(handles[i], student), 200);
    }
    for (int i = 0; i < 20; i++) {
        int more = raw_connect(&server), elsewhere = connect_from_elsewhere();
        cr_expect_eq(ask(more, student), 429);
        cr_expect_eq(ask(elsewhere, student), 200);
        close(more);
        close(elsewhere);
    }
    for (int i = 0; i < 4; i++)
        cr_expect_eq(ask(handles[i], student), 200, "who was there before is served on");
    close_all(handles, 4);
    int status;
    do { /* the server sees the end of the four in its own time */
        int handle = raw_connect(&server);
        status = ask(handle, student);
        close(handle);
    } while (status == 429);
    cr_expect_eq(status, 200);
    server_close(&server);
}

Test(shares, a_client_has_its_share_of_connections)
{
    int handles[2];
    start("--connections", "16", "--connections-per-client", "2", "--queue", "64");
    for (int i = 0; i < 2; i++) {
        handles[i] = raw_connect(&server);
        cr_expect_eq(ask(handles[i], student), 200);
    }
    for (int i = 0; i < 5; i++) {
        int more = raw_connect(&server);
        cr_expect_eq(ask(more, student), 429);
        close(more);
        more = raw_connect(&server);
        cr_expect_eq(ask(more, other), 200);
        close(more);
    }
    close_all(handles, 2);
    server_close(&server);
}

Test(shares, known_clients_are_not_sent_away_for_new_ones)
{
    int handles[4];
    start("--connections", "4", "--connections-per-ip", "0", "--queue", "64");
    for (int i = 0; i < 4; i++) {
        handles[i] = raw_connect(&server);
        cr_expect_eq(ask(handles[i], student), 200);
    }
    int more = raw_connect(&server);
    cr_expect_eq(ask(more, other), 503);
    close(more);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(ask(handles[i], student), 200);
    close_all(handles, 4);
    server_close(&server);
}

/* One client sends several times what all bodies may take, and keeps it there. */
Test(shares, a_client_has_its_share_of_the_memory_for_bodies)
{
    enum { BODIES = 16 };
    static char half[600000];
    int handles[BODIES];
    char head[512];
    start("--max-buffered", "4M", "--max-policy", "1M", "--least-rate", "1");
    memset(half, ' ', sizeof half);
    snprintf(head, sizeof head,
             "POST /v1/teachers/tch_x/queries HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n",
             student);
    for (int i = 0; i < BODIES; i++) {
        handles[i] = raw_connect(&server);
        cr_assert(raw_send(handles[i], head));
        cr_assert(raw_send_bytes(handles[i], half, sizeof half));
    }
    memset(half, ' ', sizeof half);
    half[300000] = '\0';
    struct http_client *client = http_client_new(&server);
    struct http_call call = {.method = "POST",
                             .path = "/v1/teachers/tch_x/queries",
                             .token = other,
                             .key = "k",
                             .body = half,
                             .no_expect = true};
    struct http_answer answer = http_expect(client, 400, &call); /* it was read, and is no JSON */
    http_answer_clear(&answer);
    http_client_free(client);
    /* The rest of a body that had no room comes, and its answer says whose share is full. */
    unsigned full = 0;
    memset(half, ' ', sizeof half);
    for (int i = 0; i < BODIES; i++) {
        char text[4096];
        cr_assert(raw_send_bytes(handles[i], half, 400000));
        raw_receive(handles[i], text, sizeof text, false);
        full += strncmp(text, "HTTP/1.1 429", 12) == 0;
        cr_expect_neq(strncmp(text, "HTTP/1.1 503", 12), 0, "%s", text);
    }
    cr_expect_gt(full, 0);
    close_all(handles, BODIES);
    server_close(&server);
}
