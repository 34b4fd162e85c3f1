/* Sessions use the credentials without counting, so old ones stay until the end. There is one more
 * for each renewal, which is a few a year. */
#include "server/tls/tls_keys.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
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
    int64_t end_s;                 /* of the certificate; 0: not known */
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

/* When the certificate of the service itself ends, which is the first one; 0: not known. */
static int64_t end_of_first(gnutls_certificate_credentials_t credentials)
{
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;
    if (gnutls_certificate_get_x509_crt(credentials, 0, &list, &count) != 0)
        return 0;
    time_t end = count > 0 ? gnutls_x509_crt_get_expiration_time(list[0]) : -1;
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(list[i]);
    gnutls_free(list);
    return end > 0 ? (int64_t)end : 0;
}

/* Makes CREDENTIALS from PEM. False: ERROR says why not. */
static bool load_credentials(struct tls_credentials *credentials, const struct tls_pem *pem,
                             char *error, size_t error_size)
{
    const gnutls_datum_t cert = datum_of(pem->cert), key = datum_of(pem->key);
    int code = gnutls_certificate_allocate_credentials(&credentials->gnutls);
    if (code >= 0)
        code = gnutls_certificate_set_x509_key_mem(credentials->gnutls, &cert, &key,
                                                   GNUTLS_X509_FMT_PEM);
    if (code >= 0 && pem->client_ca) {
        const gnutls_datum_t ca = datum_of(pem->client_ca);
        code = gnutls_certificate_set_x509_trust_mem(credentials->gnutls, &ca, GNUTLS_X509_FMT_PEM);
    }
    if (code >= 0)
        credentials->end_s = end_of_first(credentials->gnutls);
    else
        snprintf(error, error_size,
                 "no certificate with its key, both in PEM, is in --tls-cert and --tls-key (or "
                 "none of authorities in --tls-client-ca): %s",
                 gnutls_strerror(code));
    return code >= 0;
}

bool tls_keys_renew(struct tls_keys *keys, const struct tls_pem *pem, int64_t now_s,
                    bool *out_changed, char *error, size_t error_size)
{
    struct tls_credentials *before = atomic_load(&keys->newest);
    struct tls_credentials *now = memory_new(1, sizeof *now);
    pem_hash(pem, now->hash);
    *out_changed = !before || memcmp(before->hash, now->hash, HASH_SIZE) != 0;
    if (!*out_changed) {
        free(now);
        return true;
    }
    bool good = load_credentials(now, pem, error, error_size);
    if (good && before && now->end_s > 0 && now->end_s < now_s) {
        snprintf(error, error_size, "the certificate in --tls-cert has ended");
        good = false;
    }
    if (good) {
        now->before = before;
        atomic_store(&keys->newest, now);
        return true;
    }
    if (now->gnutls)
        gnutls_certificate_free_credentials(now->gnutls);
    free(now);
    return false;
}

int64_t tls_keys_end_s(const struct tls_keys *keys)
{
    const struct tls_credentials *newest = atomic_load(&keys->newest);
    return newest ? newest->end_s : 0;
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
