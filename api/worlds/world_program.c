/* Starting a world's program, the operator's or a client's. */
#include "api/worlds/world_program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/text.h"

/* What a client's program may use at most, where the operator's limits allow more or have none. */
#define CLIENT_MEMORY_BYTES (UINT64_C(1) << 30)
#define CLIENT_FILE_BYTES   (UINT64_C(64) << 20)
#define CLIENT_PROCESSES    UINT64_C(32)

/* A listed program is opened through a world_run, which has another OPEN. */
static bool refuse_to_open(const struct env *env, void *state)
{
    (void)env;
    (void)state;
    return false;
}

void world_program_fill(struct world_program *program)
{
    const struct world_facts *facts = &program->facts;
    program->env = (struct env){.name = program->name,
                                .state_dim = facts->state_dim,
                                .action_count = facts->action_count,
                                .max_episode_steps = facts->max_episode_steps,
                                .random_return = facts->random_return,
                                .parameters = program->parameters,
                                .parameter_count = facts->parameter_count,
                                .open = refuse_to_open};
    for (uint32_t i = 0; i < facts->parameter_count; i++) {
        const struct world_parameter_facts *p = &facts->parameters[i];
        program->parameters[i] = (struct env_parameter){.name = p->name,
                                                        .value = p->value,
                                                        .min = p->min,
                                                        .max = p->max,
                                                        .unit = p->unit,
                                                        .meaning = p->meaning};
    }
}

const struct world_program *worlds_program(const struct env *world)
{
    return world->open == refuse_to_open ? (const struct world_program *)world : NULL;
}

void world_program_free(struct world_program *program)
{
    if (!program)
        return;
    free(program->command);
    free(program->source);
    free(program);
}

enum world_fault world_fault_of_child(enum child_status status)
{
    switch (status) {
    case CHILD_OK: return WORLD_OK;
    case CHILD_NOT_STARTED: return WORLD_NOT_STARTED;
    case CHILD_NOT_SEALED: return WORLD_NOT_SEALED;
    case CHILD_LATE: return WORLD_LATE;
    case CHILD_ENDED: return WORLD_ENDED;
    case CHILD_TOO_LONG: return WORLD_TOO_LONG;
    case CHILD_OUT_OF_TURN: return WORLD_OUT_OF_TURN;
    case CHILD_STOPPED: return WORLD_STOPPED;
    }
    return WORLD_ENDED;
}

static bool program_go_on(void *context)
{
    const struct world_use *use = context;
    return !use->go_on || use->go_on(use->context);
}

static void program_said(void *context, const char *line)
{
    const struct world_use *use = context;
    const struct worlds_settings *settings = &use->program->settings;
    if (use->said)
        use->said(use->hearer, line);
    if (settings->said && !use->program->source)
        settings->said(settings->context, use->program->name, line);
}

static uint64_t program_least(uint64_t limit, uint64_t most)
{
    return limit == 0 || limit > most ? most : limit;
}

static struct program_limits program_limits_of(const struct world_use *use)
{
    const struct worlds_settings *settings = &use->program->settings;
    if (use->program->source)
        return (struct program_limits){
            .memory_bytes = program_least(settings->memory_bytes, CLIENT_MEMORY_BYTES),
            .cpu_s = use->cpu_s,
            .file_bytes = program_least(settings->file_bytes, CLIENT_FILE_BYTES),
            .processes = program_least(settings->processes, CLIENT_PROCESSES),
            .sealed = true};
    return (struct program_limits){.memory_bytes = settings->memory_bytes,
                                   .cpu_s = use->cpu_s,
                                   .file_bytes = settings->file_bytes,
                                   .processes = settings->processes,
                                   .network = settings->network};
}

enum world_fault world_program_start(struct world_use *use, struct child **out,
                                     struct world_facts *out_facts, char detail[160])
{
    const struct world_program *program = use->program;
    const struct child_settings child_settings = {.keeper = program->keeper,
                                                  .command = program->command,
                                                  .source = program->source,
                                                  .source_size =
                                                      strlen(text_or_empty(program->source)),
                                                  .answer_ms = program->settings.answer_s * 1000,
                                                  .limits = program_limits_of(use),
                                                  .go_on = program_go_on,
                                                  .said = program_said,
                                                  .context = use};
    char question[WORLD_QUESTION_MAX];
    struct child *child = NULL;
    const char *answer = NULL;
    size_t size = 0;
    detail[0] = '\0';
    if (!program->command)
        return WORLD_NO_RUNNER;
    enum child_status status = child_start(&child_settings, &child);
    if (status == CHILD_OK)
        status = child_ask(child, question, world_json_ask_description(question), &answer, &size);
    enum world_fault fault = world_fault_of_child(status);
    if (fault == WORLD_OK)
        fault = world_json_description(answer, size, out_facts, detail);
    if (fault != WORLD_OK) {
        child_end(child);
        return fault;
    }
    *out = child;
    return WORLD_OK;
}
