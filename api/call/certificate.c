/* Signing certificates, and the key set that lets anyone check them. */
#include "api/call/certificate.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/tlog.h"
#include "api/json/json_text.h"

#define VARIANT       sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define SIGNATURE_MAX sodium_base64_ENCODED_LEN(crypto_sign_BYTES, VARIANT)
#define KEY_MAX       sodium_base64_ENCODED_LEN(crypto_sign_PUBLICKEYBYTES, VARIANT)

char *certificate_sign(const struct app *app, const json_t *certificate)
{
    size_t size = 0;
    char *text = json_text_write(certificate, true, &size);
    unsigned char signature[crypto_sign_BYTES];
    crypto_sign_detached(signature, NULL, (const unsigned char *)text, size, app->secret_key);
    free(text);
    char value[SIGNATURE_MAX];
    sodium_bin2base64(value, sizeof value, signature, sizeof signature, VARIANT);

    json_t *whole = json_copy((json_t *)certificate);
    json_member_add(&whole, "signature",
                    json_pack("{s:s, s:s, s:s}", "algorithm", "Ed25519", "key_id", app->key_id,
                              "value", value));
    text = json_text_write(whole, true, &size);
    json_decref(whole);
    return text;
}

enum db_status certificate_checkpoint(const struct app *app, struct ledger_tree *tree,
                                      struct buffer *out)
{
    struct tlog_checkpoint checkpoint = {.size = (int64_t)tree->tree.size};
    memcpy(checkpoint.origin, app->log_origin, sizeof checkpoint.origin);
    enum db_status status = ledger_tree_status(tree, merkle_root(&tree->tree, checkpoint.root));
    if (status == DB_OK)
        tlog_checkpoint_add(out, &checkpoint, app->secret_key);
    return status;
}

struct proof_work {
    const struct app *app;
    const struct ledger_account *account;
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
    status = ledger_tree_status(tree, merkle_inclusion(&tree->tree, (uint64_t)leaf.number, &proof));
    if (status == DB_OK) {
        tlog_proof_add(&work->text, leaf.number, &proof);
        status = certificate_checkpoint(work->app, tree, &work->text);
    }
    free(tree);
    return status;
}

enum db_status certificate_proof(const struct app *app, struct db *db,
                                 const struct ledger_account *account, json_t **out)
{
    struct proof_work work = {app, account, {.lid = TLOG_TEXT_MOST}};
    *out = NULL;
    if (!account) {
        *out = json_null();
        return DB_OK;
    }
    enum db_status status = db_view(db, write_proof, &work);
    if (work.text.failed)
        status = DB_MEMORY;
    if (status == DB_OK)
        *out = json_string(work.text.bytes);
    buffer_clear(&work.text);
    return status;
}

json_t *certificate_keys(const struct app *app)
{
    char key[KEY_MAX];
    sodium_bin2base64(key, sizeof key, app->public_key, sizeof app->public_key, VARIANT);
    return json_pack("{s:[{s:s, s:s, s:s, s:s, s:s, s:s}]}", "keys", "kty", "OKP", "crv", "Ed25519",
                     "use", "sig", "alg", "EdDSA", "kid", app->key_id, "x", key);
}
