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
#include "storage/db/table.h"

/* ---- staging */

struct begin_work {
    const char *dataset, *client;
    int64_t now_ms;
    char *upload;
    enum dataset_verdict *verdict;
};

static enum db_status begin_upload(struct db *db, void *context)
{
    const struct begin_work *work = context;
    struct dataset_row dataset;
    enum db_status status = datasets_find_open(db, work->dataset, &dataset, work->verdict);
    if (status != DB_OK || *work->verdict != DATASET_OK)
        return status;
    id_new("upl_", work->upload);
    return db_run(db,
                  "INSERT INTO uploads (id, dataset, client, place, chunks, created_ms, experts) "
                  "VALUES ($1, $2, $3, 0, 0, $4, $5)",
                  DB_VALUES(db_text(work->upload), db_text(work->dataset), db_text(work->client),
                            db_integer(work->now_ms), db_bytes("", 0)),
                  NULL, NULL);
}

enum db_status uploads_begin(struct db *db, const char *dataset, const char *client, int64_t now_ms,
                             char out_upload[ID_SIZE], enum dataset_verdict *out_verdict)
{
    struct begin_work work = {dataset, client, now_ms, out_upload, out_verdict};
    return db_transact(db, begin_upload, &work);
}

struct chunk_work {
    const char *upload;
    uint32_t sequence;
    const void *bytes;
    size_t size;
};

static enum db_status add_chunk(struct db *db, void *context)
{
    const struct chunk_work *work = context;
    enum db_status status = db_change(
        db, "UPDATE uploads SET stored_bytes = stored_bytes + $2 WHERE id = $1 AND place = 0",
        DB_VALUES(db_text(work->upload), db_integer((int64_t)work->size)));
    if (status != DB_OK)
        return status;
    return db_run(db, "INSERT INTO upload_chunks (upload, sequence, bytes) VALUES ($1, $2, $3)",
                  DB_VALUES(db_text(work->upload), db_integer(work->sequence),
                            db_bytes(work->bytes, work->size)),
                  NULL, NULL);
}

enum db_status uploads_chunk(struct db *db, const char *upload, uint32_t sequence,
                             const void *bytes, size_t size)
{
    assert(size <= UPLOAD_CHUNK_MAX);
    return db_transact(db, add_chunk, &(struct chunk_work){upload, sequence, bytes, size});
}

enum db_status uploads_size(struct db *db, const char *client, int64_t *out_bytes)
{
    *out_bytes = 0;
    return db_one(
        db,
        "SELECT CAST((SELECT coalesce(sum(stored_bytes), 0) FROM uploads WHERE client = $1) + "
        "(SELECT coalesce(sum(stored_bytes), 0) FROM experts WHERE owner = $1 AND "
        "stored_bytes > 0) AS BIGINT)",
        DB_VALUES(db_text(client)), listing_integer, out_bytes);
}

/* ---- committing */

struct staged {
    char dataset[ID_SIZE], client[ID_SIZE];
    int64_t created_ms;
};

static const struct column staged_columns[] = {
    COLUMN(staged, dataset, TEXT),
    COLUMN(staged, client, TEXT),
    COLUMN(staged, created_ms, INTEGER),
};

static const struct table staged_table = TABLE("uploads", staged, staged_columns, 0);

struct commit_work {
    const char *upload;
    const struct upload_summary *summary;
    unsigned char *map; /* expert_count numbers, 32 bits, little endian */
    struct experts_outcome *out;
};

/* Registers the experts and writes their numbers into the map. DB_NONE: the verdict is not OK. */
static enum db_status map_experts(struct db *db, struct commit_work *work,
                                  const struct staged *staged)
{
    const struct upload_summary *summary = work->summary;
    const struct expert_names names = {.dataset = staged->dataset,
                                       .client = staged->client,
                                       .names = summary->experts,
                                       .count = summary->expert_count,
                                       .max_own = summary->max_experts,
                                       .now_ms = staged->created_ms};
    enum db_status status = datasets_register_experts(db, &names, summary->numbers, work->out);
    if (status != DB_OK || work->out->verdict != DATASET_OK)
        return status == DB_OK ? DB_NONE : status;
    for (uint32_t i = 0; i < summary->expert_count; i++)
        for (unsigned byte = 0; byte < 4; byte++)
            work->map[4 * (size_t)i + byte] = (unsigned char)(summary->numbers[i] >> (8 * byte));
    return DB_OK;
}

/* Gives the upload its place in the dataset. DB_NONE: chunks are missing. */
static enum db_status take_place(struct db *db, struct commit_work *work,
                                 const struct staged *staged)
{
    const struct upload_summary *summary = work->summary;
    enum db_status status = db_change(
        db,
        "UPDATE uploads SET chunks = $3, experts = $4, place = "
        "(SELECT coalesce(max(place), 0) + 1 FROM uploads WHERE dataset = $2 AND place >= 0) "
        "WHERE id = $1 AND place = 0 AND $3 = (SELECT count(*) FROM upload_chunks "
        "WHERE upload = $1 AND sequence < $3)",
        DB_VALUES(db_text(work->upload), db_text(staged->dataset), db_integer(summary->chunks),
                  db_bytes(work->map, 4 * (size_t)summary->expert_count)));
    if (status == DB_NONE)
        work->out->verdict = DATASET_INCOMPLETE;
    return status;
}

static enum db_status add_counts(struct db *db, const struct upload_summary *summary,
                                 const struct staged *staged)
{
    return db_change(db,
                     "UPDATE datasets SET trajectories = trajectories + $2, "
                     "transitions = transitions + $3 WHERE id = $1",
                     DB_VALUES(db_text(staged->dataset), db_integer(summary->trajectories),
                               db_integer(summary->transitions)));
}

/* Commits the upload. DB_NONE rolls the transaction back; OUT holds the verdict. */
static enum db_status commit_upload(struct db *db, void *context)
{
    struct commit_work *work = context;
    struct staged staged;
    *work->out = (struct experts_outcome){.verdict = DATASET_UNKNOWN};
    enum db_status status = table_find(db, &staged_table, "WHERE id = $1 AND place = 0",
                                       DB_VALUES(db_text(work->upload)), &staged);
    if (status != DB_OK || (status = map_experts(db, work, &staged)) != DB_OK ||
        (status = take_place(db, work, &staged)) != DB_OK)
        return status;
    return add_counts(db, work->summary, &staged);
}

enum db_status uploads_commit(struct db *db, const char *upload,
                              const struct upload_summary *summary, struct experts_outcome *out)
{
    struct commit_work work = {.upload = upload, .summary = summary, .out = out};
    work.map = malloc(4 * (size_t)summary->expert_count + 1);
    if (!work.map)
        return DB_MEMORY;
    enum db_status status = db_transact(db, commit_upload, &work);
    free(work.map);
    if (status == DB_NONE && out->verdict != DATASET_OK)
        return DB_OK;
    return db_owed(status);
}

enum db_status uploads_set_keys(struct db *db, const char *upload, const void *keys, size_t size)
{
    return db_change(db, "UPDATE uploads SET keys = $2 WHERE id = $1",
                     DB_VALUES(db_text(upload), db_bytes(keys, size)));
}

/* ---- reading */

struct place {
    char id[ID_SIZE]; /* of the upload */
    int64_t place;
    uint32_t chunks;
    char *experts; /* the map: 32 bits for each expert of the upload, little endian */
    size_t experts_size;
    char *keys;
    size_t keys_size;
};

static const struct column place_columns[] = {
    COLUMN(place, id, TEXT),
    COLUMN(place, place, INTEGER),
    COLUMN(place, chunks, COUNT),
    COLUMN_BYTES_OF(place, experts, experts_size),
    COLUMN_BYTES_OF(place, keys, keys_size),
};

static const struct table places_table = TABLE("uploads", place, place_columns, 0);

/* Decodes the map to numbers, in its own bytes. */
static uint32_t *decode_map(struct place *place)
{
    const unsigned char *map = (const unsigned char *)place->experts;
    uint32_t *numbers = (uint32_t *)(void *)place->experts;
    for (size_t i = 0; i < place->experts_size / 4; i++, map += 4) {
        numbers[i] = (uint32_t)map[0] | (uint32_t)map[1] << 8 | (uint32_t)map[2] << 16 |
                     (uint32_t)map[3] << 24;
    }
    return numbers;
}

struct chunk {
    char *bytes;
    size_t size;
};

static const struct column chunk_columns[] = {
    COLUMN_BYTES_OF(chunk, bytes, size),
};

static const struct table chunks_table = TABLE("upload_chunks", chunk, chunk_columns, 0);

struct chunk_reader {
    upload_chunk_fn *each;
    void *context;
    struct place *place;
    bool stopped;
};

static enum db_status read_chunks(struct db *db, struct chunk_reader *reader)
{
    struct place *place = reader->place;
    const uint32_t *experts = decode_map(place);
    for (uint32_t i = 0; i < place->chunks && !reader->stopped; i++) {
        struct chunk chunk = {0};
        enum db_status status = table_find(db, &chunks_table, "WHERE upload = $1 AND sequence = $2",
                                           DB_VALUES(db_text(place->id), db_integer(i)), &chunk);
        if (status != DB_OK)
            return status;
        const struct upload_chunk shown = {.upload = place->id,
                                           .sequence = i,
                                           .bytes = chunk.bytes,
                                           .size = chunk.size,
                                           .experts = experts,
                                           .expert_count = (uint32_t)(place->experts_size / 4),
                                           .keys = place->keys,
                                           .keys_size = place->keys_size};
        reader->stopped = !reader->each(reader->context, &shown);
        free(chunk.bytes);
    }
    return DB_OK;
}

enum db_status uploads_read(struct db *db, const char *dataset, upload_chunk_fn *each,
                            void *context)
{
    struct dataset_row row;
    struct place place = {.place = 0};
    int64_t last = 0;
    struct chunk_reader reader = {.each = each, .context = context, .place = &place};
    enum db_status status = DB_OK;
    while (status == DB_OK && !reader.stopped) {
        status = datasets_find(db, dataset, &row);
        if (status != DB_OK || row.state == DATASET_DELETED)
            return status == DB_OK ? DB_NONE : status;
        status = table_find(db, &places_table,
                            "WHERE dataset = $1 AND place > $2 ORDER BY place LIMIT 1",
                            DB_VALUES(db_text(dataset), db_integer(last)), &place);
        if (status == DB_NONE)
            return DB_OK;
        if (status == DB_OK)
            status = read_chunks(db, &reader);
        last = place.place;
        table_done(&places_table, &place);
    }
    return status;
}

enum db_status uploads_read_one(struct db *db, const char *upload, upload_chunk_fn *each,
                                void *context)
{
    struct place place = {.place = 0};
    struct chunk_reader reader = {.each = each, .context = context, .place = &place};
    enum db_status status = table_find(db, &places_table, "WHERE id = $1 AND place > 0",
                                       DB_VALUES(db_text(upload)), &place);
    if (status == DB_OK)
        status = read_chunks(db, &reader);
    table_done(&places_table, &place);
    return status;
}
