/* AES-256-CTR with AES-NI.
 *
 * DESIGN. Two blocks may start in each cycle and each of the fourteen rounds takes four or so:
 * eight blocks are in flight at once. The functions carry their own target, so that the rest of the
 * program still starts on a processor without the instructions; the caller has asked before. */
#include "algos/privacy/aes256_ctr.h"

#include <assert.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define ROUNDS 14
#define WIDTH  8 /* blocks in flight */
#define AES    __attribute__((target("aes,sse4.1")))

bool aes256_ctr_available(void)
{
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
}

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

/* WIDTH blocks from COUNTER on. */
AES static inline void encrypt(const __m128i round[ROUNDS + 1], struct counter counter,
                               __m128i out[WIDTH])
{
    for (int i = 0; i < WIDTH; i++) {
        struct counter c = counter_plus(counter, (uint64_t)i);
        __m128i block = _mm_set_epi64x((long long)__builtin_bswap64(c.low),
                                       (long long)__builtin_bswap64(c.high));
        out[i] = _mm_xor_si128(block, round[0]);
    }
    for (int r = 1; r < ROUNDS; r++)
        for (int i = 0; i < WIDTH; i++)
            out[i] = _mm_aesenc_si128(out[i], round[r]);
    for (int i = 0; i < WIDTH; i++)
        out[i] = _mm_aesenclast_si128(out[i], round[ROUNDS]);
}

AES void aes256_ctr(const uint8_t key[AES256_KEY_BYTES], const uint8_t counter[AES256_BLOCK_BYTES],
                    uint8_t *bytes, size_t size)
{
    __m128i round[ROUNDS + 1], blocks[WIDTH];
    expand_key(key, round);
    struct counter at = counter_from_bytes(counter);
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

bool aes256_ctr_available(void)
{
    return false;
}

void aes256_ctr(const uint8_t key[AES256_KEY_BYTES], const uint8_t counter[AES256_BLOCK_BYTES],
                uint8_t *bytes, size_t size)
{
    (void)key, (void)counter, (void)bytes, (void)size;
    assert(!"aes256_ctr without AES instructions");
}

#endif
