/* Where an issuer's keys may come from. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/issuer_watch.h"

TestSuite(issuer_source);

Test(issuer_source, is_a_file_or_https_or_this_machine)
{
    static const char *const good[] = {
        "/etc/tacet/keys.json",      "keys@home.json",   "https://issuer.example/jwks",
        "HTTPS://issuer.example",    "http://127.0.0.1", "http://127.0.0.1:8080/jwks",
        "HTTP://LocalHost:80/x@y?z", "http://[::1]:80/",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        cr_expect_null(issuer_source_wrong(good[i]), "%s: %s", good[i],
                       issuer_source_wrong(good[i]));
}

Test(issuer_source, is_no_other_address_that_looks_like_this_machine)
{
    static const char *const elsewhere[] = {
        "http://issuer.example/jwks", "http://127.0.0.1.example/",  "http://localhost.example",
        "http://127.0.0.11/",         "http://x/?http://127.0.0.1", "ftp://127.0.0.1/jwks",
        "http://127.0.0.1\\.example",
    };
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        cr_expect_not_null(issuer_source_wrong(elsewhere[i]), "%s", elsewhere[i]);
}

/* What stands before the @ is a user and a password, and what stands behind it is asked. */
Test(issuer_source, has_no_user)
{
    static const char *const users[] = {
        "http://127.0.0.1:80@elsewhere/",
        "http://localhost:x@elsewhere",
        "http://u@127.0.0.1/",
        "https://u:p@issuer.example/",
        "http://[::1]@elsewhere/",
        "https://@issuer.example/",
    };
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++)
        cr_expect_not_null(issuer_source_wrong(users[i]), "%s", users[i]);
}
