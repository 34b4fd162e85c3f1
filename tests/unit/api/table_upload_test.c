/* A table as an upload: stored as the same trajectories in JSON would be, all or nothing. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/data/private_data.h"
#include "api/wire/deflate.h"
#include "tests/unit/api/service.h"

TestSuite(table_upload, .init = service_open, .fini = service_close);

#define TABLE                                                                                      \
    ",\"table\":{\"expert\":\"who\",\"episode\":\"stay\",\"time\":\"hour\",\"action\":\"act\","    \
    "\"reward\":\"r\",\"terminated\":\"end\",\"last_state\":\"own_row\"}"
#define HEADER "who,stay,hour,rate,lactate,ward,act,r,end\n"
#define ROWS                                                                                       \
    "ann,1,0,80,10,B,treat,0.5,no\nann,1,1,90,1,A,,,yes\n"                                         \
    "bob,1,0,60,100,A,wait,-1,no\nbob,1,2,61,1,A,treat,2,no\nbob,1,3,62,1,B,,,no\n"
#define LINES                                                                                      \
    "{\"expert\":\"ann\",\"states\":[[80,1,0,1],[90,0,1,0]],\"actions\":[1],\"rewards\":[0.5],"    \
    "\"terminated\":true,\"truncated\":false}\n"                                                   \
    "{\"expert\":\"bob\",\"states\":[[60,2,1,0],[61,0,1,0],[62,0,0,1]],\"actions\":[0,1],"         \
    "\"rewards\":[-1,2],\"terminated\":false,\"truncated\":true}\n"

/* An open dataset whose description ends with MORE. */
static const char *described(const char *more)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/datasets",
        domain_path(
            "{\"name\":\"ward\",\"max_episode_steps\":10,\"discount\":0.9,\"budget\":{"
            "\"epsilon\":1,\"delta\":1e-5},\"description\":{\"row\":\"an hour\","
            "\"expert\":\"the clinician\",\"features\":[{\"name\":\"rate\",\"low\":30,"
            "\"high\":220},{\"name\":\"lactate\",\"low\":0.1,\"high\":100,\"scale\":\"log\"},"
            "{\"name\":\"ward\",\"categories\":[\"A\",\"B\"]}],\"actions\":[\"wait\","
            "\"treat\"]%s}}",
            more));
    expect_status(made, 201);
    return response_text(made, "/id");
}

/* All chunks of a dataset, one after another. */
struct stored {
    char bytes[4096];
    size_t size;
};

static bool keep_chunk(void *context, const struct upload_chunk *chunk)
{
    struct stored *stored = context;
    cr_assert(stored->size + chunk->size <= sizeof stored->bytes);
    memcpy(stored->bytes + stored->size, chunk->bytes, chunk->size);
    stored->size += chunk->size;
    return true;
}

static struct stored stored_in(const char *dataset)
{
    struct stored stored = {.size = 0};
    cr_assert_eq(private_read(fixture_app(f), fixture_db(f), dataset, keep_chunk, &stored), DB_OK);
    return stored;
}

static void expect_empty(const char *dataset)
{
    struct response *seen = fixture_get(f, "steward", domain_path("/v1/datasets/%s", dataset));
    cr_expect_eq(response_number(seen, "/trajectories"), 0);
    cr_expect_eq(response_number(seen, "/experts"), 0);
}

Test(table_upload, is_stored_as_the_same_lines_would_be)
{
    const char *table = described(TABLE), *lines = described(TABLE);
    expect_status(domain_upload(f, NULL, lines, LINES, 0, NULL), 201);
    struct response *r = domain_upload(f, NULL, table, HEADER ROWS, 0, "text/csv; charset=utf-8");
    expect_status(r, 201);
    cr_expect_eq(response_number(r, "/trajectories"), 2);
    cr_expect_eq(response_number(r, "/transitions"), 3);
    cr_expect_eq(response_number(r, "/experts"), 2);
    struct stored a = stored_in(lines), b = stored_in(table);
    cr_assert_eq(a.size, b.size);
    cr_expect_arr_eq(a.bytes, b.bytes, a.size);
}

Test(table_upload, may_be_compressed_and_come_in_pieces)
{
    static const struct {
        const char *name;
        enum inflate_encoding encoding;
    } forms[] = {{"gzip", INFLATE_GZIP}, {"zstd", INFLATE_ZSTD}};
    for (size_t i = 0; i < 2; i++) {
        const char *id = described(TABLE);
        char *packed = NULL;
        size_t size = 0;
        cr_assert(
            deflate_bytes(forms[i].encoding, HEADER ROWS, strlen(HEADER ROWS), &packed, &size));
        struct ask ask = {.path = domain_path("/v1/datasets/%s/trajectories", id),
                          .token = fixture_token(f, "contributor"),
                          .body = packed,
                          .body_size = size,
                          .content_type = "text/csv",
                          .headers = {{"Content-Encoding", forms[i].name}},
                          .read_at_once = 3};
        struct response *r = fixture_ask(f, &ask);
        expect_status(r, 201);
        cr_expect_eq(response_number(r, "/trajectories"), 2);
        ask.body_size = size - 3;
        expect_problem(fixture_ask(f, &ask), "corrupt-encoding");
        ask.headers[0][0] = NULL;
        ask.body_size = size;
        r = fixture_ask(f, &ask);
        expect_problem(r, "validation");
        cr_expect(strstr(response_text(r, "/errors/0/detail"), "send Content-Encoding"));
        free(packed);
    }
}

Test(table_upload, stores_all_or_nothing)
{
    const char *id = described(TABLE);
    struct response *r =
        domain_upload(f, NULL, id, HEADER ROWS "cid,1,0,400,1,C,treat,1,no\ncid,1,1,80,1,A,,,yes\n",
                      0, "text/csv");
    expect_problem(r, "validation");
    cr_expect_eq(json_array_size(response_at(r, "/errors")), 2);
    cr_expect_eq(response_number(r, "/errors/0/line"), 7);
    cr_expect_str_eq(response_text(r, "/errors/0/pointer"), "/rate");
    cr_expect_str_eq(response_text(r, "/errors/0/detail"),
                     "rate is 400, above its highest value 220");
    cr_expect_str_eq(response_text(r, "/errors/1/pointer"), "/ward");
    expect_empty(id);
    expect_problem(domain_upload(f, NULL, id, HEADER, 0, "text/csv"), "validation");
    struct ask ask = {.path = domain_path("/v1/datasets/%s/trajectories", id),
                      .token = fixture_token(f, "steward"),
                      .body = HEADER ROWS,
                      .content_type = "text/csv",
                      .read_at_once = 7,
                      .hang_up = true};
    expect_problem(fixture_ask(f, &ask), "bad-request");
    expect_empty(id);
    ask.hang_up = false;
    expect_status(fixture_ask(f, &ask), 201);
}

Test(table_upload, lists_the_first_hundred_faults)
{
    const char *id = described(TABLE);
    size_t used = strlen(HEADER);
    char *text = malloc(used + 300 * 40);
    memcpy(text, HEADER, used + 1);
    for (unsigned i = 0; i < 300; i++)
        used += (size_t)sprintf(text + used, "ann,%u,0,80,x,A,treat,1,no\n", i);
    struct response *r = domain_upload(f, NULL, id, text, 0, "text/csv");
    expect_problem(r, "validation");
    cr_expect_eq(json_array_size(response_at(r, "/errors")), 100);
    cr_expect_eq(response_number(r, "/errors/99/line"), 101);
    free(text);
}

Test(table_upload, needs_a_description_of_its_columns)
{
    const char *const without[] = {domain_dataset(f, "private"), described("")};
    for (size_t i = 0; i < 2; i++) {
        struct response *r = domain_upload(f, NULL, without[i], HEADER ROWS, 0, "text/csv");
        expect_problem(r, "unsupported-media-type");
        cr_expect_str_eq(response_text(r, "/accepts/0"), "application/x-ndjson");
        cr_expect(strstr(response_text(r, "/detail"), "the member \"table\""));
        expect_empty(without[i]);
    }
}

/* Doses become bins; in lines they are refused, with advice. */
Test(table_upload, cuts_doses_into_bins)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/datasets",
        "{\"name\":\"doses\",\"max_episode_steps\":10,\"discount\":0.9,\"budget\":{\"epsilon\":1,"
        "\"delta\":1e-5},\"description\":{\"row\":\"an hour\",\"expert\":\"the clinician\","
        "\"features\":[{\"name\":\"rate\",\"low\":30,\"high\":220}],\"actions\":{\"unit\":\"ml\","
        "\"low\":0,\"high\":100,\"edges\":[0,50],\"names\":[\"none\",\"some\",\"much\"]},"
        "\"table\":{\"expert\":\"who\",\"episode\":\"stay\",\"action\":\"ml\",\"reward\":\"r\","
        "\"terminated\":\"end\",\"last_state\":\"own_row\"}}}");
    expect_status(made, 201);
    cr_expect_eq(response_number(made, "/action_count"), 3);
    const char *id = response_text(made, "/id");
    expect_status(domain_upload(f, NULL, id,
                                "who,stay,rate,ml,r,end\na,1,80,0,0,0\na,1,81,12.5,0,0\n"
                                "a,1,82,50.1,0,0\na,1,83,,,1\n",
                                0, "text/csv"),
                  201);
    struct response *r = domain_upload(
        f, NULL, id,
        "{\"expert\":\"a\",\"states\":[[80],[81],[82]],\"actions\":[12.5,[1,2]],\"rewards\":[0,0],"
        "\"terminated\":true,\"truncated\":false}\n",
        0, NULL);
    expect_problem(r, "validation");
    cr_expect_str_eq(response_text(r, "/errors/0/pointer"), "/actions/0");
    cr_expect(strstr(response_text(r, "/errors/0/detail"), "is cut into bins first"));
    cr_expect_str_eq(response_text(r, "/errors/1/pointer"), "/actions/1");
    cr_expect(strstr(response_text(r, "/errors/1/detail"), "an action of several numbers"));
}
