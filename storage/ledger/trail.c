#include "storage/ledger/trail.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "storage/db/listing.h"
#include "storage/ledger/ledger_log.h"
#include "storage/ledger/ledger_post.h"
#include "storage/ledger/ledger_verify.h"

static const struct column trail_columns[] = {
    COLUMN(trail_row, number, INTEGER), COLUMN(trail_row, time_ms, INTEGER),
    COLUMN(trail_row, actor, TEXT),     COLUMN(trail_row, client, TEXT),
    COLUMN(trail_row, role, TEXT),      COLUMN(trail_row, token, INTEGER),
    COLUMN(trail_row, action, TEXT),    COLUMN(trail_row, resource, TEXT),
    COLUMN(trail_row, subject, TEXT),   COLUMN(trail_row, status, INTEGER),
    COLUMN(trail_row, outcome, TEXT),   COLUMN(trail_row, count, INTEGER),
    COLUMN(trail_row, address, TEXT),   COLUMN(trail_row, request, TEXT),
};

static const struct table trail_table =
    TABLE("audit_trail", trail_row, trail_columns, TABLE_ALL(trail_columns));

void trail_time(int64_t time_ms, char *out, size_t size)
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm utc = {.tm_mday = 1};
    char time[40];
    (void)gmtime_r(&seconds, &utc);
    (void)strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(out, size, "%s.%03dZ", time, (int)(time_ms % 1000));
}

size_t trail_text(const struct trail_row *row, char out[TRAIL_TEXT_SIZE])
{
    char time[48];
    trail_time(row->time_ms, time, sizeof time);
    return (size_t)snprintf(
        out, TRAIL_TEXT_SIZE,
        "{\"number\":%lld,\"time\":\"%s\",\"actor\":\"%s\",\"client\":\"%s\",\"role\":\"%s\","
        "\"token\":%lld,\"action\":\"%s\",\"resource\":\"%s\",\"subject\":\"%s\",\"status\":%lld,"
        "\"outcome\":\"%s\",\"count\":%lld,\"address\":\"%s\",\"request\":\"%s\"}",
        (long long)row->number, time, row->actor, row->client, row->role, (long long)row->token,
        row->action, row->resource, row->subject, (long long)row->status, row->outcome,
        (long long)row->count, row->address, row->request);
}

void trail_hash(const char *text, size_t size, unsigned char out[LEDGER_HASH_SIZE])
{
    crypto_generichash(out, LEDGER_HASH_SIZE, (const unsigned char *)text, size, NULL, 0);
}

static void trail_row_hash(const struct trail_row *row, unsigned char out[LEDGER_HASH_SIZE])
{
    char text[TRAIL_TEXT_SIZE];
    trail_hash(text, trail_text(row, text), out);
}

static void clean_text(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
            *text = '?';
}

enum db_status trail_append(struct db *db, struct trail_row *row)
{
    char *texts[] = {row->actor,   row->client,  row->role,    row->action, row->resource,
                     row->subject, row->outcome, row->address, row->request};
    struct ledger_account end = {.id = TRAIL_ACCOUNT};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        clean_text(texts[i]);
    enum db_status status = db_one(db, "SELECT coalesce(max(number), 0) + 1 FROM audit_trail", NULL,
                                   0, listing_integer, &row->number);
    if (status == DB_OK)
        status = table_insert(db, &trail_table, row, NULL, 0);
    if (status != DB_OK)
        return db_owed(status);
    end.entries = row->number;
    trail_row_hash(row, end.head);
    return ledger_log_append(db, &end);
}

TABLE_SHOW(show_trail, trail_row);

enum db_status trail_list(struct db *db, const struct trail_filter *filter,
                          bool (*each)(void *context, const struct trail_row *row), void *context)
{
    struct show_trail show = {each, context};
    return table_list(
        db, &trail_table,
        "WHERE number > $1 AND ($2 = '' OR client = $2) AND ($3 = '' OR resource = $3 OR "
        "subject = $3) AND time_ms >= $4 AND ($5 = 0 OR time_ms < $5) ORDER BY number LIMIT $6",
        DB_VALUES(db_integer(filter->after), db_text(filter->client), db_text(filter->resource),
                  db_integer(filter->since_ms), db_integer(filter->until_ms),
                  db_integer(filter->limit)),
        show_trail, &show);
}

/* ---- the auditor's part */

struct trail_audit {
    struct db *db;
    struct ledger_report *report;
    int64_t rows;
};

static enum db_status audit_trail_row(void *context, const struct db_row *found)
{
    struct trail_audit *audit = context;
    struct trail_row row;
    struct ledger_leaf leaf;
    unsigned char hash[LEDGER_HASH_SIZE];
    audit->rows++;
    if (!table_read(&trail_table, found, false, &row) || row.number != audit->rows) {
        ledger_report_fault(audit->report, TRAIL_ACCOUNT, audit->rows,
                            "a row of the audit trail is missing or cannot be read");
        return DB_NONE;
    }
    trail_row_hash(&row, hash);
    enum db_status status = ledger_log_find(audit->db, TRAIL_ACCOUNT, row.number, &leaf);
    if (status == DB_NONE || (status == DB_OK && memcmp(leaf.head, hash, sizeof hash) != 0))
        ledger_report_fault(audit->report, TRAIL_ACCOUNT, row.number,
                            "the row of the audit trail is not the one that the log has");
    return db_optional(status);
}

static enum db_status report_covered(void *context, const struct db_row *found)
{
    ledger_report_fault(context, TRAIL_ACCOUNT, db_row_integer(found, 0),
                        "the dataset says that its budget covers all, which this row denies");
    return DB_OK;
}

/* No dataset is covered again. */
static enum db_status audit_covered(struct db *db, struct ledger_report *report)
{
    return db_run(db,
                  "SELECT t.number FROM audit_trail t JOIN datasets d ON d.id = t.resource"
                  " WHERE t.action = $1 AND d.uncovered = 0 ORDER BY t.number",
                  DB_VALUES(db_text(TRAIL_UNCOVERED)), report_covered, report);
}

enum db_status trail_verify(struct db *db, struct ledger_report *report)
{
    struct trail_audit audit = {.db = db, .report = report};
    int64_t leaves = 0;
    enum db_status status =
        table_rows(db, &trail_table, "ORDER BY number", NULL, 0, audit_trail_row, &audit);
    if (status != DB_OK)
        return db_optional(status);
    status = db_one(db, "SELECT count(*) FROM ledger_leaves WHERE account = $1",
                    DB_VALUES(db_text(TRAIL_ACCOUNT)), listing_integer, &leaves);
    if (status == DB_OK && leaves != audit.rows)
        ledger_report_fault(report, TRAIL_ACCOUNT, audit.rows,
                            "the log has other rows of the audit trail than are there");
    return status == DB_OK ? audit_covered(db, report) : db_owed(status);
}
