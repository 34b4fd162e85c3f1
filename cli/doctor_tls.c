/* OpenSSL reads both, because nothing of them is used. */
#include "cli/doctor_tls.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

/* An encrypted key is asked for no passphrase. */
static int no_passphrase(char *buffer, int size, int writes, void *context)
{
    (void)buffer;
    (void)size;
    (void)writes;
    (void)context;
    return 0;
}

static FILE *open_pem(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    if (!file)
        snprintf(text, size, "%.200s cannot be read: %s", path, strerror(errno));
    return file;
}

bool doctor_tls(const char *cert, const char *key, int *out_days, char *text, size_t size)
{
    X509 *certificate = NULL;
    EVP_PKEY *pair = NULL;
    int seconds = 0;
    bool good = false;
    FILE *file = open_pem(cert, text, size);
    if (!file)
        return false;
    certificate = PEM_read_X509(file, NULL, no_passphrase, NULL);
    fclose(file);
    file = open_pem(key, text, size);
    if (!file)
        goto cleanup;
    pair = PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);
    fclose(file);
    if (!certificate || !pair)
        snprintf(text, size, "%.200s is no PEM file of a %s", certificate ? key : cert,
                 certificate ? "private key without a passphrase" : "certificate");
    else if (X509_check_private_key(certificate, pair) != 1)
        snprintf(text, size, "%.200s is not the key of %.200s", key, cert);
    else if (ASN1_TIME_diff(out_days, &seconds, NULL, X509_get0_notAfter(certificate)) != 1)
        snprintf(text, size, "%.200s does not say how long it is good", cert);
    else
        good = true;
    if (good && seconds < 0 && *out_days == 0)
        *out_days = -1;
cleanup:
    X509_free(certificate);
    EVP_PKEY_free(pair);
    return good;
}
