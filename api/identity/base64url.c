/* libsodium decodes. */
#include "api/identity/base64url.h"

#include <sodium.h>

bool base64url_decode(const char *text, size_t size, unsigned char *out, size_t room,
                      size_t *out_size)
{
    const char *end = NULL;
    return sodium_base642bin(out, room, text, size, NULL, out_size, &end,
                             sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           end == text + size;
}
