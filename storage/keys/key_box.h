/* A key or a text, encrypted: a nonce, the ciphertext and its tag. XChaCha20-Poly1305. */
#ifndef TACET_STORAGE_KEYS_KEY_BOX_H
#define TACET_STORAGE_KEYS_KEY_BOX_H

#include <stdbool.h>
#include <stddef.h>

#define KEY_BOX_NONCE 24
#define KEY_BOX_MORE  40 /* bytes that a box is longer than what it holds */
#define KEY_BOX_KEY   32 /* of a key */
#define KEY_BOX_SIZE  (KEY_BOX_KEY + KEY_BOX_MORE) /* of a box that holds a key */

/* Encrypts BYTES[size] under KEY with a random nonce, and with NAME as associated data. OUT has
 * SIZE + KEY_BOX_MORE bytes. */
void key_box_close(const unsigned char key[KEY_BOX_KEY], const char *name, const void *bytes,
                   size_t size, unsigned char *out);

/* Decrypts BOX[size] into OUT[size - KEY_BOX_MORE]. False: it was not closed under KEY and NAME. */
bool key_box_open(const unsigned char key[KEY_BOX_KEY], const char *name, const unsigned char *box,
                  size_t size, unsigned char *out);

#endif
