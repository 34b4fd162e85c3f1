/* Experts' data at rest: nothing of them is in the database in clear, also after the upgrade of one
 * that had them in clear. */
#include "api/data/private_data.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algos/data/trajectory.h"
#include "api/api.h"
#include "api/call/app.h"
#include "api/call/sealed.h"
#include "storage/db/listing.h"
#include "storage/keys/keyring.h"
#include "storage/sealing.h"
#include "tests/unit/api/service.h"

TestSuite(private_data, .init = service_open, .fini = service_close);

/* What all chunks and networks hold, in clear. */
struct seen {
    unsigned char bytes[1 << 16];
    size_t size;
};

static bool see_chunk(void *context, const struct upload_chunk *chunk)
{
    struct seen *seen = context;
    cr_assert(seen->size + chunk->size <= sizeof seen->bytes);
    memcpy(seen->bytes + seen->size, chunk->bytes, chunk->size);
    seen->size += chunk->size;
    return true;
}

static bool see_network(void *context, uint32_t number, const void *bytes, size_t size)
{
    const struct upload_chunk chunk = {.bytes = bytes, .size = size};
    (void)number;
    return see_chunk(context, &chunk);
}

static struct seen *see_all(const char *dataset)
{
    struct seen *seen = calloc(1, sizeof *seen);
    cr_assert_not_null(seen);
    cr_assert_eq(private_read(fixture_app(f), fixture_db(f), dataset, see_chunk, seen), DB_OK);
    cr_assert_eq(private_policies(fixture_app(f), fixture_db(f), dataset, see_network, seen),
                 DB_OK);
    return seen;
}

/* Whether the file at the fixture's path, or its log, holds these bytes. */
static bool on_disk(const void *bytes, size_t size)
{
    bool found = false;
    for (int log = 0; log < 2; log++) {
        char path[160];
        snprintf(path, sizeof path, "%s%s", fixture_path(f), log ? "-wal" : "");
        FILE *file = fopen(path, "rb");
        cr_assert_not_null(file);
        char *all = malloc(32 << 20);
        cr_assert_not_null(all);
        size_t n = fread(all, 1, 32 << 20, file);
        found = found || memmem(all, n, bytes, size);
        free(all);
        fclose(file);
    }
    return found;
}

static const char lines[] =
    "{\"expert\":\"a\",\"states\":[[1.2345678,2,0.125,4],[1.3456789,2,3,4]],\"actions\":[1],"
    "\"rewards\":[1],\"terminated\":true,\"truncated\":false}\n"
    "{\"expert\":\"b\",\"states\":[[1.4567891,2,0.5,4],[1.5678912,2,3,4]],\"actions\":[0],"
    "\"rewards\":[2],\"terminated\":true,\"truncated\":false}\n";
static const float state_of_a[] = {1.2345678f, 2, 0.125f, 4};

#define NETWORK                                                                                    \
    "{\"activation\":\"relu\",\"layers\":[{\"weight\":[[0,0,0,0],[0.0271828,0.1,1,0.5]],"          \
    "\"bias\":[0,0]}],\"output\":\"argmax\"}"
static const float weights[] = {0.0271828f, 0.1f, 1, 0.5f};

static const char *filled(void)
{
    const char *dataset = domain_dataset(f, "private");
    expect_status(domain_upload(f, NULL, dataset, lines, 0, NULL), 201);
    expect_status(fixture_put(f, "steward",
                              domain_path("/v1/datasets/%s/experts/a/policy", dataset), NETWORK),
                  204);
    return dataset;
}

Test(private_data, is_on_the_disk_in_no_clear_form)
{
    const char *dataset = filled();
    struct seen *seen = see_all(dataset);
    cr_expect_not_null(memmem(seen->bytes, seen->size, state_of_a, sizeof state_of_a));
    cr_expect_not_null(memmem(seen->bytes, seen->size, weights, sizeof weights));
    cr_expect_not(on_disk(state_of_a, sizeof state_of_a));
    cr_expect_not(on_disk(weights, sizeof weights));
    free(seen);
}

Test(private_data, of_an_erased_expert_is_left_out_and_the_rest_is_read)
{
    const char *dataset = filled();
    struct seen *before = see_all(dataset);
    cr_assert_eq(keyring_erase(fixture_app(f)->settings.keys, dataset, 0, NULL, NULL), KEYRING_OK);
    struct seen *after = see_all(dataset);
    cr_expect_null(memmem(after->bytes, after->size, state_of_a, sizeof state_of_a));
    struct trajectory trajectory;
    cr_assert_gt(trajectory_record_read(after->bytes, after->size, 4, &trajectory), 0);
    cr_expect_eq(trajectory.expert, 1);
    cr_expect_lt(after->size, before->size);
    free(before);
    free(after);
}

/* No other chunk, place or upload opens a record. */
Test(private_data, that_was_moved_is_damage)
{
    const char *dataset = domain_dataset(f, "private");
    expect_status(domain_upload(f, NULL, dataset, lines, 0, NULL), 201);
    expect_status(domain_upload(f, NULL, dataset, lines, 0, NULL), 201);
    struct seen seen = {.size = 0};
    cr_assert_eq(db_change(fixture_db(f),
                           "UPDATE upload_chunks SET bytes = (SELECT bytes FROM upload_chunks "
                           "ORDER BY upload LIMIT 1)",
                           NULL, 0),
                 DB_OK);
    cr_expect_eq(private_read(fixture_app(f), fixture_db(f), dataset, see_chunk, &seen), DB_NONE);
    cr_assert_eq(db_change(fixture_db(f), "UPDATE uploads SET keys = x''", NULL, 0), DB_OK);
    cr_expect_eq(private_read(fixture_app(f), fixture_db(f), dataset, see_chunk, &seen), DB_NONE);
}

/* ---- databases of earlier versions */

static void change_nothing(struct api_settings *settings)
{
    (void)settings;
}

static void to_clear(const char *dataset, const struct seen *seen, size_t records)
{
    struct sealing_policy policy = {.number = 0};
    char upload[ID_SIZE];
    cr_assert_eq(db_one(fixture_db(f), "SELECT id FROM uploads", NULL, 0, listing_id, upload),
                 DB_OK);
    cr_assert_eq(sealing_put_chunk(fixture_db(f), upload, 0, seen->bytes, records), DB_OK);
    cr_assert_eq(db_change(fixture_db(f), "UPDATE uploads SET keys = x''", NULL, 0), DB_OK);
    cr_assert_eq(sealing_next_policy(fixture_db(f), &policy), DB_OK);
    cr_assert_str_eq(policy.dataset, dataset);
    cr_assert_eq(
        sealing_put_policy(fixture_db(f), &policy, seen->bytes + records, seen->size - records),
        DB_OK);
    free(policy.bytes);
}

Test(private_data, of_an_earlier_version_is_encrypted_at_the_start)
{
    char error[DB_ERROR_SIZE] = "";
    const char *dataset = filled();
    struct seen *before = see_all(dataset), chunks = {.size = 0};
    cr_assert_eq(private_read(fixture_app(f), fixture_db(f), dataset, see_chunk, &chunks), DB_OK);
    to_clear(dataset, before, chunks.size);
    cr_expect(on_disk(state_of_a, sizeof state_of_a));
    for (int i = 0; i < 2; i++)
        cr_assert(api_private_begin(fixture_app(f), fixture_db(f), error, sizeof error), "%s",
                  error);
    struct seen *after = see_all(dataset);
    cr_expect_eq(before->size, after->size);
    cr_expect_arr_eq(before->bytes, after->bytes, before->size);
    fixture_restart(f, change_nothing); /* empties the log */
    cr_expect_not(on_disk(state_of_a, sizeof state_of_a));
    cr_expect_not(on_disk(weights, sizeof weights));
    free(before);
    free(after);
}

/* The first server that begins says which root key it is. */
Test(private_data, has_the_keys_of_the_server_that_began)
{
    char error[DB_ERROR_SIZE] = "", first[SEALING_NAME_SIZE];
    bool sealed = true;
    cr_assert_eq(sealing_begin(fixture_db(f), "another", first, &sealed), DB_OK);
    cr_expect_str_eq(first, "another");
    cr_expect_not(sealed);
    cr_expect_not(api_private_begin(fixture_app(f), fixture_db(f), error, sizeof error));
    cr_expect_not_null(strstr(error, "belong to another database"), "%s", error);
}

/* A file of keys that cannot be opened now, as on a network's disk, is no damage. */
Test(private_data, is_not_damaged_because_its_keys_cannot_be_read_now)
{
    const char *dataset = filled();
    struct seen seen = {.size = 0};
    const struct app *app = fixture_app(f);
    unsigned char *box = NULL;
    size_t size = 0;
    char keys[200];
    cr_assert(sealed_close(app, dataset, "id", (const unsigned char *)weights, sizeof weights, &box,
                           &size));
    snprintf(keys, sizeof keys, "%.*s/keys/%s",
             (int)(strrchr(fixture_path(f), '/') - fixture_path(f)), fixture_path(f), dataset);
    cr_assert_eq(unlink(keys), 0);
    cr_assert_eq(symlink("nowhere", keys), 0);
    cr_expect_eq(private_read(app, fixture_db(f), dataset, see_chunk, &seen), DB_FULL);
    cr_expect_neq(private_policies(app, fixture_db(f), dataset, see_network, &seen), DB_NONE);
    cr_expect_eq(seen.size, 0);
    errno = 0;
    cr_expect_null(sealed_open(app, dataset, "id", box, size, &size));
    cr_expect_eq(errno, ENOMEM);
    free(box);
}

Test(private_data, has_keys_of_its_own_database)
{
    char error[DB_ERROR_SIZE] = "";
    cr_assert_eq(sealing_note_key(fixture_db(f), "another"), DB_OK);
    cr_expect_not(api_private_begin(fixture_app(f), fixture_db(f), error, sizeof error));
    cr_expect_not_null(strstr(error, "belong to another database"));
}
