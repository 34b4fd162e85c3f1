/* Random identifiers in Crockford's base 32: no letter looks like a digit. */
#include "storage/db/id.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define ID_RANDOM 20 /* characters of 5 bits */

void id_new(const char *prefix, char out[ID_SIZE])
{
    static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
    unsigned char random[ID_RANDOM];
    size_t length = strlen(prefix);
    assert(length + ID_RANDOM < ID_SIZE);
    randombytes_buf(random, sizeof random);
    memcpy(out, prefix, length);
    for (unsigned i = 0; i < ID_RANDOM; i++)
        out[length + i] = alphabet[random[i] & 31];
    out[length + ID_RANDOM] = '\0';
}
