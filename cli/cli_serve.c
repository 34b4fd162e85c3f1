/* tacet serve: reads the settings, runs the service until it is told to stop.
 *
 * SIGTERM and SIGINT drain: requests that run are answered, jobs save themselves, exit 0. What is
 * still running after --drain-timeout is cut off, which is no worse than a crash: nothing that was
 * acknowledged is lost. A second signal ends the process at once. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/worlds/worlds.h"
#include "cli/cli.h"
#include "server/config.h"
#include "server/data_dir.h"
#include "server/log.h"
#include "server/server.h"

#define DRAIN_STEP_MS 20

int64_t cli_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void print_help(void)
{
    printf("usage: tacet serve [flags]\n\n"
           "Runs the service. Each flag may also be set in the environment, under the name below\n"
           "it; a flag wins. The address is printed when the service is ready.\n\n");
    config_print_help(stdout);
}

static bool check_config(const struct config *config, char *error, size_t size)
{
    enum log_level level;
    if (strcmp(config->database, "sqlite") != 0) {
        snprintf(error, size, "--database: \"%s\" is not known; sqlite is the only one",
                 config->database);
        return false;
    }
    if (!log_level_from_name(config->log_level, &level)) {
        snprintf(error, size, "--log-level: \"%s\" is none of error, warn, info, debug",
                 config->log_level);
        return false;
    }
    log_set_level(level);
    return true;
}

/* The word of a world's program, quotes made harmless. */
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

/* Asks each declared program what it is: one that does not answer well is found out now. */
static struct worlds *open_worlds(const struct config *config, char *error, size_t size)
{
    const struct worlds_settings settings = {
        .declared = config->worlds.texts,
        .declared_count = config->worlds.count,
        .answer_s = (unsigned)config->world_timeout_s,
        .run_s = (unsigned)config->world_run_timeout_s,
        .memory_bytes = config->world_memory_bytes,
        .said = log_world,
    };
    return worlds_open(&settings, error, size);
}

/* Says where we are, to people and to scripts. */
static bool announce(const struct config *config, const struct server *server, char *error,
                     size_t size)
{
    char port[16];
    snprintf(port, sizeof port, "%u\n", server_port(server));
    if (config->port_file[0] != '\0' && !data_dir_write_whole(config->port_file, port, error, size))
        return false;
    printf("listening on %s\n", server_url(server));
    fflush(stdout);
    log_event(LOG_LEVEL_INFO, "ready", "url=%s", server_url(server));
    return true;
}

/* True: quiet. False: time is up. A second signal does not come back. */
static bool wait_until_quiet(struct server *server, const sigset_t *signals, uint64_t timeout_s)
{
    int64_t deadline = cli_now_ms() + (int64_t)timeout_s * 1000;
    struct timespec step = {.tv_nsec = DRAIN_STEP_MS * 1000000L};
    while (!server_is_quiet(server)) {
        if (cli_now_ms() > deadline)
            return false;
        if (sigtimedwait(signals, NULL, &step) > 0) {
            log_event(LOG_LEVEL_WARN, "stopped-at-once", "why=\"second signal\"");
            _exit(1);
        }
    }
    return true;
}

static int run(const struct config *config, const struct worlds *worlds)
{
    char error[512] = "";
    sigset_t signals;
    int signal_number = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    umask(077);

    struct server *server = server_start(config, worlds, error, sizeof error);
    if (!server) {
        fprintf(stderr, "tacet serve: %s\n", error);
        return 1;
    }
    bool announced = announce(config, server, error, sizeof error);
    if (announced) {
        while (sigwait(&signals, &signal_number) != 0)
            continue;
        log_event(LOG_LEVEL_INFO, "draining", "signal=%d", signal_number);
    } else {
        fprintf(stderr, "tacet serve: %s\n", error);
    }
    server_drain(server);
    if (!wait_until_quiet(server, &signals, config->drain_timeout_s)) {
        log_event(LOG_LEVEL_WARN, "drain-cut-off", "after_s=%llu",
                  (unsigned long long)config->drain_timeout_s);
        fflush(stdout);
        _exit(announced ? 0 : 1);
    }
    server_stop(server);
    log_event(LOG_LEVEL_INFO, "stopped", "signal=%d", signal_number);
    return announced ? 0 : 1;
}

int cli_serve(int argc, char **argv)
{
    struct config config;
    char error[512] = "";
    bool help = false;
    bool good = config_read(&config, argc, argv, getenv, &help, error, sizeof error);
    if (good && help) {
        print_help();
        return 0;
    }
    if (!good || !check_config(&config, error, sizeof error)) {
        fprintf(stderr, "tacet serve: %s\n", error);
        return 2;
    }
    struct worlds *worlds = open_worlds(&config, error, sizeof error);
    if (!worlds) {
        fprintf(stderr, "tacet serve: %s\n", error);
        return 2;
    }
    int code = run(&config, worlds);
    worlds_close(worlds);
    return code;
}
