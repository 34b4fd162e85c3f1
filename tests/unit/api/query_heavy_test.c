/* Questions to many networks are computed before their transaction: the answer is about the same
 * mean as one that is computed in the batch, nothing is charged for what is refused, and a deleted
 * dataset's networks are gone. */
#include <criterion/criterion.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/call/app.h"
#include "api/data/erasure.h"
#include "api/teachers/teacher_shelf.h"
#include "storage/answers/answers.h"
#include "storage/ledger/ledger.h"
#include "tests/unit/api/service.h"

#define EXPERTS 300
#define SIGMA   0.03
#define NEAR    (8 * SIGMA) /* of two coordinates: once in 10^15 */
#define HERE    "{\"state\":[0.5,3.5,0.0,0.0]}"

static const float here[4] = {0.5F, 3.5F, 0, 0}, there[4] = {0.5F, -3.5F, 0, 0};

static const char *teacher, *dataset, *ask_path;

/* A dataset of experts who go one way HERE and the other way THERE. */
static void make_dataset(void)
{
    static char lines[EXPERTS * 160];
    size_t at = 0;
    for (int e = 0; e < EXPERTS; e++) {
        at += (size_t)sprintf(lines + at,
                              "{\"expert\":\"e%d\",\"states\":[[0.5,3.5,0,0],[0.5,-3.5,0,0],"
                              "[0,0,0,0]],\"actions\":[1,0],\"rewards\":[1,1],\"terminated\":true,"
                              "\"truncated\":false}\n",
                              e);
    }
    dataset = domain_dataset(f, "private");
    expect_status(domain_upload(f, NULL, dataset, lines, at, NULL), 201);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", dataset), NULL),
                  200);
}

/* SQLite's driver, with something that happens just before a commit. */
static struct db_driver watched;
static void (*before_commit)(void);

static enum db_status commit(void *connection, struct db_fault *fault)
{
    void (*now)(void) = before_commit;
    before_commit = NULL; /* once, and not within itself */
    if (now != NULL)
        now();
    return db_driver_sqlite.commit(connection, fault);
}

static void open_service(void)
{
    watched = db_driver_sqlite;
    watched.commit = commit;
    f = fixture_open_on(&watched);
    make_dataset();
    struct response *job =
        domain_run(f, domain_path("{\"algorithm\":\"behaviour_cloning\",\"dataset\":\"%s\","
                                  "\"shards\":100,\"parameters\":{\"hidden\":[200],"
                                  "\"batch_size\":2,\"steps\":40}}",
                                  dataset));
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path(
            "{\"policy\":\"%s\",\"mechanism\":{\"name\":\"gaussian_simplex\",\"sigma\":%g,"
            "\"temperature\":0.2},\"adjacency\":{\"unit\":\"expert\"},\"budget\":{\"epsilon\":4.2,"
            "\"delta\":1e-6},\"client_budget\":{\"epsilon\":4,\"delta\":1e-6}}",
            response_text(job, "/policy"), SIGMA));
    expect_status(made, 201);
    teacher = response_text(made, "/id");
    ask_path = domain_path("/v1/teachers/%s/queries", teacher);
}

TestSuite(query_heavy, .init = open_service, .fini = service_close);

/* The noise-free probability of the first action. */
static double first_at(const float *state)
{
    const struct shelved_teacher *t = NULL;
    double p[2];
    const struct app *app = fixture_app(f);
    cr_assert_eq(teacher_shelf_borrow(app, fixture_db(f), teacher, &t), DB_OK);
    cr_assert(teacher_shelf_distributions(t, state, 1, p));
    teacher_shelf_return(app, t);
    return p[0];
}

static struct response *ask(const char *key, bool pool_full)
{
    struct ask wish = {.path = ask_path,
                       .token = fixture_token(f, "student"),
                       .key = key,
                       .body = HERE,
                       .pool_full = pool_full};
    return fixture_ask(f, &wish);
}

static int64_t spent(void)
{
    struct ledger_account account;
    struct response *budget =
        fixture_get(f, "steward", domain_path("/v1/datasets/%s/budget", dataset));
    cr_assert_eq(ledger_find(fixture_db(f), response_text(budget, "/account"), &account), DB_OK);
    return account.spent_units;
}

Test(query_heavy, answers_about_the_same_mean_on_either_thread)
{
    cr_assert_gt(fabs(first_at(here) - first_at(there)), 3 * NEAR, "%g and %g", first_at(here),
                 first_at(there));
    struct response *pool = ask("pool", false);
    expect_status(pool, 200);
    cr_expect(pool->heavy);
    cr_expect_float_eq(response_number(pool, "/probabilities/0"), first_at(here), NEAR);
    struct response *batch = ask("batch", true);
    expect_status(batch, 200);
    cr_expect_not(batch->heavy);
    cr_expect_float_eq(response_number(batch, "/probabilities/0"), first_at(here), NEAR);
}

Test(query_heavy, charges_for_answers_alone_and_once)
{
    struct ask stranger = {.path = ask_path, .token = "tct_x_0", .key = "k", .body = HERE};
    expect_problem(fixture_ask(f, &stranger), "unauthorized");
    int64_t before = spent();
    expect_invalid(fixture_post(f, "student", ask_path, "{\"state\":[0,0,0]}"), "/state");
    cr_expect_eq(spent(), before);
    struct response *one = ask("one", false);
    expect_status(one, 200);
    int64_t after = spent();
    cr_expect_gt(after, before);
    cr_expect_str_eq(ask("one", false)->body, one->body);
    cr_expect_str_eq(ask("one", true)->body, one->body);
    cr_expect_eq(spent(), after);
}

Test(query_heavy, gives_again_what_may_be_reused)
{
    static const char again[] = "{\"state\":[0.5,3.5,0,0],\"reuse\":\"exact\"}";
    struct response *first = fixture_post(f, "student", ask_path, again);
    expect_status(first, 200);
    cr_expect(first->heavy);
    int64_t after = spent();
    struct response *second = fixture_post(f, "student", ask_path, again);
    expect_status(second, 200);
    cr_expect_str_eq(second->body, first->body);
    cr_expect_eq(spent(), after);
}

/* The name that whoever guesses the question BODY can compute. */
static void plain_name(const char *body, char out[80])
{
    unsigned char hash[32];
    char hex[65];
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    crypto_generichash_update(&state, (const unsigned char *)ask_path, strlen(ask_path) + 1);
    crypto_generichash_update(&state, (const unsigned char *)body, strlen(body));
    crypto_generichash_final(&state, hash, sizeof hash);
    snprintf(out, 80, "reuse %s", sodium_bin2hex(hex, sizeof hex, hash, sizeof hash));
}

struct stored_before {
    char name[80];
    struct answer_row answer;
};

static enum db_status store_before(struct db *db, void *context)
{
    struct stored_before *before = context;
    return answers_store(db, fixture_client(f, "student"), before->name, &before->answer);
}

/* Its name tells nothing of the question, and that of an earlier build is found still. */
Test(query_heavy, gives_again_what_an_earlier_build_may_reuse)
{
    static const char again[] = "{\"state\":[0.5,3.5,0,0],\"reuse\":\"exact\"}";
    static char text[] = "{\"paid\":\"before\"}";
    struct answer_row none;
    struct stored_before before = {
        .answer = {.status = 200, .body = text, .body_size = strlen(text), .created_ms = 1}};
    plain_name(again, before.name);
    expect_status(fixture_post(f, "student", ask_path, again), 200);
    cr_expect_eq(answers_find(fixture_db(f), fixture_client(f, "student"), before.name, &none),
                 DB_NONE);
    const char *other = "{\"state\":[0.5,3.25,0,0],\"reuse\":\"exact\"}";
    plain_name(other, before.name);
    cr_assert_eq(db_transact(fixture_db(f), store_before, &before), DB_OK);
    int64_t after = spent();
    struct response *found = fixture_post(f, "student", ask_path, other);
    expect_status(found, 200);
    cr_expect_str_eq(found->body, text);
    cr_expect_eq(spent(), after);
}

/* Whoever began to read before an erasure gets no networks, and no damage: their key is erased. */
static void expect_no_networks(const char *path, int status)
{
    char why[DB_ERROR_SIZE] = "";
    struct db *reader = NULL;
    struct ledger_account account;
    const struct shelved_teacher *t = NULL;
    const struct app *app = fixture_app(f);
    cr_assert_eq(db_open(fixture_store(f), &reader, why), DB_OK, "%s", why);
    cr_assert_eq(db_begin_batch(reader, false), DB_OK);
    cr_assert_eq(ledger_find(reader, "nothing", &account), DB_NONE); /* it has its view now */
    struct ask gone = {.method = "DELETE", .path = path, .token = fixture_token(f, "steward")};
    expect_status(fixture_ask(f, &gone), status);
    cr_assert_eq(teacher_shelf_borrow(app, reader, teacher, &t), DB_OK);
    cr_expect(!t->ensemble && !t->policy);
    teacher_shelf_return(app, t);
    cr_assert_eq(db_commit_batch(reader), DB_OK);
    cr_assert_eq(teacher_shelf_borrow(app, reader, teacher, &t), DB_OK);
    cr_expect(!t->ensemble && !t->policy);
    teacher_shelf_return(app, t);
    expect_problem(ask("late", false), "teacher-silent");
    db_close(reader);
}

Test(query_heavy, leaves_no_networks_of_a_deleted_dataset)
{
    expect_no_networks(domain_path("/v1/datasets/%s", dataset), 204);
}

Test(query_heavy, leaves_no_networks_of_an_erased_expert)
{
    expect_no_networks(domain_path("/v1/datasets/%s/experts/e1", dataset), 200);
}

Test(query_heavy, leaves_no_network_without_a_mechanism_of_an_erased_expert)
{
    struct response *job = domain_run(f, domain_unprotected_job(dataset, 20));
    const char *body = domain_teacher(response_text(job, "/policy"), 1e6, 1e6);
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers",
                     domain_path("{\"i_understand\":\"not_private\",%s", body + 1));
    expect_status(made, 201);
    teacher = response_text(made, "/id");
    ask_path = domain_path("/v1/teachers/%s/queries", teacher);
    expect_no_networks(domain_path("/v1/datasets/%s/experts/e1", dataset), 200);
}

static enum db_status erase_first_expert(struct db *db, void *context)
{
    const struct expert_row expert = {.number = 0, .name = "e0"};
    (void)context;
    return erasure_expert(fixture_app(f), db, dataset, &expert, 1);
}

/* It has told this one's shelf nothing. */
Test(query_heavy, is_silent_after_an_erasure_by_another_server)
{
    watched.shared = true;
    expect_status(ask("early", false), 200);
    cr_assert_eq(db_transact(fixture_db(f), erase_first_expert, NULL), DB_OK);
    int64_t before = spent();
    expect_problem(ask("late", false), "teacher-silent");
    expect_problem(ask("later", true), "teacher-silent");
    cr_expect_eq(spent(), before);
}

static void put_on_the_shelf(void)
{
    char why[DB_ERROR_SIZE] = "";
    struct db *reader = NULL;
    const struct shelved_teacher *t = NULL;
    const struct app *app = fixture_app(f);
    cr_assert_eq(db_open(fixture_store(f), &reader, why), DB_OK, "%s", why);
    cr_assert_eq(teacher_shelf_borrow(app, reader, teacher, &t), DB_OK);
    cr_expect_null(t->ensemble);
    teacher_shelf_return(app, t);
    db_close(reader);
}

/* Nor does a question get them that comes while the dataset is being deleted: the key goes first.
 */
Test(query_heavy, a_deletion_erases_the_key_before_it_is_on_disk)
{
    const struct shelved_teacher *t = NULL;
    const struct app *app = fixture_app(f);
    struct ask gone = {.method = "DELETE",
                       .path = domain_path("/v1/datasets/%s", dataset),
                       .token = fixture_token(f, "steward")};
    before_commit = put_on_the_shelf;
    expect_status(fixture_ask(f, &gone), 204);
    cr_assert(before_commit == NULL);
    cr_assert_eq(teacher_shelf_borrow(app, fixture_db(f), teacher, &t), DB_OK);
    cr_expect_null(t->ensemble);
    teacher_shelf_return(app, t);
}

/* Asks as ROLE until nothing is left. */
static struct response *ask_until_refused(const char *role)
{
    struct response *last = NULL;
    char key[16];
    for (int n = 0; n < 1000 && (last == NULL || last->status == 200); n++) {
        snprintf(key, sizeof key, "k%d", n);
        struct ask wish = {
            .path = ask_path, .token = fixture_token(f, role), .key = key, .body = HERE};
        last = fixture_ask(f, &wish);
    }
    expect_problem(last, "budget-exhausted");
    return last;
}

/* First the client's own account ends, then, for another client, the teacher's. */
Test(query_heavy, is_refused_when_an_account_is_empty)
{
    struct response *own = ask_until_refused("student");
    struct response *teachers = ask_until_refused("steward");
    cr_expect_str_neq(response_text(own, "/violated/0/account"),
                      response_text(teachers, "/violated/0/account"));
    cr_expect_float_eq(response_number(own, "/violated/0/limit/epsilon"), 4, 1e-9);
    cr_expect_float_eq(response_number(teachers, "/violated/0/limit/epsilon"), 4.2, 1e-9);
}

/* A batch of the Open Inference Protocol likewise; one network is light. */
Test(query_heavy, knows_both_forms_and_what_is_light)
{
    struct response *infer =
        fixture_post(f, "student", domain_path("/v2/models/%s/infer", teacher),
                     "{\"inputs\":[{\"name\":\"state\",\"shape\":[1,4],\"datatype\":\"FP32\","
                     "\"data\":[0.5,3.5,0,0]}]}");
    expect_status(infer, 200);
    cr_expect(infer->heavy);
    cr_expect_float_eq(response_number(infer, "/outputs/0/data/0"), first_at(here), NEAR);
    const char *policy = domain_policy(f);
    struct response *light =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 8, 4));
    expect_status(light, 201);
    const char *path = domain_path("/v1/teachers/%s/queries", response_text(light, "/id"));
    struct response *first = fixture_post(f, "student", path, HERE); /* not known yet */
    expect_status(first, 200);
    cr_expect(first->heavy);
    struct response *second = fixture_post(f, "student", path, HERE);
    expect_status(second, 200);
    cr_expect_not(second->heavy);
}
