/* Any bytes as an export; those before a zero byte are an earlier one. Whatever they are, there is
 * a report, and nobody can sign for a key that is not its own. */
#include <stdlib.h>
#include <string.h>

#include "api/proof/verify.h"
#include "tests/fuzz/fuzz.h"

struct piece {
    const uint8_t *at;
    size_t left;
};

static long read_piece(void *context, unsigned char *buffer, size_t size)
{
    struct piece *piece = context;
    size_t got = size < piece->left ? size : piece->left;
    memcpy(buffer, piece->at, got);
    piece->at += got;
    piece->left -= got;
    return (long)got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct proof_keys keys = {.count = 1};
    struct verify *verify = export_verify_new();
    struct verify_report report;
    const uint8_t *second = size > 0 ? memchr(data, 0, size) : NULL;
    size_t first = second ? (size_t)(second - data) : 0;
    struct piece earlier = {data, first}, later = {data + first + (second ? 1 : 0), 0};
    later.left = size - (size_t)(later.at - data);
    if (second)
        export_verify(verify, (struct byte_reader){&earlier, read_piece}, NULL, &report);
    export_verify(verify, (struct byte_reader){&later, read_piece}, &keys, &report);
    if (report.fault_count == 0)
        abort();
    export_verify_free(verify);
    return 0;
}
