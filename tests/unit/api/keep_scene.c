#include "tests/unit/api/keep_scene.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/listing.h"

_Atomic int64_t keep_clock_ms;

static int64_t keep_read_clock(void)
{
    return atomic_load(&keep_clock_ms);
}

void keep_days(struct api_settings *settings)
{
    settings->now_ms = keep_read_clock;
    settings->keep_answers_days = KEEP_DAYS;
}

void keep_for_ever(struct api_settings *settings)
{
    settings->now_ms = keep_read_clock;
}

void keep_open(void)
{
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS);
    f = fixture_open_with(keep_days);
}

void keep_uuid(int64_t ms, unsigned n, char out[KEEP_KEY_BYTES])
{
    snprintf(out, KEEP_KEY_BYTES, "%08x-%04x-7000-8000-%012x", (unsigned)(ms >> 16),
             (unsigned)ms & 0xffff, n);
}

const char *keep_teacher(double client_epsilon, const char *more)
{
    struct response *made = fixture_post(
        f, "steward", "/v1/teachers",
        domain_path("{\"policy\":\"%s\",\"mechanism\":{\"name\":\"dirichlet\",\"concentration\":20,"
                    "\"min_probability\":0.1},\"adjacency\":{\"unit\":\"observation\",\"radius\":"
                    "0.01},\"budget\":{\"epsilon\":1000,\"delta\":1e-5},\"client_budget\":{"
                    "\"epsilon\":%g,\"delta\":1e-5}%s}",
                    domain_policy(f), client_epsilon, more));
    expect_status(made, 201);
    return domain_path("/v1/teachers/%s/queries", response_text(made, "/id"));
}

struct response *keep_ask(const char *path, const char *key, const char *body)
{
    return fixture_ask(
        f, &(struct ask){
               .path = path, .token = fixture_token(f, "student"), .key = key, .body = body});
}

int64_t keep_number(const char *sql)
{
    int64_t value = -1;
    cr_assert_eq(db_one(fixture_db(f), sql, NULL, 0, listing_integer, &value), DB_OK);
    return value;
}

void keep_prune(void)
{
    bool more = true;
    while (more)
        cr_assert(api_prune(fixture_app(f), fixture_db(f), &more), "%s",
                  db_last_error(fixture_db(f)));
}

void keep_expect_replayed(const struct response *again, const char *body)
{
    expect_status(again, 200);
    cr_expect_str_eq(again->body, body);
    cr_expect_str_eq(response_header(again, "Idempotency-Replayed"), "true");
}
