/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef TACET_API_JSON_UTF8_H
#define TACET_API_JSON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character that begins at BYTES, of which LEFT are there (1 or more); 0 when it is
 * malformed. */
size_t utf8_length(const unsigned char *bytes, size_t left);

/* True when all SIZE bytes are UTF-8. */
bool utf8_is_valid(const char *bytes, size_t size);

#endif
