/* Experts that `tacet experts --policies` wrote, into the reproduction's cache. */
#ifndef TACET_BENCH_OFFLINE_IMPORT_H
#define TACET_BENCH_OFFLINE_IMPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "algos/policy.h"
#include "envs/env.h"

/* Reads IN, a line for each expert as `tacet experts --policies` writes it (unpacked), to its end
 * and hands every network of ENV's sizes to TAKE in that order; it is borrowed. False after a line
 * on standard error: a line is none, a network does not fit, no memory, or TAKE gave false. */
bool import_networks(FILE *in, const struct env *env,
                     bool (*take)(void *context, const struct policy *policy), void *context);

#endif
