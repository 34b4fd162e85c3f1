/* Sessions use the credentials without counting, so old ones stay until the end. There is one more
 * for each renewal, which is a few a year. */
#include "server/tls/tls_keys.h"

#include <gnutls/gnutls.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/memory.h"

#define PEM_BYTES_MAX ((size_t)1024 * 1024)
#define HASH_SIZE     32

struct tls_credentials {
    gnutls_certificate_credentials_t gnutls;
    unsigned char hash[HASH_SIZE]; /* of what they were made from */
    struct tls_credentials *before;
};

struct tls_keys {
    _Atomic(struct tls_credentials *) newest;
};

/* The text is in locked memory, which sodium_free wipes. No library's buffer sees it. */
char *tls_read_pem(int file, const char *path, char *error, size_t error_size)
{
    char *text = memory_must(sodium_malloc(PEM_BYTES_MAX + 2));
    size_t used = 0;
    ssize_t n = 1;
    while (file >= 0 && n > 0 && used <= PEM_BYTES_MAX) {
        n = read(file, text + used, PEM_BYTES_MAX + 1 - used);
        used += n > 0 ? (size_t)n : 0;
    }
    if (file >= 0)
        close(file);
    if (used == 0 || used > PEM_BYTES_MAX) {
        snprintf(error, error_size, "%s: no PEM file that can be read", path);
        sodium_free(text);
        return NULL;
    }
    text[used] = '\0';
    char *exact = memory_must(sodium_malloc(used + 1)); /* little memory can be locked */
    memcpy(exact, text, used + 1);
    sodium_free(text);
    return exact;
}

void tls_pem_clear(struct tls_pem *pem)
{
    sodium_free(pem->key);
    sodium_free(pem->cert);
    sodium_free(pem->client_ca);
    *pem = (struct tls_pem){NULL, NULL, NULL};
}

struct tls_keys *tls_keys_new(void)
{
    return memory_new(1, sizeof(struct tls_keys));
}

static void pem_hash(const struct tls_pem *pem, unsigned char hash[HASH_SIZE])
{
    const char *const texts[] = {pem->cert, pem->key, pem->client_ca};
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, HASH_SIZE);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i]) /* each with its NUL */
            crypto_generichash_update(&state, (const unsigned char *)texts[i],
                                      strlen(texts[i]) + 1);
    crypto_generichash_final(&state, hash, HASH_SIZE);
}

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

bool tls_keys_renew(struct tls_keys *keys, const struct tls_pem *pem, bool *out_changed,
                    char *error, size_t error_size)
{
    struct tls_credentials *before = atomic_load(&keys->newest);
    struct tls_credentials *now = memory_new(1, sizeof *now);
    const gnutls_datum_t cert = datum_of(pem->cert), key = datum_of(pem->key);
    int code = GNUTLS_E_MEMORY_ERROR;
    pem_hash(pem, now->hash);
    *out_changed = !before || memcmp(before->hash, now->hash, HASH_SIZE) != 0;
    if (!*out_changed) {
        free(now);
        return true;
    }
    if (gnutls_certificate_allocate_credentials(&now->gnutls) == 0)
        code = gnutls_certificate_set_x509_key_mem(now->gnutls, &cert, &key, GNUTLS_X509_FMT_PEM);
    if (code >= 0 && pem->client_ca) {
        const gnutls_datum_t ca = datum_of(pem->client_ca);
        code = gnutls_certificate_set_x509_trust_mem(now->gnutls, &ca, GNUTLS_X509_FMT_PEM);
    }
    if (code >= 0) {
        now->before = before;
        atomic_store(&keys->newest, now);
        return true;
    }
    snprintf(error, error_size,
             "no certificate with its key, both in PEM, is in --tls-cert and --tls-key (or none of "
             "authorities in --tls-client-ca): %s",
             gnutls_strerror(code));
    if (now->gnutls)
        gnutls_certificate_free_credentials(now->gnutls);
    free(now);
    return false;
}

void tls_keys_use(struct tls_keys *keys, void *session)
{
    const struct tls_credentials *newest = atomic_load(&keys->newest);
    if (newest)
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, newest->gnutls);
}

void tls_keys_free(struct tls_keys *keys)
{
    struct tls_credentials *next = keys ? atomic_load(&keys->newest) : NULL;
    while (next) {
        struct tls_credentials *before = next->before;
        gnutls_certificate_free_credentials(next->gnutls);
        free(next);
        next = before;
    }
    free(keys);
}
