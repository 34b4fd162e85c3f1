/* Audits of teachers' answers: the same question at two distributions as far apart as the
 * sensitivity, several times over. */
#include <criterion/criterion.h>
#include <math.h>

#include "algos/privacy/answers/gaussian_simplex.h"
#include "algos/privacy/laws/dirichlet.h"
#include "algos/privacy/laws/gaussian_dp.h"
#include "tests/statistical/audit.h"
#include "tests/statistical/profile.h"

enum { ACTIONS = 3, ANSWERS = 4 };

/* P gives one action the least that mixing allows, Q moves it up by the largest single change that
 * the sensitivity allows, at the cost of both others. */
static void neighbours(const struct dirichlet *d, double p[ACTIONS], double q[ACTIONS])
{
    double step = d->sensitivity * sqrt((ACTIONS - 1.0) / ACTIONS);
    for (int i = 0; i < ACTIONS; i++) {
        p[i] = i ? (1.0 - d->min_probability) / (ACTIONS - 1.0) : d->min_probability;
        q[i] = p[i] + (i ? -step / (ACTIONS - 1.0) : step);
    }
}

/* The log-likelihood ratio. */
static double dirichlet_answers(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct dirichlet *d = mechanism;
    double p[ACTIONS], q[ACTIONS], z[ACTIONS], ratio = 0.0;
    neighbours(d, p, q);
    for (int answer = 0; answer < ANSWERS; answer++) {
        cr_assert(dirichlet_sample(d, noise, with ? q : p, z));
        for (int i = 0; i < ACTIONS; i++)
            ratio += d->concentration * (q[i] - p[i]) * log(fmax(z[i], 0x1p-21));
    }
    return ratio;
}

/* The deviation falls with the root of the concentration: four times as much halves it. */
Test(audit, dirichlet)
{
    const struct dirichlet claimed = {
        .actions = ACTIONS, .concentration = 20.0, .min_probability = 0.2, .sensitivity = 0.03};
    struct dirichlet halved = claimed;
    const struct mechanism one = {.kind = MECHANISM_DIRICHLET,
                                  .dirichlet = {claimed.concentration, claimed.min_probability,
                                                claimed.sensitivity, ACTIONS}};
    const struct audit audit = {.name = AUDIT_DIRICHLET,
                                .title = "dirichlet, 4 answers",
                                .delta = 1e-2,
                                .epsilon = profile_price(&one, ANSWERS, 1e-2),
                                .samples = 30000,
                                .statistic = dirichlet_answers};
    halved.concentration *= 4.0;
    audit_holds(&audit, &claimed);
    audit_exceeds(&audit, &halved, "half the noise");
}

static double simplex_answers(const void *mechanism, bool with, struct noise_source *noise)
{
    const struct gaussian_simplex *g = mechanism;
    double step = g->sensitivity / sqrt(2.0), sum = 0.0;
    for (int answer = 0; answer < ANSWERS; answer++) {
        double p[ACTIONS] = {0.4, 0.4, 0.2}, z[ACTIONS];
        p[0] += with ? step : 0.0;
        p[1] -= with ? step : 0.0;
        cr_assert(gaussian_simplex_sample(g, noise, p, z));
        sum += z[0] - z[1];
    }
    return sum;
}

Test(audit, gaussian_simplex)
{
    const struct gaussian_simplex claimed = {
        .actions = ACTIONS, .sigma = 0.05, .sensitivity = 0.03};
    struct gaussian_simplex halved = claimed;
    const struct audit audit = {.name = AUDIT_GAUSSIAN_SIMPLEX,
                                .title = "gaussian simplex, 4",
                                .delta = 1e-5,
                                .epsilon =
                                    gaussian_dp_epsilon_interval(
                                        sqrt((double)ANSWERS) * gaussian_simplex_mu(&claimed), 1e-5)
                                        .upper,
                                .claim = AUDIT_GAUSSIAN_DP,
                                .samples = 20000,
                                .statistic = simplex_answers};
    halved.sigma *= 0.5;
    audit_holds(&audit, &claimed);
    audit_exceeds(&audit, &halved, "half the noise");
}
