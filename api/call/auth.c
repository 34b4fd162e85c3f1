/* Bearer tokens.
 *
 * The secret is 256 bits from the operating system, so a plain BLAKE2b of it is enough: there is
 * nothing to guess that a slow hash would slow down. For the same reason the hash may be looked up
 * in an index: what the time of a search tells of a hash tells nothing of the secret. A wrong
 * secret, an unknown client and a token that has ended give the same answer. */
#include "api/call/auth.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/call/app.h"
#include "api/call/outsider.h"
#include "api/call/pass.h"
#include "api/json/text.h"
#include "storage/client_certificates.h"
#include "storage/client_tokens.h"

#define SECRET_BYTES 32
#define SECRET_HEX   (2 * SECRET_BYTES)

static void hash_secret(const char *secret, unsigned char hash[TOKEN_SECRET_HASH])
{
    crypto_generichash(hash, TOKEN_SECRET_HASH, (const unsigned char *)secret, SECRET_HEX, NULL, 0);
}

void auth_token_new(const char *client_id, char token[TOKEN_SIZE],
                    unsigned char hash[TOKEN_SECRET_HASH])
{
    unsigned char secret[SECRET_BYTES];
    char hex[SECRET_HEX + 1];
    randombytes_buf(secret, sizeof secret);
    sodium_bin2hex(hex, sizeof hex, secret, sizeof secret);
    hash_secret(hex, hash);
    const char *id = strncmp(client_id, "cli_", 4) == 0 ? client_id + 4 : client_id;
    snprintf(token, TOKEN_SIZE, "tct_%s_%s", id, hex);
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(hex, sizeof hex);
}

/* A header of another scheme is treated as no token: the answer says how to authenticate (RFC 6750,
 * 3.1). */
static bool is_bearer(const char *header)
{
    return header && strncasecmp(header, "Bearer ", 7) == 0;
}

enum problem auth_refuse(struct call *call, const char *why)
{
    call_header(call, "WWW-Authenticate", "Bearer realm=\"tacet\"%s",
                why ? ", error=\"invalid_token\"" : "");
    return call_problem(call, PROBLEM_UNAUTHORIZED, "%s",
                        why ? why : "Send Authorization: Bearer tct_...");
}

static enum problem refuse_token(struct call *call, bool had_token)
{
    return auth_refuse(call, had_token ? "The token is not valid." : NULL);
}

/* Splits "Bearer tct_<id>_<secret>" into ID ("cli_...") and the secret; NULL when it is not one.
 * The database is asked for the id, so it has no bytes but those of ids: PostgreSQL fails at a text
 * that is not UTF-8. */
static const char *read_bearer(const char *header, char *id, size_t id_size)
{
    if (!is_bearer(header))
        return NULL;
    const char *token = header + 7 + strspn(header + 7, " ");
    const char *secret = strrchr(token, '_');
    if (strncmp(token, "tct_", 4) != 0 || secret <= token + 4 || strlen(secret + 1) != SECRET_HEX)
        return NULL;
    size_t size = (size_t)(secret - token); /* as long as "cli_<id>" */
    if (size >= id_size)
        return NULL;
    memcpy(id, "cli_", 4);
    memcpy(id + 4, token + 4, size - 4);
    id[size] = '\0';
    bool plain = id[4 + strspn(id + 4, "abcdefghijklmnopqrstuvwxyz0123456789")] == '\0';
    return plain ? secret + 1 : NULL;
}

bool auth_claims(const char *header, char id[ID_SIZE])
{
    return read_bearer(header, id, ID_SIZE) != NULL;
}

static enum problem refuse_role(struct call *call, const char *role)
{
    char list[128] = "";
    for (unsigned bit = 1; bit <= ROLE_MONITOR; bit <<= 1)
        if ((call->route->roles & bit) != 0)
            text_list_add(list, sizeof list, ", ", role_name((enum role)bit));
    return call_problem(call, PROBLEM_FORBIDDEN, "The role %s may not do that; these may: %s.",
                        role, list);
}

static enum problem refuse_scope(struct call *call)
{
    const char *scope = scope_name(route_scope(call->route));
    call_header(call, "WWW-Authenticate",
                "Bearer realm=\"tacet\", error=\"insufficient_scope\", scope=\"%s\"", scope);
    return call_problem(call, PROBLEM_INSUFFICIENT_SCOPE,
                        "This needs the scope %s, which the token does not have.", scope);
}

bool auth_may(const struct caller *caller, const struct route *route)
{
    return (caller->role & route->roles) != 0 && (caller->scopes & route_scope(route)) != 0;
}

static enum problem admit_caller(struct call *call)
{
    if (auth_may(&call->caller, call->route))
        return PROBLEM_NONE;
    if (call_is(call, call->route->roles))
        return refuse_scope(call);
    return refuse_role(call, role_name(call->caller.role));
}

/* Finds the client of the request's certificate. DB_NONE: it is bound to none. */
static enum db_status find_bound(struct call *call, char client[ID_SIZE])
{
    struct client_certificate certificate;
    enum db_status status =
        client_certificates_find(call->db, call->request->certificate, &certificate);
    if (status == DB_OK)
        memcpy(client, certificate.client, ID_SIZE);
    return status;
}

/* Knows the caller by its certificate alone. A browser shows one on behalf of any page that it has
 * open, so what carries Origin must show a token. */
static enum problem check_certificate(struct call *call)
{
    char client[ID_SIZE];
    if (call_request_header(call, "Origin"))
        return auth_refuse(call, NULL);
    enum db_status status = find_bound(call, client);
    enum problem problem = call_db(call, db_optional(status));
    if (status == DB_OK)
        problem = auth_known(call, client);
    if (status == DB_NONE)
        problem = call_problem(call, PROBLEM_UNAUTHORIZED,
                               "The TLS client certificate is bound to no client.");
    if (problem == PROBLEM_UNAUTHORIZED)
        call_header(call, "WWW-Authenticate", "Bearer realm=\"tacet\"");
    return problem;
}

/* Refuses a caller whose certificate is bound to another client than its token is of. */
static enum problem check_agreement(struct call *call)
{
    char client[ID_SIZE];
    enum db_status status = find_bound(call, client);
    if (status == DB_OK && strcmp(client, call->caller.id) != 0)
        return auth_refuse(call, "The token and the TLS client certificate are of two clients.");
    return call_db(call, db_optional(status));
}

static enum problem check_token(struct call *call)
{
    const char *header = call_request_header(call, "Authorization");
    struct client_bearer bearer;
    if (call->pass) {
        call->caller = call->pass->caller;
        return admit_caller(call);
    }
    char id[sizeof call->caller.id];
    const char *secret = read_bearer(header, id, sizeof id);
    const char *token = is_bearer(header) ? header + 7 + strspn(header + 7, " ") : "";
    if (!secret && call->app->settings.identity && strchr(token, '.')) {
        enum problem problem = outsider_check(call, token);
        return problem == PROBLEM_NONE ? admit_caller(call) : problem;
    }
    if (!secret)
        return refuse_token(call, is_bearer(header));
    unsigned char hash[TOKEN_SECRET_HASH];
    hash_secret(secret, hash);
    enum db_status status = client_tokens_bearer(call->db, id, hash, &bearer);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (status == DB_NONE)
        return refuse_token(call, true);
    const struct client_token *known = &bearer.token;
    int64_t ends_ms = client_token_end(known->expires_ms, known->revoked_ms);
    enum role role = role_find(bearer.client.role);
    /* A call may take long: its token may expire meanwhile, but not be revoked. */
    bool revoked = bearer.client.revoked_ms != 0 ||
                   (known->revoked_ms != 0 && call->app->settings.now_ms() >= known->revoked_ms);
    if (revoked || call->now_ms >= ends_ms || role == ROLE_NONE)
        return refuse_token(call, true);
    call->caller = (struct caller){
        .role = role, .scopes = known->scopes, .token = known->number, .ends_ms = ends_ms};
    memcpy(call->caller.id, id, sizeof id);
    return admit_caller(call);
}

enum problem auth_check(struct call *call)
{
    bool certified = call->request->certificate != NULL;
    if (certified && !is_bearer(call_request_header(call, "Authorization")))
        return check_certificate(call);
    enum problem problem = check_token(call);
    return problem == PROBLEM_NONE && certified ? check_agreement(call) : problem;
}

enum problem auth_known(struct call *call, const char *id)
{
    struct client_row client;
    enum db_status status = clients_find(call->db, id, &client);
    if (status != DB_OK && status != DB_NONE)
        return call_db(call, status);
    if (status == DB_NONE || client.revoked_ms != 0 || role_find(client.role) == ROLE_NONE)
        return call_problem(call, PROBLEM_UNAUTHORIZED, "The client is not valid any more.");
    call->caller =
        (struct caller){.role = role_find(client.role), .scopes = SCOPE_ALL, .ends_ms = INT64_MAX};
    memcpy(call->caller.id, client.id, sizeof call->caller.id);
    return admit_caller(call);
}
