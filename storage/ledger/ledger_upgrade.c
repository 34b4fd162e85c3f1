/* A row of ledger_blocks is a run of entries of one account, named by the account's number. Each
 * entry is a line: time, kind, the six effects, epsilon, delta, client, resource and event, with a
 * tab after each but the last, and a newline. A field that is the byte 16 is that of the line
 * above. Hashes are not stored but for the one that the run follows. */
#include "storage/ledger/ledger_upgrade.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/listing.h"
#include "storage/ledger/ledger_post.h"

#define FIELDS 13
#define DITTO  "\x10"

struct old_block {
    int64_t first, count;
    unsigned char previous_hash[LEDGER_HASH_SIZE];
    char *lines;
};

static const struct column old_block_columns[] = {
    COLUMN(old_block, first, INTEGER),
    COLUMN(old_block, count, INTEGER),
    COLUMN(old_block, previous_hash, BYTES),
    COLUMN(old_block, lines, POINTER),
};

static const struct table old_blocks_table =
    TABLE("ledger_blocks", old_block, old_block_columns, 0);

struct upgrade {
    struct db *db;
    char *error;
    enum db_status status; /* the error that stopped the upgrade; DB_OK: none */
    int64_t blocks;
    struct ledger_entry entry; /* the last entry that was copied */
};

/* Stores the error and returns false, so that lists end. */
static bool upgrade_stop(struct upgrade *upgrade, const char *what)
{
    upgrade->status = DB_FAILED;
    snprintf(upgrade->error, DB_ERROR_SIZE, "the ledger cannot be migrated: %s, entry %lld: %s",
             upgrade->entry.account ? upgrade->entry.account : "",
             (long long)upgrade->entry.sequence, what);
    return false;
}

/* Cuts LINE into its fields. A field that is a ditto keeps its former value. */
static bool cut_fields(char *line, const char *fields[FIELDS])
{
    for (unsigned i = 0; i < FIELDS; i++) {
        char *end = strchr(line, i + 1 < FIELDS ? '\t' : '\0');
        if (!end)
            return false;
        if (*end == '\t')
            *end = '\0';
        if (strcmp(line, DITTO) != 0)
            fields[i] = line;
        if (!fields[i] || strchr(fields[i], '\t'))
            return false;
        line = end + 1;
    }
    return true;
}

static bool read_fields(const char *const fields[FIELDS], struct ledger_entry *entry)
{
    int64_t *const integers[] = {&entry->time_ms,     NULL,
                                 &entry->limit_units, &entry->spent_units,
                                 &entry->held_units,  &entry->limit_delta,
                                 &entry->spent_delta, &entry->held_delta};
    double *const reals[] = {&entry->epsilon, &entry->delta};
    char *end;
    for (unsigned i = 0; i < 8; i++) {
        if (!integers[i])
            continue;
        *integers[i] = strtoll(fields[i], &end, 10);
        if (*end != '\0' || end == fields[i])
            return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        *reals[i] = strtod(fields[8 + i], &end);
        if (*end != '\0' || end == fields[8 + i])
            return false;
    }
    entry->client = fields[10];
    entry->resource = fields[11];
    entry->event = fields[12];
    return ledger_entry_kind_find(fields[1], &entry->kind);
}

/* Copies the entries of COUNT lines. LINES is changed: its separators become NULs. */
static bool copy_lines(struct upgrade *upgrade, char *lines, int64_t count)
{
    const char *fields[FIELDS] = {NULL};
    struct ledger_entry *entry = &upgrade->entry;
    for (; count > 0; count--) {
        char *end = strchr(lines, '\n');
        if (!end)
            return upgrade_stop(upgrade, "a line is missing");
        *end = '\0';
        entry->sequence++;
        memcpy(entry->previous_hash, entry->hash, LEDGER_HASH_SIZE);
        if (!cut_fields(lines, fields) || !read_fields(fields, entry))
            return upgrade_stop(upgrade, "the line cannot be read");
        ledger_entry_hash(entry, entry->hash);
        upgrade->status = db_owed(table_insert(upgrade->db, &ledger_entries_table, entry, NULL, 0));
        if (upgrade->status != DB_OK)
            return false;
        lines = end + 1;
    }
    return *lines == '\0' || upgrade_stop(upgrade, "there are more lines than entries");
}

static bool copy_block(void *context, const void *row)
{
    struct upgrade *upgrade = context;
    const struct old_block *block = row;
    upgrade->blocks++;
    if (block->first != upgrade->entry.sequence + 1)
        return upgrade_stop(upgrade, "the next one is missing");
    if (memcmp(upgrade->entry.hash, block->previous_hash, LEDGER_HASH_SIZE) != 0)
        return upgrade_stop(upgrade, "the next one follows another");
    char *lines = memory_copy_text(block->lines);
    bool good = copy_lines(upgrade, lines, block->count);
    free(lines);
    return good;
}

static bool copy_account(void *context, const void *row)
{
    struct upgrade *upgrade = context;
    const struct ledger_account *account = row;
    struct db_value values[] = {db_text(account->id)};
    upgrade->entry = (struct ledger_entry){.account = account->id};
    ledger_genesis(account, upgrade->entry.hash);
    enum db_status status = table_list(
        upgrade->db, &old_blocks_table,
        "WHERE account = (SELECT number FROM ledger_accounts WHERE id = $1) ORDER BY first", values,
        1, copy_block, upgrade);
    if (upgrade->status == DB_OK)
        upgrade->status = status;
    if (upgrade->status != DB_OK)
        return false;
    return (upgrade->entry.sequence == account->entries &&
            memcmp(upgrade->entry.hash, account->head, LEDGER_HASH_SIZE) == 0) ||
           upgrade_stop(upgrade, "the account says that another one is its last");
}

enum db_status ledger_upgrade(struct db *db, char error[DB_ERROR_SIZE])
{
    struct upgrade upgrade = {.db = db, .error = error};
    int64_t blocks = 0;
    enum db_status status =
        table_list(db, &ledger_accounts_table, "ORDER BY id", NULL, 0, copy_account, &upgrade);
    if (upgrade.status != DB_OK)
        return upgrade.status;
    if (status == DB_OK)
        status =
            db_one(db, "SELECT count(*) FROM ledger_blocks", NULL, 0, listing_integer, &blocks);
    upgrade.entry = (struct ledger_entry){.account = "none"};
    if (status == DB_OK && blocks != upgrade.blocks)
        (void)upgrade_stop(&upgrade, "there are entries that belong to no account");
    return status == DB_OK ? upgrade.status : status;
}
