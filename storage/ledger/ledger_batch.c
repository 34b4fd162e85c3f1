/* Accounts of a batch: read once, moved in memory by each entry, written once before the commit.
 *
 * DESIGN. All debits of a batch fall on a few accounts, and reading and changing their rows each
 * time was a third of a query's cost. Entries are inserted as they come. The row that is written at
 * the end has the same conditions as any other change: it must still be as it was read, and within
 * its limit. */
#include <string.h>

#include "storage/ledger/ledger_post.h"

#define BATCH_ACCOUNTS 64 /* further accounts are written at once */

struct kept_account {
    struct ledger_account row; /* as the database has it */
    struct ledger_account now;
};

struct kept_accounts {
    unsigned count;
    struct kept_account accounts[BATCH_ACCOUNTS];
};

static enum db_status write_accounts(struct db *db, void *state)
{
    struct kept_accounts *kept = state;
    for (unsigned i = 0; i < kept->count; i++) {
        struct kept_account *account = &kept->accounts[i];
        if (account->row.entries == account->now.entries)
            continue;
        enum db_status status = ledger_move_row(db, &account->row, &account->now);
        if (status != DB_OK)
            return status == DB_NONE ? DB_RETRY : status;
        account->row = account->now;
    }
    return DB_OK;
}

static struct kept_accounts *accounts_of(struct db *db)
{
    return db_batch_state(db, sizeof(struct kept_accounts), write_accounts);
}

static struct kept_account *find_kept(struct kept_accounts *kept, const char *id)
{
    for (unsigned i = 0; kept && i < kept->count; i++)
        if (strcmp(kept->accounts[i].now.id, id) == 0)
            return &kept->accounts[i];
    return NULL;
}

bool ledger_batch_find(struct db *db, const char *id, struct ledger_account *out)
{
    const struct kept_account *account = find_kept(accounts_of(db), id);
    if (account)
        *out = account->now;
    return account != NULL;
}

void ledger_batch_keep(struct db *db, const struct ledger_account *account)
{
    struct kept_accounts *kept = accounts_of(db);
    if (kept && kept->count < BATCH_ACCOUNTS)
        kept->accounts[kept->count++] = (struct kept_account){*account, *account};
}

bool ledger_batch_move(struct db *db, const struct ledger_account *after)
{
    struct kept_account *account = find_kept(accounts_of(db), after->id);
    if (account)
        account->now = *after;
    return account != NULL;
}

enum db_status ledger_batch_write(struct db *db)
{
    struct kept_accounts *kept = accounts_of(db);
    return kept ? write_accounts(db, kept) : DB_OK;
}
