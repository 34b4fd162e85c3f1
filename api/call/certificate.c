/* Signing and checking certificates, and the key set that lets anyone do the latter. */
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

bool certificate_check(const char *text, const unsigned char *public_key)
{
    json_t *whole = json_text_stored(text);
    json_t *stamp = json_object_get(whole, "signature");
    const char *value = json_string_value(json_object_get(stamp, "value"));
    unsigned char signature[crypto_sign_BYTES];
    size_t length = 0, size = 0;
    char *signed_text = NULL;
    bool good = value && sodium_base642bin(signature, sizeof signature, value, strlen(value), NULL,
                                           &length, NULL, VARIANT) == 0;
    if (good && length == sizeof signature) {
        json_object_del(whole, "signature");
        signed_text = json_text_write(whole, true, &size);
    }
    good = signed_text && crypto_sign_verify_detached(signature, (const unsigned char *)signed_text,
                                                      size, public_key) == 0;
    free(signed_text);
    json_decref(whole);
    return good;
}

json_t *certificate_keys(const struct app *app)
{
    char key[KEY_MAX];
    sodium_bin2base64(key, sizeof key, app->public_key, sizeof app->public_key, VARIANT);
    return json_pack("{s:[{s:s, s:s, s:s, s:s, s:s, s:s}]}", "keys", "kty", "OKP", "crv", "Ed25519",
                     "use", "sig", "alg", "EdDSA", "kid", app->key_id, "x", key);
}
