/* A world that is a program, as worlds.c and world_run.c share it. */
#ifndef TACET_API_WORLDS_WORLD_PROGRAM_H
#define TACET_API_WORLDS_WORLD_PROGRAM_H

#include "api/worlds/world_json.h"
#include "api/worlds/worlds.h"
#include "programs/child.h"

struct world_program {
    struct env env; /* first, so that it is found by its env; refuses to be opened */
    struct env_parameter parameters[ENV_MAX_PARAMETERS];
    struct world_facts facts;
    char name[WORLD_NAME_SIZE];
    char *command;
    const struct keeper *keeper;     /* of its worlds */
    struct worlds_settings settings; /* without the declarations */
};

/* One child of a program and who uses it; outlives the child. */
struct world_use {
    const struct world_program *program;
    bool (*go_on)(void *context); /* as in child.h; NULL: always */
    void *context;
    uint64_t cpu_s; /* of the child; 0: no limit */
};

/* The program behind WORLD, or NULL when it is built in. */
const struct world_program *worlds_program(const struct worlds *worlds, const struct env *world);

/* Starts the program and lets it describe itself. On WORLD_OK the child is the caller's; DETAIL as
 * of world_json_description. */
enum world_fault world_program_start(struct world_use *use, struct child **out,
                                     struct world_facts *out_facts, char detail[160]);

/* The fault that STATUS of the child stands for. */
enum world_fault world_fault_of_child(enum child_status status);

#endif
