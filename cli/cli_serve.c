/* tacet serve and tacet work: read the settings, run the service or its jobs until told to stop.
 *
 * SIGTERM and SIGINT drain: running requests are answered, jobs save themselves, and the process
 * exits with 0. Work that still runs after --drain-timeout is cut off. Like a crash, this loses
 * nothing that was acknowledged. A second signal ends the process at once.
 *
 * SIGHUP reads the file of settings again, for the level and format of the log and for new worlds,
 * and the TLS files. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/worlds/worlds.h"
#include "cli/cli.h"
#include "memory/wipe.h"
#include "server/config.h"
#include "server/os/clock.h"
#include "server/os/confine.h"
#include "server/os/flag_file.h"
#include "server/os/log.h"
#include "server/os/reopen.h"
#include "server/server.h"
#include "server/tls_files.h"
#include "server/webhooks/webhooks.h"

#define DRAIN_STEP_MS 20
#define FOREVER_US    (INT64_C(1) << 61)

/* Logs a line that a world's program wrote; quotes become apostrophes. */
static void log_world(void *context, const char *world, const char *line)
{
    (void)context;
    char text[256];
    size_t size = 0;
    for (; size < sizeof text - 1 && line[size] != '\0'; size++)
        text[size] = line[size] == '"' ? '\'' : line[size];
    text[size] = '\0';
    log_event(LOG_LEVEL_WARN, "world-said", "world=%s line=\"%s\"", world, text);
}

/* True when PATH, or where it will be made, is among the files that a client's program sees. */
static bool runner_sees(const char *path)
{
    static const char *const seen[] = {"/usr/",   "/bin/",   "/sbin/",  "/lib/",
                                       "/lib32/", "/lib64/", "/libx32/"};
    char real[PATH_MAX + 1], parent[PATH_MAX];
    snprintf(parent, sizeof parent, "%s", path);
    if (!realpath(path, real) && !realpath(dirname(parent), real))
        return false;
    strcat(real, "/");
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
        if (strncmp(real, seen[i], strlen(seen[i])) == 0)
            return true;
    return false;
}

static bool runner_misses(const char *path, char *error, size_t size)
{
    if (!path || path[0] == '\0' || !runner_sees(path))
        return true;
    snprintf(error, size,
             "--world-runner: clients' programs could read \"%.300s\", because all below /usr is "
             "theirs to read: move it",
             path);
    return false;
}

/* The programs of clients may read all that is below /usr as this process may. */
static bool runners_see_nothing(const struct config *config, char *error, size_t size)
{
    const char *const paths[] = {config->data,       config->keys_dir, config->key_file,
                                 config->tls_key,    config->marks,    config->config,
                                 config->columns_dir};
    bool good = true;
    for (size_t i = 0; good && i < sizeof paths / sizeof paths[0]; i++)
        good = runner_misses(paths[i], error, size);
    for (size_t i = 0; good && i < config->webhooks.count; i++)
        good = runner_misses(webhook_key_file(config->webhooks.text[i]), error, size);
    return good;
}

/* Asks each declared program what world it is, so that the server does not start with a broken
 * program. */
static struct worlds *open_worlds(struct config *config, char *error, size_t size)
{
    if (config->world_runners.count > 0 && !runners_see_nothing(config, error, size))
        return NULL;
    const struct worlds_settings settings = {
        .declared = config->worlds.text,
        .declared_count = config->worlds.count,
        .runners = config->world_runners.text,
        .runner_count = config->world_runners.count,
        .answer_s = (unsigned)config->world_timeout_s,
        .run_s = (unsigned)config->world_run_timeout_s,
        .memory_bytes = config->world_memory_bytes,
        .file_bytes = config->world_file_bytes,
        .processes = config->world_processes,
        .network = config->world_network,
        .more = config->config && config->config[0] != '\0',
        .secret = config, /* the master key, and the database's password */
        .secret_size = sizeof *config,
        .said = log_world,
    };
    return worlds_open(&settings, error, size);
}

/* ---- the end that does not wait */

/* The main thread may wait for a database at the start and at the end. Beside it, this thread waits
 * for a signal, which it acts on whenever it has taken one. */
struct impatience {
    pthread_t thread;
    bool runs;
    sigset_t signals;
    atomic_bool over;   /* the main thread waits no more */
    bool drains;        /* false: the service starts */
    uint64_t timeout_s; /* while it drains */
};

/* Gives the number of a signal, or -1 when the time is up or the waiting over. */
static int signal_until(const struct impatience *wait, int64_t deadline_us)
{
    const struct timespec step = {.tv_nsec = DRAIN_STEP_MS * 1000000L};
    int number = -1;
    while (number < 0 && !atomic_load(&wait->over) && clock_now_us() < deadline_us)
        number = sigtimedwait(&wait->signals, NULL, &step);
    return number;
}

static void *end_at_once(void *context)
{
    const struct impatience *wait = context;
    int64_t most_us = wait->drains ? (int64_t)wait->timeout_s * 1000000 : FOREVER_US;
    int number = signal_until(wait, clock_now_us() + most_us);
    if (number < 0 && atomic_load(&wait->over))
        return NULL;
    if (!wait->drains)
        log_event(LOG_LEVEL_INFO, "stopped", "signal=%d note=\"it was starting\"", number);
    else if (number > 0)
        log_event(LOG_LEVEL_WARN, "stopped-at-once", "why=\"second signal\"");
    else
        log_event(LOG_LEVEL_WARN, "drain-cut-off", "after_s=%llu",
                  (unsigned long long)wait->timeout_s);
    fflush(stdout);
    _exit(wait->drains && number > 0);
}

static void impatience_begin(struct impatience *wait)
{
    sigemptyset(&wait->signals);
    sigaddset(&wait->signals, SIGTERM);
    sigaddset(&wait->signals, SIGINT);
    wait->runs = pthread_create(&wait->thread, NULL, end_at_once, wait) == 0;
}

static void impatience_end(struct impatience *wait)
{
    if (!wait->runs)
        return;
    atomic_store(&wait->over, true);
    pthread_join(wait->thread, NULL);
}

static void wait_until_quiet(struct server *server)
{
    const struct timespec step = {.tv_nsec = DRAIN_STEP_MS * 1000000L};
    while (!server_is_quiet(server))
        nanosleep(&step, NULL);
}

struct serve_again { /* what a SIGHUP needs */
    int argc;
    char **argv;
    struct reopen *files; /* NULL: there is none to read */
    struct worlds *worlds;
};

/* Logs which settings of FRESH are others than those of CONFIG, which the service runs with, and
 * are not read again. */
static void tell_waiting(const struct config *config, const struct config *fresh)
{
    static const char again[] = " log-level log-format world world-runner ";
    char names[300] = "", name[FLAG_NAME_SIZE + 2];
    size_t used = 0;
    for (size_t i = 0; i < config_flags.count; i++) {
        const struct flag *flag = &config_flags.table[i];
        snprintf(name, sizeof name, " %s ", flag->name);
        if (!flag_same(flag, config, fresh) && !strstr(again, name) && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     used > 0 ? ", " : "", flag->name);
    }
    if (used > 0)
        log_event(LOG_LEVEL_WARN, "reload-waits", "settings=\"%s\" note=\"they need a new start\"",
                  names);
}

/* Reads the file of settings again. False: ERROR holds a sentence. */
static bool reload_settings(const struct config *running, const struct serve_again *again,
                            char *error, size_t size)
{
    struct config config;
    struct flags_found found;
    struct flag_file file = {.text = NULL};
    unsigned added = 0;
    int handle = reopen_file(again->files, SERVER_CONFIG);
    FILE *stream = handle >= 0 ? fdopen(handle, "r") : NULL;
    const char *why = stream ? flag_file_take(stream, &file) : strerror(errno);
    if (handle >= 0 && !stream)
        close(handle);
    if (why) {
        snprintf(error, size, "the file of settings cannot be read: %s", why);
        return false;
    }
    bool good = config_read_text(&config, again->argc, again->argv, file.text, &found);
    wipe_free(file.text);
    sodium_memzero(config.key, sizeof config.key);
    if (!good) {
        snprintf(error, size, "%s", found.error);
        return false;
    }
    log_set_level((enum log_level)config.log_level);
    log_set_format((enum log_format)config.log_format);
    unsigned runners = 0;
    good =
        worlds_add(again->worlds, config.worlds.text, config.worlds.count, &added, error, size) &&
        (config.world_runners.count == 0 || runners_see_nothing(&config, error, size)) &&
        worlds_add_runners(again->worlds, config.world_runners.text, config.world_runners.count,
                           &runners, error, size);
    tell_waiting(running, &config);
    wipe_free(found.file);
    if (added > 0)
        log_event(LOG_LEVEL_INFO, "worlds-added", "count=%u", added);
    if (runners > 0)
        log_event(LOG_LEVEL_INFO, "world-runners-added", "count=%u", runners);
    return good;
}

static void serve_reload(const struct config *config, struct server *server,
                         const struct serve_again *again)
{
    char error[CLI_ERROR_SIZE] = "";
    bool settled = config->config && config->config[0] != '\0';
    bool good = !settled || reload_settings(config, again, error, sizeof error);
    if (!good)
        log_event(LOG_LEVEL_ERROR, "reload-failed", "what=settings why=\"%.400s\"", error);
    bool renewed = !again->files || server_renew(server, again->files, error, sizeof error);
    if (!renewed)
        log_event(LOG_LEVEL_ERROR, "reload-failed",
                  "what=tls why=\"%.400s\" note=\"the certificate stays as it was\"", error);
    if (good && renewed)
        log_event(LOG_LEVEL_INFO, "reloaded",
                  "note=\"log, new worlds and TLS; other settings need a new start\"");
}

/* Says why the service does not start, in the form of its log. Returns STATUS. */
static int start_failed(const struct flags *flags, const struct config *config, int status,
                        const char *error)
{
    if (config->log_format != LOG_FORMAT_JSON)
        return cli_complain(flags, status, "%s", error);
    log_event(LOG_LEVEL_ERROR, "start-failed", "why=\"%s\"", error);
    return status;
}

static int run_service(const struct flags *flags, struct config *config,
                       const struct serve_again *again)
{
    char error[512] = "";
    sigset_t signals;
    int signal_number = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit is an error of its writer */
    umask(077);

    struct impatience starts = {.drains = false};
    impatience_begin(&starts);
    struct server *server = server_start(config, again->worlds, error, sizeof error);
    impatience_end(&starts);
    if (!server)
        return start_failed(flags, config, CLI_FAILED, error);
    if (config->works)
        printf("working\n");
    else
        printf("listening on %s\n", server_url(server));
    fflush(stdout);
    log_event(LOG_LEVEL_INFO, "ready", "url=%s", server_url(server));
    while (sigwait(&signals, &signal_number) != 0 || signal_number == SIGHUP)
        if (signal_number == SIGHUP)
            serve_reload(config, server, again);
    log_event(LOG_LEVEL_INFO, "draining", "signal=%d", signal_number);
    struct impatience drains = {.drains = true, .timeout_s = config->drain_timeout_s};
    impatience_begin(&drains);
    server_drain(server);
    if (!drains.runs) /* there is no thread, so this one waits for the time to be up */
        end_at_once(&drains);
    wait_until_quiet(server);
    server_stop(server);
    impatience_end(&drains);
    log_event(LOG_LEVEL_INFO, "stopped", "signal=%d", signal_number);
    return 0;
}

/* Opens the worlds and runs what CONFIG, read by FLAGS, describes. */
static int run_worlds(const struct flags *flags, struct config *config, int argc, char **argv)
{
    char error[CLI_ERROR_SIZE] = "";
    const char *paths[SERVER_FILES];
    log_set_level((enum log_level)config->log_level);
    log_set_format((enum log_format)config->log_format);
    struct serve_again again = {.argc = argc, .argv = argv};
    confine_from_start(config->confine); /* before a world's program runs */
    server_files(config, paths);
    bool reopens = paths[SERVER_CONFIG][0] != '\0' || paths[SERVER_CERT][0] != '\0';
    if (reopens &&
        !(again.files = reopen_start(paths, SERVER_FILES, config->key, sizeof config->key)))
        return cli_complain(flags, CLI_FAILED, "no process can be started: %s", strerror(errno));
    again.worlds = open_worlds(config, error, sizeof error);
    int code = again.worlds ? run_service(flags, config, &again)
                            : start_failed(flags, config, CLI_USAGE, error);
    worlds_close(again.worlds);
    reopen_end(again.files);
    return code;
}

static int run_config(const struct flags *flags, bool works, int argc, char **argv)
{
    struct config config;
    struct flags_found found;
    sigset_t reload;
    sigemptyset(&reload);
    sigaddset(&reload, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &reload, NULL); /* it waits until there is something to reload */
    if (!config_read(&config, argc, argv, &found))
        return cli_complain(flags, CLI_USAGE, "%s", found.error);
    if (found.help) {
        flags_help(flags, stdout);
        return CLI_DONE;
    }
    config.works = works;
    int code;
    if (works && (config.workers == 0 || strncmp(config.database, "postgres", 8) != 0))
        code = cli_complain(flags, CLI_USAGE,
                            "it needs --database postgresql://... and one of --workers at least");
    else
        code = run_worlds(flags, &config, argc, argv);
    wipe_free(found.file);
    return code;
}

int cli_serve(int argc, char **argv)
{
    return run_config(&config_flags, false, argc, argv);
}

int cli_work(int argc, char **argv)
{
    return run_config(&config_work_flags, true, argc, argv);
}
