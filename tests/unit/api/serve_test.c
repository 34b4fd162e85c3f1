/* The contract's first section, held against api_serve: who may call, what form a request must
 * have, and what every answer carries. Of the answers' forms see serve_forms_test.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/match.h"
#include "storage/client_tokens.h"
#include "storage/datasets.h"
#include "storage/digests.h"
#include "tests/unit/api/service.h"

TestSuite(serve, .init = service_open, .fini = service_close);

static const char *const roles[] = {"admin",   "steward", "contributor",
                                    "student", "agent",   "auditor"};

#define ROLES (sizeof roles / sizeof roles[0])

Test(serve, every_answer_has_an_id_and_is_not_kept)
{
    struct response *all[] = {
        fixture_get(f, NULL, "/healthz/live"), fixture_get(f, NULL, "/v1/clients"),
        fixture_get(f, "admin", "/v1/clients"), fixture_get(f, NULL, "/nothing"),
        fixture_post(f, "admin", "/v1/clients", "{")};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        cr_expect_str_eq(response_header(all[i], "Request-Id"), "req-test");
        cr_expect_str_eq(response_header(all[i], "Cache-Control"), "no-store");
    }
}

/* ---- tokens */

Test(serve, a_missing_or_wrong_token_is_401)
{
    char good[160], other[160];
    strcpy(good, fixture_token(f, "admin"));
    strcpy(other, fixture_token(f, "student"));
    expect_status(fixture_get(f, "admin", "/v1/clients"), 200);

    char wrong_secret[160], mixed[160], cut[160], upper[160];
    strcpy(wrong_secret, good);
    char *last = &wrong_secret[strlen(wrong_secret) - 1];
    *last = *last == 'a' ? 'b' : 'a';
    snprintf(mixed, sizeof mixed, "%.*s%s", (int)(strrchr(good, '_') - good), good,
             strrchr(other, '_'));
    strcpy(cut, good);
    cut[strlen(cut) - 1] = '\0';
    strcpy(upper, good);
    memcpy(upper, "TCT", 3);
    const char *bad[] = {wrong_secret,
                         mixed,
                         cut,
                         upper,
                         "",
                         "tct_",
                         "tct__",
                         "x",
                         "tct_a_b",
                         "tct_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_"
                         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                         "tct_\xff_"
                         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct response *r = fixture_ask(f, &(struct ask){.path = "/v1/clients", .token = bad[i]});
        expect_problem(r, "unauthorized");
        cr_expect_str_eq(response_header(r, "WWW-Authenticate"),
                         "Bearer realm=\"tacet\", error=\"invalid_token\"");
        cr_expect(*bad[i] == '\0' || strlen(bad[i]) < 4 || strstr(r->body, bad[i]) == NULL);
    }
    struct response *none = fixture_get(f, NULL, "/v1/clients");
    expect_problem(none, "unauthorized");
    cr_expect_str_eq(response_header(none, "WWW-Authenticate"), "Bearer realm=\"tacet\"");
    struct response *basic = fixture_ask(
        f, &(struct ask){.path = "/v1/clients", .headers = {{"Authorization", "Basic YTpi"}}});
    expect_problem(basic, "unauthorized");
    cr_expect_str_eq(response_header(basic, "WWW-Authenticate"), "Bearer realm=\"tacet\"");
    cr_expect_not_null(strstr(basic->body, "Send Authorization: Bearer"), "%s", basic->body);
}

/* A role that somebody wrote into the database is nobody's. */
Test(serve, a_role_without_its_digest_is_not_believed)
{
    expect_problem(fixture_get(f, "student", "/v1/clients"), "forbidden");
    cr_assert_eq(db_change(fixture_db(f), "UPDATE clients SET role = 'admin' WHERE id = $1",
                           DB_VALUES(db_text(fixture_client(f, "student")))),
                 DB_OK);
    expect_problem(fixture_get(f, "student", "/v1/clients"), "internal-error");
    expect_status(fixture_get(f, "steward", "/v1/clients/me"), 200);
}

/* An admin ends a token whose row was changed, and names what the next one may do. */
Test(serve, a_damaged_token_is_ended_and_replaced)
{
    const char *id = fixture_client(f, "student");
    expect_status(fixture_get(f, "student", "/v1/clients/me"), 200);
    cr_assert_eq(db_change(fixture_db(f),
                           "UPDATE client_tokens SET expires_ms = 1 WHERE client = $1",
                           DB_VALUES(db_text(id))),
                 DB_FAILED); /* a trigger */
    cr_assert_eq(db_run(fixture_db(f), "DROP TRIGGER client_tokens_only_end", NULL, 0, NULL, NULL),
                 DB_OK);
    cr_assert_eq(db_change(fixture_db(f),
                           "UPDATE client_tokens SET expires_ms = 1 WHERE client = $1",
                           DB_VALUES(db_text(id))),
                 DB_OK);
    expect_problem(fixture_get(f, "student", "/v1/clients/me"), "internal-error");
    char token[96], rotate[96];
    snprintf(token, sizeof token, "/v1/clients/%s/tokens/1", id);
    snprintf(rotate, sizeof rotate, "/v1/clients/%s:rotate", id);
    expect_problem(fixture_post(f, "admin", rotate, "{}"), "internal-error");
    expect_status(fixture_delete(f, "admin", token), 204);
    expect_problem(fixture_get(f, "student", "/v1/clients/me"), "unauthorized");
    expect_problem(fixture_post(f, "admin", rotate, "{}"), "validation");
    expect_problem(fixture_post(f, "admin", rotate, "{\"scopes\":[\"read\"]}"), "validation");
    expect_status(
        fixture_post(f, "admin", rotate, "{\"scopes\":[\"read\"],\"expires_in_days\":30}"), 201);
}

/* SQLite's driver, with the caller's token ended just before a transaction that writes. */
static struct db_driver revoking;
static bool revokes;
static struct client_token ending;
static unsigned char ending_digest[DIGEST_SIZE];

static enum db_status begin_revoking(void *connection, bool will_write, struct db_fault *fault)
{
    if (will_write && revokes)
        cr_assert_eq(db_driver_sqlite.run(
                         connection,
                         "UPDATE client_tokens SET revoked_ms = 1, digest = $1 WHERE client = $2",
                         DB_VALUES(db_bytes(ending_digest, DIGEST_SIZE), db_text(ending.client)),
                         NULL, NULL, fault),
                     DB_OK);
    revokes = false;
    return db_driver_sqlite.begin(connection, will_write, fault);
}

/* Another server's revocation may come while a call waits for its turn to write. */
Test(serve, who_is_revoked_before_the_change_changes_nothing)
{
    struct dataset_row row;
    revoking = db_driver_sqlite;
    revoking.begin = begin_revoking;
    service_close();
    f = fixture_open_on(&revoking);
    const char *id = domain_dataset(f, "public");
    cr_assert_eq(client_tokens_find(fixture_db(f), fixture_client(f, "steward"), 1, &ending),
                 DB_OK);
    ending.revoked_ms = 1;
    table_digest(fixture_db(f), &client_tokens_table, &ending, ending_digest);
    revokes = true;
    expect_problem(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", id)),
                   "unauthorized");
    cr_assert(!revokes);
    cr_assert_eq(datasets_find(fixture_db(f), id, &row), DB_OK);
    cr_expect_neq(row.state, DATASET_DELETED);
}

Test(serve, every_route_keeps_out_the_roles_it_does_not_name)
{
    unsigned count, refused = 0;
    const struct route *all = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        if (all[i].roles == ROLE_NONE)
            continue;
        char path[200];
        size_t size = 0;
        for (const char *c = all[i].pattern; *c != '\0'; c++) {
            path[size++] = *c == '{' ? 'x' : *c;
            c = *c == '{' ? strchr(c, '}') : c;
        }
        path[size] = '\0';
        struct ask ask = {.method = all[i].method, .path = path, .key = "k"};
        expect_problem(fixture_ask(f, &ask), "unauthorized");
        for (size_t r = 0; r < ROLES; r++) {
            if (all[i].roles & role_find(roles[r]))
                continue;
            ask.token = fixture_token(f, roles[r]);
            expect_problem(fixture_ask(f, &ask), "forbidden");
            refused++;
        }
    }
    cr_expect(refused > 10);
}

/* ---- paths and methods */

Test(serve, unknown_paths_and_methods)
{
    expect_problem(fixture_get(f, "admin", "/v1/nothing"), "not-found");
    expect_problem(fixture_get(f, "admin", "/v1/clients/"), "not-found");
    expect_problem(fixture_get(f, "admin", ""), "not-found");
    expect_problem(fixture_get(f, "admin", "v1/clients"), "not-found");
    expect_problem(fixture_get(f, "steward", "/v1/jobs/job_unknown"), "not-found");
    expect_problem(fixture_delete(f, "admin", "/v1/clients/%zz"), "bad-request");
    struct response *r = fixture_put(f, "admin", "/v1/clients", "{}");
    expect_problem(r, "method-not-allowed");
    cr_expect_str_eq(response_header(r, "Allow"), "POST, GET, HEAD, OPTIONS");
    struct ask head = {.method = "HEAD", .path = "/v1/clients", .token = fixture_token(f, "admin")};
    struct response *get = fixture_get(f, "admin", "/v1/clients");
    r = fixture_ask(f, &head);
    expect_status(r, 200);
    cr_expect_eq(r->size, get->size, "the server sends the length and no body");
    r = fixture_ask(f, &(struct ask){.method = "OPTIONS", .path = "/v1/clients"});
    expect_status(r, 204);
    cr_expect_str_eq(response_header(r, "Allow"), "POST, GET, HEAD, OPTIONS");
    cr_expect(response_header(r, "Access-Control-Allow-Origin") == NULL);
    expect_problem(fixture_ask(f, &(struct ask){.method = "OPTIONS", .path = "/v1/none"}),
                   "not-found");
}

Test(serve, a_path_that_is_not_text_is_answered)
{
    struct response *r = fixture_get(f, NULL, "/\xff\xfe\"\\<script>");
    expect_problem(r, "not-found");
    cr_expect(response_at(r, "/instance") == NULL);
    r = fixture_get(f, NULL, "/a\"b");
    expect_problem(r, "not-found");
    cr_expect_str_eq(response_text(r, "/instance"), "/a\"b");
}

Test(serve, query_parameters_are_known_or_refused)
{
    struct response *r = fixture_get(f, "admin", "/v1/clients?page_sise=3");
    expect_problem(r, "validation");
    cr_expect_str_eq(response_text(r, "/errors/0/parameter"), "page_sise");
    expect_problem(fixture_get(f, "admin", "/v1/clients?page_size=3&page_size=3"), "validation");
    expect_problem(fixture_get(f, "admin", "/v1/clients?page_size=%"), "bad-request");
    expect_problem(fixture_get(f, "admin", "/v1/environments?x"), "validation");
    const char *sizes[] = {"0",   "-1",  "1001", "x", "", "1e2", "99999999999999999999",
                           "5.0", "%205"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char path[80];
        snprintf(path, sizeof path, "/v1/clients?page_size=%s", sizes[i]);
        expect_problem(fixture_get(f, "admin", path), "validation");
    }
    expect_problem(fixture_get(f, "admin", "/v1/clients?page_token=*"), "validation");
    expect_problem(fixture_get(f, "admin", "/v1/clients?page_token="), "validation");
}

/* ---- bodies */

Test(serve, a_body_must_be_json_and_say_so)
{
    const char *token = fixture_token(f, "admin");
    const char *good = "{\"name\":\"n\",\"role\":\"agent\"}";
    struct ask ask = {.path = "/v1/clients", .token = token, .body = good};
    const char *types[] = {"",
                           "text/plain",
                           "application/jsonx",
                           "application/x-ndjson",
                           "application/json; charset=latin1",
                           "multipart/form-data"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        ask.content_type = types[i];
        expect_problem(fixture_ask(f, &ask), "unsupported-media-type");
    }
    const char *fine[] = {"application/json", "Application/JSON", "application/json;charset=UTF-8",
                          "application/json ; charset=\"utf-8\""};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        ask.content_type = fine[i];
        expect_status(fixture_ask(f, &ask), 201);
    }
    ask.content_type = NULL;
    ask.headers[0][0] = "Content-Encoding";
    ask.headers[0][1] = "gzip";
    expect_problem(fixture_ask(f, &ask), "unsupported-media-type");

    struct response *none =
        fixture_ask(f, &(struct ask){.method = "POST", .path = "/v1/clients", .token = token});
    expect_problem(none, "not-json");
    const char *broken[] = {"{",
                            "{\"name\":\"n\",\"role\":\"agent\"",
                            "nul",
                            "{\"name\":NaN}",
                            "{\"name\":\"a\",\"name\":\"b\"}",
                            "{\"name\":\"\xff\"}"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        expect_problem(fixture_post(f, "admin", "/v1/clients", broken[i]), "not-json");
    static char deep[200001];
    memset(deep, '[', 200000);
    expect_problem(fixture_post(f, "admin", "/v1/clients", deep), "not-json");
    expect_invalid(fixture_post(f, "admin", "/v1/clients", "{\"name\":1e999}"), "/name");
}

Test(serve, members_are_checked_one_by_one)
{
    struct response *r = fixture_post(f, "admin", "/v1/clients", "{}");
    expect_invalid(r, "/name");
    expect_invalid(r, "/role");
    const char *objects[] = {"[]", "3", "\"x\"", "null", "true"};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        expect_invalid(fixture_post(f, "admin", "/v1/clients", objects[i]), "");
    const char *names[] = {"3", "null", "\"\"", "[]", "{}", "\"a\\nb\"", "\"\\u007f\""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char body[100];
        snprintf(body, sizeof body, "{\"name\":%s,\"role\":\"agent\"}", names[i]);
        expect_invalid(fixture_post(f, "admin", "/v1/clients", body), "/name");
    }
    char body[200], name[102];
    memset(name, 'n', 101);
    name[101] = '\0';
    snprintf(body, sizeof body, "{\"name\":\"%s\",\"role\":\"agent\"}", name);
    expect_invalid(fixture_post(f, "admin", "/v1/clients", body), "/name");
    snprintf(body, sizeof body, "{\"name\":\"%s\",\"role\":\"agent\"}", name + 1);
    expect_status(fixture_post(f, "admin", "/v1/clients", body), 201);
    expect_invalid(fixture_post(f, "admin", "/v1/clients", "{\"name\":\"n\",\"role\":\"king\"}"),
                   "/role");
    r = fixture_post(
        f, "admin", "/v1/clients",
        "{\"name\":\"n\",\"rol\":\"agent\",\"a/b~c\":1,\"r\xc3\xb4le\":1,\"role\":\"agent\"}");
    cr_expect_eq(json_array_size(response_at(r, "/errors")), 3, "%s", r->body);
    expect_invalid(r, "/rol");
    expect_invalid(r, "/r\xc3\xb4le");
    expect_invalid(r, "/a~1b~0c");
    cr_expect(strstr(r->body, "did you mean \\\"role\\\"") != NULL, "%s", r->body);
}

Test(serve, an_endpoint_without_a_body_takes_none)
{
    expect_status(fixture_post(f, "auditor", "/v1/ledger:verify", NULL), 200);
    expect_status(fixture_post(f, "auditor", "/v1/ledger:verify", "{}"), 200);
    expect_invalid(fixture_post(f, "auditor", "/v1/ledger:verify", "{\"x\":1}"), "/x");
    expect_problem(fixture_post(f, "auditor", "/v1/ledger:verify", "{"), "not-json");
}

Test(serve, at_most_a_hundred_faults_are_told)
{
    char *body = calloc(1, 20000);
    cr_assert(body != NULL);
    size_t size = (size_t)sprintf(body, "{\"name\":\"n\",\"role\":\"agent\"");
    for (int i = 0; i < 500; i++)
        size += (size_t)sprintf(body + size, ",\"unknown%d\":1", i);
    strcpy(body + size, "}");
    struct response *r = fixture_post(f, "admin", "/v1/clients", body);
    expect_problem(r, "validation");
    cr_expect_eq(json_array_size(response_at(r, "/errors")), 100);
    cr_expect(strstr(response_text(r, "/detail"), "500") != NULL);
    free(body);
}

/* Calls that write to a dataset or look at its data take longer the more there are; metrics do not
 * show how long. */
Test(serve, times_nothing_that_depends_on_data)
{
    static const char *const looking[] = {"/v1/jobs", "/v1/jobs:estimate", "/v1/jobs:advise",
                                          "/v1/jobs/{id}/events"};
    unsigned count, untimed = 0;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++) {
        const struct route *route = &routes[i];
        bool reads = strcmp(route->method, "GET") == 0;
        bool depends = !reads && strncmp(route->pattern, "/v1/datasets/{id}", 17) == 0;
        for (int k = 0; k < 4; k++)
            depends = depends || (strcmp(route->pattern, looking[k]) == 0 && (!reads || k == 3));
        cr_expect_eq((route->flags & ROUTE_UNTIMED) != 0, depends, "%s %s", route->method,
                     route->pattern);
        untimed += depends;
    }
    cr_expect_geq(untimed, 8);
}
