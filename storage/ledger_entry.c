/* Entries: their canonical bytes, their chain of hashes, and how they move balances.
 *
 * DESIGN. Each entry holds six signed effects, so that every balance of an account is the sum of
 * one column over its entries. The hash covers every field with its length, and the hash of the
 * entry before; the first one's predecessor is the hash of what the account is. */
#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "storage/ledger_post.h"
#include "storage/listing.h"

static const char *const kind_names[] = {
    [LEDGER_ENTRY_OPEN] = "open", [LEDGER_ENTRY_LIMIT] = "limit",   [LEDGER_ENTRY_DEBIT] = "debit",
    [LEDGER_ENTRY_HOLD] = "hold", [LEDGER_ENTRY_SETTLE] = "settle",
};

const char *ledger_entry_kind_name(enum ledger_entry_kind kind)
{
    assert((unsigned)kind < sizeof kind_names / sizeof *kind_names);
    return kind_names[kind];
}

/* ---- canonical bytes: numbers little endian, texts behind their length */

#define FIXED_BYTES 160

struct bytes {
    unsigned char at[FIXED_BYTES];
    size_t size;
};

static void add_integer(struct bytes *bytes, int64_t value)
{
    assert(bytes->size + 8 <= FIXED_BYTES);
    for (unsigned i = 0; i < 8; i++) {
        bytes->at[bytes->size++] = (unsigned char)((uint64_t)value >> (8 * i));
    }
}

static void add_real(struct bytes *bytes, double value)
{
    int64_t bits;
    value += 0.0; /* a database may forget the sign of -0.0 */
    memcpy(&bits, &value, sizeof bits);
    add_integer(bytes, bits);
}

static void hash_text(crypto_generichash_state *state, const char *text)
{
    struct bytes length = {.size = 0};
    size_t size = strlen(text);
    add_integer(&length, (int64_t)size);
    crypto_generichash_update(state, length.at, length.size);
    crypto_generichash_update(state, (const unsigned char *)text, size);
}

void ledger_genesis(const struct ledger_account *account, unsigned char out[LEDGER_HASH_SIZE])
{
    crypto_generichash_state state;
    struct bytes fixed = {.size = 0};
    add_real(&fixed, account->renyi_order);
    add_integer(&fixed, account->created_ms);
    crypto_generichash_init(&state, NULL, 0, LEDGER_HASH_SIZE);
    hash_text(&state, "tacet ledger account 1");
    crypto_generichash_update(&state, fixed.at, fixed.size);
    hash_text(&state, account->id);
    hash_text(&state, ledger_kind_name(account->kind));
    hash_text(&state, account->resource);
    hash_text(&state, account->client);
    hash_text(&state, account->owner);
    hash_text(&state, account->unit);
    crypto_generichash_final(&state, out, LEDGER_HASH_SIZE);
}

void ledger_entry_hash(const struct ledger_entry *entry, unsigned char out[LEDGER_HASH_SIZE])
{
    crypto_generichash_state state;
    struct bytes fixed = {.size = 0};
    add_integer(&fixed, 1); /* version of this form */
    add_integer(&fixed, entry->sequence);
    add_integer(&fixed, entry->time_ms);
    add_integer(&fixed, entry->limit_units);
    add_integer(&fixed, entry->spent_units);
    add_integer(&fixed, entry->held_units);
    add_integer(&fixed, entry->limit_delta);
    add_integer(&fixed, entry->spent_delta);
    add_integer(&fixed, entry->held_delta);
    add_real(&fixed, entry->epsilon);
    add_real(&fixed, entry->delta);
    memcpy(fixed.at + fixed.size, entry->previous_hash, LEDGER_HASH_SIZE);
    fixed.size += LEDGER_HASH_SIZE;
    assert(fixed.size <= FIXED_BYTES);
    crypto_generichash_init(&state, NULL, 0, LEDGER_HASH_SIZE);
    crypto_generichash_update(&state, fixed.at, fixed.size);
    hash_text(&state, ledger_entry_kind_name(entry->kind));
    hash_text(&state, entry->account);
    hash_text(&state, entry->client);
    hash_text(&state, entry->resource);
    hash_text(&state, entry->event);
    crypto_generichash_final(&state, out, LEDGER_HASH_SIZE);
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
        !add(&after.spent_delta, entry->spent_delta) ||
        !add(&after.held_delta, entry->held_delta)) {
        return false;
    }
    if (after.spent_units + after.held_units > after.limit_units ||
        after.spent_delta + after.held_delta > after.limit_delta) {
        return false;
    }
    *account = after;
    return true;
}

/* ---- rows */

enum db_status ledger_entry_insert(struct db *db, const struct ledger_entry *entry)
{
    struct db_value values[] = {
        db_text(entry->account),
        db_integer(entry->sequence),
        db_integer(entry->time_ms),
        db_text(ledger_entry_kind_name(entry->kind)),
        db_integer(entry->limit_units),
        db_integer(entry->spent_units),
        db_integer(entry->held_units),
        db_integer(entry->limit_delta),
        db_integer(entry->spent_delta),
        db_integer(entry->held_delta),
        db_real(entry->epsilon),
        db_real(entry->delta),
        db_text(entry->client),
        db_text(entry->resource),
        db_text(entry->event),
        db_bytes(entry->previous_hash, LEDGER_HASH_SIZE),
        db_bytes(entry->hash, LEDGER_HASH_SIZE),
    };
    return db_run(db,
                  "INSERT INTO ledger_entries (" LEDGER_ENTRY_COLUMNS ") VALUES ($1, $2, $3, $4, "
                  "$5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
                  values, sizeof values / sizeof *values, NULL, NULL);
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

enum db_status ledger_post(struct db *db, struct ledger_account *account,
                           struct ledger_entry *entry)
{
    assert(db_in_transaction(db));
    assert(strlen(entry->event) <= LEDGER_EVENT_BYTES);
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
    enum db_status status = ledger_entry_insert(db, entry);
    if (status == DB_OK && !ledger_desk_move(db, account, &after)) {
        status = ledger_move_row(db, account, &after);
        status = status == DB_NONE ? DB_RETRY : status;
    }
    if (status == DB_OK) {
        *account = after;
        entry->account = account->id;
    }
    return status;
}

static bool read_hash(const struct db_row *row, unsigned index, unsigned char *out)
{
    size_t size = 0;
    const void *bytes = db_row_bytes(row, index, &size);
    if (size != LEDGER_HASH_SIZE) {
        return false;
    }
    memcpy(out, bytes, LEDGER_HASH_SIZE);
    return true;
}

bool ledger_entry_read(const struct db_row *row, struct ledger_entry *out)
{
    const char *kind = db_row_text(row, 3);
    unsigned k = 0;
    while (k <= LEDGER_ENTRY_SETTLE && strcmp(kind, kind_names[k]) != 0) {
        k++;
    }
    *out = (struct ledger_entry){
        .account = db_row_text(row, 0),
        .sequence = db_row_integer(row, 1),
        .time_ms = db_row_integer(row, 2),
        .kind = (enum ledger_entry_kind)k,
        .limit_units = db_row_integer(row, 4),
        .spent_units = db_row_integer(row, 5),
        .held_units = db_row_integer(row, 6),
        .limit_delta = db_row_integer(row, 7),
        .spent_delta = db_row_integer(row, 8),
        .held_delta = db_row_integer(row, 9),
        .epsilon = db_row_real(row, 10),
        .delta = db_row_real(row, 11),
        .client = db_row_text(row, 12),
        .resource = db_row_text(row, 13),
        .event = db_row_text(row, 14),
    };
    return k <= LEDGER_ENTRY_SETTLE && read_hash(row, 15, out->previous_hash) &&
           read_hash(row, 16, out->hash);
}

struct entry_list {
    ledger_entry_fn *each;
    void *context;
};

static enum db_status see_entry(void *context, const struct db_row *row)
{
    const struct entry_list *list = context;
    struct ledger_entry entry;
    if (!ledger_entry_read(row, &entry)) {
        return DB_FAILED;
    }
    return list->each(list->context, &entry) ? DB_OK : DB_NONE;
}

enum db_status ledger_entries(struct db *db, const char *account, int64_t sequence, unsigned limit,
                              ledger_entry_fn *each, void *context)
{
    struct entry_list list = {each, context};
    struct db_value values[] = {db_text(account), db_integer(sequence), db_integer(limit)};
    return listing_end(db_run(db,
                              "SELECT " LEDGER_ENTRY_COLUMNS " FROM ledger_entries "
                              "WHERE account = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
                              values, 3, see_entry, &list));
}
