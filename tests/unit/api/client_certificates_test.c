/* TLS client certificates: bound by an administrator, and then as good as a token. */
#include "tests/unit/api/service.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const unsigned char hash_a[32] = {0xaa, 1}, hash_b[32] = {0xbb, 2};
static const char hex_a[] = "aa01000000000000000000000000000000000000000000000000000000000000";

TestSuite(client_certificates, .init = service_open, .fini = service_close);

static struct response *bind_a(const char *role)
{
    const char *path =
        domain_path("/v1/clients/%s/certificates/%s", fixture_client(f, role), hex_a);
    return fixture_put(f, "admin", path, NULL);
}

static struct response *who_shows(const unsigned char *hash, const char *token)
{
    struct ask ask = {.path = "/v1/clients/me", .certificate = hash, .token = token};
    return fixture_ask(f, &ask);
}

Test(client_certificates, stand_for_the_client_they_are_bound_to)
{
    struct response *unbound = who_shows(hash_a, NULL);
    expect_problem(unbound, "unauthorized");
    cr_expect_not_null(response_header(unbound, "WWW-Authenticate"));
    expect_status(bind_a("steward"), 201);
    expect_status(bind_a("steward"), 200);
    expect_problem(bind_a("student"), "conflict");
    struct response *me = who_shows(hash_a, NULL);
    expect_status(me, 200);
    cr_expect_str_eq(response_text(me, "/id"), fixture_client(f, "steward"));
    cr_expect(json_is_null(response_at(me, "/credential/number")));
    expect_problem(who_shows(hash_b, NULL), "unauthorized");
    expect_problem(who_shows(NULL, NULL), "unauthorized");

    struct ask admin_only = {.path = "/v1/clients", .certificate = hash_a};
    expect_problem(fixture_ask(f, &admin_only), "forbidden");
    struct ask rotate = {.path = "/v1/clients/me:rotate", .certificate = hash_a, .body = "{}"};
    expect_problem(fixture_ask(f, &rotate), "forbidden");
    struct response *list = fixture_get(f, "steward", "/v1/clients/me/certificates");
    expect_status(list, 200);
    cr_expect_str_eq(response_text(list, "/items/0/sha256"), hex_a);
}

/* A certificate has all scopes, so whoever binds one has them, too. */
Test(client_certificates, are_bound_by_a_token_with_all_scopes)
{
    struct response *made =
        fixture_post(f, "admin", "/v1/clients",
                     "{\"name\":\"n\",\"role\":\"admin\",\"scopes\":[\"read\",\"write\"]}");
    const char *mine = domain_path("/v1/clients/me/certificates/%s", hex_a);
    const char *other =
        domain_path("/v1/clients/%s/certificates/%s", fixture_client(f, "steward"), hex_a);
    struct ask bind = {.method = "PUT", .token = response_text(made, "/token")};
    bind.path = mine;
    expect_problem(fixture_ask(f, &bind), "insufficient-scope");
    bind.path = other;
    expect_problem(fixture_ask(f, &bind), "insufficient-scope");
    expect_problem(who_shows(hash_a, NULL), "unauthorized");
}

Test(client_certificates, and_tokens_must_agree)
{
    expect_status(bind_a("steward"), 201);
    expect_status(who_shows(hash_a, fixture_token(f, "steward")), 200);
    struct response *two = who_shows(hash_a, fixture_token(f, "student"));
    expect_problem(two, "unauthorized");
    cr_expect(strstr(two->body, "two clients") != NULL);
    expect_status(who_shows(hash_b, fixture_token(f, "student")), 200); /* it is unbound */
    expect_problem(who_shows(hash_a, "tct_x_y"), "unauthorized");
}

Test(client_certificates, serve_no_page_of_a_browser)
{
    expect_status(bind_a("steward"), 201);
    struct ask ask = {.path = "/v1/clients/me",
                      .certificate = hash_a,
                      .headers = {{"Origin", "https://elsewhere.example"}}};
    expect_problem(fixture_ask(f, &ask), "unauthorized");
    ask.token = fixture_token(f, "steward");
    expect_status(fixture_ask(f, &ask), 200);
}

Test(client_certificates, end_with_their_binding_or_client)
{
    const char *one = domain_path("/v1/clients/%s", fixture_client(f, "steward"));
    const char *path = domain_path("%s/certificates/%s", one, hex_a);
    expect_problem(fixture_delete(f, "admin", path), "not-found");
    expect_status(bind_a("steward"), 201);
    expect_problem(fixture_delete(f, "steward", path), "forbidden");
    expect_status(fixture_delete(f, "admin", path), 204);
    expect_problem(who_shows(hash_a, NULL), "unauthorized");
    expect_status(bind_a("steward"), 201);
    expect_status(fixture_delete(f, "admin", one), 204);
    expect_problem(who_shows(hash_a, NULL), "unauthorized");
}

Test(client_certificates, bad_hashes_are_no_certificates)
{
    static const char *const bad[] = {
        "x", "aa", "aa0100000000000000000000000000000000000000000000000000000000000000",
        "zz01000000000000000000000000000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *path =
            domain_path("/v1/clients/%s/certificates/%s", fixture_client(f, "steward"), bad[i]);
        expect_problem(fixture_put(f, "admin", path, NULL), "not-found");
    }
    expect_problem(
        fixture_put(f, "admin", domain_path("/v1/clients/cli_none/certificates/%s", hex_a), NULL),
        "not-found");
}
