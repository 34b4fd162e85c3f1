/* Hiding rests on BLAKE2b as a pseudo-random function of the seed, binding on SHA-256. */
#include "api/call/commitment.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "memory/memory.h"

json_t *digest_json(const unsigned char digest[DIGEST_BYTES])
{
    char text[2 * DIGEST_BYTES + 1];
    return json_string(sodium_bin2hex(text, sizeof text, digest, DIGEST_BYTES));
}

void keyed_hash(const struct app *app, const char *purpose, const void *bytes, size_t size,
                unsigned char *out, size_t out_size)
{
    crypto_generichash_state state;
    /* The first half of an Ed25519 secret key is its seed. */
    crypto_generichash_init(&state, app->secret_key, crypto_sign_SEEDBYTES, out_size);
    crypto_generichash_update(&state, (const unsigned char *)purpose, strlen(purpose) + 1);
    crypto_generichash_update(&state, bytes, size);
    crypto_generichash_final(&state, out, out_size);
    sodium_memzero(&state, sizeof state);
}

json_t *commitment_json(const struct app *app, const char *certificate, const char *what,
                        const unsigned char digest[DIGEST_BYTES])
{
    unsigned char key[crypto_auth_hmacsha256_KEYBYTES], code[crypto_auth_hmacsha256_BYTES];
    char *texts = memory_format("%s%c%s", certificate, 0, what);
    keyed_hash(app, "tacet: commitments of certificates, 1", texts,
               strlen(certificate) + strlen(what) + 2, key, sizeof key);
    free(texts);
    crypto_auth_hmacsha256(code, digest, DIGEST_BYTES, key);
    sodium_memzero(key, sizeof key);
    return digest_json(code);
}
