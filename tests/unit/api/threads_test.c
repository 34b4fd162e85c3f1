/* Many threads on one app, each with its own connection, as in the server. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tests/unit/api/fixture.h"

#define THREADS 4
#define CALLS   25

TestSuite(threads);

struct worker {
    struct fixture *fixture;
    struct db *db;
    char authorization[200];
    char key[32];
    char ids[CALLS][40];
    int failures, replays;
};

static const char *find_header(void *context, const char *name)
{
    const struct worker *worker = context;
    return strcasecmp(name, "Authorization") == 0     ? worker->authorization
           : strcasecmp(name, "Idempotency-Key") == 0 ? worker->key
           : strcasecmp(name, "Content-Type") == 0    ? "application/json"
                                                      : NULL;
}

/* All threads make the same calls with the same keys: each key's client must be made once. */
static void *work(void *context)
{
    struct worker *worker = context;
    static const char body[] = "{\"name\":\"n\",\"role\":\"agent\"}";
    for (int i = 0; i < CALLS; i++) {
        snprintf(worker->key, sizeof worker->key, "shared-%d", i);
        struct api_request request = {.method = "POST",
                                      .path = "/v1/clients",
                                      .query = "",
                                      .header_context = worker,
                                      .header = find_header,
                                      .body = (const unsigned char *)body,
                                      .body_size = sizeof body - 1,
                                      .request_id = "thread"};
        struct api_reply reply;
        api_serve(fixture_app(worker->fixture), worker->db, &request, &reply);
        worker->failures += reply.status != 201;
        json_t *json = json_loadb(reply.body, reply.body_size, 0, NULL);
        const char *id = json_string_value(json_object_get(json, "id"));
        snprintf(worker->ids[i], sizeof worker->ids[i], "%s", id == NULL ? "" : id);
        for (unsigned h = 0; h < reply.header_count; h++)
            worker->replays += strcmp(reply.headers[h].name, "Idempotency-Replayed") == 0;
        json_decref(json);
        api_reply_clear(&reply);
    }
    return NULL;
}

Test(threads, twins_get_one_answer)
{
    static struct worker workers[THREADS];
    struct fixture *f = fixture_open();
    pthread_t threads[THREADS];
    char error[DB_ERROR_SIZE];
    for (int t = 0; t < THREADS; t++) {
        workers[t].fixture = f;
        snprintf(workers[t].authorization, sizeof workers[t].authorization, "Bearer %s",
                 fixture_token(f, "admin"));
        cr_assert_eq(db_open(fixture_store(f), &workers[t].db, error), DB_OK);
    }
    for (int t = 0; t < THREADS; t++)
        cr_assert_eq(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
    int replays = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        db_close(workers[t].db);
        cr_expect_eq(workers[t].failures, 0);
        replays += workers[t].replays;
    }
    cr_expect_eq(replays, (THREADS - 1) * CALLS);
    for (int i = 0; i < CALLS; i++)
        for (int t = 1; t < THREADS; t++)
            cr_expect_str_eq(workers[t].ids[i], workers[0].ids[i]);
    struct response *all = fixture_get(f, "admin", "/v1/clients?page_size=1000");
    cr_expect_eq(json_array_size(response_at(all, "/items")), CALLS + 1);
    fixture_close(f);
}
