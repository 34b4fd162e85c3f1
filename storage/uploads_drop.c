/* Removes uploads: aborted ones, what a crash left, and those of deleted datasets. It removes a few
 * chunks at a time, so that other writers never wait long. */
#include "storage/uploads.h"

#include <assert.h>

#include "storage/db/listing.h"

#define UPLOADS_DROP_CHUNKS 4 /* removed in one transaction: about 4 MiB */

struct drop_work {
    const char *upload;
    bool more;
};

static enum db_status drop_some(struct db *db, void *context)
{
    struct drop_work *work = context;
    int64_t left = 0;
    struct db_value values[] = {db_text(work->upload), db_integer(UPLOADS_DROP_CHUNKS)};
    enum db_status status =
        db_run(db,
               "DELETE FROM upload_chunks WHERE upload = $1 AND sequence IN (SELECT sequence "
               "FROM upload_chunks WHERE upload = $1 ORDER BY sequence LIMIT $2)",
               values, 2, NULL, NULL);
    if (status == DB_OK) {
        status = db_one(db, "SELECT count(*) FROM upload_chunks WHERE upload = $1", values, 1,
                        listing_integer, &left);
    }
    work->more = left > 0;
    if (status != DB_OK || work->more)
        return status;
    return db_run(db, "DELETE FROM uploads WHERE id = $1", values, 1, NULL, NULL);
}

/* Removes a few chunks of UPLOAD, or its row when no chunk is left. *OUT_MORE: call again. */
static enum db_status uploads_drop_some(struct db *db, const char *upload, bool *out_more)
{
    struct drop_work work = {.upload = upload};
    enum db_status status = db_transact(db, drop_some, &work);
    *out_more = status == DB_OK && work.more;
    return status;
}

static enum db_status drop_all(struct db *db, const char *upload)
{
    bool more = true;
    enum db_status status = DB_OK;
    while (status == DB_OK && more)
        status = uploads_drop_some(db, upload, &more);
    return status;
}

enum db_status uploads_abort(struct db *db, const char *upload)
{
    assert(!db_in_transaction(db));
    enum db_status status =
        db_change(db, "UPDATE uploads SET place = -1 WHERE id = $1 AND place = 0",
                  DB_VALUES(db_text(upload)));
    if (status != DB_OK)
        return db_optional(status);
    return drop_all(db, upload);
}

/* Marks what nobody can be sending any more. */
static enum db_status mark_left(struct db *db, void *context)
{
    int64_t before_ms = *(const int64_t *)context - UPLOADS_LEFT_MS;
    enum db_status status = db_alone(db);
    if (status == DB_OK)
        before_ms = INT64_MAX;
    if (db_optional(status) != DB_OK)
        return status;
    return db_change(db, "UPDATE uploads SET place = -1 WHERE place = 0 AND created_ms < $1",
                     DB_VALUES(db_integer(before_ms)));
}

enum db_status uploads_sweep(struct db *db, int64_t now_ms)
{
    assert(!db_in_transaction(db));
    enum db_status status = db_optional(db_transact(db, mark_left, &now_ms));
    while (status == DB_OK) {
        char upload[ID_SIZE];
        status = db_one(db, "SELECT id FROM uploads WHERE place < 0 ORDER BY id LIMIT 1", NULL, 0,
                        listing_id, upload);
        if (status == DB_OK)
            status = drop_all(db, upload);
    }
    return db_optional(status);
}

enum db_status uploads_purge(struct db *db, bool *out_more)
{
    assert(!db_in_transaction(db));
    char dataset[ID_SIZE], upload[ID_SIZE];
    *out_more = false;
    enum db_status status = db_one(db,
                                   "SELECT id FROM datasets WHERE state = 'deleted' "
                                   "AND purged = 0 ORDER BY id LIMIT 1",
                                   NULL, 0, listing_id, dataset);
    if (status != DB_OK)
        return db_optional(status);
    struct db_value values[] = {db_text(dataset)};
    status = db_one(db, "SELECT id FROM uploads WHERE dataset = $1 LIMIT 1", values, 1, listing_id,
                    upload);
    if (status == DB_OK)
        status = uploads_drop_some(db, upload, out_more);
    else if (status == DB_NONE)
        status = db_change(db, "UPDATE datasets SET purged = 1 WHERE id = $1", values, 1);
    *out_more = status == DB_OK;
    return status;
}
