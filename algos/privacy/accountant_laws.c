/* Mechanisms to laws of the loss. Randomised response over k buckets: the loss between two true
 * buckets is +l, -l or, in the k - 2 others, 0, with exp(l) = 1 + k (1 - f) / f. An (epsilon,
 * delta)-private mechanism is dominated by a two-point law and an atom at infinity (Kairouz, Oh,
 * Viswanath 2015). */
#include "algos/privacy/accountant_laws.h"

#include <math.h>
#include <stdlib.h>

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
    case MECHANISM_DIRICHLET: /* refused before */
        break;
    }
    return law;
}

enum accountant_status accountant_laws_of(const struct composition *composition,
                                          struct accountant_laws *out)
{
    for (size_t i = 0; i < composition->count; i++) {
        if (mechanism_problem(&composition->part[i].mechanism) || !composition->part[i].times)
            return ACCOUNTANT_BAD;
        if (composition->part[i].mechanism.kind == MECHANISM_DIRICHLET)
            return ACCOUNTANT_UNSUPPORTED;
    }
    struct contour_law *law = malloc((composition->count + 1) * sizeof *law);
    if (!law)
        return ACCOUNTANT_NO_MEMORY;
    size_t count = 0;
    double square = 0; /* of mu, all plain Gaussians */
    for (size_t i = 0; i < composition->count; i++) {
        double times = (double)composition->part[i].times;
        struct contour_law one = accountant_law_of(&composition->part[i].mechanism, times);
        double s = one.gaussian.noise_multiplier;
        if (one.kind == CONTOUR_GAUSSIAN)
            square += times / s / s;
        else
            law[count++] = one;
    }
    if (square > 0.0) {
        law[count] = (struct contour_law){.kind = CONTOUR_GAUSSIAN, .times = 1.0};
        law[count++].gaussian.noise_multiplier = 1.0 / sqrt(square);
    }
    *out = (struct accountant_laws){law, count};
    return ACCOUNTANT_OK;
}

void accountant_laws_clear(struct accountant_laws *laws)
{
    free(laws->law);
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
