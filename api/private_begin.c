/* Encrypts what earlier versions stored in clear, once, before the first request.
 *
 * DESIGN. An upload is one transaction: its keys and all of its chunks. A crash leaves uploads in
 * clear and uploads that are encrypted, and the next start goes on. Of several servers that begin
 * at once, one finds what another has encrypted, because it looks in the transaction that encrypts;
 * and the first one's root key is that of all. A database whose key is noted holds no data in
 * clear. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/data/trajectory.h"
#include "api/api.h"
#include "api/call/app.h"
#include "api/data/erasure.h"
#include "api/data/private_data.h"
#include "api/data/private_form.h"
#include "storage/sealing.h"

/* ---- uploads */

struct sealing {
    const struct app *app;
    struct db *db;
    struct sealing_upload upload;
    uint32_t state_dim;
    struct private_keys *keys;
    enum db_status status;
};

/* Encrypts the records of a chunk in clear into OUT, which has room. Gives the size, 0: damaged. */
static size_t seal_records(struct sealing *sealing, const struct upload_chunk *chunk,
                           unsigned char *out)
{
    const unsigned char *bytes = chunk->bytes;
    size_t used = PRIVATE_HEAD;
    memcpy(out, PRIVATE_CHUNK, PRIVATE_HEAD);
    for (size_t at = 0; at < chunk->size;) {
        struct trajectory trajectory;
        size_t size =
            trajectory_record_read(bytes + at, chunk->size - at, sealing->state_dim, &trajectory);
        if (size == 0 || trajectory.expert >= chunk->expert_count)
            return 0;
        memcpy(out + used + 2 * sizeof(uint32_t), bytes + at, size);
        used += private_record_close(sealing->keys, chunk->sequence, out, used, trajectory.expert,
                                     size);
        at += size;
    }
    return used;
}

/* The smallest record has 16 bytes and two states. */
#define RECORD_LEAST 24

static bool seal_chunk(void *context, const struct upload_chunk *chunk)
{
    struct sealing *sealing = context;
    unsigned char *out =
        malloc(PRIVATE_HEAD + chunk->size + chunk->size / RECORD_LEAST * PRIVATE_MORE);
    sealing->status = out ? DB_OK : DB_MEMORY;
    size_t size = out ? seal_records(sealing, chunk, out) : 0;
    if (out && size == 0) /* damaged: it stays unreadable, and jobs on it fail as they did */
        size = PRIVATE_HEAD;
    if (size > 0)
        sealing->status = sealing_put_chunk(sealing->db, chunk->upload, chunk->sequence, out, size);
    if (sealing->status == DB_OK && chunk->sequence == 0) {
        const struct private_upload upload = {.dataset = sealing->upload.dataset,
                                              .upload = chunk->upload,
                                              .numbers = chunk->experts,
                                              .count = chunk->expert_count,
                                              .first_new = UINT32_MAX};
        private_keys_draw(sealing->keys, chunk->expert_count);
        sealing->status = private_keys_store(sealing->app, sealing->db, sealing->keys, &upload);
    }
    free(out);
    return sealing->status == DB_OK;
}

static enum db_status seal_upload(struct db *db, void *context)
{
    struct sealing *sealing = context;
    struct dataset_row row;
    enum db_status status = sealing_next_upload(db, &sealing->upload);
    if (status != DB_OK)
        return status;
    status = datasets_find(db, sealing->upload.dataset, &row);
    sealing->keys = private_keys_new();
    sealing->status = DB_OK;
    if (status == DB_OK) {
        sealing->state_dim = row.state_dim;
        status = uploads_read_one(db, sealing->upload.id, seal_chunk, sealing);
    }
    private_keys_free(sealing->keys);
    return status == DB_OK ? sealing->status : db_owed(status);
}

static enum db_status seal_uploads(struct app *app, struct db *db)
{
    struct sealing sealing = {.app = app, .db = db};
    enum db_status status = DB_OK;
    while (status == DB_OK)
        status = db_transact(db, seal_upload, &sealing);
    return db_optional(status);
}

/* ---- experts' networks */

struct network_sealing {
    const struct app *app;
    struct sealing_policy last, next; /* the bytes of NEXT are there within seal_next alone */
};

static enum db_status seal_network(const struct app *app, struct db *db,
                                   const struct sealing_policy *policy)
{
    unsigned char *box = NULL;
    size_t size = 0;
    if (policy->size >= PRIVATE_HEAD && memcmp(policy->bytes, PRIVATE_POLICY, PRIVATE_HEAD) == 0)
        return DB_OK;
    enum db_status status = private_policy_close(app, policy->dataset, policy->number, false,
                                                 policy->bytes, policy->size, &box, &size);
    if (status == DB_OK)
        status = db_owed(sealing_put_policy(db, policy, box, size));
    free(box);
    return status;
}

/* Encrypts the network behind the last one. DB_NONE: there is none. */
static enum db_status seal_next(struct db *db, void *context)
{
    struct network_sealing *sealing = context;
    sealing->next = sealing->last;
    enum db_status status = sealing_next_policy(db, &sealing->next);
    if (status != DB_OK)
        return status;
    status = seal_network(sealing->app, db, &sealing->next);
    free(sealing->next.bytes);
    return status;
}

static enum db_status seal_networks(struct app *app, struct db *db)
{
    struct network_sealing sealing = {.app = app};
    enum db_status status = DB_OK;
    while (status == DB_OK) {
        status = db_transact(db, seal_next, &sealing);
        sealing.last = sealing.next;
    }
    return db_optional(status);
}

bool api_private_begin(struct app *app, struct db *db, char *error, size_t error_size)
{
    char name[KEYRING_NAME_SIZE], noted[SEALING_NAME_SIZE];
    bool sealed = false;
    keyring_name(app->settings.keys, name);
    enum db_status status = sealing_begin(db, name, noted, &sealed);
    if (status == DB_OK && strcmp(name, noted) != 0) {
        snprintf(error, error_size,
                 "the keys of private data belong to another database: put back the directory "
                 "\"keys\" that was kept with this one");
        return false;
    }
    if (status == DB_OK && !sealed) {
        status = seal_uploads(app, db);
        if (status == DB_OK)
            status = seal_networks(app, db);
        if (status == DB_OK)
            status = sealing_note_key(db, name);
    }
    if (status == DB_OK)
        status = erasure_resume(app, db);
    if (status == DB_OK)
        status = erasure_repeat(app, db);
    if (status != DB_OK)
        snprintf(error, error_size,
                 "what is stored in clear cannot be encrypted, or an erasure not be ended: %.180s",
                 db_last_error(db));
    return status == DB_OK;
}
