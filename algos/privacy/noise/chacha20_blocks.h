/* Several first blocks of ChaCha20 at once, each under a nonce of its own: what a pseudo-random
 * function of many short inputs wants, where a stream would go on from one. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_CHACHA20_BLOCKS_H
#define TACET_ALGOS_PRIVACY_NOISE_CHACHA20_BLOCKS_H

#include <stdint.h>

#define CHACHA20_BLOCK_BYTES 64

/* OUT[i] is block 0 of the stream of KEY and NONCE[i] (eight bytes, little endian; Bernstein 2008,
 * as crypto_stream_chacha20 has it), for i < COUNT. Eight cost what one costs. */
void chacha20_blocks(const uint8_t key[32], const uint64_t *nonce, uint32_t count,
                     uint8_t (*out)[CHACHA20_BLOCK_BYTES]);

#endif
