/* Mechanism "none" on private data, over HTTP: it is asked for in so many words, and the dataset
 * and everything signed about it say so for ever, through kill -9. */
#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    snprintf(
        body, sizeof body,
        "{\"algorithm\":\"cql\",\"dataset\":\"%s\",%s\"privacy\":{\"force\":true,\"epsilon\":1,"
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

/* ---- what can be seen of it */

/* As plain, with so large steps that the weights grow without bound. */
static const char *diverging(void)
{
    static char body[512];
    snprintf(body, sizeof body,
             "{\"algorithm\":\"cql\",\"mechanism\":\"none\",\"dataset\":\"%s\"," UNDERSTOOD
             "\"parameters\":{\"hidden\":[8],\"batch_size\":8,\"steps\":400,\"optimizer\":\"sgd\","
             "\"learning_rate\":10,\"alpha\":100,\"reward_scale\":100}}",
             dataset);
    return body;
}

/* Seconds between two members of JOB like "2026-01-02T03:04:05.678Z". */
static double seconds_between(const struct http_answer *job, const char *first, const char *last)
{
    int day[2];
    double time[2];
    const char *names[2] = {first, last};
    for (int i = 0; i < 2; i++) {
        int hour, minute;
        double second;
        cr_assert_eq(sscanf(http_text(job, names[i]), "%*d-%*d-%dT%d:%d:%lf", &day[i], &hour,
                            &minute, &second),
                     4, "%s", job->body);
        time[i] = hour * 3600 + minute * 60 + second;
    }
    return time[1] - time[0] + (day[1] != day[0] ? 86400 : 0);
}

static void expect_tick(const struct http_answer *job)
{
    double seconds = seconds_between(job, "started_at", "finished_at");
    cr_expect(seconds >= 1, "%g", seconds);
    cr_expect_float_eq(log2(seconds), rint(log2(seconds)), 1e-3, "%g", seconds);
}

Test(unprotected, a_training_that_diverges_looks_like_any_other, .init = setup, .fini = teardown)
{
    char path[2][96], *notes[2];
    desk_submit(&desk, plain(UNDERSTOOD, 20), "well", path[0]);
    desk_submit(&desk, diverging(), "badly", path[1]);
    for (int i = 0; i < 2; i++) {
        struct http_answer job = desk_wait(&desk, path[i]);
        cr_expect_str_eq(http_text(&job, "state"), "succeeded", "%s", job.body);
        cr_expect(json_is_null(json_object_get(job.json, "error")));
        cr_expect(json_is_null(json_object_get(job.json, "evaluation")));
        cr_expect_str_neq(http_text(&job, "policy"), "");
        notes[i] = json_dumps(json_object_get(job.json, "notes"), 0);
        expect_tick(&job);
        http_answer_clear(&job);
    }
    cr_expect_str_eq(notes[0], notes[1]);
    free(notes[0]);
    free(notes[1]);
}

Test(unprotected, a_job_shows_neither_its_speed_nor_its_end, .init = setup, .fini = teardown)
{
    char path[96], cancel[128], state[16] = "";
    desk_submit(&desk, plain(UNDERSTOOD, 30000), "speed", path);
    for (int i = 0; strcmp(state, "succeeded") != 0; i++) {
        cr_assert_lt(i, 3000);
        struct http_answer job = desk_get(&desk, path);
        json_t *progress = json_object_get(job.json, "progress");
        snprintf(state, sizeof state, "%s", http_text(&job, "state"));
        if (strcmp(state, "succeeded") == 0) {
            expect_tick(&job);
        } else {
            cr_expect_eq(json_integer_value(json_object_get(progress, "step")), 0, "%s", job.body);
            cr_expect(json_is_null(json_object_get(progress, "eta_seconds")));
        }
        http_answer_clear(&job);
        usleep(20000);
    }
    /* Trained in milliseconds, but cancelled before its second is over: it left nothing. */
    desk_submit(&desk, plain(UNDERSTOOD, 1), "cancelled", path);
    usleep(400000);
    snprintf(cancel, sizeof cancel, "%s:cancel", path);
    struct http_answer job = desk_post(&desk, 200, cancel, NULL, NULL);
    http_answer_clear(&job);
    job = desk_wait(&desk, path);
    cr_expect_str_eq(http_text(&job, "state"), "cancelled", "%s", job.body);
    cr_expect(json_is_null(json_object_get(job.json, "policy")), "%s", job.body);
    http_answer_clear(&job);
}

Test(unprotected, a_job_plays_nowhere, .init = setup, .fini = teardown)
{
    static const char *const cases[][2] = {
        {"\"choose\":{\"environment\":\"cartpole\"}," UNDERSTOOD, "/choose"},
        {"\"evaluate\":{\"environment\":\"cartpole\"}," UNDERSTOOD, "/evaluate"},
    };
    for (size_t i = 0; i < 2; i++) {
        expect_refused("/v1/jobs", plain(cases[i][0], 20), i ? "b" : "a", cases[i][1]);
        expect_refused("/v1/jobs:estimate", plain(cases[i][0], 20), NULL, cases[i][1]);
    }
    cr_expect(dataset_covered());
}

/* ---- what answers about it, and what is left of it */

static const char *teacher_over(const char *policy, const char *members)
{
    static char body[512];
    snprintf(body, sizeof body,
             "{\"policy\":\"%s\",%s\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":2},"
             "\"adjacency\":{\"unit\":\"observation\",\"radius\":0.001},"
             "\"budget\":{\"epsilon\":100,\"delta\":1e-5},"
             "\"client_budget\":{\"epsilon\":50,\"delta\":1e-5}}",
             policy, members);
    return body;
}

Test(unprotected, a_teacher_computes_nothing_from_the_weights, .init = setup, .fini = teardown)
{
    char policy[2][64], *shown[2];
    train(plain(UNDERSTOOD, 200), "well", policy[0]);
    train(diverging(), "badly", policy[1]);
    expect_refused("/v1/teachers", teacher_over(policy[0], ""), NULL, "/i_understand");
    for (int i = 0; i < 2; i++) {
        struct http_answer made =
            desk_post(&desk, 201, "/v1/teachers", teacher_over(policy[i], UNDERSTOOD), NULL);
        cr_expect(json_is_null(json_object_get(made.json, "lipschitz")), "%s", made.body);
        cr_expect_float_eq(json_number_value(json_object_get(made.json, "sensitivity")), sqrt(2),
                           1e-9);
        static const char *const own[] = {"id",      "name",        "policy",    "policy_name",
                                          "account", "certificate", "created_at"};
        for (size_t m = 0; m < sizeof own / sizeof *own; m++)
            json_object_del(made.json, own[m]);
        shown[i] = json_dumps(made.json, JSON_SORT_KEYS);
        http_answer_clear(&made);
    }
    cr_expect_str_eq(shown[0], shown[1]);
    free(shown[0]);
    free(shown[1]);
}

/* The marks that begin policies in clear, in the files of the database. */
static unsigned clear_policies(void)
{
    static const char *const names[] = {"tacet.db", "tacet.db-wal"};
    unsigned found = 0;
    for (int i = 0; i < 2; i++) {
        char path[160];
        size_t size = 0;
        snprintf(path, sizeof path, "%s/%s", server.data, names[i]);
        char *bytes = read_whole(path, &size);
        for (size_t at = 0; bytes && at + 4 <= size; at++)
            found += memcmp(bytes + at, "TCPL", 4) == 0;
        free(bytes);
    }
    return found;
}

static void expect_answer(const char *teacher, const char *student, const char *key, long status,
                          const char *type)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/teachers/%s/queries", teacher);
    struct http_answer answer =
        http_expect(desk.client, status,
                    &(struct http_call){.method = "POST",
                                        .path = path,
                                        .token = student,
                                        .body = "{\"state\":[0.01,-0.02,0.03,0.04]}",
                                        .key = key});
    cr_expect_str_eq(http_text(&answer, "type"), type, "%s", answer.body);
    http_answer_clear(&answer);
}

Test(unprotected, a_policy_is_sealed_and_goes_with_its_dataset, .init = setup, .fini = teardown)
{
    char policy[64], teacher[64], student[160], path[128];
    server_token(&server, "student", student);
    train(plain(UNDERSTOOD, 200), "one", policy);
    cr_expect_eq(clear_policies(), 0);
    struct http_answer made =
        desk_post(&desk, 201, "/v1/teachers", teacher_over(policy, UNDERSTOOD), NULL);
    snprintf(teacher, sizeof teacher, "%s", http_text(&made, "id"));
    http_answer_clear(&made);
    expect_answer(teacher, student, "before", 200, "");

    snprintf(path, sizeof path, "/v1/datasets/%s", dataset);
    made = desk_call(&desk, "DELETE", 204, path, NULL, NULL);
    http_answer_clear(&made);
    expect_answer(teacher, student, "after", 403, "/problems/teacher-silent");
    desk_restart(&desk, SIGKILL, 1000 + SIGKILL);
    expect_answer(teacher, student, "later", 403, "/problems/teacher-silent");
    made = desk_post(&desk, 409, "/v1/teachers", teacher_over(policy, UNDERSTOOD), NULL);
    http_answer_clear(&made);
    snprintf(path, sizeof path, "/v1/policies/%s/weights", policy);
    made = desk_call(&desk, "GET", 403, path, NULL, NULL);
    cr_expect_str_eq(http_text(&made, "type"), "/problems/not-released");
    http_answer_clear(&made);
}
