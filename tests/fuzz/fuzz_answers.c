/* Any bytes as a server's answer to an agent, a student or a subcommand. The first byte chooses the
 * reader. Terms that an agent believes are within their bounds and cost no more than they say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/agent_messages.h"
#include "api/wire/problem_line.h"
#include "api/wire/student_messages.h"
#include "envs/env.h"
#include "tests/fuzz/fuzz.h"

static void read_agent(const char *text, size_t size)
{
    struct agent_terms terms;
    (void)agent_version_read(text, size);
    if (agent_terms_read(text, size, &terms))
        return;
    assert(terms.net.input >= 1 && terms.net.hidden >= 1 && terms.net.actions >= 2);
    assert(terms.scheme.epsilon * (double)terms.submissions_per_agent <=
           terms.epsilon * (1 + 1e-9));
    size_t count = actor_critic_count(&terms.net);
    float *parameters = calloc(count, sizeof *parameters);
    struct agent_parameters at;
    if (parameters && !agent_parameters_read(text, size, &terms, &at, parameters)) {
        assert(at.exploration >= 0 && at.exploration <= 1 && at.version >= 1);
        for (size_t i = 0; i < count; i++)
            assert(isfinite(parameters[i]));
    }
    free(parameters);
}

static void read_student(const char *text, size_t size)
{
    uint32_t dim, actions;
    double probabilities[2 * 3];
    struct student_answer answer;
    if (!student_model_read(text, size, &dim, &actions))
        assert(dim >= 1 && dim <= ENV_MAX_STATE_DIM && actions >= 1 && actions <= ENV_MAX_ACTIONS);
    if (student_answer_read(text, size, 2, 3, probabilities, &answer))
        return;
    assert(answer.radius >= 0 && isfinite(answer.radius) && isfinite(answer.cost_epsilon));
    for (int i = 0; i < 6; i++)
        assert(probabilities[i] >= 0 && probabilities[i] <= 1);
}

static bool is_one_line(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static void read_problem(const char *text, size_t size)
{
    struct problem_line line;
    char id[40];
    problem_line_read(422, text, size, &line);
    assert(strlen(line.text) < sizeof line.text && is_one_line(line.text));
    assert(strlen(line.slug) < sizeof line.slug && is_one_line(line.slug));
    assert(strncmp(line.text, "422", 3) == 0);
    bool found = answer_text(text, size, "id", id, sizeof id);
    assert((found || id[0] == '\0') && is_one_line(id) && strlen(id) < sizeof id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t reader = fuzz_byte(&data, &size);
    char *text = fuzz_copy(data, size, false);
    switch (reader % 3) {
    case 0: read_agent(text, size); break;
    case 1: read_student(text, size); break;
    default: read_problem(text, size);
    }
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return fuzz_mutate_json(data, size, max_size, seed, 1);
}
