/* Bits and variable-length integers. */
#include "algos/privacy/local/local_report.h"

#include <assert.h>
#include <string.h>

#define INTEGER_BYTES 10 /* 64 bits, seven at a time */

static bool is_signs(const struct local_scheme *scheme)
{
    return scheme->mechanism == &local_projected_sign;
}

static size_t sign_bytes(const struct local_scheme *scheme)
{
    return (scheme->report_length + 7) / 8;
}

size_t local_report_room(const struct local_scheme *scheme)
{
    return is_signs(scheme) ? sign_bytes(scheme) : INTEGER_BYTES * scheme->report_length;
}

static size_t pack_integer(int64_t x, unsigned char *out)
{
    uint64_t rest = (uint64_t)x << 1 ^ (x < 0 ? UINT64_MAX : 0);
    size_t size = 0;
    for (; rest >= 128; rest >>= 7)
        out[size++] = (unsigned char)(rest | 128);
    out[size++] = (unsigned char)rest;
    return size;
}

size_t local_report_pack(const struct local_scheme *scheme, const int64_t *report,
                         unsigned char *out)
{
    size_t size = 0;
    if (!is_signs(scheme)) {
        for (size_t i = 0; i < scheme->report_length; i++)
            size += pack_integer(report[i], out + size);
        return size;
    }
    memset(out, 0, sign_bytes(scheme));
    for (size_t i = 0; i < scheme->report_length; i++) {
        assert(report[i] == 0 || report[i] == 1);
        out[i / 8] |= (unsigned char)(report[i] << i % 8);
    }
    return sign_bytes(scheme);
}

/* Bytes of the integer at AT, or 0: it does not end, is longer than need be or too large. */
static size_t unpack_integer(const unsigned char *at, size_t left, int64_t *out)
{
    uint64_t x = 0;
    for (size_t i = 0; i < left && i < INTEGER_BYTES; i++) {
        uint64_t digit = at[i] & 127;
        if (i == INTEGER_BYTES - 1 && digit > 1)
            return 0;
        x |= digit << 7 * i;
        if (at[i] & 128)
            continue;
        if (i > 0 && digit == 0)
            return 0;
        *out = (int64_t)(x >> 1 ^ (0 - (x & 1)));
        return i + 1;
    }
    return 0;
}

static enum local_status unpack_signs(const struct local_scheme *scheme, const unsigned char *bytes,
                                      size_t size, int64_t *report)
{
    size_t length = scheme->report_length;
    if (size != sign_bytes(scheme) || (length % 8 != 0 && bytes[size - 1] >> length % 8 != 0))
        return LOCAL_BAD_REPORT;
    for (size_t i = 0; i < length; i++)
        report[i] = bytes[i / 8] >> i % 8 & 1;
    return LOCAL_OK;
}

enum local_status local_report_unpack(const struct local_scheme *scheme, const unsigned char *bytes,
                                      size_t size, int64_t *report)
{
    if (is_signs(scheme))
        return unpack_signs(scheme, bytes, size, report);
    size_t at = 0;
    for (size_t i = 0; i < scheme->report_length; i++) {
        size_t used = unpack_integer(bytes + at, size - at, &report[i]);
        if (used == 0)
            return LOCAL_BAD_REPORT;
        at += used;
    }
    return at == size ? LOCAL_OK : LOCAL_BAD_REPORT;
}
