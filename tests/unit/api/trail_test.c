/* The audit trail over the API. That every endpoint which changes something writes one row is shown
 * by the suite endpoint_faults, which asks all of them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_log.h"
#include "storage/ledger/trail.h"
#include "tests/unit/api/service.h"

static void open_service(void)
{
    f = fixture_open();
    for (size_t i = 0; i < 3; i++)
        (void)fixture_token(f, (const char *[]){"steward", "student", "auditor"}[i]);
}

TestSuite(trail, .init = open_service, .fini = service_close);

static double rows_now(void)
{
    int64_t rows = -1;
    cr_assert_eq(
        db_one(fixture_db(f), "SELECT count(*) FROM audit_trail", NULL, 0, listing_integer, &rows),
        DB_OK);
    return (double)rows;
}

/* The page of the rows behind NUMBER. */
static struct response *rows_after(double number)
{
    struct response *r = fixture_get(f, "auditor", domain_path("/v1/audit?after=%.0f", number));
    expect_status(r, 200);
    return r;
}

static const char *made_dataset(void)
{
    struct response *r = fixture_post(f, "steward", "/v1/datasets",
                                      "{\"name\":\"secret name\",\"environment\":\"cartpole\","
                                      "\"budget\":{\"epsilon\":5,\"delta\":1e-3}}");
    expect_status(r, 201);
    return response_text(r, "/id");
}

Test(trail, a_change_says_who_did_what_to_which)
{
    double before = rows_now();
    const char *dataset = made_dataset();
    struct response *r = rows_after(before);
    cr_assert_eq(json_array_size(response_at(r, "/items")), 1, "%s", r->body);
    cr_expect_eq(response_number(r, "/items/0/number"), before + 1);
    cr_expect_str_eq(response_text(r, "/items/0/actor"), "client");
    cr_expect_str_eq(response_text(r, "/items/0/client"), fixture_client(f, "steward"));
    cr_expect_str_eq(response_text(r, "/items/0/role"), "steward");
    cr_expect_eq(response_number(r, "/items/0/token"), 1);
    cr_expect_str_eq(response_text(r, "/items/0/action"), "POST /v1/datasets");
    cr_expect_str_eq(response_text(r, "/items/0/resource"), dataset);
    cr_expect_eq(response_number(r, "/items/0/status"), 201);
    cr_expect_str_eq(response_text(r, "/items/0/outcome"), "ok");
    cr_expect_str_eq(response_text(r, "/items/0/request"), "req-test");
    cr_expect_null(strstr(r->body, "secret name"));
}

Test(trail, names_whom_a_change_is_about)
{
    const char *project =
        response_text(fixture_post(f, "steward", "/v1/projects", "{\"name\":\"p\"}"), "/id");
    const char *student = fixture_client(f, "student");
    double before = rows_now();
    expect_status(fixture_put(f, "steward",
                              domain_path("/v1/projects/%s/members/%s", project, student),
                              "{\"role\":\"student\"}"),
                  201);
    const char *heir = fixture_token_client(f, fixture_new_token(f, "steward"));
    expect_status(fixture_post(f, "steward", domain_path("/v1/projects/%s:transfer", project),
                               domain_path("{\"to\":\"%s\",\"reason\":\"r\"}", heir)),
                  200);
    struct response *r = rows_after(before);
    cr_expect_str_eq(response_text(r, "/items/0/resource"), project);
    cr_expect_str_eq(response_text(r, "/items/0/subject"), student);
    cr_expect_str_eq(response_text(r, "/items/1/action"), "tacet client create");
    cr_expect_str_eq(response_text(r, "/items/1/actor"), "operator");
    cr_expect_str_eq(response_text(r, "/items/1/resource"), heir);
    cr_expect_str_eq(response_text(r, "/items/1/subject"), "steward");
    cr_expect_str_eq(response_text(r, "/items/2/resource"), project);
    cr_expect_str_eq(response_text(r, "/items/2/subject"), heir);
}

Test(trail, a_new_token_is_a_row_without_the_token)
{
    double before = rows_now();
    struct response *made = fixture_post(f, "student", "/v1/clients/me:rotate", "{}");
    expect_status(made, 201);
    struct response *r = rows_after(before);
    cr_expect_str_eq(response_text(r, "/items/0/resource"), fixture_client(f, "student"));
    cr_expect_null(strstr(r->body, "tct_"));
    cr_expect_null(strstr(r->body, response_text(made, "/token") + 30));
}

Test(trail, says_which_role_a_new_client_got)
{
    (void)fixture_client(f, "admin");
    double before = rows_now();
    struct response *made =
        fixture_post(f, "admin", "/v1/clients", "{\"name\":\"n\",\"role\":\"auditor\"}");
    expect_status(made, 201);
    struct response *r = rows_after(before);
    cr_expect_str_eq(response_text(r, "/items/0/action"), "POST /v1/clients");
    cr_expect_str_eq(response_text(r, "/items/0/resource"), response_text(made, "/id"));
    cr_expect_str_eq(response_text(r, "/items/0/subject"), "auditor");
}

Test(trail, a_name_is_no_filter)
{
    expect_status(fixture_get(f, "auditor", "/v1/audit?client=student"), 422);
    expect_status(fixture_get(f, "auditor", "/v1/audit?client=cli_A"), 422);
    expect_status(fixture_get(f, "auditor", "/v1/audit?resource=The%20ward"), 422);
    expect_status(fixture_get(f, "auditor", "/v1/audit?client=&resource="), 200);
    expect_status(fixture_get(f, "auditor", "/v1/audit?client=cli_0&resource=ds_0"), 200);
}

Test(trail, an_expert_s_name_is_not_in_it)
{
    const char *dataset = made_dataset();
    domain_fill(f, dataset, 5);
    double before = rows_now();
    expect_status(fixture_delete(f, "steward", domain_path("/v1/datasets/%s/experts/e0", dataset)),
                  200);
    struct response *r = rows_after(before);
    cr_expect_str_eq(response_text(r, "/items/0/action"),
                     "DELETE /v1/datasets/{id}/experts/{expert}");
    cr_expect_str_eq(response_text(r, "/items/0/resource"), dataset);
    cr_expect_eq(strlen(response_text(r, "/items/0/subject")), 64); /* of the receipt */
    cr_expect_null(strstr(r->body, "\"e0\""));
}

Test(trail, a_released_policy_is_a_row_of_the_service)
{
    const char *dataset = domain_sealed(f, "private", 10);
    double before = rows_now();
    struct response *job = domain_run(f, domain_private_job(dataset, 2, 5));
    struct response *r = rows_after(before);
    cr_expect_str_eq(response_text(r, "/items/0/action"), "POST /v1/jobs");
    cr_expect_str_eq(response_text(r, "/items/0/resource"), response_text(job, "/id"));
    cr_expect_str_eq(response_text(r, "/items/1/actor"), "service");
    cr_expect_str_eq(response_text(r, "/items/1/action"), "release");
    cr_expect_str_eq(response_text(r, "/items/1/resource"), response_text(job, "/id"));
    cr_expect_str_eq(response_text(r, "/items/1/subject"), response_text(job, "/policy"));
}

Test(trail, a_question_to_a_teacher_and_a_repeat_write_no_row)
{
    const char *policy = domain_policy(f);
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 8, 2));
    const char *path = domain_path("/v1/teachers/%s/queries", response_text(made, "/id"));
    const struct ask again = {.path = "/v1/projects",
                              .token = fixture_token(f, "steward"),
                              .key = "once",
                              .body = "{\"name\":\"p\"}"};
    expect_status(fixture_ask(f, &again), 201);
    double before = rows_now();
    expect_status(fixture_ask(f, &again), 201);
    expect_status(fixture_post(f, "student", path, "{\"state\":[0.01,-0.02,0.03,0.04]}"), 200);
    cr_expect_eq(rows_now(), before);
}

/* ---- refusals */

static void write_refusals(void)
{
    cr_assert(api_write_refusals(fixture_app(f), fixture_db(f)));
}

Test(trail, refusals_that_are_alike_are_one_row)
{
    const char *dataset = made_dataset();
    const char *seal = domain_path("/v1/datasets/%s:seal", dataset);
    const char *gone = "/v1/datasets/ds_00000000000000000000:seal";
    double before = rows_now();
    for (unsigned i = 0; i < 3; i++)
        expect_problem(fixture_post(f, "student", seal, NULL), "forbidden");
    expect_problem(fixture_post(f, "steward", gone, NULL), "not-found");
    expect_problem(fixture_get(f, "student", "/v1/audit"), "forbidden");
    expect_problem(fixture_get(f, NULL, "/v1/audit"), "unauthorized");
    expect_problem(fixture_get(f, "steward", "/v1/datasets/ds_00000000000000000000"), "not-found");
    cr_expect_eq(rows_now(), before);
    write_refusals();
    write_refusals();
    struct response *r = rows_after(before);
    cr_assert_eq(json_array_size(response_at(r, "/items")), 3, "%s", r->body);
    cr_expect_str_eq(response_text(r, "/items/0/client"), fixture_client(f, "student"));
    cr_expect_str_eq(response_text(r, "/items/0/resource"), dataset);
    cr_expect_str_eq(response_text(r, "/items/0/outcome"), "forbidden");
    cr_expect_eq(response_number(r, "/items/0/status"), 403);
    cr_expect_eq(response_number(r, "/items/0/count"), 3);
    cr_expect_str_eq(response_text(r, "/items/1/outcome"), "not-found");
    cr_expect_str_eq(response_text(r, "/items/2/action"), "GET /v1/audit");
}

/* However many things a client asks for, the disk gets few rows. */
Test(trail, a_flood_of_refusals_is_counted)
{
    double before = rows_now(), refused = 0;
    for (unsigned i = 0; i < 500; i++)
        expect_problem(fixture_post(f, "student", domain_path("/v1/datasets/ds_%u:seal", i), NULL),
                       "forbidden");
    write_refusals();
    struct response *r =
        fixture_get(f, "auditor", domain_path("/v1/audit?page_size=1000&after=%.0f", before));
    size_t rows = json_array_size(response_at(r, "/items"));
    cr_assert_leq(rows, 65);
    for (size_t i = 0; i < rows; i++)
        refused += response_number(r, domain_path("/items/%zu/count", i));
    cr_expect_eq(refused, 500);
}

/* ---- reading it */

Test(trail, is_for_auditors_and_admins)
{
    static const char *const others[] = {"steward", "contributor", "student", "agent"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_problem(fixture_get(f, others[i], "/v1/audit"), "forbidden");
    expect_status(fixture_get(f, "admin", "/v1/audit"), 200);
    expect_status(fixture_get(f, "auditor", "/v1/audit"), 200);
}

static size_t rows_of(const char *query)
{
    struct response *r = fixture_get(f, "auditor", domain_path("/v1/audit?%s", query));
    expect_status(r, 200);
    return json_array_size(response_at(r, "/items"));
}

Test(trail, is_read_by_thing_client_and_time)
{
    const char *dataset = made_dataset(), *other = made_dataset();
    expect_problem(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", other), NULL),
                   "dataset-empty");
    write_refusals();
    cr_expect_eq(rows_of(domain_path("resource=%s", dataset)), 1);
    cr_expect_eq(rows_of(domain_path("resource=%s", other)), 2);
    cr_expect_eq(rows_of(domain_path("client=%s", fixture_client(f, "steward"))), 3);
    cr_expect_eq(rows_of("client=cli_0"), 0);
    cr_expect_eq(rows_of("until=1970-01-02"), 0);
    cr_expect_gt(rows_of("since=1970-01-02T00:00:00Z"), 3);
    expect_problem(fixture_get(f, "auditor", "/v1/audit?since=yesterday"), "validation");
    expect_problem(fixture_get(f, "auditor", "/v1/audit?after=-1"), "validation");
}

Test(trail, comes_in_pages)
{
    double seen = 0;
    const char *token = "";
    for (unsigned i = 0; i < 4; i++)
        made_dataset();
    for (const char *path = "/v1/audit?page_size=2"; path;
         path = token[0] != '\0' ? domain_path("/v1/audit?page_size=2&page_token=%s", token)
                                 : NULL) {
        struct response *r = fixture_get(f, "auditor", path);
        expect_status(r, 200);
        for (size_t i = 0; i < json_array_size(response_at(r, "/items")); i++)
            cr_expect_eq(response_number(r, domain_path("/items/%zu/number", i)), ++seen);
        token = response_text(r, "/next_page_token");
    }
    cr_expect_eq(seen, rows_now());
}

/* Each line is the text whose hash the log has. */
Test(trail, its_lines_are_what_the_log_has)
{
    made_dataset();
    const struct ask ask = {.path = "/v1/audit?page_size=1000",
                            .token = fixture_token(f, "auditor"),
                            .accept = "application/x-ndjson"};
    struct response *r = fixture_ask(f, &ask);
    expect_status(r, 200);
    cr_expect_str_eq(r->content_type, "application/x-ndjson");
    int64_t number = 0;
    const char *end;
    for (const char *at = r->body; (end = strchr(at, '\n')); at = end + 1) {
        unsigned char hash[LEDGER_HASH_SIZE];
        struct ledger_leaf leaf;
        trail_hash(at, (size_t)(end - at), hash);
        cr_assert_eq(ledger_log_find(fixture_db(f), TRAIL_ACCOUNT, ++number, &leaf), DB_OK);
        cr_expect_arr_eq(leaf.head, hash, LEDGER_HASH_SIZE);
    }
    cr_expect_eq((double)number, rows_now());
}
