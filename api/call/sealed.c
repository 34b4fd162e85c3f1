/* Nonce, then ciphertext with its tag. */
#include "api/call/sealed.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"

#define KEY   crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG   crypto_aead_xchacha20poly1305_ietf_ABYTES

static void derive_key(const struct app *app, unsigned char key[KEY])
{
    static const char purpose[] = "tacet: secrets of releases, 1";
    /* The first half of an Ed25519 secret key is its seed. */
    crypto_generichash(key, KEY, (const unsigned char *)purpose, sizeof purpose, app->secret_key,
                       crypto_sign_SEEDBYTES);
}

bool sealed_close(const struct app *app, const char *id, const unsigned char *secret, size_t size,
                  unsigned char **out, size_t *out_size)
{
    unsigned char key[KEY];
    unsigned long long length = 0;
    unsigned char *bytes = malloc(NONCE + size + TAG);
    if (!bytes)
        return false;
    derive_key(app, key);
    randombytes_buf(bytes, NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(bytes + NONCE, &length, secret, size,
                                               (const unsigned char *)id, strlen(id), NULL, bytes,
                                               key);
    sodium_memzero(key, sizeof key);
    *out = bytes;
    *out_size = NONCE + (size_t)length;
    return true;
}

unsigned char *sealed_open(const struct app *app, const char *id, const unsigned char *bytes,
                           size_t size, size_t *out_size)
{
    unsigned char key[KEY];
    unsigned long long length = 0;
    if (size < NONCE + TAG) {
        errno = EBADMSG;
        return NULL;
    }
    unsigned char *secret = sodium_malloc(size - NONCE - TAG);
    if (!secret) {
        errno = ENOMEM;
        return NULL;
    }
    derive_key(app, key);
    int opened = crypto_aead_xchacha20poly1305_ietf_decrypt(secret, &length, NULL, bytes + NONCE,
                                                            size - NONCE, (const unsigned char *)id,
                                                            strlen(id), bytes, key);
    sodium_memzero(key, sizeof key);
    if (opened != 0) {
        sodium_free(secret);
        errno = EBADMSG;
        return NULL;
    }
    *out_size = (size_t)length;
    return secret;
}
