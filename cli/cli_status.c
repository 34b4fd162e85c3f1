/* tacet status: a running service in a few lines, from what it tells its watchers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/http_out.h"

struct status_options {
    const char *server, *ca_file;
};

#define FLAG_OPTIONS struct status_options

static const struct flag TABLE[] = {
    {"server", AS_TEXT(server), "http://127.0.0.1:8080", "URL",
     "the service, or the address of its --metrics-listen", FLAG_ENVIRONMENT},
    HTTP_OUT_FLAG_CA(ca_file),
};

static const struct flags FLAGS = {
    .program = "tacet status",
    .usage =
        "usage: tacet status [--server URL] [--ca-file FILE]\n\n"
        "Says what a running service is doing: its version, since when it is up, jobs by state,\n"
        "budgets that are low, the certificate, the last backup, refusals. The token of a monitor "
        "in TACET_TOKEN, or the address\n"
        "of --metrics-listen, shows more than the first line. Exit code 0: it is ready.\n\n",
    FLAG_TABLE(TABLE),
};

/* The value of the metric NAME, with its labels if it has any. False: there is none. */
static bool metric_value(const char *text, const char *name, double *out)
{
    size_t size = strlen(name);
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, size) == 0 && at[size] == ' ') {
            *out = strtod(at + size, NULL);
            return true;
        }
    }
    return false;
}

/* 0 where there is none. */
static double labelled_value(const char *text, const char *name, const char *label,
                             const char *value)
{
    char full[120];
    double found = 0;
    snprintf(full, sizeof full, "%s{%s=\"%s\"}", name, label, value);
    metric_value(text, full, &found);
    return found;
}

/* Writes the time SECONDS, and gives the seconds from then to now. */
static double write_time(double seconds, char out[40])
{
    struct tm utc;
    time_t at = (time_t)seconds;
    gmtime_r(&at, &utc);
    strftime(out, 40, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return difftime(time(NULL), at);
}

static void print_start(const char *text)
{
    double seconds = 0;
    char when[40] = "";
    const char *version = strstr(text, "tacet_build_info{version=\"");
    if (version) {
        version += strlen("tacet_build_info{version=\"");
        printf("version     %.*s\n", (int)strcspn(version, "\""), version);
    }
    if (metric_value(text, "process_start_time_seconds", &seconds)) {
        double age = write_time(seconds, when);
        printf("up since    %s (%.1f hours)\n", when, age / 3600);
    }
}

/* What ends or grows old without a sign. */
static void print_upkeep(const char *text)
{
    double seconds = 0;
    char when[40] = "";
    if (metric_value(text, "tacet_tls_certificate_end_timestamp_seconds", &seconds)) {
        double over = write_time(seconds, when);
        printf("certificate %s %s\n", over > 0 ? "HAS ENDED, at" : "good until", when);
    }
    if (metric_value(text, "tacet_last_backup_timestamp_seconds", &seconds)) {
        double age = write_time(seconds, when);
        if (seconds > 0)
            printf("backed up   %s (%.1f hours ago)\n", when, age / 3600);
        else
            printf("backed up   never since the data directory was made or restored\n");
    }
}

static void print_jobs(const char *text)
{
    static const char *const states[] = {"queued", "running", "succeeded", "failed", "cancelled"};
    printf("jobs       ");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        printf("%s %.0f %s", i > 0 ? "," : "",
               labelled_value(text, "tacet_jobs", "state", states[i]), states[i]);
    printf("\n");
}

static void print_budgets(const char *text)
{
    static const char *const kinds[] = {"dataset", "teacher", "client", "share"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double count = labelled_value(text, "tacet_accounts", "kind", kinds[i]);
        double low = labelled_value(text, "tacet_accounts_low", "kind", kinds[i]);
        if (count > 0)
            printf("budgets     %s: %.0f accounts, %.0f with less than a tenth left; epsilon %.4g "
                   "spent, %.4g held, %.4g left\n",
                   kinds[i], count, low,
                   labelled_value(text, "tacet_epsilon_spent", "kind", kinds[i]),
                   labelled_value(text, "tacet_epsilon_held", "kind", kinds[i]),
                   labelled_value(text, "tacet_epsilon_left", "kind", kinds[i]));
    }
}

static void print_refusals(const char *text)
{
    static const char name[] = "\ntacet_problems_total{problem=\"";
    const char *join = "refusals    ";
    for (const char *at = text; (at = strstr(at, name));) {
        at += strlen(name);
        int size = (int)strcspn(at, "\"");
        printf("%s%.*s %.0f", join, size, at, strtod(at + size + strcspn(at + size, " "), NULL));
        join = ", ";
    }
    if (join[0] == ',')
        printf(" (since it is up)\n");
}

static void print_metrics(const char *text)
{
    double waiting = 0, disk = 0;
    print_start(text);
    print_jobs(text);
    print_budgets(text);
    if (metric_value(text, "tacet_budget_requests_open", &waiting) && waiting > 0)
        printf("requests    %.0f for more budget wait for a steward\n", waiting);
    if (metric_value(text, "tacet_disk_free_ratio", &disk))
        printf("disk        %.0f %% free\n", disk * 100);
    print_upkeep(text);
    print_refusals(text);
}

/* Whether SERVER is the address of --metrics-listen, which has readiness and metrics alone. */
static bool is_metrics_address(struct http_out *server)
{
    struct http_out_answer answer;
    (void)http_out_get(server, "/healthz/live", &answer);
    return answer.http == 404;
}

/* Prints what SERVER says. Gives the exit code. Without TOKEN only the address of --metrics-listen
 * has metrics, and another one would count and log a refusal. */
static int print_status(struct http_out *server, const char *base, const char *token)
{
    static const char more[] = "the token of a monitor in TACET_TOKEN shows more, and so does the "
                               "address of --metrics-listen";
    struct http_out_answer answer;
    enum http_out_status status = http_out_get(server, "/healthz/ready", &answer);
    if (status == HTTP_OUT_UNREACHABLE)
        return cli_complain(&FLAGS, CLI_FAILED, "%s", answer.problem.text);
    bool ready = status == HTTP_OUT_OK;
    if (ready)
        printf("ready       %s\n", base);
    else
        printf("NOT READY   %s: %s\n", base, answer.problem.text);
    if (!token && !is_metrics_address(server)) {
        printf("no more     %s\n", more);
        return ready ? CLI_DONE : CLI_FAILED;
    }
    status = http_out_get(server, "/metrics", &answer);
    if (status == HTTP_OUT_OK)
        print_metrics(answer.body);
    else
        printf("no more     %s (%s)\n", answer.problem.text, more);
    return ready ? CLI_DONE : CLI_FAILED;
}

int cli_status(int argc, char **argv)
{
    struct status_options options = {.ca_file = NULL};
    struct flags_found found;
    struct http_out *server = NULL;
    int status = cli_read_flags(&FLAGS, argc, argv, &options, &found);
    if (status != CLI_GO_ON)
        return status;
    const struct http_out_settings settings = {.base = options.server,
                                               .token = getenv("TACET_TOKEN"),
                                               .ca_file = options.ca_file,
                                               .patience_s = 2};
    const char *why = http_out_open(&settings, &server);
    if (why)
        return cli_complain(&FLAGS, CLI_USAGE, "--server: %s", why);
    status = print_status(server, options.server, settings.token);
    http_out_close(server);
    return status;
}
