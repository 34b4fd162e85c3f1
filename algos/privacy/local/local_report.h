/* Reports as bytes, short: a report of b signs is b bits; integers of other mechanisms take as many
 * bytes as their size needs. One report has one form, so what is read back is what was sent. */
#ifndef TACET_ALGOS_PRIVACY_LOCAL_LOCAL_REPORT_H
#define TACET_ALGOS_PRIVACY_LOCAL_LOCAL_REPORT_H

#include "algos/privacy/local/local_mechanism.h"

/* Room that any report of SCHEME finds. */
size_t local_report_room(const struct local_scheme *scheme);

/* Writes REPORT[report_length], as randomise made it, to OUT and gives the number of bytes: signs
 * as bits, the first in the lowest bit of the first byte, the last byte filled with 0; else each
 * integer as 2x (x >= 0) or -2x - 1 (x < 0) in base 128, lowest digit first, all bytes but the last
 * with their highest bit set (LEB128 of a zigzag). */
size_t local_report_pack(const struct local_scheme *scheme, const int64_t *report,
                         unsigned char *out);

/* The reverse. LOCAL_BAD_REPORT: not exactly report_length integers, each in its shortest form.
 * Whether they are a possible report is for the mechanism's decode to say. */
enum local_status local_report_unpack(const struct local_scheme *scheme, const unsigned char *bytes,
                                      size_t size, int64_t *report);

#endif
