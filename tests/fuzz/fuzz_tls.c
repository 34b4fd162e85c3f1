/* Any texts as certificate, key, priorities and authorities of clients, and then as a renewed
 * certificate and key, each behind a NUL. The server starts, or says why not. One that started gets
 * a client, who shows the same certificate.
 *
 * GnuTLS's edges are not counted, so a merge of the corpus drops what only GnuTLS tells apart: the
 * kept inputs whose names are words stay. */
#include <gnutls/gnutls.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/httpd.h"
#include "server/tls/peer.h"
#include "server/tls/tls_keys.h"
#include "tests/fuzz/fuzz.h"

#define NOW_S    INT64_C(1795737600) /* 2026-11-27 */
#define MOST_MS  200
#define FALLBACK "NORMAL"

enum text { CERT, KEY, PRIORITIES, CLIENT_CA, NEXT_CERT, NEXT_KEY, TEXTS };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return sodium_init() < 0;
}

/* A listening socket without an address in any network; its own is in *OUT. */
static int open_socket(struct sockaddr_un *out, socklen_t *out_size)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *out_size = sizeof *out;
    if (listening < 0 || bind(listening, (const void *)&any, sizeof any.sun_family) != 0 ||
        listen(listening, 4) != 0 || getsockname(listening, (void *)out, out_size) != 0)
        abort();
    return listening;
}

/* Splits TEXT[size] at its NULs; what is not there is NULL. */
static void split_texts(char *text, size_t size, char *out[TEXTS])
{
    const char *end = text + size;
    for (unsigned i = 0; i < TEXTS; i++) {
        out[i] = text && text <= end ? text : NULL;
        text = out[i] ? text + strlen(text) + 1 : NULL;
    }
}

static gnutls_datum_t datum_of(char *text)
{
    return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

/* Shakes hands, which may fail, and looks at the server as the server looks at clients. */
static void shake_hands(const struct sockaddr_un *address, socklen_t address_size,
                        const struct tls_pem *pem)
{
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
    unsigned char hash[PEER_HASH_SIZE];
    const gnutls_datum_t cert = datum_of(pem->cert), key = datum_of(pem->key);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), code;
    if (client < 0 || connect(client, (const void *)address, address_size) != 0 ||
        gnutls_certificate_allocate_credentials(&credentials) < 0 ||
        gnutls_init(&session, GNUTLS_CLIENT) < 0 || gnutls_set_default_priority(session) < 0)
        abort();
    (void)gnutls_certificate_set_x509_key_mem(credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
    (void)gnutls_certificate_set_x509_trust_mem(credentials, &cert, GNUTLS_X509_FMT_PEM);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_int(session, client);
    gnutls_handshake_set_timeout(session, MOST_MS);
    do
        code = gnutls_handshake(session);
    while (code < 0 && !gnutls_error_is_fatal(code));
    if (code == 0)
        (void)peer_certificate(session, hash);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    close(client);
}

/* True when KEYS take PEM; otherwise there is a reason, and what was before stays. */
static bool renew(struct tls_keys *keys, const struct tls_pem *pem)
{
    char error[256] = "";
    bool changed, good;
    int64_t before_s = tls_keys_end_s(keys);
    good = tls_keys_renew(keys, pem, NOW_S, &changed, error, sizeof error);
    assert(good == (error[0] == '\0'));
    assert(good || tls_keys_end_s(keys) == before_s);
    return good;
}

static void serve(const struct httpd_settings *settings, char *const texts[TEXTS], bool must_start)
{
    char error[200] = "";
    struct sockaddr_un address;
    socklen_t size;
    const struct tls_pem pem = {texts[CERT], texts[KEY], NULL},
                         next = {texts[NEXT_CERT], texts[NEXT_KEY], texts[CLIENT_CA]};
    int listening = open_socket(&address, &size);
    struct httpd *httpd = httpd_start(settings, listening, error, sizeof error);
    assert((httpd == NULL) == (error[0] != '\0'));
    assert(httpd || !must_start);
    if (!httpd) {
        close(listening);
        return;
    }
    shake_hands(&address, size, &pem);
    if (next.cert && next.key && renew(settings->tls_keys, &next))
        shake_hands(&address, size, &pem);
    httpd_drain(httpd);
    httpd_stop(httpd);
    httpd_free(httpd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size, true), *texts[TEXTS];
    split_texts(text, size, texts);
    texts[KEY] = texts[KEY] ? texts[KEY] : text + size; /* "" */
    struct httpd_settings settings = {.tls_cert = texts[CERT],
                                      .tls_key = texts[KEY],
                                      .tls_priorities =
                                          texts[PRIORITIES] ? texts[PRIORITIES] : FALLBACK,
                                      .tls_client_ca = texts[CLIENT_CA],
                                      .tls_keys = tls_keys_new(),
                                      .connections = 4,
                                      .metrics = metrics_new(),
                                      .idle_timeout_s = 1,
                                      .head_timeout_s = 1,
                                      .pace = {1, 1, 1, 1}};
    const struct tls_pem pem = {texts[CERT], texts[KEY], texts[CLIENT_CA]};
    bool good = renew(settings.tls_keys, &pem);
    serve(&settings, texts, good && !texts[PRIORITIES]);
    tls_keys_free(settings.tls_keys);
    metrics_free(settings.metrics);
    free(text);
    return 0;
}

/* ---- mutation */

/* The bytes of the block of PEM that begins behind AT: from its first line to its last. */
static bool find_block(uint8_t *at, const uint8_t *end, uint8_t **out_from, uint8_t **out_to)
{
    uint8_t *begin = memmem(at, (size_t)(end - at), "-----BEGIN ", 11);
    uint8_t *line = begin ? memchr(begin, '\n', (size_t)(end - begin)) : NULL;
    uint8_t *last = line ? memmem(line, (size_t)(end - line), "-----END ", 9) : NULL;
    *out_from = line ? line + 1 : NULL;
    *out_to = last;
    return last;
}

/* Mutates the DER of a block of PEM, and whatever is there now and then. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint8_t *from = data, *to, der[8192];
    size_t der_size = 0, rest;
    for (unsigned skip = seed / 4 % 4 + 1; skip > 0; skip--)
        if (!find_block(from, data + size, &from, &to))
            return LLVMFuzzerMutate(data, size, max_size);
    if (seed % 4 == 0 ||
        sodium_base642bin(der, sizeof der, (const char *)from, (size_t)(to - from), "\r\n",
                          &der_size, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        return LLVMFuzzerMutate(data, size, max_size);
    der_size = LLVMFuzzerMutate(der, der_size, sizeof der);
    rest = (size_t)(data + size - to);
    size_t text = sodium_base64_encoded_len(der_size, sodium_base64_VARIANT_ORIGINAL);
    if ((size_t)(from - data) + text + rest > max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    memmove(from + text, to, rest);
    sodium_bin2base64((char *)from, text, der, der_size, sodium_base64_VARIANT_ORIGINAL);
    from[text - 1] = '\n'; /* where its NUL is */
    return (size_t)(from - data) + text + rest;
}
