/* SIGHUP: a renewed certificate, the log's level and new worlds without a new start, while the
 * process may open no file outside of its data directory. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/http/http_client.h"

static struct server_process server;

static void run_command(const char *format, const char *a, const char *b)
{
    char command[600];
    snprintf(command, sizeof command, format, a, b);
    cr_assert_eq(system(command), 0, "%s", command);
}

/* The fingerprint that COMMAND prints. */
static void fingerprint(const char *command, char out[160])
{
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    cr_assert_not_null(fgets(out, 160, pipe), "%s", command);
    pclose(pipe);
}

/* True when new connections get the certificate of FILE. */
static bool shows(const char *file)
{
    char command[400], shown[160], wanted[160];
    snprintf(command, sizeof command,
             "openssl s_client -connect 127.0.0.1:%u </dev/null 2>/dev/null | "
             "openssl x509 -noout -fingerprint",
             server.port);
    fingerprint(command, shown);
    snprintf(command, sizeof command, "openssl x509 -noout -fingerprint -in %s", file);
    fingerprint(command, wanted);
    return strcmp(shown, wanted) == 0;
}

static void write_settings(const char *text)
{
    char path[160], draft[160];
    snprintf(path, sizeof path, "%s/conf", server.folder);
    snprintf(draft, sizeof draft, "%s/draft", server.folder);
    FILE *file = fopen(draft, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    cr_assert_eq(rename(draft, path), 0);
}

/* Sends SIGHUP and waits until the log has TEXT. */
static void reload_until(const char *text)
{
    kill(server.pid, SIGHUP);
    for (int i = 0; i < 600 && !server_log_has(&server, text); i++)
        usleep(50000);
    cr_assert(server_log_has(&server, text), "%s", text);
}

Test(reload, renews_the_certificate_and_the_log_and_adds_worlds, .timeout = 600)
{
    char conf[160];
    server_prepare(&server);
    snprintf(conf, sizeof conf, "%s/conf", server.folder);
    snprintf(server.certificate, sizeof server.certificate, "%s/cert.pem", server.folder);
    snprintf(server.key, sizeof server.key, "%s/key.pem", server.folder);
    run_command("cp tests/http/tls/certificate.pem %s && cp tests/http/tls/key.pem %s",
                server.certificate, server.key);
    chmod(server.key, 0600);
    write_settings("log-level = warn\nlog-format = json\n");
    server.flags[0] = "--config";
    server.flags[1] = conf;
    server_start(&server);
    cr_expect(shows("tests/http/tls/certificate.pem"));
    cr_expect_not(server_log_has(&server, "\"event\":\"ready\""), "it is of level info");

    run_command("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                "-subj /CN=renewed -keyout %s.new -out %s.new 2>/dev/null",
                server.key, server.certificate);
    run_command("mv %s.new %s", server.key, server.key);
    run_command("mv %s.new %s", server.certificate, server.certificate);
    write_settings("log-level = info\n");
    reload_until("event=reloaded");
    cr_expect(server_log_has(&server, "event=tls-renewed"));
    cr_expect(shows(server.certificate));
    cr_expect_not(server_log_has(&server, "tls-key-exposed"));
    chmod(server.key, 0644);
    reload_until("level=warn event=tls-key-exposed file=");

    run_command("echo nothing > %s && echo %s", server.certificate, "x > /dev/null");
    reload_until("event=reload-failed what=tls why=\"no certificate with its key");
    write_settings("wrkers = 3\n");
    reload_until("did you mean workers?");
    run_command("rm %s && echo %s", server.key, "x > /dev/null");
    reload_until("no PEM file that can be read");
    run_command("cp tests/http/tls/certificate.pem %s.old && echo %s", server.certificate,
                "x > /dev/null");
    cr_expect_not(shows("tests/http/tls/certificate.pem"), "the renewed one stays");

    /* The program says nothing that a world says, which shows that it was started. */
    write_settings("world = nothing=echo nothing\n");
    reload_until("--world nothing: the program ");
    write_settings("world = added=while read -r q; do echo '{\"protocol\":1,\"state_dim\":4,"
                   "\"action_count\":2,\"max_episode_steps\":10}'; done\n");
    reload_until("event=worlds-added count=1");
    cr_expect_not(server_log_has(&server, "reload-waits"), "what is read again does not wait");
    write_settings("workers = 1\naccess-log = on\nlog-level = info\n");
    reload_until("event=reload-waits settings=\"workers, access-log\"");
    write_settings("world = added=echo another\n");
    reload_until("--world added: another command needs a new start");
    cr_expect_eq(server_end(&server, SIGTERM), 0);
    server_remove(&server);
}
