/* Tokens of a client: they expire, rotate and carry scopes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/books/client_create.h"
#include "storage/client_tokens.h"
#include "tests/unit/api/service.h"

#define DAY_MS 86400000

TestSuite(client_tokens, .init = service_open, .fini = service_close);

/* A new client of ROLE whose token is made by the members MORE of the body. */
static struct response *make(const char *role, const char *more)
{
    struct response *made = fixture_post(
        f, "admin", "/v1/clients", domain_path("{\"name\":\"n\",\"role\":\"%s\"%s}", role, more));
    expect_status(made, 201);
    return made;
}

static struct response *ask_as(const char *token, const char *method, const char *path,
                               const char *body)
{
    struct ask ask = {.method = method, .path = path, .token = token, .body = body};
    return fixture_ask(f, &ask);
}

static struct response *who_is(const char *token)
{
    return ask_as(token, "GET", "/v1/clients/me", NULL);
}

static struct response *rotate(const char *token, const char *body)
{
    return ask_as(token, "POST", "/v1/clients/me:rotate", body);
}

Test(client_tokens, a_client_sees_itself_and_its_tokens)
{
    struct response *made =
        make("student", ",\"expires_in_days\":2,\"scopes\":[\"read\",\"spend\"]");
    const char *token = response_text(made, "/token"), *id = response_text(made, "/id");
    cr_expect_str_eq(response_text(made, "/credential/scopes/1"), "spend");
    struct response *me = who_is(token);
    expect_status(me, 200);
    cr_expect_str_eq(response_text(me, "/id"), id);
    cr_expect_str_eq(response_text(me, "/role"), "student");
    cr_expect_eq(response_number(me, "/credential/number"), 1);
    cr_expect_str_eq(response_text(me, "/credential/scopes/0"), "read");
    cr_expect_str_eq(response_text(me, "/credential/scopes/1"), "spend");
    cr_expect_str_eq(response_text(me, "/credential/expires_at"),
                     response_text(made, "/credential/expires_at"));
    struct response *list = ask_as(token, "GET", "/v1/clients/me/tokens", NULL);
    expect_status(list, 200);
    cr_expect_eq(json_array_size(response_at(list, "/items")), 1);
    cr_expect(strstr(list->body, strrchr(token, '_') + 1) == NULL);

    const char *own = domain_path("/v1/clients/%s", id);
    const char *tokens = domain_path("/v1/clients/%s/tokens", id);
    expect_status(ask_as(token, "GET", own, NULL), 200);
    expect_status(fixture_get(f, "admin", own), 200);
    expect_status(fixture_get(f, "admin", tokens), 200);
    expect_problem(fixture_get(f, "steward", own), "forbidden");
    expect_problem(fixture_get(f, "steward", tokens), "forbidden");
    expect_problem(fixture_get(f, "steward", "/v1/clients/cli_none"), "forbidden");
    expect_problem(fixture_get(f, "admin", "/v1/clients/cli_none/tokens"), "not-found");
}

Test(client_tokens, expire_to_the_millisecond)
{
    const char *token = response_text(make("agent", ",\"expires_in_days\":1"), "/token");
    fixture_advance(DAY_MS - 1);
    expect_status(who_is(token), 200);
    fixture_advance(1);
    struct response *late = who_is(token);
    expect_problem(late, "unauthorized");
    cr_expect(strstr(response_header(late, "WWW-Authenticate"), "invalid_token") != NULL);
    expect_problem(rotate(token, "{}"), "unauthorized");
}

/* What a client's keys are hashed with is its own, and outlives its tokens. */
Test(client_tokens, show_their_client_its_salt_of_keys)
{
    struct response *made = make("steward", ""), *other = make("steward", "");
    const char *token = response_text(made, "/token");
    const char *salt = response_text(who_is(token), "/key_salt");
    cr_expect_eq(strlen(salt), 32);
    cr_expect_str_neq(response_text(who_is(response_text(other, "/token")), "/key_salt"), salt);
    struct response *turned = rotate(token, "{}");
    cr_expect_str_eq(response_text(who_is(response_text(turned, "/token")), "/key_salt"), salt);
    struct response *seen =
        fixture_get(f, "admin", domain_path("/v1/clients/%s", response_text(made, "/id")));
    cr_expect(json_is_null(response_at(seen, "/key_salt")));
    cr_expect_null(strstr(fixture_get(f, "admin", "/v1/clients")->body, "key_salt"));
}

Test(client_tokens, a_rotated_token_works_until_the_overlap_is_over)
{
    struct response *made = make("student", "");
    const char *old = response_text(made, "/token");
    struct response *turned = rotate(old, "{\"overlap_seconds\":60}");
    expect_status(turned, 201);
    const char *new = response_text(turned, "/token");
    cr_expect_str_eq(response_text(turned, "/id"), response_text(made, "/id"));
    cr_expect_eq(response_number(turned, "/credential/number"), 2);
    cr_expect(strcmp(old, new) != 0);
    fixture_advance(59999);
    expect_status(who_is(old), 200);
    expect_status(who_is(new), 200);
    cr_expect_str_neq(response_text(who_is(old), "/credential/expires_at"), "");
    fixture_advance(1);
    expect_problem(who_is(old), "unauthorized");
    expect_status(who_is(new), 200);

    /* at once */
    const char *third = response_text(rotate(new, "{\"overlap_seconds\":0}"), "/token");
    expect_problem(who_is(new), "unauthorized");
    expect_status(who_is(third), 200);
}

/* The clock is put back behind all that was done; another server's may be behind as far. One token
 * is deleted, one rotated without an overlap, and one is past its overlap when that happens. */
Test(client_tokens, that_were_ended_work_by_no_clock)
{
    const int64_t begin_ms = 1800000000000;
    fixture_set_clock(begin_ms);
    const char *admin = fixture_token(f, "admin");
    const char *first = response_text(make("student", ""), "/token");
    struct response *turned = rotate(first, "{\"overlap_seconds\":1}");
    const char *second = response_text(turned, "/token");
    fixture_advance(60000);
    turned = rotate(second, "{\"overlap_seconds\":0}");
    expect_status(turned, 201);
    const char *third = response_text(turned, "/token");
    expect_status(rotate(third, "{\"overlap_seconds\":3600}"), 201);
    const char *tokens = domain_path("/v1/clients/%s/tokens", response_text(turned, "/id"));
    expect_status(who_is(third), 200);
    expect_status(fixture_delete(f, "admin", domain_path("%s/3", tokens)), 204);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(who_is(first)->status, 401);
        cr_expect_eq(who_is(second)->status, 401);
        cr_expect_eq(who_is(third)->status, 401);
        fixture_set_clock(begin_ms - 3600000);
    }
    struct response *list = ask_as(admin, "GET", tokens, NULL);
    cr_expect_str_eq(response_text(list, "/items/0/expires_at"), "2027-01-15T08:00:01.000Z");
    cr_expect_str_eq(response_text(list, "/items/1/expires_at"), "2027-01-15T08:01:00.000Z");
    cr_expect_str_eq(response_text(list, "/items/2/expires_at"), "2027-01-15T08:01:00.000Z");
    cr_expect(json_is_null(response_at(list, "/items/3/expires_at")));
}

Test(client_tokens, an_administrator_rotates_those_of_others)
{
    struct response *made = make("student", ",\"scopes\":[\"read\"]");
    const char *path = domain_path("/v1/clients/%s:rotate", response_text(made, "/id"));
    struct response *turned = fixture_post(f, "admin", path, "{\"overlap_seconds\":0}");
    expect_status(turned, 201);
    expect_problem(who_is(response_text(made, "/token")), "unauthorized");
    struct response *me = who_is(response_text(turned, "/token"));
    expect_status(me, 200);
    cr_expect_eq(json_array_size(response_at(me, "/credential/scopes")), 1);
    turned = fixture_post(f, "admin", path, "{\"scopes\":[\"spend\",\"read\",\"write\"]}");
    cr_expect_eq(json_array_size(response_at(turned, "/credential/scopes")), 3);
    expect_problem(fixture_post(f, "student", path, "{}"), "forbidden");
    expect_problem(fixture_post(f, "steward", path, "{}"), "forbidden");
    expect_status(
        fixture_delete(f, "admin", domain_path("/v1/clients/%s", response_text(made, "/id"))), 204);
    expect_problem(fixture_post(f, "admin", path, "{}"), "conflict");
}

Test(client_tokens, a_repeated_rotation_shows_no_token_and_makes_none)
{
    struct ask ask = {.path = "/v1/clients/me:rotate",
                      .token = fixture_token(f, "student"),
                      .key = "once",
                      .body = "{}"};
    struct response *first = fixture_ask(f, &ask), *second = fixture_ask(f, &ask);
    expect_status(first, 201);
    expect_status(second, 201);
    cr_expect(json_is_null(response_at(second, "/token")));
    cr_expect_eq(response_number(second, "/credential/number"), 2);
    struct response *list = fixture_get(f, "student", "/v1/clients/me/tokens");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 2);
}

static void expect_scope(struct response *r, const char *scope)
{
    expect_problem(r, "insufficient-scope");
    const char *header = response_header(r, "WWW-Authenticate");
    cr_assert_not_null(header);
    cr_expect(strstr(header, "error=\"insufficient_scope\"") != NULL);
    cr_expect(strstr(header, domain_path("scope=\"%s\"", scope)) != NULL, "%s", header);
}

Test(client_tokens, a_token_does_what_its_scopes_say)
{
    const char *reads = response_text(make("steward", ",\"scopes\":[\"read\"]"), "/token");
    const char *writes = response_text(make("steward", ",\"scopes\":[\"write\"]"), "/token");
    const char *spends = response_text(make("steward", ",\"scopes\":[\"spend\"]"), "/token");
    const char *body = "{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":"
                       "\"private\",\"budget\":{\"epsilon\":1,\"delta\":1e-5}}";
    expect_status(ask_as(reads, "GET", "/v1/datasets", NULL), 200);
    expect_status(ask_as(reads, "POST", "/v1/ledger:verify", ""), 200);
    expect_scope(ask_as(reads, "POST", "/v1/datasets", body), "write");
    expect_scope(ask_as(reads, "POST", "/v1/jobs", "{}"), "spend");
    expect_status(ask_as(writes, "POST", "/v1/datasets", body), 201);
    expect_scope(ask_as(writes, "GET", "/v1/datasets", NULL), "read");
    expect_scope(ask_as(writes, "POST", "/v1/jobs", "{}"), "spend");
    expect_problem(ask_as(spends, "POST", "/v1/jobs", "{}"), "idempotency-key-required");
    expect_scope(ask_as(spends, "POST", "/v1/datasets", body), "write");
    /* The role is asked first. */
    expect_problem(ask_as(reads, "POST", "/v1/clients", "{}"), "forbidden");
}

Test(client_tokens, give_no_scope_that_they_lack)
{
    const char *narrow =
        response_text(make("student", ",\"scopes\":[\"read\",\"write\"]"), "/token");
    expect_problem(rotate(narrow, "{\"scopes\":[\"spend\"]}"), "insufficient-scope");
    expect_problem(rotate(narrow, "{\"scopes\":[\"read\",\"write\",\"spend\"]}"),
                   "insufficient-scope");
    struct response *turned = rotate(narrow, "{}");
    expect_status(turned, 201);
    cr_expect_eq(json_array_size(response_at(turned, "/credential/scopes")), 2);
    turned = rotate(response_text(turned, "/token"), "{\"scopes\":[\"write\"]}");
    expect_status(turned, 201);
    expect_problem(rotate(response_text(turned, "/token"), "{\"scopes\":[\"read\"]}"),
                   "insufficient-scope");

    /* Nor through a client that an administrator makes. */
    const char *admin = response_text(make("admin", ",\"scopes\":[\"write\"]"), "/token");
    const char *wide = "{\"name\":\"n\",\"role\":\"admin\",\"scopes\":[\"read\"]}";
    const char *same = "{\"name\":\"n\",\"role\":\"admin\"}";
    expect_problem(ask_as(admin, "POST", "/v1/clients", wide), "insufficient-scope");
    struct response *made = ask_as(admin, "POST", "/v1/clients", same);
    expect_status(made, 201);
    cr_expect_eq(json_array_size(response_at(made, "/credential/scopes")), 1);
    const char *other = domain_path("/v1/clients/%s:rotate", fixture_client(f, "student"));
    expect_problem(ask_as(admin, "POST", other, "{}"), "insufficient-scope");
}

Test(client_tokens, a_monitor_renews_its_own_and_nothing_else)
{
    const char *token = response_text(make("monitor", ""), "/token");
    struct response *turned = rotate(token, "{\"overlap_seconds\":0}");
    expect_status(turned, 201);
    cr_expect_str_eq(response_text(turned, "/role"), "monitor");
    expect_problem(ask_as(token, "GET", "/metrics", NULL), "unauthorized");
    token = response_text(turned, "/token");
    expect_status(ask_as(token, "GET", "/metrics", NULL), 200);
    const char *other = domain_path("/v1/clients/%s:rotate", fixture_client(f, "monitor"));
    expect_problem(ask_as(token, "POST", other, "{}"), "forbidden");
    /* Ten that work are the most: it ends one itself. */
    for (unsigned i = 1; i < CLIENT_TOKENS_MOST; i++)
        expect_status(rotate(token, "{}"), 201);
    expect_problem(rotate(token, "{}"), "conflict");
    expect_status(ask_as(token, "GET", "/v1/clients/me/tokens", NULL), 200);
    expect_status(ask_as(token, "DELETE", "/v1/clients/me/tokens/3", NULL), 204);
    expect_status(rotate(token, "{}"), 201);
}

Test(client_tokens, do_not_outlive_the_time_they_were_made_for)
{
    const char *token = response_text(make("student", ",\"expires_in_days\":3"), "/token");
    expect_invalid(rotate(token, "{\"expires_in_days\":4}"), "/expires_in_days");
    fixture_advance(DAY_MS);
    struct response *turned = rotate(token, "{}");
    expect_status(turned, 201);
    const char *next = response_text(turned, "/token");
    fixture_advance(3LL * DAY_MS - 1);
    expect_status(who_is(next), 200);
    fixture_advance(1);
    expect_problem(who_is(next), "unauthorized");
}

Test(client_tokens, end_one_by_one)
{
    const char *wide = response_text(make("student", ""), "/token");
    const char *narrow = response_text(rotate(wide, "{\"scopes\":[\"write\"]}"), "/token");
    const char *path = "/v1/clients/me/tokens/%d";
    expect_problem(ask_as(narrow, "DELETE", domain_path(path, 1), NULL), "insufficient-scope");
    expect_problem(ask_as(wide, "DELETE", domain_path(path, 9), NULL), "not-found");
    expect_problem(ask_as(wide, "DELETE", "/v1/clients/me/tokens/1x", NULL), "not-found");
    expect_problem(ask_as(wide, "DELETE", "/v1/clients/me/tokens/99999999999999999999", NULL),
                   "not-found");
    expect_status(ask_as(wide, "DELETE", domain_path(path, 2), NULL), 204);
    expect_problem(ask_as(narrow, "DELETE", domain_path(path, 2), NULL), "unauthorized");
    expect_status(ask_as(wide, "DELETE", domain_path(path, 1), NULL), 204);
    expect_problem(who_is(wide), "unauthorized");
}

Test(client_tokens, a_narrow_one_cannot_end_a_wider_one_by_rotating)
{
    const char *wide = response_text(make("student", ""), "/token");
    const char *narrow = response_text(rotate(wide, "{\"scopes\":[\"write\"]}"), "/token");
    /* The wide one has a day left, and keeps it. */
    expect_status(rotate(narrow, "{\"overlap_seconds\":0}"), 201);
    expect_status(who_is(wide), 200);
    expect_problem(rotate(narrow, "{}"), "unauthorized");
}

Test(client_tokens, are_at_most_ten)
{
    for (int i = 0; i < CLIENT_TOKENS_MOST - 1; i++)
        expect_status(fixture_post(f, "student", "/v1/clients/me:rotate", "{}"), 201);
    expect_problem(fixture_post(f, "student", "/v1/clients/me:rotate", "{}"), "conflict");
}

Test(client_tokens, bad_wishes_name_their_members)
{
    static const char *const bad[][2] = {
        {"{\"overlap_seconds\":-1}", "/overlap_seconds"},
        {"{\"overlap_seconds\":2592001}", "/overlap_seconds"},
        {"{\"overlap_seconds\":1e300}", "/overlap_seconds"},
        {"{\"expires_in_days\":0}", "/expires_in_days"},
        {"{\"expires_in_days\":3651}", "/expires_in_days"},
        {"{\"scopes\":[]}", "/scopes"},
        {"{\"scopes\":[\"read\",\"read\",\"read\",\"read\"]}", "/scopes"},
        {"{\"scopes\":[\"root\"]}", "/scopes"},
        {"{\"scopes\":[7]}", "/scopes"},
        {"{\"scopes\":\"read\"}", "/scopes"},
        {"{\"token\":\"x\"}", "/token"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_invalid(fixture_post(f, "student", "/v1/clients/me:rotate", bad[i][0]), bad[i][1]);
    expect_invalid(fixture_post(f, "admin", "/v1/clients",
                                "{\"name\":\"n\",\"role\":\"agent\",\"scopes\":[\"all\"]}"),
                   "/scopes");
    struct response *list = fixture_get(f, "student", "/v1/clients/me/tokens");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 1);
}

Test(client_tokens, the_command_line_gives_what_was_lost)
{
    struct app *app = fixture_app(f);
    struct db *db = fixture_db(f);
    char token[TOKEN_SIZE];
    struct token_rotation rotation = {.client = fixture_client(f, "student"),
                                      .replaced = SCOPE_ALL};
    cr_assert(api_client_rotate(app, db, &rotation, token) == NULL);
    expect_problem(fixture_get(f, "student", "/v1/clients/me"), "unauthorized");
    struct response *me = who_is(token);
    expect_status(me, 200);
    cr_expect_eq(json_array_size(response_at(me, "/credential/scopes")), 3);
    rotation.client = "cli_none";
    cr_expect_str_eq(api_client_rotate(app, db, &rotation, token), "there is no such client");
}
