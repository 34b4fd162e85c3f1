#define OPENSSL_SUPPRESS_DEPRECATED /* nothing newer hashes one block */
#include "tests/simulator/quick.h"

#include <assert.h>
#include <openssl/sha.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "algos/advice/advice.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "api/pages.h"
#include "storage/db/sqlite_file.h"

/* The three kinds of jobs are planned thousands of times, always with the same figures. */
#define PRICES 256 /* a power of two */
struct privacy_interval __real_gaussian_dp_epsilon_interval(double mu, double delta);
struct privacy_interval __wrap_gaussian_dp_epsilon_interval(double mu, double delta);
struct privacy_interval __wrap_gaussian_dp_epsilon_interval(double mu, double delta)
{
    static struct {
        double mu, delta;
        struct privacy_interval epsilon;
    } known[PRICES];
    uint64_t bits[2];
    memcpy(&bits[0], &mu, sizeof mu);
    memcpy(&bits[1], &delta, sizeof delta);
    size_t i = (size_t)((bits[0] ^ bits[1] << 7) * 0x9e3779b97f4a7c15 >> 32) % PRICES;
    if (known[i].mu != mu || known[i].delta != delta) {
        known[i].mu = mu;
        known[i].delta = delta;
        known[i].epsilon = __real_gaussian_dp_epsilon_interval(mu, delta);
    }
    return known[i].epsilon;
}

/* So is what to expect of them, for which all measured runs are looked at. */
#define OUTLOOKS 64 /* a power of two */
void __real_advice_look_at(const struct algorithm_request *request,
                           const struct algorithm_plan *plan, const char *algorithm,
                           const char *world, struct advice_outlook *out);
void __wrap_advice_look_at(const struct algorithm_request *request,
                           const struct algorithm_plan *plan, const char *algorithm,
                           const char *world, struct advice_outlook *out);
void __wrap_advice_look_at(const struct algorithm_request *request,
                           const struct algorithm_plan *plan, const char *algorithm,
                           const char *world, struct advice_outlook *out)
{
    static struct {
        const char *algorithm;
        double signal;
        struct advice_outlook outlook;
    } known[OUTLOOKS];
    enum advice_method method;
    uint64_t bits;
    double signal = advice_signal(request, plan, &method);
    memcpy(&bits, &signal, sizeof bits);
    size_t i = (size_t)(bits * 0x9e3779b97f4a7c15 >> 32) % OUTLOOKS;
    if (known[i].algorithm != algorithm || !(known[i].signal == signal)) {
        __real_advice_look_at(request, plan, algorithm, world, &known[i].outlook);
        known[i].algorithm = algorithm;
        known[i].signal = signal;
    }
    *out = known[i].outlook;
}

/* Every process has the same pages. */
void __real_pages_tag_files(char out[PAGE_FILES][PAGE_TAG_SIZE]);
void __wrap_pages_tag_files(char out[PAGE_FILES][PAGE_TAG_SIZE]);
void __wrap_pages_tag_files(char out[PAGE_FILES][PAGE_TAG_SIZE])
{
    static char known[PAGE_FILES][PAGE_TAG_SIZE];
    if (known[0][0] == '\0')
        __real_pages_tag_files(known);
    memcpy(out, known, sizeof known);
}

/* Nobody removes the files. */
bool __wrap_sqlite_file_stands(sqlite3 *handle, struct sqlite_log_place *log);
bool __wrap_sqlite_file_stands(sqlite3 *handle, struct sqlite_log_place *log)
{
    (void)handle;
    (void)log;
    return true;
}

/* Nor is there a folder. */
bool __wrap_sqlite_file_sync_folder(sqlite3 *handle);
bool __wrap_sqlite_file_sync_folder(sqlite3 *handle)
{
    (void)handle;
    return true;
}

/* ---- SHA-256 of libcrypto, which asks the processor's own instructions, in libsodium's state */

#define BLOCK 64

static void hash_block(crypto_hash_sha256_state *state, const unsigned char *block)
{
    SHA256_CTX now;
    memcpy(now.h, state->state, sizeof now.h);
    SHA256_Transform(&now, block);
    memcpy(state->state, now.h, sizeof now.h);
}

int __wrap_crypto_hash_sha256_update(crypto_hash_sha256_state *state, const unsigned char *in,
                                     unsigned long long size);
int __wrap_crypto_hash_sha256_update(crypto_hash_sha256_state *state, const unsigned char *in,
                                     unsigned long long size)
{
    while (size > 0) {
        size_t used = state->count / 8 % BLOCK, take = BLOCK - used < size ? BLOCK - used : size;
        memcpy(state->buf + used, in, take);
        state->count += 8 * take;
        in += take;
        size -= take;
        if (used + take == BLOCK)
            hash_block(state, state->buf);
    }
    return 0;
}

int __wrap_crypto_hash_sha256_final(crypto_hash_sha256_state *state, unsigned char *out);
int __wrap_crypto_hash_sha256_final(crypto_hash_sha256_state *state, unsigned char *out)
{
    static const unsigned char padding[BLOCK] = {0x80};
    const uint64_t bits = __builtin_bswap64(state->count);
    size_t used = state->count / 8 % BLOCK;
    __wrap_crypto_hash_sha256_update(state, padding, used < 56 ? 56 - used : 120 - used);
    __wrap_crypto_hash_sha256_update(state, (const unsigned char *)&bits, sizeof bits);
    for (unsigned i = 0; i < 8; i++) {
        const uint32_t word = __builtin_bswap32(state->state[i]);
        memcpy(out + 4 * i, &word, sizeof word);
    }
    return 0;
}

int __wrap_crypto_hash_sha256(unsigned char *out, const unsigned char *in, unsigned long long size);
int __wrap_crypto_hash_sha256(unsigned char *out, const unsigned char *in, unsigned long long size)
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    __wrap_crypto_hash_sha256_update(&state, in, size);
    return __wrap_crypto_hash_sha256_final(&state, out);
}

/* ---- SQLite's memory: lists of free pieces, by size */

#define PIECE_STEP 32
#define PIECE_MOST (16u << 10) /* larger ones are malloc's */
#define SLAB_BYTES (1u << 20)

union piece {
    size_t size; /* of what follows, while it is used */
    union piece *next;
    max_align_t alignment;
};

static struct {
    union piece *lists[PIECE_MOST / PIECE_STEP + 1];
    unsigned char *slab;
    size_t left;
} pieces;

static int piece_round(int size)
{
    return (size + PIECE_STEP - 1) / PIECE_STEP * PIECE_STEP;
}

static void *piece_new(int asked)
{
    size_t size = (size_t)piece_round(asked), whole = size + sizeof(union piece);
    union piece *piece = size <= PIECE_MOST ? pieces.lists[size / PIECE_STEP] : NULL;
    if (size > PIECE_MOST) {
        piece = malloc(whole);
    } else if (piece) {
        pieces.lists[size / PIECE_STEP] = piece->next;
    } else {
        if (pieces.left < whole) {
            pieces.slab = malloc(SLAB_BYTES);
            pieces.left = pieces.slab ? SLAB_BYTES : 0;
        }
        if (pieces.left < whole)
            return NULL;
        piece = (union piece *)pieces.slab;
        pieces.slab += whole;
        pieces.left -= whole;
    }
    if (!piece)
        return NULL;
    piece->size = size;
    return piece + 1;
}

static void piece_free(void *bytes)
{
    union piece *piece = (union piece *)bytes - 1;
    const size_t size = piece->size;
    if (size > PIECE_MOST) {
        free(piece);
        return;
    }
    piece->next = pieces.lists[size / PIECE_STEP];
    pieces.lists[size / PIECE_STEP] = piece;
}

static int piece_size(void *bytes)
{
    return bytes ? (int)((union piece *)bytes - 1)->size : 0;
}

static void *piece_resize(void *bytes, int size)
{
    const int had = piece_size(bytes);
    if (size <= had)
        return bytes;
    void *other = piece_new(size);
    if (!other)
        return NULL;
    memcpy(other, bytes, (size_t)had);
    piece_free(bytes);
    return other;
}

static int piece_begin(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void piece_end(void *context)
{
    (void)context;
}

void quick_memory(void)
{
    static const sqlite3_mem_methods methods = {.xMalloc = piece_new,
                                                .xFree = piece_free,
                                                .xRealloc = piece_resize,
                                                .xSize = piece_size,
                                                .xRoundup = piece_round,
                                                .xInit = piece_begin,
                                                .xShutdown = piece_end};
#ifndef __SANITIZE_ADDRESS__ /* which watches over malloc's */
    int code = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    assert(code == SQLITE_OK);
    (void)code;
#endif
    (void)methods;
}
