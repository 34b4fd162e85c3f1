#include "api/proof/proof_keys.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/json/json_member.h"
#include "api/json/json_text.h"

#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define DAY_MS  ((int64_t)86400000)

bool proof_keys_have(const struct proof_keys *keys, const unsigned char key[32])
{
    for (unsigned i = 0; i < keys->count; i++)
        if (memcmp(keys->key[i], key, 32) == 0)
            return true;
    return false;
}

bool proof_time_read(const char *time, int64_t *out_ms)
{
    struct tm utc = {.tm_isdst = 0};
    char again[SIGNING_TIME_SIZE];
    const char *end = strptime(time, "%Y-%m-%dT%H:%M:%S", &utc);
    *out_ms = 0;
    if (!end || *end != '.' || strspn(end + 1, "0123456789") != 3)
        return false;
    *out_ms = (int64_t)timegm(&utc) * 1000 + atoi(end + 1);
    if (*out_ms < 0)
        return false;
    signing_key_time(*out_ms, again);
    return strcmp(again, time) == 0;
}

bool proof_key_follows(const unsigned char before[32], const unsigned char key[32],
                       const struct proof_link *link)
{
    char id[SIGNING_ID_SIZE], text[SIGNING_TEXT_SIZE];
    int64_t from_ms;
    signing_key_id(before, id);
    size_t size = signing_key_text(before, key, link->from, text);
    return strcmp(id, link->follows) == 0 && proof_time_read(link->from, &from_ms) &&
           crypto_sign_verify_detached(link->signature, (const unsigned char *)text, size,
                                       before) == 0;
}

unsigned proof_keys_next(const struct proof_keys *keys, const unsigned char key[32])
{
    char id[SIGNING_ID_SIZE];
    unsigned i = 0;
    signing_key_id(key, id);
    while (i < keys->count && strcmp(keys->link[i].follows, id) != 0)
        i++;
    return i;
}

bool proof_key_is_late(const struct proof_keys *keys, const unsigned char key[32], int64_t time_ms,
                       const char **out_from)
{
    unsigned next = proof_keys_next(keys, key);
    int64_t from_ms = 0;
    *out_from = next < keys->count ? keys->link[next].from : "";
    (void)proof_time_read(*out_from, &from_ms);
    return next < keys->count && time_ms > from_ms + DAY_MS;
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

static const char NO_SET[] = "it is no key set";
static const char UNSIGNED[] = "a key of the set is not signed by the one that it follows";
static const char TOO_MANY[] = "the key set has too many keys";

/* Reads a key set. *OUT, its keys, belongs to what is given: NULL where it is none. */
static json_t *read_set(const char *text, size_t size, const json_t **out)
{
    struct json_fault fault;
    json_t *json = NULL;
    if (json_text_parse(text, size, &json, &fault) != JSON_TEXT_GOOD)
        json = NULL;
    *out = json_object_get(json, "keys");
    if (json_is_array(*out))
        return json;
    json_decref(json);
    return NULL;
}

static bool read_public_key(const json_t *json, unsigned char out[32])
{
    return strcmp(json_member_text(json, "crv"), "Ed25519") == 0 &&
           proof_bytes_read(json_member_text(json, "x"), out, 32);
}

/* Reads what a set says of a key. False: it has not this form. */
static bool read_link(const json_t *follows, struct proof_link *out)
{
    const char *kid = json_member_text(follows, "kid"), *from = json_member_text(follows, "from");
    int64_t from_ms;
    if (strlen(kid) + 1 != sizeof out->follows || !proof_time_read(from, &from_ms))
        return false;
    memcpy(out->follows, kid, sizeof out->follows);
    snprintf(out->from, sizeof out->from, "%s", from);
    return proof_bytes_read(json_member_text(follows, "signature"), out->signature,
                            sizeof out->signature);
}

/* Adds KEY, or what LINK says of it where nothing was known. False: there are too many. */
static bool know_key(struct proof_keys *keys, const unsigned char key[32],
                     const struct proof_link *link)
{
    unsigned i = 0;
    while (i < keys->count && memcmp(keys->key[i], key, 32) != 0)
        i++;
    if (i == SIGNING_KEYS_MOST)
        return false;
    if (i == keys->count || keys->link[i].follows[0] == '\0')
        keys->link[i] = *link;
    if (i == keys->count)
        memcpy(keys->key[keys->count++], key, 32);
    return true;
}

/* Adds the key JSON of a set that is trusted, if it is one. */
static const char *add_trusted(const json_t *json, struct proof_keys *keys)
{
    unsigned char key[32];
    struct proof_link link = {.follows = ""};
    const json_t *follows = json_object_get(json, "follows");
    if (!read_public_key(json, key))
        return NULL;
    if (follows && !json_is_null(follows) && !read_link(follows, &link))
        return UNSIGNED;
    return know_key(keys, key, &link) ? NULL : TOO_MANY;
}

/* Checks what KEYS say of each other. */
static const char *check_links(const struct proof_keys *keys)
{
    for (unsigned at = 0; at < keys->count; at++) {
        unsigned next = proof_keys_next(keys, keys->key[at]);
        if (next < keys->count &&
            !proof_key_follows(keys->key[at], keys->key[next], &keys->link[next]))
            return UNSIGNED;
    }
    for (unsigned a = 0; a < keys->count; a++)
        for (unsigned b = 0; b < a; b++)
            if (keys->link[a].follows[0] != '\0' &&
                strcmp(keys->link[a].follows, keys->link[b].follows) == 0)
                return "two keys of the set follow the same one";
    return NULL;
}

const char *proof_keys_read(const char *text, size_t size, struct proof_keys *out)
{
    const json_t *set;
    json_t *json = read_set(text, size, &set);
    const char *why = json ? NULL : NO_SET;
    out->count = 0;
    for (size_t i = 0; !why && i < json_array_size(set); i++)
        why = add_trusted(json_array_get(set, i), out);
    json_decref(json);
    if (!why && out->count == 0)
        why = "the key set has no Ed25519 key";
    return why ? why : check_links(out);
}

/* Adds to KEYS the one of SET that follows their key AT. NULL, or a sentence. */
static const char *add_follower(const json_t *set, unsigned at, struct proof_keys *keys)
{
    char id[SIGNING_ID_SIZE];
    unsigned char key[32];
    struct proof_link link;
    unsigned followers = 0;
    signing_key_id(keys->key[at], id);
    for (size_t i = 0; i < json_array_size(set); i++) {
        const json_t *json = json_array_get(set, i), *follows = json_object_get(json, "follows");
        if (strcmp(json_member_text(json, "crv"), "Ed25519") != 0 ||
            strcmp(json_member_text(follows, "kid"), id) != 0)
            continue;
        if (!read_public_key(json, key) || !read_link(follows, &link) ||
            !proof_key_follows(keys->key[at], key, &link))
            return UNSIGNED;
        if (++followers > 1)
            return "two keys of the set follow the same one";
        unsigned next = proof_keys_next(keys, keys->key[at]);
        if (next < keys->count && memcmp(keys->key[next], key, sizeof key) != 0)
            return "the set names another successor of a key than is known";
        if (!know_key(keys, key, &link))
            return TOO_MANY;
    }
    return NULL;
}

const char *proof_keys_follow(const char *text, size_t size, struct proof_keys *keys)
{
    const json_t *set;
    json_t *json = read_set(text, size, &set);
    const char *why = json ? NULL : NO_SET;
    for (unsigned at = 0; at < keys->count && !why; at++)
        why = add_follower(set, at, keys);
    json_decref(json);
    return why;
}

static json_t *write_link(const unsigned char key[32], const struct proof_link *link)
{
    char x[sodium_base64_ENCODED_LEN(32, VARIANT)], value[sodium_base64_ENCODED_LEN(64, VARIANT)];
    sodium_bin2base64(x, sizeof x, key, 32, VARIANT);
    sodium_bin2base64(value, sizeof value, link->signature, sizeof link->signature, VARIANT);
    json_t *json = json_pack("{s:s, s:s}", "crv", "Ed25519", "x", x);
    if (link->follows[0] != '\0')
        json_member_add(&json, "follows",
                        json_pack("{s:s, s:s, s:s}", "kid", link->follows, "from", link->from,
                                  "signature", value));
    return json;
}

void proof_keys_write(const struct proof_keys *keys, struct buffer *out)
{
    json_t *json = json_pack("{s:[]}", "keys"), *set = json_object_get(json, "keys");
    size_t size = 0;
    for (unsigned i = 0; i < keys->count; i++)
        json_array_append_new(set, write_link(keys->key[i], &keys->link[i]));
    char *text = json_text_write(json, false, &size);
    (void)buffer_add(out, text, size);
    free(text);
    json_decref(json);
}
