/* Any bytes as what a world's program answers. The first byte chooses the question; the rest is the
 * line. What is taken is within the contract's bounds, and the same line is the same world. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/worlds/world_json.h"
#include "tests/fuzz/fuzz.h"

static void check_numbers(const double *numbers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert(isfinite(numbers[i]) && fabs(numbers[i]) <= (double)FLT_MAX);
}

/* What is written of FACTS reads as the same world, and another world is not the same. */
static void check_same(const struct world_facts *facts)
{
    struct world_facts other;
    char detail[160];
    char *text = world_json_facts(facts);
    assert(world_json_description(text, strlen(text), &other, detail) == WORLD_OK);
    assert(world_facts_equal(facts, &other));
    free(text);
    uint32_t *counts[] = {&other.state_dim, &other.action_count, &other.max_episode_steps};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        ++*counts[i];
        assert(!world_facts_equal(facts, &other));
        --*counts[i];
    }
    for (uint32_t i = 0; i < facts->parameter_count; i++) {
        struct world_parameter_facts *p = &other.parameters[i], kept = *p;
        double *numbers[] = {&p->value, &p->min, &p->max};
        char *texts[] = {p->name, p->unit, p->meaning};
        for (size_t k = 0; k < 3; k++) {
            *numbers[k] = *numbers[k] == 0.0 ? 1.0 : 0.0;
            assert(!world_facts_equal(facts, &other));
            *p = kept;
            texts[k][0] ^= 1;
            assert(!world_facts_equal(facts, &other));
            *p = kept;
        }
    }
    other.random_return = other.random_return == 0.0 ? 1.0 : 0.0;
    assert(!world_facts_equal(facts, &other));
}

static void check_description(const char *line, size_t size)
{
    struct world_facts facts, again;
    char detail[160], question[WORLD_QUESTION_MAX];
    memset(&again, 0xa5, sizeof again);
    enum world_fault fault = world_json_description(line, size, &facts, detail);
    assert(fault == world_json_description(line, size, &again, detail));
    assert(strlen(detail) < sizeof detail && strlen(world_fault_text(fault)) > 0);
    assert((fault == WORLD_BAD_MEMBERS) == (detail[0] != '\0'));
    if (fault != WORLD_OK)
        return;
    assert(world_facts_equal(&facts, &again));
    assert(facts.state_dim >= 1 && facts.state_dim <= ENV_MAX_STATE_DIM);
    assert(facts.action_count >= 2 && facts.action_count <= ENV_MAX_ACTIONS);
    assert(facts.max_episode_steps >= 1 && facts.parameter_count <= ENV_MAX_PARAMETERS);
    double values[ENV_MAX_PARAMETERS] = {0};
    for (uint32_t i = 0; i < facts.parameter_count; i++) {
        const struct world_parameter_facts *p = &facts.parameters[i];
        assert(p->min <= p->value && p->value <= p->max && p->name[0] != '\0');
        values[i] = p->value;
    }
    check_numbers(values, facts.parameter_count);
    check_same(&facts);
    size_t asked = world_json_ask_reset(&facts, 1, 2, values, question);
    assert(asked < sizeof question && memchr(question, '\n', asked) == question + asked - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *line = (const char *)data + 1;
    unsigned state_dim = 1 + data[0] / 3U % ENV_MAX_STATE_DIM;
    double seen[ENV_MAX_STATE_DIM];
    struct env_outcome outcome;
    size--;
    switch (data[0] % 3) {
    case 0: check_description(line, size); break;
    case 1:
        if (world_json_observation(line, size, state_dim, seen) == WORLD_OK)
            check_numbers(seen, state_dim);
        break;
    default:
        if (world_json_step(line, size, state_dim, seen, &outcome) == WORLD_OK) {
            check_numbers(seen, state_dim);
            check_numbers(&outcome.reward, 1);
            assert(!outcome.failed);
        }
    }
    return 0;
}
