/* The certificate that the service shows, renewed. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sodium.h>

#include "server/tls/tls_keys.h"

#define NOW_S INT64_C(1795737600) /* 2026-11-27 */

static struct tls_pem read_pem(const char *certificate)
{
    char error[256] = "";
    const char *key = "tests/http/tls/key.pem";
    struct tls_pem pem = {
        .cert = tls_read_pem(open(certificate, O_RDONLY), certificate, error, sizeof error),
        .key = tls_read_pem(open(key, O_RDONLY), key, error, sizeof error)};
    cr_assert(pem.cert && pem.key, "%s", error);
    return pem;
}

Test(tls_keys, a_renewal_never_takes_a_certificate_that_has_ended)
{
    char error[256] = "";
    bool changed = false;
    cr_assert_geq(sodium_init(), 0);
    struct tls_keys *keys = tls_keys_new();
    struct tls_pem good = read_pem("tests/http/tls/certificate.pem");
    struct tls_pem ended = read_pem("tests/http/tls/ended.pem");
    cr_expect_eq(tls_keys_end_s(keys), 0);
    cr_assert(tls_keys_renew(keys, &good, NOW_S, &changed, error, sizeof error), "%s", error);
    cr_expect_eq(tls_keys_end_s(keys), 4948866335, "2126-10-28 13:05:35");
    cr_expect_not(tls_keys_renew(keys, &ended, NOW_S, &changed, error, sizeof error));
    cr_expect_str_eq(error, "the certificate in --tls-cert has ended");
    cr_expect_eq(tls_keys_end_s(keys), 4948866335, "the good one stays");
    cr_expect(tls_keys_renew(keys, &good, NOW_S, &changed, error, sizeof error));
    cr_expect_not(changed);
    cr_expect(tls_keys_renew(keys, &ended, 1767225600, &changed, error, sizeof error),
              "on the first of January 2026 it was good");
    tls_keys_free(keys);

    keys = tls_keys_new();
    cr_expect(tls_keys_renew(keys, &ended, NOW_S, &changed, error, sizeof error),
              "a start has no other");
    cr_expect_eq(tls_keys_end_s(keys), 1767312000, "2026-01-02");
    tls_keys_free(keys);
    tls_pem_clear(&good);
    tls_pem_clear(&ended);
}
