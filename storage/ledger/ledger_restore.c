#include "storage/ledger/ledger_restore.h"

#include <math.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_post.h"

#define NOTHING_RAN "{\"type\":\"NoOpDpEvent\"}"

/* ---- one account */

void ledger_mark_name(const struct ledger_account *account, char out[MARKS_NAME_SIZE])
{
    marks_name(ledger_kind_name(account->kind), account->resource, account->client, out);
}

static int64_t lesser_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t missing_to(int64_t mark, int64_t balance)
{
    return mark > balance ? mark - balance : 0;
}

/* Raises the limit to MARK: it was greater when the mark was written. Where it was greater and is
 * not needed, two entries say so, and leave it as it is. */
static enum db_status raise_to_mark(struct db *db, struct ledger_account *account,
                                    const struct mark *mark, const char *event, int64_t now_ms)
{
    const double epsilon = account->epsilon, delta = account->delta;
    struct ledger_limits limits;
    struct ledger_entry entry = {.time_ms = now_ms,
                                 .kind = LEDGER_ENTRY_LIMIT,
                                 .limit_units = missing_to(mark->used.units, account->limit_units),
                                 .limit_delta = missing_to(mark->used.delta, account->limit_delta),
                                 .epsilon = fmax(mark->epsilon, epsilon),
                                 .delta = fmax(mark->delta, delta),
                                 .client = "",
                                 .resource = account->resource,
                                 .event = event};
    bool missing = entry.limit_units != 0 || entry.limit_delta != 0;
    enum db_status status = ledger_limits(db, account->id, &limits);
    if (status != DB_OK)
        return db_owed(status);
    if (!missing && mark->epsilon <= limits.greatest_epsilon &&
        mark->delta <= limits.greatest_delta)
        return DB_OK;
    status = ledger_post(db, account, &entry);
    entry.epsilon = epsilon;
    entry.delta = delta;
    return missing || status != DB_OK ? status : ledger_post(db, account, &entry);
}

enum db_status ledger_burn(struct db *db, struct ledger_account *account, const struct mark *mark,
                           const char *resource, const char *event, int64_t now_ms)
{
    struct ledger_entry entry = {.time_ms = now_ms,
                                 .kind = LEDGER_ENTRY_RESTORED,
                                 .spent_units = missing_to(mark->used.units, account->spent_units),
                                 .spent_delta = missing_to(mark->used.delta, account->spent_delta),
                                 .client = "",
                                 .resource = resource,
                                 .event = event};
    enum db_status status = raise_to_mark(db, account, mark, event, now_ms);
    if (status != DB_OK || (entry.spent_units == 0 && entry.spent_delta == 0))
        return status;
    return ledger_post(db, account, &entry);
}

enum db_status ledger_burnt(struct db *db, const char *account, int64_t *out_units,
                            int64_t *out_delta)
{
    int64_t burnt[2] = {0, 0};
    enum db_status status =
        db_one(db,
               "SELECT CAST(coalesce(sum(spent_units), 0) AS BIGINT), "
               "CAST(coalesce(sum(spent_delta), 0) AS BIGINT) FROM ledger_entries "
               "WHERE account = $1 AND kind = 'restored'",
               DB_VALUES(db_text(account)), listing_integers, burnt);
    *out_units = burnt[0];
    *out_delta = burnt[1];
    return db_owed(status);
}

/* ---- all accounts */

struct restoring {
    const struct marks *marks;
    int64_t lost_ms;
    const char *resource, *event;
    int64_t now_ms;
    bool shares; /* they alone, or all others */
    struct ledger_restored *out;
};

static double burnt_part(int64_t spent, int64_t limit)
{
    return limit > 0 ? (double)spent / (double)limit : 0;
}

static void count_burnt(struct ledger_restored *out, const struct ledger_account *before,
                        const struct ledger_account *after, bool marked)
{
    const int64_t spent_units = after->spent_units - before->spent_units;
    const int64_t spent_delta = after->spent_delta - before->spent_delta;
    double units = burnt_part(spent_units, after->limit_units);
    double delta = burnt_part(spent_delta, after->limit_delta);
    out->accounts++;
    out->burnt += marked && (spent_units > 0 || spent_delta > 0);
    out->closed += !marked;
    if (marked && units > out->most)
        out->most = units;
    if (marked && delta > out->most)
        out->most = delta;
}

static enum db_status restore_account(struct db *db, struct ledger_account *account, void *context)
{
    const struct restoring *r = context;
    struct ledger_account before = *account;
    struct mark mark = {.used = {0, 0}};
    char name[MARKS_NAME_SIZE];
    if ((account->kind == LEDGER_SHARE) != r->shares)
        return DB_OK;
    ledger_mark_name(account, name);
    /* A mark below what the backup has spent is older than the backup: the newer one is lost. */
    bool marked = marks_find(r->marks, name, &mark) && account->created_ms > r->lost_ms &&
                  mark.used.units >= account->spent_units &&
                  mark.used.delta >= account->spent_delta;
    if (!marked) {
        mark.used.units = marks_greater(mark.used.units, account->limit_units);
        mark.used.delta = marks_greater(mark.used.delta, account->limit_delta);
    }
    if (r->shares) { /* the mark of one that has ended is above what its payer has settled for */
        mark.used.units = lesser_of(mark.used.units, account->limit_units);
        mark.used.delta = lesser_of(mark.used.delta, account->limit_delta);
    }
    enum db_status status = ledger_burn(db, account, &mark, r->resource, r->event, r->now_ms);
    count_burnt(r->out, &before, account, marked);
    return status;
}

/* ---- holds */

struct open_hold {
    char name[ID_SIZE], account[ID_SIZE];
};

static enum db_status read_open(void *context, const struct db_row *row)
{
    struct open_hold *hold = context;
    bool fits =
        db_row_copy(row, 0, hold->name, ID_SIZE) && db_row_copy(row, 1, hold->account, ID_SIZE);
    return fits ? DB_OK : DB_FAILED;
}

static enum db_status end_hold(struct db *db, const struct open_hold *hold, int64_t now_ms)
{
    struct ledger_account share;
    struct ledger_outcome outcome;
    struct ledger_charge charge = {.resource = hold->name, .event = NOTHING_RAN, .now_ms = now_ms};
    enum db_status status = ledger_find(db, hold->name, &share);
    if (status == DB_OK) {
        charge.prices[0] =
            (struct ledger_price){hold->account, share.spent_units, share.spent_delta};
        charge.count = 1;
    }
    status = db_optional(status);
    if (status == DB_OK)
        status = ledger_settle(db, &charge, &outcome);
    return status == DB_OK && outcome.verdict != LEDGER_OK ? DB_FAILED : status;
}

/* Ends all holds. What a job that ran has shown is below the mark. */
static enum db_status end_holds(struct db *db, const struct restoring *r)
{
    struct open_hold hold;
    enum db_status status;
    while ((status = db_one(db, "SELECT hold, account FROM ledger_holds WHERE ended = 0 LIMIT 1",
                            NULL, 0, read_open, &hold)) == DB_OK) {
        status = end_hold(db, &hold, r->now_ms);
        if (status != DB_OK)
            return status;
        r->out->holds++;
    }
    return db_optional(status);
}

enum db_status ledger_restore(struct db *db, const struct marks *marks, int64_t lost_ms,
                              const char *resource, const char *event, int64_t now_ms,
                              struct ledger_restored *out)
{
    struct restoring restoring = {marks, lost_ms, resource, event, now_ms, true, out};
    *out = (struct ledger_restored){.accounts = 0};
    enum db_status status = ledger_each(db, NULL, restore_account, &restoring);
    if (status == DB_OK)
        status = end_holds(db, &restoring);
    restoring.shares = false;
    return status == DB_OK ? ledger_each(db, NULL, restore_account, &restoring) : status;
}
