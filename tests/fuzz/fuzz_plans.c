/* Any bytes as JSON that storage keeps: the first byte chooses between the plan of a job, the terms
 * of a release, and the description of a dataset. What is read is
 * written as text that reads as the same. */
#include <stdlib.h>
#include <string.h>

#include "api/data/description.h"
#include "api/jobs/ask/job_plan.h"
#include "api/json/json_text.h"
#include "api/wire/q_terms_json.h"
#include "tests/fuzz/fuzz.h"

static void read_plan(const char *text)
{
    struct job_plan plan, again;
    if (!job_plan_read(text, &plan))
        return;
    assert(plan.algorithm && plan.try_count <= JOB_SWEEP_MAX);
    char *written = job_plan_write(&plan);
    assert(written);
    if (job_plan_read(written, &again)) {
        char *twice = job_plan_write(&again);
        assert(strcmp(written, twice) == 0);
        free(twice);
        job_plan_clear(&again);
    }
    free(job_plan_event(&plan, 1, true));
    free(written);
    job_plan_clear(&plan);
}

static void read_terms(const char *text)
{
    struct q_terms terms, again;
    json_t *json = json_text_stored(text);
    if (q_terms_read(json, &terms)) {
        json_t *written = q_terms_json(&terms);
        (void)q_terms_read(written, &again);
        assert(terms.state_dim <= ENV_MAX_STATE_DIM);
        json_decref(written);
    }
    json_decref(json);
}

static void read_description(const char *text)
{
    struct json_fault fault = {"", ""};
    struct description *description = description_parse(text, &fault);
    assert((description == NULL) == (fault.detail[0] != '\0'));
    if (!description)
        return;
    assert(description->dim >= 1 && description->dim <= DESCRIPTION_DIM_MAX);
    assert(description->action_count <= DESCRIPTION_ACTIONS_MAX);
    float *state = calloc(description->dim, sizeof *state);
    for (unsigned f = 0; f < description->feature_count; f++) {
        uint32_t coordinate = 0;
        char detail[DESCRIPTION_FAULT_SIZE];
        (void)description_fit(description, f, state, &coordinate, detail);
        assert(coordinate < description->dim);
    }
    free(state);
    description_free(description);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t kind = fuzz_byte(&data, &size);
    char *text = fuzz_copy(data, size, true);
    switch (kind % 3) {
    case 0: read_plan(text); break;
    case 1: read_terms(text); break;
    default: read_description(text);
    }
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return fuzz_mutate_json(data, size, max_size, seed, 1);
}
