/* Accounts: opened once, found by id or by what they pay for, never removed. */
#include <assert.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_post.h"

static const char *const kind_names[] = {
    [LEDGER_DATASET] = "dataset",
    [LEDGER_TEACHER] = "teacher",
    [LEDGER_CLIENT] = "client",
};

const char *ledger_kind_name(enum ledger_kind kind)
{
    assert((unsigned)kind < sizeof kind_names / sizeof *kind_names);
    return kind_names[kind];
}

bool ledger_account_read(const struct db_row *row, struct ledger_account *out)
{
    const char *kind = db_row_text(row, 1);
    unsigned k = 0;
    while (k <= LEDGER_CLIENT && strcmp(kind, kind_names[k]) != 0)
        k++;
    *out = (struct ledger_account){
        .kind = (enum ledger_kind)k,
        .renyi_order = db_row_real(row, 6),
        .epsilon = db_row_real(row, 7),
        .delta = db_row_real(row, 8),
        .limit_units = db_row_integer(row, 9),
        .spent_units = db_row_integer(row, 10),
        .held_units = db_row_integer(row, 11),
        .limit_delta = db_row_integer(row, 12),
        .spent_delta = db_row_integer(row, 13),
        .held_delta = db_row_integer(row, 14),
        .entries = db_row_integer(row, 15),
        .created_ms = db_row_integer(row, 17),
        .number = db_row_integer(row, 18),
    };
    size_t size = 0;
    const void *head = db_row_bytes(row, 16, &size);
    if (k > LEDGER_CLIENT || size != LEDGER_HASH_SIZE)
        return false;
    memcpy(out->head, head, LEDGER_HASH_SIZE);
    return db_row_copy(row, 0, out->id, sizeof out->id) &&
           db_row_copy(row, 2, out->resource, sizeof out->resource) &&
           db_row_copy(row, 3, out->client, sizeof out->client) &&
           db_row_copy(row, 4, out->owner, sizeof out->owner) &&
           db_row_copy(row, 5, out->unit, sizeof out->unit);
}

static enum db_status see_account(void *context, const struct db_row *row)
{
    return ledger_account_read(row, context) ? DB_OK : DB_FAILED;
}

enum db_status ledger_find(struct db *db, const char *id, struct ledger_account *out)
{
    if (ledger_desk_find(db, id, out))
        return DB_OK;
    struct db_value values[] = {db_text(id)};
    enum db_status status =
        db_one(db, "SELECT " LEDGER_ACCOUNT_COLUMNS " FROM ledger_accounts WHERE id = $1", values,
               1, see_account, out);
    if (status == DB_OK)
        ledger_desk_put(db, out);
    return status;
}

enum db_status ledger_find_for(struct db *db, enum ledger_kind kind, const char *resource,
                               const char *client, struct ledger_account *out)
{
    struct db_value values[] = {db_text(ledger_kind_name(kind)), db_text(resource),
                                db_text(!client ? "" : client)};
    enum db_status written = ledger_desk_write(db);
    if (written != DB_OK)
        return written;
    return db_one(db,
                  "SELECT " LEDGER_ACCOUNT_COLUMNS " FROM ledger_accounts "
                  "WHERE kind = $1 AND resource = $2 AND client = $3",
                  values, 3, see_account, out);
}

struct account_list {
    ledger_account_fn *each;
    void *context;
};

static enum db_status show_account(void *context, const struct db_row *row)
{
    const struct account_list *list = context;
    struct ledger_account account;
    if (!ledger_account_read(row, &account))
        return DB_FAILED;
    return list->each(list->context, &account) ? DB_OK : DB_NONE;
}

#define PAGE_OF_ACCOUNTS LISTING_PAGE("ledger_accounts", "$3", "$4")

enum db_status ledger_list(struct db *db, const char *owner, const char *client, const char *after,
                           unsigned limit, ledger_account_fn *each, void *context)
{
    enum db_status written = ledger_desk_write(db);
    if (written != DB_OK)
        return written;
    struct account_list list = {each, context};
    struct db_value values[] = {db_text(!owner ? "" : owner), db_text(!client ? "" : client),
                                db_text(!after ? "" : after), db_integer(limit)};
    const char *sql = "SELECT " LEDGER_ACCOUNT_COLUMNS " FROM ledger_accounts "
                      "WHERE ($1 = '' OR owner = $1) AND ($2 = '' OR client = $2) "
                      "AND" PAGE_OF_ACCOUNTS;
    if (client) {
        sql = "SELECT " LEDGER_ACCOUNT_COLUMNS " FROM ledger_accounts "
              "WHERE ($1 = '' OR owner = $1) AND client = $2 AND" PAGE_OF_ACCOUNTS;
    } else if (owner) {
        sql = "SELECT " LEDGER_ACCOUNT_COLUMNS " FROM ledger_accounts "
              "WHERE owner = $1 AND ($2 = '' OR client = $2) AND" PAGE_OF_ACCOUNTS;
    }
    return listing_end(db_run(db, sql, values, 4, show_account, &list));
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

/* Fills in the number. */
static enum db_status insert_account(struct db *db, struct ledger_account *a)
{
    struct db_value values[] = {
        db_text(a->id),
        db_text(ledger_kind_name(a->kind)),
        db_text(a->resource),
        db_text(a->client),
        db_text(a->owner),
        db_text(a->unit),
        db_real(a->renyi_order),
        db_real(a->epsilon),
        db_real(a->delta),
        db_bytes(a->head, LEDGER_HASH_SIZE),
        db_integer(a->created_ms),
    };
    return db_one(db,
                  "INSERT INTO ledger_accounts (" LEDGER_ACCOUNT_COLUMNS ") VALUES "
                  "($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, 0, 0, 0, 0, 0, $10, $11, "
                  "(SELECT coalesce(max(number), 0) + 1 FROM ledger_accounts)) "
                  "ON CONFLICT (kind, resource, client) DO NOTHING RETURNING number",
                  values, sizeof values / sizeof *values, listing_integer, &a->number);
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
    assert(copied && (a->client[0] != '\0') == (o->kind == LEDGER_CLIENT));
    (void)copied;
    ledger_genesis(a, a->head);
    enum db_status status = insert_account(db, a);
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
    return ledger_post(db, a, &entry);
}

enum db_status ledger_open_account(struct db *db, const struct ledger_opening *opening,
                                   struct ledger_account *out)
{
    assert(opening->limit_units >= 0 && opening->limit_units <= LEDGER_UNITS_MAX);
    assert(opening->limit_delta >= 0 && opening->limit_delta <= LEDGER_UNITS_MAX);
    struct open_work work = {opening, out};
    return db_transact(db, open_account, &work);
}

/* ---- limits */

struct limit_work {
    const struct ledger_limit *limit;
    enum ledger_verdict verdict;
    struct ledger_account account;
};

static enum db_status change_limit(struct db *db, void *context)
{
    struct limit_work *work = context;
    const struct ledger_limit *l = work->limit;
    struct ledger_account *a = &work->account;
    enum db_status status = ledger_find(db, l->account, a);
    if (status != DB_OK) {
        work->verdict = LEDGER_NO_ACCOUNT;
        return status == DB_NONE ? DB_OK : status;
    }
    if (l->limit_units < a->spent_units + a->held_units ||
        l->limit_delta < a->spent_delta + a->held_delta) {
        work->verdict = LEDGER_TOO_LOW;
        return DB_OK;
    }
    work->verdict = LEDGER_OK;
    struct ledger_entry entry = {.time_ms = l->now_ms,
                                 .kind = LEDGER_ENTRY_LIMIT,
                                 .limit_units = l->limit_units - a->limit_units,
                                 .limit_delta = l->limit_delta - a->limit_delta,
                                 .epsilon = l->epsilon,
                                 .delta = l->delta,
                                 .client = l->client,
                                 .resource = a->resource,
                                 .event = l->event};
    return ledger_post(db, a, &entry);
}

enum db_status ledger_set_limit(struct db *db, const struct ledger_limit *limit,
                                enum ledger_verdict *out_verdict, struct ledger_account *out)
{
    assert(limit->limit_units >= 0 && limit->limit_units <= LEDGER_UNITS_MAX);
    assert(limit->limit_delta >= 0 && limit->limit_delta <= LEDGER_UNITS_MAX);
    struct limit_work work = {.limit = limit};
    enum db_status status = db_transact(db, change_limit, &work);
    if (status != DB_OK)
        return status;
    *out_verdict = work.verdict;
    if (out && work.verdict != LEDGER_NO_ACCOUNT)
        *out = work.account;
    return DB_OK;
}
