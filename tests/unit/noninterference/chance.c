#include "tests/unit/noninterference/chance.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <string.h>
#include <sys/types.h>

static uint64_t place[2]; /* the key, and the calls so far */

static void draw_bytes(void *out, size_t size)
{
    unsigned char seed[randombytes_SEEDBYTES] = {0};
    place[1]++;
    memcpy(seed, place, sizeof place);
    randombytes_buf_deterministic(out, size, seed);
}

static const char *coins_name(void)
{
    return "public coins";
}

static uint32_t draw_word(void)
{
    uint32_t word;
    draw_bytes(&word, sizeof word);
    return word;
}

/* The linker gives the program's calls of getrandom to this (tests.mk). */
ssize_t __wrap_getrandom(void *out, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *out, size_t size, unsigned flags)
{
    (void)flags;
    draw_bytes(out, size);
    return (ssize_t)size;
}

void chance_begin(uint64_t key)
{
    static struct randombytes_implementation coins;
    coins = (struct randombytes_implementation){
        .implementation_name = coins_name, .random = draw_word, .buf = draw_bytes};
    cr_assert_geq(sodium_init(), 0);
    cr_assert_eq(randombytes_set_implementation(&coins), 0);
    memset(place, 0, sizeof place);
    place[0] = key;
}
