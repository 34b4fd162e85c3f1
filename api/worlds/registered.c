/* A registered world is not in the list of worlds: whoever needs it makes it from its row and frees
 * it. So no thread waits for another, and a world that was deleted ends with its last use. */
#include "api/worlds/registered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/text.h"
#include "api/worlds/world_program.h"
#include "memory/memory.h"

static struct world_program *registered_new(const struct worlds *worlds,
                                            const struct registered_text *text)
{
    struct world_program *program = memory_new(1, sizeof *program);
    const char *runner = worlds_runner(worlds, text->runner);
    if (worlds)
        worlds_equip(worlds, program);
    snprintf(program->name, sizeof program->name, "%s", text->id);
    program->source = memory_must(strdup(text->source));
    if (!runner)
        return program;
    size_t size = strlen(runner) + 32;
    program->command = memory_new(size, 1);
    snprintf(program->command, size, "exec %s /world", runner);
    return program;
}

/* Appends LINE to the text of REGISTERED_SAID_SIZE bytes at CONTEXT, as far as it fits. */
static void registered_hear(void *context, const char *line)
{
    text_list_add(context, REGISTERED_SAID_SIZE, " | ", line);
}

enum world_fault registered_try(const struct worlds *worlds, const struct registered_text *text,
                                const struct env **out, char detail[160],
                                char said[REGISTERED_SAID_SIZE])
{
    detail[0] = said[0] = '\0';
    *out = NULL;
    if (!worlds_runner(worlds, text->runner))
        return WORLD_NO_RUNNER;
    if (!worlds_begin_trial(worlds, text->client))
        return WORLD_BUSY;
    struct world_program *program = registered_new(worlds, text);
    struct world_use use = {.program = program,
                            .cpu_s = program->settings.answer_s,
                            .said = registered_hear,
                            .hearer = said};
    struct child *child = NULL;
    enum world_fault fault = world_program_start(&use, &child, &program->facts, detail);
    if (fault == WORLD_OK)
        child_end(child);
    worlds_end_trial(worlds, text->client);
    if (fault != WORLD_OK) {
        world_program_free(program);
        return fault;
    }
    world_program_fill(program);
    *out = &program->env;
    return WORLD_OK;
}

const struct env *registered_open(const struct worlds *worlds, const struct registered_text *text,
                                  const char *description)
{
    char detail[160];
    struct world_program *program = registered_new(worlds, text);
    if (world_json_description(description, strlen(description), &program->facts, detail) !=
        WORLD_OK) {
        world_program_free(program);
        return NULL;
    }
    world_program_fill(program);
    return &program->env;
}

char *registered_describe(const struct env *world)
{
    return world_json_facts(&worlds_program(world)->facts);
}

bool registered_is(const struct env *world)
{
    const struct world_program *program = worlds_program(world);
    return program && program->source;
}

void registered_close(const struct env *world)
{
    if (world)
        world_program_free((struct world_program *)(uintptr_t)worlds_program(world));
}
