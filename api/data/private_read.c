/* Reading experts' data. The keys of all experts are read once, before the first chunk: an expert
 * who is erased in the meantime ends the job that reads. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/data/private_data.h"
#include "api/data/private_form.h"
#include "memory/memory.h"

struct private_reading {
    upload_chunk_fn *each;
    void *context;
    uint32_t experts; /* of the dataset, with their keys and what became of them */
    unsigned char *own;
    enum keyring_status *states;
    char upload[ID_SIZE]; /* whose keys are opened */
    unsigned char *keys;  /* of the experts of that upload */
    uint32_t key_count;
    unsigned char *clear; /* a chunk */
    size_t room;
    bool damaged, starved;
};

/* ---- the keys of an upload */

static void forget_keys(struct private_reading *reading)
{
    if (reading->keys)
        sodium_memzero(reading->keys, KEYRING_KEY * (size_t)reading->key_count);
    free(reading->keys);
    reading->keys = NULL;
}

/* Opens the keys of the upload of CHUNK; those of erased experts stay zero. */
static bool open_keys(struct private_reading *reading, const struct upload_chunk *chunk)
{
    if (reading->keys && strcmp(reading->upload, chunk->upload) == 0)
        return true;
    forget_keys(reading);
    reading->key_count = chunk->expert_count;
    reading->keys = memory_new((size_t)chunk->expert_count + 1, KEYRING_KEY);
    memcpy(reading->upload, chunk->upload, strlen(chunk->upload) + 1);
    if (chunk->keys_size != KEY_BOX_SIZE * (size_t)chunk->expert_count)
        return false;
    const unsigned char *boxes = chunk->keys;
    for (uint32_t i = 0; i < chunk->expert_count; i++) {
        char name[PRIVATE_NAME_SIZE];
        uint32_t number = chunk->experts[i];
        if (number >= reading->experts)
            return false;
        if (reading->states[number] == KEYRING_ERASED)
            continue;
        private_key_name(chunk->upload, i, name);
        if (reading->states[number] != KEYRING_OK ||
            !key_box_open(reading->own + KEYRING_KEY * (size_t)number, name,
                          boxes + KEY_BOX_SIZE * (size_t)i, KEY_BOX_SIZE,
                          reading->keys + KEYRING_KEY * (size_t)i))
            return false;
    }
    return true;
}

/* ---- chunks */

/* Decrypts the records of CHUNK to reading->clear. *OUT_SIZE: of those that are left. */
static bool open_records(struct private_reading *reading, const struct upload_chunk *chunk,
                         size_t *out_size)
{
    const unsigned char *bytes = chunk->bytes;
    uint32_t head[2];
    *out_size = 0;
    for (size_t at = PRIVATE_HEAD; at < chunk->size;) {
        if (chunk->size - at < PRIVATE_MORE)
            return false;
        memcpy(head, bytes + at, sizeof head);
        if (head[0] >= chunk->expert_count || head[1] > chunk->size - at - PRIVATE_MORE)
            return false;
        unsigned char nonce[KEY_BOX_NONCE];
        private_nonce(chunk->sequence, at, nonce);
        bool erased = reading->states[chunk->experts[head[0]]] == KEYRING_ERASED;
        if (!erased && crypto_aead_xchacha20poly1305_ietf_decrypt(
                           reading->clear + *out_size, NULL, NULL, bytes + at + sizeof head,
                           head[1] + PRIVATE_MORE - sizeof head, NULL, 0, nonce,
                           reading->keys + KEYRING_KEY * (size_t)head[0]) != 0)
            return false;
        if (!erased)
            *out_size += head[1];
        at += head[1] + PRIVATE_MORE;
    }
    return true;
}

/* What a reading that gave STATUS comes to. */
static enum db_status read_outcome(enum db_status status, bool starved, bool damaged)
{
    if (status == DB_OK && starved)
        return DB_MEMORY;
    if (status == DB_OK && damaged)
        return DB_NONE;
    return status;
}

static bool read_chunk(void *context, const struct upload_chunk *chunk)
{
    struct private_reading *reading = context;
    struct upload_chunk clear = *chunk;
    bool more = false;
    reading->damaged = chunk->size < PRIVATE_HEAD ||
                       memcmp(chunk->bytes, PRIVATE_CHUNK, PRIVATE_HEAD) != 0 ||
                       !open_keys(reading, chunk);
    if (!reading->damaged && chunk->size > reading->room) {
        free(reading->clear); /* wiped behind every chunk */
        reading->clear = malloc(chunk->size);
        reading->room = reading->clear ? chunk->size : 0;
        reading->starved = !reading->clear;
    }
    if (reading->starved)
        return false;
    if (!reading->damaged && !open_records(reading, chunk, &clear.size))
        reading->damaged = true;
    if (!reading->damaged) {
        clear.bytes = reading->clear;
        more = reading->each(reading->context, &clear);
    }
    if (reading->clear)
        sodium_memzero(reading->clear, reading->room < chunk->size ? reading->room : chunk->size);
    return more;
}

enum db_status private_read(const struct app *app, struct db *db, const char *dataset,
                            upload_chunk_fn *each, void *context)
{
    struct private_reading reading = {.each = each, .context = context};
    struct dataset_row row;
    enum db_status status = datasets_find(db, dataset, &row);
    if (status != DB_OK)
        return status;
    if (!app->settings.keys)
        return DB_FAILED;
    reading.experts = (uint32_t)row.experts;
    reading.own = memory_new((size_t)reading.experts + 1, KEYRING_KEY);
    reading.states = memory_new((size_t)reading.experts + 1, sizeof *reading.states);
    keyring_find_all(app->settings.keys, dataset, reading.experts, reading.own, reading.states);
    for (uint32_t i = 0; i < reading.experts; i++)
        if (reading.states[i] == KEYRING_FULL) /* no damage: it may be read later */
            status = DB_FULL;
    if (status == DB_OK)
        status = uploads_read(db, dataset, read_chunk, &reading);
    forget_keys(&reading);
    sodium_memzero(reading.own, KEYRING_KEY * (size_t)reading.experts);
    free(reading.own);
    free(reading.states);
    free(reading.clear);
    return read_outcome(status, reading.starved, reading.damaged);
}

/* ---- networks */

struct policy_reading {
    const struct app *app;
    const char *dataset;
    expert_policy_fn *each;
    void *context;
    bool damaged, starved;
};

static bool read_policy(void *context, uint32_t number, const void *bytes, size_t size)
{
    struct policy_reading *reading = context;
    unsigned char key[KEYRING_KEY];
    char name[PRIVATE_NAME_SIZE];
    bool more = false;
    const unsigned char *box = (const unsigned char *)bytes + PRIVATE_HEAD;
    enum keyring_status status =
        keyring_find(reading->app->settings.keys, reading->dataset, number, key);
    reading->starved = status == KEYRING_FULL;
    if (status == KEYRING_ERASED || reading->starved)
        return !reading->starved;
    reading->damaged = status != KEYRING_OK || size < PRIVATE_HEAD + KEY_BOX_MORE ||
                       memcmp(bytes, PRIVATE_POLICY, PRIVATE_HEAD) != 0;
    if (reading->damaged)
        return false;
    size_t clear_size = size - PRIVATE_HEAD - KEY_BOX_MORE;
    unsigned char *clear = malloc(clear_size + 1);
    private_policy_name(reading->dataset, number, name);
    reading->starved = !clear;
    reading->damaged = clear && !key_box_open(key, name, box, size - PRIVATE_HEAD, clear);
    if (clear && !reading->damaged)
        more = reading->each(reading->context, number, clear, clear_size);
    if (clear)
        sodium_memzero(clear, clear_size);
    free(clear);
    sodium_memzero(key, sizeof key);
    return more;
}

enum db_status private_policies(const struct app *app, struct db *db, const char *dataset,
                                expert_policy_fn *each, void *context)
{
    struct policy_reading reading = {
        .app = app, .dataset = dataset, .each = each, .context = context};
    if (!app->settings.keys)
        return DB_FAILED;
    enum db_status status = datasets_policies(db, dataset, read_policy, &reading);
    return read_outcome(status, reading.starved, reading.damaged);
}
