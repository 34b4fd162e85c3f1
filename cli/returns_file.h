/* The experts' returns out of a file of trajectories, and what random actions bring. */
#ifndef TACET_CLI_RETURNS_FILE_H
#define TACET_CLI_RETURNS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envs/env.h"

/* Reads the trajectories in PATH as an upload to a dataset of ENV would: NDJSON or a JSON array,
 * plain, gzip or zstd (told by the first bytes, not by the name), in memory bounded by the longest
 * trajectory and the number of experts (1000000 at most). *out is the caller's to free: the mean
 * return of each expert, in order of appearance, *out_count of them, at least one. False: ERROR has
 * one line that says why, with line and pointer where there are some. */
bool returns_file_read(const char *path, const struct env *env, double **out, size_t *out_count,
                       char error[512]);

/* The mean return of EPISODES episodes of uniform actions in the usual world, of at most MAX_STEPS
 * steps. The same SEED gives the same. False: the world broke. */
bool returns_of_random(const struct env *env, uint32_t max_steps, uint32_t episodes, uint64_t seed,
                       double *out);

#endif
