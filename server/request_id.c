/* An id is no secret, so its digits come from a table and not from sodium_bin2hex, which takes
 * pains to run in the same time whatever the bytes are. */
#include "server/request_id.h"

#include <sodium.h>
#include <string.h>

void request_id_make(struct request_ids *ids, char *out)
{
    static const char digits[] = "0123456789abcdef";
    if (ids->left == 0) {
        randombytes_buf(ids->stock, sizeof ids->stock);
        ids->left = REQUEST_ID_STOCK;
    }
    const unsigned char *bytes = ids->stock[--ids->left];
    memcpy(out, "req_", 4);
    for (unsigned i = 0; i < REQUEST_ID_BYTES; i++) {
        out[4 + 2 * i] = digits[bytes[i] >> 4];
        out[5 + 2 * i] = digits[bytes[i] & 15];
    }
    out[REQUEST_ID_SIZE - 1] = '\0';
}
