/* A certificate is one client's at a time. */
#include "api/books/client_certificates.h"

#include <sodium.h>
#include <string.h>

#include "api/books/client_tokens.h"
#include "api/books/clients.h"
#include "api/call/fields.h"
#include "api/call/page.h"
#include "api/json/json_text.h"
#include "storage/client_certificates.h"

#define CERTIFICATES_MOST 100 /* of a client */

static json_t *certificate_json(const struct client_certificate *certificate)
{
    char hex[2 * CERTIFICATE_HASH_SIZE + 1];
    sodium_bin2hex(hex, sizeof hex, certificate->hash, sizeof certificate->hash);
    return json_pack("{s:s, s:s, s:o}", "sha256", hex, "client", certificate->client, "created_at",
                     json_time(certificate->created_ms));
}

/* Reads {sha256} into HASH: 64 hexadecimal digits, between which colons may stand, as openssl
 * writes them. */
static bool read_hash(const struct call *call, unsigned char hash[CERTIFICATE_HASH_SIZE])
{
    const char *text = call_parameter(call, "sha256"), *end = NULL;
    size_t size = 0;
    return sodium_hex2bin(hash, CERTIFICATE_HASH_SIZE, text, strlen(text), ":", &size, &end) == 0 &&
           size == CERTIFICATE_HASH_SIZE && *end == '\0';
}

enum problem api_client_certificates_bind(struct call *call)
{
    struct client_row client;
    struct client_certificate certificate = {.created_ms = call->now_ms}, other;
    int64_t count = 0;
    enum problem problem = clients_named(call, &client);
    if (problem == PROBLEM_NONE && call->caller.scopes != SCOPE_ALL)
        problem = client_scopes_refuse(call); /* a certificate has all of them */
    if (problem != PROBLEM_NONE)
        return problem;
    if (!read_hash(call, certificate.hash))
        return call_problem(call, PROBLEM_NOT_FOUND,
                            "The last part of the path is not a SHA-256 of 64 hexadecimal digits.");
    enum db_status status = client_certificates_find(call->db, certificate.hash, &other);
    if (status == DB_OK && strcmp(other.client, client.id) == 0)
        return call_reply_json(call, 200, certificate_json(&other));
    if (status == DB_OK)
        return call_problem(call, PROBLEM_CONFLICT, "The certificate is bound to another client.");
    if (status == DB_NONE)
        status = client_certificates_count(call->db, client.id, &count);
    if (status != DB_OK)
        return call_db(call, status);
    if (client.revoked_ms != 0)
        return call_problem(call, PROBLEM_CONFLICT, "The client is revoked.");
    if (count >= CERTIFICATES_MOST)
        return call_problem(call, PROBLEM_CONFLICT, "The client has 100 certificates.");
    memcpy(certificate.client, client.id, sizeof certificate.client);
    status = client_certificates_insert(call->db, &certificate);
    if (status != DB_OK)
        return call_db(call, status);
    return call_reply_json(call, 201, certificate_json(&certificate));
}

static bool add_certificate(void *page, const struct client_certificate *certificate)
{
    return page_add(page, certificate_json(certificate), 0, "");
}

enum problem api_client_certificates_list(struct call *call)
{
    struct page page;
    struct client_row client;
    enum problem problem = clients_named(call, &client);
    if (problem != PROBLEM_NONE)
        return problem;
    page_whole(call, &page);
    return page_end(&page, client_certificates_list(call->db, client.id, add_certificate, &page));
}

enum problem api_client_certificates_end(struct call *call)
{
    struct client_row client;
    unsigned char hash[CERTIFICATE_HASH_SIZE];
    enum problem problem = clients_named(call, &client);
    if (problem != PROBLEM_NONE)
        return problem;
    enum db_status status = DB_NONE;
    if (read_hash(call, hash))
        status = client_certificates_remove(call->db, client.id, hash);
    if (status == DB_NONE)
        return call_problem(call, PROBLEM_NOT_FOUND, "The client has no such certificate.");
    return call_reply_done(call, status);
}
