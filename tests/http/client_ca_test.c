/* TLS client certificates against a server that asks for them. */
#include <criterion/criterion.h>
#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "tests/http/http_client.h"
#include "tests/http/server_process.h"

TestSuite(client_ca, .timeout = 600);

struct authority {
    EVP_PKEY *key;
    X509 *certificate;
};

/* A certificate of SUBJECT with KEY, signed by BY; by itself, as an authority, with BY NULL. */
static X509 *certificate_of(const char *subject, EVP_PKEY *key, const struct authority *by)
{
    X509 *certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 7);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)subject, -1, -1, 0);
    X509_set_pubkey(certificate, key);
    X509_set_issuer_name(certificate, X509_get_subject_name(by ? by->certificate : certificate));
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints,
                                                    by ? "CA:FALSE" : "critical,CA:TRUE");
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    cr_assert_gt(X509_sign(certificate, by ? by->key : key, EVP_sha256()), 0);
    return certificate;
}

static struct authority authority_new(const char *name)
{
    struct authority authority = {.key = EVP_EC_gen("P-256")};
    authority.certificate = certificate_of(name, authority.key, NULL);
    return authority;
}

static void write_pem(const char *path, X509 *certificate, EVP_PKEY *key)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    PEM_write_X509(file, certificate);
    if (key)
        PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
    fclose(file);
}

/* Writes a new certificate of BY with its key to PATH, and its SHA-256 to HEX. */
static void write_robot(const char *path, const struct authority *by, char hex[65])
{
    unsigned char hash[32];
    unsigned size = sizeof hash;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = certificate_of("robot", key, by);
    write_pem(path, certificate, key);
    X509_digest(certificate, EVP_sha256(), hash, &size);
    for (unsigned i = 0; i < 32; i++)
        sprintf(hex + 2 * (size_t)i, "%02x", hash[i]);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static size_t throw_away(char *bytes, size_t one, size_t count, void *context)
{
    (void)bytes;
    (void)context;
    return one * count;
}

/* The status of METHOD PATH with the certificate in PEM and with TOKEN, either of which may be
 * NULL; 0: no answer. */
static long status_of(const struct server_process *server, const char *method, const char *path,
                      const char *pem, const char *token)
{
    char url[300], header[300];
    long status = 0;
    struct curl_slist *headers = NULL;
    CURL *curl = curl_easy_init();
    snprintf(url, sizeof url, "%s%s", server->base, path);
    snprintf(header, sizeof header, "Authorization: Bearer %s", token ? token : "");
    if (token)
        headers = curl_slist_append(headers, header);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, throw_away);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (pem) {
        curl_easy_setopt(curl, CURLOPT_SSLCERT, pem);
        curl_easy_setopt(curl, CURLOPT_SSLKEY, pem);
    }
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    return status;
}

Test(client_ca, a_bound_certificate_of_the_authority_is_a_credential)
{
    struct server_process server;
    struct authority ours = authority_new("ours"), others = authority_new("ours");
    char ca[200], robot[200], second[200], forged[200], hex[65], forged_hex[65], ignored[65];
    char admin[160], student[160], path[300];
    const char *me = "/v1/clients/me";
    server_prepare(&server);
    snprintf(server.certificate, sizeof server.certificate, "tests/http/tls/certificate.pem");
    snprintf(server.key, sizeof server.key, "tests/http/tls/key.pem");
    snprintf(ca, sizeof ca, "%s/ca.pem", server.folder);
    snprintf(robot, sizeof robot, "%s/robot.pem", server.folder);
    snprintf(second, sizeof second, "%s/second.pem", server.folder);
    snprintf(forged, sizeof forged, "%s/forged.pem", server.folder);
    write_pem(ca, ours.certificate, NULL);
    write_robot(robot, &ours, hex);
    write_robot(second, &ours, ignored);
    write_robot(forged, &others, forged_hex);
    server.flags[0] = "--tls-client-ca";
    server.flags[1] = ca;
    server_start(&server);
    server_token(&server, "admin", admin);
    server_token(&server, "student", student);
    cr_expect_eq(status_of(&server, "GET", me, NULL, student), 200);
    cr_expect_eq(status_of(&server, "GET", me, robot, NULL), 401);
    cr_expect_eq(status_of(&server, "GET", me, robot, student), 200);

    int size = (int)(strrchr(student, '_') - student) - 4;
    snprintf(path, sizeof path, "/v1/clients/cli_%.*s/certificates/%s", size, student + 4, hex);
    cr_expect_eq(status_of(&server, "PUT", path, NULL, student), 403);
    cr_expect_eq(status_of(&server, "PUT", path, NULL, admin), 201);
    cr_expect_eq(status_of(&server, "GET", me, robot, NULL), 200);
    cr_expect_eq(status_of(&server, "GET", me, robot, student), 200);
    cr_expect_eq(status_of(&server, "GET", me, robot, admin), 401);
    cr_expect_eq(status_of(&server, "GET", me, second, NULL), 401);
    cr_expect_eq(status_of(&server, "GET", me, NULL, NULL), 401);

    /* Bound or not, that of another authority says nothing. */
    snprintf(path, sizeof path, "/v1/clients/cli_%.*s/certificates/%s", size, student + 4,
             forged_hex);
    cr_expect_eq(status_of(&server, "PUT", path, NULL, admin), 201);
    cr_expect_neq(status_of(&server, "GET", me, forged, NULL), 200);
    server_close(&server);
    server_prepare(&server);
    snprintf(ca, sizeof ca, "tests/http/tls/certificate.pem");
    server.flags[0] = "--tls-client-ca";
    server.flags[1] = ca;
    cr_expect_eq(server_start_in_vain(&server), 2);
    server_remove(&server);
    X509_free(ours.certificate);
    X509_free(others.certificate);
    EVP_PKEY_free(ours.key);
    EVP_PKEY_free(others.key);
}
