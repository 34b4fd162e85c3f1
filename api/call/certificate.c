/* Signing certificates, and the key set that lets anyone check them. */
#include "api/call/certificate.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/tlog.h"
#include "api/json/json_text.h"
#include "storage/ledger/ledger_reduce.h"
#include "storage/signing_keys.h"

#define VARIANT       sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define SIGNATURE_MAX sodium_base64_ENCODED_LEN(crypto_sign_BYTES, VARIANT)
#define KEY_MAX       sodium_base64_ENCODED_LEN(crypto_sign_PUBLICKEYBYTES, VARIANT)

/* The text of CERTIFICATE with the signature of PAIR. */
static char *write_signed(const json_t *certificate, const struct signing_pair *pair)
{
    size_t size = 0;
    char *text = json_text_write(certificate, true, &size);
    unsigned char signature[crypto_sign_BYTES];
    crypto_sign_detached(signature, NULL, (const unsigned char *)text, size, pair->secret_key);
    free(text);
    char value[SIGNATURE_MAX], id[SIGNING_ID_SIZE];
    sodium_bin2base64(value, sizeof value, signature, sizeof signature, VARIANT);
    signing_key_id(pair->secret_key + 32, id);

    json_t *whole = json_copy((json_t *)certificate);
    json_member_add(
        &whole, "signature",
        json_pack("{s:s, s:s, s:s}", "algorithm", "Ed25519", "key_id", id, "value", value));
    text = json_text_write(whole, true, &size);
    json_decref(whole);
    return text;
}

struct signer_work {
    const struct app *app;
    struct signing_pair pair[2]; /* the newest first */
    unsigned count;
};

static enum db_status find_signer(struct db *db, void *context)
{
    struct signer_work *work = context;
    return signing_keys_newest(db, work->app->secret_key, work->pair, &work->count);
}

enum db_status certificate_sign(const struct app *app, struct db *db, const json_t *certificate,
                                char **out)
{
    struct signer_work work = {.app = app};
    enum db_status status =
        db_in_transaction(db) ? find_signer(db, &work) : db_transact(db, find_signer, &work);
    *out = status == DB_OK ? write_signed(certificate, &work.pair[0]) : NULL;
    sodium_memzero(&work, sizeof work);
    return status;
}

enum db_status certificate_checkpoint(const struct app *app, struct db *db,
                                      struct ledger_tree *tree, struct buffer *out)
{
    struct tlog_checkpoint checkpoint = {.size = (int64_t)tree->tree.size};
    struct signing_pair pair[2];
    unsigned count = 0;
    memcpy(checkpoint.origin, app->log_origin, sizeof checkpoint.origin);
    enum db_status status = ledger_tree_status(tree, merkle_root(&tree->tree, checkpoint.root));
    if (status == DB_OK)
        status = signing_keys_newest(db, app->secret_key, pair, &count);
    if (status == DB_OK)
        tlog_checkpoint_add(out, &checkpoint, pair[0].secret_key);
    if (status == DB_OK && count > 1)
        tlog_signature_add(out, &checkpoint, pair[1].secret_key);
    sodium_memzero(pair, sizeof pair);
    return status;
}

struct proof_work {
    const struct app *app;
    const struct ledger_account *account;
    uint64_t size; /* of the log */
    struct buffer text;
};

static enum db_status write_proof(struct db *db, void *context)
{
    struct proof_work *work = context;
    struct ledger_tree *tree = NULL;
    struct ledger_leaf leaf;
    struct merkle_proof proof;
    enum db_status status = ledger_log_find(db, work->account->id, work->account->entries, &leaf);
    if (status == DB_OK)
        status = ledger_tree_open(db, -1, &tree);
    if (status != DB_OK)
        return db_owed(status);
    work->size = tree->tree.size;
    status = ledger_tree_status(tree, merkle_inclusion(&tree->tree, (uint64_t)leaf.number, &proof));
    if (status == DB_OK) {
        tlog_proof_add(&work->text, leaf.number, &proof);
        status = certificate_checkpoint(work->app, db, tree, &work->text);
    }
    free(tree);
    return status;
}

enum db_status certificate_proof_read(const struct app *app, struct db *db,
                                      const struct ledger_account *account, json_t **out,
                                      uint64_t *out_size)
{
    struct proof_work work = {.app = app, .account = account, .text = {.lid = TLOG_TEXT_MOST}};
    *out = NULL;
    *out_size = 0;
    if (!account) {
        *out = json_null();
        return DB_OK;
    }
    enum db_status status = db_view(db, write_proof, &work);
    if (work.text.failed)
        status = DB_MEMORY;
    if (status == DB_OK)
        *out = json_string(work.text.bytes);
    *out_size = work.size;
    buffer_clear(&work.text);
    return status;
}

enum db_status certificate_proof(const struct app *app, struct db *db,
                                 const struct ledger_account *account, json_t **out)
{
    uint64_t size;
    enum db_status status = certificate_proof_read(app, db, account, out, &size);
    if (status == DB_OK)
        status = ledger_head_keep(db, size);
    if (status != DB_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

/* ---- the key set */

struct key_set {
    json_t *keys;
    unsigned char last[32]; /* the one that was added last */
};

/* Puts KEY in front of SET. FOLLOWS, what the key before it signed, or NULL, is passed on. */
static void add_public_key(struct key_set *set, const unsigned char key[32], json_t *follows)
{
    char text[KEY_MAX], id[SIGNING_ID_SIZE];
    signing_key_id(key, id);
    sodium_bin2base64(text, sizeof text, key, 32, VARIANT);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "kty", "OKP", "crv", "Ed25519",
                             "use", "sig", "alg", "EdDSA", "kid", id, "x", text);
    if (follows)
        json_object_set_new(json, "follows", follows);
    json_array_insert_new(set->keys, 0, json);
    memcpy(set->last, key, sizeof set->last);
}

static bool add_later_key(void *context, const struct signing_key *key)
{
    struct key_set *set = context;
    char id[SIGNING_ID_SIZE], from[SIGNING_TIME_SIZE], value[SIGNATURE_MAX];
    signing_key_id(set->last, id);
    signing_key_time(key->since_ms, from);
    sodium_bin2base64(value, sizeof value, key->signature, sizeof key->signature, VARIANT);
    add_public_key(set, key->public_key,
                   json_pack("{s:s, s:s, s:s}", "kid", id, "from", from, "signature", value));
    return true;
}

enum db_status certificate_keys(const struct app *app, struct db *db, json_t **out)
{
    struct key_set set = {.keys = json_array()};
    add_public_key(&set, app->public_key, NULL);
    enum db_status status = signing_keys_list(db, add_later_key, &set);
    *out = NULL;
    if (status == DB_OK)
        *out = json_pack("{s:O}", "keys", set.keys);
    json_decref(set.keys);
    return status;
}
