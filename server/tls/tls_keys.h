/* The certificate and the private key that the service shows, which may be renewed while it runs. A
 * connection keeps those that it began with. */
#ifndef TACET_SERVER_TLS_TLS_KEYS_H
#define TACET_SERVER_TLS_TLS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PEM texts in locked memory (sodium_malloc); client_ca may be NULL. */
struct tls_pem {
    char *cert, *key, *client_ca;
};

/* Reads a PEM text from the descriptor FILE, which it closes; PATH is for the error. The caller
 * frees it by sodium_free. NULL: ERROR holds a sentence. */
char *tls_read_pem(int file, const char *path, char *error, size_t error_size);

/* Wipes and frees the texts, and sets them to NULL. */
void tls_pem_clear(struct tls_pem *pem);

struct tls_keys;

/* Keys without a certificate yet. */
struct tls_keys *tls_keys_new(void);

/* Connections that begin from now on get PEM, unless it is what they get already (*out_changed is
 * false then). One thread at a time. False: it is no certificate with its key, or one that has
 * ended by NOW_S (seconds since 1970) while there is another; ERROR holds a sentence, and what was
 * before stays. */
bool tls_keys_renew(struct tls_keys *keys, const struct tls_pem *pem, int64_t now_s,
                    bool *out_changed, char *error, size_t error_size);

/* When the newest certificate ends, in seconds since 1970; 0: there is none, or it does not say. */
int64_t tls_keys_end_s(const struct tls_keys *keys);

/* Gives SESSION (GnuTLS's, before its handshake) the newest certificate. Any thread. */
void tls_keys_use(struct tls_keys *keys, void *session);

/* To be called after the last connection has ended. NULL is fine. */
void tls_keys_free(struct tls_keys *keys);

#endif
