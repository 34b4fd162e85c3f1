/* What certificates are bound to: every download has the certified digests and another policy's has
 * not, secret contents are committed to under keys of their own, and the ledger's head is the one
 * that holds the price. Digests are computed here from the files alone, with readers of their own.
 */
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/call/commitment.h"
#include "api/call/sealed.h"
#include "api/data/private_data.h"
#include "api/wire/certified_file.h"
#include "storage/datasets.h"
#include "storage/q_releases.h"
#include "tests/unit/api/service.h"

TestSuite(certificate_binds, .init = service_open, .fini = service_close);

static const char *hex(const unsigned char digest[32])
{
    char text[65];
    return domain_path("%s", sodium_bin2hex(text, sizeof text, digest, 32));
}

static const char *sha256(const void *bytes, size_t size)
{
    unsigned char digest[32];
    crypto_hash_sha256(digest, bytes, size);
    return hex(digest);
}

static struct response *certificate_of(const char *kind, const char *id)
{
    struct response *r = fixture_get(f, "auditor", domain_path("/v1/%s/%s/certificate", kind, id));
    expect_status(r, 200);
    cr_assert(certificate_check(r->body, fixture_app(f)->public_key));
    return r;
}

/* Without the certificate inside. */
static struct response *download(const char *policy, const char *format)
{
    struct response *r = fixture_get(
        f, "steward",
        domain_path("/v1/policies/%s/weights?certificate=none&format=%s", policy, format));
    expect_status(r, 200);
    return r;
}

/* ---- the digest of weights, from each kind of file */

struct numbers {
    float at[20000];
    size_t count;
};

static void add_number(struct numbers *numbers, float number)
{
    cr_assert(numbers->count < sizeof numbers->at / sizeof *numbers->at);
    numbers->at[numbers->count++] = number == 0 ? 0 : number; /* a zero has no sign */
}

static void add_json(struct numbers *numbers, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (json_is_array(one))
            add_json(numbers, one);
        else
            add_number(numbers, (float)json_number_value(one));
    }
}

static void add_raw(struct numbers *numbers, const void *bytes, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i += 4) {
        float number;
        memcpy(&number, (const char *)bytes + i, 4);
        add_number(numbers, number);
    }
}

static uint64_t onnx_varint(const unsigned char **at)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

/* Adds the raw data of ONNX's tensors: field 9 of field 5 of field 7. */
static void add_onnx(struct numbers *numbers, const unsigned char *at, size_t size, int depth)
{
    static const unsigned wanted[] = {7, 5, 9};
    const unsigned char *end = at + size;
    while (at < end) {
        uint64_t tag = onnx_varint(&at), length = onnx_varint(&at);
        if ((tag & 7) == 0)
            continue; /* LENGTH was its value */
        if (tag >> 3 == wanted[depth] && depth == 2)
            add_raw(numbers, at, length);
        else if (tag >> 3 == wanted[depth])
            add_onnx(numbers, at, length, depth + 1);
        at += length;
    }
}

static const char *weights_digest(const char *line, const struct numbers *numbers)
{
    size_t length = strlen(line), size = numbers->count * sizeof(float);
    char *bytes = malloc(length + size);
    memcpy(bytes, line, length);
    memcpy(bytes + length, numbers->at, size);
    const char *digest = sha256(bytes, length + size);
    free(bytes);
    return digest;
}

/* The digests of a policy's downloads, by the definition; LINE is what they say besides numbers. */
static void digests_of(const char *policy, const char *line, const char *out[3])
{
    static struct numbers numbers[3];
    memset(numbers, 0, sizeof numbers);
    for (int i = 0; i < 3; i++)
        add_number(&numbers[i], 0); /* no threshold */
    struct response *json = download(policy, "json"), *tensors = download(policy, "safetensors"),
                    *onnx = download(policy, "onnx");
    const json_t *layers = response_at(json, "/layers");
    for (size_t l = 0; l < json_array_size(layers); l++) {
        add_json(&numbers[0], json_object_get(json_array_get(layers, l), "weight"));
        add_json(&numbers[0], json_object_get(json_array_get(layers, l), "bias"));
    }
    uint64_t header;
    memcpy(&header, tensors->body, sizeof header);
    add_raw(&numbers[1], tensors->body + 8 + header, tensors->size - 8 - header);
    add_onnx(&numbers[2], (const unsigned char *)onnx->body, onnx->size, 0);
    for (int i = 0; i < 3; i++)
        out[i] = weights_digest(line, &numbers[i]);
}

Test(certificate_binds, every_download_has_the_certified_digests)
{
    static const char *const formats[] = {"json", "safetensors", "onnx"};
    const char *dataset = domain_sealed(f, "private", 10), *policy[2], *digest[3];
    for (int i = 0; i < 2; i++)
        policy[i] = response_text(domain_run(f, domain_private_job(dataset, 3, 20)), "/policy");
    struct response *certificate = certificate_of("policies", policy[0]);
    struct response *json = download(policy[0], "json");
    char line[160];
    int size = snprintf(line, sizeof line, "%s %s 4", response_text(json, "/activation"),
                        response_text(json, "/output"));
    for (size_t l = 0; l < json_array_size(response_at(json, "/layers")); l++)
        size += snprintf(line + size, sizeof line - (size_t)size, " %zu",
                         json_array_size(response_at(json, domain_path("/layers/%zu/bias", l))));
    snprintf(line + size, sizeof line - (size_t)size, "\n");
    for (int other = 0; other < 2; other++) {
        digests_of(policy[other], line, digest);
        for (int i = 0; i < 3; i++) {
            struct response *file = download(policy[other], formats[i]);
            const char *said =
                response_text(certificate, domain_path("/binds/files/%s", formats[i]));
            cr_expect_eq(strcmp(said, sha256(file->body, file->size)) == 0, !other, "%s",
                         formats[i]);
            said = response_text(certificate, "/binds/weights_sha256");
            cr_expect_eq(strcmp(said, digest[i]) == 0, !other, "%s: %s", formats[i], line);
        }
    }
}

Test(certificate_binds, a_download_carries_the_certificate_and_is_the_same_file_without_it)
{
    static const char *const formats[] = {"json", "safetensors", "onnx"};
    const char *dataset = domain_sealed(f, "private", 10);
    const char *policy =
        response_text(domain_run(f, domain_private_job(dataset, 3, 20)), "/policy");
    struct response *certificate = certificate_of("policies", policy);
    for (int i = 0; i < 3; i++) {
        struct response *bare = download(policy, formats[i]);
        struct response *whole = fixture_get(
            f, "steward", domain_path("/v1/policies/%s/weights?format=%s", policy, formats[i]));
        struct certified_file cut;
        expect_status(whole, 200);
        cr_expect_not(certified_file_cut(bare->body, bare->size, &cut));
        cr_assert(certified_file_cut(whole->body, whole->size, &cut), "%s", formats[i]);
        cr_expect_eq(cut.certificate_size, certificate->size);
        cr_expect_str_eq(cut.certificate, certificate->body);
        cr_assert_eq(cut.file_size, bare->size, "%s", formats[i]);
        cr_expect_arr_eq(cut.file, bare->body, bare->size);
        free(cut.file);
        free(cut.certificate);
        for (size_t size = 0; size < whole->size; size += 1 + size / 50) { /* cut off */
            if (certified_file_cut(whole->body, size, &cut)) {
                cr_expect(cut.file_size != bare->size ||
                          memcmp(cut.file, bare->body, bare->size) != 0 ||
                          cut.certificate_size != certificate->size);
                free(cut.file);
                free(cut.certificate);
            }
        }
    }
    expect_problem(
        fixture_get(f, "steward", domain_path("/v1/policies/%s/weights?certificate=x", policy)),
        "validation");
}

/* What somebody downloaded may be imported as it is. */
Test(certificate_binds, a_download_in_json_can_be_imported)
{
    const char *dataset = domain_sealed(f, "private", 10);
    const char *policy =
        response_text(domain_run(f, domain_private_job(dataset, 3, 20)), "/policy");
    struct response *whole =
        fixture_get(f, "steward", domain_path("/v1/policies/%s/weights", policy));
    cr_assert_not_null(strstr(whole->body, "\"certificate\":{"));
    size_t size = whole->size + 100;
    char *body = malloc(size);
    snprintf(body, size, "{\"name\":\"again\",\"environment\":\"cartpole\",\"network\":%s}",
             whole->body);
    struct response *made = fixture_post(f, "steward", "/v1/policies", body);
    expect_status(made, 201);
    free(body);
    struct response *again = fixture_get(
        f, "steward", domain_path("/v1/policies/%s/weights", response_text(made, "/id")));
    cr_expect_null(strstr(again->body, "certificate"));
    cr_expect(strncmp(again->body, whole->body, again->size - 1) == 0);
}

/* ---- commitments */

/* The commitment by its definition: HMAC-SHA-256 of the contents' SHA-256. */
static const char *committed(const struct response *certificate, const char *what,
                             const unsigned char digest[32])
{
    unsigned char key[32], code[32];
    char text[200];
    const struct app *app = fixture_app(f);
    int size = snprintf(text, sizeof text, "tacet: commitments of certificates, 1%c%s%c%s", 0,
                        response_text(certificate, "/id"), 0, what);
    crypto_generichash(key, 32, (unsigned char *)text, (size_t)size + 1, app->secret_key, 32);
    crypto_auth_hmacsha256(code, digest, 32, key);
    return hex(code);
}

static void piece(crypto_hash_sha256_state *state, const void *bytes, uint64_t size)
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(size >> 8 * i);
    crypto_hash_sha256_update(state, length, 8);
    crypto_hash_sha256_update(state, bytes, size);
}

static bool expert_pieces(void *state, const struct expert_row *expert)
{
    piece(state, expert->owner, strlen(expert->owner));
    piece(state, expert->name, strlen(expert->name));
    return true;
}

static bool chunk_pieces(void *state, const struct upload_chunk *chunk)
{
    piece(state, chunk->experts, 4 * chunk->expert_count);
    piece(state, chunk->bytes, chunk->size);
    return true;
}

static void contents_of(const char *dataset, unsigned char digest[32])
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    cr_assert_eq(datasets_experts(fixture_db(f), dataset, 0, 1000, expert_pieces, &state), DB_OK);
    cr_assert_eq(private_read(fixture_app(f), fixture_db(f), dataset, chunk_pieces, &state), DB_OK);
    crypto_hash_sha256_final(&state, digest); /* no expert has a network */
}

/* The same contents give other commitments in other certificates, and never their plain hash. */
Test(certificate_binds, a_dataset_is_committed_to_and_not_hashed)
{
    unsigned char contents[2][32];
    const char *dataset[2], *said[3];
    struct response *certificate[3];
    for (int i = 0; i < 3; i++) {
        if (i < 2) {
            dataset[i] = domain_sealed(f, "private", 10 + (unsigned)i);
            contents_of(dataset[i], contents[i]);
        }
        struct response *job = domain_run(f, domain_private_job(dataset[i % 2], 2, 5));
        certificate[i] = certificate_of("policies", response_text(job, "/policy"));
        said[i] = response_text(certificate[i], "/binds/dataset_commitment");
        cr_expect_str_eq(said[i], committed(certificate[i], "dataset", contents[i % 2]));
        cr_expect_str_neq(said[i], committed(certificate[i], "dataset", contents[(i + 1) % 2]));
        cr_expect(strstr(certificate[i]->body, hex(contents[i % 2])) == NULL);
    }
    cr_expect_str_neq(said[0], said[2]);
}

Test(certificate_binds, the_ledger_s_head_holds_the_price)
{
    const char *dataset = domain_sealed(f, "private", 10);
    struct response *job = domain_run(f, domain_private_job(dataset, 2, 5));
    struct response *certificate = certificate_of("policies", response_text(job, "/policy"));
    struct response *entries =
        fixture_get(f, "steward",
                    domain_path("/v1/ledger/accounts/%s/entries",
                                response_text(certificate, "/ledger/account")));
    expect_status(entries, 200);
    size_t count = (size_t)response_number(certificate, "/ledger/entries");
    cr_assert(count >= 2);
    const char *at = domain_path("/items/%zu", count - 1);
    cr_expect_str_eq(response_text(entries, domain_path("%s/hash", at)),
                     response_text(certificate, "/ledger/head"));
    cr_expect_str_eq(response_text(entries, domain_path("%s/kind", at)), "hold");
    cr_expect_str_eq(response_text(entries, domain_path("%s/resource", at)),
                     response_text(certificate, "/ledger/hold"));
}

/* ---- Q-releases and teachers */

Test(certificate_binds, a_q_release_has_its_terms_its_function_and_its_weights)
{
    struct response *job = domain_run(
        f, domain_path("{\"algorithm\":\"gp_q_learning\",\"dataset\":\"%s\",\"privacy\":{"
                       "\"epsilon\":1,\"delta\":1e-5},\"parameters\":{\"shards\":1000,\"steps\":2,"
                       "\"hidden\":[4],\"features\":8,\"base\":\"bcq\",\"form\":\"features\"}}",
                       domain_sealed(f, "private", 6)));
    const char *release = response_text(job, "/q_release");
    struct response *certificate = certificate_of("q-releases", release);
    struct response *weights = fixture_get(
        f, "student", domain_path("/v1/q-releases/%s/weights?certificate=none", release));
    struct response *shown = fixture_get(f, "student", domain_path("/v1/q-releases/%s", release));
    cr_expect_str_eq(response_text(certificate, "/binds/files/json"),
                     sha256(weights->body, weights->size));
    const char *name;
    json_t *term;
    json_object_foreach((json_t *)response_at(certificate, "/plan/release"), name, term)
        cr_expect(json_equal(term, response_at(shown, domain_path("/%s", name))), "%s", name);
    void *sealed = NULL;
    size_t size = 0, length = 0;
    unsigned char digest[32];
    cr_assert_eq(q_releases_sealed(fixture_db(f), release, &sealed, &size), DB_OK);
    unsigned char *secret = sealed_open(fixture_app(f), "", release, sealed, size, &length);
    cr_assert(secret);
    crypto_hash_sha256(digest, secret, length);
    sodium_free(secret);
    free(sealed);
    cr_expect_str_eq(response_text(certificate, "/binds/function_commitment"),
                     committed(certificate, "function", digest));
}

static void unhex(const char *text, unsigned char out[32])
{
    size_t size = 0;
    cr_assert_eq(sodium_hex2bin(out, 32, text, strlen(text), NULL, &size, NULL), 0);
    cr_assert_eq(size, 32);
}

/* A teacher is bound to its policy: openly where the policy is released, else by a commitment. */
Test(certificate_binds, a_teacher_is_bound_to_its_policy)
{
    struct response *job =
        domain_run(f, domain_private_job(domain_sealed(f, "private", 10), 3, 20));
    const char *policy[] = {response_text(job, "/policy"), domain_policy(f)};
    unsigned char digest[32];
    for (int i = 0; i < 2; i++) {
        struct response *teacher =
            fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy[i], 1000, 900));
        expect_status(teacher, 201);
        struct response *certificate = certificate_of("teachers", response_text(teacher, "/id"));
        const json_t *weights = response_at(certificate, "/binds/weights_sha256");
        cr_expect_eq(json_is_string(weights), i == 0);
        if (i == 0) {
            const char *said =
                response_text(certificate_of("policies", policy[0]), "/binds/weights_sha256");
            cr_expect_str_eq(json_string_value(weights), said);
            unhex(said, digest);
            cr_expect_str_eq(response_text(certificate, "/binds/policy_commitment"),
                             committed(certificate, "policy", digest));
        }
        cr_expect_eq(strlen(response_text(certificate, "/binds/policy_commitment")), 64);
        cr_expect_eq(response_number(certificate, "/ledger/entries"), 1);
        cr_expect_eq(strlen(response_text(certificate, "/ledger/head")), 64);
    }
}
