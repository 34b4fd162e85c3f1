/* Released Q-functions. */
#include "storage/q_releases.h"

#include "storage/blobs.h"
#include "storage/certificate_text.h"
#include "storage/db/listing.h"
#include "storage/digests.h"
#include "storage/projects.h"

static const struct column release_columns[] = {
    COLUMN(q_release_row, id, TEXT),
    COLUMN(q_release_row, owner, TEXT),
    COLUMN(q_release_row, name, TEXT),
    COLUMN(q_release_row, environment, TEXT),
    COLUMN(q_release_row, dataset, TEXT),
    COLUMN(q_release_row, job, TEXT),
    COLUMN(q_release_row, certificate, TEXT),
    COLUMN(q_release_row, terms, POINTER),
    COLUMN(q_release_row, created_ms, INTEGER),
    COLUMN(q_release_row, ended_ms, INTEGER),
};

const struct table q_releases_table = TABLE_DIGESTED("q_releases", q_release_row, release_columns,
                                                     TABLE_ALL(release_columns), "digest", 1, 1);

static const struct column sealed_columns[] = BLOB_COLUMNS("id", "sealed");

const struct table q_sealed_table =
    TABLE_DIGESTED("q_releases", blob, sealed_columns, 0, "sealed_digest", 1, 0);

void q_release_row_done(struct q_release_row *row)
{
    table_done(&q_releases_table, row);
}

enum db_status q_releases_insert(struct db *db, const struct q_release_row *row, const void *sealed,
                                 size_t size, const char *certificate_text)
{
    struct q_release_row fresh = *row;
    unsigned char digest[DIGEST_SIZE];
    struct table_extra extras[] = {{"sealed", db_bytes(sealed, size)},
                                   {"certificate_text", db_text(certificate_text)},
                                   {"sealed_digest", db_bytes(digest, sizeof digest)}};
    fresh.ended_ms = 0;
    blob_digest(db, &q_sealed_table, row->id, sealed, size, digest);
    return table_insert(db, &q_releases_table, &fresh, extras, 3);
}

enum db_status q_releases_find(struct db *db, const char *id, struct q_release_row *out)
{
    out->terms = NULL;
    return table_find_id(db, &q_releases_table, id, out);
}

enum db_status q_releases_answers(struct db *db, const char *id)
{
    return db_one(db, "SELECT 1 FROM q_releases WHERE id = $1 AND ended_ms = 0",
                  DB_VALUES(db_text(id)), listing_ignore, NULL);
}

enum db_status q_releases_sealed(struct db *db, const char *id, void **out, size_t *out_size)
{
    return blob_find(db, &q_sealed_table, "WHERE id = $1 AND ended_ms = 0", id, out, out_size);
}

TABLE_SHOW(show_release, q_release_row);

enum db_status q_releases_list(struct db *db, const char *owner, const char *client,
                               const struct listing_page *page, q_release_fn *each, void *context)
{
    struct show_release list = {each, context};
    return table_list(
        db, &q_releases_table,
        "WHERE ($1 = '' OR" OWNER_AMONG("$1") ") AND ($2 = '' OR ended_ms = 0) "
                                              "AND" PROJECTS_ADMIT("$2") "AND" LISTING_PAGE(
                                                  "$3", "$4", "$5"),
        DB_VALUES(db_text_or_empty(owner), db_text_or_empty(client), LISTING_VALUES(page)),
        show_release, &list);
}

enum db_status q_releases_end(struct db *db, const char *id, int64_t now_ms)
{
    unsigned char digest[DIGEST_SIZE];
    blob_digest(db, &q_sealed_table, id, "", 0, digest);
    return db_change(db,
                     "UPDATE q_releases SET sealed = $4, ended_ms = $2, sealed_digest = $3 "
                     "WHERE id = $1 AND ended_ms = 0",
                     DB_VALUES(db_text(id), db_integer(now_ms), db_bytes(digest, sizeof digest),
                               db_bytes("", 0)));
}

static const struct table certificate_table = CERTIFICATE_TABLE("q_releases");

enum db_status q_releases_certificate(struct db *db, const char *certificate_or_release,
                                      char *out_id, char *out_owner, char **out_text)
{
    return certificate_text_find(db, &certificate_table, "WHERE certificate = $1 OR id = $1",
                                 certificate_or_release, out_id, out_owner, out_text);
}
