/* Mechanism "none" on private data, over HTTP: it is asked for in so many words, and the dataset
 * and everything signed about it say so for ever, through kill -9. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/http/scene.h"

#define UNDERSTOOD "\"i_understand\":\"not_private\","

static struct server_process server;
static struct desk desk;
static char dataset[64];

static void setup(void)
{
    server_open(&server, "--workers", "1", NULL);
    desk_open(&desk, &server);
    scene_dataset(desk.client, desk.steward, 40, dataset);
}

static void teardown(void)
{
    desk_close(&desk);
    server_remove(&server);
}

/* A job without a mechanism; MEMBERS end with a comma. Valid until the next call. */
static const char *plain(const char *members, unsigned steps)
{
    static char body[512];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"none\",\"dataset\":\"%s\",%s"
             "\"parameters\":{\"hidden\":[8],\"batch_size\":8,\"steps\":%u}}",
             dataset, members, steps);
    return body;
}

static const char *private_job(const char *members)
{
    static char body[512];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"dataset\":\"%s\",%s\"privacy\":{\"epsilon\":1,"
             "\"delta\":1e-7},\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":20}}",
             dataset, members);
    return body;
}

static void expect_refused(const char *path, const char *body, const char *key, const char *pointer)
{
    struct http_answer answer = desk_post(&desk, 422, path, body, key);
    json_t *error = json_array_get(json_object_get(answer.json, "errors"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(error, "pointer")), pointer, "%s",
                     answer.body);
    http_answer_clear(&answer);
}

static bool dataset_covered(void)
{
    char path[96];
    snprintf(path, sizeof path, "/v1/datasets/%s", dataset);
    struct http_answer answer = desk_get(&desk, path);
    json_t *covered = json_object_get(answer.json, "covered");
    cr_assert(json_is_boolean(covered), "%s", answer.body);
    cr_expect_eq(json_is_true(covered), json_is_null(json_object_get(answer.json, "uncovered")));
    bool is = json_is_true(covered);
    http_answer_clear(&answer);
    return is;
}

/* Runs the job BODY to its success; its policy. */
static void train(const char *body, const char *key, char out_policy[64])
{
    char path[96];
    desk_submit(&desk, body, key, path);
    struct http_answer job = desk_wait(&desk, path);
    cr_assert_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    snprintf(out_policy, 64, "%s", http_text(&job, "policy"));
    http_answer_clear(&job);
}

/* Whether the certificate at PATH says that the dataset is covered; its warnings agree. */
static bool certified_covered(const char *format, const char *id)
{
    char path[128];
    snprintf(path, sizeof path, format, id);
    struct http_answer answer = desk_get(&desk, path);
    json_t *covered = json_object_get(answer.json, "dataset_covered");
    cr_assert(json_is_boolean(covered), "%s", answer.body);
    bool warned = strstr(answer.body, "does not cover what such jobs") != NULL;
    cr_expect_eq(json_is_true(covered), !warned, "%s", answer.body);
    http_answer_clear(&answer);
    return !warned;
}

static void make_teacher(const char *policy, char out_id[64])
{
    char body[512];
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":0.3},"
             "\"adjacency\":{\"unit\":\"observation\",\"radius\":0.001},"
             "\"budget\":{\"epsilon\":100,\"delta\":1e-5}}",
             policy);
    struct http_answer made = desk_post(&desk, 201, "/v1/teachers", body, NULL);
    snprintf(out_id, 64, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
}

Test(unprotected, a_job_is_refused_until_it_says_what_it_is, .init = setup, .fini = teardown)
{
    static const char *const members[] = {"", "\"i_understand\":\"policies_only\","};
    char none[96];
    for (int i = 0; i < 2; i++) {
        expect_refused("/v1/jobs:estimate", plain(members[i], 20), NULL, "/i_understand");
        expect_refused("/v1/jobs", plain(members[i], 20), i ? "b" : "a", "/i_understand");
    }
    expect_refused("/v1/jobs", private_job(UNDERSTOOD), "c", "/i_understand");
    expect_refused("/v1/jobs", plain("\"shards\":4," UNDERSTOOD, 20), "d", "/i_understand");
    struct http_answer jobs = desk_get(&desk, "/v1/jobs");
    cr_expect_eq(json_array_size(json_object_get(jobs.json, "items")), 0);
    http_answer_clear(&jobs);
    cr_expect(dataset_covered());
    struct http_answer estimate =
        desk_post(&desk, 200, "/v1/jobs:estimate", plain(UNDERSTOOD, 20), NULL);
    cr_expect(json_is_false(json_object_get(estimate.json, "covered")), "%s", estimate.body);
    cr_expect(json_is_string(json_object_get(estimate.json, "uncovered")));
    http_answer_clear(&estimate);
    estimate = desk_post(&desk, 200, "/v1/jobs:estimate", private_job(""), NULL);
    cr_expect(json_is_true(json_object_get(estimate.json, "covered")), "%s", estimate.body);
    http_answer_clear(&estimate);
    cr_expect(dataset_covered(), "an estimate changes nothing");
    desk_submit(&desk, plain("\"shards\":4,", 20), "shards", none);
    cr_expect(dataset_covered(), "each answer of shards is paid for");
}

Test(unprotected, a_dataset_and_what_is_signed_about_it_say_so_for_ever, .init = setup,
     .fini = teardown)
{
    char before[64], after[64], teacher[64], path[96];
    train(private_job(""), "one", before);
    cr_expect(certified_covered("/v1/policies/%s/certificate", before));
    make_teacher(before, teacher);
    cr_expect(certified_covered("/v1/teachers/%s/certificate", teacher));

    desk_submit(&desk, plain(UNDERSTOOD, 20), "none", path);
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    cr_expect(!dataset_covered(), "stored with the job's acceptance");
    struct http_answer job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
    http_answer_clear(&job);

    cr_expect(certified_covered("/v1/policies/%s/certificate", before), "as it was issued");
    train(private_job(""), "two", after);
    cr_expect(!certified_covered("/v1/policies/%s/certificate", after));
    make_teacher(before, teacher);
    cr_expect(!certified_covered("/v1/teachers/%s/certificate", teacher));
    cr_expect(!dataset_covered());
    desk_expect_whole_ledger(&desk);
}

Test(unprotected, a_cancelled_job_does_not_take_it_back, .init = setup, .fini = teardown)
{
    char path[96], cancel[128];
    desk_submit(&desk, plain(UNDERSTOOD, 10000000), "none", path);
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer job = desk_post(&desk, 200, cancel, NULL, NULL);
    http_answer_clear(&job);
    job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), "cancelled");
    http_answer_clear(&job);
    cr_expect(!dataset_covered());
}
