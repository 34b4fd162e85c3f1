/* The generator behind every private draw: a cryptographically secure stream with fast key erasure
 * (forward secrecy), safe across fork, keyed anew for each purpose. */
#ifndef TACET_ALGOS_PRIVACY_NOISE_NOISE_SOURCE_H
#define TACET_ALGOS_PRIVACY_NOISE_NOISE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One stream; owned by one thread at a time and by one process for ever: a draw from a copy made by
 * fork aborts the program, because it would repeat the parent's noise. The child makes its own. */
struct noise_source;

/* Both have keys of 256 bits and no known attack better than trying keys. */
enum noise_cipher {
    NOISE_CHACHA20,   /* RFC 8439, libsodium's: for tests */
    NOISE_AES256_CTR, /* NIST SP 800-38A, section 6.5, libcrypto's: for everything else */
};

/* A stream of AES-256-CTR, keyed by the operating system's generator for that PURPOSE ("sgd",
 * "dirichlet", ...). NULL when the system cannot give randomness or memory. */
struct noise_source *noise_source_new(const char *purpose);

/* A stream of ChaCha20 that a test can repeat. Production code has no path to this, and
 * noise_source_is_injected tells: what is released under it must say so. */
struct noise_source *noise_source_new_injected(const uint8_t key[32]);

/* The same with the CIPHER named. */
struct noise_source *noise_source_new_injected_cipher(const uint8_t key[32],
                                                      enum noise_cipher cipher);

/* Whether a test gave its key: what such noise touched protects nobody. */
bool noise_source_is_injected(const struct noise_source *source);

/* Erases the key and frees. Takes NULL. */
void noise_source_free(struct noise_source *source);

/* SIZE uniform bytes. */
void noise_bytes(struct noise_source *source, void *bytes, size_t size);

/* A uniform word. */
uint64_t noise_u64(struct noise_source *source);

/* Uniform on 0 .. n-1, exactly; n > 0. Lemire 2019, "Fast random integer generation in an
 * interval". */
uint32_t noise_below(struct noise_source *source, uint32_t n);

/* The same for 64 bits. */
uint64_t noise_below_u64(struct noise_source *source, uint64_t n);

/* Uniform on the odd multiples of 2^-53 in (0, 1): never 0 or 1, symmetric about 1/2. */
double noise_uniform(struct noise_source *source);

/* Uniform on (0, 1) with as many bits as a small number needs: 40 or more behind its first one,
 * down to 2^-960. For logarithms and quantiles, which show how coarse the smallest numbers are. */
double noise_uniform_fine(struct noise_source *source);

#endif
