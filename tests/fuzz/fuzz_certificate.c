/* Any bytes as what tacet verify reads beside an export: the first byte chooses between a set of
 * keys, a certificate, a receipt, and a download that carries its certificate. Behind a zero byte
 * stands the file that a certificate is said to bind. The kept inputs are signed by the key of the
 * unit tests, which is trusted here. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/proof/certificate_check.h"
#include "memory/buffer.h"
#include "tests/fuzz/fuzz.h"

static struct proof_keys trusted;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char key[] = "6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw";
    size_t got = 0;
    (void)argc;
    (void)argv;
    if (sodium_base642bin(trusted.key[0], 32, key, sizeof key - 1, NULL, &got, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        got != 32)
        abort();
    trusted.count = 1;
    return 0;
}

static void read_keys(const char *text, size_t size)
{
    struct proof_keys keys = {.count = 0};
    if (!proof_keys_read(text, size, &keys))
        assert(keys.count > 0 && keys.count <= SIGNING_KEYS_MOST);
    keys = trusted;
    (void)proof_keys_follow(text, size, &keys);
    assert(keys.count > 0 && keys.count <= SIGNING_KEYS_MOST);
}

static const char *read_certificate(unsigned how, const char *text, size_t size,
                                    struct certificate_facts *out)
{
    struct buffer says = {.lid = 1U << 20};
    bool carried;
    if (how == 1)
        return proof_certificate(text, size, &trusted, out);
    if (how == 2)
        return proof_receipt(text, size, &trusted, out);
    const char *why = proof_certificate_or_policy(text, size, &trusted, out, &carried, &says);
    buffer_clear(&says);
    return why;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct certificate_facts facts = {.id = ""};
    unsigned how = fuzz_byte(&data, &size) % 4U;
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    size_t first = end ? (size_t)(end - data) : size;
    char *text = fuzz_copy(data, first, true);
    if (how == 0) {
        read_keys(text, first);
    } else if (!read_certificate(how, text, first, &facts)) {
        assert(facts.id[0] != '\0' || (facts.receipt && how != 1));
        if (end) {
            size_t left = size - first - 1;
            char *file = fuzz_copy(end + 1, left, true);
            (void)proof_weights(&facts, &trusted, file, left);
            free(file);
        }
    }
    free(text);
    return 0;
}
