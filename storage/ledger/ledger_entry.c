/* Entries: their canonical bytes, their chain of hashes, and how they move balances.
 *
 * DESIGN. Each entry holds six signed effects, so that every balance of an account is the sum of
 * one column over its entries. The hash covers every field with its length, and the hash of the
 * entry before; the first one's predecessor is the hash of what the account is. */
#include <assert.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_fold.h"
#include "storage/ledger/ledger_log.h"
#include "storage/ledger/ledger_post.h"

static const char *const kind_names[] = {
    [LEDGER_ENTRY_OPEN] = "open",
    [LEDGER_ENTRY_LIMIT] = "limit",
    [LEDGER_ENTRY_DEBIT] = "debit",
    [LEDGER_ENTRY_HOLD] = "hold",
    [LEDGER_ENTRY_SETTLE] = "settle",
    [LEDGER_ENTRY_FOLDED] = "folded",
    [LEDGER_ENTRY_HANDOVER] = "handover",
    [LEDGER_ENTRY_RESTORED] = "restored",
    NULL,
};

static const struct column entry_columns[] = {
    COLUMN(ledger_entry, account, POINTER),
    COLUMN(ledger_entry, sequence, INTEGER),
    COLUMN(ledger_entry, time_ms, INTEGER),
    {"kind", COLUMN_WORD, offsetof(struct ledger_entry, kind), 0, kind_names},
    COLUMN(ledger_entry, limit_units, INTEGER),
    COLUMN(ledger_entry, spent_units, INTEGER),
    COLUMN(ledger_entry, held_units, INTEGER),
    COLUMN(ledger_entry, limit_delta, INTEGER),
    COLUMN(ledger_entry, spent_delta, INTEGER),
    COLUMN(ledger_entry, held_delta, INTEGER),
    COLUMN(ledger_entry, epsilon, REAL),
    COLUMN(ledger_entry, delta, REAL),
    COLUMN(ledger_entry, client, POINTER),
    COLUMN(ledger_entry, resource, POINTER),
    COLUMN(ledger_entry, event, POINTER),
    COLUMN(ledger_entry, hash, BYTES),
};

const struct table ledger_entries_table =
    TABLE("ledger_entries", ledger_entry, entry_columns, TABLE_ALL(entry_columns));

const char *ledger_entry_kind_name(enum ledger_entry_kind kind)
{
    assert((unsigned)kind < sizeof kind_names / sizeof *kind_names - 1);
    return kind_names[kind];
}

bool ledger_entry_kind_find(const char *name, enum ledger_entry_kind *out)
{
    for (unsigned k = 0; kind_names[k]; k++) {
        if (strcmp(name, kind_names[k]) == 0) {
            *out = (enum ledger_entry_kind)k;
            return true;
        }
    }
    return false;
}

/* ---- canonical bytes: numbers are little endian, each text follows its length */

/* Hashing is fastest in one piece, so short fields are collected here first. */
#define WAITING_BYTES 512

struct hashing {
    crypto_generichash_state state;
    size_t size;
    unsigned char at[WAITING_BYTES];
};

static void hash_begin(struct hashing *hashing)
{
    crypto_generichash_init(&hashing->state, NULL, 0, LEDGER_HASH_SIZE);
    hashing->size = 0;
}

static void hash_bytes(struct hashing *hashing, const void *from, size_t size)
{
    if (size > WAITING_BYTES - hashing->size) {
        crypto_generichash_update(&hashing->state, hashing->at, hashing->size);
        hashing->size = 0;
    }
    if (size > WAITING_BYTES) {
        crypto_generichash_update(&hashing->state, from, size);
        return;
    }
    memcpy(hashing->at + hashing->size, from, size);
    hashing->size += size;
}

static void hash_end(struct hashing *hashing, unsigned char out[LEDGER_HASH_SIZE])
{
    crypto_generichash_update(&hashing->state, hashing->at, hashing->size);
    crypto_generichash_final(&hashing->state, out, LEDGER_HASH_SIZE);
}

static void hash_integer(struct hashing *hashing, int64_t value)
{
    unsigned char little[8];
    for (unsigned i = 0; i < 8; i++)
        little[i] = (unsigned char)((uint64_t)value >> (8 * i));
    hash_bytes(hashing, little, sizeof little);
}

static void hash_real(struct hashing *hashing, double value)
{
    int64_t bits;
    value += 0.0; /* a database may forget the sign of -0.0 */
    memcpy(&bits, &value, sizeof bits);
    hash_integer(hashing, bits);
}

static void hash_text(struct hashing *hashing, const char *text)
{
    size_t size = strlen(text);
    hash_integer(hashing, (int64_t)size);
    hash_bytes(hashing, text, size);
}

void ledger_genesis(const struct ledger_account *account, unsigned char out[LEDGER_HASH_SIZE])
{
    struct hashing hashing;
    hash_begin(&hashing);
    hash_text(&hashing, "tacet ledger account 1");
    hash_real(&hashing, account->renyi_order);
    hash_integer(&hashing, account->created_ms);
    hash_text(&hashing, account->id);
    hash_text(&hashing, ledger_kind_name(account->kind));
    hash_text(&hashing, account->resource);
    hash_text(&hashing, account->client);
    hash_text(&hashing, account->owner);
    hash_text(&hashing, account->unit);
    hash_end(&hashing, out);
}

void ledger_entry_hash(const struct ledger_entry *entry, unsigned char out[LEDGER_HASH_SIZE])
{
    struct hashing hashing;
    hash_begin(&hashing);
    hash_integer(&hashing, 1); /* version of this form */
    hash_integer(&hashing, entry->sequence);
    hash_integer(&hashing, entry->time_ms);
    hash_integer(&hashing, entry->limit_units);
    hash_integer(&hashing, entry->spent_units);
    hash_integer(&hashing, entry->held_units);
    hash_integer(&hashing, entry->limit_delta);
    hash_integer(&hashing, entry->spent_delta);
    hash_integer(&hashing, entry->held_delta);
    hash_real(&hashing, entry->epsilon);
    hash_real(&hashing, entry->delta);
    hash_bytes(&hashing, entry->previous_hash, LEDGER_HASH_SIZE);
    hash_text(&hashing, ledger_entry_kind_name(entry->kind));
    hash_text(&hashing, entry->account);
    hash_text(&hashing, entry->client);
    hash_text(&hashing, entry->resource);
    hash_text(&hashing, entry->event);
    hash_end(&hashing, out);
}

/* ---- effects */

static bool effect_add(int64_t *balance, int64_t effect)
{
    return !__builtin_add_overflow(*balance, effect, balance) && *balance >= 0 &&
           *balance <= LEDGER_UNITS_MAX;
}

bool ledger_apply(struct ledger_account *account, const struct ledger_entry *entry)
{
    struct ledger_account after = *account;
    if (!effect_add(&after.limit_units, entry->limit_units) ||
        !effect_add(&after.spent_units, entry->spent_units) ||
        !effect_add(&after.held_units, entry->held_units) ||
        !effect_add(&after.limit_delta, entry->limit_delta) ||
        !effect_add(&after.spent_delta, entry->spent_delta) ||
        !effect_add(&after.held_delta, entry->held_delta))
        return false;
    if (after.spent_units + after.held_units > after.limit_units ||
        after.spent_delta + after.held_delta > after.limit_delta)
        return false;
    *account = after;
    return true;
}

/* ---- the account's row */

/* Of both rows the greater amounts: the change may be undone. */
void ledger_note_mark(struct db *db, const struct ledger_account *before,
                      const struct ledger_account *after)
{
    char name[MARKS_NAME_SIZE];
    const struct marks_amounts from = {before->spent_units + before->held_units,
                                       before->spent_delta + before->held_delta};
    const struct marks_amounts to = {after->spent_units + after->held_units,
                                     after->spent_delta + after->held_delta};
    const struct marks_change change = {
        .used = {marks_greater(from.units, to.units), marks_greater(from.delta, to.delta)},
        .fell = from.units > to.units || from.delta > to.delta,
        .limit = {marks_greater(before->limit_units, after->limit_units),
                  marks_greater(before->limit_delta, after->limit_delta)},
        .epsilon = fmax(before->epsilon, after->epsilon),
        .delta = fmax(before->delta, after->delta),
        .entries = before->entries};
    ledger_mark_name(after, name);
    marks_note(db, name, &change);
}

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
    /* The condition repeats C's check of the most important rule, so that two checks must fail. */
    enum db_status status =
        db_change(db,
                  "UPDATE ledger_accounts SET entries = $3, head = $4, "
                  "limit_units = limit_units + $5, spent_units = spent_units + $6, "
                  "held_units = held_units + $7, limit_delta = limit_delta + $8, "
                  "spent_delta = spent_delta + $9, held_delta = held_delta + $10, "
                  "epsilon = $11, delta = $12 WHERE id = $1 AND entries = $2 "
                  "AND spent_units + held_units + $6 + $7 <= limit_units + $5 "
                  "AND spent_delta + held_delta + $9 + $10 <= limit_delta + $8",
                  values, sizeof values / sizeof *values);
    if (status == DB_OK)
        ledger_note_mark(db, before, after);
    return status == DB_OK ? ledger_log_append(db, after) : status;
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
    enum db_status status = table_append(db, &ledger_entries_table, entry);
    if (status == DB_OK && !ledger_batch_move(db, &after))
        status = ledger_move_row(db, account, &after);
    if (status == DB_OK)
        *account = after;
    return status == DB_NONE ? DB_RETRY : status;
}

/* ---- reading */

struct entry_list {
    int64_t after;
    unsigned char previous_hash[LEDGER_HASH_SIZE];
    ledger_entry_fn *each;
    void *context;
};

static bool show_entry(void *context, const void *row)
{
    struct entry_list *list = context;
    struct ledger_entry entry = *(const struct ledger_entry *)row;
    struct ledger_fold fold;
    memcpy(entry.previous_hash, list->previous_hash, LEDGER_HASH_SIZE);
    if (ledger_fold_read(&entry, &fold)) /* the entry before it may have been folded meanwhile */
        memcpy(entry.previous_hash, fold.previous_hash, LEDGER_HASH_SIZE);
    memcpy(list->previous_hash, entry.hash, LEDGER_HASH_SIZE);
    return entry.sequence == list->after || list->each(list->context, &entry);
}

enum db_status ledger_entries(struct db *db, const char *id, int64_t sequence, unsigned limit,
                              ledger_entry_fn *each, void *context)
{
    struct ledger_account account;
    struct entry_list list = {.after = sequence, .each = each, .context = context};
    enum db_status status = ledger_find(db, id, &account);
    if (status != DB_OK || limit == 0)
        return db_optional(status);
    ledger_genesis(&account, list.previous_hash);
    /* Also reads the entry before the first one, for its hash. */
    struct db_value values[] = {db_text(id), db_integer(sequence),
                                db_integer((int64_t)limit + (sequence > 0))};
    return table_list(db, &ledger_entries_table,
                      "WHERE account = $1 AND sequence >= $2 ORDER BY sequence LIMIT $3", values, 3,
                      show_entry, &list);
}

enum db_status ledger_has_debits(struct db *db, const char *account, bool *out)
{
    struct db_value values[] = {db_text(account)};
    enum db_status status = ledger_batch_write(db);
    if (status == DB_OK)
        status = db_one(db,
                        "SELECT 1 FROM ledger_entries WHERE account = $1 AND (kind IN ("
                        "'debit', 'restored') "
                        "OR (kind = 'hold' AND resource LIKE 'acc!_%' ESCAPE '!')) LIMIT 1",
                        values, 1, listing_ignore, NULL);
    *out = status == DB_OK;
    return db_optional(status);
}
