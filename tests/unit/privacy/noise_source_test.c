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

#include "tests/unit/privacy/golden.h"

static void from_hex(uint8_t *bytes, const char *hex)
{
    for (; *hex; hex += 2) {
        char two[] = {hex[0], hex[1], 0};
        *bytes++ = (uint8_t)strtoul(two, NULL, 16);
    }
}

/* Sources of both ciphers. */
static void both(unsigned number, struct noise_source *out[2])
{
    uint8_t key[32] = {(uint8_t)number};
    out[0] = noise_source_new_injected(key);
    out[1] = noise_source_new_injected_cipher(key, NOISE_AES256_CTR);
    cr_assert(out[0] && out[1]);
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

/* The key stream of the key 000102..1f from counter 0 on, by NIST SP 800-38A, computed with
 * `openssl enc -aes-256-ctr`: of each expansion the first 32 bytes become the next key. */
Test(noise_source, aes_is_the_standard_and_erases_its_key)
{
    uint8_t key[32], next[32], want[64], got[2048 - 32], after[64];
    for (int i = 0; i < 32; i++)
        key[i] = (uint8_t)i;
    struct noise_source *noise = noise_source_new_injected_cipher(key, NOISE_AES256_CTR);
    from_hex(next, "f29000b62a499fd0a9f39a6add2e7780f05d76ae4ab99fe5a6f69b3148c2363d");
    from_hex(want, "0ebcb5deb52c83bd08a8a935182c9199d24356532881602f809eb383c5ff5d56"
                   "4e5fe6bc2af2b80633c371f5c1ce694ea90741e6797146a550b63f264a604ee4");
    for (size_t i = 0; i < sizeof got; i += 96)
        noise_bytes(noise, got + i, 96);
    cr_assert_arr_eq(got, want, sizeof want);
    struct noise_source *second = noise_source_new_injected_cipher(next, NOISE_AES256_CTR);
    noise_bytes(noise, got, 500);
    noise_bytes(second, after, sizeof after);
    cr_assert_arr_eq(got, after, sizeof after, "a refill is keyed by what was set aside");
    noise_source_free(noise);
    noise_source_free(second);
}

Test(noise_source, streams_repeat_for_their_key_alone)
{
    struct noise_source *a[2], *b[2], *c[2];
    both(1, a);
    both(1, b);
    both(2, c);
    uint8_t x[2][5000], y[5000], z[5000];
    for (unsigned i = 0; i < 2; i++) {
        noise_bytes(a[i], x[i], 5000);
        noise_bytes(b[i], y, 5000);
        noise_bytes(c[i], z, 5000);
        cr_assert_arr_eq(x[i], y, 5000);
        cr_assert_arr_neq(x[i], z, 5000);
        noise_bytes(a[i], y, 5000);
        cr_assert_arr_neq(x[i], y, 5000, "a stream does not repeat itself");
        cr_assert(noise_source_is_injected(a[i]));
    }
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
    both(3, noise);
    for (unsigned c = 0; c < 2; c++) {
        for (size_t have = 0, r = 0; have < WORDS; r++) {
            size_t part = requests[r % 10] < WORDS - have ? requests[r % 10] : WORDS - have;
            if (part == 1)
                words[have] = noise_u64(noise[c]);
            else
                noise_bytes(noise[c], words + have, part * sizeof *words);
            have += part;
        }
        qsort(words, WORDS, sizeof *words, ascending);
        for (size_t i = 1; i < WORDS; i++)
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
    both(3, noise);
    for (unsigned c = 0; c < 2; c++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
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
