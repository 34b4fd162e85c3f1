/* A service that was restored: what the backup has is answered again byte for byte; a key of which
 * nobody knows whether the lost life answered it is refused, and its log has another name. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/api/fixture.h"
#include "tests/unit/api/keep_scene.h"

#define LOST_MS (KEEP_BEGIN_MS + 500) /* keys up to here may have been answered */

static void second_life(struct api_settings *settings)
{
    keep_for_ever(settings);
    settings->answered_ms = LOST_MS;
    settings->life = 2;
    settings->life_id = "life_abc";
}

/* In the life that was lost no key named its time. */
static void life_after_undated_keys(struct api_settings *settings)
{
    second_life(settings);
    settings->answered_ms = 0;
}

Test(restored, keys_that_may_have_been_answered_are_refused)
{
    char old[KEEP_KEY_BYTES], lost[KEEP_KEY_BYTES], fresh[KEEP_KEY_BYTES];
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS);
    keep_fixture = fixture_open_with(keep_for_ever);
    const char *queries = keep_teacher(50, "");
    keep_uuid(KEEP_BEGIN_MS, 1, old);
    keep_uuid(LOST_MS, 2, lost);
    keep_uuid(LOST_MS + 1, 3, fresh);
    struct response *dated = keep_ask(queries, old, KEEP_STATE);
    struct response *undated = keep_ask(queries, "undated", KEEP_STATE);
    expect_status(dated, 200);
    expect_status(undated, 200);
    fixture_restart(keep_fixture, second_life);
    keep_expect_replayed(keep_ask(queries, old, KEEP_STATE), dated->body);
    keep_expect_replayed(keep_ask(queries, "undated", KEEP_STATE), undated->body);
    int64_t entries = keep_number(KEEP_ENTRIES), answers = keep_number(KEEP_ANSWERS);
    expect_problem(keep_ask(queries, lost, KEEP_STATE), "idempotency-key-expired");
    expect_problem(keep_ask(queries, "another", KEEP_STATE), "idempotency-key-expired");
    cr_expect_eq(keep_number(KEEP_ENTRIES), entries);
    cr_expect_eq(keep_number(KEEP_ANSWERS), answers);
    expect_status(keep_ask(queries, fresh, KEEP_STATE), 200);
    struct response *checkpoint = fixture_get(keep_fixture, "auditor", "/v1/ledger/checkpoint");
    expect_status(checkpoint, 200);
    const char *end = strchr(checkpoint->body, '\n');
    cr_expect(strncmp(checkpoint->body, "tacet/", 6) == 0 && strncmp(end - 9, "/life_abc", 9) == 0,
              "%s", checkpoint->body);
    keep_close();
}

Test(restored, keys_without_a_time_are_refused_though_none_with_one_was_answered)
{
    char fresh[KEEP_KEY_BYTES];
    atomic_store(&keep_clock_ms, KEEP_BEGIN_MS);
    keep_fixture = fixture_open_with(keep_for_ever);
    const char *queries = keep_teacher(50, "");
    keep_uuid(KEEP_BEGIN_MS, 1, fresh);
    struct response *undated = keep_ask(queries, "undated", KEEP_STATE);
    expect_status(undated, 200);
    fixture_restart(keep_fixture, life_after_undated_keys);
    keep_expect_replayed(keep_ask(queries, "undated", KEEP_STATE), undated->body);
    expect_problem(keep_ask(queries, "new-1", KEEP_STATE), "idempotency-key-expired");
    expect_status(keep_ask(queries, fresh, KEEP_STATE), 200);
    keep_close();
}
