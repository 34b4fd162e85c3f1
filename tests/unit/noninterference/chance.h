/* All randomness of this program from one public key, so that neighbours meet the same coins and
 * every run is the same run. */
#ifndef TACET_TESTS_UNIT_NONINTERFERENCE_CHANCE_H
#define TACET_TESTS_UNIT_NONINTERFERENCE_CHANCE_H

#include <stdint.h>

/* From now on both libsodium's generator (identifiers, seeds) and getrandom (noise) give the stream
 * of number KEY from its beginning. */
void chance_begin(uint64_t key);

#endif
