/* Short forms of requests, and what tests ask of responses: for every kind of fixture. */
#include <criterion/criterion.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/json/json_text.h"
#include "api/wire/problem.h"
#include "memory/buffer.h"
#include "storage/signing_keys.h"
#include "tests/unit/api/fixture.h"

/* Policies of these tests are learned from a few made-up trajectories, whatever comes of it: a
 * request that does not say "force" itself says that this is meant. Releases of other kinds are
 * asked for as they are. The result is the caller's to free. */
static char *forced_job(const char *body)
{
    static const char privacy[] = "\"privacy\":{";
    if (!strstr(body, "\"dataset\"") || strstr(body, "\"gp_q_learning\"") ||
        strstr(body, "\"feature_ranges\""))
        return strdup(body);
    struct buffer text = {.lid = 1 << 24};
    size_t size;
    const char *place = strstr(body, privacy);
    if (!place || strstr(body, "\"force\""))
        return strdup(body);
    place += sizeof privacy - 1;
    buffer_add(&text, body, (size_t)(place - body));
    buffer_add_text(&text, *place == '}' ? "\"force\":true" : "\"force\":true,");
    buffer_add_text(&text, place);
    return buffer_take(&text, &size);
}

static struct response *ask_as(struct fixture *fixture, const char *method, const char *role,
                               const char *path, const char *body)
{
    char key[32], *job = NULL;
    snprintf(key, sizeof key, "key-%u", fixture_next_key(fixture));
    if (body && strcmp(method, "POST") == 0 && strcmp(path, "/v1/jobs") == 0)
        body = job = forced_job(body);
    struct ask ask = {.method = method,
                      .path = path,
                      .body = body,
                      .token = role == NULL ? NULL : fixture_token(fixture, role),
                      .key = strcmp(method, "POST") == 0 ? key : NULL};
    struct response *response = fixture_ask(fixture, &ask);
    free(job);
    return response;
}

struct response *fixture_get(struct fixture *fixture, const char *role, const char *path)
{
    return ask_as(fixture, "GET", role, path, NULL);
}

struct response *fixture_post(struct fixture *fixture, const char *role, const char *path,
                              const char *body)
{
    return ask_as(fixture, "POST", role, path, body);
}

struct response *fixture_put(struct fixture *fixture, const char *role, const char *path,
                             const char *body)
{
    return ask_as(fixture, "PUT", role, path, body);
}

struct response *fixture_delete(struct fixture *fixture, const char *role, const char *path)
{
    return ask_as(fixture, "DELETE", role, path, NULL);
}

/* ---- responses */

const char *response_header(const struct response *response, const char *name)
{
    for (unsigned i = 0; i < response->reply.header_count; i++)
        if (strcasecmp(response->reply.headers[i].name, name) == 0)
            return response->reply.headers[i].value;
    return NULL;
}

json_t *response_at(const struct response *response, const char *pointer)
{
    json_t *at = response->json;
    char name[128];
    while (at != NULL && *pointer == '/') {
        size_t size = strcspn(pointer + 1, "/");
        snprintf(name, sizeof name, "%.*s", (int)size, pointer + 1);
        pointer += size + 1;
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(name)) : json_object_get(at, name);
    }
    return at;
}

const char *response_text(const struct response *response, const char *pointer)
{
    const char *text = json_string_value(response_at(response, pointer));
    return text == NULL ? "" : text;
}

double response_number(const struct response *response, const char *pointer)
{
    const json_t *at = response_at(response, pointer);
    return json_is_number(at) ? json_number_value(at) : (double)NAN;
}

void expect_status(const struct response *response, int status)
{
    cr_assert(response->status == status, "status %d, not %d: %s", response->status, status,
              response->body);
}

void expect_problem(const struct response *response, const char *slug)
{
    enum problem problem = problem_find(slug);
    char type[80];
    cr_assert(problem != PROBLEM_NONE, "no problem is called %s", slug);
    snprintf(type, sizeof type, "/problems/%s", slug);
    cr_assert(strcmp(response_text(response, "/type"), type) == 0, "not %s but %d %s", slug,
              response->status, response->body);
    expect_status(response, problem_info(problem)->status);
    cr_assert_eq(response_number(response, "/status"), response->status);
    cr_assert(strcmp(response->content_type, "application/problem+json") == 0);
    cr_assert(strlen(response_text(response, "/title")) > 0);
    cr_assert(strlen(response_text(response, "/detail")) > 0);
    cr_assert(strcmp(response_text(response, "/request_id"), "req-test") == 0);
}

void expect_invalid(const struct response *response, const char *pointer)
{
    expect_problem(response, "validation");
    json_t *errors = response_at(response, "/errors");
    for (size_t i = 0; i < json_array_size(errors); i++) {
        const json_t *at = json_object_get(json_array_get(errors, i), "pointer");
        if (json_is_string(at) && strcmp(json_string_value(at), pointer) == 0)
            return;
    }
    cr_assert_fail("no error points to \"%s\": %s", pointer, response->body);
}

char *fixture_sign(struct fixture *fixture, const json_t *certificate)
{
    char *text = NULL;
    cr_assert_eq(certificate_sign(fixture_app(fixture), fixture_db(fixture), certificate, &text),
                 DB_OK);
    return text;
}

struct rotation {
    const struct app *app;
    struct signing_key made;
};

static enum db_status add_rotation(struct db *db, void *context)
{
    struct rotation *rotation = context;
    return signing_keys_add(db, rotation->app->secret_key, rotation->app->settings.now_ms(),
                            &rotation->made);
}

const char *fixture_rotate(struct fixture *fixture)
{
    static char id[SIGNING_ID_SIZE];
    struct rotation rotation = {.app = fixture_app(fixture)};
    cr_assert_eq(db_transact(fixture_db(fixture), add_rotation, &rotation), DB_OK, "%s",
                 db_last_error(fixture_db(fixture)));
    signing_key_id(rotation.made.public_key, id);
    return id;
}

bool certificate_check(const char *text, const unsigned char *public_key)
{
    json_t *whole = json_text_stored(text);
    json_t *stamp = json_object_get(whole, "signature");
    const char *value = json_string_value(json_object_get(stamp, "value"));
    unsigned char signature[crypto_sign_BYTES];
    size_t length = 0, size = 0;
    char *signed_text = NULL;
    bool good =
        value && sodium_base642bin(signature, sizeof signature, value, strlen(value), NULL, &length,
                                   NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0;
    if (good && length == sizeof signature) {
        json_object_del(whole, "signature");
        signed_text = json_text_write(whole, true, &size);
    }
    good = signed_text && crypto_sign_verify_detached(signature, (const unsigned char *)signed_text,
                                                      size, public_key) == 0;
    free(signed_text);
    json_decref(whole);
    return good;
}
