/* A whole service without a socket: an app on a database in a temporary directory, one client of
 * each role, and calls that keep their answers until the fixture is closed. */
#ifndef TACET_TESTS_UNIT_API_FIXTURE_H
#define TACET_TESTS_UNIT_API_FIXTURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "storage/db/db.h"

struct fixture;

/* What came back. All of it lives as long as the fixture. */
struct response {
    int status;
    const char *content_type; /* "" when there is none */
    const char *body;         /* NUL-terminated */
    size_t size;
    json_t *json;           /* the body, parsed; NULL when it is not JSON */
    struct api_reply reply; /* headers and events; its body is in BODY */
    bool quick;             /* answered without the database (api_serve_quick) */
    bool heavy;             /* served as by the pool, outside of the batch (api_is_heavy) */
};

/* Any request; members that are NULL are absent (METHOD: GET, or POST with a body). */
struct ask {
    const char *method;
    const char *path; /* with the query, "/v1/jobs?state=queued" */
    const char *token;
    const char *key; /* Idempotency-Key */
    const char *body;
    size_t body_size;         /* 0: strlen(body) */
    const char *content_type; /* application/json when there is a body; "" sends none */
    const char *accept;
    const char *headers[6][2];        /* further ones */
    size_t read_at_once;              /* of a streamed body: bytes per read; 0: as much as fits */
    const unsigned char *certificate; /* the SHA-256 of a TLS client certificate that verified */
    bool unbatched;                   /* outside of the committer's batch */
    bool pool_full;                   /* a heavy question takes its turn in the batch */
    /* What happens after the caller was known and before anything was done; needs KEY. */
    void (*meanwhile)(struct fixture *fixture);
    bool hang_up; /* the client goes away at the end of BODY instead of ending it */
};

/* Opens everything; stops the test when it cannot. */
struct fixture *fixture_open(void);
/* The same with other settings: CHANGE edits the defaults before the app is opened. */
struct fixture *fixture_open_with(void (*change)(struct api_settings *settings));
/* On another driver than SQLite's own, such as one that fails on purpose. */
struct fixture *fixture_open_on(const struct db_driver *driver);
void fixture_close(struct fixture *fixture);
/* Closes the app and the database and opens both again, with the settings that CHANGE edits. */
void fixture_restart(struct fixture *fixture, void (*change)(struct api_settings *settings));
/* Frees the answers that were kept so far. */
void fixture_forget(struct fixture *fixture);

/* The database connection and the app, for tests that go around the requests. */
struct db *fixture_db(struct fixture *fixture);
struct app *fixture_app(struct fixture *fixture);
/* For further connections, which the caller closes first. */
struct db_store *fixture_store(struct fixture *fixture);
/* The path of the database file. */
const char *fixture_path(const struct fixture *fixture);

/* The token of a client of ROLE ("steward"), made when first asked for; and that client's id. */
const char *fixture_token(struct fixture *fixture, const char *role);
const char *fixture_client(struct fixture *fixture, const char *role);
/* A further client of ROLE. */
const char *fixture_new_token(struct fixture *fixture, const char *role);
/* The id in a token. */
const char *fixture_token_client(struct fixture *fixture, const char *token);

/* The clock that the app sees; it stands still between calls of fixture_advance. */
void fixture_advance(int64_t ms);
/* Sets it: two fixtures, one after the other, then live at the same times. */
void fixture_set_clock(int64_t ms);

struct response *fixture_ask(struct fixture *fixture, const struct ask *ask);

/* The number of a fresh Idempotency-Key. */
unsigned fixture_next_key(struct fixture *fixture);

/* Short forms: as ROLE (NULL: nobody), with a fresh Idempotency-Key on every post. */
struct response *fixture_get(struct fixture *fixture, const char *role, const char *path);
struct response *fixture_post(struct fixture *fixture, const char *role, const char *path,
                              const char *body);
struct response *fixture_put(struct fixture *fixture, const char *role, const char *path,
                             const char *body);
struct response *fixture_delete(struct fixture *fixture, const char *role, const char *path);

/* A header of the response, or NULL. */
const char *response_header(const struct response *response, const char *name);
/* The text at a JSON pointer ("/items/0/id"); "" when there is no text. */
const char *response_text(const struct response *response, const char *pointer);
/* The number at a JSON pointer; NAN when there is none. */
double response_number(const struct response *response, const char *pointer);
/* Whatever is at a JSON pointer, borrowed; NULL when there is nothing. */
json_t *response_at(const struct response *response, const char *pointer);

/* Asserts that it is a good problem document of that slug with the status of the problem table. */
void expect_problem(const struct response *response, const char *slug);
/* Asserts the status and shows the body when it is another. */
void expect_status(const struct response *response, int status);
/* Asserts a validation problem whose errors name POINTER. */
void expect_invalid(const struct response *response, const char *pointer);

/* CERTIFICATE as the service signs it now; the caller frees it. */
char *fixture_sign(struct fixture *fixture, const json_t *certificate);
/* Gives the service its next signing key, and its id. */
const char *fixture_rotate(struct fixture *fixture);

/* True when TEXT is a certificate whose signature fits PUBLIC_KEY[32]. */
bool certificate_check(const char *text, const unsigned char *public_key);

#endif
