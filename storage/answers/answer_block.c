/* Bytes in, bytes out; every length is checked before it is believed. */
#include "storage/answers/answer_block.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define FORM        1
#define FIXED_BYTES (4 + 8 + 2 + ANSWER_FINGERPRINT_SIZE) /* of an answer, its size included */
#define TEXTS       4

size_t answer_block_room(const char *client, const char *key, const struct answer_row *answer)
{
    return FIXED_BYTES + TEXTS * 2 + strlen(client) + strlen(key) + strlen(answer->content_type) +
           strlen(answer->location) + answer->body_size;
}

static unsigned char *put_number(unsigned char *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        *at++ = (unsigned char)(value >> (8 * i));
    return at;
}

static unsigned char *put_bytes(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

static unsigned char *put_text(unsigned char *at, const char *text)
{
    size_t size = strlen(text);
    assert(size <= UINT16_MAX);
    return put_bytes(put_number(at, size, 2), text, size);
}

unsigned char *answer_block_begin(unsigned char *at)
{
    return put_number(at, FORM, ANSWER_BLOCK_START);
}

unsigned char *answer_block_add(unsigned char *at, const char *client, const char *key,
                                const struct answer_row *answer)
{
    size_t size = answer_block_room(client, key, answer);
    assert(size <= UINT32_MAX && answer->status >= 0 && answer->status <= UINT16_MAX);
    at = put_number(at, size - 4, 4);
    at = put_number(at, (uint64_t)answer->created_ms, 8);
    at = put_number(at, (uint64_t)answer->status, 2);
    memcpy(at, answer->fingerprint, ANSWER_FINGERPRINT_SIZE);
    at = put_text(at + ANSWER_FINGERPRINT_SIZE, client);
    at = put_text(at, key);
    at = put_text(at, answer->content_type);
    at = put_text(at, answer->location);
    if (answer->body_size > 0)
        memcpy(at, answer->body, answer->body_size);
    return at + answer->body_size;
}

static uint64_t get_number(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

bool answer_walk_begin(struct answer_walk *walk, const void *block, size_t size)
{
    walk->at = block;
    walk->end = walk->at + size;
    if (size < ANSWER_BLOCK_START || *walk->at != FORM)
        return false;
    walk->at += ANSWER_BLOCK_START;
    return true;
}

static bool get_text(const unsigned char **at, const unsigned char *end, const char **out,
                     size_t *out_size)
{
    if (end - *at < 2)
        return false;
    *out_size = (size_t)get_number(*at, 2);
    *at += 2;
    if ((size_t)(end - *at) < *out_size)
        return false;
    *out = (const char *)*at;
    *at += *out_size;
    return true;
}

enum answer_step answer_walk_next(struct answer_walk *walk, struct answer_entry *out)
{
    const unsigned char *at = walk->at;
    if (at == walk->end)
        return ANSWER_END;
    if (walk->end - at < FIXED_BYTES)
        return ANSWER_BROKEN;
    size_t size = (size_t)get_number(at, 4);
    if ((size_t)(walk->end - at) - 4 < size || size < FIXED_BYTES - 4)
        return ANSWER_BROKEN;
    const unsigned char *end = at + 4 + size;
    out->created_ms = (int64_t)get_number(at + 4, 8);
    out->status = (int)get_number(at + 12, 2);
    out->fingerprint = at + 14;
    at += FIXED_BYTES;
    if (!get_text(&at, end, &out->client, &out->client_size) ||
        !get_text(&at, end, &out->key, &out->key_size) ||
        !get_text(&at, end, &out->content_type, &out->content_type_size) ||
        !get_text(&at, end, &out->location, &out->location_size))
        return ANSWER_BROKEN;
    out->body = (const char *)at;
    out->body_size = (size_t)(end - at);
    walk->at = end;
    return ANSWER_ENTRY;
}

int64_t answer_hash(const char *client, size_t client_size, const char *key, size_t key_size)
{
    crypto_generichash_state state;
    unsigned char hash[crypto_generichash_BYTES_MIN];
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    crypto_generichash_update(&state, (const unsigned char *)client, client_size);
    crypto_generichash_update(&state, (const unsigned char *)"", 1);
    crypto_generichash_update(&state, (const unsigned char *)key, key_size);
    crypto_generichash_final(&state, hash, sizeof hash);
    return (int64_t)get_number(hash, 8);
}
