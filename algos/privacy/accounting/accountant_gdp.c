/* Plain Gaussians in closed form: sum of squares, then Balle and Wang's Theorem 8. */
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/laws/gaussian_dp.h"

/* mu of COMPOSITION, or why not. */
static enum accountant_status mu_of(const struct composition *composition, double *out)
{
    for (size_t i = 0; i < composition->count; i++)
        if (mechanism_problem(&composition->part[i].mechanism))
            return ACCOUNTANT_BAD;
    *out = gaussian_dp_mu(composition);
    if (isnan(*out))
        return ACCOUNTANT_UNSUPPORTED;
    return *out > 1e-100 && *out < 1e100 ? ACCOUNTANT_OK : ACCOUNTANT_OUT_OF_REACH;
}

static enum accountant_status gdp_epsilon(const struct composition *composition, double delta,
                                          struct privacy_interval *out)
{
    if (!composition->count || !(delta > 0.0 && delta < 1.0))
        return ACCOUNTANT_BAD;
    double mu;
    enum accountant_status status = mu_of(composition, &mu);
    if (status == ACCOUNTANT_OK)
        *out = gaussian_dp_epsilon_interval(mu, delta);
    return status;
}

static enum accountant_status gdp_delta(const struct composition *composition, double at,
                                        struct privacy_interval *out)
{
    if (!composition->count || !(at >= 0.0))
        return ACCOUNTANT_BAD;
    double mu;
    enum accountant_status status = mu_of(composition, &mu);
    if (status == ACCOUNTANT_OK)
        *out = gaussian_dp_delta_interval(mu, at);
    return status;
}

const struct accountant accountant_gdp = {"gdp", ACCOUNTANT_CERTIFIED, gdp_epsilon, gdp_delta};
