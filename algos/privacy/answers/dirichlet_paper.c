/* The paper's figure, for comparison. At a vertex of the simplex the answer is Dir(s, ..., s, v):
 * m - 1 components of shape s = k eta and one of shape v = k - (m-1) s. */
#include "algos/privacy/answers/dirichlet_paper.h"

#include <assert.h>
#include <math.h>

#include "algos/privacy/math/special.h"

double dirichlet_paper_epsilon(const struct dirichlet *mechanism, double tau)
{
    double m = mechanism->actions, k = mechanism->concentration;
    double small = k * mechanism->min_probability, large = k - (m - 1.0) * small;
    assert(tau > 0.0 && tau * m <= 1.0);
    double floor_term = (m - 1.0) * special_log_gamma(small) + special_log_gamma(large) -
                        m * special_log_gamma(k / m);
    return sqrt(m) * k * mechanism->sensitivity * -log(tau) + floor_term;
}

double dirichlet_paper_delta(const struct dirichlet *mechanism, double tau)
{
    double m = mechanism->actions, k = mechanism->concentration;
    double small = k * mechanism->min_probability, large = k - (m - 1.0) * small;
    assert(tau > 0.0 && tau * m < 1.0);
    double low = incomplete_beta(small, k - small, tau);
    return fmin(1.0, (m - 1.0) * low + incomplete_beta(large, k - large, tau));
}

/* The largest tau whose delta is at most DELTA; 0 when none above 1e-300 is. */
static double paper_tau(const struct dirichlet *mechanism, double delta)
{
    assert(delta > 0.0 && delta < 1.0);
    double low = log(1e-300), high = log((1.0 - 1e-9) / mechanism->actions);
    if (dirichlet_paper_delta(mechanism, exp(low)) > delta)
        return 0.0;
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (low + high);
        if (dirichlet_paper_delta(mechanism, exp(middle)) > delta)
            high = middle;
        else
            low = middle;
    }
    return exp(low);
}

double dirichlet_paper_total(const struct dirichlet *mechanism, double answers, double delta)
{
    assert(answers >= 1.0);
    double tau = paper_tau(mechanism, delta / answers);
    return tau > 0.0 ? answers * dirichlet_paper_epsilon(mechanism, tau) : (double)INFINITY;
}
