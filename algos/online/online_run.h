/* What a learning loop in a world does between its updates: asks the caller, writes a checkpoint,
 * and begins from a checkpoint. For loops whose memory is some vectors of floats and two counts. */
#ifndef TACET_ALGOS_ONLINE_ONLINE_RUN_H
#define TACET_ALGOS_ONLINE_ONLINE_RUN_H

#include "algos/algorithm.h"

#define ONLINE_VECTORS 3

/* Views of a loop's memory. Noise generators are not part of it: a continued run draws fresh noise,
 * and what was lost was never shown. */
struct online_memory {
    uint64_t *updates;             /* updates done */
    uint64_t *optimizer_step;      /* or NULL */
    size_t count;                  /* floats in each vector */
    float *vector[ONLINE_VECTORS]; /* the first NULL ends the list */
};

/* A number that identifies the run by its public settings: a checkpoint of another run is
 * refused. */
uint64_t online_fingerprint(const struct algorithm_run *run, unsigned parameter_count);

/* Asks the caller what to do after *memory->updates, and saves if asked to. ALGORITHM_OK: go on. */
enum algorithm_status online_pulse(const struct algorithm_run *run, uint64_t fingerprint,
                                   const struct online_memory *memory);

/* The byte form, little endian: u32 magic "TONL", u32 version 1, u64 fingerprint, u64 updates, u64
 * optimiser steps, u64 count, u64 vectors, the vectors (a word of padding when odd), u64 checksum
 * of all before. *OUT_SIZE bytes, which the caller frees. */
unsigned char *online_to_bytes(const struct online_memory *memory, uint64_t fingerprint,
                               size_t *out_size);

/* Fills MEMORY from such bytes. False, with MEMORY unchanged: damage, another run, or more than
 * TOTAL updates. */
bool online_from_bytes(const struct online_memory *memory, uint64_t fingerprint, uint64_t total,
                       const unsigned char *bytes, size_t size);

/* Makes a softmax policy of a copy of PARAMETERS. ALGORITHM_BAD_INPUT with *MESSAGE: they are not
 * finite. */
enum algorithm_status online_policy(const struct mlp_shape *shape, const float *parameters,
                                    struct policy **out, const char **message);

/* The largest step limit of an episode. */
#define ONLINE_MAX_STEPS 10000

/* The step limit of episodes when a job asks for ASKED steps; 0 asks for WORLD's usual limit. WORLD
 * may be NULL. */
uint32_t online_step_limit(double asked, const struct env *world);

/* Writes the limit that a run has in its world into the parameter at INDEX, by which
 * MECHANISM_LDP_OBSERVATIONS states what an episode costs: no name finds a program's world later.
 */
void online_settle_limit(struct algorithm_request *request, unsigned index);

/* NULL when the request has a world and its parameters fit SPECS, else a sentence. */
const char *online_request_problem(const struct algorithm_request *request,
                                   const struct parameter_spec *specs, unsigned count);

/* What a certificate says of the arithmetic of PLAN's noisy steps. */
const char *online_arithmetic(const struct dp_sgd_plan *plan);

/* The message when no noise fits the budget (offline_plan_status). */
#define ONLINE_TOO_DEAR "no noise fits the privacy budget"

#endif
