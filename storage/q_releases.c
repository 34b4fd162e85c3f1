/* Released Q-functions. */
#include "storage/q_releases.h"

#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"

#define COLUMNS                                                                                    \
    "id, owner, name, environment, dataset, job, certificate, terms, created_ms, ended_ms"

void q_release_row_done(struct q_release_row *row)
{
    free(row->terms);
    row->terms = NULL;
}

static enum db_status read_row(void *context, const struct db_row *row)
{
    struct q_release_row *out = context;
    out->created_ms = db_row_integer(row, 8);
    out->ended_ms = db_row_integer(row, 9);
    if (!db_row_copy(row, 0, out->id, sizeof out->id) ||
        !db_row_copy(row, 1, out->owner, sizeof out->owner) ||
        !db_row_copy(row, 2, out->name, sizeof out->name) ||
        !db_row_copy(row, 3, out->environment, sizeof out->environment) ||
        !db_row_copy(row, 4, out->dataset, sizeof out->dataset) ||
        !db_row_copy(row, 5, out->job, sizeof out->job) ||
        !db_row_copy(row, 6, out->certificate, sizeof out->certificate))
        return DB_FAILED;
    out->terms = strdup(db_row_text(row, 7));
    return !out->terms ? DB_FAILED : DB_OK;
}

enum db_status q_releases_insert(struct db *db, const struct q_release_row *row, const void *sealed,
                                 size_t size, const char *certificate_text)
{
    struct db_value values[] = {
        db_text(row->id),
        db_text(row->owner),
        db_text(row->name),
        db_text(row->environment),
        db_text(row->dataset),
        db_text(row->job),
        db_text(row->certificate),
        db_text(row->terms),
        db_integer(row->created_ms),
        db_integer(0),
        db_bytes(sealed, size),
        db_text(certificate_text),
    };
    return db_change(db,
                     "INSERT INTO q_releases (" COLUMNS ", sealed, certificate_text) VALUES ($1, "
                     "$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING "
                     "RETURNING 1",
                     values, sizeof values / sizeof *values, listing_ignore, NULL);
}

enum db_status q_releases_find(struct db *db, const char *id, struct q_release_row *out)
{
    struct db_value values[] = {db_text(id)};
    out->terms = NULL;
    enum db_status status =
        db_one(db, "SELECT " COLUMNS " FROM q_releases WHERE id = $1", values, 1, read_row, out);
    if (status != DB_OK)
        q_release_row_done(out);
    return status;
}

enum db_status q_releases_answers(struct db *db, const char *id)
{
    struct db_value values[] = {db_text(id)};
    return db_one(db, "SELECT 1 FROM q_releases WHERE id = $1 AND ended_ms = 0", values, 1,
                  listing_ignore, NULL);
}

enum db_status q_releases_sealed(struct db *db, const char *id, void **out, size_t *out_size)
{
    struct listing_bytes bytes = {0};
    struct db_value values[] = {db_text(id)};
    enum db_status status =
        db_one(db, "SELECT sealed FROM q_releases WHERE id = $1 AND ended_ms = 0", values, 1,
               listing_copy_bytes, &bytes);
    if (status != DB_OK) {
        free(bytes.bytes);
        return status;
    }
    *out = bytes.bytes;
    *out_size = bytes.size;
    return DB_OK;
}

struct release_list {
    q_release_fn *each;
    void *context;
};

static enum db_status show_one(void *context, const struct db_row *row)
{
    const struct release_list *list = context;
    struct q_release_row release = {0};
    enum db_status status = read_row(&release, row);
    if (status == DB_OK && !list->each(list->context, &release))
        status = DB_NONE;
    q_release_row_done(&release);
    return status;
}

enum db_status q_releases_list(struct db *db, const char *owner, const char *after, unsigned limit,
                               q_release_fn *each, void *context)
{
    struct release_list list = {each, context};
    struct db_value values[] = {db_text(!owner ? "" : owner), db_text(!after ? "" : after),
                                db_integer(limit)};
    return listing_end(db_run(db,
                              "SELECT " COLUMNS " FROM q_releases WHERE (owner = $1 OR ($1 = '' "
                              "AND ended_ms = 0)) AND" LISTING_PAGE("q_releases", "$2", "$3"),
                              values, 3, show_one, &list));
}

enum db_status q_releases_end(struct db *db, const char *id, int64_t now_ms)
{
    struct db_value values[] = {db_text(id), db_integer(now_ms)};
    return db_change(db,
                     "UPDATE q_releases SET sealed = x'', ended_ms = $2 WHERE id = $1 "
                     "AND ended_ms = 0 RETURNING 1",
                     values, 2, listing_ignore, NULL);
}

struct certificate_seen {
    char *id, *owner, *text;
};

static enum db_status see_certificate(void *context, const struct db_row *row)
{
    struct certificate_seen *seen = context;
    if (!db_row_copy(row, 0, seen->id, ID_SIZE) || !db_row_copy(row, 1, seen->owner, ID_SIZE))
        return DB_FAILED;
    seen->text = strdup(db_row_text(row, 2));
    return !seen->text ? DB_FAILED : DB_OK;
}

enum db_status q_releases_certificate(struct db *db, const char *certificate_or_release,
                                      char *out_id, char *out_owner, char **out_text)
{
    struct certificate_seen seen = {out_id, out_owner, NULL};
    struct db_value values[] = {db_text(certificate_or_release)};
    enum db_status status = db_one(db,
                                   "SELECT certificate, owner, certificate_text FROM q_releases "
                                   "WHERE certificate = $1 OR id = $1",
                                   values, 1, see_certificate, &seen);
    *out_text = seen.text;
    return status;
}
