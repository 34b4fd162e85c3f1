/* A world that is a program, as the files of this room share it. */
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
    char *command;               /* NULL: of a client's, whose runner this server has not */
    char *source;                /* of a client's program, which is sealed; NULL: the operator's */
    const struct keeper *keeper; /* of its worlds */
    struct worlds_settings settings; /* without the declarations */
};

/* One child of a program and who uses it; outlives the child. */
struct world_use {
    const struct world_program *program;
    bool (*go_on)(void *context); /* as in child.h; NULL: always */
    void *context;
    uint64_t cpu_s; /* of the child; 0: no limit */
    /* Hears what a client's program writes to its standard error, of which the server's log gets
     * nothing. NULL: nobody hears it. */
    void (*said)(void *context, const char *line);
    void *hearer;
};

/* The program behind WORLD, or NULL when it is built in. */
const struct world_program *worlds_program(const struct env *world);

/* Fills the env of PROGRAM from its facts and its name. */
void world_program_fill(struct world_program *program);

/* Frees PROGRAM. NULL is fine. */
void world_program_free(struct world_program *program);

/* Gives PROGRAM what the programs of WORLDS are started with: keeper and settings. */
void worlds_equip(const struct worlds *worlds, struct world_program *program);

/* Takes one of the places that a server has for programs that clients try. CLIENT is an id. False:
 * all are taken, or CLIENT has one. */
bool worlds_begin_trial(const struct worlds *worlds, const char *client);

/* Gives the place of CLIENT back. */
void worlds_end_trial(const struct worlds *worlds, const char *client);

/* Starts the program and lets it describe itself. On WORLD_OK the child is the caller's; DETAIL as
 * of world_json_description. */
enum world_fault world_program_start(struct world_use *use, struct child **out,
                                     struct world_facts *out_facts, char detail[160]);

/* The fault that STATUS of the child stands for. */
enum world_fault world_fault_of_child(enum child_status status);

#endif
