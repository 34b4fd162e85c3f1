/* The moments of a run that are kept; see snapshots.h. */
#include "algos/online/snapshots.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "memory/memory.h"

/* Maps a return to the scale on which distances are measured. */
static double scaled_return(const struct snapshots *s, double value)
{
    return s->logarithmic ? log10(fmax(value, 1.0)) : value;
}

void snapshots_init(struct snapshots *s, enum experts_select select, bool logarithmic,
                    const double *aspiration, const struct mlp_shape *shape)
{
    *s = (struct snapshots){.select = select,
                            .logarithmic = logarithmic,
                            .present = memory_must(policy_new(shape, POLICY_ARGMAX))};
    for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
        s->aspiration[k] = aspiration[k];
        s->measured[k] = -INFINITY;
        s->kept[k] = memory_must(policy_new(shape, POLICY_ARGMAX));
    }
}

void snapshots_clear(struct snapshots *s)
{
    policy_free(s->present);
    for (int k = 0; k < EXPERTS_PER_SETTING; k++)
        policy_free(s->kept[k]);
    *s = (struct snapshots){0};
}

static void keep_snapshot(struct snapshots *s, int k, double measured)
{
    size_t size = mlp_parameter_count(&s->present->shape) * sizeof(float);
    memcpy(s->kept[k]->parameters, s->present->parameters, size);
    s->measured[k] = measured;
}

/* Replaces the worst snapshot (of equal ones the first) and moves the new one up to its place. */
static void keep_among_best(struct snapshots *s, double measured)
{
    if (measured < s->measured[0])
        return;
    keep_snapshot(s, 0, measured);
    for (int k = 0; k + 1 < EXPERTS_PER_SETTING && s->measured[k] >= s->measured[k + 1]; k++) {
        struct policy *better = s->kept[k];
        s->kept[k] = s->kept[k + 1];
        s->kept[k + 1] = better;
        s->measured[k] = s->measured[k + 1];
        s->measured[k + 1] = measured;
    }
}

static void keep_nearest(struct snapshots *s, double measured)
{
    for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
        double aim = scaled_return(s, s->aspiration[k]);
        double distance = fabs(scaled_return(s, measured) - aim);
        if (s->seen == 0 || distance <= fabs(scaled_return(s, s->measured[k]) - aim))
            keep_snapshot(s, k, measured);
    }
}

void snapshots_show(struct snapshots *s, double measured)
{
    assert(!isnan(measured));
    if (s->select == EXPERTS_TOP)
        keep_among_best(s, measured);
    else
        keep_nearest(s, measured);
    s->seen++;
}

double snapshots_best(const struct snapshots *s)
{
    assert(s->select == EXPERTS_TOP);
    return s->measured[EXPERTS_PER_SETTING - 1];
}

bool snapshots_take(struct snapshots *s, struct policy *out[EXPERTS_PER_SETTING])
{
    if (s->seen < EXPERTS_PER_SETTING)
        return false;
    for (int k = 0; k < EXPERTS_PER_SETTING; k++) {
        out[k] = s->kept[k];
        s->kept[k] = NULL;
    }
    return true;
}
