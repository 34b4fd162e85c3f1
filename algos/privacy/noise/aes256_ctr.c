/* AES-256-CTR with AES-NI.
 *
 * DESIGN. Two blocks may start in each cycle and each of the fourteen rounds takes four or so:
 * eight blocks are in flight at once. Where a register of two blocks goes through a round at once
 * (VAES), they are eight registers, which takes half the time. The functions carry their own
 * target, so that the rest of the program still starts on a processor without the instructions; the
 * caller has asked before. */
#include "algos/privacy/noise/aes256_ctr.h"

#include <assert.h>

#include "algos/privacy/noise/processor.h"

bool aes256_ctr_available(void)
{
    return processor_has_aes();
}

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define ROUNDS 14
#define WIDTH  8 /* blocks in flight */
#define AES    __attribute__((target("aes,sse4.1")))
#define VAES   __attribute__((target("aes,sse4.1,avx2,vaes")))

/* Each word of KEY plus all words before it, plus ASSIST (FIPS 197, section 5.2). */
AES static inline __m128i spread(__m128i key, __m128i assist)
{
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
    return _mm_xor_si128(key, assist);
}

/* The round constant has to be a literal. */
#define EVEN(i, constant)                                                                          \
    round[i] = spread(round[(i)-2],                                                                \
                      _mm_shuffle_epi32(_mm_aeskeygenassist_si128(round[(i)-1], constant), 0xff))
#define ODD(i)                                                                                     \
    round[i] =                                                                                     \
        spread(round[(i)-2], _mm_shuffle_epi32(_mm_aeskeygenassist_si128(round[(i)-1], 0), 0xaa))

AES static void expand_key(const uint8_t key[AES256_KEY_BYTES], __m128i round[ROUNDS + 1])
{
    round[0] = _mm_loadu_si128((const __m128i *)(const void *)key);
    round[1] = _mm_loadu_si128((const __m128i *)(const void *)(key + AES256_BLOCK_BYTES));
    EVEN(2, 0x01), ODD(3);
    EVEN(4, 0x02), ODD(5);
    EVEN(6, 0x04), ODD(7);
    EVEN(8, 0x08), ODD(9);
    EVEN(10, 0x10), ODD(11);
    EVEN(12, 0x20), ODD(13);
    EVEN(14, 0x40);
}

struct counter {
    uint64_t high, low;
};

static struct counter counter_from_bytes(const uint8_t bytes[AES256_BLOCK_BYTES])
{
    struct counter counter = {0, 0};
    for (int i = 0; i < 8; i++) {
        counter.high = counter.high << 8 | bytes[i];
        counter.low = counter.low << 8 | bytes[8 + i];
    }
    return counter;
}

static inline struct counter counter_plus(struct counter counter, uint64_t blocks)
{
    uint64_t low = counter.low + blocks;
    return (struct counter){counter.high + (low < counter.low), low};
}

/* The counter as the cipher reads it. */
AES static inline __m128i counter_block(struct counter counter)
{
    return _mm_set_epi64x((long long)__builtin_bswap64(counter.low),
                          (long long)__builtin_bswap64(counter.high));
}

/* WIDTH blocks from COUNTER on. */
AES static inline void encrypt(const __m128i round[ROUNDS + 1], struct counter counter,
                               __m128i out[WIDTH])
{
    for (int i = 0; i < WIDTH; i++) {
        struct counter c = counter_plus(counter, (uint64_t)i);
        out[i] = _mm_xor_si128(counter_block(c), round[0]);
    }
    for (int r = 1; r < ROUNDS; r++)
        for (int i = 0; i < WIDTH; i++)
            out[i] = _mm_aesenc_si128(out[i], round[r]);
    for (int i = 0; i < WIDTH; i++)
        out[i] = _mm_aesenclast_si128(out[i], round[ROUNDS]);
}

/* 2 WIDTH blocks from COUNTER on, two in a register; the low half of COUNTER does not overflow
 * meanwhile. Counters grow in vectors and only then are turned into the cipher's order of bytes. */
VAES static inline void encrypt_pairs(const __m128i round[ROUNDS + 1], struct counter counter,
                                      __m256i out[WIDTH])
{
    const long long high = (long long)counter.high, low = (long long)counter.low;
    const __m256i whiten = _mm256_broadcastsi128_si256(round[0]);
    const __m256i two = _mm256_set_epi64x(0, 2, 0, 2);
    const __m256i reversed = _mm256_broadcastsi128_si256(
        _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m256i pair =
        _mm256_add_epi64(_mm256_set_epi64x(high, low, high, low), _mm256_set_epi64x(0, 1, 0, 0));
    for (int i = 0; i < WIDTH; i++) {
        out[i] = _mm256_xor_si256(_mm256_shuffle_epi8(pair, reversed), whiten);
        pair = _mm256_add_epi64(pair, two);
    }
    for (int r = 1; r < ROUNDS; r++) {
        const __m256i key = _mm256_broadcastsi128_si256(round[r]);
        for (int i = 0; i < WIDTH; i++)
            out[i] = _mm256_aesenc_epi128(out[i], key);
    }
    const __m256i last = _mm256_broadcastsi128_si256(round[ROUNDS]);
    for (int i = 0; i < WIDTH; i++)
        out[i] = _mm256_aesenclast_epi128(out[i], last);
}

/* Whole turns of 2 WIDTH blocks as far as the low half of the counter goes; how many bytes that
 * was. */
VAES static size_t fill_in_pairs(const __m128i round[ROUNDS + 1], struct counter *at,
                                 uint8_t *bytes, size_t size)
{
    __m256i pairs[WIDTH];
    size_t done = 0;
    for (; size - done >= sizeof pairs && at->low <= UINT64_MAX - 2 * WIDTH; done += sizeof pairs) {
        encrypt_pairs(round, *at, pairs);
        memcpy(bytes + done, pairs, sizeof pairs);
        *at = counter_plus(*at, 2 * WIDTH);
    }
    explicit_bzero(pairs, sizeof pairs);
    return done;
}

AES void aes256_ctr(const uint8_t key[AES256_KEY_BYTES], const uint8_t counter[AES256_BLOCK_BYTES],
                    uint8_t *bytes, size_t size)
{
    __m128i round[ROUNDS + 1], blocks[WIDTH];
    expand_key(key, round);
    struct counter at = counter_from_bytes(counter);
    if (processor_has_vaes()) {
        size_t done = fill_in_pairs(round, &at, bytes, size);
        bytes += done;
        size -= done;
    }
    while (size) {
        encrypt(round, at, blocks);
        size_t part = size < sizeof blocks ? size : sizeof blocks;
        memcpy(bytes, blocks, part);
        at = counter_plus(at, WIDTH);
        bytes += part;
        size -= part;
    }
    explicit_bzero(round, sizeof round);
    explicit_bzero(blocks, sizeof blocks);
}

#else

void aes256_ctr(const uint8_t key[AES256_KEY_BYTES], const uint8_t counter[AES256_BLOCK_BYTES],
                uint8_t *bytes, size_t size)
{
    (void)key, (void)counter, (void)bytes, (void)size;
    assert(!"aes256_ctr without AES instructions");
}

#endif
