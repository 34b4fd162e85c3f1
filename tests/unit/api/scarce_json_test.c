/* Any one allocation of the JSON library fails: what is answered, and what is stored, is whole or
 * not there at all. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/jobs/ask/job_plan.h"
#include "api/json/json_load.h"
#include "api/json/json_text.h"
#include "api/wire/student_messages.h"
#include "storage/db/db.h"
#include "storage/jobs.h"
#include "tests/unit/api/domain.h"

TestSuite(scarce_json);

#define SWEEP                                                                                      \
    "{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"privacy\":{\"epsilon\":4,\"delta\":1e-5},"        \
    "\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":50},"                               \
    "\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":4,\"max_episode_steps\":60},"         \
    "\"sweep\":{\"learning_rate\":[0.001,0.1]}}"

static int allocations; /* so far */
static int failing;     /* the number of the one that fails */

static void *some_memory(size_t size)
{
    return allocations++ == failing ? NULL : malloc(size);
}

static int held; /* of the allocations since scarcity began: those not given back */
static json_malloc_t allocate_next;
static json_free_t release_next;

static void *hold(size_t size)
{
    void *bytes = allocate_next(size);
    held += bytes != NULL;
    return bytes;
}

static void give_back(void *bytes)
{
    held -= bytes != NULL;
    release_next(bytes);
}

/* From now on number N fails; -1: none. */
static void begin_scarcity(int n)
{
    allocations = 0;
    failing = n;
    held = 0;
    json_load_guard(some_memory);
    json_get_alloc_funcs(&allocate_next, &release_next);
    json_set_alloc_funcs(hold, give_back);
}

/* How many allocations there were. */
static int end_scarcity(void)
{
    json_load_guard(malloc);
    return allocations;
}

/* ---- requests */

static struct response *ask_with_less(struct fixture *f, const struct ask *ask, int n)
{
    begin_scarcity(n);
    struct response *r = fixture_ask(f, ask);
    (void)end_scarcity();
    return r;
}

static int count_parsing(const char *text)
{
    begin_scarcity(-1);
    json_decref(json_loads(text, JSON_DECODE_ANY, NULL));
    return end_scarcity();
}

/* Allocations while ASK is served: those of the fixture, which parses the answer, come last. */
static int count_serving(struct fixture *f, const struct ask *ask)
{
    begin_scarcity(-1);
    struct response *r = fixture_ask(f, ask);
    int all = end_scarcity();
    return all - count_parsing(r->body);
}

/* When any one of the allocations from FIRST to before END fails. */
static void expect_whole_answers(struct fixture *f, const struct ask *ask, int first, int end)
{
    struct response *good = fixture_ask(f, ask);
    expect_status(good, 200);
    for (int n = first; n < end; n++) {
        struct response *r = ask_with_less(f, ask, n);
        bool same = r->status == 200 && strcmp(r->body, good->body) == 0;
        cr_assert(same || r->status >= 500, "allocation %d: %s", n, r->body);
    }
}

static void expect_whole_page(struct fixture *f, const char *path)
{
    struct ask ask = {.path = path, .token = fixture_token(f, "steward")};
    int count = count_serving(f, &ask);
    cr_assert_gt(count, 10);
    expect_whole_answers(f, &ask, 0, count < 300 ? count : 300);
}

Test(scarce_json, pages_are_whole_or_refused)
{
    struct fixture *f = fixture_open();
    const char *id = domain_sealed(f, "private", 20);
    struct response *job = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 1, 20));
    expect_status(job, 202);
    expect_whole_page(f, domain_path("/v1/datasets/%s", id));
    expect_whole_page(f, domain_path("/v1/jobs/%s", response_text(job, "/id")));
    expect_whole_page(f, "/v1/algorithms");
    fixture_close(f);
}

/* Nor do long numbers of what is stored come out as others. */
Test(scarce_json, stored_numbers_are_shown_whole_or_refused)
{
    struct fixture *f = fixture_open();
    const char *id = domain_sealed(f, "private", 20);
    struct response *job = fixture_post(f, "steward", "/v1/jobs", domain_private_job(id, 1, 20));
    expect_status(job, 202);
    cr_assert_eq(db_run(fixture_db(f),
                        "UPDATE jobs SET findings = "
                        "'{\"found\":1.2345678901234567e-05,\"of\":0.12345678901234567}'",
                        NULL, 0, NULL, NULL),
                 DB_OK);
    expect_whole_page(f, domain_path("/v1/jobs/%s", response_text(job, "/id")));
    expect_whole_page(f, domain_path("/v1/ledger/accounts/%s/entries",
                                     response_text(domain_budget(f, id), "/account")));
    fixture_close(f);
}

/* What a sweep asks for is never taken for a plain job, nor called a fault of the caller, be it
 * parsed or read when memory is short. */
Test(scarce_json, a_sweep_is_read_whole_or_refused)
{
    struct fixture *f = fixture_open();
    struct ask ask = {.path = "/v1/jobs:estimate",
                      .token = fixture_token(f, "steward"),
                      .body = domain_path(SWEEP, domain_sealed(f, "private", 20))};
    expect_whole_answers(f, &ask, 0, count_parsing(ask.body) + 20);
    fixture_close(f);
}

static void expect_read_whole(const char *text)
{
    int count = count_parsing(text);
    for (int n = 0; n <= count; n++) {
        json_t *value = NULL;
        struct json_fault fault;
        begin_scarcity(n);
        enum problem problem = json_text_parse(text, strlen(text), &value, &fault);
        json_decref(value);
        (void)end_scarcity();
        cr_assert_eq(problem, n < count ? PROBLEM_INTERNAL_ERROR : PROBLEM_NONE, "%d: %s", n,
                     fault.detail);
        cr_assert_eq(held, 0, "%d", n);
    }
}

/* Long tokens grow a buffer while they are read: none comes out shorter, none is called wrong, and
 * none ends the process. */
Test(scarce_json, long_tokens_are_read_whole_or_refused)
{
    expect_read_whole(
        "{\"a_name_that_is_longer_than_sixteen_bytes\":[-1.2345678901234567890123456789e-17,"
        "\"a text that is longer than all the tokens that came before it in this array\"]}");
    expect_read_whole("[\"a\",[],{},0.123456789012345,0.12345678901234567890123456789012345,"
                      "{\"a\":1e-9},\"a\"]");
    for (int digits = 1; digits < 700; digits += digits < 40 ? 1 : 13) {
        char text[2048];
        snprintf(text, sizeof text, "[{},\"%.*s\",0.%0*d,[],\"\",-0.%0*d]", digits % 67,
                 "0123456789012345678901234567890123456789012345678901234567890123456", digits, 1,
                 digits / 2 + 1, 7);
        expect_read_whole(text);
    }
}

/* A text longer than any number may be loses characters when its buffer may not grow, be it the
 * closing quote: nothing beyond the buffer is looked at. */
Test(scarce_json, long_texts_are_read_whole_or_refused)
{
    static char text[8300];
    for (size_t length = 1; length < 8200; length += length % 256 < 250 ? length % 256 + 1 : 1) {
        snprintf(text, sizeof text, "[\"%0*d\",1]", (int)length, 1);
        expect_read_whole(text);
    }
}

static void expect_refused(const char *text, enum problem problem, const char *words)
{
    bool met = true;
    for (int n = 0; met; n++) {
        json_t *value = NULL;
        struct json_fault fault;
        begin_scarcity(n);
        enum problem told = json_text_parse(text, strlen(text), &value, &fault);
        met = end_scarcity() > n;
        cr_assert_eq(held, 0, "%d", n);
        cr_assert(told == problem || (met && told == PROBLEM_INTERNAL_ERROR), "%d: %s", n,
                  fault.detail);
        cr_assert(met || strstr(fault.detail, words) != NULL, "%s", fault.detail);
        cr_assert_null(value);
    }
}

/* Nor does one end the process that a control character ends, nor a run of letters. */
Test(scarce_json, long_tokens_that_are_no_json_are_refused)
{
    static char text[8300];
    for (size_t length = 1; length < 8200; length += length % 64 < 61 ? length % 64 + 1 : 1) {
        snprintf(text, sizeof text, "[\"%0*d\n\",1]", (int)length, 1);
        expect_refused(text, PROBLEM_NOT_JSON, "not JSON");
        memset(text, 'a', length);
        snprintf(text + length, sizeof text - length, "]");
        expect_refused(text, PROBLEM_NOT_JSON, "not JSON");
    }
}

/* Nor does looking for the member's name beyond it, once a number was refused. */
Test(scarce_json, a_long_name_is_pointed_at_or_left_out)
{
    static char text[4200];
    for (int length = 1; length < 4100; length = length * 2 + (length < 30 ? 0 : 1)) {
        for (int more = -4; more < 2; more++) {
            snprintf(text, sizeof text, "{\"%0*d\":1e999}", length + more, 1);
            expect_refused(text, PROBLEM_VALIDATION, "too large");
        }
    }
}

/* A server's answer that finds no memory is not called one of another server. */
Test(scarce_json, a_model_is_read_whole_or_later)
{
    static const char text[] = "{\"name\":\"tch_0123456789012345678901234567890123456789\","
                               "\"inputs\":[{\"name\":\"state\",\"shape\":[-1,4]}],"
                               "\"outputs\":[{\"name\":\"probabilities\",\"shape\":[-1,2]}]}";
    bool whole = false;
    for (int n = 0; !whole; n++) {
        uint32_t dim, actions;
        begin_scarcity(n);
        const char *problem = student_model_read(text, strlen(text), &dim, &actions);
        whole = end_scarcity() <= n;
        cr_assert_eq(held, 0, "allocation %d", n);
        cr_assert(whole ? problem == NULL && dim == 4 && actions == 2
                        : problem != NULL && strstr(problem, "memory") != NULL,
                  "allocation %d: %s", n, problem);
    }
}

/* DEPTH arrays that all grow, from COUNT elements on, when the innermost is closed; before them a
 * number of DIGITS, and behind them one of twice as many. */
static void nest(char *text, size_t size, int depth, unsigned count, int digits)
{
    size_t at = (size_t)snprintf(text, size, "[0.%0*d", digits, 1);
    for (int d = 0; d < depth; d++) {
        at += (size_t)snprintf(text + at, size - at, ",[null");
        for (unsigned i = 2; i < count; i++)
            at += (size_t)snprintf(text + at, size - at, ",null");
    }
    for (int d = 0; d < depth; d++)
        at += (size_t)snprintf(text + at, size - at, ",null,null]");
    at += (size_t)snprintf(text + at, size - at, ",0.%0*d]", 2 * digits, 7);
    cr_assert_lt(at, size);
}

/* Arrays that grow to the size that the buffer of a number is to grow to next do not take its room,
 * as many as may be open. */
Test(scarce_json, growing_arrays_leave_room_for_a_number)
{
    static char text[32000];
    for (int digits = 40; digits < 700; digits *= 2) {
        for (int depth = 1; depth < JSON_DEPTH_MAX; depth += depth < 6 ? 1 : 5) {
            nest(text, sizeof text, depth, (unsigned)digits / 5, digits);
            expect_read_whole(text);
        }
    }
}

/* A text that is wrong stays the caller's fault. */
Test(scarce_json, what_is_no_json_is_still_told_from_short_memory)
{
    bool starved = true;
    cr_assert_null(json_load("{", 1, 0, NULL, &starved));
    cr_assert_not(starved);
    begin_scarcity(2);
    cr_assert_null(json_load("[1,2]", 5, 0, NULL, &starved));
    (void)end_scarcity();
    cr_assert(starved);
    json_t *value = json_load("[1,2]", 5, 0, NULL, &starved);
    cr_assert(value != NULL && !starved);
    json_decref(value);
}

/* ---- what a job is stored with */

static char *event(const struct job_plan *plan)
{
    return job_plan_event(plan, plan->plan.privacy.steps, true);
}

static void expect_whole_text(const struct job_plan *plan, char *(*write)(const struct job_plan *))
{
    char *good = write(plan);
    bool whole = false;
    cr_assert_not_null(good);
    for (int n = 0; !whole; n++) {
        begin_scarcity(n);
        char *text = write(plan);
        whole = end_scarcity() <= n;
        cr_assert_eq(held, 0, "allocation %d", n);
        cr_assert(text == NULL ? !whole : strcmp(text, good) == 0, "allocation %d: %s", n, text);
        free(text);
    }
    free(good);
}

static void expect_stored_whole(const char *form, unsigned experts)
{
    struct fixture *f = fixture_open();
    struct job_row row;
    struct job_plan plan;
    const char *body = domain_path(form, domain_sealed(f, "private", experts));
    struct response *r = fixture_post(f, "steward", "/v1/jobs", body);
    expect_status(r, 202);
    cr_assert_eq(jobs_find(fixture_db(f), response_text(r, "/id"), &row), DB_OK);
    cr_assert(job_plan_read(row.plan, &plan, NULL));
    expect_whole_text(&plan, job_plan_write);
    expect_whole_text(&plan, event);
    job_plan_clear(&plan);
    job_done(&row);
    fixture_close(f);
}

Test(scarce_json, a_job_is_stored_whole_or_not_at_all)
{
    expect_stored_whole(SWEEP, 20);
}

Test(scarce_json, weights_of_voices_are_stored_or_nothing_is)
{
    expect_stored_whole(
        "{\"algorithm\":\"behaviour_cloning\",\"mechanism\":\"consensus\",\"dataset\":\"%s\","
        "\"privacy\":{\"epsilon\":9,\"delta\":1e-5,\"consensus\":{\"labels\":2,\"skill\":{"
        "\"low\":0,\"high\":9}}},\"parameters\":{\"hidden\":[4],\"batch_size\":4,\"steps\":20}}",
        40);
}

/* Texts that may be left out are not left out for want of memory: a certificate's warnings. */
Test(scarce_json, a_list_of_texts_is_whole_or_not_there)
{
    bool whole = false;
    for (int n = 0; !whole; n++) {
        begin_scarcity(n);
        json_t *list = JSON_TEXTS("a", NULL, "b", n < 100 ? "a warning" : NULL);
        size_t size = json_array_size(list);
        json_decref(list);
        whole = end_scarcity() <= n;
        cr_assert_eq(held, 0, "allocation %d", n);
        cr_assert_eq(size, whole ? 3 : 0, "allocation %d", n);
    }
}

Test(scarce_json, a_certificate_is_signed_whole_or_not_at_all)
{
    struct fixture *f = fixture_open();
    json_t *bare = json_pack("{s:s, s:f}", "id", "crt_1", "epsilon", 0.5);
    bool whole = false;
    for (int n = 0; !whole; n++) {
        begin_scarcity(n);
        char *text = certificate_sign(fixture_app(f), bare);
        whole = end_scarcity() <= n;
        cr_assert_eq(held, 0, "allocation %d", n);
        cr_assert_eq(text != NULL, whole, "allocation %d", n);
        cr_assert(text == NULL || certificate_check(text, fixture_app(f)->public_key));
        free(text);
    }
    json_decref(bare);
    fixture_close(f);
}
