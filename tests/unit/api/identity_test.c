/* Tokens of an outside issuer: which are believed, and what becomes of their callers. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/identity/identity.h"
#include "api/identity/jwks.h"
#include "tests/http/jwt_kit.h"
#include "tests/unit/api/domain.h"
#include "tests/unit/api/fixture.h"

#define ISSUER   "https://issuer.example"
#define AUDIENCE "tacet"
#define NOW_S    INT64_C(1800000000)

static struct identity *identity;
static struct jwt_key *key;

static const char *const roles[] = {"steward", "student", "agent", NULL};

static void trust(struct jwt_key *const *keys, unsigned count)
{
    const char *why;
    char *text = jwt_set(keys, count, "");
    cr_assert(identity_set_keys(identity, text, strlen(text), &why), "%s", why);
    free(text);
}

static void open_issuer(void)
{
    const struct identity_settings settings = {
        .issuer = ISSUER, .audience = AUDIENCE, .roles_claim = "roles", .role_names = roles};
    const char *why;
    identity = identity_new(&settings, &why);
    cr_assert_not_null(identity, "%s", why);
    key = jwt_key_new("ES256", "k1");
    trust(&key, 1);
}

static void close_issuer(void)
{
    jwt_key_free(key);
    identity_free(identity);
}

TestSuite(identity, .init = open_issuer, .fini = close_issuer);

/* Claims that are good at NOW_S but for MORE, which comes last; of names that are given twice a
 * token is none, so MORE names what GIVES leaves out. */
static const char *claims_of(const char *gives, const char *more)
{
    static const char *const members[][2] = {{"iss", "\"" ISSUER "\""},
                                             {"aud", "\"" AUDIENCE "\""},
                                             {"sub", "\"ada\""},
                                             {"exp", "1800000100"},
                                             {"roles", "[\"student\",\"offline_access\"]"}};
    static char out[4000];
    strcpy(out, "{\"iat\":1");
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (strstr(gives, members[i][0]))
            sprintf(out + strlen(out), ",\"%s\":%s", members[i][0], members[i][1]);
    sprintf(out + strlen(out), "%s%s}", more[0] != '\0' ? "," : "", more);
    return out;
}

#define ALL "iss aud sub exp roles"

static enum identity_status check(char *token, struct identity_caller *out)
{
    const char *why = NULL;
    struct identity_caller ignored;
    enum identity_status status =
        identity_check(identity, token, NOW_S * 1000, out ? out : &ignored, &why);
    free(token);
    return status;
}

static enum identity_status check_claims(const char *gives, const char *more)
{
    return check(jwt_sign(key, NULL, claims_of(gives, more)), NULL);
}

Test(identity, a_signed_token_names_subject_role_and_end)
{
    struct identity_caller who;
    cr_assert_eq(check(jwt_sign(key, NULL, claims_of(ALL, "")), &who), IDENTITY_GOOD);
    cr_expect_str_eq(who.subject, "ada");
    cr_expect_str_eq(who.role, "student");
    cr_expect_eq(who.ends_ms, (NOW_S + 160) * 1000);
}

Test(identity, every_algorithm_of_the_list_verifies)
{
    static const char *const names[] = {"RS256", "PS256", "ES256", "EdDSA"};
    for (size_t i = 0; i < 4; i++) {
        struct jwt_key *other = jwt_key_new(names[i], "k1");
        cr_expect_eq(check(jwt_sign(other, NULL, claims_of(ALL, "")), NULL), IDENTITY_INVALID);
        trust(&other, 1);
        cr_expect_eq(check(jwt_sign(other, NULL, claims_of(ALL, "")), NULL), IDENTITY_GOOD, "%s",
                     names[i]);
        jwt_key_free(other);
    }
}

Test(identity, forged_tokens_are_refused)
{
    const char *claims = claims_of(ALL, "");
    char *token = jwt_sign(key, NULL, claims);
    char *dot = strchr(token, '.');
    dot[5] = dot[5] == 'A' ? 'B' : 'A';
    cr_expect_eq(check(token, NULL), IDENTITY_INVALID);
    token = jwt_sign(key, NULL, claims);
    token[strlen(token) - 4] ^= 1;
    cr_expect_eq(check(token, NULL), IDENTITY_INVALID);
    static const char *const heads[] = {
        "{\"alg\":\"none\",\"kid\":\"k1\"}",   "{\"alg\":\"NONE\",\"kid\":\"k1\"}",
        "{\"alg\":\"\",\"kid\":\"k1\"}",       "{\"kid\":\"k1\"}",
        "{\"alg\":\"ES256\",\"kid\":\"k1\"}",  "{\"alg\":null,\"kid\":\"k1\"}",
        "{\"alg\":[\"ES256\"],\"kid\":\"k1\"}"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        cr_expect_eq(check(jwt_unsigned(heads[i], claims), NULL), IDENTITY_INVALID, "%s", heads[i]);
    static const char *const signed_heads[] = {
        "{\"alg\":\"ES256\"}",
        "{\"alg\":\"ES256\",\"kid\":\"k2\"}",
        "{\"alg\":\"ES256\",\"kid\":7}",
        "{\"alg\":\"RS256\",\"kid\":\"k1\"}",
        "{\"alg\":\"EdDSA\",\"kid\":\"k1\"}",
        "{\"alg\":\"ES384\",\"kid\":\"k1\"}",
        "{\"alg\":\"ES256\",\"kid\":\"k1\",\"crit\":[\"exp\"]}",
        "{\"alg\":\"ES256\",\"kid\":\"k1\",\"b64\":false}",
        "{\"alg\":\"ES256\",\"alg\":\"ES256\",\"kid\":\"k1\"}",
        "[]"};
    for (size_t i = 0; i < sizeof signed_heads / sizeof signed_heads[0]; i++)
        cr_expect_eq(check(jwt_sign(key, signed_heads[i], claims), NULL), IDENTITY_INVALID, "%s",
                     signed_heads[i]);
}

Test(identity, a_public_key_is_no_secret_of_hs256)
{
    static const char *const heads[] = {"{\"alg\":\"HS256\",\"kid\":\"k1\"}",
                                        "{\"alg\":\"RS256\",\"kid\":\"k1\"}"};
    struct jwt_key *rsa = jwt_key_new("RS256", "k1");
    trust(&rsa, 1);
    for (size_t i = 0; i < 2; i++)
        cr_expect_eq(check(jwt_sign_by_hmac(rsa, heads[i], claims_of(ALL, "")), NULL),
                     IDENTITY_INVALID);
    jwt_key_free(rsa);
}

Test(identity, claims_decide_whom_and_when_a_token_is_for)
{
    static const struct {
        const char *gives, *more;
        enum identity_status status;
    } cases[] = {
        {"iss sub exp roles", "\"aud\":[\"x\",\"" AUDIENCE "\"]", IDENTITY_GOOD},
        {"iss sub exp roles", "\"aud\":[]", IDENTITY_INVALID},
        {"iss sub exp roles", "\"aud\":\"other\"", IDENTITY_INVALID},
        {"iss sub exp roles", "\"aud\":7", IDENTITY_INVALID},
        {"iss sub exp roles", "", IDENTITY_INVALID},
        {"aud sub exp roles", "\"iss\":\"" ISSUER "/\"", IDENTITY_INVALID},
        {"aud sub exp roles", "\"iss\":[\"" ISSUER "\"]", IDENTITY_INVALID},
        {"aud sub exp roles", "", IDENTITY_INVALID},
        {"iss aud sub roles", "", IDENTITY_INVALID},
        {"iss aud sub roles", "\"exp\":\"1800000100\"", IDENTITY_INVALID},
        {"iss aud sub roles", "\"exp\":1799999940", IDENTITY_INVALID},
        {"iss aud sub roles", "\"exp\":1799999941", IDENTITY_GOOD},
        {"iss aud sub roles", "\"exp\":1e300", IDENTITY_GOOD},
        {"iss aud sub roles", "\"exp\":-1", IDENTITY_INVALID},
        {ALL, "\"nbf\":1800000060", IDENTITY_GOOD},
        {ALL, "\"nbf\":1800000061", IDENTITY_INVALID},
        {ALL, "\"nbf\":true", IDENTITY_INVALID},
        {"iss aud exp roles", "", IDENTITY_INVALID},
        {"iss aud exp roles", "\"sub\":\"\"", IDENTITY_INVALID},
        {"iss aud exp roles", "\"sub\":7", IDENTITY_INVALID},
        {"iss aud exp roles", "\"sub\":\"a\\nb\"", IDENTITY_INVALID},
        {"iss aud sub exp", "", IDENTITY_NO_ROLE},
        {"iss aud sub exp", "\"roles\":\"student\"", IDENTITY_GOOD},
        {"iss aud sub exp", "\"roles\":[\"student\",\"student\"]", IDENTITY_GOOD},
        {"iss aud sub exp", "\"roles\":[\"student\",\"steward\"]", IDENTITY_NO_ROLE},
        {"iss aud sub exp", "\"roles\":[\"admin\"]", IDENTITY_NO_ROLE},
        {"iss aud sub exp", "\"roles\":{\"student\":true}", IDENTITY_NO_ROLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(check_claims(cases[i].gives, cases[i].more), cases[i].status, "%s; %s",
                     cases[i].gives, cases[i].more);
}

Test(identity, roles_stand_on_a_path_and_may_have_other_names)
{
    static const char *const map[] = {"lab=students=student", "staff=steward"};
    const char *why;
    identity_free(identity);
    struct identity_settings settings = {.issuer = ISSUER,
                                         .audience = AUDIENCE,
                                         .roles_claim = "realm.access.roles",
                                         .role_map = map,
                                         .role_map_count = 2,
                                         .role_names = roles};
    identity = identity_new(&settings, &why);
    trust(&key, 1);
    struct identity_caller who;
    const char *rest = "iss aud sub exp";
    char *token = jwt_sign(
        key, NULL, claims_of(rest, "\"realm\":{\"access\":{\"roles\":[\"lab=students\"]}}"));
    cr_assert_eq(check(token, &who), IDENTITY_GOOD);
    cr_expect_str_eq(who.role, "student");
    cr_expect_eq(check_claims(rest, "\"realm\":{\"access\":{\"roles\":[\"student\"]}}"),
                 IDENTITY_NO_ROLE);
    cr_expect_eq(check_claims(rest, "\"realm.access.roles\":\"staff\""), IDENTITY_GOOD);
    cr_expect_eq(check_claims(rest, "\"realm\":[\"access\"]"), IDENTITY_NO_ROLE);
    static const char *const bad[] = {"staff", "=student", "staff=", "staff=admin"};
    for (size_t i = 0; i < 4; i++) {
        settings.role_map = &bad[i];
        settings.role_map_count = 1;
        cr_expect_null(identity_new(&settings, &why), "%s", bad[i]);
    }
}

Test(identity, keys_that_vanish_verify_nothing_any_more)
{
    struct jwt_key *both[] = {key, jwt_key_new("RS256", "k2")};
    trust(both, 2);
    cr_expect_eq(check_claims(ALL, ""), IDENTITY_GOOD);
    trust(both + 1, 1);
    cr_expect_eq(check_claims(ALL, ""), IDENTITY_INVALID);
    cr_expect_eq(check(jwt_sign(both[1], NULL, claims_of(ALL, "")), NULL), IDENTITY_GOOD);
    trust(both, 0);
    cr_expect_eq(check(jwt_sign(both[1], NULL, claims_of(ALL, "")), NULL), IDENTITY_INVALID);
    jwt_key_free(both[1]);
}

Test(identity, a_broken_set_leaves_the_keys_as_they_were)
{
    static const char *const broken[] = {"", "{", "[]", "{\"keys\":{}}", "{\"keys\":1}"};
    const char *why;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        cr_expect(!identity_set_keys(identity, broken[i], strlen(broken[i]), &why), "%s",
                  broken[i]);
    char *large = calloc(1, JWKS_BYTES_MOST + 100);
    memset(large, ' ', JWKS_BYTES_MOST + 1);
    memcpy(large, "{\"keys\":[]}", 11);
    cr_expect(!identity_set_keys(identity, large, strlen(large), &why));
    free(large);
    cr_expect_eq(check_claims(ALL, ""), IDENTITY_GOOD);
}

Test(identity, unfit_keys_are_left_out)
{
    static const char *const unfit[] = {
        "{}",
        "7",
        "{\"kty\":\"oct\",\"kid\":\"s\",\"k\":\"AAAA\"}",
        "{\"kty\":\"RSA\",\"kid\":\"s\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
        "{\"kty\":\"EC\",\"kid\":\"s\",\"crv\":\"P-384\",\"x\":\"AA\",\"y\":\"AA\"}",
        "{\"kty\":\"EC\",\"kid\":\"s\",\"crv\":\"P-256\","
        "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
        "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
        "{\"kty\":\"OKP\",\"kid\":\"s\",\"crv\":\"Ed25519\",\"x\":\"AA=\"}"};
    for (size_t i = 0; i < sizeof unfit / sizeof unfit[0]; i++) {
        const char *why, *text = domain_path("{\"keys\":[%s]}", unfit[i]);
        struct jwks *keys = jwks_read(text, strlen(text), &why);
        cr_assert_not_null(keys, "%s", unfit[i]);
        cr_expect_not(jwks_knows(keys, "s") || jwks_knows(keys, ""), "%s", unfit[i]);
        jwks_free(keys);
    }
    static const char *const mores[] = {"\"use\":\"enc\",", "\"alg\":\"ES384\","};
    for (size_t i = 0; i < 2; i++) {
        const char *why;
        char *text = jwt_set(&key, 1, mores[i]);
        cr_assert(identity_set_keys(identity, text, strlen(text), &why));
        cr_expect_eq(check_claims(ALL, ""), IDENTITY_INVALID, "%s", mores[i]);
        free(text);
    }
    char *text = jwt_set(&key, 1, "\"use\":\"sig\",\"alg\":\"ES256\",");
    const char *why;
    cr_assert(identity_set_keys(identity, text, strlen(text), &why));
    cr_expect_eq(check_claims(ALL, ""), IDENTITY_GOOD);
    free(text);
}

/* ---- callers */

static void with_issuer(struct api_settings *settings)
{
    settings->identity = identity;
}

static struct response *ask_by(struct fixture *f, char *token, const char *path, const char *body)
{
    char *header = malloc(strlen(token) + 8);
    sprintf(header, "Bearer %s", token);
    struct ask ask = {
        .path = path, .body = body, .headers = {{"Authorization", header}}, .unbatched = true};
    struct response *r = fixture_ask(f, &ask);
    free(header);
    free(token);
    return r;
}

static char *token_of(const char *subject, const char *role)
{
    const char *more =
        domain_path("\"sub\":\"%s\",\"roles\":\"%s\",\"exp\":4000000000", subject, role);
    return jwt_sign(key, NULL, claims_of("iss aud", more));
}

Test(identity, a_first_call_makes_a_client_that_stays)
{
    struct fixture *f = fixture_open_with(with_issuer);
    struct response *first = ask_by(f, token_of("ada", "steward"), "/v1/clients/me", NULL);
    expect_status(first, 200);
    cr_expect_str_eq(response_text(first, "/role"), "steward");
    cr_expect_str_eq(response_text(first, "/name"), "ada (" ISSUER ")");
    cr_expect(json_is_null(response_at(first, "/credential/number")));
    cr_expect_str_eq(response_text(first, "/credential/expires_at"), "2096-10-02T07:07:40.000Z");
    const char *id = response_text(first, "/id");
    struct response *again = ask_by(f, token_of("ada", "steward"), "/v1/clients/me", NULL);
    cr_expect_str_eq(response_text(again, "/id"), id);
    struct response *other = ask_by(f, token_of("bob", "steward"), "/v1/clients/me", NULL);
    cr_expect_str_neq(response_text(other, "/id"), id);
    struct response *list = fixture_get(f, "admin", "/v1/clients");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 3);
    expect_status(fixture_get(f, "student", "/v1/environments"), 200); /* own tokens beside it */

    /* It gets no lasting token by itself. */
    expect_problem(ask_by(f, token_of("ada", "steward"), "/v1/clients/me:rotate", "{}"),
                   "forbidden");
    struct response *given =
        fixture_post(f, "admin", domain_path("/v1/clients/%s:rotate", id), "{}");
    expect_status(given, 201);
    cr_expect_eq(json_array_size(response_at(given, "/credential/scopes")), 3);
    fixture_close(f);
}

Test(identity, a_role_that_changes_is_refused_and_a_revoked_client_stays_revoked)
{
    struct fixture *f = fixture_open_with(with_issuer);
    struct response *first = ask_by(f, token_of("ada", "student"), "/v1/clients/me", NULL);
    expect_status(first, 200);
    expect_problem(ask_by(f, token_of("ada", "steward"), "/v1/clients/me", NULL), "forbidden");
    expect_problem(ask_by(f, token_of("eve", "admin"), "/v1/clients/me", NULL), "forbidden");
    expect_problem(ask_by(f, token_of("ada", "student"), "/v1/datasets", NULL), "forbidden");
    const char *path = domain_path("/v1/clients/%s", response_text(first, "/id"));
    expect_status(fixture_delete(f, "admin", path), 204);
    struct response *late = ask_by(f, token_of("ada", "student"), "/v1/clients/me", NULL);
    expect_problem(late, "unauthorized");
    cr_expect(strstr(response_header(late, "WWW-Authenticate"), "invalid_token") != NULL);
    struct response *list = fixture_get(f, "admin", "/v1/clients");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 2);
    fixture_close(f);
}

Test(identity, what_is_no_good_token_makes_no_client)
{
    struct fixture *f = fixture_open_with(with_issuer);
    struct jwt_key *stranger = jwt_key_new("ES256", "k1");
    char *huge = calloc(1, 1048577);
    memset(huge, 'a', 1048576);
    huge[100] = huge[200] = '.';
    char *bad[] = {huge,
                   jwt_sign(stranger, NULL, claims_of("iss aud sub roles", "\"exp\":4000000000")),
                   jwt_sign(key, NULL, claims_of("iss aud sub roles", "\"exp\":1000000000")),
                   strdup("a.b.c"),
                   strdup(".."),
                   strdup("a.b"),
                   strdup("a.b.c.d"),
                   strdup("e30.e30.e30")};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_problem(ask_by(f, bad[i], "/v1/clients/me", NULL), "unauthorized");
    struct response *list = fixture_get(f, "admin", "/v1/clients");
    cr_expect_eq(json_array_size(response_at(list, "/items")), 1);
    jwt_key_free(stranger);
    fixture_close(f);
}

Test(identity, without_an_issuer_no_outside_token_is_good)
{
    struct fixture *f = fixture_open();
    expect_problem(ask_by(f, token_of("ada", "steward"), "/v1/clients/me", NULL), "unauthorized");
    fixture_close(f);
}
