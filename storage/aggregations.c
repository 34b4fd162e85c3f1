/* Aggregations.
 *
 * DESIGN. A report is one conditional change of the counters (open, and as they were read), one of
 * the agent's, and one row that goes when the update has taken it in: a crash finds all three or
 * none. The parameters lie apart, because they are large and most calls do not want them. */
#include "storage/aggregations.h"

#include <stdlib.h>
#include <string.h>

#include "storage/blobs.h"
#include "storage/db/listing.h"
#include "storage/digests.h"
#include "storage/projects.h"

static const struct column aggregation_columns[] = {
    COLUMN(aggregation_row, id, TEXT),
    COLUMN(aggregation_row, owner, TEXT),
    COLUMN(aggregation_row, name, TEXT),
    COLUMN(aggregation_row, environment, TEXT),
    COLUMN(aggregation_row, state_dim, COUNT),
    COLUMN(aggregation_row, action_count, COUNT),
    COLUMN(aggregation_row, hidden, COUNT),
    COLUMN(aggregation_row, mechanism, TEXT),
    COLUMN(aggregation_row, epsilon, REAL),
    COLUMN(aggregation_row, clip, REAL),
    COLUMN(aggregation_row, projection_clip, REAL),
    COLUMN(aggregation_row, submissions_per_agent, INTEGER),
    COLUMN(aggregation_row, price_units, INTEGER),
    COLUMN(aggregation_row, buffer, INTEGER),
    COLUMN(aggregation_row, learning_rate, REAL),
    COLUMN(aggregation_row, discount, REAL),
    COLUMN(aggregation_row, value_weight, REAL),
    COLUMN(aggregation_row, entropy_weight, REAL),
    COLUMN(aggregation_row, exploration, REAL),
    COLUMN(aggregation_row, exploration_decay, REAL),
    COLUMN(aggregation_row, refuses_stale, FLAG),
    COLUMN(aggregation_row, created_ms, INTEGER),
    COLUMN(aggregation_row, version, INTEGER),
    COLUMN(aggregation_row, reports, INTEGER),
    COLUMN(aggregation_row, applied, INTEGER),
    {"is_open", COLUMN_FLAG, offsetof(struct aggregation_row, open), 0, NULL},
};

const struct table aggregations_table =
    TABLE_DIGESTED("aggregations", aggregation_row, aggregation_columns,
                   TABLE_ALL(aggregation_columns), "digest", 1, 4);

static const struct column parameters_columns[] = BLOB_COLUMNS("aggregation", "bytes");

const struct table aggregation_parameters_table =
    TABLE_DIGESTED("aggregation_parameters", blob, parameters_columns, 2, "digest", 1, 0);

enum db_status aggregations_insert(struct db *db, const struct aggregation_row *row,
                                   const void *scheme, size_t scheme_size, const void *parameters,
                                   size_t parameters_size)
{
    struct table_extra extra = {"scheme", db_bytes(scheme, scheme_size)};
    enum db_status status = table_insert(db, &aggregations_table, row, &extra, 1);
    if (status != DB_OK)
        return status;
    struct blob blob = {.bytes = (char *)(uintptr_t)parameters, .size = parameters_size};
    memcpy(blob.id, row->id, sizeof blob.id);
    return db_owed(table_insert(db, &aggregation_parameters_table, &blob, NULL, 0));
}

enum db_status aggregations_find(struct db *db, const char *id, struct aggregation_row *out,
                                 void *out_scheme, size_t scheme_size)
{
    void *scheme = NULL;
    size_t size = 0;
    enum db_status status = table_find_id(db, &aggregations_table, id, out);
    /* What is missing takes as many statements as what the caller may hide. */
    if ((status == DB_OK || status == DB_NONE) && out_scheme)
        status =
            listing_bytes(db, "SELECT scheme FROM aggregations WHERE id = $1", id, &scheme, &size);
    if (status == DB_OK && out_scheme && size != scheme_size)
        status = DB_FAILED;
    if (status == DB_OK && out_scheme)
        memcpy(out_scheme, scheme, size);
    free(scheme);
    return status;
}

enum db_status aggregations_parameters(struct db *db, const char *id, void **out, size_t *out_size)
{
    return blob_find(db, &aggregation_parameters_table, "WHERE aggregation = $1", id, out,
                     out_size);
}

TABLE_SHOW(show_aggregation, aggregation_row);

enum db_status aggregations_list(struct db *db, const char *owner, const char *client,
                                 const struct listing_page *page, aggregation_fn *each,
                                 void *context)
{
    struct show_aggregation list = {each, context};
    return table_list(
        db, &aggregations_table,
        "WHERE ($1 = '' OR" OWNER_AMONG("$1") ") AND" PROJECTS_ADMIT("$2") "AND" LISTING_PAGE(
            "$3", "$4", "$5"),
        DB_VALUES(db_text_or_empty(owner), db_text_or_empty(client), LISTING_VALUES(page)),
        show_aggregation, &list);
}

enum db_status aggregations_close(struct db *db, const char *id)
{
    return db_change(db, "UPDATE aggregations SET is_open = 0 WHERE id = $1 AND is_open = 1",
                     DB_VALUES(db_text(id)));
}

/* ---- reports */

enum db_status aggregations_agent(struct db *db, const char *id, const char *client,
                                  int64_t *out_reports)
{
    *out_reports = 0;
    enum db_status status =
        db_one(db, "SELECT reports FROM aggregation_agents WHERE aggregation = $1 AND client = $2",
               DB_VALUES(db_text(id), db_text(client)), listing_integer, out_reports);
    return db_optional(status);
}

enum db_status aggregations_accept(struct db *db, struct aggregation_row *row, const char *client,
                                   const void *bytes, size_t size, int64_t now_ms,
                                   int64_t *out_number)
{
    enum db_status status = db_change_one(
        db,
        "INSERT INTO aggregation_agents (aggregation, client, reports) "
        "VALUES ($1, $2, 1) ON CONFLICT (aggregation, client) "
        "DO UPDATE SET reports = aggregation_agents.reports + 1 "
        "WHERE aggregation_agents.reports < $3 RETURNING reports",
        DB_VALUES(db_text(row->id), db_text(client), db_integer(row->submissions_per_agent)),
        listing_integer, out_number);
    if (status != DB_OK)
        return status;
    status =
        db_change(db,
                  "UPDATE aggregations SET reports = reports + 1 WHERE id = $1 AND "
                  "is_open = 1 AND version = $2 AND reports = $3",
                  DB_VALUES(db_text(row->id), db_integer(row->version), db_integer(row->reports)));
    if (status != DB_OK)
        return status == DB_NONE ? DB_RETRY : status;
    row->reports++;
    return db_run(db,
                  "INSERT INTO aggregation_reports (aggregation, sequence, client, number, bytes, "
                  "accepted_ms) VALUES ($1, $2, $3, $4, $5, $6)",
                  DB_VALUES(db_text(row->id), db_integer(row->reports), db_text(client),
                            db_integer(*out_number), db_bytes(bytes, size), db_integer(now_ms)),
                  NULL, NULL);
}

struct report_row {
    char client[ID_SIZE];
    int64_t number;
    char *bytes;
    size_t size;
};

static const struct column report_columns[] = {
    COLUMN(report_row, client, TEXT),
    COLUMN(report_row, number, INTEGER),
    COLUMN_BYTES_OF(report_row, bytes, size),
};

static const struct table reports_table =
    TABLE("aggregation_reports", report_row, report_columns, 0);

struct report_list {
    aggregation_report_fn *each;
    void *context;
};

static bool show_report(void *context, const void *row)
{
    const struct report_list *list = context;
    const struct report_row *report = row;
    return list->each(list->context, report->client, report->number, report->bytes, report->size);
}

enum db_status aggregations_waiting(struct db *db, const char *id, aggregation_report_fn *each,
                                    void *context)
{
    struct report_list list = {each, context};
    return table_list(db, &reports_table, "WHERE aggregation = $1 ORDER BY sequence",
                      DB_VALUES(db_text(id)), show_report, &list);
}

enum db_status aggregations_update(struct db *db, struct aggregation_row *row,
                                   const void *parameters, size_t size)
{
    unsigned char digest[DIGEST_SIZE];
    enum db_status status =
        db_change(db,
                  "UPDATE aggregations SET version = version + 1, applied = reports WHERE id = $1 "
                  "AND version = $2 AND reports = $3",
                  DB_VALUES(db_text(row->id), db_integer(row->version), db_integer(row->reports)));
    if (status != DB_OK)
        return status == DB_NONE ? DB_RETRY : status;
    blob_digest(db, &aggregation_parameters_table, row->id, parameters, size, digest);
    status = db_run(
        db, "UPDATE aggregation_parameters SET bytes = $2, digest = $3 WHERE aggregation = $1",
        DB_VALUES(db_text(row->id), db_bytes(parameters, size), db_bytes(digest, sizeof digest)),
        NULL, NULL);
    if (status == DB_OK) {
        status = db_run(db, "DELETE FROM aggregation_reports WHERE aggregation = $1",
                        DB_VALUES(db_text(row->id)), NULL, NULL);
    }
    if (status == DB_OK) {
        row->version++;
        row->applied = row->reports;
    }
    return status;
}
