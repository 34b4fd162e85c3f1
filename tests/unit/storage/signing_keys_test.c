/* Signing keys: each is signed by the one before it and sealed, and all or nothing of it is stored.
 */
#include "storage/signing_keys.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <string.h>

#include "storage/ledger/trail.h"
#include "tests/unit/storage/store.h"

static const unsigned char root[32] = {1, 2, 3};

static void open_store(void)
{
    cr_assert_geq(sodium_init(), 0);
    fixture_open(&f, &db_driver_sqlite);
}

TestSuite(signing_keys, .init = open_store, .fini = store_close);

static enum db_status add(struct db *db, void *context)
{
    return signing_keys_add(db, root, 1700000000000, context);
}

/* Adds a key and fails behind it. */
static enum db_status add_in_vain(struct db *db, void *context)
{
    enum db_status status = add(db, context);
    return status == DB_OK ? DB_NONE : status;
}

static struct signing_key rotate(void)
{
    struct signing_key key;
    cr_assert_eq(db_transact(f.db, add, &key), DB_OK, "%s", db_last_error(f.db));
    return key;
}

static unsigned newest(struct signing_pair pair[2])
{
    unsigned count = 0;
    cr_assert_eq(signing_keys_newest(f.db, root, pair, &count), DB_OK, "%s", db_last_error(f.db));
    return count;
}

static bool count_row(void *context, const struct trail_row *row)
{
    unsigned *count = context;
    *count += strcmp(row->action, SIGNING_ROTATED) == 0 && strcmp(row->actor, "operator") == 0 &&
              strlen(row->resource) == 16;
    return true;
}

static unsigned rotations_in_trail(void)
{
    unsigned count = 0;
    const struct trail_filter all = {.client = "", .resource = "", .limit = 1000};
    cr_assert_eq(trail_list(f.db, &all, count_row, &count), DB_OK);
    return count;
}

static bool signs(const struct signing_pair *before, const struct signing_key *key)
{
    char from[SIGNING_TIME_SIZE], text[SIGNING_TEXT_SIZE];
    signing_key_time(key->since_ms, from);
    size_t size = signing_key_text(before->secret_key + 32, key->public_key, from, text);
    return crypto_sign_verify_detached(key->signature, (unsigned char *)text, size,
                                       before->secret_key + 32) == 0;
}

static enum db_status add_at(struct db *db, void *context)
{
    struct signing_key *key = context;
    return signing_keys_add(db, root, key->since_ms, key);
}

static int64_t rotate_at(int64_t ms)
{
    struct signing_key key = {.since_ms = ms};
    cr_assert_eq(db_transact(f.db, add_at, &key), DB_OK, "%s", db_last_error(f.db));
    return key.since_ms;
}

static enum db_status append_row(struct db *db, void *context)
{
    return trail_append(db, context);
}

static void append_at(int64_t ms)
{
    struct trail_row row = {.time_ms = ms, .actor = "service", .count = 1};
    cr_assert_eq(db_transact(f.db, append_row, &row), DB_OK, "%s", db_last_error(f.db));
}

/* What the key before has signed by another clock must not be taken for a thief's. */
Test(signing_keys, are_dated_in_order_whatever_the_clock_says)
{
    const int64_t ahead = INT64_C(4000000000000), day = 86400000;
    append_at(ahead);
    cr_expect_eq(rotate_at(ahead - 2 * day), ahead, "before a row");
    append_at(ahead - 5 * day);
    cr_expect_eq(rotate_at(ahead - 2 * day), ahead, "before a key");
    append_at(ahead + day);
    cr_expect_eq(rotate_at(ahead + 1), ahead + day, "before a row and behind a key");
}

Test(signing_keys, the_first_is_that_of_the_seed_and_each_signs_the_next)
{
    struct signing_pair pair[2];
    unsigned char first[32], secret[64];
    crypto_sign_seed_keypair(first, secret, root);
    cr_assert_eq(newest(pair), 1);
    cr_expect_arr_eq(pair[0].secret_key, secret, 64);
    for (unsigned i = 2; i < 6; i++) {
        struct signing_pair before = pair[0];
        struct signing_key key = rotate();
        cr_expect_eq(key.number, i);
        cr_assert_eq(newest(pair), 2);
        cr_expect_arr_eq(pair[0].secret_key + 32, key.public_key, 32);
        cr_expect_arr_eq(pair[1].secret_key, before.secret_key, 64);
        cr_expect(signs(&before, &key));
        cr_expect_not(signs(&pair[0], &key));
        cr_expect_eq(rotations_in_trail(), i - 1);
    }
    fixture_audit(f.db);
    fixture_reopen(&f);
    cr_expect_eq(newest(pair), 2);
    cr_expect_eq(pair[0].number, 5);
}

Test(signing_keys, a_rotation_that_fails_leaves_nothing)
{
    struct signing_pair pair[2];
    struct signing_key key;
    cr_expect_eq(db_transact(f.db, add_in_vain, &key), DB_NONE);
    cr_expect_eq(newest(pair), 1);
    cr_expect_eq(rotations_in_trail(), 0);
    fixture_audit(f.db);
}

Test(signing_keys, a_database_has_no_secret_of_them_in_clear_and_none_without_the_seed)
{
    static const unsigned char other[32] = {9};
    struct signing_pair pair[2];
    unsigned count = 0;
    struct signing_key key = rotate();
    newest(pair);
    for (size_t i = 0; i + 16 <= sizeof key.sealed; i++)
        cr_expect_neq(memcmp(key.sealed + i, pair[0].secret_key, 16), 0);
    cr_expect_eq(signing_keys_newest(f.db, other, pair, &count), DB_FAILED);
    cr_expect_not_null(strstr(db_last_error(f.db), "signing.key"), "%s", db_last_error(f.db));
}

Test(signing_keys, stay_as_they_are)
{
    rotate();
    cr_expect_eq(fixture_sql(f.db, "DELETE FROM signing_keys"), DB_FAILED);
    cr_expect_eq(fixture_sql(f.db, "UPDATE signing_keys SET since_ms = 0"), DB_FAILED);
    cr_assert_eq(fixture_sql(f.db, "DROP TRIGGER signing_keys_fixed"), DB_OK);
    cr_assert_eq(fixture_sql(f.db, "UPDATE signing_keys SET since_ms = 0"), DB_OK);
    struct signing_pair pair[2];
    unsigned count = 0;
    cr_expect_eq(signing_keys_newest(f.db, root, pair, &count), DB_FAILED);
    cr_expect_str_eq(db_damage(f.db), "signing_keys 2");
}

Test(signing_keys, end_with_the_most_that_verifiers_read)
{
    struct signing_key key;
    for (unsigned i = 1; i < SIGNING_KEYS_MOST; i++)
        rotate();
    cr_expect_eq(db_transact(f.db, add, &key), DB_NONE);
    cr_expect_eq(rotations_in_trail(), SIGNING_KEYS_MOST - 1);
}

/* Two connections, as two servers: the one sees the key that the other has made. */
Test(signing_keys, are_the_same_on_every_connection)
{
    struct db *other = fixture_connect(&f);
    struct signing_pair pair[2];
    struct signing_key key;
    unsigned count = 0;
    cr_assert_eq(signing_keys_newest(other, root, pair, &count), DB_OK);
    cr_expect_eq(pair[0].number, 1);
    rotate();
    cr_assert_eq(db_transact(other, add, &key), DB_OK);
    cr_expect_eq(key.number, 3);
    newest(pair);
    cr_expect_arr_eq(pair[0].secret_key + 32, key.public_key, 32);
    db_close(other);
}
