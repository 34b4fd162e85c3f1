/* Which key a secret has; storage/keys/key_box.h encrypts. */
#include "api/call/sealed.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "storage/keys/key_box.h"
#include "storage/keys/keyring.h"

static void derive_key(const struct app *app, unsigned char key[KEY_BOX_KEY])
{
    static const char purpose[] = "tacet: secrets of releases, 1";
    /* The first half of an Ed25519 secret key is its seed. */
    crypto_generichash(key, KEY_BOX_KEY, (const unsigned char *)purpose, sizeof purpose,
                       app->secret_key, crypto_sign_SEEDBYTES);
}

/* Finds the key of DATASET; MAKES: makes it when there is none. */
static enum keyring_status sealed_key(const struct app *app, const char *dataset, bool makes,
                                      unsigned char key[KEY_BOX_KEY])
{
    static const uint32_t own[] = {KEYRING_DATASET};
    struct keyring *keys = app->settings.keys;
    if (!keys)
        return KEYRING_NONE;
    if (dataset[0] == '\0') {
        keyring_service_key(keys, key);
        return KEYRING_OK;
    }
    enum keyring_status status = keyring_find(keys, dataset, KEYRING_DATASET, key);
    if (status == KEYRING_NONE && makes)
        status = keyring_need(keys, dataset, own, 1, KEYRING_DATASET, key);
    return status;
}

bool sealed_close(const struct app *app, const char *dataset, const char *id,
                  const unsigned char *secret, size_t size, unsigned char **out, size_t *out_size)
{
    unsigned char key[KEY_BOX_KEY];
    *out = malloc(size + KEY_BOX_MORE);
    *out_size = size + KEY_BOX_MORE;
    bool closed = *out && sealed_key(app, dataset, true, key) == KEYRING_OK;
    if (closed) {
        key_box_close(key, id, secret, size, *out);
    } else {
        free(*out);
        *out = NULL;
    }
    sodium_memzero(key, sizeof key);
    return closed;
}

unsigned char *sealed_open(const struct app *app, const char *dataset, const char *id,
                           const unsigned char *bytes, size_t size, size_t *out_size)
{
    unsigned char key[KEY_BOX_KEY];
    if (size < KEY_BOX_MORE) {
        errno = EBADMSG;
        return NULL;
    }
    unsigned char *secret = sodium_malloc(size - KEY_BOX_MORE);
    if (!secret) {
        errno = ENOMEM;
        return NULL;
    }
    enum keyring_status status = sealed_key(app, dataset, false, key);
    bool opened = status == KEYRING_OK && key_box_open(key, id, bytes, size, secret);
    bool erased = !opened && dataset[0] != '\0' && app->settings.keys &&
                  keyring_has_erased(app->settings.keys, dataset);
    if (!opened && !erased) {
        derive_key(app, key);
        opened = key_box_open(key, id, bytes, size, secret);
    }
    sodium_memzero(key, sizeof key);
    if (!opened) {
        sodium_free(secret);
        errno = EBADMSG;
        if (erased)
            errno = ESTALE;
        if (status == KEYRING_FULL)
            errno = ENOMEM;
        return NULL;
    }
    *out_size = size - KEY_BOX_MORE;
    return secret;
}
