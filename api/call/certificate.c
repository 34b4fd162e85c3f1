/* Signing certificates, and the key set that lets anyone check them. */
#include "api/call/certificate.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/json/json_text.h"

#define VARIANT       sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define SIGNATURE_MAX sodium_base64_ENCODED_LEN(crypto_sign_BYTES, VARIANT)
#define KEY_MAX       sodium_base64_ENCODED_LEN(crypto_sign_PUBLICKEYBYTES, VARIANT)

char *certificate_sign(const struct app *app, const json_t *certificate)
{
    size_t size = 0;
    char *text = json_text_write(certificate, true, &size);
    unsigned char signature[crypto_sign_BYTES];
    crypto_sign_detached(signature, NULL, (const unsigned char *)text, size, app->secret_key);
    free(text);
    char value[SIGNATURE_MAX];
    sodium_bin2base64(value, sizeof value, signature, sizeof signature, VARIANT);

    json_t *whole = json_copy((json_t *)certificate);
    json_member_add(&whole, "signature",
                    json_pack("{s:s, s:s, s:s}", "algorithm", "Ed25519", "key_id", app->key_id,
                              "value", value));
    text = json_text_write(whole, true, &size);
    json_decref(whole);
    return text;
}

json_t *certificate_keys(const struct app *app)
{
    char key[KEY_MAX];
    sodium_bin2base64(key, sizeof key, app->public_key, sizeof app->public_key, VARIANT);
    return json_pack("{s:[{s:s, s:s, s:s, s:s, s:s, s:s}]}", "keys", "kty", "OKP", "crv", "Ed25519",
                     "use", "sig", "alg", "EdDSA", "kid", app->key_id, "x", key);
}
