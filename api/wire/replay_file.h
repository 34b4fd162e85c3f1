/* Files of recorded episodes, as the reference recordings are written: one JSON object with "env"
 * and "cases". A case has "name", "params", its start, and "actions", "states", "rewards",
 * "terminated" and "truncated", where entry t is what action t led to. The start is
 * "initial_state"; in the lunar lander "initial" with "terrain_heights", "initial_force",
 * "wind_idx" and "torque_idx", beside "dispersion" of each step. HIV may have "efficacies" of each
 * step. Several results of one start are told apart by name: then that of our own Box2D is read,
 * "debian_box2d_2_4_1_contact600". Other members are not read. */
#ifndef TACET_API_WIRE_REPLAY_FILE_H
#define TACET_API_WIRE_REPLAY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "envs/replay.h"

#define REPLAY_FAULT_SIZE  800
#define REPLAY_REASON_SIZE 160

struct replay_file_case {
    char *name;
    char reason[REPLAY_REASON_SIZE]; /* why it is not for this world; "": it is */
    struct replay_case recorded;     /* empty where there is a reason */
    void *memory;                    /* of its arrays */
};

struct replay_file {
    const struct replay_world *world;
    struct replay_file_case *cases;
    size_t count;
};

/* Reads SIZE bytes; *out is the caller's to clear, whatever comes back. False: FAULT holds a
 * sentence that begins with the JSON pointer of the first thing that is wrong. */
bool replay_file_read(const char *bytes, size_t size, struct replay_file *out,
                      char fault[REPLAY_FAULT_SIZE]);

/* Frees what was read. */
void replay_file_clear(struct replay_file *file);

#endif
