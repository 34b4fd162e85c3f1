/* The watcher's messages come one after another; what is broken leaves the keys as they were. */
#include "server/issuer.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/identity/identity.h"
#include "api/identity/jwks.h"
#include "memory/memory.h"
#include "server/issuer_watch.h"
#include "server/os/log.h"

#define FIRST_MS 20000 /* for the first message */

struct issuer {
    struct identity *identity;
    pid_t watcher;
    int from; /* the pipe */
    int stop[2];
    pthread_t thread;
    bool follows;
    char text[JWKS_BYTES_MOST + 2];
};

static const char *const ROLES[] = {"admin", "steward", "contributor", "student",
                                    "agent", "auditor", NULL};

/* ---- messages */

static bool issuer_read(int from, void *out, size_t size)
{
    char *at = out;
    while (size > 0) {
        ssize_t n = read(from, at, size);
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Takes one message. False: the watcher is gone. NULL in *WHY: the keys are those that it sent. */
static bool take_message(struct issuer *issuer, const char **why)
{
    struct issuer_message message;
    *why = NULL;
    if (!issuer_read(issuer->from, &message, sizeof message) ||
        message.size >= sizeof issuer->text ||
        !issuer_read(issuer->from, issuer->text, message.size))
        return false;
    issuer->text[message.size] = '\0';
    if (!message.good)
        *why = issuer->text;
    else if (identity_set_keys(issuer->identity, issuer->text, message.size, why))
        *why = NULL;
    return true;
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
    struct pollfd watched[] = {{.fd = issuer->from, .events = POLLIN},
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

static bool start_watcher(struct issuer *issuer, const char *source)
{
    int ends[2];
    if (pipe2(issuer->stop, O_CLOEXEC) != 0)
        return false;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    issuer->watcher = fork();
    if (issuer->watcher == 0)
        issuer_watch(source, ends[1]);
    issuer->from = ends[0];
    close(ends[1]);
    return issuer->watcher > 0;
}

/* Waits for the first message. False: it did not come, or says that a file has no keys. */
static bool issuer_first(struct issuer *issuer, const char *source, char *error, size_t error_size)
{
    struct pollfd first = {.fd = issuer->from, .events = POLLIN};
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

struct issuer *issuer_open(const struct config *config, char *error, size_t error_size)
{
    const struct identity_settings settings = {
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
    issuer->from = issuer->stop[0] = issuer->stop[1] = -1;
    issuer->identity = identity_new(&settings, &why);
    if (!issuer->identity)
        snprintf(error, error_size, "--oidc-role-map: %s", why);
    else if (!start_watcher(issuer, source))
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
    if (issuer->from >= 0)
        close(issuer->from);
    if (issuer->watcher > 0)
        waitpid(issuer->watcher, NULL, 0);
    identity_free(issuer->identity);
    free(issuer);
}
