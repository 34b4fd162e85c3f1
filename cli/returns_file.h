/* Reads the experts' returns from a file of trajectories, and estimates the return of random
 * actions. */
#ifndef TACET_CLI_RETURNS_FILE_H
#define TACET_CLI_RETURNS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envs/env.h"

/* Reads the trajectories in PATH as an upload to a dataset of ENV would: NDJSON or a JSON array,
 * plain, gzip or zstd (told by the first bytes, not by the name), in memory bounded by the longest
 * trajectory and the number of experts (1000000 at most). *out receives the mean return of each of
 * *out_count >= 1 experts, in order of appearance; the caller frees it. False: ERROR has one line
 * with the reason, with line and pointer where known. */
bool returns_file_read(const char *path, const struct env *env, double **out, size_t *out_count,
                       char error[512]);

/* Computes the mean return of EPISODES episodes of uniform actions in the world with default
 * parameters, of at most MAX_STEPS steps. The result is a function of SEED. False: the world broke.
 */
bool returns_of_random(const struct env *env, uint32_t max_steps, uint32_t episodes, uint64_t seed,
                       double *out);

#endif
