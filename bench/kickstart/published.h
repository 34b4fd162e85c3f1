/* The Dirichlet law at any concentration, as the paper prints it. The service's mechanism refuses
 * concentrations below 1/eta, where an answer costs as much and says less; its sampler is exact,
 * and this one, in double, is for experiments alone. */
#ifndef TACET_BENCH_KICKSTART_PUBLISHED_H
#define TACET_BENCH_KICKSTART_PUBLISHED_H

#include <stdint.h>

struct noise_source;

/* Draws Z[actions] ~ Dir(CONCENTRATION * P): P are positive, CONCENTRATION at least 1e-3. */
void published_draw(uint32_t actions, double concentration, const double *p,
                    struct noise_source *noise, double *z);

#endif
