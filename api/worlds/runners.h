/* What may run clients' programs: names and commands that the operator declared. Within api/worlds.
 * Runners are only added, so all threads may look them up. */
#ifndef TACET_API_WORLDS_RUNNERS_H
#define TACET_API_WORLDS_RUNNERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/worlds/worlds.h"
#include "programs/keeper.h"

struct runners {
    atomic_uint count; /* of LIST that stay as they are */
    struct runner {
        char name[WORLD_NAME_SIZE];
        char *command;
    } list[RUNNERS_MAX];
};

/* Adds those of DECLARED[count] that there are not yet, as worlds_add_runners says. KEEPER shows
 * whether a program can be sealed here and finds the command then. */
bool runners_add(struct runners *runners, const struct keeper *keeper, const char *const *declared,
                 size_t count, unsigned *out_added, char *error, size_t error_size);

/* The command of NAME, or NULL. */
const char *runners_find(const struct runners *runners, const char *name);

/* Frees what RUNNERS hold. */
void runners_clear(struct runners *runners);

#endif
