/* AES-256 in counter mode as a key stream (FIPS 197; NIST SP 800-38A, section 6.5), by the
 * processor's own instructions: constant in time, and several times as fast as ChaCha20 without
 * wide vectors. Only noise_source.c calls it; whoever lacks the instructions gets ChaCha20 there.
 */
#ifndef TACET_ALGOS_PRIVACY_NOISE_AES256_CTR_H
#define TACET_ALGOS_PRIVACY_NOISE_AES256_CTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AES256_KEY_BYTES   32
#define AES256_BLOCK_BYTES 16

/* True when this machine runs aes256_ctr (x86-64 with AES-NI). */
bool aes256_ctr_available(void);

/* Writes SIZE bytes of key stream to BYTES: block i is AES of COUNTER + i, the counter a big-endian
 * number of 128 bits. Only where aes256_ctr_available. */
void aes256_ctr(const uint8_t key[AES256_KEY_BYTES], const uint8_t counter[AES256_BLOCK_BYTES],
                uint8_t *bytes, size_t size);

#endif
