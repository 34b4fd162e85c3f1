/* Which moments of a training run become its experts. Within algos/online.
 *
 * Snapshots are shown in the order of the run, each with a measured return. Two ways to choose:
 * EXPERTS_TOP keeps the best of all that were shown; EXPERTS_MOMENTS keeps the one nearest to each
 * of three aspirations. Of equal ones the later is kept: it has learned more. */
#ifndef TACET_ALGOS_ONLINE_SNAPSHOTS_H
#define TACET_ALGOS_ONLINE_SNAPSHOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/nn/mlp.h"
#include "algos/online/experts.h"
#include "algos/policy.h"

struct snapshots {
    enum experts_select select;
    bool logarithmic;                       /* nearness is that of the returns' logarithms */
    uint32_t seen;                          /* snapshots shown */
    double aspiration[EXPERTS_PER_SETTING]; /* EXPERTS_MOMENTS: undiscounted returns */
    double measured[EXPERTS_PER_SETTING];   /* of those kept; EXPERTS_TOP: ascending */
    struct policy *kept[EXPERTS_PER_SETTING];
    struct policy *present; /* written by the caller, then shown */
};

/* Empty, of networks of SHAPE with output POLICY_ARGMAX. ASPIRATION[EXPERTS_PER_SETTING] is copied,
 * and not looked at by EXPERTS_TOP. Free with snapshots_clear. */
void snapshots_init(struct snapshots *snapshots, enum experts_select select, bool logarithmic,
                    const double *aspiration, const struct mlp_shape *shape);

/* Frees what is kept. */
void snapshots_clear(struct snapshots *snapshots);

/* Shows snapshots->present, which has earned MEASURED (not NaN). */
void snapshots_show(struct snapshots *snapshots, double measured);

/* The highest return shown, or -INFINITY. EXPERTS_TOP alone. */
double snapshots_best(const struct snapshots *snapshots);

/* Gives the kept ones to the caller (policy_free). False, with nothing given: fewer than
 * EXPERTS_PER_SETTING were shown. */
bool snapshots_take(struct snapshots *snapshots, struct policy *out[EXPERTS_PER_SETTING]);

#endif
