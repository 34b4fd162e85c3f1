/* Certificates and policies that somebody has edited, at random, are found off-line; so is an
 * export that is older than one which was seen before. TACET_EDITS=N tries N of each kind. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/proof/certificate_check.h"
#include "memory/memory.h"
#include "tests/unit/api/export_scene.h"
#include "tests/unit/api/service.h"

#define STATE    "[0.01,-0.02,0.03,0.04]"
#define TRIES    60
#define POLICIES 3
#define EXPORTS  8

static const char *const formats[] = {"json", "safetensors", "onnx"};
#define FORMATS (sizeof formats / sizeof *formats)

struct file {
    char *bytes;
    size_t size;
};

static struct file certificate[POLICIES], weights[POLICIES][FORMATS];
static struct proof_keys keys;
static const char *policy[POLICIES];

static struct file take_file(const struct response *r)
{
    expect_status(r, 200);
    struct file file = {malloc(r->size), r->size};
    cr_assert_not_null(file.bytes);
    memcpy(file.bytes, r->body, r->size);
    return file;
}

static void open_policies(void)
{
    f = fixture_open();
    const char *dataset = domain_sealed(f, "private", 10);
    for (int p = 0; p < POLICIES; p++) {
        policy[p] = response_text(domain_run(f, domain_private_job(dataset, 3, 20)), "/policy");
        certificate[p] = take_file(
            fixture_get(f, "auditor", domain_path("/v1/policies/%s/certificate", policy[p])));
        for (size_t i = 0; i < FORMATS; i++)
            weights[p][i] = take_file(fixture_get(
                f, "steward",
                domain_path("/v1/policies/%s/weights?format=%s", policy[p], formats[i])));
    }
    struct response *known = fixture_get(f, NULL, "/.well-known/jwks.json");
    cr_assert_null(proof_keys_read(known->body, known->size, &keys));
}

static void close_policies(void)
{
    for (int p = 0; p < POLICIES; p++) {
        free(certificate[p].bytes);
        for (size_t i = 0; i < FORMATS; i++)
            free(weights[p][i].bytes);
    }
    fixture_close(f);
}

TestSuite(certificate_edits, .init = open_policies, .fini = close_policies);

static unsigned tries(void)
{
    const char *wish = getenv("TACET_EDITS");
    return wish ? (unsigned)strtoul(wish, NULL, 10) : TRIES;
}

static uint64_t random_state = 1;

static size_t random_below(size_t most)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (size_t)((random_state >> 33) % most);
}

static struct certificate_facts facts_of(int p)
{
    struct certificate_facts facts;
    const char *why = proof_certificate(certificate[p].bytes, certificate[p].size, &keys, &facts);
    cr_assert_null(why, "%s", why);
    return facts;
}

static void flip_bit(struct file file, size_t at, unsigned bit)
{
    file.bytes[at] = (char)(file.bytes[at] ^ (1 << bit));
}

static void say_found(const char *kind, unsigned found)
{
    fprintf(stderr, "%s: %u of %u found\n", kind, found, tries());
    cr_expect_eq(found, tries());
}

/* The signature is over values. A last digit beyond what a double holds changes none, and the text
 * is then not as it was signed. */
Test(certificate_edits, a_bit_of_a_certificate, .timeout = 36000)
{
    unsigned found = 0;
    for (unsigned i = 0; i < tries(); i++) {
        struct certificate_facts facts;
        struct file file = certificate[random_below(POLICIES)];
        size_t at = random_below(file.size);
        unsigned bit = (unsigned)random_below(8);
        flip_bit(file, at, bit);
        const char *why = proof_certificate(file.bytes, file.size, &keys, &facts);
        bool seen = why || !facts.canonical;
        found += seen;
        cr_expect(seen, "bit %u of byte %zu of %zu", bit, at, file.size);
        flip_bit(file, at, bit);
    }
    say_found("a bit of a certificate changed", found);
}

Test(certificate_edits, a_part_of_another_certificate, .timeout = 36000)
{
    unsigned found = 0;
    for (unsigned i = 0; i < tries(); i++) {
        struct certificate_facts facts;
        int own = (int)random_below(POLICIES), other = (own + 1 + (int)random_below(2)) % POLICIES;
        size_t least = certificate[own].size < certificate[other].size ? certificate[own].size
                                                                       : certificate[other].size;
        size_t at = random_below(least), size = 1 + random_below(least - at);
        char *forged = memory_copy(certificate[own].bytes, certificate[own].size);
        memcpy(forged + at, certificate[other].bytes + at, size);
        bool same = memcmp(forged, certificate[own].bytes, certificate[own].size) == 0 ||
                    (certificate[own].size == certificate[other].size &&
                     memcmp(forged, certificate[other].bytes, certificate[own].size) == 0);
        const char *why = proof_certificate(forged, certificate[own].size, &keys, &facts);
        found += same || why;
        cr_expect(same || why, "%zu bytes from %zu", size, at);
        free(forged);
    }
    say_found("a part of another certificate put in", found);
}

/* Each file carries its certificate. */
Test(certificate_edits, a_bit_of_a_policy, .timeout = 36000)
{
    struct certificate_facts facts;
    bool carried;
    unsigned found = 0;
    for (int p = 0; p < POLICIES; p++) {
        for (size_t i = 0; i < FORMATS; i++) {
            cr_assert_null(proof_certificate_or_policy(weights[p][i].bytes, weights[p][i].size,
                                                       &keys, &facts, &carried, NULL));
            cr_expect(carried);
        }
    }
    for (unsigned i = 0; i < tries(); i++) {
        int p = (int)random_below(POLICIES);
        struct file file = weights[p][random_below(FORMATS)];
        size_t at = random_below(file.size);
        unsigned bit = (unsigned)random_below(8);
        flip_bit(file, at, bit);
        bool seen =
            proof_certificate_or_policy(file.bytes, file.size, &keys, &facts, &carried, NULL) ||
            !facts.canonical;
        facts = facts_of(p);
        seen = seen && proof_weights(&facts, &keys, file.bytes, file.size);
        found += seen;
        cr_expect(seen, "bit %u of byte %zu of %zu", bit, at, file.size);
        flip_bit(file, at, bit);
    }
    say_found("a bit of a policy changed", found);
}

Test(certificate_edits, another_policy_under_a_genuine_certificate)
{
    for (int p = 0; p < POLICIES; p++) {
        struct certificate_facts facts = facts_of(p);
        for (int other = 0; other < POLICIES; other++)
            for (size_t i = 0; i < FORMATS; i++)
                cr_expect_eq(
                    !proof_weights(&facts, &keys, weights[other][i].bytes, weights[other][i].size),
                    other == p, "%s of policy %d under certificate %d", formats[i], other, p);
    }
}

/* It binds the policy's network, whose file carries the policy's own certificate. */
Test(certificate_edits, another_policy_under_the_certificate_of_a_teacher)
{
    struct certificate_facts facts;
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy[0], 8, 4));
    expect_status(made, 201);
    made = fixture_get(f, "auditor",
                       domain_path("/v1/teachers/%s/certificate", response_text(made, "/id")));
    cr_assert_null(proof_certificate(made->body, made->size, &keys, &facts));
    for (int p = 0; p < POLICIES; p++) {
        struct file file = weights[p][0];
        cr_expect_eq(!proof_weights(&facts, &keys, file.bytes, file.size), p == 0);
        *strstr(file.bytes, "\"issued_at\":\"2") = '_';
        cr_expect_not_null(proof_weights(&facts, &keys, file.bytes, file.size));
    }
}

/* A copy of the database that was rolled back gives an export as it was given before. */
Test(certificate_edits, an_export_older_than_one_seen_before, .timeout = 36000)
{
    struct file export[EXPORTS];
    struct verify_report report;
    unsigned found = 0;
    struct response *made =
        fixture_post(f, "steward", "/v1/teachers", domain_teacher(policy[0], 1000, 900));
    expect_status(made, 201);
    for (int i = 0; i < EXPORTS; i++) {
        struct response *r = fixture_post(
            f, "student", domain_path("/v1/teachers/%s/queries", response_text(made, "/id")),
            "{\"states\":[" STATE "]}");
        expect_status(r, 200);
        export[i].bytes = export_scene_take(f, &export[i].size);
    }
    for (unsigned i = 0; i < tries(); i++) {
        size_t seen = 1 + random_below(EXPORTS - 1), shown = random_below(seen);
        export_scene_verify(export[shown].bytes, export[shown].size, export[seen].bytes, &report);
        found += report.fault_count > 0;
    }
    say_found("an export rolled back", found);
    for (int i = 0; i < EXPORTS; i++)
        free(export[i].bytes);
}

Test(certificate_weights, of_a_teacher_bind_a_network_and_no_file)
{
    const struct certificate_facts teacher = {.weights_sha256 = "ab"}, shards = {.entries = 0};
    const struct proof_keys none = {.count = 0};
    cr_expect_not_null(
        strstr(proof_weights(&teacher, &none, "{}", 2), "has to carry the policy's own"));
    cr_expect_str_eq(proof_weights(&shards, &none, "{}", 2), "the certificate binds no weights");
}
