/* A runner is tried when it is declared: in a sealed process, does the shell find its command? */
#include "api/worlds/runners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "programs/child.h"

#define TRY_MS     10000
#define TRY_MEMORY (UINT64_C(1) << 30)
#define PLAIN      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-"

struct trouble {
    char *text;
    size_t size;
};

/* ---- one runner */

/* Splits LINE[size] into NAME=COMMAND. */
static bool runner_read(const char *line, size_t size, struct runner *out, struct trouble trouble)
{
    const char *equals = memchr(line, '=', size);
    size_t length = equals ? (size_t)(equals - line) : 0;
    *out = (struct runner){.command = NULL};
    if (length > 0 && length < sizeof out->name)
        memcpy(out->name, line, length);
    bool plain = out->name[0] >= 'a' && out->name[0] <= 'z' &&
                 strspn(out->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
    if (plain && strspn(equals + 1, PLAIN) > 0) {
        out->command = memory_must(strndup(equals + 1, size - length - 1));
        return true;
    }
    snprintf(trouble.text, trouble.size,
             "--world-runner: \"%.*s\" is not NAME=COMMAND: a letter, then at most 30 of a-z, 0-9 "
             "and _; and a program's name or path",
             size > 200 ? 200 : (int)size, line);
    return false;
}

/* Asks a sealed shell for the first word of the command. */
static enum child_status runner_look(const struct keeper *keeper, const struct runner *runner,
                                     bool *out_there)
{
    char command[512];
    snprintf(command, sizeof command,
             "read -r q; if command -v %.*s >/dev/null; then echo yes; else echo no; fi",
             (int)strspn(runner->command, PLAIN), runner->command);
    const struct child_settings settings = {
        .keeper = keeper,
        .command = command,
        .source = "",
        .answer_ms = TRY_MS,
        .limits = {.memory_bytes = TRY_MEMORY, .cpu_s = TRY_MS / 1000, .sealed = true}};
    struct child *child = NULL;
    const char *answer = "";
    size_t size = 0;
    enum child_status status = child_start(&settings, &child);
    if (status != CHILD_OK)
        return status;
    status = child_ask(child, "?\n", 2, &answer, &size);
    *out_there = status == CHILD_OK && strcmp(answer, "yes") == 0;
    child_end(child);
    return status;
}

static bool runner_try(const struct keeper *keeper, const struct runner *runner,
                       struct trouble trouble)
{
    bool there = false;
    enum child_status status = runner_look(keeper, runner, &there);
    if (status == CHILD_NOT_SEALED)
        snprintf(trouble.text, trouble.size,
                 "--world-runner %s: this system cannot keep a client's program apart: that takes "
                 "namespaces of users, files and processes for users without privileges, a /proc "
                 "that hides no processes, and Linux 5.14 on x86-64 or arm64 (docs/worlds.md)",
                 runner->name);
    else if (status != CHILD_OK)
        snprintf(trouble.text, trouble.size, "--world-runner %s: no process can be started",
                 runner->name);
    else if (!there)
        snprintf(trouble.text, trouble.size,
                 "--world-runner %s: \"%.*s\" is not found below /usr, which is all that a "
                 "client's program sees",
                 runner->name, (int)strspn(runner->command, PLAIN), runner->command);
    return status == CHILD_OK && there;
}

/* ---- all of them */

static const struct runner *runners_known(const struct runners *runners, const char *name)
{
    for (unsigned i = 0; i < runners->count; i++)
        if (strcmp(runners->list[i].name, name) == 0)
            return &runners->list[i];
    return NULL;
}

/* Adds what LINE[size] declares, unless it is there. */
static bool runners_add_line(struct runners *runners, const struct keeper *keeper, const char *line,
                             size_t size, unsigned *added, struct trouble trouble)
{
    struct runner runner;
    if (!runner_read(line, size, &runner, trouble))
        return false;
    const struct runner *known = runners_known(runners, runner.name);
    bool good = false;
    if (known && strcmp(known->command, runner.command) != 0)
        snprintf(trouble.text, trouble.size, "--world-runner %s: another command needs a new start",
                 runner.name);
    else if (!known && runners->count == RUNNERS_MAX)
        snprintf(trouble.text, trouble.size, "--world-runner: more than %d", RUNNERS_MAX);
    else
        good = known || runner_try(keeper, &runner, trouble);
    if (!good || known) {
        free(runner.command);
        return good;
    }
    runners->list[runners->count] = runner;
    atomic_fetch_add(&runners->count, 1);
    ++*added;
    return true;
}

bool runners_add(struct runners *runners, const struct keeper *keeper, const char *const *declared,
                 size_t count, unsigned *out_added, char *error, size_t error_size)
{
    struct trouble trouble = {error, error_size};
    *out_added = 0;
    for (size_t i = 0; i < count; i++) {
        const char *at = declared[i];
        while (*at != '\0') {
            size_t size = strcspn(at, "\n");
            if (size > 0 && !runners_add_line(runners, keeper, at, size, out_added, trouble))
                return false;
            at += size + (at[size] == '\n');
        }
    }
    return true;
}

const char *runners_find(const struct runners *runners, const char *name)
{
    const struct runner *runner = runners_known(runners, name);
    return runner ? runner->command : NULL;
}

void runners_clear(struct runners *runners)
{
    for (unsigned i = 0; i < runners->count; i++)
        free(runners->list[i].command);
}
