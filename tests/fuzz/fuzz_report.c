/* Any bytes as a locally private report. The first byte chooses the mechanism. What is read back
 * packs into the same bytes and stands for a finite estimate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/local/local_report.h"
#include "tests/fuzz/fuzz.h"

#define DIMENSION 21

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char seed[LOCAL_SEED_SIZE] = {1};
    const struct local_parameters parameters = {.dimension = DIMENSION, .epsilon = 30, .clip = 1};
    const struct local_mechanism *mechanism = local_mechanism_at(fuzz_byte(&data, &size) % 8);
    struct local_scheme scheme;
    int64_t values[DIMENSION + 1];
    unsigned char again[10 * (DIMENSION + 1)];
    double estimate[DIMENSION];
    if (!mechanism)
        return 0;
    const char *problem = local_scheme_make(mechanism, &parameters, &scheme);
    assert(!problem && local_report_room(&scheme) <= sizeof again);
    unsigned char *bytes = fuzz_copy(data, size, false);
    if (local_report_unpack(&scheme, bytes, size, values) == LOCAL_OK) {
        size_t packed = local_report_pack(&scheme, values, again);
        assert(packed == size && memcmp(again, bytes, size) == 0);
        if (mechanism->decode(&scheme, seed, values, estimate) == LOCAL_OK)
            for (int i = 0; i < DIMENSION; i++)
                assert(isfinite(estimate[i]));
    }
    free(bytes);
    return 0;
}
