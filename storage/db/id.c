/* Random identifiers in Crockford's base 32: no letter looks like a digit. */
#include "storage/db/id.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

void id_from(const char *prefix, const unsigned char bits[ID_RANDOM], char out[ID_SIZE])
{
    static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
    size_t length = strlen(prefix);
    assert(length + ID_RANDOM < ID_SIZE);
    memcpy(out, prefix, length);
    for (unsigned i = 0; i < ID_RANDOM; i++)
        out[length + i] = alphabet[bits[i] & 31];
    out[length + ID_RANDOM] = '\0';
}

void id_new(const char *prefix, char out[ID_SIZE])
{
    unsigned char random[ID_RANDOM];
    randombytes_buf(random, sizeof random);
    id_from(prefix, random, out);
}
