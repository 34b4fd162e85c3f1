/* The generator behind every private draw.
 *
 * DESIGN. A stream cipher with fast key erasure (Bernstein 2017, "Fast-key-erasure random-number
 * generators"): each refill expands the key once, from block zero, and the first 32 bytes of the
 * result replace the key before anything is given out; given bytes are wiped. A captured state
 * therefore tells nothing about earlier noise. Long requests are expanded straight into the
 * caller's memory under a one-time key that is itself drawn from the stream: no copy, and the same
 * property.
 *
 * AES is libcrypto's. It is a permutation, so the blocks of one key never repeat; of n blocks that
 * is seen with advantage n^2 / 2^129 at most: 2^-97 for a key's greatest use, DIRECT_MOST bytes.
 *
 * The state has pages of its own: locked, kept out of core dumps, and wiped by the kernel in a
 * forked child. libcrypto's context is elsewhere, so it forgets each key as soon as it was used. */
#include "algos/privacy/noise/noise_source.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define KEY_BYTES    32
#define BUFFER_BYTES 2048      /* a multiple of what the ciphers expand at once */
#define DIRECT_BYTES 1024      /* requests of this size and above get a key of their own */
#define DIRECT_MOST  (1 << 20) /* what one such key gives */

struct noise_source {
    _Alignas(64) uint8_t buffer[BUFFER_BYTES]; /* [0, used) is wiped, the rest not yet given out */
    uint8_t key[KEY_BYTES];
    size_t used;
    pid_t owner;
    bool wiped_on_fork;
    bool injected;
    EVP_CIPHER_CTX *aes; /* owned; NULL: ChaCha20 */
};

/* A forked copy would repeat the parent's noise. Its pages are zero, or, where the kernel does not
 * wipe (Linux before 4.14), the owner's number is not its own. Not an assert: no build may lack it.
 */
static inline void insist_on_owner(const struct noise_source *source)
{
    if (!source->wiped_on_fork && source->owner != getpid())
        abort();
}

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

static const uint8_t zero[KEY_BYTES]; /* of a key, a counter and a nonce */

/* A context for AES-256-CTR with a key of zeros, or NULL. */
static EVP_CIPHER_CTX *aes_context_new(void)
{
    EVP_CIPHER_CTX *aes = EVP_CIPHER_CTX_new();
    if (aes && EVP_EncryptInit_ex(aes, EVP_aes_256_ctr(), NULL, zero, zero) != 1) {
        EVP_CIPHER_CTX_free(aes);
        return NULL;
    }
    return aes;
}

static struct noise_source *source_with_key(const uint8_t key[KEY_BYTES], enum noise_cipher cipher,
                                            bool injected)
{
    EVP_CIPHER_CTX *aes = cipher == NOISE_AES256_CTR ? aes_context_new() : NULL;
    if (cipher == NOISE_AES256_CTR && !aes)
        return NULL;
    struct noise_source *source = mmap(NULL, sizeof *source, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* zero */
    if (source == MAP_FAILED) {
        EVP_CIPHER_CTX_free(aes);
        return NULL;
    }
    sodium_mlock(source, sizeof *source); /* as far as the system's limits allow */
    source->wiped_on_fork = madvise(source, sizeof *source, MADV_WIPEONFORK) == 0;
    memcpy(source->key, key, KEY_BYTES);
    source->used = BUFFER_BYTES;
    source->owner = getpid();
    source->injected = injected;
    source->aes = aes;
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
    struct noise_source *source = source_with_key(key, NOISE_AES256_CTR, false);
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(key, sizeof key);
    return source;
}

struct noise_source *noise_source_new_injected_cipher(const uint8_t key[32],
                                                      enum noise_cipher cipher)
{
    return sodium_init() < 0 ? NULL : source_with_key(key, cipher, true);
}

struct noise_source *noise_source_new_injected(const uint8_t key[32])
{
    return noise_source_new_injected_cipher(key, NOISE_CHACHA20);
}

bool noise_source_is_injected(const struct noise_source *source)
{
    return source->injected;
}

void noise_source_free(struct noise_source *source)
{
    if (!source)
        return;
    EVP_CIPHER_CTX_free(source->aes);
    sodium_munlock(source, sizeof *source); /* wipes */
    munmap(source, sizeof *source);
}

/* The key stream of KEY, from block zero on: a key expands once. AES in counter mode encrypts zeros
 * in place. Then the context gets the key of zeros and writes one byte with it, which overwrites
 * KEY's schedule and its last block. */
static bool aes_expand(EVP_CIPHER_CTX *aes, const uint8_t key[KEY_BYTES], uint8_t *bytes,
                       size_t size)
{
    uint8_t unused;
    int written = 0, last = 0;
    memset(bytes, 0, size);
    return EVP_EncryptInit_ex(aes, NULL, NULL, key, zero) == 1 &&
           EVP_EncryptUpdate(aes, bytes, &written, bytes, (int)size) == 1 &&
           (size_t)written == size && EVP_EncryptInit_ex(aes, NULL, NULL, zero, zero) == 1 &&
           EVP_EncryptUpdate(aes, &unused, &last, zero, 1) == 1;
}

static void source_expand(const struct noise_source *source, const uint8_t key[KEY_BYTES],
                          uint8_t *bytes, size_t size)
{
    bool done = source->aes ? aes_expand(source->aes, key, bytes, size)
                            : crypto_stream_chacha20(bytes, size, zero, key) == 0;
    if (!done) /* in every build: bytes that are not noise must never be used as noise */
        abort();
}

static void source_refill(struct noise_source *source)
{
    source_expand(source, source->key, source->buffer, BUFFER_BYTES);
    memcpy(source->key, source->buffer, KEY_BYTES);
    sodium_memzero(source->buffer, KEY_BYTES);
    source->used = KEY_BYTES;
}

static void source_take(struct noise_source *source, uint8_t *bytes, size_t size)
{
    while (size) {
        if (source->used == BUFFER_BYTES)
            source_refill(source);
        size_t part = BUFFER_BYTES - source->used;
        part = size < part ? size : part;
        memcpy(bytes, source->buffer + source->used, part);
        memset(source->buffer + source->used, 0, part);
        source->used += part;
        bytes += part;
        size -= part;
    }
}

/* At most DIRECT_MOST bytes under a key of their own. */
static void source_take_direct(struct noise_source *source, uint8_t *bytes, size_t size)
{
    uint8_t key[KEY_BYTES];
    source_take(source, key, sizeof key);
    source_expand(source, key, bytes, size);
    sodium_memzero(key, sizeof key);
}

void noise_bytes(struct noise_source *source, void *bytes, size_t size)
{
    assert(source && (bytes || !size));
    insist_on_owner(source);
    uint8_t *to = bytes;
    while (size >= DIRECT_BYTES) {
        size_t part = size < DIRECT_MOST ? size : DIRECT_MOST;
        source_take_direct(source, to, part);
        to += part;
        size -= part;
    }
    source_take(source, to, size);
}

uint64_t noise_u64(struct noise_source *source)
{
    uint64_t word;
    if (source->used > BUFFER_BYTES - sizeof word) {
        noise_bytes(source, &word, sizeof word);
        return word;
    }
    insist_on_owner(source);
    memcpy(&word, source->buffer + source->used, sizeof word);
    memset(source->buffer + source->used, 0, sizeof word);
    source->used += sizeof word;
    return word;
}

uint32_t noise_below(struct noise_source *source, uint32_t n)
{
    assert(n > 0);
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

uint64_t noise_below_u64(struct noise_source *source, uint64_t n)
{
    assert(n > 0);
    unsigned __int128 product = (unsigned __int128)noise_u64(source) * n;
    if ((uint64_t)product < n) { /* only then can the product be rejected: divide */
        uint64_t reject_below = (0 - n) % n;
        while ((uint64_t)product < reject_below)
            product = (unsigned __int128)noise_u64(source) * n;
    }
    return (uint64_t)(product >> 64);
}

double noise_uniform(struct noise_source *source)
{
    /* 52 free bits: exact in double. */
    return (double)((noise_u64(source) >> 12 << 1) | 1) * 0x1p-53;
}

double noise_uniform_fine(struct noise_source *source)
{
    double u = noise_uniform(source), scale = 1.0;
    /* Below 2^-12 it is 2^-12 times a uniform number: that one is drawn anew. */
    for (; u < 0x1p-12 && scale > 0x1p-960; scale *= 0x1p-12)
        u = noise_uniform(source);
    return u * scale;
}
