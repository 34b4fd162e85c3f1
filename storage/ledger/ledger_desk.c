/* Accounts that batches keep in memory: read once, moved with every entry, written once a batch.
 *
 * DESIGN. The entries of an account gather in a block, which becomes one row; so does its balance.
 * The row that is written at the end carries the same conditions as any other: it must still be as
 * it was read, and within its limit. A batch that fails forgets everything, and only batches that
 * are never undone in part keep anything (db_keep.h). Every reader goes through ledger_find or
 * writes first. */
#include <assert.h>
#include <string.h>

#include "storage/db/db_keep.h"
#include "storage/ledger/ledger_block.h"
#include "storage/ledger/ledger_post.h"

#define DESK_ACCOUNTS 128 /* further ones are written as they come, until the batch ends */

struct kept_account {
    struct ledger_account row; /* as the database has it */
    struct ledger_account now;
    bool moved;
    struct ledger_block block; /* of entries that are not written yet */
};

struct desk {
    unsigned count;
    struct kept_account accounts[DESK_ACCOUNTS];
};

static enum db_status write_all(struct db *db, void *kept)
{
    struct desk *desk = kept;
    for (unsigned i = 0; i < desk->count; i++) {
        struct kept_account *account = &desk->accounts[i];
        if (!account->moved)
            continue;
        enum db_status status = ledger_block_write(db, account->now.number, &account->block);
        if (status == DB_OK)
            status = ledger_move_row(db, &account->row, &account->now);
        if (status != DB_OK)
            return status == DB_NONE ? DB_RETRY : status;
        account->row = account->now;
        account->moved = false;
    }
    return DB_OK;
}

static void forget(struct db *db, void *kept)
{
    (void)db;
    ((struct desk *)kept)->count = 0;
}

/* Rows and accounts are the same now. A full desk is cleared for those who ask next. */
static void committed(struct db *db, void *kept)
{
    struct desk *desk = kept;
    if (desk->count == DESK_ACCOUNTS)
        forget(db, kept);
}

static const struct db_keeper keeper = {.place = DB_KEEP_ACCOUNTS,
                                        .size = sizeof(struct desk),
                                        .write = write_all,
                                        .committed = committed,
                                        .forget = forget};

static struct kept_account *find(struct desk *desk, const char *id)
{
    for (unsigned i = 0; i < desk->count; i++)
        if (strcmp(desk->accounts[i].now.id, id) == 0)
            return &desk->accounts[i];
    return NULL;
}

bool ledger_desk_find(struct db *db, const char *id, struct ledger_account *out)
{
    struct desk *desk = db_kept(db, &keeper);
    struct kept_account *account = !desk ? NULL : find(desk, id);
    if (!account)
        return false;
    *out = account->now;
    return true;
}

void ledger_desk_put(struct db *db, const struct ledger_account *account)
{
    struct desk *desk = db_kept(db, &keeper);
    if (!desk || desk->count == DESK_ACCOUNTS)
        return;
    assert(!find(desk, account->id));
    struct kept_account *kept = &desk->accounts[desk->count++];
    kept->row = kept->now = *account;
    kept->moved = false;
    kept->block.count = 0;
    kept->block.size = 0;
}

bool ledger_desk_post(struct db *db, const struct ledger_account *before,
                      const struct ledger_account *after, const struct ledger_entry *entry,
                      enum db_status *out_status)
{
    struct desk *desk = db_kept(db, &keeper);
    struct kept_account *account = !desk ? NULL : find(desk, before->id);
    if (!account)
        return false;
    assert(account->now.entries == before->entries);
    *out_status = DB_OK;
    if (!ledger_block_add(&account->block, entry)) {
        *out_status = ledger_block_write(db, account->now.number, &account->block);
        bool fits = ledger_block_add(&account->block, entry);
        assert(fits);
        (void)fits;
    }
    account->now = *after;
    account->moved = true;
    db_keep_changed(db);
    return true;
}

enum db_status ledger_desk_write(struct db *db)
{
    struct desk *desk = db_kept(db, &keeper);
    return !desk ? DB_OK : write_all(db, desk);
}
