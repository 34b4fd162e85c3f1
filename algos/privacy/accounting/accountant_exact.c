/* Exact values but for floating point: finite sums where every loss lies on points, closed forms
 * for one run, the contour integral for all else. Of a Dirichlet mechanism the worst pair is not
 * known: the exact figure of the worst of some pairs is a lower figure, and no upper one is given.
 */
#include <math.h>
#include <stdbool.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/accounting/accountant_laws.h"
#include "algos/privacy/laws/contour.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "algos/privacy/laws/points.h"
#include "algos/privacy/laws/subsampled_gaussian.h"

/* To find where the line of an integral stands takes so many steps: for a coordinate of a Dirichlet
 * law, and for a subsampled Gaussian. The line itself has a limit of its own (contour.c). */
#define COORDINATE_STEPS 5e3
#define SAMPLED_STEPS    3e5

static enum accountant_status of_points(const struct accountant_laws *laws,
                                        const struct accountant_question *question, double *out)
{
    struct points points;
    if (points_compose(laws->law, laws->count, &points) != POINTS_OK)
        return ACCOUNTANT_OUT_OF_REACH;
    *out = question->for_delta ? points_delta(&points, question->at)
                               : points_epsilon(&points, question->at);
    points_clear(&points);
    return ACCOUNTANT_OK;
}

/* One Laplace release: the loss is -e, e, or between, and delta(x) = 1 - exp((x - e) / 2). */
static double one_laplace(double e, const struct accountant_question *question)
{
    if (question->for_delta)
        return fmax(0.0, -expm1(0.5 * (question->at - e)));
    return fmax(0.0, e + 2.0 * log1p(-question->at));
}

static double one_subsampled(const struct contour_law *law,
                             const struct accountant_question *question)
{
    double q = law->gaussian.sampling_rate, s = law->gaussian.noise_multiplier;
    bool add = law->gaussian.add;
    return question->for_delta ? subsampled_gaussian_once_delta(q, s, add, question->at)
                               : subsampled_gaussian_once_epsilon(q, s, add, question->at);
}

static enum accountant_status of_contour(const struct accountant_laws *laws,
                                         const struct accountant_question *question, double *out)
{
    enum contour_status status = question->for_delta
                                     ? contour_delta(laws->law, laws->count, question->at, out)
                                     : contour_epsilon(laws->law, laws->count, question->at, out);
    return status == CONTOUR_OK ? ACCOUNTANT_OK : ACCOUNTANT_OUT_OF_REACH;
}

/* One direction of LAWS. */
static enum accountant_status of_laws(const struct accountant_laws *laws,
                                      const struct accountant_question *question, double *out)
{
    if (accountant_laws_only_points(laws))
        return of_points(laws, question, out);
    const struct contour_law *law = &laws->law[0];
    if (laws->count == 1 && law->kind == CONTOUR_GAUSSIAN) {
        double mu = sqrt(law->times) / law->gaussian.noise_multiplier;
        *out = question->for_delta ? exp(gaussian_dp_log_delta(mu, question->at))
                                   : gaussian_dp_epsilon(mu, question->at);
        return ACCOUNTANT_OK;
    }
    if (laws->count == 1 && law->times == 1.0 && law->kind != CONTOUR_DIRICHLET_PAIR) {
        *out = law->kind == CONTOUR_LAPLACE ? one_laplace(law->laplace.epsilon, question)
                                            : one_subsampled(law, question);
        return ACCOUNTANT_OK;
    }
    return of_contour(laws, question, out);
}

static double bound_of(const struct accountant_laws *laws,
                       const struct accountant_question *question)
{
    return question->for_delta ? contour_delta_bound(laws->law, laws->count, question->at)
                               : contour_epsilon_bound(laws->law, laws->count, question->at);
}

/* The worse of removing and adding a unit. LAWS are turned for the second, if the two differ. Where
 * the status is not OK, *out is what one of the two costs at least: 0 if neither has a figure. */
static enum accountant_status of_directions(struct accountant_laws *laws,
                                            const struct accountant_question *question, double *out)
{
    double removed = 0, added = 0;
    enum accountant_status status = of_laws(laws, question, &removed);
    if (status == ACCOUNTANT_OK && accountant_laws_turn(laws)) {
        status = of_laws(laws, question, &added);
        if (status == ACCOUNTANT_OUT_OF_REACH && bound_of(laws, question) <= removed)
            status = ACCOUNTANT_OK; /* its bound is at most the other figure, which is then the
                                       larger one */
    }
    *out = fmax(removed, added);
    return status;
}

static double pose_steps(const struct accountant_laws *laws)
{
    double steps = 0;
    for (size_t i = 0; i < laws->count; i++) {
        if (laws->law[i].kind == CONTOUR_DIRICHLET_PAIR)
            steps += COORDINATE_STEPS * laws->law[i].dirichlet.count;
        if (laws->law[i].kind == CONTOUR_SUBSAMPLED_GAUSSIAN)
            steps += SAMPLED_STEPS;
    }
    return steps;
}

static enum accountant_status exact_figure(const struct composition *composition,
                                           const struct accountant_question *question,
                                           struct privacy_interval *out)
{
    struct accountant_laws laws;
    if (isinf(question->at))
        return ACCOUNTANT_OUT_OF_REACH;
    accountant_laws_of(composition, &laws);
    enum accountant_status status = ACCOUNTANT_OK;
    double worst = 0, here = 0;
    unsigned poses = laws.vectors ? ACCOUNTANT_LAWS_POSES : 1, found = 0;
    if (!work_take(question->work, poses * pose_steps(&laws))) {
        accountant_laws_clear(&laws);
        return ACCOUNTANT_TOO_MUCH_WORK;
    }
    for (unsigned pose = 0; pose < poses; pose++) {
        accountant_laws_pose(&laws, composition, pose);
        status = of_directions(&laws, question, &here);
        found += status == ACCOUNTANT_OK || (poses > 1 && here > 0.0);
        worst = fmax(worst, here);
    }
    accountant_laws_clear(&laws);
    if (!found)
        return status;
    out->lower = out->upper = worst;
    if (poses > 1)
        out->upper = question->for_delta ? 1.0 : INFINITY;
    return ACCOUNTANT_OK;
}

const struct accountant accountant_exact = {"exact", exact_figure};
