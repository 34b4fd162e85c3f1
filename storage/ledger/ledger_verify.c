/* The auditor. It trusts only the entries: it computes every sum and every hash again, one account
 * after the other. */
#include "storage/ledger/ledger_verify.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "storage/ledger/ledger_fold.h"
#include "storage/ledger/ledger_post.h"

struct audit {
    crypto_generichash_state head; /* first: it is aligned to 64 bytes */
    struct ledger_account sums;    /* of the account in hand: id, balances, entries, head, budget */
    struct db *db;
    struct ledger_report *report;
    int64_t entries; /* that were seen, readable or not, by the index */
    uint64_t names;  /* of entries, by the index that finds them */
    uint64_t holds;  /* that began and ended, by the entries */
    bool chained;    /* no break of this account's chain was reported yet */
};

void ledger_report_fault(struct ledger_report *report, const char *account, int64_t sequence,
                         const char *what)
{
    report->fault_count++;
    if (report->described == LEDGER_FAULTS_MAX)
        return;
    struct ledger_fault *fault = &report->faults[report->described++];
    snprintf(fault->account, sizeof fault->account, "%s", account);
    snprintf(fault->what, sizeof fault->what, "%s", what);
    fault->sequence = sequence;
}

static void report_fault(struct audit *audit, const char *account, int64_t sequence,
                         const char *what)
{
    ledger_report_fault(audit->report, account, sequence, what);
}

/* The hash of a fold is that of an entry that is gone. What it follows is known. */
static bool follows_head(const struct audit *audit, struct ledger_entry *entry,
                         const struct ledger_fold *fold)
{
    unsigned char hash[LEDGER_HASH_SIZE];
    if (fold)
        return memcmp(fold->previous_hash, audit->sums.head, LEDGER_HASH_SIZE) == 0;
    memcpy(entry->previous_hash, audit->sums.head, LEDGER_HASH_SIZE);
    ledger_entry_hash(entry, hash);
    return memcmp(entry->hash, hash, LEDGER_HASH_SIZE) == 0;
}

/* Before the sums of the account move. FOLD: what ENTRY counts, NULL if it is no fold. */
static void audit_place(struct audit *audit, struct ledger_entry *entry,
                        const struct ledger_fold *fold)
{
    const struct ledger_account *sums = &audit->sums;
    if (audit->chained && (fold ? fold->first : entry->sequence) != sums->entries + 1) {
        report_fault(audit, sums->id, entry->sequence,
                     "an entry before this one is missing, or is there twice");
        audit->chained = false;
    }
    if (audit->chained && !follows_head(audit, entry, fold))
        report_fault(audit, sums->id, entry->sequence,
                     "it was changed after it was written, or does not follow the entry before it");
    if ((entry->kind == LEDGER_ENTRY_OPEN) != (entry->sequence == 1))
        report_fault(audit, sums->id, entry->sequence, "opening stands in the wrong place");
}

/* ---- names
 *
 * An index that lost an account would let it be opened anew, and one that lost a hold would let it
 * be held twice. What two tables, or a table and its index, say alike is hashed: the sum of one is
 * the sum of the other. */

/* Adds to *SUM the hash of WHAT, two names and two numbers, or takes it away (SIGN -1). */
static void sum_add(uint64_t *sum, int sign, char what, const char *first, const char *second,
                    const int64_t numbers[2])
{
    static const unsigned char no_key[crypto_shorthash_KEYBYTES];
    char text[512];
    uint64_t hash;
    int size = snprintf(text, sizeof text, "%c %.*s %.*s %" PRId64 " %" PRId64, what, ID_SIZE,
                        first, NAME_SIZE, second, numbers[0], numbers[1]);
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)text, (unsigned long long)size,
                     no_key);
    *sum += sign > 0 ? hash : -hash;
}

static void sum_entry(struct audit *audit, int sign, const struct ledger_entry *entry)
{
    audit->entries += sign;
    sum_add(&audit->names, sign, 'e', entry->account, "", (int64_t[]){entry->sequence, 0});
}

/* The hold of an entry that begins it, or ends it. */
static void sum_hold(struct audit *audit, const struct ledger_entry *entry)
{
    int64_t begun[] = {entry->held_units, entry->held_delta};
    int64_t ended[] = {-entry->held_units, -entry->held_delta};
    if (entry->kind == LEDGER_ENTRY_HOLD)
        sum_add(&audit->holds, 1, 'h', entry->account, entry->resource, begun);
    if (entry->kind == LEDGER_ENTRY_SETTLE)
        sum_add(&audit->holds, 1, 's', entry->account, entry->resource, ended);
}

static enum db_status audit_entry(void *context, const struct db_row *row)
{
    struct audit *audit = context;
    struct ledger_account *sums = &audit->sums;
    struct ledger_entry entry;
    if (!table_read(&ledger_entries_table, row, false, &entry)) {
        report_fault(audit, sums->id, sums->entries + 1, "the entry cannot be read");
        audit->chained = false;
        audit->entries++;
        return DB_OK;
    }
    struct ledger_fold fold = {.first = entry.sequence};
    bool is_fold = entry.kind == LEDGER_ENTRY_FOLDED;
    if (is_fold && !ledger_fold_holds(audit->db, &entry, &fold)) {
        report_fault(audit, sums->id, entry.sequence, "the fold is not as it was stored");
        fold.first = entry.sequence;
    }
    int64_t count = is_fold ? entry.sequence - fold.first + 1 : 1;
    sum_entry(audit, 1, &entry);
    sum_hold(audit, &entry);
    audit_place(audit, &entry, is_fold ? &fold : NULL);
    audit->report->entries += count;
    audit->report->folded += is_fold ? count : 0;
    sums->entries += count;
    if (!ledger_apply(sums, &entry))
        report_fault(audit, sums->id, entry.sequence, "breaks 0 <= spent + held <= limit");
    if (entry.kind == LEDGER_ENTRY_OPEN || entry.kind == LEDGER_ENTRY_LIMIT) {
        sums->epsilon = entry.epsilon;
        sums->delta = entry.delta;
    }
    memcpy(sums->head, entry.hash, LEDGER_HASH_SIZE);
    return DB_OK;
}

struct open_holds {
    int64_t units, delta_units, count;
};

static const struct column open_holds_columns[] = {
    {"CAST(coalesce(sum(units), 0) AS BIGINT)", COLUMN_INTEGER, offsetof(struct open_holds, units),
     0, NULL},
    {"CAST(coalesce(sum(delta_units), 0) AS BIGINT)", COLUMN_INTEGER,
     offsetof(struct open_holds, delta_units), 0, NULL},
    {"count(*)", COLUMN_INTEGER, offsetof(struct open_holds, count), 0, NULL},
};

static const struct table open_holds_table =
    TABLE("ledger_holds", open_holds, open_holds_columns, 0);

/* Compares SUMS, from the entries, with ACCOUNT, from the row. */
static void compare_account(struct audit *audit, const struct ledger_account *account)
{
    const struct ledger_account *sums = &audit->sums;
    if (account->spent_units != sums->spent_units || account->spent_delta != sums->spent_delta)
        report_fault(audit, account->id, 0, "what is spent is not the sum of the entries");
    if (account->held_units != sums->held_units || account->held_delta != sums->held_delta)
        report_fault(audit, account->id, 0, "what is held is not the sum of the entries");
    if (account->limit_units != sums->limit_units || account->limit_delta != sums->limit_delta ||
        account->epsilon != sums->epsilon || account->delta != sums->delta)
        report_fault(audit, account->id, 0, "the limit is not what the entries say");
    if (account->entries != sums->entries ||
        memcmp(account->head, sums->head, LEDGER_HASH_SIZE) != 0)
        report_fault(audit, account->id, 0, "the last entry is not the one that it should be");
}

/* The account must be the one that is found by what it is for. */
static enum db_status audit_index(struct audit *audit, const struct ledger_account *account)
{
    struct ledger_account found = {.id = ""};
    enum db_status status =
        ledger_find_for(audit->db, account->kind, account->resource, account->client, &found);
    if (db_optional(status) == DB_OK && strcmp(found.id, account->id) != 0)
        report_fault(audit, account->id, 0, "it is not found by its resource and client");
    return db_optional(status);
}

static enum db_status audit_account(void *context, const struct db_row *row)
{
    struct audit *audit = context;
    struct ledger_account account;
    char id[ID_SIZE];
    audit->report->accounts++;
    if (!table_read(&ledger_accounts_table, row, false, &account)) {
        (void)db_row_copy(row, 0, id, sizeof id);
        report_fault(audit, id, 0, "the account cannot be read");
        return DB_OK;
    }
    audit->sums = (struct ledger_account){.entries = 0};
    memcpy(audit->sums.id, account.id, ID_SIZE);
    ledger_genesis(&account, audit->sums.head);
    audit->chained = true;
    struct db_value values[] = {db_text(account.id)};
    enum db_status status =
        table_rows(audit->db, &ledger_entries_table, "WHERE account = $1 ORDER BY sequence", values,
                   1, audit_entry, audit);
    if (status != DB_OK)
        return status;
    compare_account(audit, &account);
    status = audit_index(audit, &account);
    if (status != DB_OK)
        return status;
    struct open_holds held = {0};
    status = table_find(audit->db, &open_holds_table, "WHERE account = $1 AND ended = 0", values, 1,
                        &held);
    if (status == DB_OK &&
        (held.units != account.held_units || held.delta_units != account.held_delta))
        report_fault(audit, account.id, 0, "what is held is not the sum of the open holds");
    audit->report->open_holds += held.count;
    crypto_generichash_update(&audit->head, (const unsigned char *)account.id, ID_SIZE);
    crypto_generichash_update(&audit->head, account.head, LEDGER_HASH_SIZE);
    return status;
}

/* Reads the names out of the rows themselves: the index would give its own. A column behind them
 * makes the database read the rows. */
static const struct column stored_columns[] = {
    COLUMN(ledger_entry, account, POINTER),
    COLUMN(ledger_entry, sequence, INTEGER),
    COLUMN(ledger_entry, time_ms, INTEGER),
};

static const struct table stored_entries = TABLE("ledger_entries", ledger_entry, stored_columns, 0);

static bool audit_stored(void *context, const void *row)
{
    sum_entry(context, -1, row);
    return true;
}

struct hold_row {
    char account[ID_SIZE], hold[NAME_SIZE];
    int64_t amounts[2];
    bool ended;
};

static const struct column hold_columns[] = {
    COLUMN(hold_row, account, TEXT),
    COLUMN(hold_row, hold, TEXT),
    {"units", COLUMN_INTEGER, offsetof(struct hold_row, amounts), 0, NULL},
    {"delta_units", COLUMN_INTEGER, offsetof(struct hold_row, amounts[1]), 0, NULL},
    COLUMN(hold_row, ended, FLAG),
};

static const struct table stored_holds = TABLE("ledger_holds", hold_row, hold_columns, 0);

static bool audit_hold(void *context, const void *row)
{
    struct audit *audit = context;
    const struct hold_row *hold = row;
    sum_add(&audit->holds, -1, 'h', hold->account, hold->hold, hold->amounts);
    if (hold->ended)
        sum_add(&audit->holds, -1, 's', hold->account, hold->hold, hold->amounts);
    return true;
}

static enum db_status other_client(void *context, const struct db_row *row)
{
    char account[ID_SIZE];
    (void)db_row_copy(row, 0, account, sizeof account);
    report_fault(context, account, 0, "a hold names another client than its entry");
    return DB_OK;
}

/* Who caused a hold is who its entry names. Before version 28 holds named nobody; those that were
 * open then name their job's owner. */
static enum db_status audit_clients(struct audit *audit)
{
    return db_run(audit->db,
                  "SELECT h.account FROM ledger_entries AS e JOIN ledger_holds AS h "
                  "ON h.hold = e.resource AND h.account = e.account "
                  "WHERE e.kind = 'hold' AND h.client NOT IN (e.client, '') AND NOT EXISTS "
                  "(SELECT 1 FROM jobs WHERE jobs.id = h.hold AND jobs.owner = h.client)",
                  NULL, 0, other_client, audit);
}

/* Compares what the entries said with what stands in the tables. */
static enum db_status audit_tables(struct audit *audit)
{
    enum db_status status =
        table_list(audit->db, &stored_entries, "", NULL, 0, audit_stored, audit);
    if (status == DB_OK && (audit->entries != 0 || audit->names != 0))
        report_fault(audit, "", 0, "there are entries that belong to no account");
    if (status == DB_OK)
        status = table_list(audit->db, &stored_holds, "", NULL, 0, audit_hold, audit);
    if (status == DB_OK && audit->holds != 0)
        report_fault(audit, "", 0, "the holds are not those of the entries");
    if (status == DB_OK)
        status = audit_clients(audit);
    return status;
}

static enum db_status audit_all(struct db *db, void *context)
{
    struct ledger_report *report = context;
    struct audit audit = {.db = db, .report = report};
    *report = (struct ledger_report){0};
    crypto_generichash_init(&audit.head, NULL, 0, LEDGER_HASH_SIZE);
    enum db_status status = ledger_batch_write(db);
    if (status == DB_OK)
        status =
            table_rows(db, &ledger_accounts_table, "ORDER BY id", NULL, 0, audit_account, &audit);
    if (status == DB_OK)
        status = audit_tables(&audit);
    if (status == DB_OK)
        status = ledger_log_verify(db, report);
    crypto_generichash_final(&audit.head, report->head, LEDGER_HASH_SIZE);
    return status;
}

enum db_status ledger_verify(struct db *db, struct ledger_report *out)
{
    return db_view(db, audit_all, out);
}
