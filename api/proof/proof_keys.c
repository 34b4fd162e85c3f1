#include "api/proof/proof_keys.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/json/json_member.h"
#include "api/json/json_text.h"

#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

bool proof_keys_have(const struct proof_keys *keys, const unsigned char key[32])
{
    for (unsigned i = 0; i < keys->count; i++)
        if (memcmp(keys->key[i], key, 32) == 0)
            return true;
    return false;
}

bool proof_key_follows(const unsigned char before[32], const struct proof_follower *follower)
{
    char id[SIGNING_ID_SIZE], text[SIGNING_TEXT_SIZE];
    signing_key_id(before, id);
    size_t size = signing_key_text(before, follower->key, follower->from, text);
    return strcmp(id, follower->follows) == 0 &&
           crypto_sign_verify_detached(follower->signature, (const unsigned char *)text, size,
                                       before) == 0;
}

bool proof_bytes_read(const char *text, unsigned char *out, size_t size)
{
    size_t got = 0;
    return sodium_base642bin(out, size, text, strlen(text), NULL, &got, NULL, VARIANT) == 0 &&
           got == size;
}

const char *proof_checkpoint_read(const char *note, size_t size, const struct proof_keys *keys,
                                  struct tlog_checkpoint *out)
{
    const char *why = "no key of the log is known";
    for (unsigned i = 0; why && i < keys->count; i++)
        why = tlog_checkpoint_read(note, size, keys->key[i], out);
    return why;
}

/* ---- key sets */

static bool read_public_key(const json_t *json, unsigned char out[32])
{
    return strcmp(json_member_text(json, "crv"), "Ed25519") == 0 &&
           proof_bytes_read(json_member_text(json, "x"), out, 32);
}

const char *proof_keys_read(const char *text, size_t size, struct proof_keys *out)
{
    struct json_fault fault;
    json_t *json = NULL, *key;
    size_t i;
    out->count = 0;
    if (json_text_parse(text, size, &json, &fault) != JSON_TEXT_GOOD)
        return "the key set is not JSON";
    json_array_foreach(json_object_get(json, "keys"), i,
                       key) if (out->count < SIGNING_KEYS_MOST &&
                                read_public_key(key, out->key[out->count])) out->count++;
    json_decref(json);
    return out->count > 0 ? NULL : "the key set has no Ed25519 key";
}

/* Reads a key that follows another one. */
static bool read_follower(const json_t *json, struct proof_follower *out)
{
    const json_t *follows = json_object_get(json, "follows");
    snprintf(out->follows, sizeof out->follows, "%s", json_member_text(follows, "kid"));
    snprintf(out->from, sizeof out->from, "%s", json_member_text(follows, "from"));
    return json_is_object(follows) && read_public_key(json, out->key) &&
           proof_bytes_read(json_member_text(follows, "signature"), out->signature,
                            sizeof out->signature);
}

/* Adds to KEYS the one of SET, an array, that follows their key AT. NULL, or a sentence. */
static const char *add_follower(const json_t *set, unsigned at, struct proof_keys *keys)
{
    char id[SIGNING_ID_SIZE];
    struct proof_follower follower;
    unsigned followers = 0;
    signing_key_id(keys->key[at], id);
    for (size_t i = 0; i < json_array_size(set) && i < SIGNING_KEYS_MOST; i++) {
        if (!read_follower(json_array_get(set, i), &follower) || strcmp(follower.follows, id) != 0)
            continue;
        if (!proof_key_follows(keys->key[at], &follower))
            return "a key of the set is not signed by the one that it follows";
        if (++followers > 1)
            return "two keys of the set follow the same one";
        if (!proof_keys_have(keys, follower.key) && keys->count < SIGNING_KEYS_MOST)
            memcpy(keys->key[keys->count++], follower.key, sizeof follower.key);
    }
    return NULL;
}

const char *proof_keys_follow(const char *text, size_t size, struct proof_keys *keys)
{
    struct json_fault fault;
    json_t *json = NULL;
    const char *why = NULL;
    if (json_text_parse(text, size, &json, &fault) != JSON_TEXT_GOOD)
        return "the key set is not JSON";
    for (unsigned at = 0; at < keys->count && !why; at++)
        why = add_follower(json_object_get(json, "keys"), at, keys);
    json_decref(json);
    return why;
}
