/* The worlds that this server knows: those built in, and those that its operator declared as
 * NAME=COMMAND, which are programs (docs/worlds.md). Once it is open worlds are only added, so all
 * threads may use it. Worlds that clients register are not in it: registered.h. */
#ifndef TACET_API_WORLDS_WORLDS_H
#define TACET_API_WORLDS_WORLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envs/env.h"

#define WORLDS_MAX      64
#define RUNNERS_MAX     16
#define WORLD_NAME_SIZE 32

struct worlds;

struct worlds_settings {
    const char *const *declared; /* texts of lines NAME=COMMAND; empty lines are passed over */
    size_t declared_count;
    const char *const *runners; /* texts of lines NAME=COMMAND: what may run clients' programs */
    size_t runner_count;
    unsigned answer_s;     /* how long an answer may take */
    unsigned run_s;        /* how long one use of a program may take in all */
    uint64_t memory_bytes; /* of address space of each process of a program; 0: no limit */
    uint64_t file_bytes;   /* of a file that a program writes; 0: no limit */
    uint64_t processes;    /* of a program, and threads, at once; 0: no limit */
    bool network;          /* programs may open sockets */
    bool more;             /* worlds_add may be called later */
    void *secret;          /* [secret_size], which the process that starts programs wipes */
    size_t secret_size;
    /* A line that a program wrote to its standard error: printable ASCII, few of them. From any
     * thread. NULL: nobody hears it. */
    void (*said)(void *context, const char *world, const char *line);
    void *context;
};

/* Starts each declared program once and asks it what world it is. Where one is declared the process
 * forks, so it has no other thread yet (programs/keeper.h). Texts are copied. NULL: one of
 * them is not usable, and ERROR holds a sentence that names it. */
struct worlds *worlds_open(const struct worlds_settings *settings, char *error, size_t error_size);

/* Adds the worlds of DECLARED[count] (as in settings) that there are not yet, while others use
 * WORLDS; one thread at a time. *out_added counts them. False: one is not usable, or its name had
 * another command before, which only a new start can change; ERROR holds a sentence, and those
 * before it are added. */
bool worlds_add(struct worlds *worlds, const char *const *declared, size_t count,
                unsigned *out_added, char *error, size_t error_size);

/* The same of runners: names and commands that clients may have run their programs with, sealed
 * (registered.h). False also where this system cannot seal programs, or has no such command for
 * them. */
bool worlds_add_runners(struct worlds *worlds, const char *const *declared, size_t count,
                        unsigned *out_added, char *error, size_t error_size);

/* The command of the runner NAME; NULL: there is none. WORLDS may be NULL. */
const char *worlds_runner(const struct worlds *worlds, const char *name);

#define WORLDS_RUNNERS_SIZE 576

/* The names of all runners, separated by commas; "" for none. Gives OUT. */
const char *worlds_runner_names(const struct worlds *worlds, char out[WORLDS_RUNNERS_SIZE]);

/* Frees WORLDS, which no world_run uses any more. NULL is fine. */
void worlds_close(struct worlds *worlds);

/* The world of that name, or NULL. WORLDS may be NULL: those built in alone. A world that is a
 * program cannot be opened as it is: world_run.h. Lives as long as WORLDS. */
const struct env *worlds_find(const struct worlds *worlds, const char *name);

#define WORLDS_UNKNOWN_SIZE 128

/* What to say of NAME, which no world has: which one may be meant, and where all are listed. Gives
 * OUT. */
const char *worlds_unknown(const struct worlds *worlds, const char *name,
                           char out[WORLDS_UNKNOWN_SIZE]);

/* The world number INDEX, from 0; NULL past the end. */
const struct env *worlds_at(const struct worlds *worlds, unsigned index);

#endif
