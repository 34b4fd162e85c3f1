/* Writes an export. Certificates come before the accounts, so that one pass can compare the heads
 * that they name with the entries. */
#include "api/proof/export.h"

#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/certificate.h"
#include "api/call/tlog.h"
#include "api/json/json_text.h"
#include "api/proof/line_reader.h"
#include "api/proof/row_text.h"
#include "memory/memory.h"
#include "storage/certificate_text.h"
#include "storage/ledger/ledger_chain.h"
#include "storage/ledger/ledger_log.h"
#include "storage/ledger/ledger_reduce.h"
#include "storage/ledger/trail.h"
#include "storage/signing_keys.h"

#define LEAVES  256 /* that are read at once */
#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

struct exporting {
    crypto_generichash_state digest; /* first: it is aligned to 64 bytes */
    const struct app *app;
    struct db *db;
    export_write_fn *write;
    void *context;
    struct buffer line;
    uint64_t log_size;
    long long lines;
    const char *fault;                 /* NULL: none yet */
    struct signing_pair pair[2];       /* the newest key, which signs it, and the one before */
    unsigned char last_key[32];        /* whose line was written last */
    struct ledger_leaf leaves[LEAVES]; /* of the account in hand; those before AT are written */
    unsigned at, leaf_count;
};

/* Writes the line that was built, and begins the next one. */
static bool put_line(struct exporting *e)
{
    (void)buffer_add_text(&e->line, "\n");
    if (e->line.failed)
        e->fault = "a line does not fit into memory";
    else if (!e->write(e->context, e->line.bytes, e->line.size))
        e->fault = "it cannot be written";
    if (e->fault)
        return false;
    crypto_generichash_update(&e->digest, (const unsigned char *)e->line.bytes, e->line.size);
    e->lines++;
    e->line.size = 0;
    return true;
}

static bool put_row(struct exporting *e, const char *name, const struct table *table,
                    const void *row)
{
    (void)buffer_add_format(&e->line, "{\"%s\":", name);
    row_text_write(&e->line, table, row);
    (void)buffer_add_text(&e->line, "}");
    return put_line(e);
}

static bool put_certificate_line(void *context, const struct certificate_any *certificate)
{
    struct exporting *e = context;
    (void)buffer_add_text(&e->line, "{\"certificate\":");
    (void)buffer_add_text(&e->line, certificate->text);
    (void)buffer_add_text(&e->line, "}");
    return put_line(e);
}

/* Reads the leaves of ACCOUNT behind SEQUENCE. */
static bool take_leaves(struct exporting *e, const char *account, int64_t sequence)
{
    e->at = 0;
    if (ledger_log_of(e->db, account, sequence, LEAVES, e->leaves, &e->leaf_count) != DB_OK)
        e->fault = "the log cannot be read";
    return !e->fault;
}

/* A leaf comes behind the entry that it names, or behind the fold that counts this entry. */
static bool put_entry_line(void *context, const struct ledger_entry *entry)
{
    struct exporting *e = context;
    bool good = put_row(e, "entry", &ledger_entries_table, entry);
    while (good && e->at < e->leaf_count && e->leaves[e->at].sequence <= entry->sequence) {
        const struct ledger_leaf *leaf = &e->leaves[e->at++];
        good = put_row(e, "leaf", &ledger_leaves_table, leaf);
        if (good && e->at == LEAVES)
            good = take_leaves(e, entry->account, leaf->sequence);
    }
    return good;
}

static bool put_account_line(void *context, const struct ledger_account *account)
{
    struct exporting *e = context;
    if (!put_row(e, "account", &ledger_accounts_table, account) || !take_leaves(e, account->id, 0))
        return false;
    if (ledger_entries(e->db, account->id, 0, UINT_MAX, put_entry_line, e) != DB_OK && !e->fault)
        e->fault = "the ledger cannot be read";
    return !e->fault;
}

/* A row of the audit trail as its text, whose hash is in the leaf behind it. */
static bool put_trail_line(void *context, const struct trail_row *row)
{
    struct exporting *e = context;
    char text[TRAIL_TEXT_SIZE];
    struct ledger_leaf leaf;
    size_t size = trail_text(row, text);
    (void)buffer_add_text(&e->line, "{\"audit\":");
    (void)buffer_add(&e->line, text, size);
    (void)buffer_add_text(&e->line, "}");
    if (!put_line(e))
        return false;
    if (ledger_log_find(e->db, TRAIL_ACCOUNT, row->number, &leaf) != DB_OK) {
        e->fault = "the log cannot be read";
        return false;
    }
    return put_row(e, "leaf", &ledger_leaves_table, &leaf);
}

/* What is left of a part of the tree whose leaves are removed. */
static bool put_subtree_line(void *context, const struct ledger_subtree *subtree)
{
    struct exporting *e = context;
    char hex[2 * sizeof subtree->hash + 1];
    sodium_bin2hex(hex, sizeof hex, subtree->hash, sizeof subtree->hash);
    (void)buffer_add_format(&e->line,
                            "{\"subtree\":{\"level\":%lld,\"number\":%lld,\"hash\":\"%s\"}}",
                            (long long)subtree->level, (long long)subtree->number, hex);
    return put_line(e);
}

/* The hashes of a tile from which leaves are removed. */
static bool put_tile_line(void *context, const struct ledger_tile *tile)
{
    struct exporting *e = context;
    char hex[2 * sizeof tile->hashes + 1];
    sodium_bin2hex(hex, sizeof hex, tile->hashes, sizeof tile->hashes);
    (void)buffer_add_format(&e->line, "{\"tile\":{\"number\":%lld,\"hashes\":\"%s\"}}",
                            (long long)tile->number, hex);
    return put_line(e);
}

/* Builds the line of the checkpoint, which is written when the view is over and its size stored. */
static enum db_status build_checkpoint(struct exporting *e)
{
    struct buffer note = {.lid = TLOG_NOTE_MOST};
    struct ledger_tree *tree = NULL;
    char *text = NULL;
    enum db_status status = ledger_tree_open(e->db, -1, &tree);
    if (status == DB_OK)
        status = certificate_checkpoint(e->app, e->db, tree, &note);
    if (note.failed)
        e->fault = "the checkpoint does not fit into memory";
    if (status == DB_OK && !e->fault) {
        size_t most = 6 * note.size + 2;
        (void)buffer_add_text(&e->line, "{\"checkpoint\":");
        text = buffer_reserve(&e->line, most);
        e->line.size += text ? json_text_string(note.bytes, text, most) : 0;
        (void)buffer_add_text(&e->line, "}");
        e->log_size = tree->tree.size;
    }
    free(tree);
    buffer_clear(&note);
    return status;
}

/* ---- keys */

#define KEY_TEXT sodium_base64_ENCODED_LEN(crypto_sign_PUBLICKEYBYTES, VARIANT)

static void write_public_key(const unsigned char key[32], char id[SIGNING_ID_SIZE],
                             char x[KEY_TEXT])
{
    signing_key_id(key, id);
    sodium_bin2base64(x, KEY_TEXT, key, 32, VARIANT);
}

/* The line of KEY, which follows the last one from the time FROM on by the signature VALUE. */
static bool put_key(struct exporting *e, const unsigned char key[32], const char *from,
                    const char *value)
{
    char id[SIGNING_ID_SIZE], before[SIGNING_ID_SIZE] = "", x[KEY_TEXT];
    if (from[0] != '\0')
        signing_key_id(e->last_key, before);
    write_public_key(key, id, x);
    memcpy(e->last_key, key, sizeof e->last_key);
    (void)buffer_add_format(&e->line,
                            "{\"key\":{\"kid\":\"%s\",\"x\":\"%s\",\"follows\":\"%s\","
                            "\"from\":\"%s\",\"signature\":\"%s\"}}",
                            id, x, before, from, value);
    return put_line(e);
}

static bool put_later_key(void *context, const struct signing_key *key)
{
    char from[SIGNING_TIME_SIZE], value[sodium_base64_ENCODED_LEN(crypto_sign_BYTES, VARIANT)];
    signing_key_time(key->since_ms, from);
    sodium_bin2base64(value, sizeof value, key->signature, sizeof key->signature, VARIANT);
    return put_key(context, key->public_key, from, value);
}

/* The head names the newest key. All keys follow where there are several. */
static enum db_status put_head(struct exporting *e)
{
    const struct app *app = e->app;
    char id[SIGNING_ID_SIZE], x[KEY_TEXT];
    unsigned count = 0;
    enum db_status status = signing_keys_newest(e->db, app->secret_key, e->pair, &count);
    if (status != DB_OK)
        return status;
    write_public_key(e->pair[0].secret_key + 32, id, x);
    (void)buffer_add_format(&e->line,
                            "{\"export\":{\"version\":%d,\"time_ms\":%lld,"
                            "\"software_version\":\"%s\",\"kid\":\"%s\",\"x\":\"%s\"}}",
                            count > 1 ? EXPORT_VERSION : EXPORT_ONE_KEY,
                            (long long)app->settings.now_ms(), app->settings.version, id, x);
    if (put_line(e) && count > 1 && put_key(e, app->public_key, "", ""))
        status = signing_keys_list(e->db, put_later_key, e);
    return status;
}

/* ---- the whole */

static enum db_status put_rows(struct db *db, void *context)
{
    struct exporting *e = context;
    const struct trail_filter all = {.client = "", .resource = "", .limit = UINT_MAX};
    enum db_status status = put_head(e);
    if (status == DB_OK && !e->fault)
        status = certificate_any_list(db, put_certificate_line, e);
    if (status == DB_OK && !e->fault)
        status = ledger_list(db, NULL, NULL, &(struct listing_page){.limit = UINT_MAX},
                             put_account_line, e);
    if (status == DB_OK && !e->fault)
        status = trail_list(db, &all, put_trail_line, e);
    if (status == DB_OK && !e->fault)
        status = ledger_tiles(db, put_tile_line, e);
    if (status == DB_OK && !e->fault)
        status = ledger_subtrees(db, put_subtree_line, e);
    if (status == DB_OK && !e->fault)
        status = build_checkpoint(e);
    return status;
}

static bool put_end(struct exporting *e)
{
    unsigned char digest[32], signature[crypto_sign_BYTES];
    char hex[65], text[EXPORT_SIGNED_SIZE];
    char value[sodium_base64_ENCODED_LEN(crypto_sign_BYTES, VARIANT)];
    long long lines = e->lines;
    crypto_generichash_final(&e->digest, digest, sizeof digest);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    int size = snprintf(text, sizeof text, EXPORT_SIGNED, lines, hex);
    crypto_sign_detached(signature, NULL, (const unsigned char *)text, (size_t)size,
                         e->pair[0].secret_key);
    sodium_bin2base64(value, sizeof value, signature, sizeof signature, VARIANT);
    (void)buffer_add_format(&e->line,
                            "{\"end\":{\"lines\":%lld,\"digest\":\"%s\",\"signature\":\"%s\"}}",
                            lines, hex, value);
    crypto_generichash_init(&e->digest, NULL, 0, sizeof digest);
    return put_line(e);
}

const char *export_write(const struct app *app, struct db *db, export_write_fn *write,
                         void *context)
{
    struct exporting *e = memory_new_aligned(_Alignof(struct exporting), sizeof *e);
    *e = (struct exporting){
        .app = app, .db = db, .write = write, .context = context, .line = {.lid = LINE_MOST}};
    crypto_generichash_init(&e->digest, NULL, 0, 32);
    enum db_status status = ledger_head_keep_now(db); /* where most end, however long they take */
    if (status == DB_OK)
        status = db_view(db, put_rows, e);
    if (status == DB_OK && !e->fault)
        status = ledger_head_keep(db, e->log_size);
    if (status == DB_OK && !e->fault)
        status = db_settle(db);
    if (status != DB_OK && !e->fault)
        e->fault = db_last_error(db);
    if (!e->fault && put_line(e)) /* the checkpoint */
        (void)put_end(e);
    const char *fault = e->fault;
    sodium_memzero(e->pair, sizeof e->pair);
    buffer_clear(&e->line);
    free(e);
    return fault;
}
