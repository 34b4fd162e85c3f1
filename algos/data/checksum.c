/* FNV-1a by words: four times fewer multiplications than by bytes, 2 GB/s. */
#include "algos/data/checksum.h"

#include <assert.h>
#include <string.h>

#include "memory/memory.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte forms are little endian");

uint64_t checksum_words(uint64_t start, const void *bytes, size_t size)
{
    assert(size % sizeof(uint32_t) == 0);
    const unsigned char *p = bytes;
    uint64_t hash = start;
    for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, p + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t checksum_number(uint64_t start, double number)
{
    return checksum_words(start, &number, sizeof number);
}

size_t checksum_padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

unsigned char *checksum_room(size_t end, size_t *out_size)
{
    *out_size = end + sizeof(uint64_t);
    return memory_new(1, *out_size);
}

void checksum_seal(unsigned char *bytes, size_t end)
{
    uint64_t checksum = checksum_words(CHECKSUM_START, bytes, end);
    memcpy(bytes + end, &checksum, sizeof checksum);
}

bool checksum_holds(const unsigned char *bytes, size_t end)
{
    uint64_t checksum;
    memcpy(&checksum, bytes + end, sizeof checksum);
    return checksum == checksum_words(CHECKSUM_START, bytes, end);
}
