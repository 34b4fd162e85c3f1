#include "tests/unit/api/export_scene.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call/app.h"
#include "api/proof/export.h"
#include "storage/signing_keys.h"

#define EXPORT_MOST ((size_t)256 << 20)
#define VARIANT     sodium_base64_VARIANT_URLSAFE_NO_PADDING

static bool keep_bytes(void *context, const char *bytes, size_t size)
{
    return buffer_add(context, bytes, size);
}

char *export_scene_take_of(struct fixture *fixture, struct db *db, size_t *out_size)
{
    struct buffer kept = {.lid = EXPORT_MOST};
    const char *why = export_write(fixture_app(fixture), db, keep_bytes, &kept);
    cr_assert_null(why, "%s", why);
    return buffer_take(&kept, out_size);
}

char *export_scene_take(struct fixture *fixture, size_t *out_size)
{
    return export_scene_take_of(fixture, fixture_db(fixture), out_size);
}

char *export_scene_sign(struct fixture *fixture, struct buffer *text, unsigned lines,
                        size_t *out_size)
{
    unsigned char digest[32], signature[crypto_sign_BYTES];
    char hex[65], said[EXPORT_SIGNED_SIZE], value[100];
    crypto_generichash(digest, 32, (unsigned char *)text->bytes, text->size, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, digest, 32);
    int size = snprintf(said, sizeof said, EXPORT_SIGNED, (long long)lines, hex);
    struct signing_pair pair[2];
    unsigned count = 0;
    cr_assert_eq(
        signing_keys_newest(fixture_db(fixture), fixture_app(fixture)->secret_key, pair, &count),
        DB_OK);
    crypto_sign_detached(signature, NULL, (unsigned char *)said, (size_t)size, pair[0].secret_key);
    sodium_bin2base64(value, sizeof value, signature, sizeof signature, VARIANT);
    (void)buffer_add_format(text,
                            "{\"end\":{\"lines\":%u,\"digest\":\"%s\",\"signature\":\"%s\"}}\n",
                            lines, hex, value);
    return buffer_take(text, out_size);
}

struct memory_file {
    const char *at;
    size_t left;
};

static long read_memory(void *context, unsigned char *buffer, size_t size)
{
    struct memory_file *file = context;
    size_t got = size < file->left ? size : file->left;
    memcpy(buffer, file->at, got);
    file->at += got;
    file->left -= got;
    return (long)got;
}

void export_scene_verify(const char *text, size_t size, const char *earlier,
                         struct verify_report *out)
{
    export_scene_verify_by(text, size, earlier, NULL, out);
}

void export_scene_verify_by(const char *text, size_t size, const char *earlier,
                            const struct proof_keys *keys, struct verify_report *out)
{
    struct verify *verify = export_verify_new();
    struct memory_file file = {text, size}, before = {earlier, earlier ? strlen(earlier) : 0};
    if (earlier) {
        export_verify(verify, (struct byte_reader){&before, read_memory}, keys, out);
        cr_assert_eq(out->fault_count, 0);
    }
    export_verify(verify, (struct byte_reader){&file, read_memory}, keys, out);
    export_verify_free(verify);
}

void export_scene_receipt(struct fixture *fixture, const char *text, const char *receipt,
                          struct verify_report *out)
{
    struct proof_keys keys = {.count = 1};
    struct certificate_facts facts;
    struct verify *verify = export_verify_new();
    struct memory_file file = {text, strlen(text)};
    memcpy(keys.key[0], fixture_app(fixture)->public_key, 32);
    const char *why = proof_receipt(receipt, strlen(receipt), &keys, &facts);
    cr_assert_null(why, "%s", why);
    export_verify_receipt(verify, &facts);
    export_verify(verify, (struct byte_reader){&file, read_memory}, &keys, out);
    export_verify_free(verify);
}

void export_scene_expect_good(struct fixture *fixture)
{
    struct verify_report report;
    size_t size;
    char *text = export_scene_take(fixture, &size);
    export_scene_verify(text, size, NULL, &report);
    cr_expect_eq(report.fault_count, 0, "line %lld, %s, entry %lld: %s", report.faults[0].line,
                 report.faults[0].where, report.faults[0].sequence, report.faults[0].what);
    free(text);
}
