/* Webhooks against targets that are away, refuse, redirect and take, over a restart. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/http/scene.h"

#define KEY "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" /* 24 bytes */

TestSuite(webhooks, .timeout = 600);

/* ---- a target: answers every request with one status, and keeps what it was sent */

struct target {
    int listening;
    unsigned port;
    atomic_int status; /* 302 leads to /elsewhere; 0: reads and never answers */
    atomic_uint asked;
    char last[8000]; /* the last request. Read it when ASKED has grown */
    pthread_t thread;
};

static bool is_whole(const char *request)
{
    const char *body = strstr(request, "\r\n\r\n"), *length = strstr(request, "Content-Length: ");
    return body && length && strlen(body + 4) >= strtoul(length + 16, NULL, 10);
}

static void *serve_target(void *context)
{
    struct target *target = context;
    static const char form[] = "HTTP/1.1 %d Said\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n"
                               "Connection: close\r\n\r\n";
    for (;;) {
        char request[8000] = "", answer[200];
        size_t size = 0;
        ssize_t n = 1;
        int peer = accept(target->listening, NULL, NULL);
        if (peer < 0)
            return NULL;
        while (n > 0 && !is_whole(request)) {
            n = read(peer, request + size, sizeof request - 1 - size);
            size += n > 0 ? (size_t)n : 0;
            request[size] = '\0';
        }
        if (is_whole(request)) {
            int length = snprintf(answer, sizeof answer, form, atomic_load(&target->status));
            memcpy(target->last, request, sizeof request);
            target->asked++;
            n = write(peer, answer, (size_t)length);
        }
        close(peer);
    }
}

static void target_open(struct target *target, int status, unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof address;
    int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    atomic_init(&target->status, status);
    atomic_init(&target->asked, 0);
    target->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(target->listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    cr_assert_eq(bind(target->listening, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(target->listening, 8), 0);
    cr_assert_eq(getsockname(target->listening, (struct sockaddr *)&address, &size), 0);
    target->port = ntohs(address.sin_port);
    cr_assert_eq(pthread_create(&target->thread, NULL, serve_target, target), 0);
}

static void target_close(struct target *target)
{
    shutdown(target->listening, SHUT_RDWR);
    pthread_join(target->thread, NULL);
    close(target->listening);
}

/* Waits until TARGET was asked more than BEFORE times. The suite's time limit ends it otherwise. */
static void wait_asked(struct target *target, unsigned before)
{
    while (atomic_load(&target->asked) <= before)
        usleep(20000);
}

/* The value of the header NAME in REQUEST, as far as SIZE. */
static void header_of(const char *request, const char *name, char *out, size_t size)
{
    const char *at = strstr(request, name);
    cr_assert_not_null(at, "%s in %s", name, request);
    at += strlen(name) + 2;
    snprintf(out, size, "%.*s", (int)strcspn(at, "\r\n"), at);
}

/* "v1," and the HMAC-SHA256 of the text in base64, as a receiver computes it. */
static void sign_again(const char *text, char out[100])
{
    unsigned char key[32], hash[32];
    unsigned size = sizeof hash;
    cr_assert_eq(EVP_DecodeBlock(key, (const unsigned char *)KEY, (int)strlen(KEY)), 24);
    cr_assert_not_null(
        HMAC(EVP_sha256(), key, 24, (const unsigned char *)text, strlen(text), hash, &size));
    memcpy(out, "v1,", 3);
    EVP_EncodeBlock((unsigned char *)out + 3, hash, sizeof hash);
}

/* The last message is good: its signature holds and it tells JOB. */
static void expect_signed(const struct target *target, const char *job)
{
    char id[100], seconds[40], signature[100], expected[100], text[8400];
    header_of(target->last, "webhook-id", id, sizeof id);
    header_of(target->last, "webhook-timestamp", seconds, sizeof seconds);
    header_of(target->last, "webhook-signature", signature, sizeof signature);
    const char *body = strstr(target->last, "\r\n\r\n") + 4;
    snprintf(text, sizeof text, "%s.%s.%s", id, seconds, body);
    sign_again(text, expected);
    cr_expect_str_eq(signature, expected);
    cr_expect_str_eq(id, job);
    cr_expect_not_null(strstr(body, "\"type\":\"job.ended\""), "%s", body);
    cr_expect_not_null(strstr(body, job), "%s", body);
}

/* ---- the service */

static void write_key(const struct server_process *server, unsigned mode, char path[200])
{
    snprintf(path, 200, "%s/hook.key", server->folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs("whsec_" KEY "\n", file);
    fclose(file);
    cr_assert_eq(chmod(path, mode), 0);
}

static void wait_logged(const struct server_process *server, const char *text)
{
    while (!server_log_has(server, text))
        usleep(20000);
}

static void submit(const struct desk *desk, const char *key, char out_path[96])
{
    desk_submit(desk,
                "{\"algorithm\":\"ppo\",\"environment\":\"cartpole\","
                "\"parameters\":{\"transitions\":100000000}}",
                key, out_path);
}

/* Cancels a job that waits behind another one; its id. */
static void end_job(const struct desk *desk, const char *key, char out_job[96])
{
    char path[96], cancel[112];
    submit(desk, key, path);
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer job = desk_post(desk, 200, cancel, NULL, NULL);
    http_answer_clear(&job);
    snprintf(out_job, 96, "%s", path + strlen("/v1/jobs/"));
}

Test(webhooks, tell_of_a_job_until_the_target_takes_it)
{
    struct server_process server;
    struct desk desk;
    struct target target;
    char key[200], setting[400], first[96], second[96], sent[160], path[96];
    target_open(&target, 302, 0);
    server_prepare(&server);
    write_key(&server, 0600, key);
    snprintf(setting, sizeof setting, "all http://127.0.0.1:%u/hook?for=tacet %s", target.port,
             key);
    server.flags[0] = "--webhook";
    server.flags[1] = setting;
    server.flags[2] = "--workers";
    server.flags[3] = "1";
    server_start(&server);
    desk_open(&desk, &server);
    submit(&desk, "it-keeps-the-worker", path);

    end_job(&desk, "one", first);
    wait_asked(&target, 1); /* it redirects: that is no 2xx, and is not followed */
    cr_expect_eq(strncmp(target.last, "POST /hook?for=tacet HTTP/1.1\r\n", 31), 0, "%s",
                 target.last);
    expect_signed(&target, first);
    wait_logged(&server, "the answer is 302, and not 2xx");
    cr_expect_not(server_log_has(&server, "webhook-sent"));

    target_close(&target); /* it is away while the next job ends and the service starts anew */
    end_job(&desk, "two", second);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    target_open(&target, 200, target.port);
    snprintf(sent, sizeof sent, "event=webhook-sent webhook=1 event=%s", first);
    wait_logged(&server, sent);
    snprintf(sent, sizeof sent, "event=webhook-sent webhook=1 event=%s", second);
    wait_logged(&server, sent);
    cr_expect_eq(atomic_load(&target.asked), 2);

    end_job(&desk, "three", second); /* what was taken is not sent again */
    wait_asked(&target, 2);
    expect_signed(&target, second);
    desk_restart(&desk, SIGTERM, 0);
    end_job(&desk, "four", second);
    wait_asked(&target, 3);
    expect_signed(&target, second);
    cr_expect_not(server_log_has(&server, "hook?for"), "the address may be a secret");
    target_close(&target);
    desk_close(&desk);
    server_close(&server);
}

Test(webhooks, are_refused_at_the_start_when_they_could_not_work)
{
    struct server_process server;
    char key[200], setting[400];
    static const char *const wrong[][2] = {
        {"all http://198.51.100.7/hook %s", "an address must begin with https://"},
        {"all https://u:p@127.0.0.1/hook %s", "an address may have no user or password"},
        {"all file:///etc/passwd %s", "an address must begin with https://"},
        {"all https://127.0.0.1/hook", "it is PROJECT ADDRESS KEYFILE"},
        {"all https://127.0.0.1/hook /nowhere/hook.key", "cannot be read"},
        {"all https://127.0.0.1/hook %s", "chmod"},
    };
    server_prepare(&server);
    write_key(&server, 0644, key);
    server.flags[0] = "--webhook";
    server.flags[1] = setting;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t size = strcspn(wrong[i][0], "%");
        snprintf(setting, sizeof setting, "%.*s%s", (int)size, wrong[i][0],
                 wrong[i][0][size] != '\0' ? key : "");
        cr_expect_neq(server_start_in_vain(&server), 0, "%s", setting);
        cr_expect(server_log_has(&server, wrong[i][1]), "%s", setting);
    }
    server_remove(&server);
}
