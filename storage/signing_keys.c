#include "storage/signing_keys.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "storage/digests.h"
#include "storage/ledger/trail.h"

#define SEED    crypto_sign_SEEDBYTES
#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

static const struct column key_columns[] = {
    COLUMN(signing_key, number, INTEGER),   COLUMN(signing_key, since_ms, INTEGER),
    COLUMN(signing_key, public_key, BYTES), COLUMN(signing_key, signature, BYTES),
    COLUMN(signing_key, sealed, BYTES),
};

const struct table signing_keys_table = TABLE_DIGESTED("signing_keys", signing_key, key_columns,
                                                       TABLE_ALL(key_columns), "digest", 1, 0);

void signing_key_id(const unsigned char key[32], char out[SIGNING_ID_SIZE])
{
    unsigned char hash[16];
    crypto_generichash(hash, sizeof hash, key, 32, NULL, 0);
    sodium_bin2hex(out, SIGNING_ID_SIZE, hash, 8);
}

void signing_key_time(int64_t since_ms, char out[SIGNING_TIME_SIZE])
{
    trail_time(since_ms, out, SIGNING_TIME_SIZE);
}

size_t signing_key_text(const unsigned char before[32], const unsigned char key[32],
                        const char *from, char out[SIGNING_TEXT_SIZE])
{
    char x[2][sodium_base64_ENCODED_LEN(32, VARIANT)];
    sodium_bin2base64(x[0], sizeof x[0], key, 32, VARIANT);
    sodium_bin2base64(x[1], sizeof x[1], before, 32, VARIANT);
    return (size_t)snprintf(out, SIGNING_TEXT_SIZE, "tacet key 1 %s follows %s from %.31s\n", x[0],
                            x[1], from);
}

/* The key under which seeds are sealed, and the name of the seed of key NUMBER. */
static void seal_of_key(const unsigned char root[SEED], int64_t number,
                        unsigned char key[KEY_BOX_KEY], char name[48])
{
    static const char purpose[] = "tacet: later signing keys, 1";
    crypto_generichash(key, KEY_BOX_KEY, (const unsigned char *)purpose, sizeof purpose, root,
                       SEED);
    snprintf(name, 48, "signing key %lld", (long long)number);
}

static bool open_pair(const unsigned char root[SEED], const struct signing_key *row,
                      struct signing_pair *out)
{
    unsigned char key[KEY_BOX_KEY], seed[SEED], public_key[32] = {0};
    char name[48];
    seal_of_key(root, row->number, key, name);
    out->number = row->number;
    bool opened = key_box_open(key, name, row->sealed, sizeof row->sealed, seed);
    if (opened)
        crypto_sign_seed_keypair(public_key, out->secret_key, seed);
    sodium_memzero(key, sizeof key);
    sodium_memzero(seed, sizeof seed);
    return opened && memcmp(public_key, row->public_key, sizeof public_key) == 0;
}

TABLE_SHOW(show_signing_key, signing_key);

enum db_status signing_keys_list(struct db *db,
                                 bool (*each)(void *context, const struct signing_key *key),
                                 void *context)
{
    struct show_signing_key list = {each, context};
    return table_list(db, &signing_keys_table, "ORDER BY number", NULL, 0, show_signing_key, &list);
}

struct newest_keys {
    unsigned count;
    struct signing_key row[2];
};

static bool take_newest(void *context, const void *row)
{
    struct newest_keys *newest = context;
    newest->row[newest->count++] = *(const struct signing_key *)row;
    return newest->count < 2;
}

enum db_status signing_keys_newest(struct db *db, const unsigned char root[32],
                                   struct signing_pair out[2], unsigned *out_count)
{
    struct newest_keys newest = {.count = 0};
    unsigned char public_key[32];
    enum db_status status = table_list(db, &signing_keys_table, "ORDER BY number DESC LIMIT 2",
                                       NULL, 0, take_newest, &newest);
    *out_count = 0;
    if (status != DB_OK)
        return status;
    for (; *out_count < newest.count; ++*out_count)
        if (!open_pair(root, &newest.row[*out_count], &out[*out_count]))
            return db_fail(db, "signing_keys", "a key is not sealed under this signing.key");
    if (*out_count == 2)
        return DB_OK;
    out[*out_count].number = 1;
    crypto_sign_seed_keypair(public_key, out[(*out_count)++].secret_key, root);
    return DB_OK;
}

/* Makes in ROW the key that follows BEFORE. */
static void make_next(const unsigned char root[SEED], const struct signing_pair *before,
                      struct signing_key *row)
{
    struct signing_pair pair;
    unsigned char key[KEY_BOX_KEY];
    char name[48], from[SIGNING_TIME_SIZE], text[SIGNING_TEXT_SIZE];
    crypto_sign_keypair(row->public_key, pair.secret_key);
    seal_of_key(root, row->number, key, name);
    key_box_close(key, name, pair.secret_key, SEED, row->sealed); /* its first half is the seed */
    signing_key_time(row->since_ms, from);
    size_t size = signing_key_text(before->secret_key + SEED, row->public_key, from, text);
    crypto_sign_detached(row->signature, NULL, (const unsigned char *)text, size,
                         before->secret_key);
    sodium_memzero(&pair, sizeof pair);
    sodium_memzero(key, sizeof key);
}

static enum db_status raise_time(void *context, const struct db_row *row)
{
    int64_t *ms = context;
    for (unsigned i = 0; i < 2; i++)
        if (db_row_integer(row, i) > *ms)
            *ms = db_row_integer(row, i);
    return DB_OK;
}

/* Makes *MS, the time by the caller's clock, one that no key and no row of the trail is behind. A
 * rotation under a clock that is far ahead therefore dates all later ones, too. */
static enum db_status set_in_order(struct db *db, int64_t *ms)
{
    enum db_status status = db_clock(db, ms);
    if (status != DB_OK)
        return status;
    return db_one(db,
                  "SELECT coalesce((SELECT max(since_ms) FROM signing_keys), 0),"
                  " coalesce((SELECT time_ms FROM audit_trail ORDER BY number DESC LIMIT 1), 0)",
                  NULL, 0, raise_time, ms);
}

enum db_status signing_keys_add(struct db *db, const unsigned char root[32], int64_t now_ms,
                                struct signing_key *out)
{
    struct signing_pair pair[2] = {{.number = 0}};
    unsigned count = 0;
    struct trail_row note = {
        .actor = "operator", .action = SIGNING_ROTATED, .outcome = "ok", .count = 1};
    enum db_status status = signing_keys_newest(db, root, pair, &count);
    if (status == DB_OK)
        status = set_in_order(db, &now_ms);
    *out = (struct signing_key){.number = pair[0].number + 1, .since_ms = note.time_ms = now_ms};
    if (status == DB_OK && out->number > SIGNING_KEYS_MOST)
        status = DB_NONE;
    if (status == DB_OK) {
        make_next(root, &pair[0], out);
        signing_key_id(out->public_key, note.resource);
        status = db_owed(table_insert(db, &signing_keys_table, out, NULL, 0));
    }
    sodium_memzero(pair, sizeof pair);
    return status == DB_OK ? trail_append(db, &note) : status;
}
