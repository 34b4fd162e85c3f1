/* Any bytes as JSON, read by both of our readers: into a tree, and as a stream of tokens.
 *
 * They accept the same texts, but for what the tree's reader refuses beyond grammar; what was read
 * is written and read again without a change. The first byte chooses the size of reads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json_scan.h"
#include "api/json/json_text.h"
#include "api/json/utf8.h"
#include "tests/fuzz/fuzz.h"

static void check_writing(const json_t *value, bool sorted)
{
    size_t size, again_size;
    struct json_fault fault;
    json_t *back = NULL;
    char *text = json_text_write(value, sorted, &size);
    assert(text && strlen(text) == size);
    enum json_text_status status = json_text_parse(text, size, &back, &fault);
    assert(status == JSON_TEXT_GOOD);
    char *again = json_text_write(back, sorted, &again_size);
    assert(again_size == size && memcmp(text, again, size) == 0);
    json_decref(back);
    free(again);
    free(text);
}

static void check_number(double number)
{
    char text[32], *end;
    size_t size = json_text_number(number, text);
    assert(size < sizeof text && strlen(text) == size);
    assert(strtod(text, &end) == number && *end == '\0');
}

/* TEXT as a value that is skipped, and as a text that is kept. */
static bool skip_text(struct fuzz_source source)
{
    static struct json_scan scan; /* 64 KiB */
    json_scan_open(&scan, fuzz_reader(&source));
    bool good = json_scan_skip(&scan, 0);
    good = good && json_scan_peek(&scan) == 0 && json_scan_at_end(&scan);
    assert(good == !scan.fault || !json_scan_at_end(&scan));
    json_scan_close(&scan);
    return good;
}

static void check_string(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size, true), *quoted = malloc(6 * size + 3);
    size_t used = json_text_string(text, quoted, 6 * size + 3);
    assert(used >= 2);
    json_t *back = json_loadb(quoted, used, JSON_DECODE_ANY, NULL);
    assert((back != NULL) == utf8_is_valid(text, strlen(text)));
    assert(!back || strcmp(json_string_value(back), text) == 0);
    json_decref(back);
    free(quoted);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_fault fault = {"", ""};
    json_t *value = NULL;
    double number;
    size_t step = fuzz_byte(&data, &size);
    char *text = fuzz_copy(data, size, false);
    enum json_text_status status = json_text_parse(text, size, &value, &fault);
    free(text);
    bool skipped = skip_text((struct fuzz_source){data, size, 0, 0});
    assert(skipped == skip_text((struct fuzz_source){data, size, 0, 1 + step}));
    assert((status == JSON_TEXT_GOOD) == (value != NULL));
    if (status == JSON_TEXT_GOOD) {
        assert(skipped || size > JSON_SCAN_TOKEN_MAX);
        check_writing(value, false);
        check_writing(value, true);
        json_decref(value);
    } else {
        assert(fault.detail[0] != '\0' && (fault.pointer[0] == '\0' || fault.pointer[0] == '/'));
    }
    if (size >= sizeof number) {
        memcpy(&number, data, sizeof number);
        if (isfinite(number))
            check_number(number);
    }
    check_string(data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return fuzz_mutate_json(data, size, max_size, seed, 1);
}
