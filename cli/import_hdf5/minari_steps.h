/* HDF5 as Minari has it: a group for each episode, episode_0, episode_1, ..., with observations
 * (one more than actions), actions, rewards, terminations and truncations. */
#ifndef TACET_CLI_IMPORT_HDF5_MINARI_STEPS_H
#define TACET_CLI_IMPORT_HDF5_MINARI_STEPS_H

#include <hdf5.h>

#include "cli/import/import_source.h"

struct minari_steps;

/* Begins to read FILE (borrowed) as the request of SOURCE (borrowed) says. NULL: the source's error
 * says what is wrong. The caller frees the steps with minari_steps_free. */
struct minari_steps *minari_steps_new(struct import_source *source, hid_t file);

/* Frees the steps. NULL is fine. */
void minari_steps_free(struct minari_steps *steps);

/* The next trajectory, as json_stream_next gives it. */
enum json_stream_status minari_steps_next(struct minari_steps *steps, struct trajectory *out,
                                          const char **out_expert);

#endif
