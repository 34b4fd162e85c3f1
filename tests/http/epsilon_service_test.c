/* `tacet epsilon` beside the service: events from a file, and the same digits over HTTP and in the
 * estimate of a job. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/epsilon_run.h"
#include "tests/http/http_client.h"
#include "tests/http/scene.h"

#define SAMPLED "--mechanism subsampled-gaussian "

#define STEPS                                                                                      \
    "{\"type\":\"SelfComposedDpEvent\",\"count\":100000,\"event\":{\"type\":"                      \
    "\"PoissonSampledDpEvent\",\"sampling_probability\":0.0427,\"event\":{\"type\":"               \
    "\"GaussianDpEvent\",\"noise_multiplier\":20}}}"

/* The object that `tacet epsilon --events` prints for TEXT; NULL with OUT filled when it refuses.
 */
static json_t *events(const char *text, char *out, size_t size)
{
    char path[] = "/tmp/tacet-events-XXXXXX", line[200];
    int handle = mkstemp(path);
    cr_assert(handle >= 0 && write(handle, text, strlen(text)) == (ssize_t)strlen(text));
    close(handle);
    snprintf(line, sizeof line, "--events %s --delta 1e-5 --json", path);
    int code = epsilon_run(out, size, line);
    unlink(path);
    cr_expect(code == 0 || code == 2);
    return code == 0 ? json_loads(out, 0, NULL) : NULL;
}

/* The command and the service say the same digits of the same plan. */
Test(epsilon_service, reads_events_and_agrees_with_the_service)
{
    struct server_process server;
    struct scene scene;
    char out[4096];
    server_open(&server, NULL);
    scene_make(&scene, &server, 8, 2);
    json_t *shell = events(STEPS, out, sizeof out);
    cr_assert_not_null(shell, "%s", out);
    struct http_call call = {.method = "POST",
                             .path = "/v1/accounting:compose",
                             .token = scene.auditor,
                             .body = "{\"events\":[" STEPS "],\"delta\":1e-5}"};
    struct http_answer answer = http_expect(scene.client, 200, &call);
    json_t *flags = epsilon_object(
        SAMPLED "--sampling-rate 0.0427 --noise-multiplier 20 --steps 100000 --delta 1e-5");
    cr_expect_eq(json_object_del(answer.json, "events"), 0, "%s", answer.body);
    cr_expect(json_equal(shell, answer.json), "%s %s", out, answer.body);
    cr_expect(json_equal(shell, flags), "%s", out);
    json_decref(shell);
    json_decref(flags);
    http_answer_clear(&answer);
    call.body = "{\"events\":[" STEPS ",{\"type\":\"LaplaceDpEvent\",\"noise_multiplier\":-1}],"
                "\"delta\":1e-5}";
    answer = http_expect(scene.client, 422, &call);
    cr_expect_not_null(strstr(answer.body, "/events/1/noise_multiplier"), "%s", answer.body);
    cr_expect_str_eq(http_text(&answer, "type"), "/problems/validation");
    http_answer_clear(&answer);
    scene_clear(&scene);
    server_close(&server);
}

Test(epsilon_service, says_where_events_are_wrong)
{
    static const char *const cases[][2] = {
        {"[" STEPS ",{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":0}]",
         "/1/noise_multiplier"},
        {"{\"type\":\"SelfComposedDpEvent\",\"count\":2}", "/event"},
        {"{\"type\":\"NoOpDpEvent\"}", "nothing private"},
        {"[{\"type\":\"NonPrivateDpEvent\"}]", "non-private"},
        {"[]", "at least one"},
        {"{\"type\"", "Line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[4096];
        cr_expect_null(events(cases[i][0], out, sizeof out));
        char *end = strchr(out, '\n');
        cr_expect(strstr(out, cases[i][1]) != NULL && strstr(out, "--events") != NULL, "%s: %s",
                  cases[i][0], out);
        cr_expect(end != NULL && end[1] == '\0', "%s", out);
    }
}

/* What a job's estimate says of its Gaussians, from the shell: to the digit. */
Test(epsilon_service, agrees_with_the_estimate_of_a_job)
{
    struct server_process server;
    struct scene scene;
    char dataset[64], body[400], line[400];
    server_open(&server, NULL);
    scene_make(&scene, &server, 8, 2);
    scene_dataset(scene.client, scene.steward, 40, dataset);
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\",\"privacy\":{"
             "\"force\":true,"
             "\"epsilon\":3,\"delta\":1e-6},\"parameters\":{\"arithmetic\":\"float\"}}",
             dataset);
    struct http_call call = {
        .method = "POST", .path = "/v1/jobs:estimate", .token = scene.steward, .body = body};
    struct http_answer answer = http_expect(scene.client, 200, &call);
    const json_t *plan = json_object_get(answer.json, "plan");
    cr_assert(json_is_object(plan), "%s", answer.body);
    snprintf(line, sizeof line,
             SAMPLED "--sampling-rate %.17g --noise-multiplier %.17g --steps %.0f --delta %.17g",
             epsilon_number(plan, "sampling_rate"), epsilon_number(plan, "noise_multiplier"),
             epsilon_number(plan, "steps"), epsilon_number(plan, "delta"));
    json_t *json = epsilon_object(line);
    static const char *const same[] = {"epsilon", "epsilon_lower", "epsilon_renyi"};
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(epsilon_number(json, same[i]), epsilon_number(plan, same[i]), "%s: %s", line,
                     answer.body);
    json_decref(json);
    http_answer_clear(&answer);
    scene_clear(&scene);
    server_close(&server);
}
