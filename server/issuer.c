/* The watcher's packets come one after another; what is broken leaves the keys as they were. */
#include "server/issuer.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/identity/identity.h"
#include "memory/memory.h"
#include "server/issuer_watch.h"
#include "server/os/log.h"

#define FIRST_MS 20000 /* for the first message */

struct issuer {
    struct identity *identity;
    pid_t watcher;
    int watch; /* the socket to it */
    int stop[2];
    pthread_t thread;
    bool follows;
    struct issuer_message message;
};

static const char *const ROLES[] = {"admin", "steward", "contributor", "student",
                                    "agent", "auditor", "monitor",     NULL};

/* ---- messages */

/* Takes one message. False: the watcher is gone. NULL in *WHY: the keys are those that it sent. */
static bool take_message(struct issuer *issuer, const char **why)
{
    struct issuer_message *message = &issuer->message;
    const size_t head = offsetof(struct issuer_message, text);
    ssize_t n = recv(issuer->watch, message, sizeof *message - 1, 0);
    *why = NULL;
    if (n < (ssize_t)head || (size_t)n - head != message->size ||
        message->size >= sizeof message->text)
        return false;
    message->text[message->size] = '\0';
    if (!message->good)
        *why = message->text;
    else if (identity_set_keys(issuer->identity, message->text, message->size, why))
        *why = NULL;
    return true;
}

/* Asks for an early fetch. The watcher decides whether it is time. */
static void ask_early(void *context)
{
    const struct issuer *issuer = context;
    (void)send(issuer->watch, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void log_outcome(const char *why)
{
    if (why)
        log_event(LOG_LEVEL_WARN, "issuer-keys-failed",
                  "why=\"%.300s\" note=\"the keys stay as they were\"", why);
    else
        log_event(LOG_LEVEL_INFO, "issuer-keys-taken", "note=\"the issuer's keys are known\"");
}

static void *issuer_run(void *context)
{
    struct issuer *issuer = context;
    struct pollfd watched[] = {{.fd = issuer->watch, .events = POLLIN},
                               {.fd = issuer->stop[0], .events = POLLIN}};
    const char *why;
    for (;;) {
        if (poll(watched, 2, -1) < 0)
            continue;
        if (watched[1].revents != 0)
            return NULL;
        if (!take_message(issuer, &why)) {
            log_event(LOG_LEVEL_ERROR, "issuer-watcher-gone",
                      "note=\"the issuer's keys stay as they are until the server is restarted\"");
            return NULL;
        }
        log_outcome(why);
    }
}

/* ---- life */

/* The process keeps nothing of CONFIG but the source: the master key and a password are there. */
static bool start_watcher(struct issuer *issuer, struct config *config)
{
    int ends[2];
    if (pipe2(issuer->stop, O_CLOEXEC) != 0)
        return false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    issuer->watcher = fork();
    if (issuer->watcher == 0) {
        const char *source = memory_copy_text(config->oidc_jwks);
        sodium_memzero(config, sizeof *config);
        issuer_watch(source, ends[1]);
    }
    issuer->watch = ends[0];
    close(ends[1]);
    return issuer->watcher > 0;
}

/* Waits for the first message. False: it did not come, or says that a file has no keys. */
static bool issuer_first(struct issuer *issuer, const char *source, char *error, size_t error_size)
{
    struct pollfd first = {.fd = issuer->watch, .events = POLLIN};
    const char *why = "nothing was read within 20 seconds";
    if (poll(&first, 1, FIRST_MS) > 0 && !take_message(issuer, &why))
        why = "the process that reads it has ended";
    if (!why)
        return true;
    if (issuer_is_address(source)) {
        log_outcome(why);
        return true;
    }
    snprintf(error, error_size, "--oidc-jwks %.200s: %.200s", source, why);
    return false;
}

struct issuer *issuer_open(struct config *config, char *error, size_t error_size)
{
    struct identity_settings settings = {
        .issuer = config->oidc_issuer,
        .audience = config->oidc_audience,
        .roles_claim = config->oidc_roles_claim,
        .role_map = config->oidc_role_map.text,
        .role_map_count = config->oidc_role_map.count,
        .role_names = config->oidc_admin ? ROLES : ROLES + 1,
    };
    const char *source = config->oidc_jwks;
    error[0] = '\0';
    if (config->oidc_issuer[0] == '\0')
        return NULL;
    const char *why = issuer_source_wrong(source);
    if (why) {
        snprintf(error, error_size, "--oidc-jwks: %s", why);
        return NULL;
    }
    struct issuer *issuer = memory_new(1, sizeof *issuer);
    issuer->watch = issuer->stop[0] = issuer->stop[1] = -1;
    settings.unknown_key = ask_early;
    settings.unknown_key_context = issuer;
    issuer->identity = identity_new(&settings, &why);
    if (!issuer->identity)
        snprintf(error, error_size, "--oidc-role-map: %s", why);
    else if (!start_watcher(issuer, config))
        snprintf(error, error_size, "--oidc-jwks: no process can be started");
    else if (issuer_first(issuer, source, error, error_size))
        return issuer;
    issuer_close(issuer);
    return NULL;
}

struct identity *issuer_identity(struct issuer *issuer)
{
    return issuer ? issuer->identity : NULL;
}

bool issuer_follow(struct issuer *issuer)
{
    issuer->follows = pthread_create(&issuer->thread, NULL, issuer_run, issuer) == 0;
    return issuer->follows;
}

void issuer_close(struct issuer *issuer)
{
    if (!issuer)
        return;
    if (issuer->stop[1] >= 0)
        close(issuer->stop[1]);
    if (issuer->follows)
        pthread_join(issuer->thread, NULL);
    if (issuer->stop[0] >= 0)
        close(issuer->stop[0]);
    if (issuer->watch >= 0)
        close(issuer->watch);
    if (issuer->watcher > 0)
        waitpid(issuer->watcher, NULL, WNOHANG); /* it may wait for its address */
    identity_free(issuer->identity);
    free(issuer);
}
