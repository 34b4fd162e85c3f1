/* What only a running server shows: its log and its metrics, with kill -9 in the middle of jobs, of
 * two datasets that differ in one expert. (All else is in tests/unit/noninterference.) */
#include <criterion/criterion.h>
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/desk.h"
#include "tests/http/scene.h"

#define SMALL "\"parameters\":{\"hidden\":[8],\"batch_size\":4,\"steps\":%d}"

/* Jobs that end by themselves, and those that are killed. */
static const struct {
    const char *members;
    int steps;
    bool killed;
} jobs[] = {
    {"\"mechanism\":\"dpsgd\",\"privacy\":{\"force\":true,\"epsilon\":1,\"delta\":1e-6},", 20,
     false},
    {"\"mechanism\":\"none\",\"i_understand\":\"not_private\",", 20, false},
    {"\"shards\":3,", 20, false},
    {"\"mechanism\":\"dpsgd\",\"privacy\":{\"force\":true,\"epsilon\":1,\"delta\":1e-6},", 4000,
     true},
    {"\"mechanism\":\"none\",\"i_understand\":\"not_private\",", 4000, true},
};

/* ---- forms */

/* Writes LINE without what differs between any two runs: identifiers, and numbers that follow one
 * of NAMES ("us="), a list up to a NULL. */
static void write_form(FILE *out, const char *line, const char *const *names)
{
    while (*line != '\0') {
        const char *const *name = names;
        while (*name && strncmp(line, *name, strlen(*name)) != 0)
            name++;
        if (*name) {
            fputs(*name, out);
            line += strcspn(line, "= ") + 1;
            line += strcspn(line, " \n");
        } else if (strncmp(line, "job_", 4) == 0) {
            fputs("job_", out);
            line += 4 + strspn(line + 4, "0123456789abcdefghijklmnopqrstuvwxyz");
        } else {
            fputc(*line++, out);
        }
    }
    fputc('\n', out);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of TEXT (which is cut up) that WRITE keeps, sorted: threads write in any order. */
static char *lines_of(char *text, bool (*write)(FILE *out, const char *line))
{
    char *lines[4096], *form = NULL;
    size_t count = 0, size = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        FILE *out = open_memstream(&form, &size);
        cr_assert(out && count < sizeof lines / sizeof lines[0]);
        bool kept = write(out, line);
        fclose(out);
        if (kept)
            lines[count++] = form;
        else
            free(form);
    }
    qsort(lines, count, sizeof lines[0], by_text);
    FILE *out = open_memstream(&form, &size);
    for (size_t i = 0; i < count; i++) {
        fputs(lines[i], out);
        free(lines[i]);
    }
    fclose(out);
    return form;
}

/* Requests of this test's own waiting are left out: their number is the time that it waited. */
static bool write_log(FILE *out, const char *line)
{
    static const char *const names[] = {
        "time=",       "us=",     "ms=",       "url=",         "note=\"/tmp", "step=",
        "request_id=", "client=", "resource=", "traceparent=", NULL};
    write_form(out, line, names);
    return !strstr(line, "route=/v1/jobs/{id} ");
}

/* Every name and label; of counters of requests the values, too, but for those of waiting. */
static bool write_metric(FILE *out, const char *line)
{
    bool counts = strncmp(line, "tacet_requests_total", 20) == 0 &&
                  !strstr(line, "\"/v1/jobs/{id}\"") && !strstr(line, "/healthz");
    if (line[0] == '#' || counts)
        fprintf(out, "%s\n", line);
    else
        fprintf(out, "%.*s\n", (int)(strrchr(line, ' ') - line), line);
    return true;
}

/* ---- one world */

static void upload_as(const struct desk *desk, const char *token, const char *dataset, char *lines)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/datasets/%s/trajectories", dataset);
    struct http_answer answer =
        http_expect(desk->client, 201,
                    &(struct http_call){.method = "POST",
                                        .path = path,
                                        .token = token,
                                        .body = lines,
                                        .content_type = "application/x-ndjson"});
    http_answer_clear(&answer);
    free(lines);
}

/* The lines of one expert of so many steps, whose name is x. */
static char *lines_of_x(unsigned steps)
{
    char *lines = scene_trajectories(1, 1, steps, 3), *name = strstr(lines, "\"e0\"");
    memcpy(name, "\"x\" ", 4);
    return lines;
}

static void run_jobs(struct desk *desk, const char *dataset, int from, int end)
{
    char body[400], key[16], path[96], state[16] = "queued";
    for (int i = from; i < end; i++) {
        snprintf(key, sizeof key, "job-%d", i);
        snprintf(body, sizeof body, "{\"algorithm\":\"cql\",\"dataset\":\"%s\",%s" SMALL "}",
                 dataset, jobs[i].members, jobs[i].steps);
        desk_submit(desk, body, key, path);
        for (snprintf(state, sizeof state, "queued");
             jobs[i].killed && strcmp(state, "queued") == 0;)
            desk_wait_past(desk, path, -1, state);
        if (jobs[i].killed)
            desk_restart(desk, SIGKILL, 1000 + SIGKILL);
        struct http_answer job = desk_wait(desk, path);
        cr_expect_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
        http_answer_clear(&job);
    }
}

struct shown {
    char *log, *metrics[2]; /* before the server was killed, and at its end */
};

static char *metrics_now(const struct desk *desk, const char *admin)
{
    struct http_answer answer =
        http_expect(desk->client, 200,
                    &(struct http_call){.method = "GET", .path = "/metrics", .token = admin});
    char *form = lines_of(answer.body, write_metric);
    http_answer_clear(&answer);
    return form;
}

/* A server on which expert x has so many STEPS. */
static struct shown run_world(unsigned steps)
{
    struct server_process server;
    struct desk desk;
    char contributor[160], admin[160], path[128];
    struct shown shown;
    server_open(&server, "--workers", "1", NULL);
    desk_open(&desk, &server);
    server_token(&server, "contributor", contributor);
    server_token(&server, "admin", admin);
    struct http_answer made =
        desk_post(&desk, 201, "/v1/datasets",
                  "{\"name\":\"d\",\"environment\":\"cartpole\",\"nominal_experts\":20,"
                  "\"sensitivity\":\"private\",\"budget\":{\"epsilon\":8,\"delta\":1e-5}}",
                  NULL);
    char *dataset = strdup(http_text(&made, "id"));
    http_answer_clear(&made);
    upload_as(&desk, contributor, dataset, lines_of_x(steps));
    char *lines = scene_trajectories(19, 2, 20, 7);
    desk_fill(&desk, dataset, lines);
    free(lines);
    run_jobs(&desk, dataset, 0, 3);
    shown.metrics[0] = metrics_now(&desk, admin);
    run_jobs(&desk, dataset, 3, 5);
    snprintf(path, sizeof path, "/v1/datasets/%s", dataset);
    made = desk_call(&desk, "DELETE", 204, path, NULL, NULL);
    http_answer_clear(&made);
    shown.metrics[1] = metrics_now(&desk, admin);
    desk_close(&desk);
    cr_assert_eq(server_end(&server, SIGTERM), 0);
    size_t size;
    char *log = read_whole(server.log, &size);
    shown.log = lines_of(log, write_log);
    free(log);
    free(dataset);
    server_remove(&server);
    return shown;
}

Test(noninterference, of_the_log_and_the_metrics, .timeout = 300)
{
    struct shown one = run_world(20), two = run_world(1);
    cr_expect_str_eq(one.log, two.log);
    cr_expect_not_null(strstr(one.log, "event=job-resumed"), "%s", one.log);
    free(one.log);
    free(two.log);
    for (int i = 0; i < 2; i++) {
        cr_expect_str_eq(one.metrics[i], two.metrics[i]);
        free(one.metrics[i]);
        free(two.metrics[i]);
    }
}
