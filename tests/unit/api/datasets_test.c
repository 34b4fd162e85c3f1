/* Datasets: declaring, filling, sealing, deleting, and who may see what. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "storage/db/listing.h"
#include "storage/uploads.h"
#include "tests/unit/api/service.h"

TestSuite(datasets, .init = service_open, .fini = service_close);

#define GOOD                                                                                       \
    "{\"expert\":\"a\",\"states\":[[0,0,0,0],[1,0,0,0]],\"actions\":[1],\"rewards\":[1],"          \
    "\"terminated\":true,\"truncated\":false}\n"
#define BAD                                                                                        \
    "{\"expert\":\"a\",\"states\":[[0,0,0,0],[1,0,0]],\"actions\":[7],\"rewards\":[1],"            \
    "\"terminated\":true,\"truncated\":false}\n"

Test(datasets, are_declared_with_an_environment_or_with_dimensions)
{
    struct response *made =
        fixture_post(f, "steward", "/v1/datasets",
                     "{\"name\":\"a\",\"environment\":\"cartpole\",\"nominal_experts\":300,"
                     "\"budget\":{\"epsilon\":10,\"delta\":1e-5}}");
    expect_status(made, 201);
    cr_assert_str_eq(response_text(made, "/state"), "open");
    cr_assert_eq(response_number(made, "/state_dim"), 4);
    cr_assert_eq(response_number(made, "/nominal_experts"), 300);
    cr_assert_eq(response_number(made, "/min_action_probability"), 0.02);
    fixture_advance(1);
    made = fixture_post(f, "steward", "/v1/datasets",
                        "{\"name\":\"b\",\"state_dim\":3,\"action_count\":5,\"max_episode_steps\":"
                        "10,\"discount\":0.9,\"sensitivity\":\"public\"}");
    expect_status(made, 201);
    cr_assert_eq(response_number(made, "/action_count"), 5);
    expect_status(fixture_get(f, "steward",
                              domain_path("/v1/datasets/%s/budget", response_text(made, "/id"))),
                  404);
    struct response *list = fixture_get(f, "steward", "/v1/datasets?page_size=1");
    expect_status(list, 200);
    list = fixture_get(f, "steward",
                       domain_path("/v1/datasets?page_size=1&page_token=%s",
                                   response_text(list, "/next_page_token")));
    cr_assert_str_eq(response_text(list, "/items/0/name"), "b");
    cr_assert(json_is_null(response_at(list, "/next_page_token")));
}

/* A member that is left out refuses nothing. */
Test(datasets, may_have_many_actions)
{
    static const unsigned counts[] = {2, 25, 26, 50, 1024};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct response *made =
            fixture_post(f, "steward", "/v1/datasets",
                         domain_path("{\"name\":\"a\",\"state_dim\":1,\"action_count\":%u,"
                                     "\"max_episode_steps\":10,\"discount\":1,"
                                     "\"sensitivity\":\"public\"}",
                                     counts[i]));
        expect_status(made, 201);
        double least = response_number(made, "/min_action_probability");
        cr_expect_eq(least, counts[i] > 25 ? 0.5 / counts[i] : 0.02, "%g", least);
    }
}

Test(datasets, refuse_what_they_cannot_be)
{
    static const char *const cases[][2] = {
        {"{}", "/name"},
        {"{\"name\":\"a\"}", "/state_dim"},
        {"{\"name\":\"a\",\"environment\":\"mars\"}", "/environment"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\"}", "/budget"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\",\"state_dim\":4}", "/state_dim"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\",\"badget\":{}}", "/badget"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":-1,\"delta\":0.1}}",
         "/budget/epsilon"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":0,\"delta\":0.1}}",
         "/budget/epsilon"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":1e-12,\"delta\":"
         "0.1}}",
         "/budget/epsilon"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":1,\"delta\":1}}",
         "/budget/delta"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":1,\"delta\":0}}",
         "/budget/delta"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\",\"budget\":{\"epsilon\":1}}",
         "/budget/delta"},
        {"{\"name\":\"a\",\"state_dim\":1024,\"action_count\":2,\"max_episode_steps\":1000000,"
         "\"discount\":1,\"sensitivity\":\"public\"}",
         "/max_episode_steps"},
        {"{\"name\":\"a\",\"environment\":\"cartpole\",\"sensitivity\":\"public\","
         "\"min_action_probability\":0.6}",
         "/min_action_probability"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_invalid(fixture_post(f, "steward", "/v1/datasets", cases[i][0]), cases[i][1]);
    expect_invalid(fixture_post(f, "steward", "/v1/datasets",
                                "{\"name\":\"a\",\"environment\":\"cartpole\",\"budget\":{"
                                "\"epsilon\":1e999,\"delta\":0.1}}"),
                   "/budget/epsilon");
    cr_assert_eq(json_array_size(response_at(fixture_get(f, "steward", "/v1/datasets"), "/items")),
                 0);
}

Test(datasets, take_lines_and_arrays_and_count_them)
{
    const char *id = domain_dataset(f, "private");
    char *lines = domain_lines(3, 5);
    struct response *r = domain_upload(f, NULL, id, lines, 0, NULL);
    expect_status(r, 201);
    cr_assert_eq(response_number(r, "/trajectories"), 3);
    cr_assert_eq(response_number(r, "/transitions"), 15);
    cr_assert_eq(response_number(r, "/experts"), 3);
    char array[2048];
    snprintf(array, sizeof array, "[%.*s]", (int)strlen(GOOD) - 1, GOOD);
    expect_status(domain_upload(f, NULL, id, array, 0, "application/json"), 201);
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_assert_eq(response_number(seen, "/experts"), 4);
    cr_assert_eq(response_number(seen, "/trajectories"), 4);
    cr_assert_eq(response_number(seen, "/transitions"), 16);
    free(lines);
}

Test(datasets, store_all_or_nothing)
{
    const char *id = domain_dataset(f, "private");
    struct response *r = domain_upload(f, NULL, id, GOOD BAD GOOD "{\n" GOOD, 0, NULL);
    expect_problem(r, "validation");
    cr_assert_eq(response_number(r, "/errors/0/line"), 2);
    cr_assert_str_eq(response_text(r, "/errors/0/pointer"), "/states/1");
    cr_assert_str_eq(response_text(r, "/errors/1/pointer"), "/actions/0");
    cr_assert_eq(response_number(r, "/errors/2/line"), 4);
    expect_problem(domain_upload(f, NULL, id, "", 0, NULL), "validation");
    expect_problem(domain_upload(f, NULL, id, "[]", 0, "application/json"), "validation");
    struct ask ask = {.path = domain_path("/v1/datasets/%s/trajectories", id),
                      .token = fixture_token(f, "steward"),
                      .body = GOOD GOOD,
                      .content_type = "application/x-ndjson",
                      .read_at_once = 7,
                      .hang_up = true};
    expect_problem(fixture_ask(f, &ask), "bad-request");
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_assert_eq(response_number(seen, "/trajectories"), 0);
    cr_assert_eq(response_number(seen, "/experts"), 0);
    ask.hang_up = false; /* the same bytes, to their end */
    expect_status(fixture_ask(f, &ask), 201);
}

Test(datasets, list_the_first_hundred_faults)
{
    const char *id = domain_dataset(f, "private");
    char *many = malloc(200 * sizeof BAD);
    many[0] = '\0';
    for (int i = 0; i < 200; i++)
        strcat(many + (size_t)i * (sizeof BAD - 1), BAD);
    struct response *r = domain_upload(f, NULL, id, many, 0, NULL);
    expect_problem(r, "validation");
    cr_assert_eq(json_array_size(response_at(r, "/errors")), 100);
    free(many);
}

static size_t gzip(const char *text, unsigned char *out, size_t room)
{
    z_stream z = {0};
    cr_assert(deflateInit2(&z, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = (unsigned char *)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = out;
    z.avail_out = (uInt)room;
    cr_assert(deflate(&z, Z_FINISH) == Z_STREAM_END);
    size_t size = z.total_out;
    deflateEnd(&z);
    return size;
}

Test(datasets, take_gzip_and_refuse_what_is_damaged)
{
    const char *id = domain_dataset(f, "private");
    unsigned char packed[4096];
    size_t size = gzip(GOOD GOOD, packed, sizeof packed);
    struct ask ask = {.path = domain_path("/v1/datasets/%s/trajectories", id),
                      .token = fixture_token(f, "steward"),
                      .body = (const char *)packed,
                      .body_size = size,
                      .content_type = "application/x-ndjson",
                      .headers = {{"Content-Encoding", "gzip"}}};
    expect_status(fixture_ask(f, &ask), 201);
    ask.body_size = size - 5;
    expect_problem(fixture_ask(f, &ask), "corrupt-encoding");
    packed[size / 2] ^= 0x55;
    ask.body_size = size;
    struct response *r = fixture_ask(f, &ask);
    cr_assert(r->status == 400 || r->status == 422, "%s", r->body);
    ask.headers[0][1] = "br";
    expect_problem(fixture_ask(f, &ask), "unsupported-media-type");
    ask.headers[0][0] = NULL;
    ask.content_type = "application/x-hdf5";
    r = fixture_ask(f, &ask);
    expect_problem(r, "unsupported-media-type");
    cr_assert_str_eq(response_text(r, "/accepts/0"), "application/x-ndjson");
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_assert_eq(response_number(seen, "/trajectories"), 2);
}

/* A deleted dataset has no name that is taken. The same call again is answered as before. */
Test(datasets, have_a_name_of_their_own_where_that_is_asked_for)
{
    struct ask ask = {.path = "/v1/datasets",
                      .token = fixture_token(f, "steward"),
                      .key = "make",
                      .body = "{\"name\":\"ward\",\"unique_name\":true,\"environment\":"
                              "\"cartpole\",\"sensitivity\":\"public\"}"};
    struct response *made = fixture_ask(f, &ask);
    expect_status(made, 201);
    const char *id = response_text(made, "/id");
    expect_status(fixture_ask(f, &ask), 201);
    ask.key = "other";
    struct response *refused = fixture_ask(f, &ask);
    expect_problem(refused, "conflict");
    cr_expect_str_eq(response_text(refused, "/dataset"), id);
    expect_status(fixture_post(f, "steward", "/v1/datasets",
                               "{\"name\":\"ward\",\"environment\":\"cartpole\","
                               "\"sensitivity\":\"public\"}"),
                  201);
    struct response *page = fixture_get(f, "steward", "/v1/datasets");
    cr_assert_eq(json_array_size(response_at(page, "/items")), 2);
    for (int i = 0; i < 2; i++) {
        const char *one = response_text(page, i == 0 ? "/items/0/id" : "/items/1/id");
        expect_status(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", one)), 204);
    }
    ask.key = "other";
    expect_status(fixture_ask(f, &ask), 201);
}

/* The people whose budget was spent would have another one. CONVERTS: that budget was continued by
 * another account. */
static void expect_kept_name(bool converts)
{
    static const char body[] = "{\"name\":\"d\",\"unique_name\":true,\"environment\":\"cartpole\","
                               "\"budget\":{\"epsilon\":1,\"delta\":1e-5}}";
    const char *id = domain_sealed(f, "private", 5);
    domain_run(f, domain_private_job(id, 1, 20));
    if (converts)
        expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:compose", id), "{}"),
                      200);
    expect_status(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", id)), 204);
    struct response *refused = fixture_post(f, "steward", "/v1/datasets", body);
    expect_problem(refused, "conflict");
    cr_expect_not_null(
        strstr(response_text(refused, "/detail"), "was spent before it was deleted"));
    cr_expect_null(response_at(refused, "/dataset"));
}

Test(datasets, that_were_deleted_keep_their_name_where_something_was_spent)
{
    expect_kept_name(false);
}

Test(datasets, that_were_deleted_keep_their_name_where_a_budget_was_converted)
{
    expect_kept_name(true);
}

Test(datasets, repeat_an_upload_with_its_key_once)
{
    const char *id = domain_dataset(f, "private");
    struct ask ask = {.path = domain_path("/v1/datasets/%s/trajectories", id),
                      .token = fixture_token(f, "steward"),
                      .key = "once",
                      .body = GOOD,
                      .content_type = "application/x-ndjson"};
    expect_status(fixture_ask(f, &ask), 201);
    struct response *again = fixture_ask(f, &ask);
    expect_status(again, 201);
    cr_assert_str_eq(response_header(again, "Idempotency-Replayed"), "true");
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_assert_eq(response_number(seen, "/trajectories"), 1);
}

/* The first answer may have been lost on its way. */
Test(datasets, repeat_an_upload_with_its_key_after_the_seal)
{
    const char *id = domain_dataset(f, "private");
    struct ask ask = {.path = domain_path("/v1/datasets/%s/trajectories", id),
                      .token = fixture_token(f, "contributor"),
                      .key = "once",
                      .body = GOOD,
                      .content_type = "application/x-ndjson",
                      .read_at_once = 7};
    struct response *first = fixture_ask(f, &ask);
    expect_status(first, 201);
    expect_status(fixture_post(f, "steward", domain_path("/v1/datasets/%s:seal", id), NULL), 200);
    struct response *again = fixture_ask(f, &ask);
    expect_status(again, 201);
    cr_assert_str_eq(response_header(again, "Idempotency-Replayed"), "true");
    cr_assert_str_eq(again->body, first->body);
    ask.hang_up = true;
    expect_problem(fixture_ask(f, &ask), "bad-request");
    ask.hang_up = false;
    ask.body = GOOD GOOD;
    expect_problem(fixture_ask(f, &ask), "idempotency-key-reused");
    ask.key = "twice";
    expect_problem(fixture_ask(f, &ask), "dataset-not-open");
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/datasets/%s", id));
    cr_assert_eq(response_number(seen, "/trajectories"), 1);
}

Test(datasets, are_sealed_once_and_not_empty)
{
    const char *id = domain_dataset(f, "private");
    const char *seal = domain_path("/v1/datasets/%s:seal", id);
    expect_problem(fixture_post(f, "steward", seal, NULL), "dataset-empty");
    expect_status(domain_upload(f, NULL, id, GOOD, 0, NULL), 201);
    struct response *sealed = fixture_post(f, "steward", seal, NULL);
    expect_status(sealed, 200);
    cr_assert_str_eq(response_text(sealed, "/state"), "sealed");
    expect_problem(fixture_post(f, "steward", seal, NULL), "dataset-not-open");
    expect_problem(domain_upload(f, NULL, id, GOOD, 0, NULL), "dataset-not-open");
}

Test(datasets, are_deleted_and_leave_their_ledger)
{
    const char *id = domain_sealed(f, "private", 2);
    const char *path = domain_path("/v1/datasets/%s", id);
    const char *account = response_text(fixture_get(f, "steward", path), "/account");
    expect_status(fixture_delete(f, "steward", path), 204);
    expect_problem(fixture_get(f, "steward", path), "not-found");
    expect_problem(fixture_delete(f, "steward", path), "not-found");
    expect_problem(domain_upload(f, NULL, id, GOOD, 0, NULL), "not-found");
    expect_status(fixture_get(f, "steward", domain_path("/v1/ledger/accounts/%s", account)), 200);
    cr_assert_eq(domain_turn(f, "w", NULL, NULL), API_JOB_NONE);
}

#define NETWORK(bias)                                                                              \
    "{\"activation\":\"tanh\",\"layers\":[{\"weight\":[[1,2,3,4]],\"bias\":[0]},"                  \
    "{\"weight\":[[1],[2]],\"bias\":" bias "}],\"output\":\"argmax\"}"

Test(datasets, show_contributors_no_counts_and_strangers_nothing)
{
    const char *id = domain_dataset(f, "private");
    const char *path = domain_path("/v1/datasets/%s", id);
    expect_status(domain_upload(f, "contributor", id, GOOD, 0, NULL), 201);
    struct response *seen = fixture_get(f, "contributor", path);
    expect_status(seen, 200);
    cr_assert(response_at(seen, "/trajectories") == NULL);
    cr_assert(response_at(seen, "/experts") == NULL);
    struct ask ask = {.path = path, .token = fixture_new_token(f, "steward")};
    expect_problem(fixture_ask(f, &ask), "not-found");
    ask.method = "DELETE";
    expect_problem(fixture_ask(f, &ask), "not-found");
    expect_problem(fixture_get(f, "student", path), "forbidden");
    expect_problem(fixture_get(f, "admin", path), "forbidden");
    expect_problem(fixture_get(f, "steward", "/v1/datasets/ds_nothing"), "not-found");
    /* Another contributor's answer is the same whether or not the dataset has such an expert. */
    ask = (struct ask){.path = domain_path("/v1/datasets/%s/trajectories", id),
                       .token = fixture_new_token(f, "contributor"),
                       .body = GOOD,
                       .content_type = "application/x-ndjson"};
    struct response *second = fixture_ask(f, &ask);
    expect_status(second, 201);
    cr_assert_eq(response_number(second, "/experts"), 1);
    ask = (struct ask){.path = domain_path("/v1/datasets/%s/experts/e1/policy", id),
                       .method = "PUT",
                       .token = fixture_new_token(f, "contributor"),
                       .body = NETWORK("[0,1]")};
    expect_status(fixture_ask(f, &ask), 204);
    cr_assert_eq(response_number(fixture_get(f, "steward", path), "/experts"), 3);
    struct response *budget = fixture_get(f, "steward", domain_path("%s/budget", path));
    expect_status(budget, 200);
    cr_assert_eq(response_number(budget, "/limit/epsilon"), 10);
    cr_assert_eq(response_number(budget, "/spent/epsilon"), 0);
    cr_assert_str_eq(response_text(budget, "/unit"), "expert");
}

Test(datasets, take_an_experts_policy_of_the_right_shape)
{
    const char *id = domain_dataset(f, "private");
    const char *path = domain_path("/v1/datasets/%s/experts/e.1/policy", id);
    expect_status(fixture_put(f, "contributor", path, NETWORK("[0,1]")), 204);
    expect_status(fixture_put(f, "contributor", path, NETWORK("[0,2]")), 204);
    expect_invalid(fixture_put(f, "contributor", path, NETWORK("[0]")), "/layers/1");
    expect_invalid(fixture_put(f, "contributor", path, NETWORK("[0,1e300]")), "/layers/1/bias");
    expect_invalid(fixture_put(f, "contributor", path, NETWORK("[0,\"x\"]")), "/layers/1/bias/1");
    expect_invalid(fixture_put(f, "contributor", path, "{\"layers\":[]}"), "/layers");
    expect_problem(fixture_put(f, "contributor",
                               domain_path("/v1/datasets/%s/experts/a%%20b/policy", id),
                               NETWORK("[0,1]")),
                   "not-found");
}

/* ---- a client's share of the disk */

#define SHARE 4000

static void share_disk(struct api_settings *settings)
{
    settings->client_disk_bytes = SHARE;
}

static int64_t stored_by(const char *role)
{
    int64_t bytes = -1;
    cr_assert_eq(uploads_size(fixture_db(f), fixture_client(f, role), &bytes), DB_OK);
    return bytes;
}

static int64_t chunk_bytes(void)
{
    int64_t bytes = -1;
    cr_assert_eq(db_one(fixture_db(f), "SELECT coalesce(sum(length(bytes)), 0) FROM upload_chunks",
                        NULL, 0, listing_integer, &bytes),
                 DB_OK);
    return bytes;
}

Test(datasets, of_one_client_take_its_share_of_the_disk_and_no_more)
{
    service_close();
    f = fixture_open_with(share_disk);
    const char *id = domain_dataset(f, "private"), *other = domain_dataset(f, "private");
    const char *network = domain_path("/v1/datasets/%s/experts/e1/policy", other);
    char *large = domain_lines(1, 400), *small = domain_lines(1, 2);
    expect_status(domain_upload(f, "contributor", id, small, 0, NULL), 201);
    expect_status(fixture_put(f, "contributor", network, NETWORK("[0,1]")), 204);
    int64_t used = stored_by("contributor"), chunks = chunk_bytes();
    cr_assert(used > chunks && chunks > 0, "networks count too");
    struct response *refused = domain_upload(f, "contributor", other, large, 0, NULL);
    expect_problem(refused, "client-disk-full");
    cr_expect_eq(refused->status, 413);
    cr_expect_not_null(strstr(refused->body, domain_path("store %lld bytes", (long long)used)));
    cr_expect_not_null(strstr(refused->body, "may store 4000"));
    cr_expect_eq(stored_by("contributor"), used);
    cr_expect_eq(chunk_bytes(), chunks, "nothing of it was kept");
    struct response *told = domain_upload(f, "contributor", other, small, 0, NULL);
    for (int i = 0; told->status == 201; i++) { /* up to the last byte that fits */
        cr_assert_lt(i, SHARE / 40);
        used = stored_by("contributor");
        told = domain_upload(f, "contributor", other, small, 0, NULL);
    }
    expect_problem(told, "client-disk-full");
    cr_expect_leq(stored_by("contributor"), SHARE);
    expect_problem(fixture_put(f, "contributor", network, NETWORK("[0,2]")), "client-disk-full");
    expect_status(domain_upload(f, NULL, id, small, 0, NULL), 201); /* another client */
    expect_status(fixture_delete(f, "steward", domain_path("/v1/datasets/%s", other)), 204);
    bool more = true;
    while (more)
        cr_assert_eq(uploads_purge(fixture_db(f), &more), DB_OK);
    cr_expect_lt(stored_by("contributor"), used);
    expect_status(domain_upload(f, "contributor", id, small, 0, NULL), 201);
    cr_expect_eq(stored_by("contributor") + stored_by("steward"), chunk_bytes());
    free(large);
    free(small);
}
