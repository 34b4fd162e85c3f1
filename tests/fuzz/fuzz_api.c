/* Any request against a whole service without a socket (scene.h). An input is one of two:
 *
 *   a text "ROLE METHOD TARGET", then header lines "Name: value", an empty line, and the body; ROLE
 *   is the name of a role, whose token is sent, or "-";
 *
 *   or four bytes, the first below 32, and the body: they choose a row of the route table, who
 *   asks, the ids in the path, one query parameter, and headers.
 *
 * Ids stand in both as "$A". Whatever comes, the answer must be as scene_serve checks. The database
 * lives as long as the process; what one input stores the next may meet. So that the ids stay, what
 * the server would serve in a batch is rolled back, unless a bit of the first byte says otherwise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/match.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scene.h"

#define HEADERS_MAX 12

static struct scene *scene; /* as long as the process */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    scene = scene_open();
    return 0;
}

static void serve(struct scene_request *request)
{
    struct api_reply reply;
    scene_serve(scene, request, &reply);
    if (reply.events.next) {
        char *text;
        (void)reply.events.next(reply.events.context, scene->app, scene->db, &text);
        free(text);
    }
    api_reply_clear(&reply);
}

/* ---- a row of the table */

/* What stands for a {name}: most often an id of its kind. */
static const char *stand_in(const char *pattern, const char *name, uint8_t which)
{
    static const struct {
        const char *collection, *ids;
    } kinds[] = {
        {"/v1/datasets", "ABCD"},     {"/v1/policies", "EK"},     {"/v1/teachers", "F"},
        {"/v2/models", "F"},          {"/v1/aggregations", "G"},  {"/v1/jobs", "HIJ"},
        {"/v1/certificates", "L"},    {"/v1/q-releases", "M"},    {"/v1/clients", "N"},
        {"/v1/ledger/accounts", "O"}, {"/v1/projects", "P"},      {"/v1/budget-requests", "Q"},
        {"/v1/environments", "R"},    {"/v1/limit-changes", "ST"}};
    static const char *const others[][2] = {{"{name}", "best@current"},
                                            {"{level}", "0"},
                                            {"{tile}", "000.p/1"},
                                            {"{token}", "1"},
                                            {"{sha256}", SCENE_CERTIFICATE_HASH}};
    if (strncmp(name, "{client}", 8) == 0)
        return scene->id[SCENE_STUDENT];
    if (strncmp(name, "{expert}", 8) == 0)
        return "e1";
    if (strncmp(name, "{slug}", 6) == 0)
        return "validation";
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strncmp(name, others[i][0], strlen(others[i][0])) == 0)
            return others[i][1];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(pattern, kinds[i].collection, strlen(kinds[i].collection)) == 0 && which != 255)
            return scene->id[kinds[i].ids[which % strlen(kinds[i].ids)] - 'A'];
    return "ds_00000000000000000000";
}

static void write_target(const struct route *route, uint8_t which, char out[512])
{
    static const char *const values[] = {"json", "1", "safetensors", "onnx", "succeeded", "cql"};
    size_t used = 0, name = strcspn(route->query, " ");
    for (const char *at = route->pattern; *at != '\0'; at++) {
        const char *text = *at == '{' ? stand_in(route->pattern, at, which) : NULL;
        if (text)
            used += (size_t)snprintf(out + used, 512 - used, "%s", text);
        else
            out[used++] = *at;
        at = text ? strchr(at, '}') : at;
    }
    out[used] = '\0';
    if (name > 0 && which % 2)
        snprintf(out + used, 512 - used, "?%.*s=%s", (int)name, route->query,
                 values[which / 2 % (sizeof values / sizeof values[0])]);
}

/* What ends an id for ever, and is not rolled back. */
static bool is_end(const struct route *route)
{
    return route->lane == API_LANE_POOL &&
           (strcmp(route->method, "DELETE") == 0 || strstr(route->pattern, ":close"));
}

static void serve_row(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"Content-Type", "Idempotency-Key", "Accept", "If-Match",
                                        "Content-Encoding"};
    static const char *const types[] = {"application/json", "application/x-ndjson", "text/csv",
                                        "application/json"};
    static const char *const encodings[] = {"identity", "gzip", "zstd", "br"};
    unsigned count;
    static unsigned asked;
    char target[512], key[16];
    const struct route *routes = route_all(&count);
    uint8_t who = fuzz_byte(&data, &size);
    const struct route *route = &routes[fuzz_byte(&data, &size) % count];
    uint8_t which = fuzz_byte(&data, &size);
    bool forgotten = who % 16 < 8;
    write_target(route, forgotten && is_end(route) ? 255 : which, target);
    uint8_t how = fuzz_byte(&data, &size);
    snprintf(key, sizeof key, "k%u", how < 128 ? how / 4U : 32 + asked++); /* used, or new */
    const char *const values[] = {types[how % 4], key, "*/*", "\"1\"", encodings[how / 4 % 4]};
    struct scene_request request = {.role = who % 8 < FUZZ_ROLES ? who % 8 : 1,
                                    .method = route->method,
                                    .target = target,
                                    .names = names,
                                    .values = values,
                                    .header_count = route->body == BODY_STREAM ? 5 : 4,
                                    .forgotten = forgotten};
    char *body = scene_text(scene, (const char *)data, size, &request.body_size);
    request.body = body;
    serve(&request);
    free(body);
}

/* ---- a text */

/* Ends the line at *AT and steps behind it; NULL at the end of the text. */
static char *next_line(char **at)
{
    char *line = *at;
    if (!line)
        return NULL;
    char *end = strchr(line, '\n');
    *at = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return line;
}

static void serve_text(char *text, size_t size)
{
    const char *names[HEADERS_MAX], *values[HEADERS_MAX];
    struct scene_request request = {
        .role = -1, .names = names, .values = values, .forgotten = true};
    char *at = text, *rest = NULL, *line = next_line(&at);
    char *role = strtok_r(line, " ", &rest), *method = strtok_r(NULL, " ", &rest);
    if (!role || !method || !rest)
        return;
    request.method = method;
    request.target = rest;
    for (int i = 0; i < FUZZ_ROLES; i++)
        request.role = strcmp(role, fuzz_roles[i]) == 0 ? i : request.role;
    for (line = next_line(&at); line && *line != '\0'; line = next_line(&at)) {
        char *colon = strstr(line, ": ");
        if (colon && request.header_count < HEADERS_MAX) {
            *colon = '\0';
            names[request.header_count] = line;
            values[request.header_count++] = colon + 2;
        }
    }
    if (at) {
        request.body = at;
        request.body_size = size - (size_t)(at - text);
    }
    serve(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] < 32) {
        serve_row(data, size);
        return 0;
    }
    size_t length;
    char *text = scene_text(scene, (const char *)data, size, &length);
    serve_text(text, length);
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t start = 4;
    if (size > 0 && data[0] >= 32) {
        const uint8_t *body = memmem(data, size, "\n\n", 2);
        start = body ? (size_t)(body - data) + 2 : size;
    }
    return fuzz_mutate_json(data, size, max_size, seed, start);
}
