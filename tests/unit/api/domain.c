#include "tests/unit/api/domain.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/sealed.h"
#include "api/data/private_data.h"
#include "storage/db/digest.h"
#include "storage/environments.h"
#include "storage/jobs.h"
#include "storage/ledger/ledger_verify.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/shell_world.h"

const char *domain_path(const char *format, ...)
{
    static char texts[256][4096];
    static unsigned next;
    char *text = texts[next++ % 256];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof texts[0], format, arguments);
    va_end(arguments);
    cr_assert(size > 0 && (size_t)size < sizeof texts[0]);
    return text;
}

char *domain_lines(unsigned experts, unsigned steps)
{
    size_t room = (size_t)experts * (steps * 64 + 256) + 1, at = 0;
    char *text = malloc(room);
    cr_assert(text != NULL);
    for (unsigned e = 0; e < experts; e++) {
        at += (size_t)sprintf(text + at, "{\"expert\":\"e%u\",\"states\":[[0,0,0,0]", e);
        for (unsigned t = 1; t <= steps; t++)
            at += (size_t)sprintf(text + at, ",[%.3f,%.3f,-0.0%u,0.1]", t * 0.01, e * 0.01, t % 7);
        at += (size_t)sprintf(text + at, "],\"actions\":[1");
        for (unsigned t = 1; t < steps; t++)
            at += (size_t)sprintf(text + at, ",%u", (t + e) % 2);
        at += (size_t)sprintf(text + at, "],\"rewards\":[1");
        for (unsigned t = 1; t < steps; t++)
            at += (size_t)sprintf(text + at, ",1");
        at += (size_t)sprintf(text + at, "],\"terminated\":true,\"truncated\":false}\n");
    }
    text[at] = '\0';
    return text;
}

struct response *domain_upload(struct fixture *fixture, const char *role, const char *dataset,
                               const char *body, size_t size, const char *type)
{
    struct ask ask = {.method = "POST",
                      .path = domain_path("/v1/datasets/%s/trajectories", dataset),
                      .token = fixture_token(fixture, role == NULL ? "steward" : role),
                      .body = body,
                      .body_size = size,
                      .content_type = type == NULL ? "application/x-ndjson" : type};
    return fixture_ask(fixture, &ask);
}

const char *domain_dataset(struct fixture *fixture, const char *sensitivity)
{
    struct response *made =
        fixture_post(fixture, "steward", "/v1/datasets",
                     domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":"
                                 "\"%s\",\"budget\":{\"epsilon\":10,\"delta\":1e-5}}",
                                 sensitivity));
    expect_status(made, 201);
    return response_text(made, "/id");
}

static void seal_dataset(struct fixture *f, const char *id)
{
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", id), NULL), 200);
}

void domain_fill(struct fixture *fixture, const char *dataset, unsigned experts)
{
    char *lines = domain_lines(experts, 12);
    expect_status(domain_upload(fixture, NULL, dataset, lines, 0, NULL), 201);
    free(lines);
}

const char *domain_sealed(struct fixture *fixture, const char *sensitivity, unsigned experts)
{
    const char *id = domain_dataset(fixture, sensitivity);
    domain_fill(fixture, id, experts);
    seal_dataset(fixture, id);
    return id;
}

const char *domain_sealed_lines(struct fixture *fixture, const char *body, const char *lines)
{
    struct response *made = fixture_post(fixture, "steward", "/v1/datasets", body);
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    expect_status(domain_upload(fixture, NULL, id, lines, 0, NULL), 201);
    seal_dataset(fixture, id);
    return id;
}

const char *domain_sealed_of(struct fixture *fixture, const char *body, unsigned experts)
{
    char *lines = domain_lines(experts, 12);
    const char *id = domain_sealed_lines(fixture, body, lines);
    free(lines);
    return id;
}

const char *domain_private_job(const char *dataset, double epsilon, unsigned steps)
{
    return domain_path(
        "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"%s\","
        "\"privacy\":{\"epsilon\":%g,\"delta\":1e-6,\"force\":true},\"parameters\":{\"hidden\":[4],"
        "\"batch_size\":2,\"steps\":%u},\"evaluate\":{\"environment\":\"cartpole\","
        "\"episodes\":5,\"max_episode_steps\":20}}",
        dataset, epsilon, steps);
}

static const char *plain_job(const char *dataset, unsigned steps, const char *more)
{
    return domain_path("{\"algorithm\":\"cql\",\"mechanism\":\"none\",\"dataset\":\"%s\","
                       "\"parameters\":{\"hidden\":[4],\"batch_size\":2,\"steps\":%u},%s}",
                       dataset, steps, more);
}

const char *domain_plain_job(const char *dataset, unsigned steps)
{
    return plain_job(dataset, steps, "\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":5}");
}

const char *domain_unprotected_job(const char *dataset, unsigned steps)
{
    return plain_job(dataset, steps, "\"i_understand\":\"not_private\"");
}

void domain_rewrite(struct fixture *fixture, const struct table *table, const char *sql)
{
    struct db *db = fixture_db(fixture);
    cr_assert_eq(db_run(db, sql, NULL, 0, NULL, NULL), DB_OK, "%s", db_last_error(db));
    cr_assert_eq(digest_all(db, table), DB_OK, "%s", db_last_error(db));
}

enum api_job_turn domain_turn(struct fixture *fixture, const char *worker,
                              bool (*stop)(void *context), void *context)
{
    struct api_job_control control = {.worker = worker, .stop_requested = stop};
    control.context = context;
    char note[256];
    return api_job_turn(fixture_app(fixture), fixture_db(fixture), &control, note);
}

struct response *domain_run(struct fixture *fixture, const char *body)
{
    struct response *made = fixture_post(fixture, "steward", "/v1/jobs", body);
    expect_status(made, 202);
    cr_assert_eq(domain_turn(fixture, "w", NULL, NULL), API_JOB_RAN);
    struct response *job =
        fixture_get(fixture, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    expect_status(job, 200);
    cr_assert_str_eq(response_text(job, "/state"), "succeeded", "%s", job->body);
    return job;
}

struct response *domain_job(struct fixture *f, const struct response *made)
{
    struct response *job =
        fixture_get(f, "steward", domain_path("/v1/jobs/%s", response_text(made, "/id")));
    expect_status(job, 200);
    return job;
}

struct response *domain_budget(struct fixture *f, const char *dataset)
{
    return fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", dataset));
}

bool domain_meddle(void *context)
{
    struct domain_meddler *meddler = context;
    fixture_advance(meddler->advance_ms);
    if (++meddler->pulses != meddler->act_at)
        return false;
    if (meddler->cancel != NULL)
        expect_status(fixture_post(meddler->f, "steward", meddler->cancel, NULL), 200);
    return meddler->stop;
}

void domain_expect_whole_ledger(struct fixture *f)
{
    struct ledger_report report;
    cr_assert_eq(ledger_verify(fixture_db(f), &report), DB_OK);
    cr_assert_eq(report.fault_count, 0, "%s", report.faults[0].what);
    export_scene_expect_good(f);
}

double domain_spent(struct fixture *f, const char *dataset)
{
    domain_expect_whole_ledger(f);
    struct response *budget =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", dataset));
    cr_assert_eq(response_number(budget, "/reserved/epsilon"), 0, "%s", budget->body);
    return response_number(budget, "/spent/epsilon");
}

const char *domain_policy(struct fixture *fixture)
{
    struct response *made = fixture_post(
        fixture, "steward", "/v1/policies",
        "{\"name\":\"p\",\"environment\":\"cartpole\",\"network\":{\"activation\":\"relu\","
        "\"layers\":[{\"weight\":[[0.1,0.2,0.3,0.4],[-0.1,0.2,-0.3,0.4]],\"bias\":[0,0.5]}],"
        "\"output\":\"softmax\"}}");
    expect_status(made, 201);
    return response_text(made, "/id");
}

const char *domain_environment(struct fixture *fixture, const char *owner)
{
    struct environment_row row = {.name = "w",
                                  .runner = "sh",
                                  .description = (char *)(uintptr_t)SHELL_FACTS,
                                  .source = (char *)(uintptr_t) "exit"};
    id_new(ENVIRONMENT_PREFIX, row.id);
    snprintf(row.owner, sizeof row.owner, "%s", owner);
    cr_assert_eq(environments_insert(fixture_db(fixture), &row), DB_OK);
    return domain_path("%s", row.id);
}

const char *domain_teacher(const char *policy, double epsilon, double client_epsilon)
{
    return domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":"
                       "20,\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\","
                       "\"radius\":0.01},\"budget\":{\"epsilon\":%g,\"delta\":1e-5},"
                       "\"client_budget\":{\"epsilon\":%g,\"delta\":1e-5}}",
                       policy, epsilon, client_epsilon);
}

const char *domain_crowd(struct fixture *f, unsigned experts, bool policies)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/datasets",
                     "{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":\"private\","
                     "\"min_action_probability\":0.4,\"max_episode_steps\":30,"
                     "\"budget\":{\"epsilon\":300,\"delta\":1e-2}}");
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    domain_fill(f, id, experts);
    for (unsigned e = 0; policies && e < experts; e++) {
        expect_status(fixture_put(f, "steward",
                                  domain_path("/v1/datasets/%s/experts/e%u/policy", id, e),
                                  "{\"activation\":\"relu\",\"layers\":[{\"weight\":[[0,0,0,0],"
                                  "[0.02,0.1,1,0.5]],\"bias\":[0,0]}],\"output\":\"argmax\"}"),
                      204);
    }
    seal_dataset(f, id);
    return id;
}

unsigned char *domain_checkpoint(struct fixture *f, const char *job, int64_t *out_step,
                                 size_t *out_size)
{
    struct job_row row;
    void *bytes = NULL;
    size_t size = 0;
    enum db_status status = jobs_load_checkpoint(fixture_db(f), job, out_step, &bytes, &size);
    if (status == DB_NONE)
        return NULL;
    cr_assert_eq(status, DB_OK);
    cr_assert_eq(jobs_find(fixture_db(f), job, &row), DB_OK);
    unsigned char *opened = sealed_open(fixture_app(f), row.dataset, job, bytes, size, out_size);
    cr_assert_not_null(opened);
    job_done(&row);
    free(bytes);
    return opened;
}

static bool count_bytes(void *context, const struct upload_chunk *chunk)
{
    *(size_t *)context += chunk->size;
    return true;
}

size_t domain_readable(struct fixture *fixture, const char *dataset)
{
    size_t size = 0;
    cr_assert_eq(
        private_read(fixture_app(fixture), fixture_db(fixture), dataset, count_bytes, &size),
        DB_OK);
    return size;
}
