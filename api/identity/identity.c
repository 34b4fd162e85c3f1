/* Takes a JWT apart (RFC 7515, compact form) and asks keys and claims about it.
 *
 * DESIGN. Nothing of the token is believed before its signature is verified, except the name of the
 * key and of the algorithm; and of algorithms there is a short list. The keys are replaced as a
 * whole, under a lock that readers share. */
#include "api/identity/identity.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/identity/base64url.h"
#include "api/identity/claims.h"
#include "api/identity/jwks.h"
#include "api/json/json_text.h"
#include "memory/memory.h"

#define SIGNATURE_MOST 1024 /* of an RSA key of 8192 bits */

struct identity {
    struct identity_settings settings;
    pthread_rwlock_t lock;
    struct jwks *keys;
};

static bool is_role(const struct identity_settings *settings, const char *name)
{
    for (const char *const *role = settings->role_names; *role; role++)
        if (strcmp(*role, name) == 0)
            return true;
    return false;
}

struct identity *identity_new(const struct identity_settings *settings, const char **why)
{
    static const char none[] = "{\"keys\":[]}";
    *why = "a row of the map of roles is not THEIRS=OURS, where OURS is a role that may be given";
    for (unsigned i = 0; i < settings->role_map_count; i++) {
        const char *ours = strrchr(settings->role_map[i], '=');
        if (!ours || ours == settings->role_map[i] || !is_role(settings, ours + 1))
            return NULL;
    }
    struct identity *identity = memory_new(1, sizeof *identity);
    identity->settings = *settings;
    pthread_rwlock_init(&identity->lock, NULL);
    identity->keys = jwks_read(none, sizeof none - 1, why);
    return identity;
}

void identity_free(struct identity *identity)
{
    if (!identity)
        return;
    jwks_free(identity->keys);
    pthread_rwlock_destroy(&identity->lock);
    free(identity);
}

bool identity_set_keys(struct identity *identity, const char *text, size_t size, const char **why)
{
    struct jwks *keys = jwks_read(text, size, why);
    if (!keys)
        return false;
    pthread_rwlock_wrlock(&identity->lock);
    struct jwks *before = identity->keys;
    identity->keys = keys;
    pthread_rwlock_unlock(&identity->lock);
    jwks_free(before);
    return true;
}

const char *identity_issuer(const struct identity *identity)
{
    return identity->settings.issuer;
}

/* ---- a token */

/* The three parts of a token, still encoded. */
struct jwt_parts {
    const char *head, *claims, *signature;
    size_t head_size, claims_size, signature_size;
};

static bool split_token(const char *token, struct jwt_parts *out)
{
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;
    if (!second || strchr(second + 1, '.'))
        return false;
    *out = (struct jwt_parts){.head = token,
                              .head_size = (size_t)(first - token),
                              .claims = first + 1,
                              .claims_size = (size_t)(second - first - 1),
                              .signature = second + 1,
                              .signature_size = strlen(second + 1)};
    return true;
}

/* The JSON object in a part; NULL: it holds none. */
static json_t *read_part(const char *text, size_t size)
{
    unsigned char bytes[IDENTITY_TOKEN_MOST];
    struct json_fault fault;
    json_t *json = NULL;
    size_t length = 0;
    if (!base64url_decode(text, size, bytes, sizeof bytes, &length) ||
        json_text_parse((const char *)bytes, length, &json, &fault) != JSON_TEXT_GOOD)
        return NULL;
    if (json_is_object(json))
        return json;
    json_decref(json);
    return NULL;
}

/* True when HEAD names a known key and algorithm and asks for nothing more (crit), and the
 * signature fits. */
static bool is_signed(struct identity *identity, const json_t *head, const struct jwt_parts *parts)
{
    const char *algorithm = json_string_value(json_object_get(head, "alg"));
    const char *kid = json_string_value(json_object_get(head, "kid"));
    unsigned char signature[SIGNATURE_MOST];
    size_t size = 0;
    if (!algorithm || !kid || json_object_get(head, "crit") || json_object_get(head, "b64") ||
        !base64url_decode(parts->signature, parts->signature_size, signature, sizeof signature,
                          &size))
        return false;
    pthread_rwlock_rdlock(&identity->lock);
    bool good = jwks_verify(identity->keys, algorithm, kid, parts->head,
                            parts->head_size + 1 + parts->claims_size, signature, size);
    bool known = good || jwks_knows(identity->keys, kid);
    pthread_rwlock_unlock(&identity->lock);
    if (!known && identity->settings.unknown_key)
        identity->settings.unknown_key(identity->settings.unknown_key_context);
    return good;
}

enum identity_status identity_check(struct identity *identity, const char *token, int64_t now_ms,
                                    struct identity_caller *out, const char **why)
{
    struct jwt_parts parts;
    enum identity_status status = IDENTITY_INVALID;
    json_t *claims = NULL;
    *why = "The token is not valid.";
    if (strnlen(token, IDENTITY_TOKEN_MOST + 1) > IDENTITY_TOKEN_MOST ||
        !split_token(token, &parts))
        return IDENTITY_INVALID;
    json_t *head = read_part(parts.head, parts.head_size);
    if (head && is_signed(identity, head, &parts))
        claims = read_part(parts.claims, parts.claims_size);
    if (claims)
        status = claims_check(claims, &identity->settings, now_ms, out, why);
    json_decref(claims);
    json_decref(head);
    return status;
}
