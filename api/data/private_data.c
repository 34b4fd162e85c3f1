/* Writing experts' data; private_read.c reads. */
#include "api/data/private_data.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/data/private_form.h"
#include "memory/memory.h"

_Static_assert(PRIVATE_POLICY_MORE == PRIVATE_HEAD + KEY_BOX_MORE, "what a network has more");

struct private_keys {
    unsigned char *keys; /* of KEYRING_KEY bytes each */
    uint32_t count, room;
};

void private_nonce(uint32_t sequence, size_t at, unsigned char nonce[KEY_BOX_NONCE])
{
    uint32_t place[2] = {sequence, (uint32_t)at};
    memset(nonce, 0, KEY_BOX_NONCE);
    memcpy(nonce, place, sizeof place);
}

void private_key_name(const char *upload, uint32_t expert, char out[PRIVATE_NAME_SIZE])
{
    snprintf(out, PRIVATE_NAME_SIZE, "%s %u", upload, expert);
}

void private_policy_name(const char *dataset, uint32_t number, char out[PRIVATE_NAME_SIZE])
{
    snprintf(out, PRIVATE_NAME_SIZE, "%s %u policy", dataset, number);
}

enum db_status private_status(enum keyring_status status)
{
    switch (status) {
    case KEYRING_OK: return DB_OK;
    case KEYRING_FULL: return DB_FULL;
    default: return DB_FAILED;
    }
}

/* ---- the keys of an upload */

struct private_keys *private_keys_new(void)
{
    return memory_new(1, sizeof(struct private_keys));
}

void private_keys_free(struct private_keys *keys)
{
    if (!keys)
        return;
    if (keys->keys)
        sodium_memzero(keys->keys, KEYRING_KEY * (size_t)keys->room);
    free(keys->keys);
    free(keys);
}

/* The former place of keys that move is wiped. */
void private_keys_draw(struct private_keys *keys, uint32_t count)
{
    if (count > keys->room) {
        uint32_t room = 2 * count + 16;
        unsigned char *larger = memory_new(room, KEYRING_KEY);
        if (keys->count > 0) {
            memcpy(larger, keys->keys, KEYRING_KEY * (size_t)keys->count);
            sodium_memzero(keys->keys, KEYRING_KEY * (size_t)keys->count);
        }
        free(keys->keys);
        keys->keys = larger;
        keys->room = room;
    }
    for (; keys->count < count; keys->count++)
        randombytes_buf(keys->keys + KEYRING_KEY * (size_t)keys->count, KEYRING_KEY);
}

size_t private_record_close(struct private_keys *keys, uint32_t sequence, unsigned char *chunk,
                            size_t at, uint32_t expert, size_t size)
{
    const uint32_t head[2] = {expert, (uint32_t)size};
    unsigned char nonce[KEY_BOX_NONCE];
    unsigned char *record = chunk + at + sizeof head;
    private_keys_draw(keys, expert + 1);
    private_nonce(sequence, at, nonce);
    memcpy(chunk + at, head, sizeof head);
    crypto_aead_xchacha20poly1305_ietf_encrypt(record, NULL, record, size, NULL, 0, NULL, nonce,
                                               keys->keys + KEYRING_KEY * (size_t)expert);
    return size + PRIVATE_MORE;
}

enum db_status private_keys_store(const struct app *app, struct db *db,
                                  const struct private_keys *keys,
                                  const struct private_upload *upload)
{
    if (!app->settings.keys)
        return DB_FAILED;
    size_t count = upload->count;
    unsigned char *own = memory_new(count + 1, KEYRING_KEY);
    unsigned char *boxes = memory_new(count + 1, KEY_BOX_SIZE);
    enum db_status status =
        private_status(keyring_need(app->settings.keys, upload->dataset, upload->numbers,
                                    upload->count, upload->first_new, own));
    for (size_t i = 0; i < count && status == DB_OK; i++) {
        char name[PRIVATE_NAME_SIZE];
        private_key_name(upload->upload, (uint32_t)i, name);
        key_box_close(own + KEYRING_KEY * i, name, keys->keys + KEYRING_KEY * i, KEYRING_KEY,
                      boxes + KEY_BOX_SIZE * i);
    }
    if (status == DB_OK)
        status = db_owed(uploads_set_keys(db, upload->upload, boxes, KEY_BOX_SIZE * count));
    sodium_memzero(own, KEYRING_KEY * count);
    free(own);
    free(boxes);
    return status;
}

/* ---- networks */

enum db_status private_policy_close(const struct app *app, const char *dataset, uint32_t number,
                                    bool is_new, const void *bytes, size_t size,
                                    unsigned char **out, size_t *out_size)
{
    unsigned char key[KEYRING_KEY];
    char name[PRIVATE_NAME_SIZE];
    if (!app->settings.keys)
        return DB_FAILED;
    enum db_status status = private_status(
        keyring_need(app->settings.keys, dataset, &number, 1, is_new ? number : UINT32_MAX, key));
    if (status != DB_OK)
        return status;
    *out_size = PRIVATE_POLICY_MORE + size;
    *out = malloc(*out_size);
    if (*out) {
        private_policy_name(dataset, number, name);
        memcpy(*out, PRIVATE_POLICY, PRIVATE_HEAD);
        key_box_close(key, name, bytes, size, *out + PRIVATE_HEAD);
    }
    sodium_memzero(key, sizeof key);
    return *out ? DB_OK : DB_MEMORY;
}
