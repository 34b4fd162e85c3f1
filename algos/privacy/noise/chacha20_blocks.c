/* Eight blocks side by side: word w of all of them in one vector. The compiler makes AVX2 of it
 * where that is, pairs of SSE2 elsewhere. */
#include "algos/privacy/noise/chacha20_blocks.h"

#include <sodium.h>
#include <string.h>

#define LANES 8
typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));

static lanes lanes_rotated(lanes x, int by)
{
    return (x << by) | (x >> (32 - by));
}

static void quarter_round(lanes *a, lanes *b, lanes *c, lanes *d)
{
    *a += *b;
    *d = lanes_rotated(*d ^ *a, 16);
    *c += *d;
    *b = lanes_rotated(*b ^ *c, 12);
    *a += *b;
    *d = lanes_rotated(*d ^ *a, 8);
    *c += *d;
    *b = lanes_rotated(*b ^ *c, 7);
}

static uint32_t get_u32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static void double_rounds(lanes x[16])
{
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++)
            quarter_round(&x[i], &x[4 + i], &x[8 + i], &x[12 + i]);
        for (int i = 0; i < 4; i++)
            quarter_round(&x[i], &x[4 + (i + 1) % 4], &x[8 + (i + 2) % 4], &x[12 + (i + 3) % 4]);
    }
}

/* COUNT blocks, at most LANES. */
static void chacha20_lanes(const uint8_t key[32], const uint64_t *nonce, uint32_t count,
                           uint8_t (*out)[CHACHA20_BLOCK_BYTES])
{
    static const uint32_t constant[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    lanes first[16], x[16];
    memset(first, 0, sizeof first); /* 12 and 13, the block's number, stay so */
    for (int w = 0; w < 4; w++)
        first[w] += constant[w];
    for (int w = 0; w < 8; w++)
        first[4 + w] += get_u32(key + (size_t)4 * w);
    for (uint32_t i = 0; i < count; i++) {
        first[14][i] = (uint32_t)nonce[i];
        first[15][i] = (uint32_t)(nonce[i] >> 32);
    }
    memcpy(x, first, sizeof x);
    double_rounds(x);
    for (int w = 0; w < 16; w++) {
        x[w] += first[w];
        for (uint32_t i = 0; i < count; i++)
            put_u32(out[i] + (size_t)4 * w, x[w][i]);
    }
    sodium_memzero(first, sizeof first);
    sodium_memzero(x, sizeof x);
}

void chacha20_blocks(const uint8_t key[32], const uint64_t *nonce, uint32_t count,
                     uint8_t (*out)[CHACHA20_BLOCK_BYTES])
{
    for (uint32_t done = 0; done < count; done += LANES)
        chacha20_lanes(key, nonce + done, count - done < LANES ? count - done : LANES, out + done);
}
