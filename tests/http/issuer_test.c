/* Tokens of an outside issuer, against a server that runs and is confined. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/http/http_client.h"
#include "tests/http/jwt_kit.h"
#include "tests/http/server_process.h"

#define ISSUER "https://issuer.example"

TestSuite(issuer, .timeout = 600);

static void write_file(const char *path, const char *text)
{
    char next[300];
    snprintf(next, sizeof next, "%s.next", path);
    FILE *file = fopen(next, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    cr_assert_eq(rename(next, path), 0);
}

static void write_keys(const char *path, struct jwt_key *const *keys, unsigned count)
{
    char *text = jwt_set(keys, count, "");
    write_file(path, text);
    free(text);
}

static void ask_for(struct server_process *server, const char *source)
{
    static char path[300];
    snprintf(path, sizeof path, "%s", source);
    const char *flags[] = {"--oidc-issuer", ISSUER,        "--oidc-audience",
                           "tacet",         "--oidc-jwks", path};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        server->flags[i] = flags[i];
}

static char *token_of(const struct jwt_key *key, const char *subject, const char *role)
{
    char claims[400];
    snprintf(claims, sizeof claims,
             "{\"iss\":\"" ISSUER "\",\"aud\":\"tacet\",\"exp\":4000000000,\"sub\":\"%s\","
             "\"roles\":[\"%s\"]}",
             subject, role);
    return jwt_sign(key, NULL, claims);
}

/* GET PATH with TOKEN, which is freed. */
static long status_of(struct http_client *client, char *token, const char *path)
{
    struct http_answer answer =
        http_do(client, &(struct http_call){.method = "GET", .path = path, .token = token});
    long status = answer.status;
    http_answer_clear(&answer);
    free(token);
    return status;
}

/* Asks until the answer has STATUS. The suite's time limit ends it otherwise. */
static void wait_for(struct http_client *client, const struct jwt_key *key, long status)
{
    while (status_of(client, token_of(key, "ada", "student"), "/v1/clients/me") != status)
        usleep(50000);
}

Test(issuer, a_file_of_keys_is_read_again_when_it_changes)
{
    struct server_process server;
    char path[200], own[160];
    struct jwt_key *first = jwt_key_new("RS256", "k1"), *second = jwt_key_new("EdDSA", "k2");
    struct jwt_key *both[] = {first, second};
    server_prepare(&server);
    snprintf(path, sizeof path, "%s/keys.json", server.folder);
    write_keys(path, both, 1);
    ask_for(&server, path);
    server_start(&server);
    struct http_client *client = http_client_new(&server);
    const char *me = "/v1/clients/me";
    cr_expect_eq(status_of(client, token_of(first, "ada", "student"), me), 200);
    cr_expect_eq(status_of(client, token_of(first, "bob", "steward"), "/v1/datasets"), 200);
    cr_expect_eq(status_of(client, token_of(second, "ada", "student"), me), 401);
    cr_expect_eq(status_of(client, token_of(first, "eve", "admin"), "/v1/clients"), 403);
    cr_expect_eq(status_of(client, token_of(first, "ada", "steward"), me), 403);
    server_token(&server, "auditor", own);
    cr_expect_eq(status_of(client, strdup(own), me), 200);

    write_keys(path, both, 2); /* rotation: both for a while, then the second alone */
    wait_for(client, second, 200);
    cr_expect_eq(status_of(client, token_of(first, "ada", "student"), me), 200);
    write_keys(path, both + 1, 1);
    wait_for(client, first, 401);
    write_file(path, "{\"keys\":["); /* the keys stay */
    while (!server_log_has(&server, "issuer-keys-failed"))
        usleep(50000);
    cr_expect_eq(status_of(client, token_of(second, "ada", "student"), me), 200);
    write_file(path, "{\"keys\":[]}");
    wait_for(client, second, 401);
    http_client_free(client);
    server_close(&server);
    jwt_key_free(first);
    jwt_key_free(second);
}

/* ---- an address */

struct key_server {
    int listening;
    unsigned port;
    char *_Atomic text;
    atomic_uint fetches;
};

static void *serve_keys(void *context)
{
    struct key_server *keys = context;
    char request[4000], head[200];
    for (;;) {
        int peer = accept(keys->listening, NULL, NULL);
        if (peer < 0)
            return NULL;
        if (read(peer, request, sizeof request) > 0) {
            const char *text = keys->text;
            size_t size = strlen(text);
            keys->fetches++;
            int length = snprintf(head, sizeof head,
                                  "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
                                  "Connection: close\r\n\r\n",
                                  size);
            cr_assert_eq(write(peer, head, (size_t)length), length);
            cr_assert_gt(write(peer, text, size), 0);
        }
        close(peer);
    }
}

static void open_key_server(struct key_server *keys, pthread_t *thread)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    keys->listening = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(keys->listening, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(getsockname(keys->listening, (struct sockaddr *)&address, &size), 0);
    cr_assert_eq(listen(keys->listening, 8), 0);
    keys->port = ntohs(address.sin_port);
    cr_assert_eq(pthread_create(thread, NULL, serve_keys, keys), 0);
}

static void close_key_server(struct key_server *keys, pthread_t thread)
{
    shutdown(keys->listening, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(keys->listening);
    free(keys->text);
}

Test(issuer, keys_are_fetched_by_a_process_that_the_confinement_leaves_out)
{
    struct server_process server;
    struct jwt_key *key = jwt_key_new("ES256", "k1");
    struct key_server keys = {.text = jwt_set(&key, 1, "")};
    pthread_t thread;
    char address[100];
    open_key_server(&keys, &thread);
    snprintf(address, sizeof address, "http://127.0.0.1:%u/jwks", keys.port);
    server_prepare(&server);
    ask_for(&server, address);
    server_start(&server);
    struct http_client *client = http_client_new(&server);
    cr_expect_eq(status_of(client, token_of(key, "ada", "student"), "/v1/clients/me"), 200);
    http_client_free(client);
    server_close(&server);
    close_key_server(&keys, thread);
    jwt_key_free(key);
}

/* One early fetch at once, and no second one within a minute, however many tokens ask for it. */
Test(issuer, a_token_of_an_unknown_key_makes_the_address_be_fetched_early)
{
    struct server_process server;
    struct jwt_key *first = jwt_key_new("ES256", "k1"), *second = jwt_key_new("EdDSA", "k2");
    struct jwt_key *third = jwt_key_new("EdDSA", "k3"), *both[] = {first, second};
    struct key_server keys = {.text = jwt_set(&first, 1, "")};
    char *before = keys.text;
    pthread_t thread;
    char address[100];
    open_key_server(&keys, &thread);
    snprintf(address, sizeof address, "http://127.0.0.1:%u/jwks", keys.port);
    server_prepare(&server);
    ask_for(&server, address);
    server_start(&server);
    struct http_client *client = http_client_new(&server);
    cr_expect_eq(status_of(client, token_of(first, "ada", "student"), "/v1/clients/me"), 200);
    cr_expect_eq(keys.fetches, 1);
    keys.text = jwt_set(both, 2, "");
    wait_for(client, second, 200);
    cr_expect_eq(keys.fetches, 2);
    cr_expect_eq(status_of(client, token_of(first, "ada", "student"), "/v1/clients/me"), 200);
    for (int i = 0; i < 300; i++)
        cr_assert_eq(status_of(client, token_of(third, "ada", "student"), "/v1/clients/me"), 401);
    cr_expect_eq(keys.fetches, 2);
    http_client_free(client);
    server_close(&server);
    close_key_server(&keys, thread);
    free(before);
    jwt_key_free(first);
    jwt_key_free(second);
    jwt_key_free(third);
}

/* The first child of PROCESS; 0: none. */
static pid_t child_of(pid_t process)
{
    char path[80];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%d", &child) != 1)
        child = 0;
    if (file)
        fclose(file);
    return child;
}

Test(issuer, the_process_that_reads_keys_is_started_again_when_it_dies)
{
    struct server_process server;
    char path[200];
    struct jwt_key *first = jwt_key_new("ES256", "k1"), *second = jwt_key_new("EdDSA", "k2");
    server_prepare(&server);
    snprintf(path, sizeof path, "%s/keys.json", server.folder);
    write_keys(path, &first, 1);
    ask_for(&server, path);
    server_start(&server);
    struct http_client *client = http_client_new(&server);
    cr_expect_eq(status_of(client, token_of(first, "ada", "student"), "/v1/clients/me"), 200);
    pid_t reader = child_of(child_of(server.pid));
    cr_assert_gt(reader, 0);
    cr_assert_eq(kill(reader, SIGKILL), 0);
    while (!server_log_has(&server, "has ended and is started again"))
        usleep(50000);
    cr_expect_eq(status_of(client, token_of(first, "ada", "student"), "/v1/clients/me"), 200);
    write_keys(path, &second, 1);
    wait_for(client, second, 200);
    http_client_free(client);
    server_close(&server);
    jwt_key_free(first);
    jwt_key_free(second);
}

Test(issuer, an_address_that_does_not_answer_leaves_own_tokens)
{
    struct server_process server;
    char own[160];
    server_prepare(&server);
    ask_for(&server, "http://127.0.0.1:1/jwks");
    server_start(&server);
    cr_expect(server_log_has(&server, "issuer-keys-failed"));
    server_token(&server, "auditor", own);
    struct http_client *client = http_client_new(&server);
    cr_expect_eq(status_of(client, strdup(own), "/v1/clients/me"), 200);
    http_client_free(client);
    server_close(&server);
}

Test(issuer, a_broken_file_or_setting_is_said_at_the_start)
{
    struct server_process server;
    char path[200];
    server_prepare(&server);
    snprintf(path, sizeof path, "%s/keys.json", server.folder);
    ask_for(&server, path);
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "the file cannot be read"));
    write_file(path, "no keys");
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "it is not JSON"));
    ask_for(&server, "http://issuer.example/jwks");
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "must begin with https://"));
    server.flags[4] = NULL;
    cr_expect_eq(server_start_in_vain(&server), 2);
    cr_expect(server_log_has(&server, "go together"));
    server_remove(&server);
}
