/* The metrics on a listener of their own, and the warning of plain HTTP. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/http/http_client.h"

/* The port of the door of SERVER, which is in the log. */
static unsigned door_port(const struct server_process *server)
{
    size_t length = 0;
    char *log = read_whole(server->log, &length);
    const char *url = strstr(log, "event=metrics url=http://127.0.0.1:");
    cr_assert_not_null(url, "%s", log);
    unsigned port =
        (unsigned)strtoul(url + strlen("event=metrics url=http://127.0.0.1:"), NULL, 10);
    free(log);
    return port;
}

/* Sends REQUEST to the door of SERVER; OUT receives all that comes. */
static size_t door_ask(const struct server_process *server, const char *request, char *out,
                       size_t size)
{
    struct server_process door = *server;
    door.port = door_port(server);
    int handle = raw_connect(&door);
    cr_assert(raw_send(handle, request));
    size_t got = raw_receive(handle, out, size, true);
    close(handle);
    return got;
}

static void expect_line(const char *text, const char *line)
{
    cr_expect_not_null(strstr(text, line), "%s in %s", line, text);
}

Test(metrics_door, tells_jobs_budgets_and_refusals_without_a_token, .timeout = 600)
{
    enum { SIZE = 1 << 17 };
    struct server_process server;
    char token[160], *out = malloc(SIZE);
    server_open(&server, "--metrics-listen", "127.0.0.1:0", NULL);
    server_token(&server, "steward", token);
    struct http_client *client = http_client_new(&server);
    struct http_call call = {.method = "POST",
                             .path = "/v1/datasets",
                             .token = token,
                             .key = "a",
                             .body = "{\"name\":\"d\",\"environment\":\"cartpole\","
                                     "\"budget\":{\"epsilon\":3,\"delta\":1e-6}}"};
    struct http_answer answer = http_expect(client, 201, &call);
    http_answer_clear(&answer);
    call = (struct http_call){.method = "GET", .path = "/v1/datasets/x"};
    answer = http_expect(client, 401, &call);
    http_answer_clear(&answer);
    http_client_free(client);

    door_ask(&server, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", out, SIZE);
    cr_expect_eq(strncmp(out, "HTTP/1.1 200 OK\r\n", 17), 0, "%s", out);
    expect_line(out, "\ntacet_build_info{version=\"");
    expect_line(out, "\nprocess_resident_memory_bytes ");
    expect_line(out, "\ntacet_disk_free_ratio 0.");
    expect_line(out, "\ntacet_jobs{state=\"queued\"} 0\n");
    expect_line(out, "\ntacet_accounts{kind=\"dataset\"} 1\n");
    expect_line(out, "\ntacet_epsilon_left{kind=\"dataset\"} 3\n");
    expect_line(out, "\ntacet_problems_total{problem=\"unauthorized\"} 1\n");
    expect_line(out, "\ntacet_commit_seconds_count 1\n");
    expect_line(out, "\ntacet_requests_total{route=\"/v1/datasets\",status=\"201\"} 1\n");
    cr_expect_null(strstr(out, "cli_"), "no id");
    expect_line(out, "\ntacet_ready 1\n");
    door_ask(&server, "GET /healthz/ready HTTP/1.1\r\n\r\n", out, SIZE);
    cr_expect_eq(strncmp(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json", 47), 0, "%s",
                 out);
    expect_line(out, "{\"status\":\"ready\"");
    chmod(server.data, 0755);
    door_ask(&server, "GET /healthz/ready HTTP/1.1\r\n\r\n", out, SIZE);
    cr_expect_eq(strncmp(out, "HTTP/1.1 503 ", 13), 0, "%s", out);
    expect_line(out, "The data directory is open to others");
    door_ask(&server, "GET /metrics HTTP/1.1\r\n\r\n", out, SIZE);
    expect_line(out, "\ntacet_ready 0\n");
    char base[64];
    snprintf(base, sizeof base, "http://127.0.0.1:%u", door_port(&server));
    cr_expect_eq(tacet_run(out, SIZE, "status", "--server", base, NULL), 1, "%s", out);
    expect_line(out, "NOT READY   http://127.0.0.1:");
    chmod(server.data, 0700);
    cr_expect_eq(tacet_run(out, SIZE, "status", "--server", base, NULL), 0, "%s", out);
    expect_line(out, "up since    20");

    snprintf(base, sizeof base, "%.50s.away", server.data);
    cr_assert_eq(rename(server.data, base), 0);
    door_ask(&server, "GET /metrics HTTP/1.1\r\n\r\n", out, SIZE);
    cr_expect_eq(strncmp(out, "HTTP/1.1 200 OK\r\n", 17), 0, "%s", out);
    expect_line(out, "\ntacet_ready 0\n");
    expect_line(out, "\ntacet_build_info{version=\"");
    expect_line(out, "\ntacet_batches_total 1\n");
    cr_expect_null(strstr(out, "tacet_accounts"), "what needs the database is left out");
    cr_assert_eq(rename(base, server.data), 0);
    door_ask(&server, "GET /metrics HTTP/1.1\r\n\r\n", out, SIZE);
    expect_line(out, "\ntacet_ready 1\n");

    static const char *const others[] = {"GET / HTTP/1.1\r\n\r\n", "POST /metrics HTTP/1.1\r\n\r\n",
                                         "GET /metricsx HTTP/1.1\r\n\r\n",
                                         "GET /healthz/live HTTP/1.1\r\n\r\n",
                                         "GET /v1/clients HTTP/1.1\r\n\r\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        door_ask(&server, others[i], out, SIZE);
        cr_expect_eq(strncmp(out, "HTTP/1.1 404 ", 13), 0, "%s", others[i]);
    }
    free(out);
    cr_expect_not(server_log_has(&server, "event=plain-http"), "nobody else can connect");
    server_close(&server);
}

Test(metrics_door, a_server_that_others_reach_without_tls_warns, .timeout = 600)
{
    struct server_process server;
    server_prepare(&server);
    server.flags[0] = "--listen";
    server.flags[1] = "0.0.0.0:0";
    server.flags[2] = "--metrics-listen"; /* it need not run */
    server.flags[3] = "nowhere";
    cr_expect_eq(server_start_in_vain(&server), 1);
    cr_expect(server_log_has(&server, "level=warn event=plain-http note="));
    cr_expect(server_log_has(&server, "--metrics-listen: \"nowhere\" is not HOST:PORT"));
    server_remove(&server);
}
