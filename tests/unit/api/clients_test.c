/* Clients: the life of a token, pages of the list, and answers that are kept by their key. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/books/client_create.h"
#include "tests/unit/api/service.h"

TestSuite(clients, .init = service_open, .fini = service_close);

Test(clients, a_token_works_until_it_is_revoked)
{
    struct response *made =
        fixture_post(f, "admin", "/v1/clients", "{\"name\":\"Zo\u00eb\",\"role\":\"student\"}");
    expect_status(made, 201);
    const char *id = response_text(made, "/id"), *token = response_text(made, "/token");
    cr_expect_str_eq(response_text(made, "/name"), "Zo\u00eb");
    cr_expect_str_eq(response_text(made, "/role"), "student");
    cr_expect(strncmp(id, "cli_", 4) == 0 && strncmp(token, "tct_", 4) == 0);
    cr_expect(strlen(strrchr(token, '_') + 1) == 64);
    char location[80];
    snprintf(location, sizeof location, "/v1/clients/%s", id);
    cr_expect_str_eq(response_header(made, "Location"), location);

    struct ask ask = {.path = "/v1/environments", .token = token};
    expect_status(fixture_ask(f, &ask), 200);
    struct response *list = fixture_get(f, "admin", "/v1/clients");
    cr_expect(strstr(list->body, id) != NULL);
    cr_expect(strstr(list->body, strrchr(token, '_') + 1) == NULL, "the list shows a secret");
    cr_expect(strstr(list->body, "\"token\"") == NULL && strstr(list->body, "hash") == NULL);

    expect_status(fixture_delete(f, "admin", location), 204);
    expect_problem(fixture_ask(f, &ask), "unauthorized");
    expect_status(fixture_delete(f, "admin", location), 204);
    expect_problem(fixture_delete(f, "admin", "/v1/clients/cli_none"), "not-found");
    char self[80];
    snprintf(self, sizeof self, "/v1/clients/%s", fixture_client(f, "admin"));
    expect_problem(fixture_delete(f, "admin", self), "conflict");
}

Test(clients, tokens_differ)
{
    static const struct token_terms terms = {.scopes = SCOPE_ALL};
    const char *a = fixture_new_token(f, "agent"), *b = fixture_new_token(f, "agent");
    cr_expect_str_neq(a, b);
    cr_expect_str_neq(strrchr(a, '_'), strrchr(b, '_'));
    char token[160];
    cr_expect(api_client_create(fixture_app(f), fixture_db(f), "", "admin", &terms, token) != NULL);
    cr_expect(api_client_create(fixture_app(f), fixture_db(f), "n", "root", &terms, token) != NULL);
}

Test(clients, the_list_comes_in_pages)
{
    for (int i = 0; i < 24; i++)
        fixture_new_token(f, "agent");
    fixture_token(f, "admin"); /* the 25th */
    char path[200] = "/v1/clients?page_size=7", seen[25][32];
    unsigned count = 0, pages = 0;
    for (;;) {
        struct response *r = fixture_get(f, "admin", path);
        expect_status(r, 200);
        cr_expect_null(strstr(r->body, "tct_"), "a list shows no token");
        pages++;
        size_t size = json_array_size(response_at(r, "/items"));
        cr_assert(size <= 7);
        for (size_t i = 0; i < size; i++) {
            char pointer[40];
            snprintf(pointer, sizeof pointer, "/items/%zu/id", i);
            cr_assert(count < 25);
            strcpy(seen[count], response_text(r, pointer));
            for (unsigned j = 0; j < count; j++)
                cr_assert_str_neq(seen[j], seen[count]);
            count++;
        }
        if (json_is_null(response_at(r, "/next_page_token")))
            break;
        snprintf(path, sizeof path, "/v1/clients?page_size=7&page_token=%s",
                 response_text(r, "/next_page_token"));
    }
    cr_expect_eq(count, 25);
    cr_expect_eq(pages, 4);
    expect_status(fixture_get(f, "admin", "/v1/clients?page_size=25"), 200);
    struct response *exact = fixture_get(f, "admin", "/v1/clients?page_size=25");
    cr_expect(json_is_null(response_at(exact, "/next_page_token")));
}

/* ---- keys */

static const char *body_a = "{\"name\":\"a\",\"role\":\"agent\"}";

static size_t client_count(void)
{
    struct response *r = fixture_get(f, "admin", "/v1/clients?page_size=1000");
    return json_array_size(response_at(r, "/items"));
}

Test(clients, a_repeat_gets_the_stored_answer)
{
    struct ask ask = {
        .path = "/v1/clients", .token = fixture_token(f, "admin"), .key = "once", .body = body_a};
    struct response *first = fixture_ask(f, &ask);
    expect_status(first, 201);
    cr_expect(response_header(first, "Idempotency-Replayed") == NULL);
    size_t count = client_count();
    fixture_advance(1000);
    struct response *second = fixture_ask(f, &ask), *third = fixture_ask(f, &ask);
    expect_status(second, 201);
    cr_expect_str_eq(response_header(second, "Idempotency-Replayed"), "true");
    cr_expect_str_eq(response_header(second, "Location"), response_header(first, "Location"));
    cr_expect_str_eq(response_text(second, "/id"), response_text(first, "/id"));
    cr_expect_str_eq(second->body, third->body);
    cr_expect_eq(client_count(), count);
    /* The secret is nowhere, so a repeat cannot show it. */
    cr_expect(json_is_null(response_at(second, "/token")));
}

Test(clients, a_key_stands_for_one_call_of_one_client)
{
    struct ask ask = {
        .path = "/v1/clients", .token = fixture_token(f, "admin"), .key = "k", .body = body_a};
    expect_status(fixture_ask(f, &ask), 201);
    ask.body = "{\"name\":\"b\",\"role\":\"agent\"}";
    struct response *reused = fixture_ask(f, &ask);
    expect_problem(reused, "idempotency-key-reused");
    cr_expect_not_null(strstr(reused->body, "needs a fresh key"), "%s", reused->body);
    ask.body = "{ \"name\":\"a\",\"role\":\"agent\"}";
    expect_problem(fixture_ask(f, &ask), "idempotency-key-reused");
    ask.body = body_a;
    ask.path = "/v1/clients?";
    expect_status(fixture_ask(f, &ask), 201);
    ask.token = fixture_new_token(f, "admin");
    struct response *other = fixture_ask(f, &ask);
    expect_status(other, 201);
    cr_expect(response_header(other, "Idempotency-Replayed") == NULL);
}

Test(clients, only_good_answers_are_stored)
{
    struct ask ask = {.path = "/v1/clients",
                      .token = fixture_token(f, "admin"),
                      .key = "again",
                      .body = "{\"name\":\"a\",\"role\":\"king\"}"};
    expect_problem(fixture_ask(f, &ask), "validation");
    ask.body = body_a;
    struct response *r = fixture_ask(f, &ask);
    expect_status(r, 201);
    cr_expect(response_header(r, "Idempotency-Replayed") == NULL);
}

Test(clients, keys_are_visible_ascii)
{
    char long_key[257];
    memset(long_key, 'k', 256);
    long_key[256] = '\0';
    const char *bad[] = {"", " ", "a b", "a\tb", "\x7f", "\xc3\xa9", long_key};
    struct ask ask = {.path = "/v1/clients", .token = fixture_token(f, "admin"), .body = body_a};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ask.key = bad[i];
        expect_problem(fixture_ask(f, &ask), "idempotency-key-invalid");
    }
    ask.key = long_key + 1;
    expect_status(fixture_ask(f, &ask), 201);
    ask.key = "!~";
    expect_status(fixture_ask(f, &ask), 201);
    ask.key = NULL;
    expect_status(fixture_ask(f, &ask), 201);
}
