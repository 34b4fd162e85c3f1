/* Accounts: opened once, found by id or by the resource that they pay for, never removed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "storage/db/listing.h"
#include "storage/ledger/ledger_post.h"

static const char *const kind_names[] = {
    [LEDGER_DATASET] = "dataset",
    [LEDGER_TEACHER] = "teacher",
    [LEDGER_CLIENT] = "client",
    [LEDGER_SHARE] = "share",
    NULL,
};

static const struct column account_columns[] = {
    COLUMN(ledger_account, id, TEXT),
    {"kind", COLUMN_WORD, offsetof(struct ledger_account, kind), 0, kind_names},
    COLUMN(ledger_account, resource, TEXT),
    COLUMN(ledger_account, client, TEXT),
    COLUMN(ledger_account, owner, TEXT),
    COLUMN(ledger_account, unit, TEXT),
    COLUMN(ledger_account, renyi_order, REAL),
    COLUMN(ledger_account, epsilon, REAL),
    COLUMN(ledger_account, delta, REAL),
    COLUMN(ledger_account, limit_units, INTEGER),
    COLUMN(ledger_account, spent_units, INTEGER),
    COLUMN(ledger_account, held_units, INTEGER),
    COLUMN(ledger_account, limit_delta, INTEGER),
    COLUMN(ledger_account, spent_delta, INTEGER),
    COLUMN(ledger_account, held_delta, INTEGER),
    COLUMN(ledger_account, entries, INTEGER),
    COLUMN(ledger_account, head, BYTES),
    COLUMN(ledger_account, created_ms, INTEGER),
};

const struct table ledger_accounts_table =
    TABLE("ledger_accounts", ledger_account, account_columns, TABLE_ALL(account_columns));

const char *ledger_kind_name(enum ledger_kind kind)
{
    assert((unsigned)kind < sizeof kind_names / sizeof *kind_names);
    return kind_names[kind];
}

enum db_status ledger_find(struct db *db, const char *id, struct ledger_account *out)
{
    if (ledger_batch_find(db, id, out))
        return DB_OK;
    enum db_status status = table_find_id(db, &ledger_accounts_table, id, out);
    if (status == DB_OK)
        ledger_batch_keep(db, out);
    return status;
}

enum db_status ledger_find_for(struct db *db, enum ledger_kind kind, const char *resource,
                               const char *client, struct ledger_account *out)
{
    struct db_value values[] = {db_text(ledger_kind_name(kind)), db_text(resource),
                                db_text_or_empty(client)};
    enum db_status status = ledger_batch_write(db);
    if (status != DB_OK)
        return status;
    return table_find(db, &ledger_accounts_table,
                      "WHERE kind = $1 AND resource = $2 AND client = $3", values, 3, out);
}

TABLE_SHOW(show_account, ledger_account);

#define PAGE_OF_ACCOUNTS LISTING_PAGE("$3", "$4", "$5")

enum db_status ledger_list(struct db *db, const char *owner, const char *client,
                           const struct listing_page *page, ledger_account_fn *each, void *context)
{
    struct show_account list = {each, context};
    struct db_value values[] = {db_text_or_empty(owner), db_text_or_empty(client),
                                LISTING_VALUES(page)};
    /* Each filter has an index of its own. */
    const char *tail = "WHERE ($1 = '' OR" OWNER_AMONG("$1") ") AND ($2 = '' OR client = $2) "
                                                             "AND" PAGE_OF_ACCOUNTS;
    if (client)
        tail = "WHERE ($1 = '' OR" OWNER_AMONG("$1") ") AND client = $2 AND" PAGE_OF_ACCOUNTS;
    else if (owner && !strchr(owner, ' '))
        tail = "WHERE owner = $1 AND ($2 = '' OR client = $2) AND" PAGE_OF_ACCOUNTS;
    enum db_status status = ledger_batch_write(db);
    if (status != DB_OK)
        return status;
    return table_list(db, &ledger_accounts_table, tail, values, 5, show_account, &list);
}

/* ---- opening */

static bool copy_text(char *out, size_t size, const char *text)
{
    size_t length = !text ? 0 : strlen(text);
    if (length >= size)
        return false;
    memcpy(out, length == 0 ? "" : text, length);
    out[length] = '\0';
    return true;
}

struct open_work {
    const struct ledger_opening *opening;
    struct ledger_account *out;
};

static enum db_status open_account(struct db *db, void *context)
{
    struct open_work *work = context;
    const struct ledger_opening *o = work->opening;
    struct ledger_account *a = work->out;
    *a = (struct ledger_account){.kind = o->kind,
                                 .renyi_order = o->renyi_order,
                                 .epsilon = o->epsilon,
                                 .delta = o->delta,
                                 .created_ms = o->now_ms};
    id_new("acc_", a->id);
    bool copied = copy_text(a->resource, sizeof a->resource, o->resource) &&
                  copy_text(a->client, sizeof a->client, o->client) &&
                  copy_text(a->owner, sizeof a->owner, o->owner) &&
                  copy_text(a->unit, sizeof a->unit, o->unit);
    assert(copied &&
           (a->client[0] != '\0') == (o->kind == LEDGER_CLIENT || o->kind == LEDGER_SHARE));
    (void)copied;
    ledger_genesis(a, a->head);
    enum db_status status = table_insert(db, &ledger_accounts_table, a, NULL, 0);
    if (status != DB_OK)
        return status;
    struct ledger_entry entry = {.time_ms = o->now_ms,
                                 .kind = LEDGER_ENTRY_OPEN,
                                 .limit_units = o->limit_units,
                                 .limit_delta = o->limit_delta,
                                 .epsilon = o->epsilon,
                                 .delta = o->delta,
                                 .client = o->owner,
                                 .resource = a->resource,
                                 .event = o->event};
    struct mark mark;
    char name[MARKS_NAME_SIZE];
    ledger_mark_name(a, name);
    status = ledger_post(db, a, &entry);
    if (status == DB_OK && marks_find_orphan(db, name, &mark))
        status = ledger_burn(db, a, &mark, a->resource, o->event, o->now_ms);
    return status;
}

enum db_status ledger_open_account(struct db *db, const struct ledger_opening *opening,
                                   struct ledger_account *out)
{
    assert(opening->limit_units >= 0 && opening->limit_units <= LEDGER_UNITS_MAX);
    assert(opening->limit_delta >= 0 && opening->limit_delta <= LEDGER_UNITS_MAX);
    struct open_work work = {opening, out};
    return db_transact(db, open_account, &work);
}

/* ---- handing over */

#define ACCOUNTS_AT_ONCE 256

struct account_page {
    struct ledger_account accounts[ACCOUNTS_AT_ONCE];
    unsigned count;
};

static bool collect_account(void *context, const struct ledger_account *account)
{
    struct account_page *page = context;
    page->accounts[page->count++] = *account;
    return true;
}

enum db_status ledger_each(struct db *db, const char *owner, ledger_each_fn *each, void *context)
{
    struct account_page *page = memory_new(1, sizeof *page);
    char after[ID_SIZE] = "";
    struct listing_page rows = {.after = after, .limit = ACCOUNTS_AT_ONCE};
    enum db_status status;
    do {
        page->count = 0;
        status = ledger_list(db, owner, NULL, &rows, collect_account, page);
        for (unsigned i = 0; status == DB_OK && i < page->count; i++) {
            rows.number = page->accounts[i].created_ms;
            memcpy(after, page->accounts[i].id, ID_SIZE);
            status = each(db, &page->accounts[i], context);
        }
    } while (status == DB_OK && page->count == ACCOUNTS_AT_ONCE);
    free(page);
    return status;
}

struct handover {
    const char *client, *event;
    int64_t now_ms;
};

static enum db_status hand_over_account(struct db *db, struct ledger_account *account,
                                        void *context)
{
    const struct handover *handover = context;
    struct ledger_entry entry = {.time_ms = handover->now_ms,
                                 .kind = LEDGER_ENTRY_HANDOVER,
                                 .client = handover->client,
                                 .resource = account->resource,
                                 .event = handover->event};
    return ledger_post(db, account, &entry);
}

enum db_status ledger_hand_over(struct db *db, const char *owner, const char *client,
                                const char *event, int64_t now_ms)
{
    return ledger_each(db, owner, hand_over_account, &(struct handover){client, event, now_ms});
}
