/* An agent against a server that is busy: it waits as long as it is told, and sends one report, the
 * same bytes under the same key, however often it must. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agent_life.h"
#include "cli/http_out.h"
#include "tests/unit/cli/fake_server.h"

#define CLOSE        "Connection: close\r\n\r\n"
#define BUSY(status) "HTTP/1.1 " status "\r\nRetry-After: 1\r\nContent-Length: 0\r\n" CLOSE

enum { PARAMETERS = 4 * 1 + 1 * 2 + 1 }; /* one hidden unit */

static const struct agent_task *task_of(struct agent_task *task)
{
    *task = (struct agent_task){.aggregation = "agg_1", .max_steps = 20};
    struct agent_terms *terms = &task->terms;
    terms->net = (struct actor_critic){4, 1, 2};
    terms->loss =
        (struct a3c_settings){.discount = 0.99, .value_weight = 0.5, .entropy_weight = 0.01};
    terms->submissions_per_agent = 1;
    const struct local_parameters parameters = {
        .dimension = PARAMETERS, .epsilon = 2.0, .clip = 1.0};
    cr_assert_eq(actor_critic_count(&terms->net), PARAMETERS);
    cr_assert_null(local_scheme_make(&local_privunit, &parameters, &terms->scheme));
    task->env = env_find("cartpole");
    return task;
}

static void answer_of(const char *status, const char *body, char *out, size_t size)
{
    snprintf(out, size, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n" CLOSE "%s", status, strlen(body),
             body);
}

/* The value of a header of a request. */
static void header_of(const char *heard, const char *name, char out[64])
{
    const char *at = strstr(heard, name);
    cr_assert_not_null(at, "%s", heard);
    cr_assert_eq(sscanf(at + strlen(name), " %63[^\r]", out), 1);
}

struct waits {
    unsigned count;
    double shortest;
};

static void note_wait(void *context, const char *why, double seconds)
{
    struct waits *waits = context;
    (void)why;
    waits->shortest = waits->count == 0 || seconds < waits->shortest ? seconds : waits->shortest;
    waits->count++;
}

Test(agent_life, waits_as_long_as_it_is_told_and_sends_the_same_report)
{
    char parameters[600], accepted[300];
    answer_of("200 OK",
              "{\"version\":1,\"state\":\"open\",\"parameters\":[0.1,0.2,0.3,0.4,0.5,0.6,0.7],"
              "\"exploration\":0.5,\"reports_left\":1,\"report_seed\":\""
              "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"}",
              parameters, sizeof parameters);
    answer_of("202 Accepted", "{\"version\":2}", accepted, sizeof accepted);
    struct fake_server *server = fake_server_start((const char *const[]){
        BUSY("429 Too Many Requests"), parameters, BUSY("503 Service Unavailable"),
        BUSY("429 Too Many Requests"), accepted, NULL});
    struct waits waits = {0};
    struct http_out *out = NULL;
    cr_assert_null(http_out_open(&(struct http_out_settings){.base = fake_server_base(server),
                                                             .token = "tct_a_b",
                                                             .patience_s = 60,
                                                             .waiting = note_wait,
                                                             .context = &waits},
                                 &out));
    struct agent_task task;
    struct agent_room room;
    cr_assert(agent_room_init(&room, task_of(&task)));
    double physics[ENV_MAX_PARAMETERS], score = 0.0;
    int64_t version = 0;
    char why[PROBLEM_LINE_SIZE] = "";
    struct rng rng;
    rng_seed(&rng, 1, 1);
    env_defaults(task.env, physics);
    cr_expect_eq(agent_report(out, &task, &room, physics, &rng, &score, &version, why),
                 AGENT_REPORTED, "%s", why);
    cr_expect_eq(version, 2);
    cr_expect_eq(waits.count, 3);
    cr_expect_geq(waits.shortest, 1.0);
    cr_assert_eq(fake_server_stop(server), 5);
    char key[64], first[64];
    const char *body = strstr(fake_server_heard(server, 2), "\r\n\r\n");
    header_of(fake_server_heard(server, 2), "Idempotency-Key:", first);
    cr_assert_not_null(body);
    for (unsigned i = 3; i < 5; i++) {
        header_of(fake_server_heard(server, i), "Idempotency-Key:", key);
        cr_expect_str_eq(key, first);
        cr_expect_str_eq(strstr(fake_server_heard(server, i), "\r\n\r\n"), body);
    }
    agent_room_clear(&room, &task);
    http_out_close(out);
    fake_server_free(server);
}
