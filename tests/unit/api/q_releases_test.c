/* Released Q-functions over the whole service: terms, values that stay through a second service on
 * the same database, actions, bounds, the end; and nothing secret in what is stored. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/call/app.h"
#include "api/call/pass.h"
#include "api/call/sealed.h"
#include "api/releases/q_releases.h"
#include "tests/unit/api/service.h"

TestSuite(q_releases, .init = service_open, .fini = service_close);

enum { KNOTS = 9 };
static const uint8_t key[GAUSSIAN_PATH_KEY_BYTES] = {7, 7, 7, 1, 2, 3, 250, 249, 248, 9, 9, 9, 8};
static const struct q_terms terms = {.form = Q_FORM_PATH,
                                     .state_dim = 1,
                                     .action_count = 2,
                                     .low = {-1.0},
                                     .high = {3.0},
                                     .shards = 100,
                                     .value_limit = 1.0,
                                     .lipschitz = 4.0,
                                     .bits = 20,
                                     .knot_bits = 3,
                                     .beta = 4.0,
                                     .sensitivity = 0.05,
                                     .sigma = 0.1,
                                     .mu = 0.5,
                                     .noise_to_range = 0.1};
static double mean[KNOTS * 2];

struct storing {
    struct q_release_row row;
    const struct q_release *release;
};

static enum db_status store(struct db *db, void *context)
{
    struct storing *storing = context;
    return q_release_store(fixture_app(f), db, &storing->row, storing->release,
                           "{\"kind\":\"test\"}");
}

/* Stores RELEASE as the steward's, as a job would. */
static void keep(const struct q_release *release, char id[ID_SIZE])
{
    cr_assert_not_null(release);
    struct storing storing = {.row = {.name = "one", .job = "job_x", .created_ms = 5},
                              .release = release};
    id_new("qre_", storing.row.id);
    id_new("crt_", storing.row.certificate);
    snprintf(storing.row.owner, ID_SIZE, "%s", fixture_client(f, "steward"));
    memcpy(id, storing.row.id, ID_SIZE);
    cr_assert_eq(db_transact(fixture_db(f), store, &storing), DB_OK, "%s",
                 db_last_error(fixture_db(f)));
}

/* A release of the steward; the local twin is the caller's. */
static struct q_release *make(char id[ID_SIZE])
{
    for (int i = 0; i < KNOTS * 2; i++)
        mean[i] = 0.123456789 + 0.01 * i;
    struct q_release *release = q_release_path(&terms, mean, key);
    keep(release, id);
    return release;
}

static struct response *ask(const char *role, const char *id, const char *what, const char *body)
{
    return fixture_post(f, role, domain_path("/v1/q-releases/%s/%s", id, what), body);
}

Test(q_releases, answer_what_the_release_says)
{
    char id[ID_SIZE];
    struct q_release *release = make(id);
    static const double states[] = {-1.0, 0.1, 2.999, 3.0};
    struct response *first = ask("student", id, "queries", "{\"states\":[[-1],[0.1],[2.999],[3]]}");
    expect_status(first, 200);
    for (int i = 0; i < 4; i++) {
        double values[2];
        cr_assert_eq(q_release_values(release, &states[i], values, NULL), Q_ANSWERED);
        for (int a = 0; a < 2; a++) {
            char at[40];
            snprintf(at, sizeof at, "/values/%d/%d", i, a);
            cr_expect_eq(response_number(first, at), values[a]);
        }
    }
    /* Again, in another order, as another role. */
    struct response *again = ask("steward", id, "queries", "{\"states\":[[0.1],[-1]]}");
    expect_status(again, 200);
    cr_expect_eq(response_number(again, "/values/0/0"), response_number(first, "/values/1/0"));
    cr_expect_eq(response_number(again, "/values/1/1"), response_number(first, "/values/0/1"));
    struct response *acts = ask("student", id, "actions", "{\"states\":[[0.1]]}");
    expect_status(acts, 200);
    bool second = response_number(acts, "/values/0/1") > response_number(acts, "/values/0/0");
    cr_expect_eq(response_number(acts, "/actions/0"), second);
    cr_expect_eq(response_number(acts, "/values/0/0"), response_number(first, "/values/1/0"));
    q_release_free(release);
}

Test(q_releases, show_their_terms_and_no_secret)
{
    char id[ID_SIZE];
    q_release_free(make(id));
    struct response *r = fixture_get(f, "steward", domain_path("/v1/q-releases/%s", id));
    expect_status(r, 200);
    cr_expect_str_eq(response_text(r, "/form"), "path");
    cr_expect_str_eq(response_text(r, "/outside"), "refuse");
    cr_expect_str_eq(response_text(r, "/kernel/name"), "exponential");
    cr_expect_eq(response_number(r, "/kernel/beta"), 4);
    cr_expect_eq(response_number(r, "/bounds/0/0"), -1);
    cr_expect_eq(response_number(r, "/sigma"), 0.1);
    cr_expect_eq(response_number(r, "/bits"), 20);
    r = fixture_get(f, "student", "/v1/q-releases");
    cr_expect_eq(json_array_size(response_at(r, "/items")), 1);
    r = fixture_get(f, "auditor", domain_path("/v1/q-releases/%s/certificate", id));
    expect_status(r, 200);
    cr_expect_str_eq(r->body, "{\"kind\":\"test\"}");
    r = fixture_get(f, "steward", domain_path("/v1/q-releases/%s", id));
    r = fixture_get(f, "agent",
                    domain_path("/v1/certificates/%s", response_text(r, "/certificate")));
    expect_status(r, 200);
    /* Neither the key nor a noise-free value is anywhere in the database's files. */
    char wal[200];
    snprintf(wal, sizeof wal, "%s-wal", fixture_path(f));
    const char *const paths[] = {fixture_path(f), wal};
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(paths[i], "rb");
        if (file == NULL)
            continue;
        static unsigned char bytes[8 << 20];
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        cr_expect_null(memmem(bytes, size, key, sizeof key));
        cr_expect_null(memmem(bytes, size, &mean[3], sizeof mean[3]));
    }
}

Test(q_releases, odd_questions_get_clear_answers)
{
    char id[ID_SIZE];
    q_release_free(make(id));
    static const char *const bad[][2] = {
        {"{\"states\":[[0],[3.01]]}", "/states/1/0"},
        {"{\"states\":[[-1.0001]]}", "/states/0/0"},
        {"{\"states\":[[0,1]]}", "/states/0"},
        {"{\"states\":[[]]}", "/states/0"},
        {"{\"states\":[0]}", "/states/0"},
        {"{\"states\":[[\"x\"]]}", "/states/0/0"},
        {"{\"states\":[]}", "/states"},
        {"{\"states\":[[0]],\"more\":1}", "/more"},
        {"{}", "/states"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_invalid(ask("student", id, "queries", bad[i][0]), bad[i][1]);
        expect_invalid(ask("student", id, "actions", bad[i][0]), bad[i][1]);
    }
    static const char *const no_json[] = {"{\"states\":[[NaN]]}", "{\"states\":[[1e999]]}"};
    for (size_t i = 0; i < 2; i++) {
        struct response *r = ask("student", id, "queries", no_json[i]);
        cr_expect(r->status == 400 || r->status == 422, "%d", r->status);
    }
    struct response *zero = ask("student", id, "queries", "{\"states\":[[0.0],[-0.0]]}");
    expect_status(zero, 200);
    cr_expect_eq(response_number(zero, "/values/0/0"), response_number(zero, "/values/1/0"));
    /* One state more than a request may have. */
    char *many = malloc(20000);
    cr_assert_not_null(many);
    strcpy(many, "{\"states\":[[0]");
    for (int i = 0; i < 1024; i++)
        strcat(many, ",[0]");
    strcat(many, "]}");
    expect_invalid(ask("student", id, "queries", many), "/states");
    free(many);
    expect_problem(ask("agent", id, "queries", "{\"states\":[[0]]}"), "forbidden");
    expect_problem(ask(NULL, id, "queries", "{\"states\":[[0]]}"), "unauthorized");
    expect_problem(ask("student", "qre_none", "queries", "{\"states\":[[0]]}"), "not-found");
}

/* COUNT states of DIM zeros. */
static struct response *ask_zeros(const char *id, uint32_t dim, uint32_t count)
{
    json_t *states = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_t *state = json_array();
        for (uint32_t k = 0; k < dim; k++)
            json_array_append_new(state, json_integer(0));
        json_array_append_new(states, state);
    }
    json_t *question = json_pack("{s:o}", "states", states);
    char *body = json_dumps(question, JSON_COMPACT);
    struct response *answer = ask("student", id, "queries", body);
    json_decref(question);
    free(body);
    return answer;
}

/* Each answer goes through 2^16 corners: few states make a question, and none is answered on the
 * socket's thread. */
Test(q_releases, that_compute_long_take_few_states)
{
    enum { DIM = 16, NODES = 1 << DIM, MOST = 20000000 / (NODES * (4 * DIM + 1)) };
    char id[ID_SIZE];
    struct q_terms wide = terms;
    wide.form = Q_FORM_GRID;
    wide.state_dim = DIM;
    wide.action_count = 1;
    wide.knot_bits = 2;
    double *values = calloc(NODES, sizeof *values);
    cr_assert_not_null(values);
    for (uint32_t i = 0; i < DIM; i++) {
        wide.low[i] = -1.0;
        wide.high[i] = 1.0;
    }
    struct q_release *release = q_release_grid(&wide, values);
    free(values);
    keep(release, id);
    q_release_free(release);
    expect_status(ask_zeros(id, DIM, MOST), 200);
    expect_invalid(ask_zeros(id, DIM, MOST + 1), "/states");
    expect_status(ask_zeros(id, DIM, 1), 200);
    cr_expect_not(ask_zeros(id, DIM, 1)->quick);
    q_release_free(make(id));
    expect_status(ask_zeros(id, 1, 50), 200);
    cr_expect(ask_zeros(id, 1, 50)->quick);
    cr_expect_not(ask_zeros(id, 1, 100)->quick);
}

/* Who has asked a moment ago is answered without the database, alike to the byte, faults included;
 * and not a moment longer than it may. */
Test(q_releases, passes_answer_alike_and_end_with_what_they_stand_on)
{
    static const char *const bodies[] = {
        "{\"states\":[[0.1]]}",     "{\"states\":[[0.1],[2.5]]}",
        "{\"states\":[[7]]}",       "{\"states\":[[0.1,0.2]]}",
        "{\"states\":[]}",          "{\"state\":[0.1]}",
        "{\"states\":[[\"0.1\"]]}", "[[0.1]]",
        "{\"states\":[[0.1]",
    };
    char id[ID_SIZE];
    q_release_free(make(id));
    (void)fixture_token(f, "student"); /* the first of its role is "student" below */
    const char *token = fixture_new_token(f, "student"),
               *path = domain_path("/v1/q-releases/%s/queries", id);
    struct ask one = {.path = path, .token = token, .body = bodies[0]};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        fixture_advance(2000); /* the pass of before is over */
        one.body = bodies[i];
        struct response *slow = fixture_ask(f, &one);
        one.body = bodies[0];
        (void)fixture_ask(f, &one);
        one.body = bodies[i];
        struct response *quick = fixture_ask(f, &one);
        cr_expect(!slow->quick && quick->quick, "%s", bodies[i]);
        cr_expect_eq(slow->status, quick->status);
        cr_expect_str_eq(slow->body, quick->body);
    }
    one.body = bodies[0];
    cr_expect(fixture_ask(f, &one)->quick);
    /* Another token, another path, no token: not by that pass. */
    struct ask other = one;
    other.token = "tct_x_y";
    struct response *r = fixture_ask(f, &other);
    cr_expect(!r->quick && r->status == 401);
    other = (struct ask){.path = path, .body = bodies[0]};
    r = fixture_ask(f, &other);
    cr_expect(!r->quick && r->status == 401);
    r = ask("student", id, "actions", bodies[0]);
    cr_expect(!r->quick && r->status == 200);
    cr_expect(ask("student", id, "actions", bodies[0])->quick);
    /* A revoked client, an ended release: from the next question on. */
    const struct ask revoke = {.method = "DELETE",
                               .path =
                                   domain_path("/v1/clients/%s", fixture_token_client(f, token)),
                               .token = fixture_token(f, "admin")};
    expect_status(fixture_ask(f, &revoke), 204);
    r = fixture_ask(f, &one);
    cr_expect(!r->quick && r->status == 401);
    expect_status(ask("student", id, "actions", bodies[0]), 200);
    expect_status(fixture_delete(f, "steward", domain_path("/v1/q-releases/%s", id)), 204);
    r = ask("student", id, "actions", bodies[0]);
    cr_expect(!r->quick && r->status == 404);
}

/* The socket's thread uses passes while the committer's makes and ends them. */
struct socket_thread {
    const char *path, *token;
    atomic_bool stop;
    atomic_uint answered;
    unsigned wrong;
    char expected[256];
};

static const char *header_of(void *context, const char *name)
{
    static const char json[] = "application/json";
    const struct socket_thread *own = context;
    return strcasecmp(name, "Authorization") == 0  ? own->token
           : strcasecmp(name, "Content-Type") == 0 ? json
                                                   : NULL;
}

static struct api_request asking(struct socket_thread *own)
{
    static const char body[] = "{\"states\":[[0.1]]}";
    return (struct api_request){.method = "POST",
                                .path = own->path,
                                .query = "",
                                .header = header_of,
                                .header_context = own,
                                .body = (const unsigned char *)body,
                                .body_size = sizeof body - 1};
}

/* A failover may take back what a batch has read, until the batch is committed. */
Test(q_releases, a_pass_is_good_from_the_commit_on)
{
    char id[ID_SIZE], bearer[200];
    q_release_free(make(id));
    snprintf(bearer, sizeof bearer, "Bearer %s", fixture_token(f, "student"));
    struct socket_thread own = {.path = domain_path("/v1/q-releases/%s/queries", id),
                                .token = bearer};
    const struct api_request request = asking(&own);
    for (int good = 0; good < 2; good++) {
        struct api_reply reply;
        api_serve(fixture_app(f), fixture_db(f), &request, &reply);
        cr_expect_eq(reply.status, 200);
        api_reply_clear(&reply);
        cr_expect(!api_serve_quick(fixture_app(f), &request, &reply), "before the commit");
        api_settled(fixture_app(f), good);
        bool passed = api_serve_quick(fixture_app(f), &request, &reply);
        cr_expect_eq(passed, good);
        if (passed)
            api_reply_clear(&reply);
    }
}

static void *use_passes(void *context)
{
    struct socket_thread *own = context;
    const struct api_request request = asking(own);
    while (!atomic_load(&own->stop)) {
        struct api_reply reply;
        if (!api_serve_quick(fixture_app(f), &request, &reply))
            continue;
        atomic_fetch_add(&own->answered, 1);
        own->wrong += reply.status != 200 || reply.body_size != strlen(own->expected) ||
                      memcmp(reply.body, own->expected, reply.body_size) != 0;
        api_reply_clear(&reply);
    }
    return NULL;
}

Test(q_releases, passes_are_shared_by_two_threads)
{
    char id[ID_SIZE], bearer[200];
    q_release_free(make(id));
    snprintf(bearer, sizeof bearer, "Bearer %s", fixture_token(f, "student"));
    static struct socket_thread own;
    own.path = domain_path("/v1/q-releases/%s/queries", id);
    own.token = bearer;
    struct response *first = ask("student", id, "queries", "{\"states\":[[0.1]]}");
    expect_status(first, 200);
    snprintf(own.expected, sizeof own.expected, "%s", first->body);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, use_passes, &own), 0);
    for (int i = 0; i < 100; i++) {
        pass_end_all(fixture_app(f));
        cr_expect_str_eq(ask("student", id, "queries", "{\"states\":[[0.1]]}")->body, own.expected);
    }
    while (atomic_load(&own.answered) == 0) /* its turn has to come */
        sched_yield();
    atomic_store(&own.stop, true);
    pthread_join(thread, NULL);
    cr_expect_eq(own.wrong, 0);
}

Test(q_releases, end_for_ever)
{
    char id[ID_SIZE];
    q_release_free(make(id));
    const char *path = domain_path("/v1/q-releases/%s", id);
    expect_status(ask("student", id, "queries", "{\"states\":[[0]]}"), 200);
    expect_problem(fixture_delete(f, "student", path), "forbidden");
    /* Another steward knows nothing of it. */
    const struct ask stranger = {
        .method = "DELETE", .path = path, .token = fixture_new_token(f, "steward")};
    expect_problem(fixture_ask(f, &stranger), "not-found");
    expect_status(fixture_delete(f, "steward", path), 204);
    expect_problem(ask("student", id, "queries", "{\"states\":[[0]]}"), "not-found");
    expect_problem(ask("steward", id, "actions", "{\"states\":[[0]]}"), "not-found");
    expect_problem(fixture_get(f, "student", path), "not-found");
    expect_problem(fixture_delete(f, "steward", path), "conflict");
    struct response *r = fixture_get(f, "steward", path);
    expect_status(r, 200);
    cr_expect_str_eq(response_text(r, "/state"), "ended");
    void *sealed = NULL;
    size_t size = 0;
    cr_expect_eq(q_releases_sealed(fixture_db(f), id, &sealed, &size), DB_NONE);
}

/* What was sealed for a dataset and an id is opened for these alone. */
Test(q_releases, secrets_are_bound)
{
    static const unsigned char secret[] = "the key of a path";
    unsigned char *sealed = NULL;
    size_t size = 0, opened = 0;
    struct app *app = fixture_app(f);
    cr_assert(sealed_close(app, "ds_a", "qre_a", secret, sizeof secret, &sealed, &size));
    cr_expect_null(memmem(sealed, size, secret, sizeof secret - 1));
    unsigned char *again = sealed_open(app, "ds_a", "qre_a", sealed, size, &opened);
    cr_assert_not_null(again);
    cr_expect_eq(opened, sizeof secret);
    cr_expect_arr_eq(again, secret, sizeof secret);
    sodium_free(again);
    cr_expect_null(sealed_open(app, "ds_a", "qre_b", sealed, size, &opened));
    for (size_t i = 0; i < size; i++) {
        sealed[i] ^= 1;
        cr_expect_null(sealed_open(app, "ds_a", "qre_a", sealed, size, &opened));
        sealed[i] ^= 1;
    }
    cr_expect_null(sealed_open(app, "ds_a", "qre_a", sealed, 10, &opened));
    cr_expect_null(sealed_open(app, "", "qre_a", sealed, size, &opened));
    cr_expect_null(sealed_open(app, "ds_b", "qre_a", sealed, size, &opened));
    free(sealed);
}
