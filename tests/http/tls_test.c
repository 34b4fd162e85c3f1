/* TLS: which versions are spoken, and what answers say over it. */
#include <criterion/criterion.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/http/http_client.h"

static struct server_process server;

static void start(const char *priorities)
{
    server_prepare(&server);
    snprintf(server.certificate, sizeof server.certificate, "tests/http/tls/certificate.pem");
    snprintf(server.key, sizeof server.key, "tests/http/tls/key.pem");
    if (priorities) {
        server.flags[0] = "--tls-priorities";
        server.flags[1] = priorities;
    }
    server_start(&server);
}

static size_t throw_away(char *bytes, size_t one, size_t count, void *context)
{
    (void)bytes;
    (void)context;
    return one * count;
}

/* Speaks VERSION (of CURLOPT_SSLVERSION) and nothing else. True: there was an answer. */
static bool speaks(long version)
{
    char url[128];
    long status = 0;
    CURL *curl = curl_easy_init();
    cr_assert_not_null(curl);
    snprintf(url, sizeof url, "%s/healthz/live", server.base);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, throw_away);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, version | version << 16);
    /* Without this the client itself would refuse the old versions. */
    curl_easy_setopt(curl, CURLOPT_SSL_CIPHER_LIST, "ALL:@SECLEVEL=0");
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    return status == 200;
}

Test(tls, is_at_least_1_2)
{
    static const char *const lists[] = {NULL, "NORMAL:+VERS-ALL", "LEGACY:+VERS-TLS1.0"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        start(lists[i]);
        cr_expect(!speaks(CURL_SSLVERSION_TLSv1_0), "list %zu", i);
        cr_expect(!speaks(CURL_SSLVERSION_TLSv1_1), "list %zu", i);
        cr_expect(speaks(CURL_SSLVERSION_TLSv1_2), "list %zu", i);
        cr_expect(speaks(CURL_SSLVERSION_TLSv1_3), "list %zu", i);
        server_close(&server);
    }
}

/* A certificate that the system does not know: the error says how to name it. */
Test(tls, a_subcommand_is_told_what_to_trust)
{
    static char out[2000];
    char token[160], keys[96], data[96];
    start(NULL);
    cr_expect_eq(tacet_run(out, sizeof out, "status", "--server", server.base, NULL), 1);
    cr_expect_not_null(strstr(out, "--ca-file FILE names the certificates to trust"), "%s", out);
    cr_expect_eq(tacet_run(out, sizeof out, "status", "--server", server.base, "--ca-file",
                           server.certificate, NULL),
                 0, "%s", out);
    server_token(&server, "auditor", token);
    setenv("TACET_TOKEN", token, 1);
    snprintf(keys, sizeof keys, "%s/keys.json", server.folder);
    snprintf(data, sizeof data, "%s/witness", server.folder);
    FILE *file = fopen(keys, "w");
    cr_assert(file && fputs("{\"keys\":[{\"crv\":\"Ed25519\",\"x\":"
                            "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
                            file) >= 0);
    fclose(file);
    for (int trusts = 0; trusts < 2; trusts++) {
        cr_expect_eq(tacet_run(out, sizeof out, "witness", "--data", data, "--keys", keys,
                               "--origin", "x", "--server", server.base,
                               trusts ? "--ca-file" : NULL, server.certificate, NULL),
                     1);
        cr_expect_eq(strstr(out, "--ca-file FILE names") != NULL, !trusts, "%s", out);
    }
    unsetenv("TACET_TOKEN");
    server_close(&server);
}

Test(tls, priorities_are_settable)
{
    start("NORMAL:-VERS-ALL:+VERS-TLS1.3");
    cr_expect(!speaks(CURL_SSLVERSION_TLSv1_2));
    cr_expect(speaks(CURL_SSLVERSION_TLSv1_3));
    server_close(&server);
    server_prepare(&server);
    snprintf(server.certificate, sizeof server.certificate, "tests/http/tls/certificate.pem");
    snprintf(server.key, sizeof server.key, "tests/http/tls/key.pem");
    server.flags[0] = "--tls-priorities";
    static const char *const none[] = {"NORMAL:NONSENSE", "NORMAL:-VERS-ALL:+VERS-TLS1.1"};
    for (int i = 0; i < 2; i++) {
        server.flags[1] = none[i];
        cr_expect_eq(server_start_in_vain(&server), 1);
    }
    cr_expect(server_log_has(&server, "--tls-priorities"));
    server_remove(&server);
}

/* What is wrong with these answers is said over either protocol, and in the same words. */
Test(tls, answers_carry_the_headers_of_security)
{
    static const char *const paths[] = {"/healthz/live", "/", "/v1/jobs", "/nothing", "/problems"};
    for (int encrypted = 0; encrypted < 2; encrypted++) {
        if (encrypted)
            start(NULL);
        else
            server_open(&server, NULL);
        struct http_client *client = http_client_new(&server);
        for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
            struct http_call call = {.method = "GET", .path = paths[i]};
            struct http_answer answer = http_do(client, &call);
            const char *sniff = http_header(&answer, "X-Content-Type-Options");
            cr_expect(sniff && strcmp(sniff, "nosniff") == 0, "%s", answer.headers);
            const char *strict = http_header(&answer, "Strict-Transport-Security");
            cr_expect_eq(strict != NULL, encrypted == 1, "%s", answer.headers);
            cr_expect_not_null(http_header(&answer, "Cache-Control"));
            const char *policy = http_header(&answer, "Content-Security-Policy");
            cr_expect_eq(policy != NULL, strcmp(paths[i], "/") == 0, "%s", answer.headers);
            http_answer_clear(&answer);
        }
        http_client_free(client);
        server_close(&server);
    }
}

Test(tls, a_key_that_others_may_read_is_warned_of)
{
    char key[96], command[256];
    for (int open = 0; open < 2; open++) {
        server_prepare(&server);
        snprintf(key, sizeof key, "%s/key.pem", server.folder);
        snprintf(command, sizeof command, "cp tests/http/tls/key.pem %s", key);
        cr_assert_eq(system(command), 0);
        cr_assert_eq(chmod(key, open ? 0644 : 0600), 0);
        snprintf(server.certificate, sizeof server.certificate, "tests/http/tls/certificate.pem");
        snprintf(server.key, sizeof server.key, "%s", key);
        server_start(&server);
        cr_expect_eq(server_log_has(&server, "tls-key-exposed"), open == 1);
        server_close(&server);
    }
}

Test(tls, a_certificate_that_has_ended_is_warned_of_and_named)
{
    static char out[2000];
    server_prepare(&server);
    snprintf(server.certificate, sizeof server.certificate, "tests/http/tls/ended.pem");
    snprintf(server.key, sizeof server.key, "tests/http/tls/key.pem");
    server_start(&server);
    cr_expect(server_log_has(&server, "event=tls-ended file=\"tests/http/tls/ended.pem\""));
    cr_expect_eq(tacet_run(out, sizeof out, "status", "--server", server.base, "--ca-file",
                           server.certificate, NULL),
                 1);
    cr_expect_not_null(strstr(out, "certificate has expired (by the certificates of --ca-file)"),
                       "%s", out);
    server_close(&server);
}
