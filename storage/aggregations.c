/* Aggregations.
 *
 * DESIGN. A report is one conditional change of the counters (open, and as they were read), one of
 * the agent's, and one row that goes when the update has taken it in: a crash finds all three or
 * none. The parameters lie apart, because they are large and most calls do not want them. */
#include "storage/aggregations.h"

#include <string.h>

#include "storage/db/listing.h"

#define COLUMNS                                                                                    \
    "id, owner, name, environment, state_dim, action_count, hidden, mechanism, epsilon, clip, "    \
    "projection_clip, submissions_per_agent, price_units, buffer, learning_rate, discount, "       \
    "value_weight, entropy_weight, exploration, exploration_decay, refuses_stale, is_open, "       \
    "version, reports, applied, created_ms"
enum { SCHEME = 26 }; /* the column behind them */

static bool read_row(const struct db_row *row, struct aggregation_row *out)
{
    out->state_dim = (uint32_t)db_row_integer(row, 4);
    out->action_count = (uint32_t)db_row_integer(row, 5);
    out->hidden = (uint32_t)db_row_integer(row, 6);
    out->epsilon = db_row_real(row, 8);
    out->clip = db_row_real(row, 9);
    out->projection_clip = db_row_real(row, 10);
    out->submissions_per_agent = db_row_integer(row, 11);
    out->price_units = db_row_integer(row, 12);
    out->buffer = db_row_integer(row, 13);
    out->learning_rate = db_row_real(row, 14);
    out->discount = db_row_real(row, 15);
    out->value_weight = db_row_real(row, 16);
    out->entropy_weight = db_row_real(row, 17);
    out->exploration = db_row_real(row, 18);
    out->exploration_decay = db_row_real(row, 19);
    out->refuses_stale = db_row_integer(row, 20) != 0;
    out->open = db_row_integer(row, 21) != 0;
    out->version = db_row_integer(row, 22);
    out->reports = db_row_integer(row, 23);
    out->applied = db_row_integer(row, 24);
    out->created_ms = db_row_integer(row, 25);
    return db_row_copy(row, 0, out->id, sizeof out->id) &&
           db_row_copy(row, 1, out->owner, sizeof out->owner) &&
           db_row_copy(row, 2, out->name, sizeof out->name) &&
           db_row_copy(row, 3, out->environment, sizeof out->environment) &&
           db_row_copy(row, 7, out->mechanism, sizeof out->mechanism);
}

enum db_status aggregations_insert(struct db *db, const struct aggregation_row *row,
                                   const void *scheme, size_t scheme_size, const void *parameters,
                                   size_t parameters_size)
{
    struct db_value values[] = {
        db_text(row->id),
        db_text(row->owner),
        db_text(row->name),
        db_text(row->environment),
        db_integer(row->state_dim),
        db_integer(row->action_count),
        db_integer(row->hidden),
        db_text(row->mechanism),
        db_real(row->epsilon),
        db_real(row->clip),
        db_real(row->projection_clip),
        db_integer(row->submissions_per_agent),
        db_integer(row->price_units),
        db_integer(row->buffer),
        db_real(row->learning_rate),
        db_real(row->discount),
        db_real(row->value_weight),
        db_real(row->entropy_weight),
        db_real(row->exploration),
        db_real(row->exploration_decay),
        db_integer(row->refuses_stale),
        db_integer(row->open),
        db_integer(row->version),
        db_integer(row->reports),
        db_integer(row->applied),
        db_integer(row->created_ms),
        db_bytes(scheme, scheme_size),
    };
    enum db_status status =
        db_change(db,
                  "INSERT INTO aggregations (" COLUMNS ", scheme) VALUES ($1, $2, $3, $4, $5, $6, "
                  "$7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, "
                  "$23, $24, $25, $26, $27) ON CONFLICT DO NOTHING RETURNING 1",
                  values, sizeof values / sizeof *values, listing_ignore, NULL);
    if (status != DB_OK)
        return status;
    struct db_value weights[] = {db_text(row->id), db_bytes(parameters, parameters_size)};
    return db_run(db, "INSERT INTO aggregation_parameters (aggregation, bytes) VALUES ($1, $2)",
                  weights, 2, NULL, NULL);
}

struct finding {
    struct aggregation_row *row;
    void *scheme;
    size_t scheme_size;
};

static enum db_status see_one(void *context, const struct db_row *row)
{
    struct finding *finding = context;
    size_t size = 0;
    const void *scheme = db_row_bytes(row, SCHEME, &size);
    if (!read_row(row, finding->row) || (finding->scheme && size != finding->scheme_size))
        return DB_FAILED;
    if (finding->scheme)
        memcpy(finding->scheme, scheme, size);
    return DB_OK;
}

enum db_status aggregations_find(struct db *db, const char *id, struct aggregation_row *out,
                                 void *out_scheme, size_t scheme_size)
{
    struct finding finding = {out, out_scheme, scheme_size};
    struct db_value values[] = {db_text(id)};
    return db_one(db, "SELECT " COLUMNS ", scheme FROM aggregations WHERE id = $1", values, 1,
                  see_one, &finding);
}

enum db_status aggregations_parameters(struct db *db, const char *id, void **out, size_t *out_size)
{
    struct listing_bytes bytes = {0};
    struct db_value values[] = {db_text(id)};
    enum db_status status =
        db_one(db, "SELECT bytes FROM aggregation_parameters WHERE aggregation = $1", values, 1,
               listing_copy_bytes, &bytes);
    *out = bytes.bytes;
    *out_size = bytes.size;
    return status;
}

struct aggregation_list {
    aggregation_fn *each;
    void *context;
};

static enum db_status show_one(void *context, const struct db_row *row)
{
    const struct aggregation_list *list = context;
    struct aggregation_row aggregation;
    if (!read_row(row, &aggregation))
        return DB_FAILED;
    return list->each(list->context, &aggregation) ? DB_OK : DB_NONE;
}

enum db_status aggregations_list(struct db *db, const char *owner, const char *after,
                                 unsigned limit, aggregation_fn *each, void *context)
{
    struct aggregation_list list = {each, context};
    struct db_value values[] = {db_text(!owner ? "" : owner), db_text(!after ? "" : after),
                                db_integer(limit)};
    return listing_end(db_run(db,
                              "SELECT " COLUMNS " FROM aggregations WHERE ($1 = '' OR owner = $1) "
                              "AND" LISTING_PAGE("aggregations", "$2", "$3"),
                              values, 3, show_one, &list));
}

enum db_status aggregations_close(struct db *db, const char *id)
{
    struct db_value values[] = {db_text(id)};
    return db_change(db,
                     "UPDATE aggregations SET is_open = 0 WHERE id = $1 AND is_open = 1 "
                     "RETURNING 1",
                     values, 1, listing_ignore, NULL);
}

/* ---- reports */

enum db_status aggregations_agent(struct db *db, const char *id, const char *client,
                                  int64_t *out_reports)
{
    struct db_value values[] = {db_text(id), db_text(client)};
    *out_reports = 0;
    enum db_status status =
        db_one(db, "SELECT reports FROM aggregation_agents WHERE aggregation = $1 AND client = $2",
               values, 2, listing_integer, out_reports);
    return status == DB_NONE ? DB_OK : status;
}

enum db_status aggregations_accept(struct db *db, struct aggregation_row *row, const char *client,
                                   const void *bytes, size_t size, int64_t now_ms,
                                   int64_t *out_number)
{
    struct db_value agent[] = {db_text(row->id), db_text(client),
                               db_integer(row->submissions_per_agent)};
    enum db_status status =
        db_change(db,
                  "INSERT INTO aggregation_agents (aggregation, client, reports) VALUES ($1, $2, "
                  "1) ON CONFLICT (aggregation, client) DO UPDATE SET reports = reports + 1 "
                  "WHERE reports < $3 RETURNING reports",
                  agent, 3, listing_integer, out_number);
    if (status != DB_OK)
        return status;
    struct db_value counters[] = {db_text(row->id), db_integer(row->version),
                                  db_integer(row->reports)};
    status = db_change(db,
                       "UPDATE aggregations SET reports = reports + 1 WHERE id = $1 AND "
                       "is_open = 1 AND version = $2 AND reports = $3 RETURNING 1",
                       counters, 3, listing_ignore, NULL);
    if (status != DB_OK)
        return status == DB_NONE ? DB_RETRY : status;
    row->reports++;
    struct db_value report[] = {db_text(row->id),      db_integer(row->reports),
                                db_text(client),       db_integer(*out_number),
                                db_bytes(bytes, size), db_integer(now_ms)};
    return db_run(db,
                  "INSERT INTO aggregation_reports (aggregation, sequence, client, number, bytes, "
                  "accepted_ms) VALUES ($1, $2, $3, $4, $5, $6)",
                  report, 6, NULL, NULL);
}

struct report_list {
    aggregation_report_fn *each;
    void *context;
};

static enum db_status show_report(void *context, const struct db_row *row)
{
    const struct report_list *list = context;
    size_t size = 0;
    const void *bytes = db_row_bytes(row, 2, &size);
    bool more = list->each(list->context, db_row_text(row, 0), db_row_integer(row, 1), bytes, size);
    return more ? DB_OK : DB_NONE;
}

enum db_status aggregations_waiting(struct db *db, const char *id, aggregation_report_fn *each,
                                    void *context)
{
    struct report_list list = {each, context};
    struct db_value values[] = {db_text(id)};
    return listing_end(db_run(db,
                              "SELECT client, number, bytes FROM aggregation_reports "
                              "WHERE aggregation = $1 ORDER BY sequence",
                              values, 1, show_report, &list));
}

enum db_status aggregations_update(struct db *db, struct aggregation_row *row,
                                   const void *parameters, size_t size)
{
    struct db_value counters[] = {db_text(row->id), db_integer(row->version),
                                  db_integer(row->reports)};
    enum db_status status =
        db_change(db,
                  "UPDATE aggregations SET version = version + 1, applied = reports WHERE id = $1 "
                  "AND version = $2 AND reports = $3 RETURNING 1",
                  counters, 3, listing_ignore, NULL);
    if (status != DB_OK)
        return status == DB_NONE ? DB_RETRY : status;
    struct db_value weights[] = {db_text(row->id), db_bytes(parameters, size)};
    status = db_run(db, "UPDATE aggregation_parameters SET bytes = $2 WHERE aggregation = $1",
                    weights, 2, NULL, NULL);
    if (status == DB_OK) {
        struct db_value values[] = {db_text(row->id)};
        status = db_run(db, "DELETE FROM aggregation_reports WHERE aggregation = $1", values, 1,
                        NULL, NULL);
    }
    if (status == DB_OK) {
        row->version++;
        row->applied = row->reports;
    }
    return status;
}
