/* Base64 with the URL's alphabet and without padding (RFC 7515, section 2). */
#ifndef TACET_API_IDENTITY_BASE64URL_H
#define TACET_API_IDENTITY_BASE64URL_H

#include <stdbool.h>
#include <stddef.h>

/* Decodes TEXT[size] into OUT[room]. False: it is not base64url, or too long. */
bool base64url_decode(const char *text, size_t size, unsigned char *out, size_t room,
                      size_t *out_size);

#endif
