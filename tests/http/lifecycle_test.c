/* Start, stop, start again; what is refused at start leaves everything as it was. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/http/http_client.h"

Test(lifecycle, help_is_everywhere)
{
    char out[16384];
    static const char *const commands[] = {"serve", "client", "experts", "epsilon", NULL};
    cr_expect_eq(tacet_run(out, sizeof out, "--help", NULL), 0);
    for (int i = 0; commands[i] != NULL; i++) {
        cr_expect_not_null(strstr(out, commands[i]));
        char help[16384];
        cr_expect_eq(tacet_run(help, sizeof help, commands[i], "--help", NULL), 0);
        cr_expect_not_null(strstr(help, "--"), "%s: %s", commands[i], help);
    }
    cr_expect_eq(tacet_run(out, sizeof out, "serve", "--help", NULL), 0);
    cr_expect_not_null(strstr(out, "TACET_MAX_UPLOAD"));
    char same[16384];
    cr_expect_eq(tacet_run(same, sizeof same, "help", "serve", NULL), 0);
    cr_expect_str_eq(same, out);
    cr_expect_eq(tacet_run(same, sizeof same, "help", "help", NULL), 0);
    cr_expect_not_null(strstr(same, "experts"));
    cr_expect_eq(tacet_run(same, sizeof same, "client", "--help", NULL), 0);
    cr_expect_not_null(strstr(same, "DELETE /v1/clients/{id}"));
    cr_expect_eq(tacet_run(out, sizeof out, "version", NULL), 0);
}

Test(lifecycle, a_wrong_flag_is_one_line_and_exit_code_2)
{
    static const char *const wrong[][3] = {
        {"serve", "--nonsense", NULL},
        {"serve", "--workers", "many"},
        {"serve", "--workers", "-1"},
        {"serve", "--max-body", "1T"},
        {"serve", "--max-body", "0"},
        {"serve", "--workers", NULL},
        {"serve", "--tls-cert", "x"},
        {"serve", "--database", NULL},
        {"serve", "--log-level", "loud"},
        {"client", "destroy", NULL},
        {"client", "create", "--nonsense"},
        {"client", "create", NULL},
        {"nonsense", NULL, NULL},
        {"experts", "--nonsense", NULL},
        {"serve", "--access-log=perhaps", NULL},
        {"help", "nonsense", NULL},
        {"experts", "--environment", "mars"},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char out[4096];
        int code = tacet_run(out, sizeof out, wrong[i][0], wrong[i][1], wrong[i][2], NULL);
        char *end = strchr(out, '\n');
        cr_expect_eq(code, 2, "%s %s: %d", wrong[i][0], wrong[i][1], code);
        cr_expect(end != NULL && end[1] == '\0', "%s %s: %s", wrong[i][0], wrong[i][1], out);
    }
}

Test(lifecycle, an_unknown_world_names_those_that_are_known)
{
    char out[1024];
    cr_expect_eq(tacet_run(out, sizeof out, "experts", "--environment", "mars", NULL), 2);
    cr_expect(strstr(out, "mars") != NULL && strstr(out, "cartpole") != NULL, "%s", out);
}

Test(lifecycle, settings_come_from_the_environment_and_flags_win)
{
    char out[4096];
    setenv("TACET_WORKERS", "none", 1);
    cr_expect_eq(tacet_run(out, sizeof out, "serve", NULL), 2);
    cr_expect_not_null(strstr(out, "TACET_WORKERS"), "%s", out);
    setenv("TACET_WORKERS", "1", 1);
    cr_expect_eq(tacet_run(out, sizeof out, "serve", "--workers", "65", NULL), 2);
    cr_expect_not_null(strstr(out, "--workers"), "%s", out);
}

Test(lifecycle, tokens_work_before_beside_and_after)
{
    struct server_process server;
    char before[160], beside[160];
    server_prepare(&server);
    server_token(&server, "admin", before);
    server_start(&server);
    server_token(&server, "admin", beside);
    struct http_client *client = http_client_new(&server);
    struct http_call call = {.method = "GET", .path = "/v1/clients", .token = before};
    for (int round = 0; round < 2; round++) {
        call.token = before;
        struct http_answer answer = http_expect(client, 200, &call);
        http_answer_clear(&answer);
        call.token = beside;
        answer = http_expect(client, 200, &call);
        http_answer_clear(&answer);
        if (round == 0) {
            cr_expect_eq(server_end(&server, SIGTERM), 0);
            server_start(&server);
            http_client_move(client, &server);
        }
    }
    http_client_free(client);
    server_close(&server);
}

Test(lifecycle, a_taken_port_is_a_clear_error)
{
    struct server_process first, second;
    char address[64];
    server_open(&first, NULL);
    server_prepare(&second);
    snprintf(address, sizeof address, "127.0.0.1:%u", first.port);
    second.flags[0] = "--listen";
    second.flags[1] = address;
    cr_expect_eq(server_start_in_vain(&second), 1);
    cr_expect(server_log_has(&second, "cannot listen on"));
    cr_expect(server_log_has(&second, "is another tacet running with this configuration?"));
    cr_expect_neq(access(second.data, F_OK), 0, "a server that never was left a directory");
    server_remove(&second);
    server_close(&first);
}

Test(lifecycle, the_port_file_holds_the_port)
{
    struct server_process server;
    char path[128];
    size_t size = 0;
    server_prepare(&server);
    snprintf(path, sizeof path, "%s/port", server.folder);
    server.flags[0] = "--port-file";
    server.flags[1] = path;
    server_start(&server);
    char *text = read_whole(path, &size);
    cr_assert_not_null(text);
    cr_expect_eq((unsigned)strtoul(text, NULL, 10), server.port);
    free(text);
    server_close(&server);
}

Test(lifecycle, a_database_that_is_none_is_refused_and_untouched)
{
    struct server_process server;
    char path[128], key[128];
    char garbage[8192];
    size_t size = 0;
    server_prepare(&server);
    cr_assert_eq(mkdir(server.data, 0700), 0);
    snprintf(path, sizeof path, "%s/tacet.db", server.data);
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)(i * 31 + 7);
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL && fwrite(garbage, 1, sizeof garbage, file) == sizeof garbage);
    fclose(file);
    snprintf(key, sizeof key, "%s/signing.key", server.data);
    file = fopen(key, "wb");
    cr_assert(file != NULL && fwrite(garbage, 1, 32, file) == 32);
    fclose(file);
    cr_assert(chmod(path, 0600) == 0 && chmod(key, 0600) == 0);
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "tacet.db"));
    char *after = read_whole(path, &size);
    cr_assert_eq(size, sizeof garbage);
    cr_expect_eq(memcmp(after, garbage, size), 0);
    free(after);
    server_remove(&server);
}

Test(lifecycle, a_file_system_that_fills_up_loses_nothing)
{
    struct server_process server;
    char admin[160];
    server_prepare(&server);
    cr_assert_eq(mkdir(server.data, 0700), 0);
    /* In a name space of its own the mount ends with this test, whatever happens. */
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tacet-test", server.data, "tmpfs", 0, "size=3m,mode=700") != 0) {
        server_remove(&server);
        cr_skip("mounting a small file system needs root");
    }
    server_token(&server, "admin", admin);
    server_start(&server);
    struct http_client *client = http_client_new(&server);
    static char name[101];
    memset(name, 'n', 100);
    char body[300];
    long status = 201;
    unsigned made = 0;
    snprintf(body, sizeof body, "{\"name\":\"%s\",\"role\":\"agent\"}", name);
    struct http_call create = {
        .method = "POST", .path = "/v1/clients", .token = admin, .body = body};
    while (status == 201 && made < 100000) {
        struct http_answer answer = http_do(client, &create);
        status = answer.status;
        made += status == 201;
        if (status != 201) {
            cr_expect_str_eq(http_text(&answer, "type"), "/problems/storage-full", "%s",
                             answer.body);
            cr_expect_not_null(http_header(&answer, "Retry-After"));
        }
        http_answer_clear(&answer);
    }
    cr_expect_eq(status, 503);
    /* Still alive, reading works, and what was acknowledged is there after a restart. */
    struct http_call look = {.method = "GET", .path = "/v1/clients?page_size=1", .token = admin};
    struct http_answer answer = http_expect(client, 200, &look);
    http_answer_clear(&answer);
    cr_expect_eq(server_end(&server, SIGKILL), 1000 + SIGKILL);
    cr_assert_eq(mount("tacet-test", server.data, "tmpfs", MS_REMOUNT, "size=8m,mode=700"), 0);
    server_start(&server);
    http_client_move(client, &server);
    unsigned listed = 0;
    char path[512] = "/v1/clients?page_size=1000";
    for (bool more = true; more;) {
        look.path = path;
        answer = http_expect(client, 200, &look);
        listed += (unsigned)json_array_size(json_object_get(answer.json, "items"));
        more = http_text(&answer, "next_page_token")[0] != '\0';
        snprintf(path, sizeof path, "/v1/clients?page_size=1000&page_token=%s",
                 http_text(&answer, "next_page_token"));
        http_answer_clear(&answer);
    }
    cr_expect_eq(listed, made + 1);
    http_client_free(client);
    cr_expect_eq(server_end(&server, SIGTERM), 0);
    umount2(server.data, MNT_DETACH);
    server_remove(&server);
}

Test(lifecycle, a_start_on_a_full_disk_says_that_it_is_full)
{
    struct server_process server;
    char token[160], line[400];
    server_prepare(&server);
    cr_assert_eq(mkdir(server.data, 0700), 0);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tacet-test", server.data, "tmpfs", 0, "size=8m,mode=700") != 0) {
        server_remove(&server);
        cr_skip("mounting a small file system needs root");
    }
    server_token(&server, "admin", token);
    server_start(&server);
    struct http_client *client = http_client_new(&server);
    struct http_answer answer =
        http_expect(client, 503, &(struct http_call){.method = "GET", .path = "/healthz/ready"});
    cr_expect_not_null(strstr(http_text(&answer, "detail"), "has less than 16 MiB free"), "%s",
                       answer.body);
    http_answer_clear(&answer);
    http_client_free(client);
    cr_expect_eq(server_end(&server, SIGTERM), 0);
    snprintf(line, sizeof line, "cat /dev/zero >%s/fill 2>/dev/null", server.data);
    cr_expect_neq(system(line), 0);
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "The disk of the data directory is full: 0 KiB are free"));
    char out[8000];
    cr_expect_eq(tacet_run(out, sizeof out, "doctor", "--data", server.data, NULL), 1);
    cr_expect_not_null(strstr(out,
                              "FAIL  disk       0 MiB (0 %) are free: below 16 MiB the service "
                              "is not ready"),
                       "%s", out);
    umount2(server.data, MNT_DETACH);
    server_remove(&server);
}

/* Sends the head of an admin's call whose body of SIZE bytes will come when it is asked for. */
static int begin_call(struct server_process *server, int size)
{
    char token[160], head[512];
    int handle = raw_connect(server);
    server_token(server, "admin", token);
    snprintf(head, sizeof head,
             "POST /v1/clients HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/json\r\nContent-Length: %d\r\n"
             "Expect: 100-continue\r\n\r\n",
             token, size);
    cr_assert(raw_send(handle, head));
    return handle;
}

Test(lifecycle, a_second_signal_ends_it_at_once)
{
    struct server_process server;
    server_open(&server, "--drain-timeout", "3600", "--idle-timeout", "3600", "--body-timeout",
                "3600", NULL);
    /* A request whose body never comes keeps the drain waiting. */
    char answer[256];
    int handle = begin_call(&server, 9);
    raw_receive(handle, answer, sizeof answer, false);
    cr_assert_eq(strncmp(answer, "HTTP/1.1 100", 12), 0, "%s", answer);
    kill(server.pid, SIGTERM);
    while (!server_log_has(&server, "event=draining"))
        usleep(10000);
    cr_expect_eq(server_end(&server, SIGTERM), 1);
    close(handle);
    server_remove(&server);
}

/* Another process has the database (SQLite, byte 120 of the shared memory: the lock of who writes),
 * and a refusal is still to be written into the audit trail. */
Test(lifecycle, an_end_does_not_wait_for_a_database_that_is_held)
{
    struct server_process server;
    char path[128], token[160];
    server_prepare(&server);
    server.flags[0] = "--drain-timeout=1";
    server_token(&server, "student", token);
    server_start(&server);
    struct http_client *client = http_client_new(&server);
    snprintf(path, sizeof path, "%s/tacet.db-shm", server.data);
    int file = open(path, O_RDWR | O_CLOEXEC);
    cr_assert_geq(file, 0);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1};
    cr_assert_eq(fcntl(file, F_SETLKW, &whole), 0);
    struct http_answer answer =
        http_expect(client, 403,
                    &(struct http_call){
                        .method = "POST", .path = "/v1/datasets", .token = token, .body = "{}"});
    http_answer_clear(&answer);
    cr_expect_eq(server_end(&server, SIGTERM), 0);
    cr_expect(server_log_has(&server, "event=drain-cut-off"));
    close(file);
    http_client_free(client);
    server_remove(&server);
}

/* Its database takes the connection and says nothing. */
Test(lifecycle, a_signal_ends_it_while_it_starts)
{
    struct server_process server;
    char url[64];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listening, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(listening, 4), 0);
    cr_assert_eq(getsockname(listening, (struct sockaddr *)&address, &size), 0);
    snprintf(url, sizeof url, "--database=postgresql://127.0.0.1:%u/x", ntohs(address.sin_port));
    server_prepare(&server);
    server.flags[0] = url;
    server_begin(&server);
    int peer = accept(listening, NULL, NULL);
    cr_expect_eq(server_end(&server, SIGTERM), 0);
    cr_expect(server_log_has(&server, "it was starting"));
    close(peer);
    close(listening);
    server_remove(&server);
}

Test(lifecycle, a_drain_answers_what_runs_and_refuses_what_comes)
{
    struct server_process server;
    char answer[2048];
    server_open(&server, NULL);
    int running = begin_call(&server, 2);
    int idle = raw_connect(&server);
    cr_assert(raw_send(idle, "GET /healthz/live HTTP/1.1\r\nHost: t\r\n\r\n"));
    raw_receive(idle, answer, sizeof answer, false);
    raw_receive(running, answer, sizeof answer, false);
    kill(server.pid, SIGTERM);
    while (!server_log_has(&server, "event=draining"))
        usleep(10000);
    /* The log line comes just before the doors close; refusals begin at once after it. */
    do {
        cr_assert(raw_send(idle, "GET /healthz/live HTTP/1.1\r\nHost: t\r\n\r\n"));
        raw_receive(idle, answer, sizeof answer, false);
    } while (strncmp(answer, "HTTP/1.1 200", 12) == 0);
    cr_expect_eq(strncmp(answer, "HTTP/1.1 503", 12), 0, "%s", answer);
    cr_assert(raw_send(running, "{}"));
    raw_receive(running, answer, sizeof answer, true);
    cr_expect_eq(strncmp(answer, "HTTP/1.1 422", 12), 0, "%s", answer);
    close(running);
    close(idle);
    cr_expect_eq(server_end(&server, 0), 0);
    server_remove(&server);
}
