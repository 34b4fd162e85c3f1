/* Aggregations over the whole service: agents report once, the buffer moves the parameters as the
 * decoded reports say, the ledger follows, and what is odd is refused and counts nothing. */
#include <criterion/criterion.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/online/gradient_collection.h"
#include "algos/privacy/local/local_report.h"
#include "algos/privacy/noise/noise_source.h"
#include "api/reports/aggregations.h"
#include "tests/unit/api/service.h"

TestSuite(aggregations, .init = service_open, .fini = service_close);

enum { DIMENSION = 112 };

static const char *make(const char *more)
{
    char body[400];
    snprintf(body, sizeof body, "{\"environment\":\"cartpole\",\"epsilon\":5,\"seed\":3%s}", more);
    struct response *r = fixture_post(f, "steward", "/v1/aggregations", body);
    expect_status(r, 201);
    return response_text(r, "/id");
}

static struct response *as_agent(const char *token, const char *method, const char *path,
                                 const char *key, const char *body)
{
    const struct ask ask = {
        .method = method, .path = path, .token = token, .key = key, .body = body};
    return fixture_ask(f, &ask);
}

/* The scheme that the aggregation describes. */
static struct local_scheme scheme_of(const char *id)
{
    struct response *r = fixture_get(f, "steward", domain_path("/v1/aggregations/%s", id));
    expect_status(r, 200);
    const struct local_mechanism *mechanism =
        local_mechanism_find(response_text(r, "/mechanism/name"));
    cr_assert_not_null(mechanism);
    const struct local_parameters parameters = {
        .dimension = (uint32_t)response_number(r, "/dimension"),
        .epsilon = response_number(r, "/mechanism/epsilon_per_report"),
        .clip = response_number(r, "/mechanism/clip")};
    struct local_scheme scheme;
    cr_assert_null(local_scheme_make(mechanism, &parameters, &scheme));
    cr_assert_float_eq(response_number(r, "/mechanism/report_length"), scheme.report_length, 0);
    return scheme;
}

/* A report of VECTOR as the agent TOKEN would make it: its bytes in base64, and what they decode to
 * is added to SUM (or NULL). */
static const char *report(const char *id, const char *token, const double *vector, double *sum)
{
    struct local_scheme scheme = scheme_of(id);
    struct response *r =
        as_agent(token, "GET", domain_path("/v1/aggregations/%s/parameters", id), NULL, NULL);
    expect_status(r, 200);
    unsigned char seed[LOCAL_SEED_SIZE], bytes[10 * (DIMENSION + 1)];
    const char *hex = response_text(r, "/report_seed");
    cr_assert_eq(sodium_hex2bin(seed, sizeof seed, hex, strlen(hex), NULL, NULL, NULL), 0);
    int64_t values[DIMENSION + 1];
    double estimate[DIMENSION];
    struct noise_source *noise = noise_source_new("report");
    cr_assert_not_null(noise);
    cr_assert_eq(scheme.mechanism->randomise(&scheme, seed, vector, noise, values), LOCAL_OK);
    noise_source_free(noise);
    cr_assert_eq(scheme.mechanism->decode(&scheme, seed, values, estimate), LOCAL_OK);
    for (int i = 0; sum != NULL && i < DIMENSION; i++)
        sum[i] += estimate[i];
    size_t size = local_report_pack(&scheme, values, bytes);
    static char text[sizeof bytes * 2];
    sodium_bin2base64(text, sizeof text, bytes, size, sodium_base64_VARIANT_ORIGINAL);
    return text;
}

static struct response *submit(const char *id, const char *token, const char *key, int version,
                               const char *bytes)
{
    char *body = malloc(strlen(bytes) + 100);
    cr_assert_not_null(body);
    sprintf(body, "{\"version\":%d,\"report\":{\"bytes\":\"%s\"}}", version, bytes);
    struct response *r =
        as_agent(token, "POST", domain_path("/v1/aggregations/%s/submissions", id), key, body);
    free(body);
    return r;
}

/* Gives the version that is told with them. */
static double read_parameters(const char *id, float *out)
{
    struct response *r =
        fixture_get(f, "steward", domain_path("/v1/aggregations/%s/parameters", id));
    expect_status(r, 200);
    cr_assert_eq(json_array_size(response_at(r, "/parameters")), DIMENSION);
    for (size_t i = 0; i < DIMENSION; i++)
        out[i] = (float)json_number_value(json_array_get(response_at(r, "/parameters"), i));
    return response_number(r, "/version");
}

static const double gradient[DIMENSION] = {0.5, -0.25, 0.125};

/* Three reports of a buffer of three, of every mechanism. */
Test(aggregations, a_full_buffer_moves_the_parameters)
{
    const struct local_mechanism *mechanism;
    for (size_t m = 0; (mechanism = local_mechanism_at(m)) != NULL; m++) {
        char more[100];
        snprintf(more, sizeof more, ",\"buffer\":3,\"learning_rate\":0.1,\"mechanism\":\"%s\"",
                 mechanism->name);
        const char *id = make(more);
        const struct actor_critic net = {4, 16, 2};
        double sum[DIMENSION] = {0};
        float before[DIMENSION], after[DIMENSION];
        read_parameters(id, before);
        for (int i = 0; i < 3; i++) {
            const char *token = fixture_new_token(f, "agent");
            struct response *r = submit(id, token, "one", 1, report(id, token, gradient, sum));
            expect_status(r, 202);
            cr_expect_eq(response_number(r, "/version"), i < 2 ? 1 : 2);
            cr_expect_eq(response_number(r, "/reports_left"), 0);
            cr_expect_float_eq(response_number(r, "/spent/epsilon"), 5, 1e-9);
        }
        read_parameters(id, after);
        collection_update(&net, before, sum, 3, 0.1);
        cr_expect_arr_eq(before, after, sizeof after, "%s", mechanism->name);
        struct response *r = fixture_get(f, "steward", domain_path("/v1/aggregations/%s", id));
        cr_expect_eq(response_number(r, "/reports"), 3);
        cr_expect_eq(response_number(r, "/waiting"), 0);
    }
}

Test(aggregations, one_report_for_each_agent)
{
    const char *id = make(",\"name\":\"beds\""), *token = fixture_new_token(f, "agent");
    const char *bytes = report(id, token, gradient, NULL);
    struct response *first = submit(id, token, "one", 1, bytes);
    expect_status(first, 202);
    /* The same key: the stored bytes, nothing counted. */
    struct response *again = submit(id, token, "one", 1, bytes);
    expect_status(again, 202);
    cr_expect_str_eq(again->body, first->body);
    cr_expect_str_eq(response_header(again, "Idempotency-Replayed"), "true");
    expect_problem(submit(id, token, "two", 1, bytes), "already-reported");
    struct response *r = as_agent(token, "GET", "/v1/ledger/accounts", NULL, NULL);
    expect_status(r, 200);
    cr_expect_eq(json_array_size(response_at(r, "/items")), 1);
    cr_expect_str_eq(response_text(r, "/items/0/unit"), "agent");
    cr_expect_str_eq(response_text(r, "/items/0/resource"), id);
    cr_expect_str_eq(response_text(r, "/items/0/resource_name"), "beds");
    cr_expect_float_eq(response_number(r, "/items/0/spent/epsilon"), 5, 1e-9);
    cr_expect_float_eq(response_number(r, "/items/0/remaining/epsilon"), 0, 1e-9);
    /* Another agent sees neither that account nor its entries. */
    const char *other = fixture_new_token(f, "agent");
    const char *account = response_text(r, "/items/0/account");
    r = as_agent(other, "GET", "/v1/ledger/accounts", NULL, NULL);
    cr_expect_eq(json_array_size(response_at(r, "/items")), 0);
    expect_problem(
        as_agent(other, "GET", domain_path("/v1/ledger/accounts/%s", account), NULL, NULL),
        "not-found");
    r = fixture_post(f, "steward", "/v1/ledger:verify", NULL);
    expect_status(r, 200);
    cr_expect(json_is_true(response_at(r, "/valid")) || response_at(r, "/valid") == NULL);
}

Test(aggregations, several_reports_share_epsilon)
{
    const char *id = make(",\"submissions_per_agent\":3"), *token = fixture_new_token(f, "agent");
    cr_expect_float_eq(scheme_of(id).parameters.epsilon, 5.0 / 3, 1e-8);
    for (int i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        struct response *r = submit(id, token, key, 1, report(id, token, gradient, NULL));
        expect_status(r, 202);
        cr_expect_eq(response_number(r, "/report"), i + 1);
        cr_expect_eq(response_number(r, "/reports_left"), 2 - i);
        cr_expect_leq(response_number(r, "/spent/epsilon"), 5);
    }
    expect_problem(submit(id, token, "k3", 1, report(id, token, gradient, NULL)),
                   "already-reported");
}

Test(aggregations, versions)
{
    const char *accepts = make(",\"buffer\":1");
    const char *refuses = make(",\"buffer\":1,\"stale\":\"refuse\"");
    const char *a = fixture_new_token(f, "agent"), *b = fixture_new_token(f, "agent");
    expect_status(submit(accepts, a, "1", 1, report(accepts, a, gradient, NULL)), 202);
    expect_status(submit(refuses, a, "2", 1, report(refuses, a, gradient, NULL)), 202);
    expect_status(submit(accepts, b, "1", 1, report(accepts, b, gradient, NULL)), 202);
    expect_problem(submit(refuses, b, "2", 1, report(refuses, b, gradient, NULL)), "stale-version");
    expect_invalid(submit(refuses, b, "3", 3, report(refuses, b, gradient, NULL)), "/version");
    expect_status(submit(refuses, b, "4", 2, report(refuses, b, gradient, NULL)), 202);
}

Test(aggregations, bad_reports)
{
    const char *id = make(",\"mechanism\":\"projected_random_sign\"");
    const char *token = fixture_new_token(f, "agent");
    const char *path = domain_path("/v1/aggregations/%s/submissions", id);
    static const char *const bad[][2] = {
        {"{\"version\":1}", "/report"},
        {"{\"report\":{\"bytes\":\"AA==\"}}", "/version"},
        {"{\"version\":0,\"report\":{\"bytes\":\"AA==\"}}", "/version"},
        {"{\"version\":1.5,\"report\":{\"bytes\":\"AA==\"}}", "/version"},
        {"{\"version\":1,\"report\":7}", "/report"},
        {"{\"version\":1,\"report\":{}}", "/report"},
        {"{\"version\":1,\"report\":{\"bytes\":\"AA==\",\"values\":[0,0]}}", "/report"},
        {"{\"version\":1,\"report\":{\"bytes\":\"\"}}", "/report/bytes"},
        {"{\"version\":1,\"report\":{\"bytes\":\"??\"}}", "/report/bytes"},
        {"{\"version\":1,\"report\":{\"bytes\":\"AAA=\"}}", "/report/bytes"},
        {"{\"version\":1,\"report\":{\"bytes\":\"BA==\"}}", "/report/bytes"},
        {"{\"version\":1,\"report\":{\"values\":[0]}}", "/report/values"},
        {"{\"version\":1,\"report\":{\"values\":[0,0,0]}}", "/report/values"},
        {"{\"version\":1,\"report\":{\"values\":[0,\"1\"]}}", "/report/values/1"},
        {"{\"version\":1,\"report\":{\"values\":[0,0.5]}}", "/report/values/1"},
        {"{\"version\":1,\"report\":{\"values\":[0,1e30]}}", "/report/values/1"},
        {"{\"version\":1,\"report\":{\"values\":[0,1e999]}}", "/report/values/1"},
        {"{\"version\":1,\"report\":{\"values\":[0,null]}}", "/report/values/1"},
        {"{\"version\":1,\"report\":{\"values\":[0,2]}}", "/report"},
        {"{\"version\":1,\"report\":{\"values\":[0,-1]}}", "/report"},
        {"{\"version\":1,\"report\":{\"values\":[0,1]},\"more\":1}", "/more"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char key[8];
        snprintf(key, sizeof key, "b%zu", i);
        expect_invalid(as_agent(token, "POST", path, key, bad[i][0]), bad[i][1]);
    }
    /* JSON has neither of these, nor an end too early. */
    static const char *const none[] = {
        "{\"version\":1,\"report\":{\"values\":[0,NaN]}}",
        "{\"version\":1,\"report\":{\"values\":[0,Infinity]}}",
        "{\"version\":1,\"report\":{\"values\":[0,",
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct response *refused = as_agent(token, "POST", path, "none", none[i]);
        expect_status(refused, 400);
    }
    const char *good = "{\"version\":1,\"report\":{\"values\":[0,1]}}";
    expect_problem(as_agent(token, "POST", path, NULL, good), "idempotency-key-required");
    expect_problem(fixture_post(f, "steward", path, good), "forbidden");
    expect_problem(fixture_post(f, NULL, path, good), "unauthorized");
    expect_problem(as_agent(token, "POST", "/v1/aggregations/agg_none/submissions", "x", good),
                   "not-found");
    struct response *r = fixture_get(f, "steward", domain_path("/v1/aggregations/%s", id));
    cr_expect_eq(response_number(r, "/reports"), 0);
    r = as_agent(token, "GET", "/v1/ledger/accounts", NULL, NULL);
    cr_expect_eq(json_array_size(response_at(r, "/items")), 0);
    expect_status(as_agent(token, "POST", path, "good", good), 202);
}

Test(aggregations, points_off_the_sphere_are_refused)
{
    const char *id = make(""), *token = fixture_new_token(f, "agent");
    char body[1000] = "{\"version\":1,\"report\":{\"values\":[0";
    for (int i = 1; i < DIMENSION + 1; i++)
        strcat(body, ",0");
    strcat(body, "]}}");
    expect_invalid(
        as_agent(token, "POST", domain_path("/v1/aggregations/%s/submissions", id), "k", body),
        "/report");
}

Test(aggregations, end)
{
    const char *id = make(""), *token = fixture_new_token(f, "agent");
    const char *bytes = report(id, token, gradient, NULL);
    const char *close = domain_path("/v1/aggregations/%s:close", id);
    expect_problem(as_agent(token, "POST", close, "c", NULL), "forbidden");
    struct response *r = fixture_post(f, "steward", close, NULL);
    expect_status(r, 200);
    cr_expect_str_eq(response_text(r, "/state"), "closed");
    expect_problem(fixture_post(f, "steward", close, NULL), "aggregation-closed");
    expect_problem(submit(id, token, "k", 1, bytes), "aggregation-closed");
    r = fixture_get(f, "steward", domain_path("/v1/aggregations/%s", id));
    cr_expect_eq(response_number(r, "/reports"), 0);
    r = as_agent(token, "GET", "/v1/ledger/accounts", NULL, NULL);
    cr_expect_eq(json_array_size(response_at(r, "/items")), 0);
    r = as_agent(token, "GET", domain_path("/v1/aggregations/%s/parameters", id), NULL, NULL);
    cr_expect_str_eq(response_text(r, "/state"), "closed");
}

/* Nothing of an agent that was revoked is counted or charged, whatever it had asked for before. */
Test(aggregations, a_revoked_agent_reports_no_more)
{
    const char *id = make("");
    struct response *r =
        fixture_post(f, "admin", "/v1/clients", "{\"name\":\"gone\",\"role\":\"agent\"}");
    expect_status(r, 201);
    const char *client = response_text(r, "/id"), *token = response_text(r, "/token");
    const char *bytes = report(id, token, gradient, NULL);
    const struct ask revoke = {.method = "DELETE",
                               .path = domain_path("/v1/clients/%s", client),
                               .token = fixture_token(f, "admin")};
    expect_status(fixture_ask(f, &revoke), 204);
    expect_problem(submit(id, token, "k", 1, bytes), "unauthorized");
    r = fixture_get(f, "steward", domain_path("/v1/aggregations/%s", id));
    cr_expect_eq(response_number(r, "/reports"), 0);
    r = fixture_get(f, "steward", "/v1/ledger/accounts");
    expect_status(r, 200);
    cr_expect_eq(json_array_size(response_at(r, "/items")), 0);
}

Test(aggregations, parameters_as_bytes)
{
    const char *id = make("");
    float numbers[DIMENSION];
    read_parameters(id, numbers);
    const struct ask ask = {.path = domain_path("/v1/aggregations/%s/parameters", id),
                            .token = fixture_token(f, "steward"),
                            .accept = "application/octet-stream"};
    struct response *r = fixture_ask(f, &ask);
    expect_status(r, 200);
    cr_expect_str_eq(r->content_type, "application/octet-stream");
    cr_expect_str_eq(response_header(r, "ETag"), "\"1\"");
    cr_assert_eq(r->size, sizeof numbers);
    cr_expect_arr_eq(r->body, numbers, sizeof numbers);
}

Test(aggregations, bad_wishes)
{
    static const char *const bad[][2] = {
        {"{\"environment\":\"cartpole\"}", "/epsilon"},
        {"{\"environment\":\"moon\",\"epsilon\":1}", "/environment"},
        {"{\"epsilon\":1}", "/state_dim"},
        {"{\"epsilon\":1,\"state_dim\":4}", "/action_count"},
        {"{\"environment\":\"cartpole\",\"state_dim\":4,\"epsilon\":1}", "/state_dim"},
        {"{\"environment\":\"cartpole\",\"epsilon\":0}", "/epsilon"},
        {"{\"environment\":\"cartpole\",\"epsilon\":-1}", "/epsilon"},
        {"{\"environment\":\"cartpole\",\"epsilon\":41}", ""},
        {"{\"environment\":\"cartpole\",\"epsilon\":0.001,\"submissions_per_agent\":2}", ""},
        {"{\"environment\":\"cartpole\",\"epsilon\":1,\"mechanism\":\"gauss\"}", "/mechanism"},
        {"{\"environment\":\"cartpole\",\"epsilon\":1,\"clip\":0}", "/clip"},
        {"{\"environment\":\"cartpole\",\"epsilon\":1,\"projection_clip\":1}", ""},
        {"{\"environment\":\"cartpole\",\"epsilon\":1,\"buffer\":0}", "/buffer"},
        {"{\"environment\":\"cartpole\",\"epsilon\":1,\"hidden\":0}", "/hidden"},
        {"{\"environment\":\"cartpole\",\"epsilon\":1,\"hidden\":1024,\"buffer\":100000}",
         "/hidden"},
        {"{\"environment\":\"cartpole\",\"epsilon\":40,\"hidden\":1024,\"buffer\":200,"
         "\"mechanism\":\"projected_random_sign\"}",
         "/hidden"},
        {"{\"environment\":\"cartpole\",\"epsilon\":1,\"stale\":\"maybe\"}", "/stale"},
        {"{\"environment\":\"cartpole\",\"epsilon\":1,\"colour\":1}", "/colour"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_invalid(fixture_post(f, "steward", "/v1/aggregations", bad[i][0]), bad[i][1]);
    struct response *r = fixture_get(f, "steward", "/v1/aggregations");
    cr_expect_eq(json_array_size(response_at(r, "/items")), 0);
    make(",\"hidden\":1024,\"buffer\":200"); /* a report of one number for each parameter */
    make("");
    r = fixture_get(f, "steward", "/v1/aggregations?page_size=1");
    cr_expect_eq(json_array_size(response_at(r, "/items")), 1);
}

/* SQLite's driver, with an update of an aggregation just before its parameters are read. */
static struct db_driver updating;
static const char *updated; /* the aggregation; NULL: none */

static void update_meanwhile(void)
{
    float halves[DIMENSION];
    double numbers[AGGREGATION_SCHEME_NUMBERS];
    char error[DB_ERROR_SIZE];
    struct aggregation_row row;
    struct db *other;
    for (int i = 0; i < DIMENSION; i++)
        halves[i] = 0.5F;
    cr_assert_eq(db_open(fixture_store(f), &other, error), DB_OK, "%s", error);
    cr_assert_eq(aggregations_find(other, updated, &row, numbers, sizeof numbers), DB_OK);
    updated = NULL; /* once, and not within itself */
    cr_assert_eq(aggregations_update(other, &row, halves, sizeof halves), DB_OK);
    db_close(other);
}

static enum db_status run_updating(void *connection, const char *sql, const struct db_value *values,
                                   unsigned count, db_row_fn *each, void *context,
                                   struct db_fault *fault)
{
    if (updated && strstr(sql, "FROM aggregation_parameters"))
        update_meanwhile();
    return db_driver_sqlite.run(connection, sql, values, count, each, context, fault);
}

Test(aggregations, parameters_are_those_of_the_version_that_is_told)
{
    float before[DIMENSION], then[DIMENSION], after[DIMENSION];
    updating = db_driver_sqlite;
    updating.run = run_updating;
    service_close();
    f = fixture_open_on(&updating);
    const char *id = make("");
    read_parameters(id, before);
    updated = id;
    cr_expect_eq(read_parameters(id, then), 1);
    cr_assert_null(updated);
    cr_expect_arr_eq(then, before, sizeof before, "version 1 with what version 2 has");
    cr_expect_eq(read_parameters(id, after), 2);
    cr_expect_eq(after[0], 0.5F);
}
