#include "tests/simulator/scene.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/books/client_create.h"
#include "server/os/data_dir.h"
#include "tests/unit/api/domain.h"
#include "tests/unit/noninterference/chance.h"

/* ---- bodies */

double scene_epsilon(const struct scene_limits *limits, unsigned budget)
{
    return limits->unit * (4 + budget);
}

void scene_limit(const struct model_account *account, const struct scene_limits *limits,
                 unsigned budget, char path[128], char body[512])
{
    char amount[64];
    snprintf(amount, sizeof amount, "\"epsilon\":%g,\"delta\":%g", scene_epsilon(limits, budget),
             limits->delta);
    bool own = account->client[0] != '\0';
    if (own)
        sprintf(path, "/v1/teachers/%s/budgets/%s", account->resource, account->client);
    else
        sprintf(path, "/v1/ledger/accounts/%s", account->id);
    sprintf(body, own ? "{%s}" : "{\"limit\":{%s},\"reason\":\"as asked\"}", amount);
}

void scene_question(unsigned number, unsigned variant, unsigned count, char out[256])
{
    int at = sprintf(out, "{\"states\":[");
    for (unsigned i = 0; i < count; i++)
        at += sprintf(out + at, "%s[0.%u,0.%u,0.0%u,0]", i ? "," : "", 1 + number % 89, 1 + variant,
                      1 + (number + i) % 97);
    sprintf(out + at, "]}");
}

void scene_job(const struct scene *scene, unsigned kind, unsigned variant, char out[512])
{
    static const char *const parts[SCENE_JOBS] = {
        "\"cql\",\"mechanism\":\"dpsgd\",\"parameters\":{\"hidden\":[4],\"batch_size\":12,"
        "\"steps\":"
        "20,"
        "\"learning_rate\":0.00%u}",
        "\"gp_q_learning\",\"mechanism\":\"gaussian_process\",\"parameters\":{\"steps\":12,"
        "\"features\":5,\"batch_size\":4,\"learning_rate\":0.00%u}",
        "\"behaviour_cloning\",\"mechanism\":\"dpsgd\",\"parameters\":{\"hidden\":[2],"
        "\"batch_size\":12,\"steps\":6,\"learning_rate\":0.00%u}"};
    int at = sprintf(out, "{\"dataset\":\"%s\",\"algorithm\":", scene->dataset);
    at += sprintf(out + at, parts[kind], 1 + variant);
    sprintf(out + at, ",\"privacy\":{\"epsilon\":%u,\"delta\":1e-6,\"force\":true}}", 1 + kind);
}

unsigned scene_expert(unsigned number, unsigned i)
{
    return (number + i) % 11;
}

void scene_upload(unsigned number, unsigned variant, unsigned count, char out[512])
{
    int at = 0;
    for (unsigned i = 0; i < count; i++)
        at += sprintf(out + at,
                      "{\"expert\":\"e%u\",\"states\":[[0.%u,0,0,0],[0,0,0,0]],\"actions\":[%u],"
                      "\"rewards\":[1],\"terminated\":true,\"truncated\":false}\n",
                      scene_expert(number, i), 1 + number, variant == 1);
    if (variant == SCENE_CUT)
        out[at - 20] = '\0';
}

void scene_point(unsigned point, char out[128])
{
    sprintf(out, "{\"states\":[[0.%u,0.1,-0.0%u,0.2]]}", point + 1, point + 1);
}

void scene_text(const char *json, const char *name, char out[ID_SIZE])
{
    char member[64];
    snprintf(member, sizeof member, "\"%s\":\"", name);
    const char *at = json ? strstr(json, member) : NULL;
    size_t size = 0;
    if (at) {
        at += strlen(member);
        size = strcspn(at, "\"");
    }
    if (size >= ID_SIZE)
        size = 0;
    memcpy(out, at ? at : "", size);
    out[size] = '\0';
}

/* ---- one call at a time */

static void ignore_resume(void *context)
{
    (void)context;
}

struct making {
    struct scene *scene;
    struct service service;
    unsigned keys;
    char reply[4096];
    char id[ID_SIZE]; /* of the last reply */
};

static void make_call(struct making *making, int person, const char *method, const char *path,
                      const char *body, int status)
{
    char key[16];
    enum service_way way;
    snprintf(key, sizeof key, "scene-%u", ++making->keys);
    struct service_request request = {
        .method = method, .path = path, .token = making->scene->token[person], .body = body};
    if (strcmp(method, "POST") == 0)
        request.key = key;
    if (method[0] == 'P' && status == 200 && !request.key)
        request.match = "*";
    struct exchange *x = service_receive(&making->service, &request, ignore_resume, NULL, &way);
    if (way == SERVICE_BATCH)
        service_commit(&making->service, x);
    else if (way == SERVICE_THREAD)
        service_run(&making->service, 0, x);
    const char *text = x->reply.body ? x->reply.body : x->reply.static_body;
    snprintf(making->reply, sizeof making->reply, "%.*s", (int)x->reply.body_size,
             text ? text : "");
    cr_assert_eq(x->reply.status, status, "%s %s: %d %s", method, path, x->reply.status,
                 making->reply);
    scene_text(making->reply, "id", making->id);
    exchange_let_go(x);
    service_clock_ms += 1000;
}

static void run_job(struct making *making, const char *body)
{
    char note[256], job[ID_SIZE];
    const struct api_job_control control = {.worker = "scene"};
    make_call(making, SCENE_STEWARD, "POST", "/v1/jobs", body, 202);
    memcpy(job, making->id, sizeof job);
    cr_assert_eq(api_job_turn(making->service.app, making->service.worker[0], &control, note),
                 API_JOB_RAN);
    make_call(making, SCENE_STEWARD, "GET", domain_path("/v1/jobs/%s", job), NULL, 200);
    cr_assert(strstr(making->reply, "\"succeeded\""), "%s", making->reply);
}

/* ---- its parts */

static void make_people(struct making *making)
{
    static const char *const roles[SCENE_PEOPLE] = {"student", "student", "student",
                                                    "steward", "steward", "contributor",
                                                    "auditor", "steward", "admin"};
    static const struct token_terms terms = {.scopes = SCOPE_ALL};
    struct scene *scene = making->scene;
    for (int i = 0; i < SCENE_PEOPLE; i++) {
        char *token = scene->token[i];
        cr_assert_null(api_client_create(making->service.app, making->service.auditor, roles[i],
                                         roles[i], &terms, token));
        size_t length = (size_t)(strrchr(token, '_') - token) - 4;
        cr_assert_lt(length + 4, ID_SIZE);
        memcpy(scene->client[i], "cli_", 4);
        memcpy(scene->client[i] + 4, token + 4, length);
        scene->client[i][4 + length] = '\0';
    }
    make_call(making, SCENE_STEWARD, "PUT",
              domain_path("/v1/projects/%s/members/%s", scene->client[SCENE_STEWARD],
                          scene->client[SCENE_SECOND]),
              "{\"role\":\"steward\"}", 201);
}

static void make_data(struct making *making)
{
    struct scene *scene = making->scene;
    char *lines = domain_lines(12, 12);
    make_call(making, SCENE_STEWARD, "POST", "/v1/datasets",
              "{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":\"private\","
              "\"budget\":{\"epsilon\":60,\"delta\":1e-3}}",
              201);
    memcpy(scene->dataset, making->id, ID_SIZE);
    make_call(making, SCENE_STEWARD, "POST", "/v1/datasets",
              "{\"name\":\"o\",\"environment\":\"cartpole\",\"sensitivity\":\"private\","
              "\"budget\":{\"epsilon\":1,\"delta\":1e-5}}",
              201);
    memcpy(scene->open, making->id, ID_SIZE);
    make_call(making, SCENE_STEWARD, "POST",
              domain_path("/v1/datasets/%s/trajectories", scene->dataset), lines, 201);
    make_call(making, SCENE_STEWARD, "POST", domain_path("/v1/datasets/%s:seal", scene->dataset),
              NULL, 200);
    free(lines);
    make_call(making, SCENE_STEWARD, "POST", "/v1/policies",
              "{\"name\":\"p\",\"environment\":\"cartpole\",\"network\":{\"activation\":\"relu\","
              "\"layers\":[{\"weight\":[[0.1,0.2,0.3,0.4],[-0.1,0.2,-0.3,0.4]],\"bias\":[0,0.5]}],"
              "\"output\":\"softmax\"}}",
              201);
    memcpy(scene->policy, making->id, ID_SIZE);
}

static void make_teachers(struct making *making)
{
    struct scene *scene = making->scene;
    static const char dirichlet[] = "\"name\":\"dirichlet\",\"concentration\":300,"
                                    "\"min_probability\":0.1";
    static const char *const sigmas[SCENE_TEACHERS] = {"", "0.03", "2", "2"};
    char ensemble[ID_SIZE];
    run_job(making, domain_path("{\"algorithm\":\"cql\",\"dataset\":\"%s\",\"shards\":6,"
                                "\"parameters\":{\"hidden\":[4],\"batch_size\":2,\"steps\":20}}",
                                scene->dataset));
    scene_text(making->reply, "policy", ensemble);
    for (int i = 0; i < SCENE_TEACHERS; i++) {
        struct scene_teacher *teacher = &scene->teachers[i];
        bool shards = i >= 2;
        teacher->random = i % 2 == 1;
        make_call(making, SCENE_STEWARD, "POST", "/v1/teachers",
                  domain_path(
                      "{\"policy\":\"%s\",\"mechanism\":{%s},\"adjacency\":{%s},"
                      "\"budget\":{\"epsilon\":%s,\"delta\":1e-5},\"client_budget\":{"
                      "\"epsilon\":%s,\"delta\":1e-5},\"when_spent\":\"%s\"}",
                      shards ? ensemble : scene->policy,
                      i == 0 ? dirichlet
                             : domain_path("\"name\":\"gaussian_simplex\",\"sigma\":%s", sigmas[i]),
                      shards ? "\"unit\":\"expert\"" : "\"unit\":\"observation\",\"radius\":0.01",
                      shards ? "9" : "8", shards ? "6" : "4",
                      teacher->random ? "random" : "refuse"),
                  201);
        memcpy(teacher->id, making->id, ID_SIZE);
    }
}

/* Gives the account of RESOURCE and STUDENT each of its LIMITS, the middle one at last, and notes
 * them; gives its index. */
static int make_limits(struct making *making, const char *resource, unsigned student,
                       struct scene_limits limits)
{
    struct scene *scene = making->scene;
    struct model_account wanted = {.id = ""};
    char path[128], body[512];
    int account = 0;
    limits.student = student;
    snprintf(wanted.resource, ID_SIZE, "%s", resource);
    if (student < SCENE_STUDENTS)
        memcpy(wanted.client, scene->client[student], ID_SIZE);
    for (unsigned i = 1; i <= SCENE_BUDGETS; i++) {
        struct model model;
        const unsigned b = (i + 1) % SCENE_BUDGETS;
        cr_assert(model_read(&model, making->service.auditor));
        account = model_find(&model, resource, wanted.client);
        if (account >= 0)
            wanted = model.accounts[account];
        scene_limit(&wanted, &limits, b, path, body);
        if (limits.two && i == SCENE_BUDGETS)
            strcpy(strrchr(body, '}'), ",\"approvals\":2}");
        make_call(making, SCENE_STEWARD, wanted.client[0] != '\0' ? "PUT" : "PATCH", path, body,
                  account >= 0 ? 200 : 201);
        cr_assert(model_read(&model, making->service.auditor));
        account = model_find(&model, resource, wanted.client);
        cr_assert_geq(account, 0);
        limits.of[b] = model.accounts[account].limit;
    }
    scene->limits[account] = limits;
    return account;
}

static void make_budgets(struct making *making, struct scene_teacher *teacher)
{
    struct scene *scene = making->scene;
    const struct scene_limits own = {.unit = 1, .delta = 1e-5},
                              all = {.unit = 1.5, .delta = 1e-5, .two = teacher->random};
    for (unsigned s = 0; s < SCENE_STUDENTS; s++)
        teacher->client_account[s] = make_limits(making, teacher->id, s, own);
    teacher->account = make_limits(making, teacher->id, SCENE_STUDENTS, all);
    teacher->dataset_account = -1;
    if (teacher - scene->teachers >= 2)
        teacher->dataset_account = scene->dataset_account;
}

static struct model_amount amount_between(const struct model_account *before,
                                          const struct model_account *after)
{
    return (struct model_amount){after->spent.units - before->spent.units,
                                 after->spent.delta - before->spent.delta};
}

/* What a question of one state costs, found by asking; several cost as many times that. */
static void make_prices(struct making *making, struct scene_teacher *teacher)
{
    char body[256];
    struct model before, after;
    int own = teacher->client_account[0], all = teacher->account, data = teacher->dataset_account;
    cr_assert(model_read(&before, making->service.auditor));
    scene_question(0, 0, 1, body);
    make_call(making, 0, "POST", domain_path("/v1/teachers/%s/queries", teacher->id), body, 200);
    cr_assert(model_read(&after, making->service.auditor));
    struct model_amount price = amount_between(&before.accounts[own], &after.accounts[own]),
                        cap = amount_between(&before.accounts[all], &after.accounts[all]);
    cr_assert_gt(price.units, 0);
    cr_assert_gt(cap.units, 0);
    for (unsigned count = 1; count <= SCENE_COUNTS; count++) {
        teacher->price[count] = (struct model_amount){count * price.units, count * price.delta};
        teacher->cap_price[count] = (struct model_amount){count * cap.units, count * cap.delta};
    }
    if (data < 0)
        return;
    teacher->first = amount_between(&before.accounts[data], &after.accounts[data]);
    teacher->first.units -= price.units;
    teacher->first.delta -= price.delta;
    cr_assert_gt(teacher->first.units, 0); /* docs/proofs/shards.md */
}

static void make_jobs(struct making *making)
{
    struct scene *scene = making->scene;
    char body[512];
    for (unsigned kind = 0; kind < SCENE_JOBS; kind++) {
        struct model before, after;
        cr_assert(model_read(&before, making->service.auditor));
        scene_job(scene, kind, 0, body);
        run_job(making, body);
        if (kind == 1)
            scene_text(making->reply, "q_release", scene->release);
        cr_assert(model_read(&after, making->service.auditor));
        int account = model_find(&after, scene->dataset, "");
        scene->job_price[kind] =
            amount_between(&before.accounts[account], &after.accounts[account]);
        cr_assert_gt(scene->job_price[kind].units, 0);
    }
    for (unsigned i = 0; i < SCENE_POINTS; i++) {
        char point[128];
        scene_point(i, point);
        make_call(making, 0, "POST", domain_path("/v1/q-releases/%s/queries", scene->release),
                  point, 200);
        scene->values[i] = strdup(making->reply);
    }
}

struct scene *scene_make(const char *directory)
{
    struct making making = {.scene = calloc(1, sizeof(struct scene))};
    struct scene *scene = making.scene;
    char why[400] = "";
    unsigned char secret[64];
    cr_assert_not_null(scene);
    chance_begin(0);
    service_clock_ms = 1800000000000; /* 2027-01-15 */
    service_keep_days = 0;
    snprintf(scene->directory, sizeof scene->directory, "%s", directory);
    cr_assert(service_start(&making.service, directory, true, why, sizeof why), "%s", why);
    cr_assert(data_dir_signing_seed(directory, scene->seed, why, sizeof why), "%s", why);
    crypto_sign_seed_keypair(scene->public_key, secret, scene->seed);
    make_people(&making);
    make_data(&making);
    make_teachers(&making);
    make_jobs(&making);
    scene->dataset_account =
        make_limits(&making, scene->dataset, SCENE_STUDENTS,
                    (struct scene_limits){.unit = 8, .delta = 1e-3, .two = true});
    for (int i = 0; i < SCENE_TEACHERS; i++)
        make_budgets(&making, &scene->teachers[i]);
    for (int i = 0; i < SCENE_TEACHERS - 1; i++)
        make_prices(&making, &scene->teachers[i]);
    /* The last teacher is one like the one before that nobody has asked yet. */
    struct scene_teacher *last = &scene->teachers[SCENE_TEACHERS - 1];
    memcpy(last->price, last[-1].price, sizeof last->price);
    memcpy(last->cap_price, last[-1].cap_price, sizeof last->cap_price);
    last->first = last[-1].first;
    for (int i = 0; i < SCENE_TEACHERS - 1; i++)
        scene->teachers[i].first = (struct model_amount){0, 0};
    cr_assert(model_read(&scene->model, making.service.auditor));
    scene->clock_ms = service_clock_ms;
    service_end(&making.service);
    return scene;
}

void scene_free(struct scene *scene)
{
    for (unsigned i = 0; i < SCENE_POINTS; i++)
        free(scene->values[i]);
    disk_remove(scene->directory);
    free(scene);
}
