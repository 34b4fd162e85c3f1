/* The auditor. Trusts nothing but the entries: every balance is summed again and every hash made
 * again, one account after the other. */
#include "storage/ledger/ledger_verify.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_block.h"
#include "storage/ledger/ledger_post.h"

struct audit {
    crypto_generichash_state head; /* first: it is aligned to 64 bytes */
    struct ledger_account sums;    /* of the account in hand: id, balances, entries, head, budget */
    struct db *db;
    struct ledger_report *report;
    int64_t blocks;
    bool chained; /* no break of this account's chain was reported yet */
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

static void audit_entry(struct audit *audit, const struct ledger_entry *entry)
{
    struct ledger_account *sums = &audit->sums;
    audit->report->entries++;
    sums->entries++;
    if ((entry->kind == LEDGER_ENTRY_OPEN) != (entry->sequence == 1))
        report_fault(audit, sums->id, entry->sequence, "opening stands in the wrong place");
    if (!ledger_apply(sums, entry))
        report_fault(audit, sums->id, entry->sequence, "breaks 0 <= spent + held <= limit");
    if (entry->kind == LEDGER_ENTRY_OPEN || entry->kind == LEDGER_ENTRY_LIMIT) {
        sums->epsilon = entry->epsilon;
        sums->delta = entry->delta;
    }
    memcpy(sums->head, entry->hash, LEDGER_HASH_SIZE);
}

static enum db_status audit_block(void *context, const struct db_row *row)
{
    struct audit *audit = context;
    struct ledger_account *sums = &audit->sums;
    struct ledger_block_reader reader;
    audit->blocks++;
    if (!ledger_block_open(&reader, row, sums->id)) {
        report_fault(audit, sums->id, sums->entries + 1, "the entry cannot be read");
        audit->chained = false;
        return DB_OK;
    }
    if (audit->chained && reader.entry.sequence != sums->entries) {
        report_fault(audit, sums->id, reader.entry.sequence + 1,
                     "an entry before this one is missing, or is there twice");
        audit->chained = false;
    }
    if (audit->chained && memcmp(reader.entry.hash, sums->head, LEDGER_HASH_SIZE) != 0) {
        report_fault(audit, sums->id, reader.entry.sequence + 1,
                     "does not follow the entry before it");
    }
    enum ledger_block_next next;
    while ((next = ledger_block_next(&reader)) == LEDGER_BLOCK_ENTRY)
        audit_entry(audit, &reader.entry);
    if (next == LEDGER_BLOCK_BROKEN) {
        report_fault(audit, sums->id, reader.entry.sequence, "the entry cannot be read");
        audit->chained = false;
    }
    return DB_OK;
}

static enum db_status see_held(void *context, const struct db_row *row)
{
    int64_t *numbers = context;
    numbers[0] = db_row_integer(row, 0);
    numbers[1] = db_row_integer(row, 1);
    numbers[2] = db_row_integer(row, 2);
    return DB_OK;
}

/* SUMS are what the entries say, ACCOUNT what the row says. */
static void compare(struct audit *audit, const struct ledger_account *account)
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
    if (!ledger_account_read(row, &account)) {
        report_fault(audit, db_row_text(row, 0), 0, "the account cannot be read");
        return DB_OK;
    }
    audit->sums = (struct ledger_account){.entries = 0};
    memcpy(audit->sums.id, account.id, ID_SIZE);
    ledger_genesis(&account, audit->sums.head);
    audit->chained = true;
    struct db_value number[] = {db_integer(account.number)};
    struct db_value values[] = {db_text(account.id)};
    enum db_status status = db_run(audit->db,
                                   "SELECT " LEDGER_BLOCK_COLUMNS " FROM ledger_blocks "
                                   "WHERE account = $1 ORDER BY first",
                                   number, 1, audit_block, audit);
    if (status != DB_OK)
        return status;
    compare(audit, &account);
    int64_t held[3] = {0};
    status = db_one(audit->db,
                    "SELECT coalesce(sum(units), 0), coalesce(sum(delta_units), 0), count(*) "
                    "FROM ledger_holds WHERE account = $1 AND ended = 0",
                    values, 1, see_held, held);
    if (status == DB_OK && (held[0] != account.held_units || held[1] != account.held_delta))
        report_fault(audit, account.id, 0, "what is held is not the sum of the open holds");
    audit->report->open_holds += held[2];
    crypto_generichash_update(&audit->head, (const unsigned char *)account.id, ID_SIZE);
    crypto_generichash_update(&audit->head, account.head, LEDGER_HASH_SIZE);
    return status;
}

static enum db_status audit_all(struct db *db, void *context)
{
    struct ledger_report *report = context;
    struct audit audit = {.db = db, .report = report};
    int64_t blocks = 0;
    *report = (struct ledger_report){0};
    crypto_generichash_init(&audit.head, NULL, 0, LEDGER_HASH_SIZE);
    enum db_status status = ledger_desk_write(db);
    if (status != DB_OK)
        return status;
    status = db_run(db, "SELECT " LEDGER_ACCOUNT_COLUMNS " FROM ledger_accounts ORDER BY id", NULL,
                    0, audit_account, &audit);
    if (status == DB_OK) {
        status =
            db_one(db, "SELECT count(*) FROM ledger_blocks", NULL, 0, listing_integer, &blocks);
    }
    if (status == DB_OK && blocks != audit.blocks)
        report_fault(&audit, "", 0, "there are entries that belong to no account");
    crypto_generichash_final(&audit.head, report->head, LEDGER_HASH_SIZE);
    return status;
}

enum db_status ledger_verify(struct db *db, struct ledger_report *out)
{
    return db_view(db, audit_all, out);
}
