/* The registry: envs' table, then the programs. Each program is asked for its description when the
 * server starts, so that a wrong command or a wrong world stops it there and not a paid job. */
#include "api/worlds/worlds.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/near_name.h"
#include "api/json/text.h"
#include "api/worlds/runners.h"
#include "api/worlds/world_program.h"
#include "memory/memory.h"

#define TRIALS_MAX 2 /* so that the next client's turn comes while one program gives no answer */

struct world_trials {
    pthread_mutex_t mutex;
    char clients[TRIALS_MAX][WORLD_NAME_SIZE]; /* whose program is tried; "" where none is */
};

struct worlds {
    struct worlds_settings settings;
    struct keeper *keeper; /* NULL: no program is declared */
    atomic_uint count;     /* of PROGRAMS that stay as they are */
    struct world_program *programs[WORLDS_MAX];
    struct runners runners;
    struct world_trials *trials;
};

struct trouble {
    char *text;
    size_t size;
};

/* ---- looking up */

const struct env *worlds_at(const struct worlds *worlds, unsigned index)
{
    unsigned built_in;
    const struct env *const *all = env_all(&built_in);
    if (index < built_in)
        return all[index];
    index -= built_in;
    if (worlds && index < worlds->count)
        return &worlds->programs[index]->env;
    return NULL;
}

const struct env *worlds_find(const struct worlds *worlds, const char *name)
{
    const struct env *env = NULL;
    for (unsigned i = 0; (env = worlds_at(worlds, i)); i++)
        if (strcmp(env->name, name) == 0)
            return env;
    return NULL;
}

const char *worlds_unknown(const struct worlds *worlds, const char *name,
                           char out[WORLDS_UNKNOWN_SIZE])
{
    const char *names[2 * WORLDS_MAX];
    unsigned count = 0;
    while (count < 2 * WORLDS_MAX && worlds_at(worlds, count)) {
        names[count] = worlds_at(worlds, count)->name;
        count++;
    }
    const char *near = near_name(name, names, count);
    if (near)
        snprintf(out, WORLDS_UNKNOWN_SIZE,
                 "is not known; did you mean \"%s\"? See GET /v1/environments", near);
    else
        snprintf(out, WORLDS_UNKNOWN_SIZE, "is not known: see GET /v1/environments");
    return out;
}

void worlds_equip(const struct worlds *worlds, struct world_program *program)
{
    program->settings = worlds->settings;
    program->keeper = worlds->keeper;
}

/* Writes NEW over the place of OLD. False: no place is OLD's, or one is NEW's already. */
static bool trials_change(struct world_trials *trials, const char *old, const char *new)
{
    char *place = NULL;
    bool taken = false;
    pthread_mutex_lock(&trials->mutex);
    for (unsigned i = 0; i < TRIALS_MAX; i++) {
        if (strcmp(trials->clients[i], old) == 0)
            place = trials->clients[i];
        taken = taken || (new[0] != '\0' && strcmp(trials->clients[i], new) == 0);
    }
    if (place && !taken)
        snprintf(place, sizeof trials->clients[0], "%s", new);
    pthread_mutex_unlock(&trials->mutex);
    return place && !taken;
}

bool worlds_begin_trial(const struct worlds *worlds, const char *client)
{
    return trials_change(worlds->trials, "", client);
}

void worlds_end_trial(const struct worlds *worlds, const char *client)
{
    trials_change(worlds->trials, client, "");
}

const char *worlds_runner(const struct worlds *worlds, const char *name)
{
    return worlds ? runners_find(&worlds->runners, name) : NULL;
}

const char *worlds_runner_names(const struct worlds *worlds, char out[WORLDS_RUNNERS_SIZE])
{
    out[0] = '\0';
    for (unsigned i = 0; worlds && i < worlds->runners.count; i++)
        text_list_add(out, WORLDS_RUNNERS_SIZE, ", ", worlds->runners.list[i].name);
    return out;
}
_Static_assert(RUNNERS_MAX *(WORLD_NAME_SIZE + 2) <= WORLDS_RUNNERS_SIZE, "all names fit");

/* ---- declaring */

void worlds_close(struct worlds *worlds)
{
    if (!worlds)
        return;
    for (unsigned i = 0; i < worlds->count; i++)
        world_program_free(worlds->programs[i]);
    runners_clear(&worlds->runners);
    keeper_end(worlds->keeper);
    pthread_mutex_destroy(&worlds->trials->mutex);
    free(worlds->trials);
    free(worlds);
}

/* How much of SIZE bytes a message shows. */
static int shown_size(size_t size)
{
    if (size > 200)
        return 200;
    return (int)size;
}

/* Splits LINE[size] into NAME=COMMAND. */
static bool program_read_line(const struct worlds *worlds, const char *line, size_t size,
                              struct world_program *program, struct trouble trouble)
{
    const char *equals = memchr(line, '=', size);
    size_t length = 0;
    if (equals)
        length = (size_t)(equals - line);
    if (length == 0 || length + 1 == size) {
        snprintf(trouble.text, trouble.size, "--world: \"%.*s\" is not NAME=COMMAND",
                 shown_size(size), line);
        return false;
    }
    if (length < WORLD_NAME_SIZE)
        memcpy(program->name, line, length);
    bool plain = program->name[0] >= 'a' && program->name[0] <= 'z' &&
                 strspn(program->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
    if (!plain) {
        snprintf(trouble.text, trouble.size,
                 "--world: \"%.*s\" is no name: a letter, then at most 30 of a-z, 0-9 and _",
                 shown_size(length), line);
        return false;
    }
    if (worlds_find(worlds, program->name)) {
        snprintf(trouble.text, trouble.size, "--world: there is a world \"%s\" already",
                 program->name);
        return false;
    }
    program->command = memory_must(strndup(equals + 1, size - length - 1));
    return true;
}

static bool program_describe(struct world_program *program, struct trouble trouble)
{
    struct world_use use = {.program = program};
    struct child *child = NULL;
    char detail[160];
    enum world_fault fault = world_program_start(&use, &child, &program->facts, detail);
    if (fault != WORLD_OK) {
        const char *colon = "";
        if (detail[0] != '\0')
            colon = ": ";
        snprintf(trouble.text, trouble.size, "--world %s: the program %s%s%s", program->name,
                 world_fault_text(fault), colon, detail);
        return false;
    }
    child_end(child);
    world_program_fill(program);
    return true;
}

static bool program_add(struct worlds *worlds, const char *line, size_t size,
                        struct trouble trouble)
{
    if (worlds->count == WORLDS_MAX) {
        snprintf(trouble.text, trouble.size, "--world: more than %d", WORLDS_MAX);
        return false;
    }
    struct world_program *program = memory_new(1, sizeof *program);
    worlds_equip(worlds, program);
    if (!program_read_line(worlds, line, size, program, trouble) ||
        !program_describe(program, trouble)) {
        world_program_free(program);
        return false;
    }
    worlds->programs[worlds->count] = program;
    atomic_fetch_add(&worlds->count, 1);
    return true;
}

/* The program of the world that LINE[size] declares, if it is among the first COUNT. */
static const struct world_program *program_of_line(const struct worlds *worlds, unsigned count,
                                                   const char *line, size_t size)
{
    const char *equals = memchr(line, '=', size);
    size_t length = equals ? (size_t)(equals - line) : 0;
    for (unsigned i = 0; i < count; i++) {
        const struct world_program *program = worlds->programs[i];
        if (length == strlen(program->name) && memcmp(line, program->name, length) == 0)
            return program;
    }
    return NULL;
}

/* True when LINE[size] declares PROGRAM with the command that it has. */
static bool is_as_declared(const struct world_program *program, const char *line, size_t size,
                           struct trouble trouble)
{
    size_t length = strlen(program->name) + 1;
    if (strlen(program->command) == size - length &&
        memcmp(program->command, line + length, size - length) == 0)
        return true;
    snprintf(trouble.text, trouble.size, "--world %s: another command needs a new start",
             program->name);
    return false;
}

bool worlds_add(struct worlds *worlds, const char *const *declared, size_t count,
                unsigned *out_added, char *error, size_t error_size)
{
    struct trouble trouble = {error, error_size};
    unsigned before = worlds->count;
    *out_added = 0;
    for (size_t i = 0; i < count; i++) {
        for (const char *at = declared[i]; *at != '\0'; at += *at == '\n') {
            const char *line = at;
            size_t size = strcspn(line, "\n");
            const struct world_program *known = program_of_line(worlds, before, line, size);
            at += size;
            if (size == 0 || (known && is_as_declared(known, line, size, trouble)))
                continue;
            if (known || !program_add(worlds, line, size, trouble))
                return false;
            ++*out_added;
        }
    }
    return true;
}

bool worlds_add_runners(struct worlds *worlds, const char *const *declared, size_t count,
                        unsigned *out_added, char *error, size_t error_size)
{
    return runners_add(&worlds->runners, worlds->keeper, declared, count, out_added, error,
                       error_size);
}

struct worlds *worlds_open(const struct worlds_settings *settings, char *error, size_t error_size)
{
    struct worlds *worlds = memory_new(1, sizeof *worlds);
    unsigned added;
    worlds->settings = *settings;
    worlds->settings.declared = NULL;
    worlds->settings.declared_count = 0;
    worlds->settings.runners = NULL;
    worlds->settings.runner_count = 0;
    worlds->trials = memory_new(1, sizeof *worlds->trials);
    pthread_mutex_init(&worlds->trials->mutex, NULL);
    worlds->settings.secret = NULL;
    bool starts = settings->more || settings->runner_count > 0 || settings->declared_count > 0;
    if (starts)
        worlds->keeper = keeper_start(true, settings->secret, settings->secret_size);
    if (starts && !worlds->keeper)
        snprintf(error, error_size, "--world: no process can be started");
    else if (worlds_add(worlds, settings->declared, settings->declared_count, &added, error,
                        error_size) &&
             worlds_add_runners(worlds, settings->runners, settings->runner_count, &added, error,
                                error_size))
        return worlds;
    worlds_close(worlds);
    return NULL;
}
