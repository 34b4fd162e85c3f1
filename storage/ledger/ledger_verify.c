/* The auditor. It trusts only the entries: it computes every sum and every hash again, one account
 * after the other. */
#include "storage/ledger/ledger_verify.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_post.h"

struct audit {
    crypto_generichash_state head; /* first: it is aligned to 64 bytes */
    struct ledger_account sums;    /* of the account in hand: id, balances, entries, head, budget */
    struct db *db;
    struct ledger_report *report;
    int64_t entries; /* entries that were seen, readable or not */
    bool chained;    /* no break of this account's chain was reported yet */
};

static void report_fault(struct audit *audit, const char *account, int64_t sequence,
                         const char *what)
{
    struct ledger_report *report = audit->report;
    report->fault_count++;
    if (report->described == LEDGER_FAULTS_MAX)
        return;
    struct ledger_fault *fault = &report->faults[report->described++];
    snprintf(fault->account, sizeof fault->account, "%s", account);
    snprintf(fault->what, sizeof fault->what, "%s", what);
    fault->sequence = sequence;
}

/* Before the sums of the account move. */
static void audit_place(struct audit *audit, struct ledger_entry *entry)
{
    const struct ledger_account *sums = &audit->sums;
    unsigned char hash[LEDGER_HASH_SIZE];
    if (audit->chained && entry->sequence != sums->entries + 1) {
        report_fault(audit, sums->id, entry->sequence,
                     "an entry before this one is missing, or is there twice");
        audit->chained = false;
    }
    memcpy(entry->previous_hash, sums->head, LEDGER_HASH_SIZE);
    ledger_entry_hash(entry, hash);
    if (audit->chained && memcmp(entry->hash, hash, LEDGER_HASH_SIZE) != 0)
        report_fault(audit, sums->id, entry->sequence,
                     "its hash is not that of what it says behind the entry before it");
    if ((entry->kind == LEDGER_ENTRY_OPEN) != (entry->sequence == 1))
        report_fault(audit, sums->id, entry->sequence, "opening stands in the wrong place");
}

static enum db_status audit_entry(void *context, const struct db_row *row)
{
    struct audit *audit = context;
    struct ledger_account *sums = &audit->sums;
    struct ledger_entry entry;
    audit->entries++;
    if (!table_read(&ledger_entries_table, row, false, &entry)) {
        report_fault(audit, sums->id, sums->entries + 1, "the entry cannot be read");
        audit->chained = false;
        return DB_OK;
    }
    audit_place(audit, &entry);
    audit->report->entries++;
    sums->entries++;
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
    {"coalesce(sum(units), 0)", COLUMN_INTEGER, offsetof(struct open_holds, units), 0, NULL},
    {"coalesce(sum(delta_units), 0)", COLUMN_INTEGER, offsetof(struct open_holds, delta_units), 0,
     NULL},
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

static enum db_status audit_account(void *context, const struct db_row *row)
{
    struct audit *audit = context;
    struct ledger_account account;
    audit->report->accounts++;
    if (!table_read(&ledger_accounts_table, row, false, &account)) {
        report_fault(audit, db_row_text(row, 0), 0, "the account cannot be read");
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

static enum db_status audit_all(struct db *db, void *context)
{
    struct ledger_report *report = context;
    struct audit audit = {.db = db, .report = report};
    int64_t entries = 0;
    *report = (struct ledger_report){0};
    crypto_generichash_init(&audit.head, NULL, 0, LEDGER_HASH_SIZE);
    enum db_status status = ledger_batch_write(db);
    if (status == DB_OK)
        status =
            table_rows(db, &ledger_accounts_table, "ORDER BY id", NULL, 0, audit_account, &audit);
    if (status == DB_OK)
        status =
            db_one(db, "SELECT count(*) FROM ledger_entries", NULL, 0, listing_integer, &entries);
    if (status == DB_OK && entries != audit.entries)
        report_fault(&audit, "", 0, "there are entries that belong to no account");
    crypto_generichash_final(&audit.head, report->head, LEDGER_HASH_SIZE);
    return status;
}

enum db_status ledger_verify(struct db *db, struct ledger_report *out)
{
    return db_view(db, audit_all, out);
}
