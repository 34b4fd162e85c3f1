#include "tests/unit/noninterference/play.h"
#include "storage/digests.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/local/local_report.h"
#include "algos/privacy/noise/noise_source.h"
#include "api/match.h"
#include "tests/unit/noninterference/chance.h"

#define PLAY_BEGIN_MS 1800000000000
#define SCENE_MS      86400000

#define EXPERTS       40 /* without x and y */

/* ---- scenes */

void play_scene(struct play *p)
{
    fixture_set_clock(PLAY_BEGIN_MS + (int64_t)++p->scenes * SCENE_MS);
    chance_begin(p->scenes);
    transcript_scene(p->t);
}

void play_pass(struct play *p)
{
    fixture_set_clock(PLAY_BEGIN_MS + (int64_t)p->scenes * SCENE_MS + SCENE_MS / 2);
}

static const char *made_id(const struct response *r)
{
    cr_assert(r->status == 201 || r->status == 200 || r->status == 202, "%d %s", r->status,
              r->body);
    return response_text(r, "/id");
}

/* ---- paths */

/* What stands for {id} below a collection, and for other {names}. */
static const char *const collections[][2] = {{"clients", "cli_"},
                                             {"accounts", "acc_"},
                                             {"certificates", "crt_"},
                                             {"datasets", "ds_"},
                                             {"jobs", "job_"},
                                             {"policies", "pol_"},
                                             {"teachers", "tch_"},
                                             {"q-releases", "qre_"},
                                             {"aggregations", "agg_"},
                                             {"models", "tch_"},
                                             {"budget-requests", "brq_"},
                                             {"limit-changes", "lch_"},
                                             {"projects", "prj_"},
                                             {"environments", "env_"}};

/* "MCB4" is "0 x". */
static const char *const queries[][2] = {{"format", "json"},      {"format", "safetensors"},
                                         {"format", "onnx"},      {"page_size", "1000"},
                                         {"page_token", "MCB4"},  {"state", "succeeded"},
                                         {"algorithm", "cql"},    {"status", "open"},
                                         {"project", "none"},     {"old", "1"},
                                         {"resource", "none"},    {"client", "cli_none"},
                                         {"since", "2026-01-01"}, {"until", "2020-01-01"},
                                         {"after", "10"},         {"certificate", "none"},
                                         {"counts", "true"}};

/* The prefix of the identifiers that PATTERN's {id} stands for; NULL: it has no {id}. */
static const char *id_prefix(const char *pattern)
{
    const char *at = strstr(pattern, "/{id}");
    if (!at)
        return NULL;
    for (size_t i = 0; i < sizeof collections / sizeof collections[0]; i++) {
        size_t size = strlen(collections[i][0]);
        if ((size_t)(at - pattern) > size && strncmp(at - size, collections[i][0], size) == 0 &&
            at[-(long)size - 1] == '/')
            return collections[i][1];
    }
    cr_assert_fail("%s: give its collection a row in collections[]", pattern);
    return NULL;
}

static const char *other_name(struct play *p, const char *name)
{
    if (strncmp(name, "{client}", 8) == 0)
        return fixture_client(p->f, "student");
    if (strncmp(name, "{expert}", 8) == 0)
        return "e0";
    if (strncmp(name, "{slug}", 6) == 0)
        return "validation";
    if (strncmp(name, "{sha256}", 8) == 0)
        return "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";
    if (strncmp(name, "{token}", 7) == 0)
        return "2"; /* the calls of later scenes need the first one */
    if (strncmp(name, "{name}", 6) == 0)
        return "kept@current";
    if (strncmp(name, "{level}", 7) == 0)
        return "0";
    if (strncmp(name, "{tile}", 6) == 0)
        return "000.p/1";
    cr_assert_fail("%s: say in other_name() what stands for it", name);
    return "";
}

const char *play_path(struct play *p, const char *pattern, const char *id)
{
    char path[256] = "";
    for (const char *at = pattern; *at != '\0'; at++) {
        size_t size = strlen(path);
        if (*at != '{')
            snprintf(path + size, sizeof path - size, "%c", *at);
        else
            snprintf(path + size, sizeof path - size, "%s",
                     strncmp(at, "{id}", 4) == 0 ? id : other_name(p, at));
        at = *at == '{' ? strchr(at, '}') : at;
    }
    return domain_path("%s", path);
}

/* ---- what everybody asks */

typedef void visit_path(struct play *p, const struct route *route, const char *path);

/* Calls VISIT with every path of ROUTE: one for each identifier that came after SINCE. */
static void visit_paths(struct play *p, const struct route *route, size_t since, size_t until,
                        visit_path *visit)
{
    const char *prefix = id_prefix(route->pattern), *id;
    if (!prefix)
        visit(p, route, play_path(p, route->pattern, ""));
    for (size_t i = since; prefix && i < until && (id = transcript_id(p->t, i)) != NULL; i++)
        if (strncmp(id, prefix, strlen(prefix)) == 0)
            visit(p, route, play_path(p, route->pattern, id));
}

static void get_with(struct play *p, const struct route *route, const char *path)
{
    for (int caller = 0; caller < CALLERS; caller++)
        play_ask(p, caller, "GET", route->pattern, path, NULL, NULL);
}

static void get_path(struct play *p, const struct route *route, const char *path)
{
    char names[128];
    get_with(p, route, path);
    snprintf(names, sizeof names, "%s", route->query);
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        unsigned known = 0;
        for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
            if (strcmp(queries[i][0], name) != 0)
                continue;
            get_with(p, route, domain_path("%s?%s=%s", path, name, queries[i][1]));
            known++;
        }
        cr_assert(known > 0, "%s: give the parameter %s a row in queries[]", route->pattern, name);
    }
}

static void look_between(struct play *p, size_t since, size_t until, bool lists)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(routes[i].method, "GET") == 0 && (lists || strstr(routes[i].pattern, "/{id}")))
            visit_paths(p, &routes[i], since, until, get_path);
}

static size_t ids_now(const struct play *p)
{
    size_t count = p->looked;
    while (transcript_id(p->t, count))
        count++;
    return count;
}

void play_look(struct play *p)
{
    size_t until; /* a job's view names its policy, whose view names its certificate */
    while ((until = ids_now(p)) > p->looked) {
        look_between(p, p->looked, until, false);
        p->looked = until;
    }
    fixture_forget(p->f);
}

/* ---- what everybody changes */

static const char *ask_state(const struct play *p)
{
    return domain_path("[%.9g,-0.02,0.03,0.04]", p->secret.question);
}

static const char *report_body(struct play *p, const char *path);

/* A name that is not made of the teacher's random id. */
static const char *named_teacher_of(const struct play *p)
{
    return domain_path("{\"name\":\"t\",%s", domain_teacher(p->policy, 1e6, 1e6) + 1);
}

const char *play_body(struct play *p, const struct route *route, const char *path)
{
    const char *state = ask_state(p);
    const struct {
        const char *pattern, *body;
    } rows[] = {
        {"/v1/clients", "{\"name\":\"n\",\"role\":\"agent\"}"},
        {"/v1/clients/{id}:rotate", "{\"overlap_seconds\":2592000}"},
        {"/v1/projects", "{\"name\":\"p\"}"},
        {"/v1/projects/{id}", "{\"name\":\"q\"}"},
        {"/v1/projects/{id}/members/{client}", "{\"role\":\"student\"}"},
        {"/v1/projects/{id}:transfer",
         domain_path("{\"to\":\"%s\",\"reason\":\"r\"}", fixture_token_client(p->f, p->stranger))},
        {"/v1/clients/{id}/certificates/{sha256}", ""},
        {"/v1/environments", "{\"name\":\"w\",\"runner\":\"none\",\"source\":\"x\"}"},
        {"/v1/ledger:verify", ""},
        {"/v1/ledger/accounts/{id}", "{\"approvals\":1,\"reason\":\"r\"}"},
        {"/v1/limit-changes/{id}:approve", "{}"},
        {"/v1/limit-changes/{id}:decline", "{\"reason\":\"no\"}"},
        {"/v1/accounting:compose",
         "{\"events\":[{\"type\":\"GaussianDpEvent\",\"noise_multiplier\":3}],\"delta\":1e-5}"},
        {"/v1/datasets", "{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":"
                         "\"private\",\"budget\":{\"epsilon\":1,\"delta\":1e-5}}"},
        {"/v1/datasets/{id}", "{\"retention_days\":36500}"},
        {"/v1/datasets/{id}:seal", ""},
        {"/v1/datasets/{id}:compose", "{}"},
        {"/v1/datasets/{id}/trajectories",
         "{\"expert\":\"late\",\"states\":[[0,0,0,0],[0,0,0,0]],\"actions\":[1],\"rewards\":[1],"
         "\"terminated\":true,\"truncated\":false}\n"},
        {"/v1/datasets/{id}/experts/{expert}/policy",
         "{\"activation\":\"relu\",\"layers\":[{\"weight\":[[0,0,0,0],[0,0,1,0]],\"bias\":[0,0]}],"
         "\"output\":\"argmax\"}"},
        {"/v1/jobs", domain_private_job(p->dataset, 1, 20)},
        {"/v1/jobs:estimate", domain_private_job(p->dataset, 1, 20)},
        {"/v1/jobs:advise", domain_path("{\"dataset\":\"%s\",\"privacy\":{\"epsilon\":1,"
                                        "\"delta\":1e-6}}",
                                        p->dataset)},
        {"/v1/jobs/{id}:cancel", ""},
        {"/v1/policies",
         "{\"name\":\"p\",\"environment\":\"cartpole\",\"network\":{\"activation\":\"relu\","
         "\"layers\":[{\"weight\":[[1,0,0,0],[0,0,1,0]],\"bias\":[0,0]}],\"output\":\"softmax\"}}"},
        {"/v1/policies/{id}/grants",
         domain_path("{\"client\":\"%s\"}", fixture_client(p->f, "student"))},
        {"/v1/policies/{id}/names/{name}", ""},
        {"/v1/policies/{id}/actions", domain_path("{\"states\":[[0,0,0,0],%s]}", state)},
        {"/v1/teachers", named_teacher_of(p)},
        {"/v1/teachers/{id}/budgets/{client}", "{\"epsilon\":1e6,\"delta\":1e-5}"},
        {"/v1/budget-requests",
         domain_path("{\"teacher\":\"%s\",\"epsilon\":1e6,\"delta\":4e-5,\"reason\":\"r\"}",
                     p->teacher)},
        {"/v1/budget-requests/{id}:approve", "{\"reason\":\"yes\"}"},
        {"/v1/budget-requests/{id}:decline", "{\"reason\":\"no\"}"},
        {"/v1/teachers/{id}/queries", domain_path("{\"states\":[[0,0,0,0],%s]}", state)},
        {"/v1/teachers/{id}/queries:estimate", "{\"count\":10}"},
        {"/v1/teachers/{id}/rollouts", ""},
        {"/v1/teachers/{id}:close", ""},
        {"/v2/models/{id}/infer",
         domain_path("{\"inputs\":[{\"name\":\"state\",\"datatype\":\"FP32\",\"shape\":[1,4],"
                     "\"data\":%s}]}",
                     state)},
        {"/v1/q-releases/{id}/queries", domain_path("{\"states\":[[0,0,0,0],%s]}", state)},
        {"/v1/q-releases/{id}/actions", domain_path("{\"states\":[[0,0,0,0],%s]}", state)},
        {"/v1/aggregations",
         "{\"environment\":\"cartpole\",\"epsilon\":5,\"seed\":3,\"buffer\":1}"},
        {"/v1/aggregations/{id}:close", ""},
    };
    if (strcmp(route->method, "DELETE") == 0)
        return "";
    if (strcmp(route->pattern, "/v1/aggregations/{id}/submissions") == 0)
        return report_body(p, path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].pattern, route->pattern) == 0)
            return rows[i].body;
    cr_assert_fail("%s %s: give it a row in play_body()", route->method, route->pattern);
    return "";
}

/* A report on the aggregation that PATH begins with, made from the secret gradient. */
static const char *report_body(struct play *p, const char *path)
{
    char place[128];
    unsigned char seed[LOCAL_SEED_SIZE] = {0}, bytes[4096];
    snprintf(place, sizeof place, "%.*s", (int)(strrchr(path, '/') - path), path);
    struct response *shown = fixture_get(p->f, "agent", place);
    struct response *now = fixture_get(p->f, "agent", domain_path("%s/parameters", place));
    const char *hex = response_text(now, "/report_seed");
    if (shown->status != 200 || now->status != 200 || hex[0] == '\0')
        return "{\"version\":1,\"report\":{\"bytes\":\"AA==\"}}";
    const struct local_parameters parameters = {
        .dimension = (uint32_t)response_number(shown, "/dimension"),
        .epsilon = response_number(shown, "/mechanism/epsilon_per_report"),
        .clip = response_number(shown, "/mechanism/clip")};
    struct local_scheme scheme;
    cr_assert_null(local_scheme_make(local_mechanism_find(response_text(shown, "/mechanism/name")),
                                     &parameters, &scheme));
    double *vector = calloc(parameters.dimension, sizeof *vector);
    int64_t *values = calloc(scheme.report_length, sizeof *values);
    struct noise_source *noise = noise_source_new("report");
    cr_assert(vector && values && noise);
    vector[0] = p->secret.gradient;
    sodium_hex2bin(seed, sizeof seed, hex, strlen(hex), NULL, NULL, NULL);
    cr_assert_eq(scheme.mechanism->randomise(&scheme, seed, vector, noise, values), LOCAL_OK);
    size_t size = local_report_pack(&scheme, values, bytes);
    char text[8192];
    sodium_bin2base64(text, sizeof text, bytes, size, sodium_base64_VARIANT_ORIGINAL);
    noise_source_free(noise);
    free(values);
    free(vector);
    snprintf(p->report, sizeof p->report, "{\"version\":%.0f,\"report\":{\"bytes\":\"%s\"}}",
             response_number(now, "/version"), text);
    return p->report;
}

static void change_path(struct play *p, const struct route *route, const char *path)
{
    for (int caller = 0; caller < CALLERS; caller++) {
        const char *body = play_body(p, route, path);
        play_ask(p, caller, route->method, route->pattern, path, body[0] != '\0' ? body : NULL,
                 route->body == BODY_STREAM ? "application/x-ndjson" : NULL);
    }
    fixture_forget(p->f);
}

/* Every change of the table that DELETES, or every other. Backwards: a collection takes reports
 * before it is closed, and clients go last. */
static void change_everything(struct play *p, bool deletes)
{
    unsigned count;
    const struct route *routes = route_all(&count);
    for (unsigned i = count; i-- > 0;) {
        if (strcmp(routes[i].method, "GET") == 0 ||
            (strcmp(routes[i].method, "DELETE") == 0) != deletes)
            continue;
        play_scene(p);
        if (strcmp(routes[i].pattern, "/v1/clients/{id}") == 0) {
            look_between(p, 0, ids_now(p), true); /* what is left of all that was deleted */
            play_repeat(p);
        }
        visit_paths(p, &routes[i], 0, ids_now(p), change_path);
    }
}

void play_meddle(struct play *p)
{
    play_scene(p);
    look_between(p, p->looked, p->looked, true);
    change_everything(p, false);
    play_scene(p);
    while (domain_turn(p->f, "w", NULL, NULL) == API_JOB_RAN)
        continue;
    play_look(p);
    change_everything(p, true);
}

/* ---- the stage */

static char *expert_lines(const struct secret *s, const char *name)
{
    char *text = malloc((size_t)s->steps * 160 + 256);
    size_t at = 0;
    cr_assert(text != NULL);
    at += (size_t)sprintf(text, "{\"expert\":\"%s\",\"states\":[", name);
    for (unsigned i = 0; i <= s->steps; i++) {
        double number = i == 0 ? s->first : s->further;
        at += (size_t)sprintf(text + at, "%s[%.9g,%.9g,%.9g,%.9g]", i ? "," : "", number, number,
                              number, number);
    }
    at += (size_t)sprintf(text + at, "],\"actions\":[");
    for (unsigned i = 0; i < s->steps; i++)
        at += (size_t)sprintf(text + at, "%s%u", i ? "," : "", i % 2);
    at += (size_t)sprintf(text + at, "],\"rewards\":[");
    for (unsigned i = 0; i < s->steps; i++)
        at += (size_t)sprintf(text + at, "%s%.9g", i ? "," : "", s->reward);
    sprintf(text + at, "],\"terminated\":%s,\"truncated\":%s}\n", s->truncated ? "false" : "true",
            s->truncated ? "true" : "false");
    return text;
}

static void upload_as(struct play *p, int caller, const char *dataset, const char *lines)
{
    struct response *r = play_ask(p, caller, "POST", "/v1/datasets/{id}/trajectories",
                                  domain_path("/v1/datasets/%s/trajectories", dataset), lines,
                                  "application/x-ndjson");
    expect_status(r, 201);
}

static void put_network(struct play *p, int caller, const char *dataset, const char *expert,
                        double weight)
{
    expect_status(
        play_ask(p, caller, "PUT", "/v1/datasets/{id}/experts/{expert}/policy",
                 domain_path("/v1/datasets/%s/experts/%s/policy", dataset, expert),
                 domain_path("{\"activation\":\"relu\",\"layers\":[{\"weight\":[[0,0,0,0],[%.9g,"
                             "0.1,%.9g,0.5]],\"bias\":[0,0]}],\"output\":\"argmax\"}",
                             weight, weight),
                 NULL),
        204);
}

/* The bearer's own uploads, which nobody else sees and which are not compared. */
static void bring_secret(struct play *p, const char *dataset, const char *lines, bool network)
{
    struct transcript *seen = p->t;
    size_t kept = p->kept_count;
    p->t = transcript_new();
    upload_as(p, CALLER_BEARER, dataset, lines);
    if (network && p->secret.weight != 0)
        put_network(p, CALLER_BEARER, dataset, "x", p->secret.weight);
    transcript_free(p->t);
    p->t = seen;
    play_forget(p, kept);
}

/* A sealed dataset of so many ordinary experts, y of another contributor, and x; WITH a network of
 * each where it is asked for. */
static void make_dataset(struct play *p, const char *sensitivity, unsigned experts, bool networks,
                         char out[40])
{
    static const struct secret another = {.steps = 8, .first = 0.1, .further = 0.05, .reward = 1};
    bool with_x = p->secret.steps > 0 && strcmp(sensitivity, "private") == 0;
    struct response *r = play_ask(
        p, CALLER_OWNER, "POST", "/v1/datasets", "/v1/datasets",
        domain_path("{\"name\":\"d\",\"environment\":\"cartpole\",\"sensitivity\":\"%s\","
                    "\"nominal_experts\":%u,\"min_action_probability\":0.4,"
                    "\"max_episode_steps\":20,\"budget\":{\"epsilon\":%.9g,\"delta\":0.9}}",
                    sensitivity, experts + 2, p->secret.public_epsilon),
        NULL);
    snprintf(out, 40, "%s", made_id(r));
    char *lines = domain_lines(experts, 12), *x = expert_lines(&p->secret, "x");
    char *other = expert_lines(&another, "y");
    upload_as(p, CALLER_OWNER, out, lines);
    if (with_x)
        bring_secret(p, out, x, networks);
    play_scene(p);
    upload_as(p, CALLER_CONTRIBUTOR, out, other);
    for (unsigned e = 0; networks && e < experts; e++)
        put_network(p, CALLER_OWNER, out, domain_path("e%u", e), 0.02 * (e + 1));
    if (networks)
        put_network(p, CALLER_CONTRIBUTOR, out, "y", 0.1);
    free(lines);
    free(x);
    free(other);
    play_ask(p, CALLER_OWNER, "POST", "/v1/datasets/{id}:seal",
             domain_path("/v1/datasets/%s:seal", out), NULL, NULL);
}

/* The student asks for a larger budget. The identifier of the request. */
static const char *ask_budget(struct play *p, const char *delta)
{
    return made_id(play_ask(p, CALLER_STUDENT, "POST", "/v1/budget-requests", "/v1/budget-requests",
                            domain_path("{\"teacher\":\"%s\",\"epsilon\":1e6,\"delta\":%s,"
                                        "\"reason\":\"r\"}",
                                        p->teacher, delta),
                            NULL));
}

/* A second steward of the owner's project. */
static const char *second_steward(struct play *p)
{
    if (!p->second) {
        p->second = fixture_new_token(p->f, "steward");
        struct response *r =
            fixture_put(p->f, "steward",
                        domain_path("/v1/projects/%s/members/%s", fixture_client(p->f, "steward"),
                                    fixture_token_client(p->f, p->second)),
                        "{\"role\":\"steward\"}");
        cr_assert_eq(r->status, 201, "%s", r->body);
    }
    return p->second;
}

const char *play_limit_change(struct play *p)
{
    static const char body[] = "{\"name\":\"l\",\"environment\":\"cartpole\",\"approvals\":2,"
                               "\"budget\":{\"epsilon\":1,\"delta\":1e-5}}";
    struct response *made =
        play_ask(p, CALLER_OWNER, "POST", "/v1/datasets", "/v1/datasets", body, NULL);
    const struct ask ask = {
        .method = "PATCH",
        .path = domain_path("/v1/ledger/accounts/%s", response_text(made, "/account")),
        .token = second_steward(p),
        .body = "{\"limit\":{\"epsilon\":2,\"delta\":1e-5},\"reason\":\"r\"}",
        .headers = {{"If-Match", "*"}}};
    return made_id(fixture_ask(p->f, &ask));
}

struct play *play_open(const struct secret *secret, unsigned *answered,
                       struct fixture *(*open)(void))
{
    struct play *p = calloc(1, sizeof *p);
    cr_assert(p != NULL);
    p->secret = *secret;
    p->answered = answered;
    p->t = transcript_new();
    play_scene(p);
    p->f = open();
    snprintf(p->stranger, sizeof p->stranger, "%s",
             (fixture_token(p->f, "steward"), fixture_new_token(p->f, "steward")));
    snprintf(p->bearer, sizeof p->bearer, "%s",
             (fixture_token(p->f, "contributor"), fixture_new_token(p->f, "contributor")));
    make_dataset(p, "private", EXPERTS, true, p->dataset);
    make_dataset(p, "private", 5, false, p->bare);
    make_dataset(p, "public", 5, false, p->open_data);
    if (p->secret.planted)
        domain_rewrite(p->f, &datasets_table,
                       "UPDATE datasets SET name = 'of ' || transitions || ' transitions'");
    snprintf(p->policy, sizeof p->policy, "%s", domain_policy(p->f));
    snprintf(p->teacher, sizeof p->teacher, "%s",
             made_id(play_ask(p, CALLER_OWNER, "POST", "/v1/teachers", "/v1/teachers",
                              named_teacher_of(p), NULL)));
    expect_status(play_ask(p, CALLER_OWNER, "PUT", "/v1/teachers/{id}/budgets/{client}",
                           domain_path("/v1/teachers/%s/budgets/%s", p->teacher,
                                       fixture_client(p->f, "student")),
                           "{\"epsilon\":1e6,\"delta\":1e-5}", NULL),
                  201);
    expect_status(play_ask(p, CALLER_OWNER, "POST", "/v1/budget-requests/{id}:approve",
                           domain_path("/v1/budget-requests/%s:approve", ask_budget(p, "2e-5")),
                           "{}", NULL),
                  200);
    ask_budget(p, "3e-5");
    expect_status(play_ask(p, CALLER_OWNER, "POST", "/v1/limit-changes/{id}:approve",
                           domain_path("/v1/limit-changes/%s:approve", play_limit_change(p)), "{}",
                           NULL),
                  200);
    play_limit_change(p);
    play_spent(p);
    for (int i = 0; i < 2; i++) /* one to be closed, one to report to */
        made_id(play_ask(p, CALLER_OWNER, "POST", "/v1/aggregations", "/v1/aggregations",
                         "{\"environment\":\"cartpole\",\"epsilon\":5,\"seed\":3,\"buffer\":2}",
                         NULL));
    play_look(p);
    return p;
}

struct transcript *play_close(struct play *p)
{
    struct transcript *t = p->t;
    play_repeat(p);
    cr_expect_gt(p->repeated, 0);
    fixture_close(p->f);
    free(p->kept);
    free(p);
    return t;
}
