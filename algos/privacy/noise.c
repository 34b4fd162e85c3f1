/* The generator behind every private draw.
 *
 * DESIGN. ChaCha20 (RFC 8439, the original 64-bit nonce form of libsodium) with fast key erasure:
 * each refill expands the key once, with nonce zero, and the first 32 bytes of the result replace
 * the key before anything is given out; given bytes are wiped. A captured state therefore tells
 * nothing about earlier noise. Long requests are expanded straight into the caller's memory under a
 * one-time key that is itself drawn from the stream: no copy, and the same property. */
#include "algos/privacy/noise.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define KEY_BYTES    32
#define BUFFER_BYTES 2048 /* a multiple of what libsodium expands at once */
#define DIRECT_BYTES 1024 /* from here on a request is worth a key of its own */

struct noise_source {
    _Alignas(64) uint8_t buffer[BUFFER_BYTES]; /* [0, used) is wiped, the rest not yet given out */
    uint8_t key[KEY_BYTES];
    size_t used;
    pid_t owner; /* a forked copy would repeat the parent's noise: refused */
    bool injected;
};

static bool system_random(uint8_t *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = getrandom(bytes + done, size - done, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static struct noise_source *source_with_key(const uint8_t key[KEY_BYTES], bool injected)
{
    struct noise_source *source = sodium_malloc(sizeof *source); /* locked, kept out of cores */
    if (!source)
        return NULL;
    sodium_memzero(source, sizeof *source);
    memcpy(source->key, key, KEY_BYTES);
    source->used = BUFFER_BYTES;
    source->owner = getpid();
    source->injected = injected;
    return source;
}

struct noise_source *noise_source_new(const char *purpose)
{
    assert(purpose && purpose[0]);
    uint8_t seed[KEY_BYTES], key[KEY_BYTES];
    if (sodium_init() < 0 || !system_random(seed, sizeof seed))
        return NULL;
    /* Keyed BLAKE2b of the purpose: streams of different purposes share nothing. */
    crypto_generichash(key, sizeof key, (const unsigned char *)purpose, strlen(purpose), seed,
                       sizeof seed);
    struct noise_source *source = source_with_key(key, false);
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(key, sizeof key);
    return source;
}

struct noise_source *noise_source_new_injected(const uint8_t key[32])
{
    return sodium_init() < 0 ? NULL : source_with_key(key, true);
}

bool noise_source_is_injected(const struct noise_source *source)
{
    return source->injected;
}

void noise_source_free(struct noise_source *source)
{
    sodium_free(source); /* wipes; takes NULL */
}

static void expand(const uint8_t key[KEY_BYTES], uint8_t *bytes, size_t size)
{
    static const uint8_t nonce[crypto_stream_chacha20_NONCEBYTES]; /* zero: a key expands once */
    int failed = crypto_stream_chacha20(bytes, size, nonce, key);
    assert(!failed);
    (void)failed;
}

static void refill(struct noise_source *source)
{
    assert(source->owner == getpid());
    expand(source->key, source->buffer, BUFFER_BYTES);
    memcpy(source->key, source->buffer, KEY_BYTES);
    sodium_memzero(source->buffer, KEY_BYTES);
    source->used = KEY_BYTES;
}

static void take(struct noise_source *source, uint8_t *bytes, size_t size)
{
    while (size) {
        if (source->used == BUFFER_BYTES)
            refill(source);
        size_t part = BUFFER_BYTES - source->used;
        part = size < part ? size : part;
        memcpy(bytes, source->buffer + source->used, part);
        memset(source->buffer + source->used, 0, part);
        source->used += part;
        bytes += part;
        size -= part;
    }
}

void noise_bytes(struct noise_source *source, void *bytes, size_t size)
{
    assert(source && (bytes || !size));
    if (size < DIRECT_BYTES) {
        take(source, bytes, size);
        return;
    }
    assert(source->owner == getpid());
    uint8_t key[KEY_BYTES];
    take(source, key, sizeof key);
    expand(key, bytes, size);
    sodium_memzero(key, sizeof key);
}

uint64_t noise_u64(struct noise_source *source)
{
    uint64_t word;
    noise_bytes(source, &word, sizeof word);
    return word;
}

uint32_t noise_below(struct noise_source *source, uint32_t n)
{
    assert(n > 0);
    /* Lemire 2019, "Fast random integer generation in an interval": exact by rejection. */
    uint32_t word;
    noise_bytes(source, &word, sizeof word);
    uint64_t product = (uint64_t)word * n;
    uint32_t reject_below = (uint32_t)(-n) % n;
    while ((uint32_t)product < reject_below) {
        noise_bytes(source, &word, sizeof word);
        product = (uint64_t)word * n;
    }
    return (uint32_t)(product >> 32);
}

double noise_uniform(struct noise_source *source)
{
    /* Odd multiples of 2^-53: 52 free bits, exact in double, symmetric, never 0 nor 1. */
    return (double)((noise_u64(source) >> 12 << 1) | 1) * 0x1p-53;
}
