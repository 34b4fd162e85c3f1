/* Jobs: what is refused, what is held, how they run, pause, end and are paid for. */
#include <criterion/criterion.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "storage/jobs.h"
#include "tests/unit/api/service.h"

TestSuite(jobs, .init = service_open, .fini = service_close);

#define JOB(rest) "{\"algorithm\":\"cql\",\"dataset\":\"%s\"" rest "}"
#define PRIVACY   ",\"privacy\":{\"epsilon\":5,\"delta\":1e-6}"

Test(jobs, refuse_what_they_cannot_be)
{
    static const char *const cases[][2] = {
        {JOB(""), "/privacy"},
        {JOB(",\"privacy\":{\"epsilon\":1}"), "/privacy/delta"},
        {JOB(",\"privacy\":{\"epsilon\":1,\"delta\":1}"), "/privacy/delta"},
        {JOB(",\"privacy\":{\"epsilon\":-1,\"delta\":1e-5}"), "/privacy/epsilon"},
        {JOB(",\"privacy\":{\"epsilon\":1,\"delta\":1e-5,\"sigma\":1}"), "/privacy/sigma"},
        {JOB(",\"mechanism\":\"none\"" PRIVACY), "/privacy"},
        {JOB(",\"mechanism\":\"magic\"" PRIVACY), "/mechanism"},
        {JOB(PRIVACY ",\"parameters\":{\"noise_multiplyer\":1}"), "/parameters/noise_multiplyer"},
        {JOB(PRIVACY ",\"parameters\":{\"steps\":0}"), "/parameters/steps"},
        {JOB(PRIVACY ",\"parameters\":{\"steps\":\"many\"}"), "/parameters/steps"},
        {JOB(PRIVACY ",\"parameters\":{\"hidden\":[4,0]}"), "/parameters/hidden/1"},
        {JOB(PRIVACY ",\"parameters\":{\"hidden\":[4,4,4,4,4,4,4,4]}"), "/parameters/hidden"},
        {JOB(PRIVACY ",\"parameters\":{\"optimizer\":\"magic\"}"), "/parameters/optimizer"},
        {JOB(PRIVACY ",\"parameters\":{\"batch_size\":1000}"), "/parameters/batch_size"},
        {JOB(PRIVACY ",\"evaluate\":{\"environment\":\"mars\"}"), "/evaluate/environment"},
        {JOB(PRIVACY ",\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":1001}"),
         "/evaluate/episodes"},
        {JOB(PRIVACY ",\"environment\":\"cartpole\""), "/environment"},
        {JOB(PRIVACY ",\"epsilon\":3"), "/epsilon"},
    };
    const char *id = domain_sealed(f, "private", 10);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        snprintf(body, sizeof body, cases[i][0], id);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs", body), cases[i][1]);
        expect_invalid(fixture_post(f, "steward", "/v1/jobs:estimate", body), cases[i][1]);
    }
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", "{\"algorithm\":\"magic\"}"),
                   "/algorithm");
    expect_invalid(fixture_post(f, "steward", "/v1/jobs", "{\"algorithm\":\"cql\"}"), "/dataset");
    expect_problem(fixture_post(f, "steward", "/v1/jobs", domain_private_job("ds_nothing", 5, 10)),
                   "not-found");
    expect_problem(fixture_post(f, "student", "/v1/jobs", domain_private_job(id, 5, 10)),
                   "forbidden");
    struct ask ask = {.path = "/v1/jobs",
                      .token = fixture_token(f, "steward"),
                      .body = domain_private_job(id, 5, 10)};
    expect_problem(fixture_ask(f, &ask), "idempotency-key-required");
    ask.token = fixture_new_token(f, "steward"); /* another's data */
    ask.key = "k";
    expect_problem(fixture_ask(f, &ask), "not-found");
    cr_assert_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 0);
}

Test(jobs, need_a_sealed_dataset)
{
    const char *id = domain_dataset(f, "private");
    expect_problem(fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 5, 10)),
                   "dataset-empty");
    domain_fill(f, id, 10);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 5, 10)),
                   "dataset-not-sealed");
}

Test(jobs, are_estimated_for_nothing)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *r =
        fixture_post(f, "steward", "/v1/jobs:estimate", domain_private_job(id, 5, 20));
    expect_status(r, 200);
    cr_assert(json_is_true(response_at(r, "/feasible")));
    cr_assert(response_number(r, "/cost/epsilon") > 0 && response_number(r, "/cost/epsilon") <= 5);
    cr_assert_eq(response_number(r, "/plan/steps"), 20);
    cr_assert_float_eq(response_number(r, "/plan/sampling_rate"), 0.2, 1e-12);
    cr_assert(response_number(r, "/plan/noise_multiplier") > 0);
    r = fixture_post(f, "steward", "/v1/jobs:estimate", domain_private_job(id, 50, 20));
    cr_assert(json_is_false(response_at(r, "/feasible")));
    cr_assert_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
}

Test(jobs, hold_their_price_and_settle_it)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20));
    expect_status(made, 202);
    cr_assert_str_eq(response_text(made, "/state"), "queued");
    cr_assert_eq(response_number(made, "/progress/queue_place"), 1);
    cr_assert_str_not_empty(response_text(made, "/advice/verdict"));
    cr_assert_str_not_empty(response_text(made, "/advice/sentence"));
    cr_assert(response_header(made, "Location") != NULL);
    double reserved = response_number(made, "/privacy/reserved/epsilon");
    cr_assert(reserved > 0 && reserved <= 6);
    cr_assert_float_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), reserved, 1e-12);

    /* What is left would pay for it but for the hold; what is more can never be paid. */
    struct response *second = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20));
    expect_problem(second, "budget-reserved");
    cr_assert(response_number(second, "/violated/0/requested/epsilon") > 5);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 60, 20)),
                   "budget-exhausted");

    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "succeeded");
    cr_assert_eq(response_number(job, "/progress/fraction"), 1);
    cr_assert_eq(response_number(job, "/privacy/reserved/epsilon"), 0);
    cr_assert_float_eq(response_number(job, "/privacy/spent/epsilon"), reserved, 1e-12);
    cr_assert_eq(response_number(job, "/evaluation/episodes"), 5);
    cr_assert(response_number(job, "/evaluation/mean_return") >= 1);
    struct response *after = domain_budget(f, id);
    cr_assert_eq(response_number(after, "/reserved/epsilon"), 0);
    cr_assert_float_eq(response_number(after, "/spent/epsilon"), reserved, 1e-12);
    cr_assert_float_eq(response_number(after, "/spent/delta"), 1e-6, 1e-18);
    expect_problem(fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20)),
                   "budget-exhausted");
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_NONE);
    domain_expect_whole_ledger(f);
}

Test(jobs, answer_a_repeat_with_the_same_job)
{
    const char *id = domain_sealed(f, "private", 10);
    struct ask ask = {.path = "/v1/jobs",
                      .token = fixture_token(f, "steward"),
                      .key = "same",
                      .body = domain_private_job(id, 6, 20)};
    struct response *first = fixture_ask(f, &ask);
    expect_status(first, 202);
    struct response *again = fixture_ask(f, &ask);
    expect_status(again, 202);
    cr_assert_str_eq(first->body, again->body);
    ask.body = domain_private_job(id, 1, 20);
    expect_problem(fixture_ask(f, &ask), "idempotency-key-reused");
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/jobs"), "/items")), 1);
}

Test(jobs, release_what_is_private_with_a_certificate)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *job = domain_run(f, domain_private_job(id, 6, 20));
    const char *policy = response_text(job, "/policy");
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/policies/%s", policy));
    cr_assert(json_is_true(response_at(seen, "/released")));
    cr_assert_str_eq(response_text(seen, "/environment"), "cartpole");
    struct response *weights =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/weights?format=json", policy));
    expect_status(weights, 200);
    cr_assert_str_eq(response_text(weights, "/output"), "q");
    double w = (double)(float)response_number(weights, "/layers/0/weight/0/0") * 1048576;
    cr_assert(w == rint(w), "on the grid");
    struct response *certificate =
        fixture_get(f, "auditor", domain_path("/v1/policies/%s/certificate", policy));
    expect_status(certificate, 200);
    cr_assert(certificate_check(certificate->body, fixture_app(f)->public_key));
    cr_assert_float_eq(response_number(certificate, "/privacy/epsilon"),
                       response_number(job, "/privacy/spent/epsilon"), 1e-8);
    cr_assert(response_number(certificate, "/privacy/epsilon_lower") <=
              response_number(certificate, "/privacy/epsilon"));
    cr_assert_eq(response_number(certificate, "/plan/steps"), 20);
    cr_assert(strstr(response_text(certificate, "/privacy/neighbours"), "emptied") != NULL);
    cr_assert(json_array_size(response_at(certificate, "/warnings")) > 0);
    cr_assert(strstr(response_text(certificate, "/warnings/0"), "NOT PRIVATE") == NULL);
}

Test(jobs, keep_inside_what_is_not_private)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *job = domain_run(f, domain_unprotected_job(id, 50));
    cr_assert(json_is_null(response_at(job, "/evaluation")));
    cr_assert(json_is_null(response_at(job, "/privacy")));
    cr_assert_eq(json_array_size(response_at(job, "/notes")), 1);
    cr_assert_eq(response_number(domain_budget(f, id), "/spent/epsilon"), 0);
    const char *policy = response_text(job, "/policy");
    expect_problem(fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy)),
                   "not-released");
    expect_problem(fixture_post(f, "steward", domain_path("/v1/policies/%s/actions", policy),
                                "{\"states\":[[0,0,0,0]]}"),
                   "not-released");
    expect_problem(fixture_get(f, "steward", domain_path("/v1/policies/%s/certificate", policy)),
                   "not-found");
}

/* However it is asked, a teacher's figures are those of any weights. */
Test(jobs, let_teachers_compute_nothing_from_secret_weights)
{
    static const double temperatures[] = {1, 1234.5, 98765};
    struct response *job =
        domain_run(f, domain_unprotected_job(domain_sealed(f, "private", 10), 50));
    for (size_t i = 0; i < 3; i++) {
        const char *body =
            domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\","
                        "\"sigma\":2,\"temperature\":%g},\"adjacency\":{\"unit\":\"observation\","
                        "\"radius\":0.001},\"budget\":{\"epsilon\":8,\"delta\":1e-5},"
                        "\"i_understand\":\"not_private\"}",
                        response_text(job, "/policy"), temperatures[i]);
        struct response *made = fixture_post(f, "steward", "/v1/teachers", body);
        expect_status(made, 201);
        cr_assert_float_eq(response_number(made, "/sensitivity"), sqrt(2), 1e-9);
        cr_assert(json_is_null(response_at(made, "/lipschitz")));
        struct response *seen =
            fixture_get(f, "steward", domain_path("/v1/teachers/%s", response_text(made, "/id")));
        cr_assert(json_is_null(response_at(seen, "/lipschitz")));
    }
}

Test(jobs, show_everything_of_public_data)
{
    const char *id = domain_sealed(f, "public", 10);
    struct response *job = domain_run(f, domain_plain_job(id, 50));
    cr_assert_eq(response_number(job, "/evaluation/episodes"), 5);
    expect_status(
        fixture_get(f, "steward",
                    domain_path("/v1/policies/%s/weights", response_text(job, "/policy"))),
        200);
}

Test(jobs, are_listed_and_filtered)
{
    const char *id = domain_sealed(f, "private", 10);
    domain_run(f, domain_private_job(id, 1, 20));
    fixture_advance(1);
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 1, 20)), 202);
    struct response *list = fixture_get(f, "steward", "/v1/jobs?state=queued&algorithm=cql");
    cr_assert_eq(json_array_size(response_at(list, "/items")), 1);
    list = fixture_get(f, "steward", "/v1/jobs");
    cr_assert_eq(json_array_size(response_at(list, "/items")), 2);
    cr_assert_str_eq(response_text(list, "/items/0/state"), "queued", "newest first");
    expect_problem(fixture_get(f, "steward", "/v1/jobs?state=lost"), "validation");
    cr_assert_null(response_at(list, "/counts"));
    expect_problem(fixture_get(f, "steward", "/v1/jobs?counts=yes"), "validation");
    list = fixture_get(f, "steward", "/v1/jobs?state=failed&counts=true&page_size=1");
    cr_assert_eq(response_number(list, "/counts/succeeded"), 1);
    cr_assert_eq(response_number(list, "/counts/queued"), 1);
    cr_assert_eq(response_number(list, "/counts/failed"), 0);
    struct ask other = {.path = "/v1/jobs?counts=true", .token = fixture_new_token(f, "steward")};
    cr_assert_eq(response_number(fixture_ask(f, &other), "/counts/succeeded"), 0);
    struct ask ask = {.path = "/v1/jobs", .token = fixture_new_token(f, "steward")};
    cr_assert_eq(json_array_size(response_at(fixture_ask(f, &ask), "/items")), 0);
    expect_problem(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", id)), "conflict");
}

Test(jobs, lead_from_an_entry_to_the_certificate)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *job = domain_run(f, domain_private_job(id, 1, 20));
    struct response *dataset = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    const char *entries =
        domain_path("/v1/ledger/accounts/%s/entries", response_text(dataset, "/account"));
    struct response *policy =
        fixture_get(f, "steward", domain_path("/v1/policies/%s", response_text(job, "/policy")));
    struct response *list = fixture_get(f, "auditor", entries);
    size_t last = json_array_size(response_at(list, "/items")) - 1;
    json_t *settled = json_array_get(response_at(list, "/items"), last);
    const char *certificate = json_string_value(json_object_get(settled, "certificate"));
    cr_assert_str_eq(certificate, response_text(policy, "/certificate"));
    expect_status(fixture_get(f, "auditor", domain_path("/v1/certificates/%s", certificate)), 200);
    cr_assert(json_is_null(response_at(list, "/items/0/certificate")), "nothing was released");
}

/* What a stream that goes on has to say. */
static char *next_event(struct api_events *events)
{
    char *text;
    cr_assert(events->next(events->context, fixture_app(f), fixture_db(f), &text));
    return text;
}

Test(jobs, are_followed_by_events)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 1, 20));
    struct ask ask = {.path = domain_path("/v1/jobs/%s/events", response_text(made, "/id")),
                      .token = fixture_token(f, "steward"),
                      .accept = "text/event-stream"};
    struct response *r = fixture_ask(f, &ask);
    expect_status(r, 200);
    cr_assert_str_eq(r->content_type, "text/event-stream");
    struct api_events events = r->reply.events;
    char *text = next_event(&events);
    cr_assert(strncmp(text, "event: progress\nid: 0\ndata: {", 29) == 0, "%s", text);
    free(text);
    cr_assert_null(next_event(&events));
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    text = next_event(&events);
    cr_assert(strncmp(text, "event: done\nid: 20\ndata: {", 26) == 0, "%s", text);
    cr_assert(strcmp(text + strlen(text) - 2, "\n\n") == 0);
    free(text);
    cr_assert_not(events.next(events.context, fixture_app(f), fixture_db(f), &text));
    cr_assert_null(text);
}

/* ---- the work of a page */

static unsigned steps; /* tens of steps of SQLite's machine */

static int count_steps(void *context)
{
    (void)context;
    steps++;
    return 0;
}

/* Lets SQLite count on each connection that is opened from now on. */
static int watch_connection(sqlite3 *handle, const char **error,
                            const struct sqlite3_api_routines *routines)
{
    (void)error;
    (void)routines;
    sqlite3_progress_handler(handle, 10, count_steps, NULL);
    return SQLITE_OK;
}

static void queue_jobs(const char *project, int from, int to)
{
    for (int i = from; i < to; i++) {
        struct job_row job = {.algorithm = "cql",
                              .mechanism = "dpsgd",
                              .request = (char[]){"{}"},
                              .plan = (char[]){""},
                              .created_ms = i + 1};
        snprintf(job.id, sizeof job.id, "job_%05d", i);
        snprintf(job.owner, sizeof job.owner, "%s", project);
        cr_assert_eq(jobs_submit(fixture_db(f), &job), DB_OK, "%s", db_last_error(fixture_db(f)));
    }
}

Test(jobs, in_a_page_do_not_each_go_through_the_queue)
{
    enum { FEW = 200, MANY = 400 };
    cr_assert_eq(sqlite3_auto_extension((void (*)(void))watch_connection), SQLITE_OK);
    service_close();
    service_open();
    queue_jobs(fixture_client(f, "steward"), 0, FEW);
    (void)fixture_get(f, "steward", "/v1/jobs"); /* signs in */
    steps = 0;
    expect_status(fixture_get(f, "steward", "/v1/jobs?page_size=1000"), 200);
    unsigned few = steps;
    cr_assert_gt(few, FEW / 10);
    queue_jobs(fixture_client(f, "steward"), FEW, MANY);
    steps = 0;
    struct response *page = fixture_get(f, "steward", "/v1/jobs?page_size=1000");
    cr_expect_lt(steps, few * 5 / 2, "%u steps of twice as many jobs, %u before", steps, few);
    for (int i = 0; i < MANY; i++) {
        json_t *item = json_array_get(response_at(page, "/items"), (size_t)i);
        json_t *progress = json_object_get(item, "progress");
        cr_assert_eq(json_integer_value(json_object_get(progress, "queue_place")), MANY - i);
        cr_assert_eq(json_integer_value(json_object_get(progress, "queue_own")), MANY - i - 1);
    }
}

Test(jobs, of_all_projects_of_a_steward_are_a_thousand_at_once)
{
    const char *id = domain_sealed(f, "private", 10), *body = domain_private_job(id, 1, 20);
    struct response *second = fixture_post(f, "steward", "/v1/projects", "{\"name\":\"icu\"}");
    queue_jobs(response_text(second, "/id"), 0, 500);
    queue_jobs(fixture_client(f, "steward"), 500, 999);
    struct response *last = fixture_post(f, "steward", "/v1/jobs", body);
    expect_status(last, 202);
    double reserved = response_number(domain_budget(f, id), "/reserved/epsilon");
    struct response *more = fixture_post(f, "steward", "/v1/jobs", body);
    expect_problem(more, "conflict"); /* which no client repeats */
    cr_expect_null(response_header(more, "Retry-After"));
    expect_problem(fixture_post(f, "steward", "/v1/jobs", "{}"), "conflict"); /* nothing is read */
    expect_status(fixture_post(f, "steward", "/v1/jobs:estimate", body), 200);
    cr_expect_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), reserved);
    struct response *counts = fixture_get(f, "steward", "/v1/jobs?counts=true&page_size=1");
    cr_expect_eq(response_number(counts, "/counts/queued"), 1000);
    const char *path = domain_path("/v1/jobs/%s:cancel", response_text(last, "/id"));
    expect_status(fixture_post(f, "steward", path, NULL), 200);
    expect_status(fixture_post(f, "steward", "/v1/jobs", body), 202);
}

/* SQLite's driver, with a job queued just before a transaction that writes. */
static struct db_driver queuing;
static bool queues;

static enum db_status begin_queuing(void *connection, bool will_write, struct db_fault *fault)
{
    if (will_write && queues)
        cr_assert_eq(db_driver_sqlite.run(connection,
                                          "UPDATE jobs SET state = 'queued', cancel_requested = 0, "
                                          "finished_ms = 0 WHERE state = 'cancelled'",
                                          NULL, 0, NULL, NULL, fault),
                     DB_OK, "%s", fault->text);
    queues = false;
    return db_driver_sqlite.begin(connection, will_write, fault);
}

Test(jobs, that_are_asked_for_at_the_same_time_are_a_thousand)
{
    queuing = db_driver_sqlite;
    queuing.begin = begin_queuing;
    service_close();
    f = fixture_open_on(&queuing);
    const char *id = domain_sealed(f, "private", 10), *body = domain_private_job(id, 1, 20);
    queue_jobs(fixture_client(f, "steward"), 0, 1000);
    expect_status(fixture_post(f, "steward", "/v1/jobs/job_00000:cancel", NULL), 200);
    queues = true;
    expect_problem(fixture_post(f, "steward", "/v1/jobs", body), "conflict");
    cr_expect_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
}

Test(jobs, that_wait_say_what_for)
{
    const char *id = domain_sealed(f, "private", 10);
    expect_status(fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 1, 20)), 202);
    fixture_advance(1);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 1, 20));
    cr_assert_eq(response_number(made, "/progress/queue_place"), 2);
    cr_assert_eq(response_number(made, "/progress/queue_own"), 1);
    struct ask ask = {.path = domain_path("/v1/jobs/%s/events", response_text(made, "/id")),
                      .token = fixture_token(f, "steward"),
                      .accept = "text/event-stream"};
    struct api_events events = fixture_ask(f, &ask)->reply.events;
    free(next_event(&events));
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    char *text = next_event(&events);
    cr_assert_not_null(text, "its place has changed");
    cr_assert(strstr(text, "\"queue_place\":1,\"queue_own\":0"), "%s", text);
    free(text);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *ended = domain_job(f, made);
    cr_assert(json_is_null(response_at(ended, "/progress/queue_place")));
    cr_assert(json_is_null(response_at(ended, "/progress/queue_own")));
}

Test(jobs, fail_and_pay_nothing_when_the_data_are_damaged)
{
    const char *id = domain_sealed(f, "private", 10);
    struct response *made = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 6, 20));
    expect_status(made, 202);
    cr_assert_eq(db_change(fixture_db(f),
                           "UPDATE upload_chunks SET bytes = zeroblob(length(bytes))", NULL, 0),
                 DB_OK);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_RAN);
    struct response *job = domain_job(f, made);
    cr_assert_str_eq(response_text(job, "/state"), "failed");
    cr_assert_str_eq(response_text(job, "/error/type"), "/problems/data-unreadable");
    cr_assert(strlen(response_text(job, "/error/detail")) > 0);
    cr_assert(json_is_null(response_at(job, "/policy")));
    cr_assert_eq(response_number(job, "/privacy/spent/epsilon"), 0);
    cr_assert_eq(response_number(domain_budget(f, id), "/reserved/epsilon"), 0);
    domain_expect_whole_ledger(f);
}
