#include "api/call/keyed_hash.h"

#include <sodium.h>
#include <string.h>

#include "api/call/app.h"

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
