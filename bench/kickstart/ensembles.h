/* Ensembles of a school: one policy for each of disjoint shards of a population's data. */
#ifndef TACET_BENCH_KICKSTART_ENSEMBLES_H
#define TACET_BENCH_KICKSTART_ENSEMBLES_H

#include "bench/kickstart/school.h"

/* Numbers of shards. */
extern const uint32_t ensembles_shards[SCHOOL_SHARDS];

/* Trains (experts' networks are kept in CACHE) and plays those whose bit of WANTED is set. False
 * after a line on standard error. A world without a population leaves them out. */
bool ensembles_open(struct school *school, const char *cache, unsigned wanted);

#endif
