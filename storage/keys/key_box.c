/* One construction for everything that is encrypted under a random nonce. */
#include "storage/keys/key_box.h"

#include <sodium.h>
#include <string.h>

_Static_assert(KEY_BOX_NONCE == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "the nonce");
_Static_assert(KEY_BOX_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "the key");
_Static_assert(KEY_BOX_MORE == KEY_BOX_NONCE + crypto_aead_xchacha20poly1305_ietf_ABYTES,
               "nonce and tag");

void key_box_close(const unsigned char key[KEY_BOX_KEY], const char *name, const void *bytes,
                   size_t size, unsigned char *out)
{
    randombytes_buf(out, KEY_BOX_NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(out + KEY_BOX_NONCE, NULL, bytes, size,
                                               (const unsigned char *)name, strlen(name), NULL, out,
                                               key);
}

bool key_box_open(const unsigned char key[KEY_BOX_KEY], const char *name, const unsigned char *box,
                  size_t size, unsigned char *out)
{
    return size >= KEY_BOX_MORE && crypto_aead_xchacha20poly1305_ietf_decrypt(
                                       out, NULL, NULL, box + KEY_BOX_NONCE, size - KEY_BOX_NONCE,
                                       (const unsigned char *)name, strlen(name), box, key) == 0;
}
