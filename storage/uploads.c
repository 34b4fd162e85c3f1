/* Uploads on their way in: staged chunk by chunk, made part of the dataset at once.
 *
 * DESIGN. Chunks belong to an upload, an upload to a dataset. Its `place` is 0 while it is staged;
 * the commit gives it the next place of the dataset, and from then on readers see it. Dropping
 * marks the upload (-1) first, so that whatever a crash leaves of it is swept at the next start. */
#include "storage/uploads.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/listing.h"
#include "storage/uploads_drop.h"

/* ---- staging */

struct begin_work {
    const char *dataset, *client;
    int64_t now_ms;
    char upload[ID_SIZE];
    enum dataset_verdict verdict;
};

static enum db_status begin_upload(struct db *db, void *context)
{
    struct begin_work *work = context;
    struct dataset_row dataset;
    enum db_status status = datasets_find(db, work->dataset, &dataset);
    if (status != DB_OK || dataset.state != DATASET_OPEN) {
        bool sealed = status == DB_OK && dataset.state == DATASET_SEALED;
        work->verdict = sealed ? DATASET_NOT_OPEN : DATASET_UNKNOWN;
        return status == DB_NONE ? DB_OK : status;
    }
    id_new("upl_", work->upload);
    work->verdict = DATASET_OK;
    struct db_value values[] = {db_text(work->upload), db_text(work->dataset),
                                db_text(work->client), db_integer(work->now_ms), db_bytes("", 0)};
    return db_run(db,
                  "INSERT INTO uploads (id, dataset, client, place, chunks, created_ms, experts) "
                  "VALUES ($1, $2, $3, 0, 0, $4, $5)",
                  values, 5, NULL, NULL);
}

enum db_status uploads_begin(struct db *db, const char *dataset, const char *client, int64_t now_ms,
                             char out_upload[ID_SIZE], enum dataset_verdict *out_verdict)
{
    struct begin_work work = {.dataset = dataset, .client = client, .now_ms = now_ms};
    enum db_status status = db_transact(db, begin_upload, &work);
    if (status == DB_OK) {
        memcpy(out_upload, work.upload, ID_SIZE);
        *out_verdict = work.verdict;
    }
    return status;
}

enum db_status uploads_chunk(struct db *db, const char *upload, uint32_t sequence,
                             const void *bytes, size_t size)
{
    assert(size <= UPLOAD_CHUNK_MAX);
    struct db_value values[] = {db_text(upload), db_integer(sequence), db_bytes(bytes, size)};
    return db_change(db,
                     "INSERT INTO upload_chunks (upload, sequence, bytes) "
                     "SELECT id, $2, $3 FROM uploads WHERE id = $1 AND place = 0 RETURNING 1",
                     values, 3, listing_ignore, NULL);
}

/* ---- committing */

struct staged {
    char dataset[ID_SIZE], client[ID_SIZE];
};

static enum db_status see_staged(void *context, const struct db_row *row)
{
    struct staged *staged = context;
    return db_row_copy(row, 0, staged->dataset, sizeof staged->dataset) &&
                   db_row_copy(row, 1, staged->client, sizeof staged->client)
               ? DB_OK
               : DB_FAILED;
}

struct commit_work {
    const char *upload;
    const struct upload_summary *summary;
    unsigned char *map; /* expert_count numbers, 32 bits, little endian */
    struct upload_outcome *out;
};

static enum db_status map_experts(struct db *db, struct commit_work *work,
                                  const struct staged *staged)
{
    const struct upload_summary *summary = work->summary;
    for (uint32_t i = 0; i < summary->expert_count; i++) {
        uint32_t number = 0;
        enum db_status status =
            datasets_register_expert(db, staged->dataset, summary->experts[i], staged->client,
                                     summary->max_experts, &number, &work->out->verdict);
        if (status != DB_OK)
            return status;
        if (work->out->verdict != DATASET_OK) {
            work->out->expert = i;
            return DB_NONE;
        }
        for (unsigned byte = 0; byte < 4; byte++)
            work->map[4 * (size_t)i + byte] = (unsigned char)(number >> (8 * byte));
    }
    return DB_OK;
}

/* Gives the upload its place; DB_NONE when chunks are missing. */
static enum db_status take_place(struct db *db, struct commit_work *work,
                                 const struct staged *staged)
{
    const struct upload_summary *summary = work->summary;
    struct db_value values[] = {db_text(work->upload), db_text(staged->dataset),
                                db_integer(summary->chunks),
                                db_bytes(work->map, 4 * (size_t)summary->expert_count)};
    enum db_status status = db_one(
        db,
        "UPDATE uploads SET chunks = $3, experts = $4, place = "
        "(SELECT coalesce(max(place), 0) + 1 FROM uploads WHERE dataset = $2 AND place >= 0) "
        "WHERE id = $1 AND place = 0 AND $3 = (SELECT count(*) FROM upload_chunks "
        "WHERE upload = $1 AND sequence < $3) RETURNING 1",
        values, 4, listing_ignore, NULL);
    if (status == DB_NONE)
        work->out->verdict = DATASET_INCOMPLETE;
    return status;
}

static enum db_status add_counts(struct db *db, const struct upload_summary *summary,
                                 const struct staged *staged)
{
    struct db_value values[] = {db_text(staged->dataset), db_integer(summary->trajectories),
                                db_integer(summary->transitions)};
    return db_one(db,
                  "UPDATE datasets SET trajectories = trajectories + $2, "
                  "transitions = transitions + $3 WHERE id = $1 RETURNING 1",
                  values, 3, listing_ignore, NULL);
}

/* DB_NONE rolls back with the verdict in OUT. */
static enum db_status commit_upload(struct db *db, void *context)
{
    struct commit_work *work = context;
    struct staged staged;
    struct dataset_row before, after;
    struct db_value values[] = {db_text(work->upload)};
    *work->out = (struct upload_outcome){.verdict = DATASET_UNKNOWN};
    enum db_status status =
        db_one(db, "SELECT dataset, client FROM uploads WHERE id = $1 AND place = 0", values, 1,
               see_staged, &staged);
    if (status == DB_OK)
        status = datasets_find(db, staged.dataset, &before);
    if (status != DB_OK || before.state == DATASET_DELETED)
        return status == DB_OK ? DB_NONE : status;
    work->out->verdict = before.state == DATASET_OPEN ? DATASET_OK : DATASET_NOT_OPEN;
    if (work->out->verdict != DATASET_OK)
        return DB_NONE;
    if ((status = map_experts(db, work, &staged)) != DB_OK ||
        (status = take_place(db, work, &staged)) != DB_OK ||
        (status = add_counts(db, work->summary, &staged)) != DB_OK ||
        (status = datasets_find(db, staged.dataset, &after)) != DB_OK)
        return status;
    work->out->new_experts = after.experts - before.experts;
    return DB_OK;
}

enum db_status uploads_commit(struct db *db, const char *upload,
                              const struct upload_summary *summary, struct upload_outcome *out)
{
    struct commit_work work = {.upload = upload, .summary = summary, .out = out};
    work.map = malloc(4 * (size_t)summary->expert_count + 1);
    if (!work.map)
        return DB_FAILED;
    enum db_status status = db_transact(db, commit_upload, &work);
    free(work.map);
    if (status == DB_NONE && out->verdict != DATASET_OK)
        return DB_OK;
    return status == DB_NONE ? DB_FAILED : status;
}

/* ---- reading */

struct place {
    char upload[ID_SIZE];
    int64_t place;
    uint32_t chunks, expert_count;
    uint32_t *experts; /* malloc'ed */
};

static enum db_status see_place(void *context, const struct db_row *row)
{
    struct place *out = context;
    size_t size = 0;
    const unsigned char *map = db_row_bytes(row, 3, &size);
    out->place = db_row_integer(row, 1);
    out->chunks = (uint32_t)db_row_integer(row, 2);
    out->expert_count = (uint32_t)(size / 4);
    out->experts = malloc(size + 4);
    if (!out->experts || !db_row_copy(row, 0, out->upload, sizeof out->upload))
        return DB_FAILED;
    for (uint32_t i = 0; i < out->expert_count; i++, map += 4) {
        out->experts[i] = (uint32_t)map[0] | (uint32_t)map[1] << 8 | (uint32_t)map[2] << 16 |
                          (uint32_t)map[3] << 24;
    }
    return DB_OK;
}

struct chunk_reader {
    upload_chunk_fn *each;
    void *context;
    const struct place *place;
    bool stopped;
};

static enum db_status read_chunks(struct db *db, struct chunk_reader *reader)
{
    const struct place *place = reader->place;
    for (uint32_t i = 0; i < place->chunks && !reader->stopped; i++) {
        struct listing_bytes chunk = {0};
        struct db_value values[] = {db_text(place->upload), db_integer(i)};
        enum db_status status =
            db_one(db, "SELECT bytes FROM upload_chunks WHERE upload = $1 AND sequence = $2",
                   values, 2, listing_copy_bytes, &chunk);
        if (status != DB_OK) {
            free(chunk.bytes);
            return status;
        }
        reader->stopped = !reader->each(reader->context, chunk.bytes, chunk.size, place->experts,
                                        place->expert_count);
        free(chunk.bytes);
    }
    return DB_OK;
}

enum db_status uploads_read(struct db *db, const char *dataset, upload_chunk_fn *each,
                            void *context)
{
    struct dataset_row row;
    struct place place = {.place = 0};
    struct chunk_reader reader = {.each = each, .context = context, .place = &place};
    enum db_status status = DB_OK;
    while (status == DB_OK && !reader.stopped) {
        status = datasets_find(db, dataset, &row);
        if (status != DB_OK || row.state == DATASET_DELETED)
            return status == DB_OK ? DB_NONE : status;
        struct db_value values[] = {db_text(dataset), db_integer(place.place)};
        status = db_one(db,
                        "SELECT id, place, chunks, experts FROM uploads WHERE dataset = $1 "
                        "AND place > $2 ORDER BY place LIMIT 1",
                        values, 2, see_place, &place);
        if (status == DB_NONE)
            return DB_OK;
        if (status == DB_OK)
            status = read_chunks(db, &reader);
        free(place.experts);
        place.experts = NULL;
    }
    return status;
}
