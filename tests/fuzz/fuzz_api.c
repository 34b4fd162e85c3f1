/* Any request against a whole service without a socket.
 *
 * An input is text: "ROLE METHOD TARGET", then header lines "Name: value", an empty line, and the
 * body. ROLE is the name of a role, whose token is sent, or "-". The ids ds_x, pol_x and tch_x in
 * the target stand for a dataset, a policy and a teacher that are there. Whatever comes, the answer
 * must have a status that is not 500, problems must be problem documents, and nothing may leak or
 * crash. The database lives as long as the process; what one input stores the next may meet. */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "api/books/client_create.h"
#include "storage/db/db.h"
#include "storage/upgrade.h"

#define HEADERS_MAX 12
#define ROLES       6

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Kept between inputs, as libFuzzer wants it. */
static struct {
    struct db_store *store;
    struct db *db;
    struct app *app;
    char authorization[ROLES][176];
    char ids[3][40]; /* of a dataset, a policy, a teacher */
} service;

static const char *const stand_ins[3] = {"ds_x", "pol_x", "tch_x"};

static const char *const roles[ROLES] = {"admin",   "steward", "contributor",
                                         "student", "agent",   "auditor"};

static int64_t now(void)
{
    return 1800000000000;
}

struct input {
    char *text; /* cut into NUL-terminated pieces */
    const char *names[HEADERS_MAX], *values[HEADERS_MAX];
    int header_count;
    const char *authorization;
    const unsigned char *body;
    size_t body_size, read;
};

static const char *find_header(void *context, const char *name)
{
    const struct input *input = context;
    for (int i = 0; i < input->header_count; i++)
        if (strcasecmp(input->names[i], name) == 0)
            return input->values[i];
    return strcasecmp(name, "Authorization") == 0 ? input->authorization : NULL;
}

static long read_body(void *context, unsigned char *buffer, size_t size)
{
    struct input *input = context;
    size_t left = input->body_size - input->read;
    if (left == 0)
        return 0;
    size = size < 37 ? size : 37; /* short reads */
    size = left < size ? left : size;
    memcpy(buffer, input->body + input->read, size);
    input->read += size;
    return (long)size;
}

/* Ends the line at *AT and steps behind it; NULL at the end of the text. */
static char *next_line(char **at)
{
    char *line = *at;
    if (line == NULL)
        return NULL;
    char *end = strchr(line, '\n');
    *at = end == NULL ? NULL : end + 1;
    if (end != NULL)
        *end = '\0';
    return line;
}

static void read_headers(struct input *input, char **at)
{
    for (char *line = next_line(at); line != NULL && *line != '\0'; line = next_line(at)) {
        char *colon = strstr(line, ": ");
        if (colon != NULL && input->header_count < HEADERS_MAX) {
            *colon = '\0';
            input->names[input->header_count] = line;
            input->values[input->header_count++] = colon + 2;
        }
    }
}

static void check(const struct api_reply *reply)
{
    assert(reply->status >= 200 && reply->status < 600 && reply->status != 500);
    const char *body = reply->body != NULL ? reply->body : reply->static_body;
    if (reply->content_type == NULL || strstr(reply->content_type, "json") == NULL) {
        assert(reply->status < 400);
        return;
    }
    json_t *json = json_loadb(body, reply->body_size, JSON_REJECT_DUPLICATES, NULL);
    assert(json != NULL);
    json_int_t status = json_integer_value(json_object_get(json, "status"));
    assert(reply->status < 400 || status == reply->status);
    json_decref(json);
}

static void serve(struct input *input, const char *method, const char *given)
{
    char target[8192];
    snprintf(target, sizeof target, "%s", given);
    for (int i = 0; i < 3; i++) {
        const char *at = strstr(given, stand_ins[i]);
        if (at != NULL) {
            snprintf(target, sizeof target, "%.*s%s%s", (int)(at - given), given, service.ids[i],
                     at + strlen(stand_ins[i]));
            break;
        }
    }
    char *query = strchr(target, '?');
    if (query != NULL)
        *query++ = '\0';
    struct api_request request = {.method = method,
                                  .path = target,
                                  .query = query == NULL ? "" : query,
                                  .header_context = input,
                                  .header = find_header,
                                  .request_id = "fuzz"};
    struct api_route_info info = api_route(service.app, method, target);
    if (info.lane == API_LANE_STREAM) {
        request.reader = (struct byte_reader){input, read_body};
    } else {
        request.body = input->body;
        request.body_size = input->body_size;
    }
    struct api_reply reply;
    api_serve(service.app, service.db, &request, &reply);
    check(&reply);
    api_reply_clear(&reply);
}

/* Posts BODY as the steward and keeps the id of what was made. */
static void make(int which, const char *path, const char *body)
{
    struct input input = {.authorization = service.authorization[1],
                          .names = {"Content-Type"},
                          .values = {"application/json"},
                          .header_count = 1};
    struct api_request request = {.method = "POST",
                                  .path = path,
                                  .query = "",
                                  .header_context = &input,
                                  .header = find_header,
                                  .body = (const unsigned char *)body,
                                  .body_size = strlen(body),
                                  .request_id = "fuzz"};
    struct api_reply reply;
    api_serve(service.app, service.db, &request, &reply);
    assert(reply.status == 201);
    json_t *json = json_loadb(reply.body, reply.body_size, 0, NULL);
    const char *id = json_string_value(json_object_get(json, "id"));
    snprintf(service.ids[which], sizeof service.ids[which], "%s", id);
    json_decref(json);
    api_reply_clear(&reply);
}

static void make_things(void)
{
    char teacher[600];
    make(0, "/v1/datasets",
         "{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":9,\"delta\":1e-5}}");
    make(1, "/v1/policies",
         "{\"name\":\"p\",\"environment\":\"cartpole\",\"network\":{\"activation\":\"relu\","
         "\"layers\":"
         "[{\"weight\":[[0.1,0,0,0],[0,0.1,0,0]],\"bias\":[0,0]}],\"output\":\"softmax\"}}");
    snprintf(teacher, sizeof teacher,
             "{\"policy\":\"%s\",\"mechanism\":{\"concentration\":20,\"min_probability\":0.1},"
             "\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},\"budget\":{\"epsilon\":90,"
             "\"delta\":1e-5},\"client_budget\":{\"epsilon\":80,\"delta\":1e-5}}",
             service.ids[1]);
    make(2, "/v1/teachers", teacher);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    char directory[] = "/tmp/tacet-fuzz-XXXXXX", path[64], error[DB_ERROR_SIZE];
    if (mkdtemp(directory) == NULL)
        abort();
    snprintf(path, sizeof path, "%s/tacet.db", directory);
    struct db_settings database = {.location = path, .not_durable = true, .max_pages = 50000};
    struct api_settings settings = {.now_ms = now,
                                    .max_body_bytes = 1 << 20,
                                    .max_upload_bytes = 1 << 20,
                                    .max_policy_bytes = 1 << 20,
                                    .max_states_per_query = 64,
                                    .max_experts_per_dataset = 100,
                                    .cors_origins = "https://a.example",
                                    .version = "fuzz"};
    service.store = db_store_new(&db_driver_sqlite, &database);
    if (service.store == NULL || db_open(service.store, &service.db, error) != DB_OK ||
        storage_upgrade(service.db, error) != DB_OK || (service.app = api_open(&settings)) == NULL)
        abort();
    for (int i = 0; i < ROLES; i++) {
        char token[160];
        if (api_client_create(service.app, service.db, roles[i], roles[i], token) != NULL)
            abort();
        snprintf(service.authorization[i], sizeof service.authorization[i], "Bearer %s", token);
    }
    make_things();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {.text = malloc(size + 1)};
    if (input.text == NULL)
        return 0;
    memcpy(input.text, data, size);
    input.text[size] = '\0';
    char *at = input.text, *rest = NULL;
    char *line = next_line(&at);
    char *role = strtok_r(line, " ", &rest), *method = strtok_r(NULL, " ", &rest);
    if (role != NULL && method != NULL && rest != NULL) {
        for (int i = 0; i < ROLES; i++) {
            input.authorization =
                strcmp(role, roles[i]) == 0 ? service.authorization[i] : input.authorization;
        }
        read_headers(&input, &at);
        if (at != NULL) {
            input.body = (unsigned char *)at;
            input.body_size = size - (size_t)(at - input.text);
        }
        serve(&input, method, rest);
    }
    free(input.text);
    return 0;
}
