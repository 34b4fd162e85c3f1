/* DESIGN. A target has one message on its way at a time. After a failure it rests, for twice as
 * long each time and at most five minutes; then the next message has its turn, so that one that the
 * target refuses does not keep back the others. Nothing is kept in memory that a restart would
 * miss. */
#include "server/webhooks/webhooks.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory/memory.h"
#include "server/os/clock.h"
#include "server/os/data_dir.h"
#include "server/os/log.h"
#include "server/os/outgoing.h"
#include "server/webhooks/webhook_post.h"
#include "storage/db/db.h"
#include "storage/projects.h"

#define DAY_MS      INT64_C(86400000)
#define LOOK_MS     2000
#define OUTCOME_MS  30000 /* more than a message may take */
#define REST_MS     1000  /* after a failure */
#define REST_MOST   300000
#define EVENTS_MOST 64 /* at one look */
#define KEY_TEXT    200

struct webhook {
    struct webhooks *all;
    unsigned place;                   /* 1, 2, ...: its name in the log */
    char project[ID_SIZE];            /* "": all */
    char target[WEBHOOK_TARGET_SIZE]; /* stands for project and address in the database */
    const char *address, *key_file;   /* ADDRESS is malloc'ed */
    struct webhook_key key;
    pid_t process;
    int socket;
    pthread_t thread;
    bool runs, gone;
    struct db *db;
    void (*heed)(struct db *db);
    struct webhook_post post;
    unsigned failures; /* in a row */
    char last[WEBHOOK_EVENT_SIZE];
    struct webhook_event events[EVENTS_MOST];
    unsigned count;
};

struct webhooks {
    int stop[2];
    unsigned count;
    struct webhook hooks[WEBHOOKS_MOST];
};

/* ---- what is to be told */

static bool keep_event(void *context, const struct webhook_event *event)
{
    struct webhook *hook = context;
    hook->events[hook->count++] = *event;
    return hook->count < EVENTS_MOST;
}

static void tell_failure(const struct webhook *hook, const char *why)
{
    log_event(LOG_LEVEL_WARN, "webhook-failed",
              "webhook=%u why=\"%s\" note=\"it is tried again for a day\"", hook->place, why);
}

static bool mark_told(struct webhook *hook, const struct webhook_event *event, int64_t now_ms)
{
    enum db_status status = webhooks_told(hook->db, hook->target, event->id, now_ms);
    hook->heed(hook->db);
    return status == DB_OK;
}

/* Leaves out what is a day old. */
static void give_up_old(struct webhook *hook, int64_t now_ms)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < hook->count; i++) {
        const struct webhook_event *event = &hook->events[i];
        if (event->time_ms >= now_ms - DAY_MS)
            hook->events[kept++] = *event;
        else if (mark_told(hook, event, now_ms))
            log_event(LOG_LEVEL_WARN, "webhook-given-up",
                      "webhook=%u event=%s note=\"it is a day old and is not sent any more\"",
                      hook->place, event->id);
    }
    hook->count = kept;
}

/* The event after the one that was tried last. NULL: there is none. */
static const struct webhook_event *next_event(const struct webhook *hook)
{
    for (unsigned i = 0; i + 1 < hook->count; i++)
        if (strcmp(hook->events[i].id, hook->last) == 0)
            return &hook->events[i + 1];
    return hook->count > 0 ? &hook->events[0] : NULL;
}

/* ---- sending */

/* Waits for the outcome of the message under way. False: the service stops or the process is gone.
 */
static bool await_outcome(struct webhook *hook, struct webhook_outcome *out)
{
    struct pollfd watched[] = {{.fd = hook->socket, .events = POLLIN},
                               {.fd = hook->all->stop[0], .events = POLLIN}};
    do {
        int found = poll(watched, 2, OUTCOME_MS);
        if (found > 0 && watched[1].revents != 0)
            return false;
        *out = (struct webhook_outcome){.number = hook->post.number, .why = "no outcome is known"};
        if (found > 0 && recv(hook->socket, out, sizeof *out, 0) != (ssize_t)sizeof *out) {
            hook->gone = true;
            log_event(LOG_LEVEL_ERROR, "webhook-process-gone",
                      "webhook=%u note=\"nothing is sent until the server is restarted\"",
                      hook->place);
            return false;
        }
    } while (out->number != hook->post.number && out->number != 0);
    out->why[sizeof out->why - 1] = '\0';
    return true;
}

static int64_t rest_ms(unsigned failures)
{
    int64_t ms = REST_MS;
    while (failures-- > 1 && ms < REST_MOST)
        ms *= 2;
    return ms < REST_MOST ? ms : REST_MOST;
}

/* Sends EVENT. Gives the milliseconds to rest. */
static int64_t send_event(struct webhook *hook, const struct webhook_event *event, int64_t now_ms)
{
    struct webhook_post *post = &hook->post;
    struct webhook_outcome outcome;
    *post = (struct webhook_post){.number = post->number + 1, .seconds = now_ms / 1000};
    memcpy(post->id, event->id, sizeof post->id);
    memcpy(hook->last, event->id, sizeof hook->last);
    webhook_body(event, post->body);
    webhook_sign(&hook->key, post->id, post->seconds, post->body, post->signature);
    (void)send(hook->socket, post, sizeof *post, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!await_outcome(hook, &outcome))
        return 0;
    if (outcome.taken && mark_told(hook, event, now_ms)) {
        log_event(LOG_LEVEL_INFO, "webhook-sent", "webhook=%u event=%s", hook->place, event->id);
        hook->failures = 0;
        return 0;
    }
    if (hook->failures++ == 0)
        tell_failure(hook, outcome.taken ? db_last_error(hook->db) : outcome.why);
    return rest_ms(hook->failures);
}

/* Gives the milliseconds until the next turn. */
static int64_t webhook_turn(struct webhook *hook)
{
    int64_t now_ms = clock_now_ms();
    hook->count = 0;
    if (webhooks_untold(hook->db, hook->target, hook->project, now_ms - 2 * DAY_MS, keep_event,
                        hook) != DB_OK)
        return LOOK_MS;
    give_up_old(hook, now_ms);
    const struct webhook_event *event = next_event(hook);
    if (!event || db_settle(hook->db) != DB_OK)
        return LOOK_MS;
    return send_event(hook, event, now_ms);
}

static void *webhook_run(void *context)
{
    struct webhook *hook = context;
    struct pollfd stop = {.fd = hook->all->stop[0], .events = POLLIN};
    int64_t rest;
    do {
        rest = webhook_turn(hook);
    } while (!hook->gone && poll(&stop, 1, (int)rest) <= 0);
    return NULL;
}

/* ---- life */

static const char *webhook_next_word(const char *text)
{
    text += strcspn(text, " ");
    return text + strspn(text, " ");
}

const char *webhook_key_file(const char *setting)
{
    return webhook_next_word(webhook_next_word(setting));
}

/* Reads "PROJECT ADDRESS KEYFILE". NULL, or what is wrong with it. */
static const char *read_setting(struct webhook *hook, const char *text)
{
    const char *rest = webhook_next_word(text);
    size_t project = strcspn(text, " "), address = strcspn(rest, " ");
    hook->key_file = webhook_key_file(text);
    if (hook->key_file[0] == '\0' || project == 0)
        return "it is PROJECT ADDRESS KEYFILE, with a project's id or \"all\"";
    if (project >= sizeof hook->project)
        return "its first word is a project's id or \"all\"";
    if (strncmp(text, "all ", 4) != 0)
        snprintf(hook->project, sizeof hook->project, "%.*s", (int)project, text);
    hook->address = memory_must(strndup(rest, address));
    const char *wrong = outgoing_address_wrong(hook->address);
    if (wrong)
        return wrong;
    unsigned char hash[16];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text,
                       (size_t)(rest - text) + address, NULL, 0);
    sodium_bin2hex(hook->target, sizeof hook->target, hash, sizeof hash);
    return NULL;
}

static bool start_process(struct webhook *hook, struct webhooks_secret secret)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    hook->process = fork();
    if (hook->process == 0) {
        sodium_memzero(secret.bytes, secret.size);
        webhook_post_run(hook->address, ends[1]);
    }
    hook->socket = ends[0];
    close(ends[1]);
    return hook->process > 0;
}

static bool read_webhook_key(struct webhook *hook, char *error, size_t error_size)
{
    char text[KEY_TEXT];
    struct stat status = {.st_mode = 0};
    int file = open(hook->key_file, O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 && fstat(file, &status) == 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    if (n < 0) {
        snprintf(error, error_size, "--webhook: the key file %.200s cannot be read",
                 hook->key_file);
        return false;
    }
    text[n] = '\0';
    const char *wrong = webhook_key_read(text, &hook->key);
    sodium_memzero(text, sizeof text);
    if (wrong)
        snprintf(error, error_size, "--webhook: %.200s: %s", hook->key_file, wrong);
    return !wrong && data_dir_check_mode(hook->key_file, status.st_mode, error, error_size);
}

static bool open_targets(struct webhooks *webhooks, const char *const *settings,
                         struct webhooks_secret secret, char *error, size_t error_size)
{
    for (unsigned i = 0; i < webhooks->count; i++) {
        const char *wrong = read_setting(&webhooks->hooks[i], settings[i]);
        if (wrong) {
            snprintf(error, error_size, "--webhook (number %u): %s", i + 1, wrong);
            return false;
        }
    }
    bool good = pipe2(webhooks->stop, O_CLOEXEC) == 0;
    for (unsigned i = 0; i < webhooks->count && good; i++)
        good = start_process(&webhooks->hooks[i], secret);
    if (!good)
        snprintf(error, error_size, "--webhook: no process can be started");
    for (unsigned i = 0; i < webhooks->count && good; i++)
        good = read_webhook_key(&webhooks->hooks[i], error, error_size);
    return good;
}

struct webhooks *webhooks_open(const char *const *settings, size_t count,
                               struct webhooks_secret secret, char *error, size_t error_size)
{
    error[0] = '\0';
    if (count == 0)
        return NULL;
    if (count > WEBHOOKS_MOST) {
        snprintf(error, error_size, "--webhook: there are at most %d", WEBHOOKS_MOST);
        return NULL;
    }
    struct webhooks *webhooks = memory_new(1, sizeof *webhooks);
    webhooks->count = (unsigned)count;
    webhooks->stop[0] = webhooks->stop[1] = -1;
    for (unsigned i = 0; i < webhooks->count; i++) {
        webhooks->hooks[i].all = webhooks;
        webhooks->hooks[i].place = i + 1;
        webhooks->hooks[i].socket = -1;
    }
    if (open_targets(webhooks, settings, secret, error, error_size))
        return webhooks;
    webhooks_close(webhooks);
    return NULL;
}

bool webhooks_look(const char *const *settings, size_t count, char *error, size_t error_size)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        struct webhook *hook = memory_new(1, sizeof *hook);
        const char *wrong = read_setting(hook, settings[i]);
        if (wrong)
            snprintf(error, error_size, "--webhook (number %zu): %s", i + 1, wrong);
        good = !wrong && read_webhook_key(hook, error, error_size);
        free((char *)(uintptr_t)hook->address);
        sodium_memzero(hook, sizeof *hook);
        free(hook);
    }
    return good;
}

unsigned webhooks_count(const struct webhooks *webhooks)
{
    return webhooks ? webhooks->count : 0;
}

bool webhooks_follow(struct webhooks *webhooks, struct db *const *many, void (*heed)(struct db *))
{
    struct project_row project;
    for (unsigned i = 0; i < webhooks_count(webhooks); i++) {
        struct webhook *hook = &webhooks->hooks[i];
        hook->db = many[i];
        hook->heed = heed;
        if (hook->project[0] != '\0' && projects_find(hook->db, hook->project, &project) == DB_NONE)
            log_event(LOG_LEVEL_WARN, "webhook-without-project",
                      "webhook=%u note=\"there is no project %s\"", hook->place, hook->project);
        hook->runs = pthread_create(&hook->thread, NULL, webhook_run, hook) == 0;
        if (!hook->runs)
            return false;
    }
    return true;
}

void webhooks_close(struct webhooks *webhooks)
{
    if (!webhooks)
        return;
    if (webhooks->stop[1] >= 0)
        close(webhooks->stop[1]);
    for (unsigned i = 0; i < webhooks->count; i++) {
        struct webhook *hook = &webhooks->hooks[i];
        if (hook->runs)
            pthread_join(hook->thread, NULL);
        if (hook->socket >= 0)
            close(hook->socket);
        if (hook->process > 0)
            waitpid(hook->process, NULL, WNOHANG); /* it may wait for its target */
        free((char *)(uintptr_t)hook->address);
    }
    if (webhooks->stop[0] >= 0)
        close(webhooks->stop[0]);
    sodium_memzero(webhooks, sizeof *webhooks);
    free(webhooks);
}
