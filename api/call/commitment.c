/* Hiding rests on BLAKE2b as a pseudo-random function of the seed, binding on SHA-256. */
#include "api/call/commitment.h"

#include <sodium.h>
#include <string.h>

#include "api/call/app.h"

json_t *digest_json(const unsigned char digest[DIGEST_BYTES])
{
    char text[2 * DIGEST_BYTES + 1];
    return json_string(sodium_bin2hex(text, sizeof text, digest, DIGEST_BYTES));
}

static void commitment_key(const struct app *app, const char *certificate, const char *what,
                           unsigned char key[32])
{
    const char *const parts[] = {"tacet: commitments of certificates, 1", certificate, what};
    crypto_generichash_state state;
    /* The first half of an Ed25519 secret key is its seed. */
    crypto_generichash_init(&state, app->secret_key, crypto_sign_SEEDBYTES, 32);
    for (int i = 0; i < 3; i++)
        crypto_generichash_update(&state, (const unsigned char *)parts[i], strlen(parts[i]) + 1);
    crypto_generichash_final(&state, key, 32);
    sodium_memzero(&state, sizeof state);
}

json_t *commitment_json(const struct app *app, const char *certificate, const char *what,
                        const unsigned char digest[DIGEST_BYTES])
{
    unsigned char key[crypto_auth_hmacsha256_KEYBYTES], code[crypto_auth_hmacsha256_BYTES];
    commitment_key(app, certificate, what, key);
    crypto_auth_hmacsha256(code, digest, DIGEST_BYTES, key);
    sodium_memzero(key, sizeof key);
    return digest_json(code);
}
