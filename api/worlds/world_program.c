/* Starting a world's program. */
#include "api/worlds/world_program.h"

#include <assert.h>
#include <string.h>

enum world_fault world_fault_of_child(enum child_status status)
{
    switch (status) {
    case CHILD_OK: return WORLD_OK;
    case CHILD_NOT_STARTED: return WORLD_NOT_STARTED;
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
    if (settings->said)
        settings->said(settings->context, use->program->name, line);
}

enum world_fault world_program_start(struct world_use *use, struct child **out,
                                     struct world_facts *out_facts, char detail[160])
{
    const struct worlds_settings *settings = &use->program->settings;
    const struct child_settings child_settings = {.keeper = use->program->keeper,
                                                  .command = use->program->command,
                                                  .answer_ms = settings->answer_s * 1000,
                                                  .limits = {.memory_bytes = settings->memory_bytes,
                                                             .cpu_s = use->cpu_s,
                                                             .file_bytes = settings->file_bytes,
                                                             .processes = settings->processes,
                                                             .network = settings->network},
                                                  .go_on = program_go_on,
                                                  .said = program_said,
                                                  .context = use};
    char question[WORLD_QUESTION_MAX];
    struct child *child = NULL;
    const char *answer = NULL;
    size_t size = 0;
    detail[0] = '\0';
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
