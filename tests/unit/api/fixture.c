/* The fixture of the api's tests. */
#include "tests/unit/api/fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/books/client_create.h"
#include "api/json/json_text.h"
#include "storage/answers/answers.h"
#include "storage/keys/keyring.h"
#include "storage/upgrade.h"

#define RESPONSES_MAX 30000
#define TOKENS_MAX    256

struct fixture {
    char directory[64];
    char path[96];
    struct keyring *keys;
    struct app *app;
    struct db_store *store;
    struct db *db;
    unsigned token_count;
    char roles[TOKENS_MAX][16];
    char tokens[TOKENS_MAX][160];
    char clients[TOKENS_MAX][32];
    unsigned key_count;
    unsigned response_count;
    struct response *responses[RESPONSES_MAX];
};

static int64_t clock_ms = 1800000000000; /* 2027-01-15 */

static int64_t now(void)
{
    return clock_ms;
}

void fixture_advance(int64_t ms)
{
    clock_ms += ms;
}

void fixture_set_clock(int64_t ms)
{
    clock_ms = ms;
}

static void default_settings(struct api_settings *settings)
{
    *settings = (struct api_settings){.now_ms = now,
                                      .max_body_bytes = (uint64_t)1 << 20,
                                      .max_upload_bytes = (uint64_t)1 << 32,
                                      .max_policy_bytes = (uint64_t)64 << 20,
                                      .max_states_per_query = 1024,
                                      .max_experts_per_dataset = 100000,
                                      .cors_origins = "",
                                      .version = "test"};
    memset(settings->signing_seed, 7, sizeof settings->signing_seed);
}

static struct keyring *open_keys(const char *directory)
{
    static const unsigned char master[KEYRING_KEY] = {9};
    char path[96], error[DB_ERROR_SIZE] = "";
    snprintf(path, sizeof path, "%s/keys", directory);
    struct keyring *keys = keyring_open(path, master, error, sizeof error);
    cr_assert_not_null(keys, "%s", error);
    return keys;
}

static void remove_keys(const char *directory)
{
    char path[96], file[512];
    snprintf(path, sizeof path, "%s/keys", directory);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        unlink(file);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

static struct fixture *open_service(const struct db_driver *driver,
                                    void (*change)(struct api_settings *settings))
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct api_settings settings;
    char error[DB_ERROR_SIZE] = "";
    cr_assert(fixture != NULL);
    strcpy(fixture->directory, "/tmp/tacet-api-XXXXXX");
    cr_assert(mkdtemp(fixture->directory) != NULL);
    snprintf(fixture->path, sizeof fixture->path, "%s/tacet.db", fixture->directory);
    struct db_settings database = {.location = fixture->path, .not_durable = true};
    fixture->store = db_store_new(driver, &database);
    cr_assert(fixture->store != NULL);
    cr_assert(db_open(fixture->store, &fixture->db, error) == DB_OK, "%s", error);
    cr_assert(storage_upgrade(fixture->db, error) == DB_OK, "%s", error);
    default_settings(&settings);
    settings.keys = fixture->keys = open_keys(fixture->directory);
    if (change != NULL)
        change(&settings);
    fixture->app = api_open(&settings);
    cr_assert(fixture->app != NULL);
    return fixture;
}

struct fixture *fixture_open(void)
{
    return open_service(&db_driver_sqlite, NULL);
}

struct fixture *fixture_open_with(void (*change)(struct api_settings *settings))
{
    return open_service(&db_driver_sqlite, change);
}

struct fixture *fixture_open_on(const struct db_driver *driver)
{
    return open_service(driver, NULL);
}

static void forget(struct response *response)
{
    api_reply_clear(&response->reply);
    json_decref(response->json);
    free((char *)(uintptr_t)response->body);
    free(response);
}

void fixture_forget(struct fixture *fixture)
{
    for (unsigned i = 0; i < fixture->response_count; i++)
        forget(fixture->responses[i]);
    fixture->response_count = 0;
}

void fixture_close(struct fixture *fixture)
{
    fixture_forget(fixture);
    db_close(fixture->db);
    db_store_free(fixture->store);
    api_close(fixture->app);
    keyring_close(fixture->keys);
    remove_keys(fixture->directory);
    const char *ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", fixture->path, ends[i]);
        unlink(path);
    }
    rmdir(fixture->directory);
    free(fixture);
}

void fixture_restart(struct fixture *fixture, void (*change)(struct api_settings *settings))
{
    struct api_settings settings;
    char error[DB_ERROR_SIZE] = "";
    api_close(fixture->app);
    db_close(fixture->db);
    cr_assert(db_open(fixture->store, &fixture->db, error) == DB_OK, "%s", error);
    default_settings(&settings);
    settings.keys = fixture->keys;
    cr_assert(answers_kept_from(fixture->db, &settings.answers_from_ms) == DB_OK);
    change(&settings);
    fixture->app = api_open(&settings);
    cr_assert(fixture->app != NULL);
}

struct app *fixture_app(struct fixture *fixture)
{
    return fixture->app;
}

struct db *fixture_db(struct fixture *fixture)
{
    return fixture->db;
}

struct db_store *fixture_store(struct fixture *fixture)
{
    return fixture->store;
}

const char *fixture_path(const struct fixture *fixture)
{
    return fixture->path;
}

/* ---- clients */

static unsigned make_client(struct fixture *fixture, const char *role)
{
    unsigned i = fixture->token_count++;
    static const struct token_terms terms = {.scopes = SCOPE_ALL};
    cr_assert(i < TOKENS_MAX);
    snprintf(fixture->roles[i], sizeof fixture->roles[i], "%s", role);
    char token[160];
    const char *wrong = api_client_create(fixture->app, fixture->db, role, role, &terms, token);
    cr_assert(wrong == NULL, "no client of role %s: %s", role, wrong);
    strcpy(fixture->tokens[i], token);
    int length = (int)(strrchr(token, '_') - token) - 4;
    snprintf(fixture->clients[i], sizeof fixture->clients[i], "cli_%.*s", length, token + 4);
    return i;
}

static unsigned client_of_role(struct fixture *fixture, const char *role)
{
    for (unsigned i = 0; i < fixture->token_count; i++)
        if (strcmp(fixture->roles[i], role) == 0)
            return i;
    return make_client(fixture, role);
}

const char *fixture_token(struct fixture *fixture, const char *role)
{
    return fixture->tokens[client_of_role(fixture, role)];
}

const char *fixture_client(struct fixture *fixture, const char *role)
{
    return fixture->clients[client_of_role(fixture, role)];
}

const char *fixture_new_token(struct fixture *fixture, const char *role)
{
    return fixture->tokens[make_client(fixture, role)];
}

const char *fixture_token_client(struct fixture *fixture, const char *token)
{
    for (unsigned i = 0; i < fixture->token_count; i++)
        if (strcmp(fixture->tokens[i], token) == 0)
            return fixture->clients[i];
    return "";
}

/* ---- requests */

struct sent {
    struct fixture *fixture;
    const struct ask *ask;
    bool under_way;
    char authorization[200];
    const char *content_type;
    size_t body_size, read_so_far;
};

static const char *find_header(void *context, const char *name)
{
    struct sent *sent = context;
    const struct ask *ask = sent->ask;
    bool key = strcasecmp(name, "Idempotency-Key") == 0; /* read after the caller is known */
    if (key && ask->meanwhile != NULL && !sent->under_way) {
        sent->under_way = true;
        ask->meanwhile(sent->fixture);
    }
    for (size_t i = 0; i < sizeof ask->headers / sizeof ask->headers[0]; i++)
        if (ask->headers[i][0] != NULL && strcasecmp(ask->headers[i][0], name) == 0)
            return ask->headers[i][1];
    if (strcasecmp(name, "Authorization") == 0)
        return ask->token == NULL ? NULL : sent->authorization;
    if (key)
        return ask->key;
    if (strcasecmp(name, "Content-Type") == 0)
        return sent->content_type;
    return strcasecmp(name, "Accept") == 0 ? ask->accept : NULL;
}

static long read_body(void *context, unsigned char *buffer, size_t size)
{
    struct sent *sent = context;
    size_t left = sent->body_size - sent->read_so_far;
    if (left == 0)
        return sent->ask->hang_up ? -1 : 0;
    size = left < size ? left : size;
    if (sent->ask->read_at_once != 0 && sent->ask->read_at_once < size)
        size = sent->ask->read_at_once;
    memcpy(buffer, sent->ask->body + sent->read_so_far, size);
    sent->read_so_far += size;
    return (long)size;
}

/* Takes the body out of REPLY. */
static struct response *keep(struct fixture *fixture, struct api_reply *reply)
{
    struct response *response = calloc(1, sizeof *response);
    cr_assert(response != NULL && fixture->response_count < RESPONSES_MAX);
    fixture->responses[fixture->response_count++] = response;
    response->status = reply->status;
    response->content_type = reply->content_type == NULL ? "" : reply->content_type;
    response->size = reply->body_size;
    char *body = calloc(1, reply->body_size + 1);
    const char *from = reply->body != NULL ? reply->body : reply->static_body;
    cr_assert(body != NULL);
    if (reply->body_size > 0)
        memcpy(body, from, reply->body_size);
    free(reply->body);
    reply->body = NULL;
    response->body = body;
    response->reply = *reply;
    response->reply.static_body = NULL;
    bool lines = strstr(response->content_type, "ndjson") != NULL;
    if (!lines && strstr(response->content_type, "json") != NULL) {
        response->json = json_text_stored(body);
        cr_assert(response->json != NULL, "not JSON: %s", body);
    }
    return response;
}

static enum db_status serve_once(struct fixture *fixture, bool writes,
                                 const struct api_request *request, struct api_reply *reply)
{
    enum db_status status = db_begin_batch(fixture->db, writes);
    if (status != DB_OK)
        return status;
    api_reply_clear(reply);
    api_serve(fixture->app, fixture->db, request, reply);
    status = db_commit_batch(fixture->db);
    if (status != DB_OK)
        db_rollback_batch(fixture->db);
    return status;
}

/* A batch of one, as the committer serves it (server/committer.c), or one more request of the batch
 * that a test has begun. */
static void serve_batch(struct fixture *fixture, bool writes, const struct api_request *request,
                        struct api_reply *reply)
{
    enum { ATTEMPTS = 3 };
    enum db_status status = DB_RETRY;
    *reply = (struct api_reply){0};
    if (db_in_transaction(fixture->db)) {
        api_serve(fixture->app, fixture->db, request, reply);
        return;
    }
    for (int i = 0; i < ATTEMPTS && status == DB_RETRY; i++)
        status = serve_once(fixture, writes, request, reply);
    api_settled(fixture->app, status == DB_OK);
    if (status == DB_OK)
        return;
    const char *slug = status == DB_FULL ? "storage-full" : "internal-error";
    api_reply_clear(reply);
    api_problem_reply(status == DB_RETRY || status == DB_MEMORY ? "overloaded" : slug, "",
                      request->request_id, reply);
}

struct response *fixture_ask(struct fixture *fixture, const struct ask *ask)
{
    const char *method = ask->method != NULL ? ask->method : ask->body != NULL ? "POST" : "GET";
    char path[8192], *query = "";
    cr_assert(strlen(ask->path) < sizeof path);
    strcpy(path, ask->path);
    char *mark = strchr(path, '?');
    if (mark != NULL) {
        *mark = '\0';
        query = mark + 1;
    }
    struct sent sent = {.fixture = fixture, .ask = ask, .content_type = ask->content_type};
    if (ask->token != NULL)
        snprintf(sent.authorization, sizeof sent.authorization, "Bearer %s", ask->token);
    if (ask->body != NULL) {
        sent.body_size = ask->body_size != 0 ? ask->body_size : strlen(ask->body);
        if (sent.content_type == NULL)
            sent.content_type = "application/json";
    }
    if (sent.content_type != NULL && *sent.content_type == '\0')
        sent.content_type = NULL;
    struct api_route_info info = api_route(fixture->app, method, path);
    struct api_request request = {.method = method,
                                  .path = path,
                                  .query = query,
                                  .header_context = &sent,
                                  .header = find_header,
                                  .body = (const unsigned char *)ask->body,
                                  .body_size = sent.body_size,
                                  .request_id = "req-test",
                                  .certificate = ask->certificate};
    if (info.lane == API_LANE_STREAM) {
        request.body = NULL;
        request.body_size = 0;
        request.reader = (struct byte_reader){&sent, read_body};
    }
    bool batch = info.lane == API_LANE_BATCH && !ask->unbatched;
    struct api_reply reply;
    if (info.quick && api_serve_quick(fixture->app, &request, &reply)) {
        struct response *kept = keep(fixture, &reply);
        kept->quick = true;
        return kept;
    }
    bool heavy = info.may_be_heavy && !ask->pool_full && api_is_heavy(fixture->app, &request);
    batch = batch && !heavy;
    if (batch)
        serve_batch(fixture, info.writes, &request, &reply);
    else
        api_serve(fixture->app, fixture->db, &request, &reply);
    struct response *kept = keep(fixture, &reply);
    kept->heavy = heavy;
    return kept;
}

unsigned fixture_next_key(struct fixture *fixture)
{
    return ++fixture->key_count;
}
