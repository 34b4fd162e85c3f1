/* Random identifiers in Crockford's base 32: no letter looks like a digit. */
#include "storage/db/id.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define ID_RANDOM 20 /* characters of 5 bits */

_Static_assert(sizeof((struct id_stock *)0)->random[0] == ID_RANDOM, "one row, one id");

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

static void id_spell(const char *prefix, const unsigned char random[ID_RANDOM], char out[ID_SIZE])
{
    size_t length = strlen(prefix);
    assert(length + ID_RANDOM < ID_SIZE);
    memcpy(out, prefix, length);
    for (unsigned i = 0; i < ID_RANDOM; i++)
        out[length + i] = alphabet[random[i] & 31];
    out[length + ID_RANDOM] = '\0';
}

void id_new(const char *prefix, char out[ID_SIZE])
{
    unsigned char random[ID_RANDOM];
    randombytes_buf(random, sizeof random);
    id_spell(prefix, random, out);
}

void id_take(struct id_stock *stock, const char *prefix, char out[ID_SIZE])
{
    if (stock->left == 0) {
        randombytes_buf(stock->random, sizeof stock->random);
        stock->left = sizeof stock->random / sizeof stock->random[0];
    }
    unsigned char *random = stock->random[--stock->left];
    id_spell(prefix, random, out);
    memset(random, 0, ID_RANDOM);
}

bool id_valid(const char *prefix, const char *text)
{
    size_t length = strlen(prefix);
    if (strncmp(text, prefix, length) != 0 || strlen(text) != length + ID_RANDOM)
        return false;
    return strspn(text + length, alphabet) == ID_RANDOM;
}
