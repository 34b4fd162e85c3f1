/* Plain Gaussians in closed form: sum of squares, then Balle and Wang's Theorem 8. */
#include <math.h>

#include "algos/privacy/accounting/accountant.h"
#include "algos/privacy/laws/gaussian_dp.h"

static enum accountant_status gdp_figure(const struct composition *composition,
                                         const struct accountant_question *question,
                                         struct privacy_interval *out)
{
    double mu = gaussian_dp_mu(composition);
    if (isnan(mu))
        return ACCOUNTANT_UNSUPPORTED;
    if (!(mu > 1e-100 && mu < 1e100))
        return ACCOUNTANT_OUT_OF_REACH;
    *out = question->for_delta ? gaussian_dp_delta_interval(mu, question->at)
                               : gaussian_dp_epsilon_interval(mu, question->at);
    return ACCOUNTANT_OK;
}

const struct accountant accountant_gdp = {"gdp", gdp_figure};
