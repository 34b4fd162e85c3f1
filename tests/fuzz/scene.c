#include "tests/fuzz/scene.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/json/json_text.h"
#include "storage/datasets.h"
#include "storage/environments.h"
#include "storage/keys/keyring.h"
#include "storage/limit_changes.h"
#include "storage/upgrade.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/api/shell_world.h"

#define LINES_EXPERTS 60

static int64_t scene_now(void)
{
    return 1800000000000;
}

/* ---- texts */

char *scene_text(const struct scene *scene, const char *text, size_t size, size_t *out_size)
{
    size_t used = 0;
    char *out = malloc(size * sizeof scene->id[0] / 2 + 1);
    assert(out);
    for (size_t i = 0; i < size; i++) {
        unsigned which = i + 1 < size ? (unsigned)(text[i + 1] - 'A') : SCENE_IDS;
        if (text[i] != '$' || which >= SCENE_IDS) {
            out[used++] = text[i];
            continue;
        }
        size_t length = strlen(scene->id[which]);
        memcpy(out + used, scene->id[which], length);
        used += length;
        i++;
    }
    out[used] = '\0';
    if (out_size)
        *out_size = used;
    return out;
}

/* ---- a request */

struct asking {
    const struct scene_request *request;
    char authorization[FUZZ_TOKEN_SIZE + 8];
    size_t read;
};

static const char *find_header(void *context, const char *name)
{
    const struct asking *asking = context;
    const struct scene_request *request = asking->request;
    for (unsigned i = 0; i < request->header_count; i++)
        if (strcasecmp(request->names[i], name) == 0)
            return request->values[i];
    bool known = strcasecmp(name, "Authorization") == 0 && request->role >= 0;
    return known ? asking->authorization : NULL;
}

static long read_body(void *context, unsigned char *buffer, size_t size)
{
    struct asking *asking = context;
    size_t left = asking->request->body_size - asking->read;
    size = size < 37 ? size : 37; /* short reads */
    size = left < size ? left : size;
    if (size > 0)
        memcpy(buffer, asking->request->body + asking->read, size);
    asking->read += size;
    return (long)size;
}

static void check_reply(const struct scene_request *request, const struct api_reply *reply)
{
    assert(reply->status >= 200 && reply->status < 600);
    assert(reply->status != 500 || request->may_break);
    if (request->may_break) /* a certificate is sent as it is stored */
        return;
    const char *body = reply->body ? reply->body : reply->static_body;
    if (!reply->content_type || !strstr(reply->content_type, "json")) {
        /* Who wants a page and finds none gets a page. */
        assert(reply->status < 400 ||
               (reply->status == 404 && strstr(reply->content_type, "html")));
        return;
    }
    json_t *json = NULL;
    struct json_fault fault;
    assert(json_text_parse(body, reply->body_size, &json, &fault) == JSON_TEXT_GOOD);
    json_int_t status = json_integer_value(json_object_get(json, "status"));
    assert(reply->status < 400 || status == reply->status);
    json_decref(json);
}

void scene_serve(const struct scene *scene, const struct scene_request *request,
                 struct api_reply *reply)
{
    struct asking asking = {.request = request};
    char target[8192];
    snprintf(target, sizeof target, "%s", request->target);
    if (request->role >= 0)
        snprintf(asking.authorization, sizeof asking.authorization, "Bearer %s",
                 scene->token[request->role]);
    char *query = strchr(target, '?');
    if (query)
        *query++ = '\0';
    struct api_request asked = {.method = request->method,
                                .path = target,
                                .query = query ? query : "",
                                .header_context = &asking,
                                .header = find_header,
                                .body = (const unsigned char *)"",
                                .request_id = "fuzz"};
    struct api_route_info info = api_route(scene->app, asked.method, target);
    if (info.lane == API_LANE_STREAM) {
        asked.reader = (struct byte_reader){&asking, read_body};
    } else if (request->body_size > 0) {
        asked.body = (const unsigned char *)request->body;
        asked.body_size = request->body_size;
    }
    bool forgotten = request->forgotten && info.lane == API_LANE_BATCH;
    if (forgotten && db_begin_batch(scene->db, info.writes) != DB_OK)
        abort();
    if (!info.quick || !api_serve_quick(scene->app, &asked, reply))
        api_serve(scene->app, scene->db, &asked, reply);
    api_settled(scene->app, !forgotten);
    if (forgotten)
        db_rollback_batch(scene->db);
    check_reply(request, reply);
}

/* ---- what is there */

/* Lines of an upload of that many coordinates. */
static char *make_lines(unsigned coordinates)
{
    char *text = malloc(LINES_EXPERTS * 512), state[64];
    size_t at = 0;
    assert(text);
    for (unsigned e = 0; e < LINES_EXPERTS; e++) {
        snprintf(state, sizeof state, coordinates == 1 ? "[0.%u]" : "[0.%u,0,0,0]", e);
        at += (size_t)sprintf(text + at,
                              "{\"expert\":\"e%u\",\"states\":[%s,%s,%s],\"actions\":[0,1],"
                              "\"rewards\":[1,%u],\"terminated\":true,\"truncated\":false}\n",
                              e, state, state, state, e % 3);
    }
    return text;
}

/* The role that makes TARGET: the admin, the student or the steward. */
static int maker_of(const char *target)
{
    if (strstr(target, "/clients/"))
        return 0;
    return strstr(target, "budget-requests") ? 3 : 1;
}

/* True when TARGET has its own name in the path. */
static bool is_put(const char *target)
{
    static const char *const puts[] = {"/budgets/", "/names/", "/members/", "/certificates/"};
    for (size_t i = 0; i < sizeof puts / sizeof puts[0]; i++)
        if (strstr(target, puts[i]))
            return true;
    return false;
}

static void make_one(struct scene *scene, int id, const char *target, const char *type,
                     const char *text)
{
    static unsigned keys;
    char key[16];
    size_t size;
    snprintf(key, sizeof key, "scene-%u", keys++);
    const char *const names[] = {"Content-Type", "Idempotency-Key"}, *values[] = {type, key};
    char *path = scene_text(scene, target, strlen(target), NULL);
    char *body = scene_text(scene, text, strlen(text), &size);
    const struct scene_request request = {.role = maker_of(target),
                                          .method = is_put(target) ? "PUT" : "POST",
                                          .target = path,
                                          .names = names,
                                          .values = values,
                                          .header_count = 2,
                                          .body = body,
                                          .body_size = size};
    struct api_reply reply;
    scene_serve(scene, &request, &reply);
    if (reply.status >= 300) {
        fprintf(stderr, "%s %.*s\n", target, (int)reply.body_size, reply.body);
        abort();
    }
    json_t *json = json_loadb(reply.body, reply.body_size, 0, NULL);
    if (id >= 0)
        snprintf(scene->id[id], sizeof scene->id[id], "%s",
                 json_string_value(json_object_get(json, "id")));
    json_decref(json);
    api_reply_clear(&reply);
    free(body);
    free(path);
}

/* The text of the only cell that SQL finds. */
static enum db_status copy_cell(void *out, const struct db_row *row)
{
    return db_row_copy(row, 0, out, sizeof(((struct scene *)NULL)->id[0])) ? DB_OK : DB_FAILED;
}

static void find_made(struct scene *scene, enum scene_id id, const char *sql)
{
    if (db_one(scene->db, sql, NULL, 0, copy_cell, scene->id[id]) != DB_OK)
        abort();
}

static void run_jobs(struct scene *scene)
{
    const struct api_job_control control = {.worker = "fuzz"};
    char note[256];
    while (api_job_turn(scene->app, scene->db, &control, note) == API_JOB_RAN)
        continue;
}

#define JSON  "application/json"
#define LINES "application/x-ndjson"

static void make_data(struct scene *scene)
{
    char *wide = make_lines(4), *narrow = make_lines(1);
    make_one(scene, SCENE_DATASET, "/v1/datasets", JSON,
             "{\"name\":\"d\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":9,\"delta\":"
             "1e-5},\"approvals\":2}");
    make_one(scene, SCENE_SEALED, "/v1/datasets", JSON,
             "{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":\"private\",\"budget\":"
             "{\"epsilon\":900,\"delta\":0.1},\"min_action_probability\":0.4}");
    make_one(scene, -1, "/v1/datasets/$B/trajectories", LINES, wide);
    make_one(scene, -1, "/v1/datasets/$B:seal", JSON, "{}");
    make_one(scene, SCENE_TABLE, "/v1/datasets", JSON,
             "{\"name\":\"t\",\"max_episode_steps\":10,\"discount\":0.9,\"nominal_experts\":60,"
             "\"approvals\":2,"
             "\"budget\":{\"epsilon\":9,\"delta\":1e-5},\"description\":{\"row\":\"r\",\"expert\":"
             "\"e\",\"features\":[{\"name\":\"x\",\"low\":0,\"high\":1},{\"name\":\"k\","
             "\"categories\":[\"a\",\"b\"]}],\"outside\":\"clip\",\"actions\":[\"l\",\"r\"],"
             "\"table\":{\"expert\":\"w\",\"episode\":\"s\",\"time\":\"t\",\"action\":\"a\","
             "\"reward\":\"g\",\"terminated\":\"e\",\"last_state\":\"repeat\"}}}");
    make_one(scene, SCENE_LINE, "/v1/datasets", JSON,
             "{\"name\":\"l\",\"state_dim\":1,\"action_count\":2,\"max_episode_steps\":50,"
             "\"description\":{\"row\":\"r\",\"expert\":\"e\",\"features\":[{\"name\":\"x\","
             "\"low\":0,\"high\":1}],\"actions\":[\"l\",\"r\"]},\"discount\":0.9,\"budget\":"
             "{\"epsilon\":900,\"delta\":0.1},\"sensitivity\":\"private\"}");
    make_one(scene, -1, "/v1/datasets/$D/trajectories", LINES, narrow);
    make_one(scene, -1, "/v1/datasets/$D:seal", JSON, "{}");
    free(narrow);
    free(wide);
}

#define TRAINING                                                                                   \
    "{\"algorithm\":\"cql\",\"mechanism\":\"dpsgd\",\"dataset\":\"$B\",\"privacy\":{\"epsilon\":"  \
    "1,\"delta\":1e-6,\"force\":true},\"parameters\":{\"hidden\":[4],\"batch_size\":2,\"steps\":"  \
    "4},\"evaluate\":{\"environment\":\"cartpole\",\"episodes\":2,\"max_episode_steps\":20}}"

static void make_work(struct scene *scene)
{
    make_one(scene, SCENE_POLICY, "/v1/policies", JSON,
             "{\"name\":\"p\",\"environment\":\"cartpole\",\"network\":{\"activation\":\"relu\","
             "\"layers\":[{\"weight\":[[0.1,0,0,0],[0,0.1,0,0]],\"bias\":[0,0]}],\"output\":"
             "\"softmax\"}}");
    make_one(scene, SCENE_TEACHER, "/v1/teachers", JSON,
             "{\"policy\":\"$E\",\"mechanism\":{\"concentration\":20,\"min_probability\":0.1},"
             "\"adjacency\":{\"unit\":\"observation\",\"radius\":0.01},\"budget\":{\"epsilon\":"
             "9e5,\"delta\":1e-5},\"client_budget\":{\"epsilon\":9e4,\"delta\":1e-5}}");
    make_one(scene, SCENE_AGGREGATION, "/v1/aggregations", JSON,
             "{\"environment\":\"cartpole\",\"epsilon\":5,\"seed\":3,\"buffer\":1}");
    make_one(scene, SCENE_JOB, "/v1/jobs", JSON, TRAINING);
    make_one(scene, SCENE_RELEASE_JOB, "/v1/jobs", JSON,
             "{\"algorithm\":\"gp_q_learning\",\"dataset\":\"$D\",\"privacy\":{\"epsilon\":100,"
             "\"delta\":1e-3,\"force\":true},\"parameters\":{\"shards\":20,\"steps\":4,"
             "\"hidden\":[4],\"knot_bits\":2}}");
    run_jobs(scene);
    make_one(scene, SCENE_QUEUED_JOB, "/v1/jobs", JSON, TRAINING);
    find_made(scene, SCENE_TRAINED_POLICY,
              "SELECT id FROM policies WHERE released = 1 AND job <> ''");
    find_made(scene, SCENE_CERTIFICATE, "SELECT id FROM certificates ORDER BY id LIMIT 1");
    find_made(scene, SCENE_Q_RELEASE, "SELECT id FROM q_releases");
    find_made(scene, SCENE_STUDENT, "SELECT id FROM clients WHERE role = 'student'");
    find_made(scene, SCENE_ACCOUNT, "SELECT id FROM ledger_accounts ORDER BY id LIMIT 1");
    make_one(scene, -1, "/v1/teachers/$F/budgets/$N", JSON, "{\"epsilon\":8e4,\"delta\":1e-5}");
    make_one(scene, -1, "/v1/policies/$E/names/best@current", JSON, "{}");
    make_one(scene, SCENE_PROJECT, "/v1/projects", JSON, "{\"name\":\"p\"}");
    make_one(scene, SCENE_BUDGET_REQUEST, "/v1/budget-requests", JSON,
             "{\"teacher\":\"$F\",\"epsilon\":9e4,\"delta\":1e-5,\"reason\":\"r\"}");
    make_one(scene, -1, "/v1/projects/$P/members/$N", JSON, "{\"role\":\"student\"}");
    make_one(scene, -1, "/v1/policies/$K/grants", JSON, "{\"client\":\"$N\"}");
    make_one(scene, -1, "/v1/clients/$N/certificates/" SCENE_CERTIFICATE_HASH, JSON, "");
}

/* A change of DATASET's limit, which waits. PROPOSER is the SQL that finds who asked for it. */
static void make_limit_change(struct scene *scene, enum scene_id id, enum scene_id dataset,
                              const char *proposer)
{
    struct limit_change_row row = {
        .revision = 1, .epsilon = 10, .delta = 1e-5, .approvals = 2, .reason = "r"};
    struct dataset_row declared;
    id_new("lch_", row.id);
    find_made(scene, id, proposer);
    memcpy(row.proposer, scene->id[id], ID_SIZE);
    if (datasets_find(scene->db, scene->id[dataset], &declared) != DB_OK)
        abort();
    memcpy(row.account, declared.account, ID_SIZE);
    if (limit_changes_insert(scene->db, &row) != DB_OK)
        abort();
    memcpy(scene->id[id], row.id, ID_SIZE);
}

/* A world of the steward, which no program runs here. */
static void make_world(struct scene *scene)
{
    struct environment_row row = {.name = "w",
                                  .runner = "sh",
                                  .description = (char *)(uintptr_t)SHELL_FACTS,
                                  .source = (char *)(uintptr_t) "exit"};
    id_new(ENVIRONMENT_PREFIX, row.id);
    if (db_one(scene->db, "SELECT id FROM clients WHERE role = 'steward'", NULL, 0, copy_cell,
               row.owner) != DB_OK ||
        environments_insert(scene->db, &row) != DB_OK)
        abort();
    snprintf(scene->id[SCENE_ENVIRONMENT], sizeof scene->id[0], "%s", row.id);
}

struct scene *scene_open(void)
{
    static struct scene scene; /* as long as the process */
    char path[100], error[DB_ERROR_SIZE];
    snprintf(path, sizeof path, "%s/tacet.db", fuzz_directory());
    struct db_settings database = {.location = path, .not_durable = true, .max_pages = 50000};
    struct api_settings settings = {.now_ms = scene_now,
                                    .max_body_bytes = 1 << 20,
                                    .max_upload_bytes = 1 << 20,
                                    .max_policy_bytes = 1 << 20,
                                    .max_states_per_query = 64,
                                    .max_experts_per_dataset = 100,
                                    .cors_origins = "https://a.example",
                                    .version = "fuzz"};
    struct db_store *store = db_store_new(&db_driver_sqlite, &database);
    static const unsigned char master[KEYRING_KEY] = {1};
    snprintf(path, sizeof path, "%s/keys", fuzz_directory());
    settings.keys = keyring_open(path, master, error, sizeof error);
    if (!settings.keys || !store || db_open(store, &scene.db, error) != DB_OK ||
        storage_upgrade(scene.db, error) != DB_OK || !(scene.app = api_open(&settings)))
        abort();
    fuzz_tokens_make(scene.app, scene.db, scene.token);
    make_data(&scene);
    make_work(&scene);
    make_world(&scene);
    make_limit_change(&scene, SCENE_LIMIT_CHANGE, SCENE_DATASET,
                      "SELECT id FROM clients WHERE role = 'admin'");
    make_limit_change(&scene, SCENE_OWN_CHANGE, SCENE_TABLE,
                      "SELECT id FROM clients WHERE role = 'steward'");
    return &scene;
}
