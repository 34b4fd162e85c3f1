/* One student's life: a world, a variant and a seed. */
#ifndef TACET_BENCH_KICKSTART_LIFE_H
#define TACET_BENCH_KICKSTART_LIFE_H

#include "bench/kickstart/results.h"
#include "bench/kickstart/school.h"
#include "bench/kickstart/variants.h"

/* Transitions that a student of WORLD plays. */
uint64_t life_transitions(const char *world);

/* Learns with what a job with PPO's defaults in that world would have, but for the hidden layers
 * and the number of transitions, and fills everything in OUT. False after a line on standard error.
 */
bool life_run(const struct school *school, const struct variant *variant, uint64_t seed,
              struct result *out);

#endif
