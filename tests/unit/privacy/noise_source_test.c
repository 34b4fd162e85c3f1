/* The generator: its ciphers against their standards, and the ways in which a generator goes wrong
 * without anyone seeing it: repeated blocks, a fork, a fixed seed, biased integers. False
 * alarms: golden.h. */
#include "algos/privacy/noise/noise_source.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "algos/privacy/noise/aes256_ctr.h"
#include "tests/unit/privacy/golden.h"

static void from_hex(uint8_t *bytes, const char *hex)
{
    for (; *hex; hex += 2) {
        char two[] = {hex[0], hex[1], 0};
        *bytes++ = (uint8_t)strtoul(two, NULL, 16);
    }
}

/* Sources of both ciphers where the machine has them; returns how many. */
static unsigned both(unsigned number, struct noise_source *out[2])
{
    uint8_t key[32] = {(uint8_t)number};
    out[0] = noise_source_new_injected(key);
    cr_assert(out[0]);
    cr_assert_eq(noise_source_cipher(out[0]), NOISE_CHACHA20);
    out[1] = noise_source_new_injected_cipher(key, NOISE_AES256_CTR);
    cr_assert_eq(out[1] != NULL, aes256_ctr_available());
    return out[1] ? 2 : 1;
}

/* FIPS 197, C.3, and SP 800-38A, F.5.5 (its cipher text xor its plain text). */
Test(noise_source, aes_is_the_standard)
{
    if (!aes256_ctr_available())
        return; /* no AES instructions: nothing to be tested here */
    uint8_t key[32], counter[16], want[64], got[300];
    from_hex(key, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    from_hex(counter, "00112233445566778899aabbccddeeff");
    from_hex(want, "8ea2b7ca516745bfeafc49904b496089");
    aes256_ctr(key, counter, got, 16);
    cr_assert_arr_eq(got, want, 16);

    from_hex(key, "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
    from_hex(counter, "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
    from_hex(want, "0bdf7df1591716335e9a8b15c860c5025a6e699d536119065433863c8f657b94"
                   "1bc12c9c01610d5d0d8bd6a3378eca622956e1c8693536b1bee99c73a31576b6");
    aes256_ctr(key, counter, got, 64);
    cr_assert_arr_eq(got, want, 64);

    /* Every length is the beginning of a longer one, and nothing is written beyond it. */
    uint8_t part[300];
    aes256_ctr(key, counter, got, sizeof got);
    for (size_t size = 0; size < sizeof part; size++) {
        memset(part, 0xa5, sizeof part);
        aes256_ctr(key, counter, part, size);
        cr_assert(memcmp(part, got, size) == 0 && part[size] == 0xa5, "%zu bytes", size);
    }
}

Test(noise_source, aes_counts_over_all_128_bits)
{
    if (!aes256_ctr_available())
        return; /* no AES instructions: nothing to be tested here */
    static const char *const counters[][2] = {
        {"ffffffffffffffffffffffffffffffff", "00000000000000000000000000000000"},
        {"00000000000000ffffffffffffffffff", "00000000000001000000000000000000"},
        {"000000000000000000000000000000ff", "00000000000000000000000000000100"}};
    uint8_t key[32] = {1}, counter[16], got[16 + 1024], next[1024];
    for (int i = 0; i < 3; i++)
        for (size_t size = 16; size <= sizeof next; size *= 2) { /* by blocks, then by pairs */
            from_hex(counter, counters[i][0]);
            aes256_ctr(key, counter, got, 16 + size);
            from_hex(counter, counters[i][1]);
            aes256_ctr(key, counter, next, size);
            cr_assert_arr_eq(got + 16, next, size, "%zu after %s", size, counters[i][0]);
        }
}

/* RFC 8439, A.1, vectors 1 and 2: of the key stream of the zero key the first 32 bytes become the
 * next key and the rest is given out. */
Test(noise_source, chacha_is_the_standard_and_erases_its_key)
{
    uint8_t zero[32] = {0}, stream[128], got[2016];
    from_hex(stream, "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
                     "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
                     "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
                     "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f");
    struct noise_source *first = noise_source_new_injected(zero);
    struct noise_source *second = noise_source_new_injected(stream);
    noise_bytes(first, got, 96);
    cr_assert_arr_eq(got, stream + 32, 96);
    for (int i = 96; i < 2016; i += 96)
        noise_bytes(first, got, 96);
    uint8_t want[500];
    noise_bytes(first, got, 500);
    noise_bytes(second, want, 500);
    cr_assert_arr_eq(got, want, 500, "a refill is keyed by what was set aside");
    noise_source_free(first);
    noise_source_free(second);
}

Test(noise_source, aes_erases_its_key)
{
    if (!aes256_ctr_available())
        return; /* no AES instructions: nothing to be tested here */
    uint8_t key[32] = {7}, zero[16] = {0}, stream[2048], got[63 * 32];
    struct noise_source *noise = noise_source_new_injected_cipher(key, NOISE_AES256_CTR);
    aes256_ctr(key, zero, stream, sizeof stream);
    for (int i = 0; i < 63; i++)
        noise_bytes(noise, got + 32 * i, 32);
    cr_assert_arr_eq(got, stream + 32, sizeof got);
    aes256_ctr(stream, zero, stream, sizeof stream);
    noise_bytes(noise, got, 500);
    cr_assert_arr_eq(got, stream + 32, 500);
    noise_source_free(noise);
}

Test(noise_source, streams_repeat_for_their_key_alone)
{
    struct noise_source *a[2], *b[2], *c[2];
    unsigned ciphers = both(1, a);
    both(1, b);
    both(2, c);
    uint8_t x[2][5000], y[5000], z[5000];
    for (unsigned i = 0; i < ciphers; i++) {
        noise_bytes(a[i], x[i], 5000);
        noise_bytes(b[i], y, 5000);
        noise_bytes(c[i], z, 5000);
        cr_assert_arr_eq(x[i], y, 5000);
        cr_assert_arr_neq(x[i], z, 5000);
        noise_bytes(a[i], y, 5000);
        cr_assert_arr_neq(x[i], y, 5000, "a stream does not repeat itself");
        cr_assert(noise_source_is_injected(a[i]));
    }
    if (ciphers == 2)
        cr_assert_arr_neq(x[0], x[1], 5000, "ciphers differ");
    for (unsigned i = 0; i < 2; i++) {
        noise_source_free(a[i]);
        noise_source_free(b[i]);
        noise_source_free(c[i]); /* takes NULL */
    }
}

Test(noise_source, production_is_never_seeded)
{
    uint64_t seen[16];
    for (int i = 0; i < 16; i++) {
        struct noise_source *noise = noise_source_new(i % 2 ? "sgd" : "dirichlet");
        cr_assert(noise);
        cr_assert_not(noise_source_is_injected(noise));
        cr_assert_eq(noise_source_cipher(noise) == NOISE_AES256_CTR, aes256_ctr_available());
        seen[i] = noise_u64(noise);
        for (int j = 0; j < i; j++)
            cr_assert_neq(seen[i], seen[j]); /* by chance 7e-18 */
        noise_source_free(noise);
    }
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A block given out twice, by a counter that starts anew or a key used twice, repeats its words;
 * 200,000 random ones are all different but for a chance of 1e-9. */
Test(noise_source, no_block_is_given_twice)
{
    enum { WORDS = 200000 };
    static const size_t requests[] = {1, 127, 128, 129, 2, 256, 1024, 3, 4000, 8};
    uint64_t *words = malloc(WORDS * sizeof *words);
    struct noise_source *noise[2];
    unsigned ciphers = both(3, noise);
    for (unsigned c = 0; c < 2; c++) {
        for (size_t have = 0, r = 0; c < ciphers && have < WORDS; r++) {
            size_t part = requests[r % 10] < WORDS - have ? requests[r % 10] : WORDS - have;
            if (part == 1)
                words[have] = noise_u64(noise[c]);
            else
                noise_bytes(noise[c], words + have, part * sizeof *words);
            have += part;
        }
        qsort(words, WORDS, sizeof *words, ascending);
        for (size_t i = 1; c < ciphers && i < WORDS; i++)
            cr_assert_neq(words[i - 1], words[i], "cipher %u", c);
        noise_source_free(noise[c]);
    }
    free(words);
}

/* More than one key gives at once: the second mebibyte has a key of its own. */
Test(noise_source, great_requests_are_cut)
{
    enum { MEBIBYTE = 1 << 20 };
    uint8_t *whole = malloc(2 * MEBIBYTE + 5), *parts = malloc(2 * MEBIBYTE + 5);
    struct noise_source *a = golden_noise(4), *b = golden_noise(4);
    noise_bytes(a, whole, 2 * MEBIBYTE + 5);
    noise_bytes(b, parts, MEBIBYTE);
    noise_bytes(b, parts + MEBIBYTE, MEBIBYTE);
    noise_bytes(b, parts + 2 * (size_t)MEBIBYTE, 5);
    cr_assert(memcmp(whole, parts, 2 * MEBIBYTE + 5) == 0);
    cr_assert_neq(memcmp(whole, whole + MEBIBYTE, MEBIBYTE), 0);
    noise_source_free(a);
    noise_source_free(b);
    free(whole);
    free(parts);
}

/* Runs CHILD in a forked process and gives how that ended. */
static int in_child(void (*child)(struct noise_source *), struct noise_source *noise)
{
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        child(noise);
        _exit(0);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static void draw_word(struct noise_source *noise)
{
    (void)noise_u64(noise);
}

static void draw_byte(struct noise_source *noise)
{
    uint8_t byte;
    noise_bytes(noise, &byte, 1);
}

static void draw_long(struct noise_source *noise)
{
    uint8_t bytes[4096];
    noise_bytes(noise, bytes, sizeof bytes);
}

static void begin_anew(struct noise_source *noise)
{
    noise_source_free(noise);
    noise = noise_source_new("child");
    if (!noise || noise_u64(noise) == noise_u64(noise))
        _exit(1);
    noise_source_free(noise);
}

/* A copy made by fork would repeat the parent's noise: also when its buffer still holds some. */
Test(noise_source, a_forked_copy_gives_nothing)
{
    static void (*const draws[])(struct noise_source *) = {draw_word, draw_byte, draw_long};
    for (int used = 0; used < 2; used++) {
        struct noise_source *noise = noise_source_new("fork");
        if (used)
            draw_word(noise);
        for (int i = 0; i < 3; i++) {
            int status = in_child(draws[i], noise);
            cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "draw %d, status %d", i,
                      status);
        }
        int status = in_child(begin_anew, noise);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        draw_long(noise); /* the parent goes on */
        noise_source_free(noise);
    }
}

static void check_bytes(struct noise_source *noise, size_t size)
{
    double counts[256] = {0}, expected[256];
    size_t total = 0;
    uint8_t bytes[4096];
    for (; total < 300000; total += size) {
        noise_bytes(noise, bytes, size);
        for (size_t i = 0; i < size; i++)
            counts[bytes[i]] += 1.0;
    }
    for (int i = 0; i < 256; i++)
        expected[i] = (double)total / 256.0;
    double deviation = golden_chi_square(counts, expected, 256);
    cr_assert_lt(fabs(deviation), CHI_LIMIT, "requests of %zu bytes: %g", size, deviation);
}

Test(noise_source, bytes_are_uniform_in_short_and_long_requests)
{
    static const size_t sizes[] = {1, 3, 31, 1000, 1024, 4096};
    struct noise_source *noise[2];
    unsigned ciphers = both(3, noise);
    for (unsigned c = 0; c < 2; c++) {
        for (size_t s = 0; c < ciphers && s < sizeof sizes / sizeof sizes[0]; s++)
            check_bytes(noise[c], sizes[s]);
        noise_source_free(noise[c]);
    }
}

Test(noise_source, integers_below_n_are_uniform)
{
    struct noise_source *noise = golden_noise(4);
    double counts[7] = {0}, wide[7] = {0}, expected[7];
    for (int i = 0; i < 140000; i++) {
        counts[noise_below(noise, 7)] += 1.0;
        wide[noise_below_u64(noise, 7)] += 1.0;
    }
    for (int i = 0; i < 7; i++)
        expected[i] = 20000.0;
    cr_assert_lt(fabs(golden_chi_square(counts, expected, 7)), CHI_LIMIT);
    cr_assert_lt(fabs(golden_chi_square(wide, expected, 7)), CHI_LIMIT);
    for (int i = 0; i < 100; i++)
        cr_assert(noise_below(noise, 1) == 0 && noise_below_u64(noise, 1) == 0);
    noise_source_free(noise);
}

/* Of 3/4 of all words, a remainder taken without rejection would favour the first third two to one,
 * and a scaled product without rejection every third number. */
Test(noise_source, integers_are_not_biased_by_a_missing_rejection)
{
    const uint32_t n = 3U << 30;
    const uint64_t wide = UINT64_C(3) << 62;
    double thirds[3] = {0}, residues[3] = {0}, wide_thirds[3] = {0}, wide_residues[3] = {0};
    double expected[3] = {30000, 30000, 30000};
    struct noise_source *noise = golden_noise(5);
    for (int i = 0; i < 90000; i++) {
        uint32_t x = noise_below(noise, n);
        uint64_t y = noise_below_u64(noise, wide);
        cr_assert(x < n && y < wide);
        thirds[x / (n / 3)] += 1.0;
        residues[x % 3] += 1.0;
        wide_thirds[y / (wide / 3)] += 1.0;
        wide_residues[y % 3] += 1.0;
    }
    cr_assert_lt(golden_chi_square(thirds, expected, 3), CHI_LIMIT);
    cr_assert_lt(golden_chi_square(residues, expected, 3), CHI_LIMIT);
    cr_assert_lt(golden_chi_square(wide_thirds, expected, 3), CHI_LIMIT);
    cr_assert_lt(golden_chi_square(wide_residues, expected, 3), CHI_LIMIT);
    noise_source_free(noise);
}
