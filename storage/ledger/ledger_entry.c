/* Entries: their canonical bytes, their chain of hashes, and how they move balances.
 *
 * DESIGN. Each entry holds six signed effects, so that every balance of an account is the sum of
 * one column over its entries. The hash covers every field with its length, and the hash of the
 * entry before; the first one's predecessor is the hash of what the account is. */
#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_block.h"
#include "storage/ledger/ledger_post.h"

static const char *const kind_names[] = {
    [LEDGER_ENTRY_OPEN] = "open", [LEDGER_ENTRY_LIMIT] = "limit",   [LEDGER_ENTRY_DEBIT] = "debit",
    [LEDGER_ENTRY_HOLD] = "hold", [LEDGER_ENTRY_SETTLE] = "settle",
};

const char *ledger_entry_kind_name(enum ledger_entry_kind kind)
{
    assert((unsigned)kind < sizeof kind_names / sizeof *kind_names);
    return kind_names[kind];
}

bool ledger_entry_kind_find(const char *name, enum ledger_entry_kind *out)
{
    for (unsigned k = 0; k < sizeof kind_names / sizeof *kind_names; k++) {
        if (strcmp(name, kind_names[k]) == 0) {
            *out = (enum ledger_entry_kind)k;
            return true;
        }
    }
    return false;
}

/* ---- canonical bytes: numbers little endian, texts behind their length */

/* Hashing is quickest in one piece, so short fields wait here for each other. */
#define WAITING_BYTES 512

struct bytes {
    crypto_generichash_state state;
    size_t size;
    unsigned char at[WAITING_BYTES];
};

static void begin(struct bytes *bytes)
{
    crypto_generichash_init(&bytes->state, NULL, 0, LEDGER_HASH_SIZE);
    bytes->size = 0;
}

static void add_bytes(struct bytes *bytes, const void *from, size_t size)
{
    if (size > WAITING_BYTES - bytes->size) {
        crypto_generichash_update(&bytes->state, bytes->at, bytes->size);
        bytes->size = 0;
    }
    if (size > WAITING_BYTES) {
        crypto_generichash_update(&bytes->state, from, size);
        return;
    }
    memcpy(bytes->at + bytes->size, from, size);
    bytes->size += size;
}

static void finish(struct bytes *bytes, unsigned char out[LEDGER_HASH_SIZE])
{
    crypto_generichash_update(&bytes->state, bytes->at, bytes->size);
    crypto_generichash_final(&bytes->state, out, LEDGER_HASH_SIZE);
}

static void add_integer(struct bytes *bytes, int64_t value)
{
    unsigned char little[8];
    for (unsigned i = 0; i < 8; i++)
        little[i] = (unsigned char)((uint64_t)value >> (8 * i));
    add_bytes(bytes, little, sizeof little);
}

static void add_real(struct bytes *bytes, double value)
{
    int64_t bits;
    value += 0.0; /* a database may forget the sign of -0.0 */
    memcpy(&bits, &value, sizeof bits);
    add_integer(bytes, bits);
}

static void add_text(struct bytes *bytes, const char *text)
{
    size_t size = strlen(text);
    add_integer(bytes, (int64_t)size);
    add_bytes(bytes, text, size);
}

void ledger_genesis(const struct ledger_account *account, unsigned char out[LEDGER_HASH_SIZE])
{
    struct bytes bytes;
    begin(&bytes);
    add_text(&bytes, "tacet ledger account 1");
    add_real(&bytes, account->renyi_order);
    add_integer(&bytes, account->created_ms);
    add_text(&bytes, account->id);
    add_text(&bytes, ledger_kind_name(account->kind));
    add_text(&bytes, account->resource);
    add_text(&bytes, account->client);
    add_text(&bytes, account->owner);
    add_text(&bytes, account->unit);
    finish(&bytes, out);
}

void ledger_entry_hash(const struct ledger_entry *entry, unsigned char out[LEDGER_HASH_SIZE])
{
    struct bytes bytes;
    begin(&bytes);
    add_integer(&bytes, 1); /* version of this form */
    add_integer(&bytes, entry->sequence);
    add_integer(&bytes, entry->time_ms);
    add_integer(&bytes, entry->limit_units);
    add_integer(&bytes, entry->spent_units);
    add_integer(&bytes, entry->held_units);
    add_integer(&bytes, entry->limit_delta);
    add_integer(&bytes, entry->spent_delta);
    add_integer(&bytes, entry->held_delta);
    add_real(&bytes, entry->epsilon);
    add_real(&bytes, entry->delta);
    add_bytes(&bytes, entry->previous_hash, LEDGER_HASH_SIZE);
    add_text(&bytes, ledger_entry_kind_name(entry->kind));
    add_text(&bytes, entry->account);
    add_text(&bytes, entry->client);
    add_text(&bytes, entry->resource);
    add_text(&bytes, entry->event);
    finish(&bytes, out);
}

/* ---- effects */

static bool add(int64_t *balance, int64_t effect)
{
    return !__builtin_add_overflow(*balance, effect, balance) && *balance >= 0 &&
           *balance <= LEDGER_UNITS_MAX;
}

bool ledger_apply(struct ledger_account *account, const struct ledger_entry *entry)
{
    struct ledger_account after = *account;
    if (!add(&after.limit_units, entry->limit_units) ||
        !add(&after.spent_units, entry->spent_units) ||
        !add(&after.held_units, entry->held_units) ||
        !add(&after.limit_delta, entry->limit_delta) ||
        !add(&after.spent_delta, entry->spent_delta) || !add(&after.held_delta, entry->held_delta))
        return false;
    if (after.spent_units + after.held_units > after.limit_units ||
        after.spent_delta + after.held_delta > after.limit_delta)
        return false;
    *account = after;
    return true;
}

/* ---- the account's row */

enum db_status ledger_move_row(struct db *db, const struct ledger_account *before,
                               const struct ledger_account *after)
{
    struct db_value values[] = {
        db_text(before->id),
        db_integer(before->entries),
        db_integer(after->entries),
        db_bytes(after->head, LEDGER_HASH_SIZE),
        db_integer(after->limit_units - before->limit_units),
        db_integer(after->spent_units - before->spent_units),
        db_integer(after->held_units - before->held_units),
        db_integer(after->limit_delta - before->limit_delta),
        db_integer(after->spent_delta - before->spent_delta),
        db_integer(after->held_delta - before->held_delta),
        db_real(after->epsilon),
        db_real(after->delta),
    };
    /* The condition repeats what C has checked: two pairs of eyes for the rule that matters most.
     */
    return db_hit(db,
                  "UPDATE ledger_accounts SET entries = $3, head = $4, "
                  "limit_units = limit_units + $5, spent_units = spent_units + $6, "
                  "held_units = held_units + $7, limit_delta = limit_delta + $8, "
                  "spent_delta = spent_delta + $9, held_delta = held_delta + $10, "
                  "epsilon = $11, delta = $12 WHERE id = $1 AND entries = $2 "
                  "AND spent_units + held_units + $6 + $7 <= limit_units + $5 "
                  "AND spent_delta + held_delta + $9 + $10 <= limit_delta + $8",
                  values, sizeof values / sizeof *values);
}

/* The entry and the account's row, at once. */
static enum db_status post_row(struct db *db, const struct ledger_account *account,
                               const struct ledger_account *after, const struct ledger_entry *entry)
{
    struct ledger_block *block = calloc(1, sizeof *block);
    if (!block)
        return DB_FAILED;
    bool fits = ledger_block_add(block, entry);
    assert(fits);
    (void)fits;
    enum db_status status = ledger_block_write(db, account->number, block);
    free(block);
    if (status != DB_OK)
        return status;
    status = ledger_move_row(db, account, after);
    return status == DB_NONE ? DB_RETRY : status;
}

enum db_status ledger_post(struct db *db, struct ledger_account *account,
                           struct ledger_entry *entry)
{
    assert(db_in_transaction(db));
    struct ledger_account after = *account;
    bool fits = ledger_apply(&after, entry);
    assert(fits);
    (void)fits;
    entry->account = account->id;
    entry->sequence = after.entries = account->entries + 1;
    memcpy(entry->previous_hash, account->head, LEDGER_HASH_SIZE);
    ledger_entry_hash(entry, entry->hash);
    memcpy(after.head, entry->hash, LEDGER_HASH_SIZE);
    if (entry->kind == LEDGER_ENTRY_LIMIT) {
        after.epsilon = entry->epsilon;
        after.delta = entry->delta;
    }
    enum db_status status = DB_NONE;
    if (!ledger_desk_post(db, account, &after, entry, &status))
        status = post_row(db, account, &after, entry);
    if (status == DB_OK) {
        *account = after;
        entry->account = account->id;
    }
    return status;
}

/* ---- reading */

struct entry_list {
    const char *account;
    int64_t after;
    unsigned left;
    ledger_entry_fn *each;
    void *context;
};

static enum db_status see_block(void *context, const struct db_row *row)
{
    struct entry_list *list = context;
    struct ledger_block_reader reader;
    if (!ledger_block_open(&reader, row, list->account))
        return DB_FAILED;
    enum ledger_block_next next;
    while ((next = ledger_block_next(&reader)) == LEDGER_BLOCK_ENTRY) {
        if (reader.entry.sequence <= list->after)
            continue;
        if (!list->each(list->context, &reader.entry) || --list->left == 0)
            return DB_NONE;
    }
    return next == LEDGER_BLOCK_END ? DB_OK : DB_FAILED;
}

enum db_status ledger_entries(struct db *db, const char *account, int64_t sequence, unsigned limit,
                              ledger_entry_fn *each, void *context)
{
    struct entry_list list = {account, sequence, limit, each, context};
    struct db_value values[] = {db_text(account), db_integer(sequence)};
    enum db_status status = limit == 0 ? DB_OK : ledger_desk_write(db);
    if (status != DB_OK || limit == 0)
        return status;
    /* Blocks never overlap, so the one that holds the next entry is the last that begins there or
     * before. */
    return listing_end(
        db_run(db,
               "SELECT " LEDGER_BLOCK_COLUMNS " FROM ledger_blocks "
               "WHERE account = (SELECT number FROM ledger_accounts WHERE id = $1) AND first >= "
               "(SELECT coalesce(max(first), 0) FROM ledger_blocks WHERE account = "
               "(SELECT number FROM ledger_accounts WHERE id = $1) AND first <= $2 + 1) "
               "ORDER BY first",
               values, 2, see_block, &list));
}
