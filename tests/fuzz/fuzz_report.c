/* Any bytes as a locally private report, and as a server's answer to an agent. The first byte
 * chooses mechanism and question. What is read back packs into the same bytes; terms that an agent
 * believes are within their bounds and cost no more than they say. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "algos/privacy/local/local_report.h"
#include "api/wire/agent_messages.h"

#define DIMENSION 21

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_report(const struct local_mechanism *mechanism, const uint8_t *bytes, size_t size)
{
    static const unsigned char seed[LOCAL_SEED_SIZE] = {1};
    const struct local_parameters parameters = {.dimension = DIMENSION, .epsilon = 30, .clip = 1};
    struct local_scheme scheme;
    int64_t values[DIMENSION + 1];
    unsigned char again[10 * (DIMENSION + 1)];
    double estimate[DIMENSION];
    const char *problem = local_scheme_make(mechanism, &parameters, &scheme);
    assert(problem == NULL && local_report_room(&scheme) <= sizeof again);
    (void)problem;
    if (local_report_unpack(&scheme, bytes, size, values) != LOCAL_OK)
        return;
    size_t packed = local_report_pack(&scheme, values, again);
    assert(packed == size && memcmp(again, bytes, size) == 0);
    (void)packed;
    if (mechanism->decode(&scheme, seed, values, estimate) == LOCAL_OK)
        for (int i = 0; i < DIMENSION; i++)
            assert(isfinite(estimate[i]));
}

static void read_answers(const char *text, size_t size)
{
    struct agent_terms terms;
    (void)agent_version_read(text, size);
    if (agent_terms_read(text, size, &terms) != NULL)
        return;
    assert(terms.net.input >= 1 && terms.net.hidden >= 1 && terms.net.actions >= 2);
    assert(terms.scheme.epsilon * (double)terms.submissions_per_agent <=
           terms.epsilon * (1 + 1e-9));
    size_t count = actor_critic_count(&terms.net);
    float *parameters = calloc(count, sizeof *parameters);
    struct agent_parameters at;
    if (parameters != NULL && agent_parameters_read(text, size, &terms, &at, parameters) == NULL) {
        assert(at.exploration >= 0 && at.exploration <= 1 && at.version >= 1);
        for (size_t i = 0; i < count; i++)
            assert(isfinite(parameters[i]));
    }
    free(parameters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct local_mechanism *mechanism = local_mechanism_at(data[0] % 8);
    if (mechanism != NULL)
        read_report(mechanism, data + 1, size - 1);
    else
        read_answers((const char *)data + 1, size - 1);
    return 0;
}
