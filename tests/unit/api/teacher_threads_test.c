/* Many threads at few teachers: more teachers than the shelf holds, and one budget for all. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/call/app.h"
#include "api/teachers/teacher_shelf.h"
#include "tests/unit/api/service.h"
#include "tests/unit/teacher_answer.h"

#define THREADS  4
#define TEACHERS 40 /* more than there are places */

TestSuite(teacher_threads, .init = service_open, .fini = service_close);

struct worker {
    struct fixture *fixture;
    struct db *db;
    unsigned number;
    char (*ids)[40];
    char path[128], authorization[200], key[32];
    unsigned answered, refused, wrong;
};

static void open_workers(struct worker *workers)
{
    char error[DB_ERROR_SIZE];
    for (unsigned t = 0; t < THREADS; t++) {
        workers[t].fixture = f;
        workers[t].number = t;
        cr_assert_eq(db_open(fixture_store(f), &workers[t].db, error), DB_OK);
    }
}

static void run_workers(struct worker *workers, void *(*work)(void *context))
{
    pthread_t threads[THREADS];
    for (unsigned t = 0; t < THREADS; t++)
        cr_assert_eq(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    for (unsigned t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        db_close(workers[t].db);
    }
}

static void *borrow(void *context)
{
    struct worker *worker = context;
    const struct app *app = fixture_app(worker->fixture);
    for (unsigned i = 0; i < 4 * TEACHERS; i++) {
        const char *id = worker->ids[(i * 7 + worker->number) % TEACHERS];
        const struct shelved_teacher *teacher;
        if (teacher_shelf_borrow(app, worker->db, id, &teacher) != DB_OK) {
            worker->wrong++;
            continue;
        }
        float state[4] = {0.1F, 0.2F, 0.3F, 0.4F};
        double z[2];
        struct noise_source *noise = teacher_noise_take(app->noise);
        bool good =
            noise != NULL && strcmp(teacher->row.id, id) == 0 &&
            teacher_answer_at(&teacher->teacher, teacher->policy, NULL, 20, noise, state, z);
        worker->wrong += !good;
        teacher_noise_give(app->noise);
        teacher_shelf_return(app, teacher);
    }
    return NULL;
}

Test(teacher_threads, share_a_shelf_that_is_too_small)
{
    static struct worker workers[THREADS];
    static char ids[TEACHERS][40];
    const char *policy = domain_policy(f);
    for (unsigned i = 0; i < TEACHERS; i++) {
        struct response *made =
            fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy, 8, 2));
        expect_status(made, 201);
        snprintf(ids[i], sizeof ids[i], "%s", response_text(made, "/id"));
    }
    open_workers(workers);
    for (unsigned t = 0; t < THREADS; t++)
        workers[t].ids = ids;
    run_workers(workers, borrow);
    for (unsigned t = 0; t < THREADS; t++)
        cr_expect_eq(workers[t].wrong, 0);
    const struct shelved_teacher *none;
    cr_expect_eq(teacher_shelf_borrow(fixture_app(f), fixture_db(f), "tch_nothing", &none),
                 DB_NONE);
}

static const char *find_header(void *context, const char *name)
{
    const struct worker *worker = context;
    return strcasecmp(name, "Authorization") == 0     ? worker->authorization
           : strcasecmp(name, "Idempotency-Key") == 0 ? worker->key
           : strcasecmp(name, "Content-Type") == 0    ? "application/json"
                                                      : NULL;
}

static void *ask(void *context)
{
    static const char body[] = "{\"state\":[0,0,0,0]}";
    struct worker *worker = context;
    for (unsigned i = 0; worker->refused == 0 && i < 5000; i++) {
        snprintf(worker->key, sizeof worker->key, "%u-%u", worker->number, i);
        struct api_request request = {.method = "POST",
                                      .path = worker->path,
                                      .query = "",
                                      .header_context = worker,
                                      .header = find_header,
                                      .body = (const unsigned char *)body,
                                      .body_size = sizeof body - 1,
                                      .request_id = "thread"};
        struct api_reply reply;
        api_serve(fixture_app(worker->fixture), worker->db, &request, &reply);
        worker->answered += reply.status == 200;
        worker->refused += reply.status == 403;
        worker->wrong += reply.status != 200 && reply.status != 403;
        api_reply_clear(&reply);
    }
    return NULL;
}

Test(teacher_threads, never_get_more_than_the_budget_pays)
{
    static struct worker workers[THREADS];
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(domain_policy(f), 50, 0.5));
    expect_status(made, 201);
    open_workers(workers);
    for (unsigned t = 0; t < THREADS; t++) {
        snprintf(workers[t].path, sizeof workers[t].path, "/v1/teachers/%s/queries",
                 response_text(made, "/id"));
        snprintf(workers[t].authorization, sizeof workers[t].authorization, "Bearer %s",
                 fixture_token(f, "student"));
    }
    run_workers(workers, ask);
    unsigned answered = 0;
    for (unsigned t = 0; t < THREADS; t++) {
        answered += workers[t].answered;
        cr_expect_eq(workers[t].wrong, 0);
        cr_expect_eq(workers[t].refused, 1);
    }
    cr_expect_eq(answered, response_number(made, "/queries_in_client_budget"), "%u of %g", answered,
                 response_number(made, "/queries_in_client_budget"));
    domain_expect_whole_ledger(f);
}
