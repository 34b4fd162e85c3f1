/* Conversions at one order. */
#include "algos/privacy/laws/renyi.h"

#include <assert.h>
#include <math.h>

/* ln(1 - 1/order) - (ln delta + ln order) / (order - 1) */
static double renyi_conversion(double order, double delta)
{
    assert(order > 1.0 && delta > 0.0 && delta < 1.0);
    return log1p(-1.0 / order) - (log(delta) + log(order)) / (order - 1.0);
}

double renyi_to_epsilon(double order, double rho, double delta)
{
    return fmax(0.0, rho + renyi_conversion(order, delta));
}

double renyi_budget(double order, double epsilon, double delta)
{
    return epsilon - renyi_conversion(order, delta);
}
