/* Mechanisms to laws of the loss. Randomised response over k buckets: the loss between two true
 * buckets is +l, -l or, in the k - 2 others, 0, with exp(l) = 1 + k (1 - f) / f. An (epsilon,
 * delta)-private mechanism is dominated by a two-point law and an atom at infinity (Kairouz, Oh,
 * Viswanath 2015). */
#include "algos/privacy/accounting/accountant_laws.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"

struct contour_law accountant_law_of(const struct mechanism *mechanism, double times)
{
    struct contour_law law = {.times = times};
    switch (mechanism->kind) {
    case MECHANISM_SUBSAMPLED_GAUSSIAN:
        law.kind = mechanism->gaussian.sampling_rate == 1.0 ? CONTOUR_GAUSSIAN
                                                            : CONTOUR_SUBSAMPLED_GAUSSIAN;
        law.gaussian.sampling_rate = mechanism->gaussian.sampling_rate;
        law.gaussian.noise_multiplier = mechanism->gaussian.noise_multiplier;
        break;
    case MECHANISM_LAPLACE:
        law.kind = CONTOUR_LAPLACE;
        law.laplace.epsilon = 1.0 / mechanism->laplace.noise_multiplier;
        break;
    case MECHANISM_RANDOMIZED_RESPONSE: {
        double f = mechanism->response.noise_parameter, k = mechanism->response.buckets;
        law.kind = CONTOUR_POINTS;
        law.points.loss = log1p(k * (1.0 - f) / f);
        law.points.moving = k > 2.0 ? 1.0 - (k - 2.0) * (f / k) : 1.0;
        break;
    }
    case MECHANISM_EPSILON_DELTA:
        law.kind = CONTOUR_POINTS;
        law.points.loss = mechanism->pair.epsilon;
        law.points.moving = 1.0;
        law.points.infinite = mechanism->pair.delta;
        break;
    case MECHANISM_DIRICHLET: /* the pair is accountant_laws_pose's */
        law.kind = CONTOUR_DIRICHLET_PAIR;
        law.dirichlet.count = mechanism->dirichlet.actions;
        break;
    }
    return law;
}

/* P = Dir(k p), Q = Dir(k p') of the pair described in the header; backwards in odd poses. */
static void pose_pair(const struct mechanism *mechanism, unsigned pose, double *a, double *b)
{
    double k = mechanism->dirichlet.concentration, eta = mechanism->dirichlet.min_probability;
    uint32_t m = mechanism->dirichlet.actions;
    double room = 1.0 - m * eta, change = fmin(mechanism->dirichlet.sensitivity, M_SQRT2 * room);
    /* How many go down by the same, and how many of those are small. */
    double downs = pose < 4 && m > 2 ? m - 2.0 : 1.0;
    if (pose < 2)
        downs = m - 1.0;
    double small_downs = pose < 4 ? m - 2.0 : 0.0;
    double up = fmin(change * sqrt(downs / (downs + 1.0)), room);
    double down = small_downs > 0.0 ? up / downs : 0.0;
    double *low = pose % 2 ? b : a, *high = pose % 2 ? a : b;
    /* The last coordinate has what is left, before and after. */
    low[0] = k * eta;
    high[0] = k * (eta + up);
    for (uint32_t i = 1; i + 1 < m; i++) {
        low[i] = k * (eta + down);
        high[i] = k * eta;
    }
    low[m - 1] = k * (1.0 - eta - (m - 2.0) * (eta + down));
    high[m - 1] = k * (1.0 - eta - up - (m - 2.0) * eta);
}

void accountant_laws_pose(struct accountant_laws *laws, const struct composition *composition,
                          unsigned pose)
{
    double *vector = laws->vectors;
    for (size_t i = 0, next = 0; vector && i < composition->count; i++) {
        const struct mechanism *mechanism = &composition->part[i].mechanism;
        if (mechanism->kind != MECHANISM_DIRICHLET)
            continue;
        while (next < laws->count && laws->law[next].kind != CONTOUR_DIRICHLET_PAIR)
            next++;
        assert(next < laws->count);
        uint32_t m = mechanism->dirichlet.actions;
        pose_pair(mechanism, pose, vector, vector + m);
        laws->law[next].dirichlet.a = vector;
        laws->law[next++].dirichlet.b = vector + m;
        vector += 2 * (size_t)m;
    }
}

/* Fills laws->law, which has room for all. */
static void laws_fill(const struct composition *composition, struct accountant_laws *laws)
{
    double square = 0; /* of mu, all plain Gaussians */
    for (size_t i = 0; i < composition->count; i++) {
        double times = (double)composition->part[i].times;
        struct contour_law one = accountant_law_of(&composition->part[i].mechanism, times);
        double s = one.gaussian.noise_multiplier;
        if (one.kind == CONTOUR_GAUSSIAN)
            square += times / s / s;
        else
            laws->law[laws->count++] = one;
    }
    if (square > 0.0) {
        struct contour_law *gaussian = &laws->law[laws->count++];
        *gaussian = (struct contour_law){.kind = CONTOUR_GAUSSIAN, .times = 1.0};
        gaussian->gaussian.noise_multiplier = 1.0 / sqrt(square);
    }
}

void accountant_laws_of(const struct composition *composition, struct accountant_laws *out)
{
    size_t coordinates = 0;
    for (size_t i = 0; i < composition->count; i++) {
        const struct mechanism *mechanism = &composition->part[i].mechanism;
        if (mechanism->kind == MECHANISM_DIRICHLET)
            coordinates += mechanism->dirichlet.actions;
    }
    struct accountant_laws laws = {.law = memory_new(composition->count + 1, sizeof *laws.law)};
    if (coordinates)
        laws.vectors = memory_new(2 * coordinates, sizeof *laws.vectors);
    laws_fill(composition, &laws);
    *out = laws;
}

void accountant_laws_clear(struct accountant_laws *laws)
{
    free(laws->law);
    free(laws->vectors);
    *laws = (struct accountant_laws){0};
}

bool accountant_laws_turn(struct accountant_laws *laws)
{
    bool turned = false;
    for (size_t i = 0; i < laws->count; i++)
        if (laws->law[i].kind == CONTOUR_SUBSAMPLED_GAUSSIAN) {
            laws->law[i].gaussian.add = !laws->law[i].gaussian.add;
            turned = true;
        }
    return turned;
}

bool accountant_laws_only_points(const struct accountant_laws *laws)
{
    for (size_t i = 0; i < laws->count; i++)
        if (laws->law[i].kind != CONTOUR_POINTS)
            return false;
    return true;
}
